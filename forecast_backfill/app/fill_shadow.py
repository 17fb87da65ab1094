"""Fills the shadows with a partition whose live rows stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from forecast_backfill.app.admission import admitted
from forecast_backfill.app.rate import wait_for_rate
from forecast_backfill.core.admission import Conditions, Wait
from forecast_backfill.core.errors import DatabaseInterrupted, EpochRaised, ForecastBackfillError
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow_check import DuePartition, ShadowWrite
from forecast_backfill.ports import LedgerRow, Ports, RunRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A partition that was copied into the shadows; `trouble` says why not, where it was not."""

    partition: Partition
    rows: int
    trouble: str | None


def fill_due_shadow(
    row: LedgerRow, request: RunRequest, conditions: Conditions, ports: Ports
) -> Wait | None:
    """Fill the shadows where they do not hold what stands; a pause that came before it, else None.

    What a shadow refuses is recorded there. Raises what the partition's fences raise.
    """
    if not row.is_shadow_due:
        return None
    rows = 0 if row.fingerprint is None else row.fingerprint.rows
    written = _fill(row.partition, rows, request, conditions, ports)
    return written if isinstance(written, Wait) else None


def fill_all(
    due: Iterable[DuePartition], request: RunRequest, ports: Ports, tell: Callable[[Filled], None]
) -> list[Filled]:
    """Fill every partition in turn, as tasks of the request's workload, and tell each.

    For what no campaign comes to: dates that nightly owns, and older outputs below a refused
    source. The live rows are read, not written. Raises EpochRaised and DatabaseInterrupted as a
    batch of partitions does.
    """
    outcomes: list[Filled] = []
    for each in due:
        try:
            filled = _try(each, request, ports)
        except (EpochRaised, DatabaseInterrupted):
            raise
        except ForecastBackfillError as error:
            filled = Filled(partition=each.partition, rows=0, trouble=str(error))
        tell(filled)
        outcomes.append(filled)
    return outcomes


def _try(due: DuePartition, request: RunRequest, ports: Ports) -> Filled:
    while True:
        with admitted(request, ports, partition=due.partition) as conditions:
            written = _fill(due.partition, due.rows, request, conditions, ports)
        if not isinstance(written, Wait):
            troubles = [each.trouble for each in written if each.trouble is not None]
            return Filled(
                partition=due.partition,
                rows=sum(each.rows for each in written),
                trouble="; ".join(troubles) or None,
            )


def _fill(
    partition: Partition, rows: int, request: RunRequest, conditions: Conditions, ports: Ports
) -> tuple[ShadowWrite, ...] | Wait:
    paused = wait_for_rate(rows, request, conditions, ports, partition=partition)
    if paused is not None:
        return paused
    with ports.warehouse.transaction(partition, request) as transaction:
        transaction.take_lease()
        transaction.hold_epoch()
        return transaction.fill_shadows()
