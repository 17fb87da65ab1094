"""Measures the commit step and the whole task of one partition against bare COPY of the same rows.

Run as `python -m benchmarks.commit_step`; starts a server of its own and removes it afterwards.
Bare COPY is binary COPY of the same rows, encoded by the same code while it runs, into a table with
neither index nor constraint. The kinds take turns within a round, so that a busy moment of the
machine meets them all; a ratio is the median over the rounds of one round's two figures.
Outside the clock the partition is vacuumed before each turn, as autovacuum does between campaigns.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pyarrow as pa

from benchmarks.one_partition import PARTITION, land_dimensions, land_sales
from forecast_backfill.app.run_partition import run_partition
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports import Completion, OutputIdentity, Prepared
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.copy_rows import copy_rows
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.wiring.partition import Wiring, open_wiring

SIZES = ((100, 60), (5_000, 25), (50_000, 11))
NEIGHBOUR_ROWS = 10_000
VERSION = Version(authority=Authority.BACKFILL, source_version=1_700_000_000_000_000)
BARE = "bare COPY"


class Bench:
    """One size on one session."""

    def __init__(self, wiring: Wiring, rows: int) -> None:
        self._wiring = wiring
        self._request = wiring.request(reprocess=True)
        self._directory = wiring.settings.landing_directory
        self._rows = rows
        self._first, self._changed = self._prepare(seed=2), self._prepare(seed=1)
        self._last = self._first

    def kinds(self) -> dict[str, tuple[Callable[[], None], Callable[[], None]]]:
        """By name what is done before the clock starts, and what is measured."""
        first, changed = self._first, self._changed
        return {
            BARE: (lambda: self._execute("TRUNCATE bare"), self._copy_bare),
            "commit step, first write": (self._forget, lambda: self._commit(first)),
            # As the task does: it tells what the rows become, so that a replay can be proved.
            "commit step, the same again": (self._start, lambda: self._commit(first, keeps=True)),
            "commit step, replaced by others": (self._start, lambda: self._commit(changed)),
            "  and the old ones kept": (self._start, lambda: self._commit(first, keeps=True)),
            "whole task, first write": (self._forget, self._run_task),
            "whole task, the same again": (self._tidy, self._run_task),
        }

    def surround(self) -> None:
        """Give the partition neighbours, so that its rows are not the last ones of the key."""
        for days in (-1, 1):
            date = PARTITION.date + timedelta(days=days)
            rows = cast("pa.Table", self._first.rows).slice(0, NEIGHBOUR_ROWS)
            with self._wiring.session.use() as connection:
                copy_rows(connection, replace(PARTITION, date=date), rows, VERSION)

    def _prepare(self, seed: int) -> Prepared:
        land_sales(self._directory, self._rows, seed)
        landing, engine = self._wiring.ports.landing, self._wiring.ports.engine
        prepared = engine.prepare(landing.read(PARTITION), landing.dimensions(PARTITION))
        assert isinstance(prepared, Prepared)
        assert prepared.rows.num_rows == self._rows
        return prepared

    def _copy_bare(self) -> None:
        with self._wiring.session.use() as connection:
            rows = cast("pa.Table", self._first.rows)
            copy_rows(connection, PARTITION, rows, VERSION, "bare")

    def _commit(self, prepared: Prepared, *, keeps: bool = False) -> None:
        """Lease, epoch, delete, copy, fingerprint, ledger, event, commit."""
        warehouse = self._wiring.ports.warehouse
        with warehouse.transaction(PARTITION, self._request) as transaction:
            transaction.take_lease()
            transaction.hold_epoch()
            if keeps:
                transaction.keep_superseded(prepared.fingerprint, VERSION)
            else:
                transaction.keep_record()
            replaced = transaction.replace(prepared.rows, VERSION)
            assert transaction.fingerprint() == prepared.fingerprint
            transaction.complete(
                Completion(
                    identity=OutputIdentity(
                        source_digest="s", code_version="c", dimension_version="d"
                    ),
                    fingerprint=prepared.fingerprint,
                    totals=prepared.totals,
                    exclusions=prepared.exclusions,
                    version=VERSION,
                    replaced_rows=replaced,
                    seconds=0.0,
                )
            )

    def _run_task(self) -> None:
        """Admission, read, validate, transform, commit."""
        outcome = run_partition(PARTITION, self._request, self._wiring.ports)
        assert isinstance(outcome, Written), outcome

    def _forget(self) -> None:
        key = f"date = '{PARTITION.date}' AND region = '{PARTITION.region}'"
        self._execute(f"DELETE FROM daily_demand WHERE {key}")
        self._execute(f"DELETE FROM partition_ledger WHERE {key}")
        self._start()

    def _start(self) -> None:
        self._tidy()
        self._wiring.ports.ledger.start(PARTITION, self._request)

    def _tidy(self) -> None:
        self._execute("TRUNCATE daily_demand_superseded, superseded_partition")
        self._execute("VACUUM ANALYZE daily_demand")

    def _execute(self, statement: str) -> None:
        with self._wiring.session.use() as connection:
            connection.execute(statement.encode())


def measure(wiring: Wiring, rows: int, rounds: int) -> dict[str, list[float]]:
    """The milliseconds of every kind in every round, after one that does not count."""
    with wiring.session.use() as connection:
        connection.execute("DROP TABLE IF EXISTS bare; CREATE TABLE bare (LIKE daily_demand)")
        connection.execute("TRUNCATE daily_demand, partition_ledger")
    bench = Bench(wiring, rows)
    bench.surround()
    found: dict[str, list[float]] = {name: [] for name in bench.kinds()}
    for _ in range(rounds + 1):
        for name, (before, work) in bench.kinds().items():
            before()
            started = time.perf_counter()
            work()
            found[name].append((time.perf_counter() - started) * 1000)
    return {name: times[1:] for name, times in found.items()}


def show(rows: int, found: dict[str, list[float]]) -> None:
    """One size of the table."""
    rounds = len(found[BARE])
    sys.stdout.write(f"\n{rows} rows, {rounds} rounds{'median':>26} {'least':>11} {'ratio':>8}\n")
    for name, times in found.items():
        ratio = statistics.median(a / b for a, b in zip(times, found[BARE], strict=True))
        sys.stdout.write(
            f"  {name:36} {statistics.median(times):8.1f} ms {min(times):8.1f} ms {ratio:6.1f} x\n"
        )
    sys.stdout.flush()


def run(settings: Settings) -> None:
    """Measure and show every size."""
    land_dimensions(settings.landing_directory)
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="bench") as wiring:
        for rows, rounds in SIZES:
            show(rows, measure(wiring, rows, rounds))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"\npeak memory of this process: {peak:.0f} MiB\n")


def main() -> None:
    """Run on a server and a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as home:
        server = EmbeddedServer(Path(home))
        try:
            run(
                load_settings(
                    home=Path(home),
                    database_url=server.start(),
                    landing=Path(home) / "landing",
                    first_date=PARTITION.date - timedelta(days=30),
                    as_of=PARTITION.date + timedelta(days=30),
                    seam=PARTITION.date + timedelta(days=30),
                )
            )
        finally:
            server.stop()


if __name__ == "__main__":
    main()
