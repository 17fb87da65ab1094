"""What is recorded of a date, and what was launched for it: all that the plans look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date as Date
from datetime import datetime, timedelta, tzinfo
from datetime import time as Time
from enum import StrEnum
from types import MappingProxyType

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload

MOST_ATTEMPTS = 3
"""How often a launch is tried whose runs end badly."""

NOTHING_RECORDED = "nothing"


class Freshness(StrEnum):
    """Whether a record tells what it was made from as that is now."""

    ABSENT = "absent"
    CURRENT = "current"
    OUTDATED = "outdated"


@dataclass(frozen=True, slots=True, kw_only=True)
class DateState:
    """A date as the ledger and the night's tables have it.

    `decided` are regions whose source was written or refused; `content` names what the ledger has.
    `is_night` tells that nightly has sealed the date. `window_seals` names the seals of its window
    as they are now. `has_own_forecast` stays true once the date was published with forecasts of its
    own; `published_model` is the model that is published now. `known_days` counts sealed days of
    the horizon, `measured_days` those that accuracy was last measured over.
    """

    date: Date
    decided: frozenset[str] = frozenset()
    content: str = NOTHING_RECORDED
    seal: Freshness = Freshness.ABSENT
    is_night: bool = False
    window: Freshness = Freshness.ABSENT
    window_seals: str = NOTHING_RECORDED
    is_trainable: bool = False
    model: str | None = None
    is_model_of_window: bool = False
    is_published: bool = False
    has_own_forecast: bool = False
    published_model: str | None = None
    known_days: int = 0
    measured_days: int = 0

    @property
    def is_refused(self) -> bool:
        """Whether the contract has refused the window, so that no fit starts."""
        return self.window is not Freshness.ABSENT and not self.is_trainable

    @property
    def is_closed(self) -> bool:
        """Whether its night is over: published with its own forecasts, or refused."""
        return self.has_own_forecast or self.is_refused


class Stage(StrEnum):
    """What a run does, and over which assets."""

    REGIONS = "regions"
    NIGHT = "night"
    SEAL = "seal"
    REFIT = "refit"
    FORECAST = "forecast"
    ACCURACY = "accuracy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One run: a stage over `[first.date, last.date]` × the regions from first to last.

    `cause` names the content that asks for it: the same launch for the same cause is done once.
    """

    stage: Stage
    workload: Workload
    first: Partition
    last: Partition
    cause: str

    @property
    def key(self) -> str:
        """By which a launch is found again among the runs."""
        return f"{self.stage}/{self.workload}/{self.first}/{self.last}/{self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLaunch:
    """How many runs of one key there were, by how they ended."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLaunches:
    """The runs that the plans have launched before, by key."""

    by_key: Mapping[str, PastLaunch] = field(default_factory=lambda: MappingProxyType({}))

    def attempts(self, launch: Launch) -> int:
        """How many runs of the launch have ended badly."""
        return self.by_key.get(launch.key, PastLaunch()).failed

    def is_active(self, launch: Launch) -> bool:
        """Whether a run of it is queued or running."""
        return self.by_key.get(launch.key, PastLaunch()).active > 0

    def is_allowed(self, launch: Launch) -> bool:
        """Whether it may be launched: not under way, not done for this cause, not given up."""
        past = self.by_key.get(launch.key, PastLaunch())
        return not past.active and not past.succeeded and past.failed < MOST_ATTEMPTS

    def has_active(self, stage: Stage, workload: Workload, day: Date | None = None) -> bool:
        """Whether any run of the stage is queued or running, of one date or of any."""
        prefix = f"{stage}/{workload}/" + ("" if day is None else f"{day} ")
        return any(key.startswith(prefix) and past.active for key, past in self.by_key.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class NightHours:
    """When the night of a date begins, and until when it waits for late files; local times."""

    nightly_time: Time
    cut_off_time: Time
    zone: tzinfo

    def begins_at(self, day: Date) -> datetime:
        """The start, in the morning after the date."""
        return datetime.combine(day + timedelta(days=1), self.nightly_time, tzinfo=self.zone)

    def cut_off_at(self, day: Date) -> datetime:
        """From then on a file that is not there counts as missing."""
        return datetime.combine(day + timedelta(days=1), self.cut_off_time, tzinfo=self.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to launch now, in this order, and why nothing else is."""

    launches: tuple[Launch, ...] = ()
    reasons: tuple[str, ...] = ()
