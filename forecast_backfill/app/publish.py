"""Write the forecasts of a (date, region), and publish a night with one switch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date as Date

from forecast_backfill.app.admission import admitted
from forecast_backfill.app.notice_text import kept_notice
from forecast_backfill.app.notify import queue_notice
from forecast_backfill.core.forecast import (
    ForecastComplete,
    ForecastFingerprint,
    ForecastIncomplete,
    ForecastRow,
    judge_forecast,
)
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.publication import (
    NothingToPublish,
    Publication,
    PublicationStatus,
    plan_publication,
)
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.night import NightPorts
from forecast_backfill.ports.night_values import (
    ForecastMismatched,
    ForecastOutcome,
    ForecastRefused,
    ForecastWritten,
    TrainedModel,
    WindowVerdict,
)


class _Differs(Exception):
    """Carries what was stored out of the transaction, so that leaving it rolls everything back."""

    def __init__(self, stored: ForecastFingerprint) -> None:
        self.stored = stored
        super().__init__("what was stored is not what was forecast")


def forecast_region(
    partition: Partition, *, request: RunRequest, ports: NightPorts
) -> ForecastOutcome:
    """Forecast one (date, region) by the date's model and store it; not yet seen by readers.

    Nothing is written where the forecasts are not complete: every active series on every horizon
    day exactly once, finite and not negative. Raises EpochRaised where the workload was killed.
    """
    return ports.retry(lambda: _attempt(partition, request, ports))


def publish_day(
    day: Date, *, request: RunRequest, ports: NightPorts
) -> Publication | NothingToPublish:
    """Switch readers of `day` to its forecasts, after `forecast_region` was tried for each region.

    A region without forecasts by the date's model keeps those it has, and the publication is marked
    degraded; where the window was refused or no region has any, the last night's stay, marked kept.
    Publishing again improves on it. Raises EpochRaised where the workload was killed.
    """
    published = ports.retry(lambda: _switch(day, request, ports))
    is_kept = isinstance(published, NothingToPublish) or published.status is PublicationStatus.KEPT
    if is_kept:
        queue_notice(kept_notice(published, request.workload), ports=ports)
    return published


def _attempt(partition: Partition, request: RunRequest, ports: NightPorts) -> ForecastOutcome:
    with admitted(request, ports, partition=partition):
        started = ports.clock.monotonic()
        model = ports.models.find(partition.date)
        if model is None:
            return _refused(partition, f"there is no model of {partition.date}")
        artefact = ports.models.artefact(partition.date, model.version)
        if artefact is None:
            return _refused(partition, "the model was replaced meanwhile; launch it again")
        forecasts = ports.forecaster.forecast(artefact, model.version)
        rows = forecasts.get(partition.region, ())
        judged = judge_forecast(
            partition, rows=rows, groups=model.groups, horizon_days=ports.horizon_days
        )
        match judged:
            case ForecastIncomplete(reasons=reasons):
                return ForecastRefused(partition=partition, reasons=reasons)
            case ForecastComplete(fingerprint=fingerprint):
                return _write(partition, rows, fingerprint, model, request, ports, started)


def _write(
    partition: Partition,
    rows: Sequence[ForecastRow],
    fingerprint: ForecastFingerprint,
    model: TrainedModel,
    request: RunRequest,
    ports: NightPorts,
    started: float,
) -> ForecastWritten | ForecastMismatched:
    try:
        is_changed = _replace(partition, rows, fingerprint, model, request, ports)
    except _Differs as found:
        return ForecastMismatched(partition=partition, forecast=fingerprint, stored=found.stored)
    return ForecastWritten(
        partition=partition,
        fingerprint=fingerprint,
        model_version=model.version,
        is_changed=is_changed,
        seconds=ports.clock.monotonic() - started,
    )


def _replace(
    partition: Partition,
    rows: Sequence[ForecastRow],
    fingerprint: ForecastFingerprint,
    model: TrainedModel,
    request: RunRequest,
    ports: NightPorts,
) -> bool:
    with ports.forecasts.transaction(partition, request) as transaction:
        transaction.take_lease()
        transaction.hold_epoch()
        if transaction.is_stored(fingerprint, model.version):
            return False
        transaction.replace(rows, fingerprint.data_version)
        stored = transaction.fingerprint(fingerprint.data_version)
        if stored != fingerprint:
            raise _Differs(stored)
        transaction.complete(fingerprint, model.version)
    return True


def _switch(day: Date, request: RunRequest, ports: NightPorts) -> Publication | NothingToPublish:
    with ports.publications.transaction(day, request) as transaction:
        # Read after the lease was taken, so that two switches of a date see each other's model.
        model = ports.models.find(day)
        publication = plan_publication(
            day,
            regions=ports.regions,
            model_version=None if model is None else model.version,
            fresh={} if model is None else transaction.fresh(model.version),
            previous=transaction.previous(),
            degraded_for=() if model is None else model.degraded_for,
            refused_for=_refusal(ports.windows.find(day)),
        )
        if isinstance(publication, Publication):
            transaction.switch(publication)
    return publication


def _refusal(verdict: WindowVerdict | None) -> tuple[str, ...]:
    if verdict is None:
        return ("the training window was not judged",)
    return () if verdict.is_trainable else verdict.reasons


def _refused(partition: Partition, reason: str) -> ForecastRefused:
    return ForecastRefused(partition=partition, reasons=(reason,))
