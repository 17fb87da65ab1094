"""What the night needs of the world, as Protocols; ports.py has those of the partition task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta, tzinfo
from datetime import time as Time
from typing import Protocol, TypeVar

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.completeness import CompletenessContract, Override
from forecast_backfill.core.deadline import NightProgress
from forecast_backfill.core.forecast import ForecastFingerprint, ForecastRow
from forecast_backfill.core.notice import Audience, Notice
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.publication import Publication, PublishedRegion
from forecast_backfill.core.seal import RegionOutput, Seal
from forecast_backfill.ports import Clock, Control, RunRequest, Slots, Waits
from forecast_backfill.ports.dimension import PromotionShares
from forecast_backfill.ports.night_values import (
    Accuracy,
    Fitted,
    HorizonScore,
    QueuedNotice,
    TrainedModel,
    TrainingData,
    WindowUnits,
    WindowVerdict,
)

T = TypeVar("T")


class Seals(Protocol):
    """The seals of dates."""

    def seal(
        self,
        day: Date,
        request: RunRequest,
        build: Callable[[Mapping[str, RegionOutput]], Seal],
    ) -> Seal:
        """Under the date's lease: read the ledger's outputs of `day`, build the seal, store it."""
        ...

    def find(self, window: DateRange) -> Mapping[Date, Seal]:
        """The seals of the window, as of one moment; a date that was never sealed is absent."""
        ...


class Windows(Protocol):
    """Judged windows with what they leave out, and who overrode what."""

    def find(self, day: Date) -> WindowVerdict | None: ...

    def store(self, verdict: WindowVerdict, request: RunRequest) -> None: ...

    def find_override(self, day: Date, window_digest: str) -> Override | None:
        """Who took exactly this content of the window, if anybody."""
        ...

    def store_override(self, day: Date, window_digest: str, override: Override) -> None: ...


class Demand(Protocol):
    """`daily_demand` as models and measures read it."""

    def read(self, window: DateRange) -> Sequence[WindowUnits]:
        """Every readable partition of the window (stale ones too), in one snapshot, sorted."""
        ...

    def read_current(self, window: DateRange, region: str) -> Sequence[WindowUnits]:
        """The partitions of one region whose output is not stale, in one snapshot, sorted."""
        ...


class Forecaster(Protocol):
    """Fits, forecasts and measures; a fit that fails falls back to the formula and says so."""

    @property
    def code_version(self) -> str:
        """Changes whenever the same data could give another model."""
        ...

    def fit(self, data: TrainingData, *, seed: int) -> Fitted: ...

    def forecast(self, artefact: bytes, version: str) -> Mapping[str, Sequence[ForecastRow]]:
        """The forecasts by region, in order of group and date; those of one version are kept."""
        ...

    def score(
        self,
        *,
        forecasts: Sequence[ForecastRow],
        actuals: Mapping[Date, Mapping[str, int]],
        history: Mapping[Date, Mapping[str, int]],
    ) -> tuple[HorizonScore, ...]:
        """All days together first, then each horizon day that is in `actuals`.

        Both mappings have units by date and group; a date that one lacks is unknown, a group that
        a date lacks sold nothing.
        """
        ...


class Models(Protocol):
    """Fitted models with their artefacts."""

    def find(self, day: Date) -> TrainedModel | None: ...

    def artefact(self, day: Date, version: str) -> bytes | None:
        """The model's bytes; None where another version has taken its place."""
        ...

    def store(self, model: TrainedModel, artefact: bytes, request: RunRequest) -> TrainedModel:
        """Replace the date's model under its lease; the model as stored (`is_changed` set)."""
        ...


