"""Recorded nights, measured caps and task durations in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from forecast_backfill.core.capacity_measure import CapacityMeasure, PeakSource
from forecast_backfill.core.night_profile import NightProfile
from forecast_backfill.core.peak import NightStep, Usage
from forecast_backfill.core.sizing import TaskSeconds
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

MEASURED_TASKS = 2000
"""Durations are those of so many partitions that were written last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHistory:
    """How long recent partitions took: so many, on average, at the 95th percentile, in seconds.

    `quantiles` are twenty durations, one in the middle of each twentieth.
    """

    tasks: int
    average: float
    p95: float
    quantiles: tuple[float, ...]

    @property
    def task_seconds(self) -> TaskSeconds:
        """The durations for a sizing; a few long outliers can lift the average over the p95."""
        return TaskSeconds(
            average=self.average,
            p95=max(self.average, self.p95),
            source=f"the last {self.tasks} partitions written",
        )


class PostgresCapacity:
    """What is recorded of nights, and the caps measured from it, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def keep(self, steps: Sequence[NightStep]) -> None:
        """Record the steps; one that is recorded already is corrected."""
        with self._session.use() as connection:
            statements().keep_night_records(
                connection,
                run_ids=[each.run_id for each in steps],
                steps=[each.step for each in steps],
                nights=[each.night for each in steps],
                shapes=[each.usage.shape for each in steps],
                slots=[each.usage.slots for each in steps],
                started=[each.usage.start for each in steps],
                ended=[each.usage.end for each in steps],
            )

    def last_nights(self, nights: int, *, before: Date) -> tuple[NightStep, ...]:
        """The steps of the last nights on record that began before the date, in their order."""
        with self._session.use() as connection:
            rows = statements().last_night_records(connection, before=before, nights=nights)
            return tuple(_step(row) for row in rows)

    def store(self, measure: CapacityMeasure, *, by: str) -> datetime:
        """Store the measure as the one in force; when."""
        with self._session.use() as connection:
            row = statements().store_measure(
                connection,
                measured_by=by,
                source=measure.source,
                nights=measure.nights,
                slots=measure.slots,
                headroom=measure.headroom,
                peak=measure.peak,
                peak_at=measure.peak_at,
                cap=measure.cap,
                by_shape=Jsonb(dict(measure.by_shape)),
                together=Jsonb(dict(measure.together)),
                profile=Jsonb(
                    [[since.total_seconds(), slots] for since, slots in measure.profile.steps]
                ),
                reason=measure.reason,
            )
        measured_at: datetime = row["measured_at"]
        return measured_at

    def latest(self) -> tuple[CapacityMeasure, datetime] | None:
        """The measure that was stored last, and when."""
        with self._session.use() as connection:
            row = statements().latest_measure(connection)
        return None if row is None else (_measure(row), row["measured_at"])

    def is_night_over(self, day: Date) -> bool:
        """Whether the night of a business date was published, or cannot be."""
        with self._session.use() as connection:
            is_over: bool = statements().is_night_over(connection, date=day)["is_over"]
        return is_over

    def task_history(self) -> TaskHistory | None:
        """How long the partitions took that were written last; None where none was."""
        with self._session.use() as connection:
            row = statements().task_seconds(connection, latest=MEASURED_TASKS)
        if not row["tasks"]:
            return None
        return TaskHistory(
            tasks=row["tasks"],
            average=row["average"],
            p95=row["p95"],
            quantiles=tuple(row["quantiles"]),
        )


def _step(row: Mapping[str, Any]) -> NightStep:
    usage = Usage(
        shape=row["shape"], start=row["started_at"], end=row["ended_at"], slots=row["slots"]
    )
    return NightStep(night=row["night"], run_id=row["run_id"], step=row["step"], usage=usage)


def _measure(row: Mapping[str, Any]) -> CapacityMeasure:
    names = ("slots", "headroom", "nights", "peak", "peak_at", "by_shape", "together", "reason")
    return CapacityMeasure(
        source=PeakSource(row["source"]),
        profile=NightProfile(
            steps=tuple((timedelta(seconds=since), slots) for since, slots in row["profile"])
        ),
        **{name: row[name] for name in names},
    )
