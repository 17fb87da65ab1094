"""`forecast-backfill reconcile`: proves what is stored anew, and names the rows that differ."""

from __future__ import annotations

import secrets
from datetime import datetime
from uuid import uuid4

import click

from forecast_backfill.app.audit_seam import audit_seam
from forecast_backfill.app.localise import localise
from forecast_backfill.app.reconcile import Differs, Verdict, reconcile
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.cli import reconcile_text as text
from forecast_backfill.cli.chosen_range import DATE, dates_of, refuse_long, regions_of
from forecast_backfill.cli.seam_text import show_audit
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.seam_audit import SeamAudit
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.compared_table import open_compared
from forecast_backfill.wiring.lakehouse import seam_records_of, stored_of
from forecast_backfill.wiring.partition import Wiring, open_wiring
from forecast_backfill.wiring.process_priority import lower_priority
from forecast_backfill.wiring.truth import proof_ports, prove_some


@click.command("reconcile")
@click.option("--from", "start", type=DATE, metavar="YYYY-MM-DD", help="Else the first date.")
@click.option("--to", "end", type=DATE, metavar="YYYY-MM-DD", help="Exclusive; else all dates.")
@click.option("--regions", default="all", show_default=True, help="Names by commas, or all.")
@click.option("--repair", is_flag=True, help="Run what differs again, as backfill, and prove it.")
@click.option("--against", metavar="URL.TABLE", help="Compare with another PostgreSQL table.")
@click.option(
    "--recompute", type=click.IntRange(min=1), metavar="N", help="Recompute N done partitions."
)
@click.option("--seam", is_flag=True, help="Audit where backfill meets live: keys and versions.")
@click.option("--seed", metavar="TEXT", help="Which ones --recompute chooses; else at random.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    start: datetime | None,
    end: datetime | None,
    regions: str,
    repair: bool,
    against: str | None,
    recompute: int | None,
    seam: bool,
    seed: str | None,
    as_json: bool,
) -> int:
    """Prove stored partitions of [--from, --to) from their landed sources, without running them.

    Source, warehouse and ledger are three witnesses. Where they differ, the kind is named
    (missing_rows, extra_rows, exact_multiple, values_differ) and the keys of the rows. Nothing is
    written, but with --repair. The exit code is 1 where anything is not proved.

    --against compares daily_demand with a table of the same columns (the truth is daily_demand);
    --recompute compares bytes, for a proof that the same source gives the same rows; --seam looks
    for keys that are there twice, losers that stayed, gaps and overlaps, and names them by date.
    """
    if sum((repair, against is not None, recompute is not None, seam)) > 1:
        raise click.UsageError("--repair, --against, --recompute and --seam exclude each other")
    if seed is not None and recompute is None:
        raise click.UsageError("--seed goes with --recompute")
    settings = load_settings()
    named = regions_of(regions, settings, verb="reconcile")
    chosen = list(settings.regions) if named is None else named
    with open_wiring(settings, workload=Workload.BACKFILL, run_id=f"reconcile-{uuid4()}") as wiring:
        lower_priority(Workload.BACKFILL, settings)
        dates = dates_of(start, end, wiring.calendar, verb="reconcile")
        if against is None:
            refuse_long(dates, verb="reconcile")
        if seam:
            return show_audit(_audit(wiring, dates, chosen), as_json=as_json)
        if against is not None:
            return _compare(wiring, dates, named, against, as_json=as_json)
        if recompute is not None:
            drawn = seed if seed is not None else secrets.token_hex(4)
            proofs = prove_some(wiring, dates, chosen, count=recompute, seed=drawn, by="cli")
            return text.show_proofs(proofs, wanted=recompute, seed=drawn, as_json=as_json)
        return _prove(wiring, dates, chosen, repair=repair, as_json=as_json)


def _audit(wiring: Wiring, dates: DateRange, regions: list[str]) -> SeamAudit:
    records = seam_records_of(wiring.settings, wiring.session)
    return audit_seam(dates, regions=regions, seam=wiring.calendar.seam, records=records)


def _compare(
    wiring: Wiring, dates: DateRange, regions: list[str] | None, against: str, *, as_json: bool
) -> int:
    stored = stored_of(wiring.settings, wiring.session)
    with open_compared(against) as other, stored.view() as ours:
        found = localise(expected=ours, found=other, dates=dates, regions=regions)
    return text.show_comparison(found, as_json=as_json)


def _prove(
    wiring: Wiring, dates: DateRange, regions: list[str], *, repair: bool, as_json: bool
) -> int:
    lines = text.Lines()
    show = lines.show if not as_json else text.quietly
    verdicts = reconcile(partitions_of(dates, regions), ports=proof_ports(wiring), tell=show)
    if not as_json:
        lines.close()
    outcomes: list[Outcome] = []
    again: list[Verdict] = []
    wrong = [each.partition for each in verdicts if isinstance(each, Differs)]
    if repair and wrong:
        outcomes, again = _repair(wiring, wrong, as_json=as_json)
    return text.show_verdicts(verdicts, outcomes, again, as_json=as_json)


def _repair(
    wiring: Wiring, partitions: list[Partition], *, as_json: bool
) -> tuple[list[Outcome], list[Verdict]]:
    """Run exactly these partitions again, as any backfill, then prove them again."""
    show = text.show_outcome if not as_json else text.quietly
    outcomes = run_batch(partitions, wiring.request(reprocess=True), wiring.ports, tell=show)
    told = text.show_verdict if not as_json else text.quietly
    return outcomes, reconcile(partitions, ports=proof_ports(wiring), tell=told)
