"""Windows for fits, read by Spark's executors from one snapshot where they are large."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.night_values import WindowUnits
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.replica import Replica
from forecast_backfill.warehouse.windows import PostgresDemand, read_units, shared_snapshot
from forecast_backfill.wiring.shipping import OpenSpark, pack, unpack_settings


class SparkDemand(PostgresDemand):
    """`daily_demand` whose large windows are read by executors, from the database that is asked."""

    def __init__(
        self,
        session: Session,
        replica: Replica | None,
        settings: Settings,
        open_spark: OpenSpark | None = None,
    ) -> None:
        super().__init__(session, replica)
        self._settings = settings
        self._open_spark = open_spark

    def read(self, window: DateRange) -> Sequence[WindowUnits]:
        """Every readable partition of the window (stale ones too), in one snapshot, sorted."""
        partitions = (window.end - window.start).days * len(self._settings.regions)
        least = self._settings.spark_window_partitions
        if least is None or partitions < least:
            return super().read(window)
        return self._through(partial(self._read_in_spark, window))

    def _read_in_spark(self, window: DateRange, session: Session) -> Sequence[WindowUnits]:
        from forecast_backfill.engines import spark_session
        from forecast_backfill.engines.spark_watch import Group
        from forecast_backfill.engines.spark_windows import read_window, split

        settings, workload = self._settings, session.workload
        opened = self._open_spark or partial(spark_session.open_spark, settings, workload)
        # The fit holds its slots while it reads: as many tasks.
        ranges = split(window, settings.fit_slots)
        with opened() as spark, shared_snapshot(session) as (snapshot, stay_awake):
            reader = _Reader(
                settings=pack(settings), url=session.url, workload=workload, snapshot=snapshot
            )
            group = Group(
                session=spark,
                name=f"forecast-backfill-window-{window.end}",
                description=f"the window up to {window.end}",
                is_connect=settings.is_spark_connect,
            )
            return read_window(group, ranges, partial(read_here, reader), stay_awake)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """What an executor reads with."""

    settings: str
    url: str
    workload: Workload
    snapshot: str


def read_here(reader: _Reader, window: DateRange) -> Sequence[WindowUnits]:
    """On an executor: the partitions of a part of the window, from the driver's snapshot."""
    settings = unpack_settings(reader.settings)
    with closing(Session(reader.url, reader.workload, settings, name="window read")) as session:
        return read_units(session, window, snapshot=reader.snapshot)
