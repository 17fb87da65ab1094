"""Measures how changed rows are found among millions: what is read, and the time against one pass.

Run as `python -m benchmarks.localise --rows 10_000_000`; starts a server of its own and removes it
afterwards. `daily_demand` is compared with a copy of it, whose rows were changed in as many
partitions. One full checksum pass is the hash of every row of both tables, all its columns, summed
in one number a table; it and the localisation take turns. Rows that were read after the first pass
are counted by the descent itself and by the server (`pg_stat_user_tables`).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import click
import psutil
import psycopg
from psycopg import sql

from benchmarks.interruption import end_on_signals
from benchmarks.machine import describe_machine
from benchmarks.results import RESULTS, write_section
from forecast_backfill.app.localise import Localised, localise
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.compared_table import open_compared
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.digests import DAILY_DEMAND, PostgresStored
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.migrate import migrate
from forecast_backfill.warehouse.postmaster import find_postmaster

T = TypeVar("T")
START, DAYS, REGIONS = Date(2026, 1, 1), 90, 40
DATES = DateRange(start=START, end=START + timedelta(days=DAYS))
READ_LIMIT, TIME_LIMIT = 0.01, 1.2
REAP_SECONDS = 0.5
FILL = """
    ALTER TABLE daily_demand DROP CONSTRAINT daily_demand_is_unique_by_grain;
    ALTER TABLE daily_demand SET UNLOGGED;
    INSERT INTO daily_demand
    SELECT DATE '2026-01-01' + day, 'R' || lpad(region::text, 2, '0'),
           (300 + n / 500)::text, (800000 + n * 7919)::text, 'GROUP ' || n % 35,
           n % 9 + 1, (n % 9 + 1) * 199, n % 3 * 20, n % 4 + 1,
           CASE WHEN n % 10 > 0 THEN 199 END, n % 7 = 0, n % 11 = 0, 10, 1700000000000000, n
    FROM generate_series(0, {days} - 1) AS day, generate_series(1, {regions}) AS region,
         generate_series(1, {each}) AS n;
    ALTER TABLE daily_demand ADD CONSTRAINT daily_demand_is_unique_by_grain
        PRIMARY KEY (date, region, store_id, product_id);
    CREATE UNLOGGED TABLE copy AS TABLE daily_demand;
    ALTER TABLE copy ADD PRIMARY KEY (date, region, store_id, product_id);
"""
CHANGE = """
    UPDATE copy SET units = units + 1
    FROM (
        SELECT min(product_id) AS product_id, date, region FROM copy
        WHERE region = 'R07' AND date < DATE '2026-01-01' + {changed} GROUP BY date, region
    ) AS chosen
    WHERE (copy.date, copy.region, copy.product_id)
        = (chosen.date, chosen.region, chosen.product_id)
"""
PASS = "SELECT count(*), sum(('x' || md5({row}))::bit(60)::bigint) FROM {table}"
COUNT_READ = """
    SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
    WHERE relname IN ('daily_demand', 'copy')
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Seconds by the clock, and of the server's processes on a CPU."""

    clock: float
    server: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was spent in of each round, and rows that were read after the first pass."""

    rows: int
    changed: int
    passes: list[Spent]
    localisations: list[Spent]
    found: Localised
    server_read: int
    server_version: str

    @property
    def ratio(self) -> float:
        """The median of one round's localisation against its pass, by the clock."""
        pairs = zip(self.localisations, self.passes, strict=True)
        return statistics.median(ours.clock / plain.clock for ours, plain in pairs)

    @property
    def server_ratio(self) -> float:
        """The same in CPU seconds of the server, which other work on the machine hardly moves."""
        pairs = zip(self.localisations, self.passes, strict=True)
        return statistics.median(ours.server / plain.server for ours, plain in pairs)

    @property
    def fetched(self) -> int:
        """Rows that came to the client."""
        return sum(each.read for each in self.found.differences)

    @property
    def scanned(self) -> int:
        """Rows that the descent had the server look at, in both tables."""
        return sum(each.scanned for each in self.found.differences)

    @property
    def share(self) -> float:
        """What the server says it read after the first pass, of all rows of both tables."""
        return self.server_read / (2 * self.rows)

    @property
    def is_reached(self) -> bool:
        """Whether both figures were reached, and every changed row was found."""
        found = sum(each.differing for each in self.found.differences)
        return self.ratio <= TIME_LIMIT and self.share < READ_LIMIT and found == self.changed


