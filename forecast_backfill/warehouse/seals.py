"""Seals in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date as Date
from itertools import groupby
from operator import itemgetter
from typing import Any

from forecast_backfill.core.coverage import Cell, CellState
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.seal import RegionOutput, Seal, SealedRegion
from forecast_backfill.core.states import OutputState, PartitionStatus
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.fences import fenced
from forecast_backfill.warehouse.statements import statements


class PostgresSeals:
    """The seals of dates, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def seal(
        self,
        day: Date,
        request: RunRequest,
        build: Callable[[Mapping[str, RegionOutput]], Seal],
    ) -> Seal:
        """Under the date's lease: read the ledger's outputs of `day`, build the seal, store it.

        The ledger is read after the lease was taken: a later sealer never stores less.
        """
        with fenced(self._session, request, f"seal {day}") as connection:
            rows = statements().read_outputs(connection, date=day)
            seal = build({row["region"]: _output(row) for row in rows})
            window = DateRange(start=day, end=Date.fromordinal(day.toordinal() + 1))
            _store(connection, seal, _find(connection, window).get(day), request)
        return seal

    def find(self, window: DateRange) -> Mapping[Date, Seal]:
        """The seals of the window, as of one moment; a date that was never sealed is absent."""
        with self._session.use() as connection:
            return _find(connection, window)


def _find(connection: Any, window: DateRange) -> dict[Date, Seal]:
    rows = statements().find_seals(connection, start=window.start, end=window.end)
    return {
        day: Seal(date=day, regions=tuple(_sealed(row) for row in group))
        for day, group in groupby(rows, key=itemgetter("date"))
    }


def _store(connection: Any, seal: Seal, earlier: Seal | None, request: RunRequest) -> None:
    named = {
        "date": seal.date,
        "data_version": seal.data_version,
        "workload": request.workload,
        "run_id": request.run_id,
        "campaign_id": request.campaign_id,
    }
    statements().store_seal(connection, **named)
    changed = seal.changed_regions(earlier)
    if changed:
        statements().add_seal_change(
            connection,
            **named,
            previous_version=None if earlier is None else earlier.data_version,
            changed_regions=list(changed),
        )
    cells = [each.cell for each in seal.regions]
    statements().clear_seal_regions(connection, date=seal.date)
    statements().store_seal_regions(
        connection,
        date=seal.date,
        regions=[each.region for each in seal.regions],
        states=[str(cell.state) for cell in cells],
        versions=[cell.version for cell in cells],
        reasons=[cell.reason for cell in cells],
    )


def _output(row: Mapping[str, Any]) -> RegionOutput:
    return RegionOutput(
        status=PartitionStatus(row["status"]),
        output=OutputState(row["output"]),
        version=row["version"],
        reason=row["reason"],
    )


def _sealed(row: Mapping[str, Any]) -> SealedRegion:
    cell = Cell(state=CellState(row["state"]), version=row["version"], reason=row["reason"])
    return SealedRegion(region=row["region"], cell=cell)
