"""Builds the adapters of the night; pandas and LightGBM are imported only by who needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from functools import cached_property

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.completeness import CompletenessContract
from forecast_backfill.core.forecast import ForecastRow
from forecast_backfill.core.notice import Audience
from forecast_backfill.core.states import Workload
from forecast_backfill.notices.apprise_notifier import AppriseNotifier
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.night import Demand, Forecaster, NightPorts
from forecast_backfill.ports.night_values import Fitted, HorizonScore, TrainingData
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.accuracy import PostgresAccuracy
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.dimensions import PostgresDimensions
from forecast_backfill.warehouse.forecasts import PostgresForecasts
from forecast_backfill.warehouse.leases import PostgresSlots
from forecast_backfill.warehouse.models import PostgresModels
from forecast_backfill.warehouse.notices import PostgresNotices
from forecast_backfill.warehouse.publications import PostgresPublications
from forecast_backfill.warehouse.replica import Replica
from forecast_backfill.warehouse.seals import PostgresSeals
from forecast_backfill.warehouse.waits import PostgresWaits
from forecast_backfill.warehouse.windows import PostgresWindows
from forecast_backfill.wiring.lakehouse import demand_of
from forecast_backfill.wiring.pace_health import PaceHealth
from forecast_backfill.wiring.partition import (
    SystemClock,
    calendar_in,
    control_of,
    open_session,
    retry_interrupted,
)
from forecast_backfill.wiring.window import SparkDemand


class LazyForecaster:
    """The forecaster, imported when it is first asked."""

    def __init__(self, horizon_days: int) -> None:
        self._horizon_days = horizon_days

    @cached_property
    def _loaded(self) -> Forecaster:
        from forecast_backfill.forecasting.night_forecaster import NightForecaster

        return NightForecaster(horizon_days=self._horizon_days)

    @property
    def code_version(self) -> str:
        """Changes whenever the same data could give another model."""
        return self._loaded.code_version

    def fit(self, data: TrainingData, *, seed: int) -> Fitted:
        """Fit; the formula where LightGBM fails or would lose."""
        return self._loaded.fit(data, seed=seed)

    def forecast(self, artefact: bytes, version: str) -> Mapping[str, Sequence[ForecastRow]]:
        """The forecasts by region."""
        return self._loaded.forecast(artefact, version)

    def score(
        self,
        *,
        forecasts: Sequence[ForecastRow],
        actuals: Mapping[Date, Mapping[str, int]],
        history: Mapping[Date, Mapping[str, int]],
    ) -> tuple[HorizonScore, ...]:
        """Scores of all known days together, then of each."""
        return self._loaded.score(forecasts=forecasts, actuals=actuals, history=history)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightWiring:
    """The night's ports of one run, and what a caller needs beside them."""

    settings: Settings
    ports: NightPorts
    session: Session
    workload: Workload
    run_id: str

    @property
    def calendar(self) -> Calendar:
        """The partition dates and the seam."""
        return self.ports.calendar

    @property
    def contract(self) -> CompletenessContract:
        """What a training window must hold."""
        return self.ports.contract

    def request(self, *, campaign_id: str | None = None) -> RunRequest:
        """A request in the workload's current epoch."""
        return RunRequest(
            workload=self.workload,
            run_id=self.run_id,
            campaign_id=campaign_id,
            epoch=self.ports.control.epoch(self.workload),
        )


@contextmanager
def open_night(settings: Settings, *, workload: Workload, run_id: str) -> Iterator[NightWiring]:
    """Everything that the night's use cases need, closed at the end of the block."""
    with (
        open_session(settings, workload, is_bounded=True) as session,
        # A fit takes minutes: the looks that pace whoever else works for backfill go on beside it.
        closing(PaceHealth(settings, session)) as health,
    ):
        yield NightWiring(
            settings=settings,
            ports=_night_ports(settings, session, health),
            session=session,
            workload=workload,
            run_id=run_id,
        )


def _night_ports(settings: Settings, session: Session, health: PaceHealth) -> NightPorts:
    """The ports over one session."""
    clock = SystemClock()
    targets = {
        Audience.NIGHTLY: settings.nightly_notices,
        Audience.BACKFILL: settings.backfill_notices,
    }
    return NightPorts(
        seals=PostgresSeals(session),
        windows=PostgresWindows(session),
        demand=_demand_of(settings, session),
        promotions=PostgresDimensions(session),
        forecaster=LazyForecaster(settings.horizon_days),
        models=PostgresModels(session),
        forecasts=PostgresForecasts(session),
        publications=PostgresPublications(session),
        accuracy=PostgresAccuracy(session),
        notices=PostgresNotices(session),
        notifier=AppriseNotifier(targets),
        control=control_of(settings, session, health),
        slots=PostgresSlots(session),
        waits=PostgresWaits(session),
        clock=clock,
        retry=retry_interrupted,
        calendar=calendar_in(session, settings, clock),
        contract=settings.contract,
        regions=settings.regions,
        opened=settings.opened_regions,
        zone=settings.zone,
        opening_time=settings.opening_time,
        deadline_warning=timedelta(minutes=settings.deadline_warning_minutes),
        horizon_days=settings.horizon_days,
        seed=settings.seed,
        fit_slots=settings.fit_slots,
    )


def _demand_of(settings: Settings, session: Session) -> Demand:
    """Who reads windows; of a lakehouse DuckDB does, which keeps no more than it has to."""
    replica = _replica_of(settings, session)
    if settings.spark_window_partitions is None or settings.is_lakehouse:
        return demand_of(settings, session, replica)
    return SparkDemand(session, replica, settings)


def _replica_of(settings: Settings, session: Session) -> Replica | None:
    """Where windows are read by refits of backfill; the night's own go by nobody else's state."""
    if settings.replica_url is None or session.workload is Workload.NIGHTLY:
        return None
    return Replica(settings.replica_url, settings)