def measure(home: Path, *, rows: int, changed: int, rounds: int) -> Measured:
    """Fill, change, and let both take turns on a server of their own."""
    server = EmbeddedServer(home)
    try:
        url = server.start()
        migrate(url)
        _fill(url, rows // (DAYS * REGIONS), changed)
        return _take_turns(server, changed, rounds)
    finally:
        server.stop()


def _fill(url: str, each: int, changed: int) -> None:
    options = "-c search_path=forecast_backfill"
    with psycopg.connect(url, autocommit=True, options=options) as connection:
        for statement in FILL.format(days=DAYS, regions=REGIONS, each=each).split(";"):
            connection.execute(statement.encode())
        connection.execute(CHANGE.format(changed=changed).encode())
        connection.execute("VACUUM (ANALYZE, FREEZE)")


def _take_turns(server: EmbeddedServer, changed: int, rounds: int) -> Measured:
    url = server.url
    before, mark, after = url.partition("?")
    target = f"{before}.forecast_backfill.copy{mark}{after}"
    session = Session(url, Workload.BACKFILL, load_settings(database_url=url))
    passes: list[Spent] = []
    localisations: list[Spent] = []
    found: Localised | None = None
    read = rows = 0
    for number in range(rounds + 1):
        plain, rows = _spend(server, lambda: _pass(url))
        counted = _read_rows(url)
        taken, found = _spend(server, lambda: _localise(session, target))
        read = _read_rows(url) - counted - 2 * rows
        if number:  # the first round warms the caches
            passes.append(plain)
            localisations.append(taken)
        click.echo(f"round {number}: {plain.clock:.1f} s, {taken.clock:.1f} s", err=True)
    assert found is not None
    with psycopg.connect(url) as connection:
        version = connection.info.parameter_status("server_version") or "unknown"
    return Measured(
        rows=rows,
        changed=changed,
        passes=passes,
        localisations=localisations,
        found=found,
        server_read=read,
        server_version=version.split()[0],
    )


def _spend(server: EmbeddedServer, work: Callable[[], T]) -> tuple[Spent, T]:
    before, started = _server_seconds(server), time.perf_counter()
    found = work()
    clock = time.perf_counter() - started
    return Spent(clock=clock, server=_server_seconds(server) - before), found


def _server_seconds(server: EmbeddedServer) -> float:
    """CPU seconds of all connections and parallel workers that have ended."""
    time.sleep(REAP_SECONDS)
    postmaster = find_postmaster(server.data)
    assert postmaster is not None
    times = psutil.Process(postmaster).cpu_times()
    return times.children_user + times.children_system


def _localise(session: Session, target: str) -> Localised:
    try:
        with open_compared(target) as other, PostgresStored(session).view() as ours:
            return localise(expected=ours, found=other, dates=DATES)
    finally:
        session.close()


def _pass(url: str) -> int:
    """Hash every row of both tables, without telling partitions apart; rows of one."""
    rows = 0
    options = "-c search_path=forecast_backfill"
    with psycopg.connect(url, options=options) as connection:
        for table in ("daily_demand", "copy"):
            statement = sql.SQL(PASS).format(row=DAILY_DEMAND.row, table=sql.Identifier(table))
            (rows, _) = connection.execute(statement).fetchone() or (0, 0)
    return rows


def _read_rows(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        (read,) = connection.execute(COUNT_READ).fetchone() or (0,)
    return int(read)


def as_markdown(measured: Measured, *, command: str) -> str:
    """The section of the results."""
    partitions = len(measured.found.differences)
    found = sum(each.differing for each in measured.found.differences)
    read_verdict = "yes" if measured.share < READ_LIMIT else "NO"
    time_verdict = "yes" if measured.ratio <= TIME_LIMIT else "NO"
    plain, ours = (
        statistics.median(each.clock for each in rounds)
        for rounds in (measured.passes, measured.localisations)
    )
    return "\n".join(
        [
            "## Localisation: changed rows found among millions",
            "",
            describe_machine(PostgreSQL=f"{measured.server_version}, embedded"),
            f"- Command: `{command}`",
            "",
            f"{measured.changed} rows changed, each in another partition, among {measured.rows:,} "
            f"rows in {measured.found.partitions:,} partitions; `daily_demand` against a copy of "
            f"it. {found} were found, in {partitions} partitions. After the first pass the client "
            f"fetched {measured.fetched:,} rows; the descent had the server look at "
            f"{measured.scanned:,}.",
            "",
            "| figure | measured | reach | reached |",
            "|---|---:|---:|---|",
            f"| rows read after the first pass, of both tables ({measured.server_read:,} by the "
            f"server's own count) | {100 * measured.share:.3f} % | < 1 % | {read_verdict} |",
            f"| time / one full checksum pass over both ({ours:.1f} s / {plain:.1f} s) "
            f"| {measured.ratio:.2f} | ≤ {TIME_LIMIT} | {time_verdict} |",
            f"| the same in CPU seconds of the server | {measured.server_ratio:.2f} | | |",
        ]
    )


@click.command()
@click.option("--rows", type=click.IntRange(min=DAYS * REGIONS), default=1_000_000)
@click.option("--changed", type=click.IntRange(1, DAYS), default=10, show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def main(rows: int, changed: int, rounds: int, output: Path) -> int:
    """Measure with --rows in `daily_demand` and in its copy; 1 where a figure was missed."""
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as home:
        measured = measure(Path(home), rows=rows, changed=changed, rounds=rounds)
    command = f"python -m benchmarks.localise --rows {rows}"
    section = as_markdown(measured, command=command)
    write_section("localise", section, output)
    click.echo(section)
    return 0 if measured.is_reached else 1


if __name__ == "__main__":
    end_on_signals()
    sys.exit(main(standalone_mode=False))
