"""Measures the rollback of a campaign against the campaign itself, without Dagster.

Run as `python -m benchmarks.rollback [--days 90] [--regions 40]`; starts a server of its own and
removes it afterwards. One process builds every partition of real sales, builds them all again from
a newer delivery of the same files (so that every row is replaced and the old one kept), takes that
back, and takes the first campaign back too. Rows are compared byte for byte.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.results import write_section
from benchmarks.site import AS_OF, FIRST_DATE
from forecast_backfill.app.accept import accept
from forecast_backfill.app.rollback import roll_back
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.cli.landing import land_with_progress, order_of
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.landing.layout import Layout
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.acceptances import PostgresAcceptances, superseded_size
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.wiring.partition import open_session, open_wiring
from forecast_backfill.wiring.rollback import open_rollback

DIGEST = (
    "SELECT count(*) AS rows, md5(string_agg(d::text, ';' ORDER BY date, region, store_id, "
    "product_id)) AS digest FROM daily_demand AS d"
)
AIM = 1.0
"""Rolling back takes no longer than the campaign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One pass over all partitions: what they came to, and how long it took."""

    name: str
    outcomes: Counter[str]
    seconds: float


def campaign(settings: Settings, partitions: Sequence[Partition], name: str) -> Timed:
    """Build all partitions as one campaign in this process."""
    with open_wiring(settings, workload=Workload.BACKFILL, run_id=f"run of {name}") as wiring:
        began = time.perf_counter()
        outcomes = run_batch(
            partitions, wiring.request(campaign_id=name), wiring.ports, lambda outcome: None
        )
        seconds = time.perf_counter() - began
    return Timed(name=name, outcomes=_counted(outcomes), seconds=seconds)


def rollback(settings: Settings, name: str) -> Timed:
    """Take all of the campaign back."""
    with open_rollback(settings, run_id=f"rollback of {name}") as wiring:
        began = time.perf_counter()
        chosen = wiring.ports.rollbacks.list(name)
        outcomes = roll_back(chosen, name, wiring.request(name), wiring.ports, lambda outcome: None)
        seconds = time.perf_counter() - began
    return Timed(name=f"rollback of {name}", outcomes=_counted(outcomes), seconds=seconds)


def _counted(outcomes: Sequence[object]) -> Counter[str]:
    return Counter(type(each).__name__ for each in outcomes)


def deliver_again(directory: Path, partitions: Sequence[Partition]) -> None:
    """The same files under a newer manifest: other bytes in every row."""
    layout = Layout(directory=directory)
    for each in partitions:
        path = layout.manifest(each)
        fields = json.loads(path.read_bytes())
        exported = datetime.fromisoformat(fields["exported_at"]) + timedelta(hours=1)
        path.write_text(json.dumps({**fields, "exported_at": exported.isoformat()}))


def digest(session: Session) -> tuple[int, str | None]:
    """Rows and a digest of all their bytes."""
    with session.use() as connection:
        row = connection.execute(DIGEST).fetchone()
    assert row is not None
    return row["rows"], row["digest"]


def measure(settings: Settings, partitions: Sequence[Partition]) -> tuple[list[Timed], list[str]]:
    """All passes, and what else was found."""
    with open_session(settings, Workload.BACKFILL) as session:
        passes = [campaign(settings, partitions, "spring")]
        before = digest(session)
        deliver_again(settings.landing_directory, partitions)
        passes.append(campaign(settings, partitions, "summer"))
        between, kept = digest(session), superseded_size(session).bytes
        passes.append(rollback(settings, "summer"))
        assert between != before
        assert digest(session) == before, "the rows are not those from before the campaign"
        passes.append(rollback(settings, "spring"))
        assert digest(session)[0] == 0, "rows were left that were not there before"
        began = time.perf_counter()
        store = PostgresAcceptances(session)
        accept("summer", accepted_by="bench", reason="measured", acceptances=store)
        seconds = time.perf_counter() - began
    return passes, [
        f"{before[0]:,} rows came back byte for byte; {kept / 1e6:.1f} MB were kept for them.",
        f"Accepting the campaign after that took {seconds:.1f} s.",
    ]


def section_of(passes: Sequence[Timed], found: Sequence[str], command: str) -> tuple[str, float]:
    """The section of the results, and rollback against campaign."""
    by_name = {each.name: each for each in passes}
    ratio = by_name["rollback of summer"].seconds / by_name["summer"].seconds
    lines = [
        "## Rollback against the campaign",
        "",
        describe_machine(),
        f"- Command: `{command}`",
        "",
        "One process, without Dagster. `spring` builds all partitions where nothing was, `summer` "
        "replaces every row.",
        "",
        "| pass | partitions | seconds | ms a partition |",
        "|---|---:|---:|---:|",
    ]
    for each in passes:
        total = each.outcomes.total()
        lines.append(
            f"| {each.name} | {total:,} | {each.seconds:.1f} | {each.seconds * 1000 / total:.1f} |"
        )
    lines += ["", f"Rollback of summer against summer: {ratio:.2f} × (aim: at most {AIM:.0f} ×)."]
    return "\n".join([*lines, *found]), ratio


def main() -> int:
    """Run on a server of its own; 1 where the rollback was slower than the campaign."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--regions", type=int, default=40)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as home:
        server = EmbeddedServer(Path(home))
        try:
            settings = load_settings(
                home=Path(home),
                database_url=server.start(),
                first_date=FIRST_DATE,
                as_of=AS_OF,
            )
            names = settings.regions[: chosen.regions]
            dates = DateRange(start=AS_OF - timedelta(days=chosen.days), end=AS_OF)
            land_with_progress(order_of(settings, days=chosen.days + 1, as_of=AS_OF, landed=names))
            passes, found = measure(settings, list(partitions_of(dates, names)))
        finally:
            server.stop()
    words = f" --days {chosen.days} --regions {chosen.regions}"
    command = "python -m benchmarks.rollback" + (
        "" if words == " --days 90 --regions 40" else words
    )
    section, ratio = section_of(passes, found, command)
    sys.stdout.write(f"{section}\n")
    for each in passes:
        sys.stdout.write(f"{each.name}: {dict(each.outcomes)}\n")
    if chosen.days * chosen.regions >= 3600:
        write_section("rollback", section)
    return 0 if ratio <= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