class ForecastTransaction(Protocol):
    """One open transaction over one forecast partition; an exception rolls it all back."""

    def take_lease(self) -> None: ...

    def hold_epoch(self) -> None: ...

    def is_stored(self, fingerprint: ForecastFingerprint, model_version: str) -> bool:
        """Whether exactly these forecasts of this model are the stored ones."""
        ...

    def replace(self, rows: Sequence[ForecastRow], forecast_version: str) -> None:
        """Write the rows as that version and drop older versions that no publication shows."""
        ...

    def fingerprint(self, forecast_version: str) -> ForecastFingerprint:
        """Computed by the database from the stored rows."""
        ...

    def complete(self, fingerprint: ForecastFingerprint, model_version: str) -> None: ...


class Forecasts(Protocol):
    """Where `demand_forecast` is stored, by version: what is published never changes in place."""

    def transaction(
        self, partition: Partition, request: RunRequest
    ) -> AbstractContextManager[ForecastTransaction]: ...

    def latest(self, partition: Partition) -> tuple[str, Sequence[ForecastRow]] | None:
        """The version and rows that are published for the partition, else those last written."""
        ...


class PublicationTransaction(Protocol):
    """One open transaction over the publication of a date, under its lease."""

    def fresh(self, model_version: str) -> Mapping[str, str]:
        """The forecast version of each region that has forecasts of the date by that model."""
        ...

    def previous(self) -> Mapping[str, PublishedRegion]:
        """What the last publication before the date shows, by region."""
        ...

    def switch(self, publication: Publication) -> None:
        """From the commit on, readers of the date see this and nothing of what was there."""
        ...


class Publications(Protocol):
    """What readers see."""

    def transaction(
        self, day: Date, request: RunRequest
    ) -> AbstractContextManager[PublicationTransaction]:
        """Takes the date's lease and holds the epoch before anything else."""
        ...

    def find(self, day: Date) -> Publication | None: ...

    def progress(self, day: Date) -> NightProgress:
        """When the date was first sealed, and first published with forecasts of its own."""
        ...


class AccuracyRecords(Protocol):
    """Measured accuracy."""

    def store(self, accuracy: Accuracy, request: RunRequest) -> None:
        """Replace the partition's scores."""
        ...

    def find(self, partition: Partition) -> Accuracy | None: ...


class Notices(Protocol):
    """The outbox: queued in the database, sent apart from the work."""

    def queue(self, notice: Notice) -> bool:
        """Whether it was new: the same subject is told once only."""
        ...

    def claim(self, *, now: datetime, limit: int) -> Sequence[QueuedNotice]:
        """Take notices that are due; nobody else gets them for a while."""
        ...

    def sent(self, notice: QueuedNotice) -> None: ...

    def unaddressed(self, notice: QueuedNotice) -> None:
        """Its audience has no target; it stays readable in the table."""
        ...

    def failed(self, notice: QueuedNotice, *, reason: str, again_at: datetime | None) -> None:
        """Try again at that time; None gives it up."""
        ...


class Notifier(Protocol):
    """Sends to an audience's targets."""

    def has_target(self, audience: Audience) -> bool: ...

    def send(self, audience: Audience, *, title: str, body: str) -> None:
        """Raises NotificationFailed where any target did not take it."""
        ...


class NightRetry(Protocol):
    """Runs an attempt, and again after a DatabaseInterrupted, with backoff, a few times."""

    def __call__(self, attempt: Callable[[], T], /) -> T: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NightPorts:
    """Everything that the night's use cases are handed."""

    seals: Seals
    windows: Windows
    demand: Demand
    promotions: PromotionShares
    forecaster: Forecaster
    models: Models
    forecasts: Forecasts
    publications: Publications
    accuracy: AccuracyRecords
    notices: Notices
    notifier: Notifier
    control: Control
    slots: Slots
    waits: Waits
    clock: Clock
    retry: NightRetry
    calendar: Calendar
    contract: CompletenessContract
    regions: tuple[str, ...]
    opened: Mapping[str, Date]
    zone: tzinfo
    opening_time: Time
    deadline_warning: timedelta
    horizon_days: int
    seed: int
    fit_slots: int
