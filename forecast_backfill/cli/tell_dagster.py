"""Tells Dagster what a rollback has put back; the rollback does not depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from forecast_backfill.core.rollback import AlreadyBack, RollbackOutcome, RolledBack
from forecast_backfill.warehouse.campaigns import has_dagster
from forecast_backfill.wiring.rollback import RollbackWiring


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How many partitions Dagster shows anew, or why it does not; neither where there is none."""

    partitions: int | None = None
    error: str | None = None

    @property
    def fields(self) -> dict[str, object]:
        """For JSON."""
        return {"told_dagster": self.partitions, "dagster_error": self.error}


def tell_dagster(
    campaign_id: str, outcomes: Sequence[RollbackOutcome], wiring: RollbackWiring
) -> Told:
    """Tell of all that is back. Whatever goes wrong there is told, and the rollback stands."""
    back = [each.partition for each in outcomes if isinstance(each, RolledBack)]
    already = [each.partition for each in outcomes if isinstance(each, AlreadyBack)]
    if not back and not already:
        return Told()
    try:
        if not has_dagster(wiring.session):
            return Told()
        # Dagster takes seconds to import: only here, where it is told something.
        from forecast_backfill.dagster_defs.rollback_events import tell_of_rollback

        told = tell_of_rollback(campaign_id, back, already, wiring.ports.ledger.find)
    except Exception as error:  # noqa: BLE001 — the rollback is done, whatever Dagster's own storage says
        return Told(error=f"{type(error).__name__}: {error}".splitlines()[0])
    return Told(partitions=told)


def print_told(told: Told, campaign_id: str) -> None:
    """One line of what Dagster's pages show."""
    if told.error is not None:
        click.echo(
            f"Dagster was not told, and shows what the campaign wrote: {told.error}. "
            f"Next: forecast-backfill rollback --campaign {campaign_id} (tells it again)",
            err=True,
        )
    elif told.partitions:
        click.echo(f"Dagster shows {told.partitions} of them as they are now")
