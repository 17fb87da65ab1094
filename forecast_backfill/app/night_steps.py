"""The steps of a night, for Dagster's runs and the command line alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date

from forecast_backfill.app.judge_window import judge_window
from forecast_backfill.app.load_dimensions import load_dimensions
from forecast_backfill.app.measure_accuracy import measure_accuracy
from forecast_backfill.app.publish import forecast_region, publish_day
from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.app.train import train
from forecast_backfill.core.errors import (
    DatabaseInterrupted,
    DimensionRefused,
    EpochRaised,
    ForecastBackfillError,
    LandingIncomplete,
)
from forecast_backfill.core.forecast import horizon_of
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.publication import NothingToPublish, Publication, PublicationStatus
from forecast_backfill.core.seal import Seal
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.dimension import DimensionPorts
from forecast_backfill.ports.night import NightPorts
from forecast_backfill.ports.night_values import (
    Accuracy,
    ForecastOutcome,
    ForecastRefused,
    NotMeasured,
    NotTrained,
    TrainedModel,
    WindowVerdict,
)

Published = Publication | NothingToPublish


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fit, and why its dimensions are those of before, None where they are current."""

    trained: TrainedModel | NotTrained
    dimension_problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastBatch:
    """What became of each partition, and of the dates that were published after it."""

    outcomes: tuple[ForecastOutcome, ...]
    published: tuple[Published, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A whole night; what did not come to be is None."""

    seal: Seal
    verdict: WindowVerdict
    fit: Fit | None
    forecasts: tuple[ForecastOutcome, ...]
    published: Published

    @property
    def is_published(self) -> bool:
        """Whether readers see forecasts of this very night."""
        return (
            isinstance(self.published, Publication)
            and self.published.status is not PublicationStatus.KEPT
        )


def run_night(
    day: Date, *, request: RunRequest, ports: NightPorts, dimensions: DimensionPorts
) -> Night:
    """Seal, judge, fit, forecast every region and publish; the regions' demand is there by now.

    Raises EpochRaised where the workload was killed after the request was made.
    """
    seal = seal_day(day, request=request, ports=ports)
    verdict = judge_window(day, request=request, ports=ports)
    fit = None
    batch = ForecastBatch(outcomes=(), published=())
    if verdict.is_trainable:
        fit = fit_day(day, request=request, ports=ports, dimensions=dimensions)
        partitions = [Partition(date=day, region=region) for region in ports.regions]
        batch = forecast_batch(partitions, request=request, ports=ports, tell=_tell_nobody)
    published = batch.published or (publish_day(day, request=request, ports=ports),)
    return Night(
        seal=seal, verdict=verdict, fit=fit, forecasts=batch.outcomes, published=published[0]
    )


def close_window(day: Date, *, request: RunRequest, ports: NightPorts) -> WindowVerdict:
    """Judge the window; where it is refused, the last night's forecasts stay and are marked so.

    A past date that readers never saw anything of is left without a publication.
    """
    verdict = judge_window(day, request=request, ports=ports)
    is_read = request.workload is Workload.NIGHTLY or ports.publications.find(day) is not None
    if not verdict.is_trainable and is_read:
        publish_day(day, request=request, ports=ports)
    return verdict


def fit_day(
    day: Date, *, request: RunRequest, ports: NightPorts, dimensions: DimensionPorts
) -> Fit:
    """Load what dimensions have come, and fit; a bad dimension does not keep the night from it."""
    window = ports.contract.window(horizon_of(day, 1).start)
    dates = DateRange(start=window.start, end=horizon_of(day, ports.horizon_days).end)
    problem = None
    try:
        ports.retry(lambda: load_dimensions(dates, regions=ports.regions, ports=dimensions))
    except (DimensionRefused, LandingIncomplete) as error:
        problem = str(error)
    return Fit(trained=train(day, request=request, ports=ports), dimension_problem=problem)


def forecast_batch(
    partitions: Iterable[Partition],
    *,
    request: RunRequest,
    ports: NightPorts,
    tell: Callable[[ForecastOutcome], None],
) -> ForecastBatch:
    """Try every partition, tell each outcome, then publish the dates that are tried in full.

    A region that fails does not keep the others from being forecast. A date is published once every
    region was tried here or has forecasts by the date's model. Raises EpochRaised as the rest does.
    """
    outcomes: list[ForecastOutcome] = []
    tried: defaultdict[Date, set[str]] = defaultdict(set)
    for partition in partitions:
        try:
            outcome = forecast_region(partition, request=request, ports=ports)
        except EpochRaised:
            raise
        except ForecastBackfillError as error:
            outcome = ForecastRefused(partition=partition, reasons=(str(error),))
        tell(outcome)
        outcomes.append(outcome)
        tried[partition.date].add(partition.region)
    published = tuple(
        publish_day(day, request=request, ports=ports)
        for day, regions in sorted(tried.items())
        if _is_tried(day, regions, request, ports)
    )
    return ForecastBatch(outcomes=tuple(outcomes), published=published)


def measure_batch(
    partitions: Iterable[Partition],
    *,
    request: RunRequest,
    ports: NightPorts,
    tell: Callable[[Accuracy | NotMeasured], None],
) -> Sequence[Accuracy | NotMeasured]:
    """Measure every partition and tell each; one whose measuring fails is told as not measured."""
    found: list[Accuracy | NotMeasured] = []
    for partition in partitions:
        try:
            measured = measure_accuracy(partition, request=request, ports=ports)
        except DatabaseInterrupted as error:
            measured = NotMeasured(partition=partition, reason=str(error))
        tell(measured)
        found.append(measured)
    return found


def _is_tried(day: Date, tried: set[str], request: RunRequest, ports: NightPorts) -> bool:
    rest = set(ports.regions) - tried
    if not rest:
        return True
    model = ports.models.find(day)
    return model is not None and rest <= _fresh(day, model, request, ports).keys()


def _fresh(
    day: Date, model: TrainedModel, request: RunRequest, ports: NightPorts
) -> Mapping[str, str]:
    with ports.publications.transaction(day, request) as transaction:
        return transaction.fresh(model.version)


def _tell_nobody(outcome: ForecastOutcome) -> None:
    pass
