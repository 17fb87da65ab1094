"""The values that the night's use cases take, store and hand back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from enum import StrEnum

from forecast_backfill.core.completeness import Override
from forecast_backfill.core.coverage import LeftOut
from forecast_backfill.core.forecast import ForecastFingerprint
from forecast_backfill.core.notice import Audience
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.ports.dimension import PromotionShare


class VerdictKind(StrEnum):
    """What the completeness contract says of a window."""

    ACCEPTED = "accepted"
    DEGRADED = "degraded"
    NEEDS_OVERRIDE = "needs_override"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowVerdict:
    """The training window of a date as it was judged, with everything that it leaves out.

    `seals` has the version of each sealed date; `changed_dates` are those whose seal is another
    than when this window was fitted last (none the first time). `reasons` is empty where the
    window was accepted. `stale_used` lists stale partitions that the contract lets in.
    """

    date: Date
    kind: VerdictKind
    reasons: tuple[str, ...]
    window: DateRange
    regions: tuple[str, ...]
    expected: int
    left_out: tuple[LeftOut, ...]
    stale_used: tuple[LeftOut, ...]
    seals: Mapping[Date, str]
    window_digest: str
    changed_dates: tuple[Date, ...]
    override: Override | None

    @property
    def is_trainable(self) -> bool:
        """Whether a fit may start."""
        return self.kind in (VerdictKind.ACCEPTED, VerdictKind.DEGRADED)

    @property
    def data_version(self) -> str:
        """Changes with any seal of the window and with the verdict."""
        return f"{self.window_digest}-{self.kind}"

    @property
    def missing_by_region(self) -> Mapping[str, int]:
        """How many dates each region lacks; only regions that lack any."""
        return Counter(each.partition.region for each in self.left_out)

    @property
    def missing_by_date(self) -> Mapping[Date, int]:
        """How many regions each date lacks; only dates that lack any."""
        return Counter(each.partition.date for each in self.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowUnits:
    """One readable partition of a window: its version, and units by demand group (sorted)."""

    partition: Partition
    data_version: str
    units: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """All that a fit sees. A partition that `present` lacks is missing, never zero.

    `present` holds the partitions to learn from; of one of them a group without units sold nothing.
    `promotions` are those that were known on the window's last date, also of coming weeks.
    """

    window: DateRange
    regions: tuple[str, ...]
    groups: tuple[str, ...]
    present: Sequence[WindowUnits]
    promotions: Sequence[PromotionShare]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What a fit came to. `artefact` is the whole model with what it has seen, as bytes.

    `version` is a digest of the artefact: same data and seed, same version. Scores are WAPE on the
    days that were held out, None where there was nothing to score.
    """

    version: str
    kind: str
    reason: str
    artefact: bytes
    parameters: Mapping[str, object]
    seed: int
    training_rows: int
    holdout_model_wape: float | None
    holdout_formula_wape: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """The model of a date as it is stored; `verdict` is the window that it was fitted on.

    `moved` are partitions that were committed anew between their seal and the fit: what was read
    is counted in `data_digest`, and their next seal has the window fitted again. `is_changed`
    tells whether another model was there before. `kind` is lightgbm or formula, `reason` why.
    """

    date: Date
    version: str
    kind: str
    reason: str
    parameters: Mapping[str, object]
    seed: int
    window_digest: str
    data_digest: str
    verdict: VerdictKind
    degraded_for: tuple[str, ...]
    regions: tuple[str, ...]
    groups: tuple[str, ...]
    expected: int
    left_out: int
    moved: tuple[Partition, ...]
    changed_dates: tuple[Date, ...]
    training_rows: int
    holdout_model_wape: float | None
    holdout_formula_wape: float | None
    seconds: float
    is_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTrained:
    """No fit started, and the model that was there, if any, is the one that stays."""

    date: Date
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastWritten:
    """The forecasts are stored, complete and reconciled; they are not published by that.

    `is_changed` is false where the same forecasts were there already.
    """

    partition: Partition
    fingerprint: ForecastFingerprint
    model_version: str
    is_changed: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRefused:
    """Nothing was written: no model, or forecasts that are not complete."""

    partition: Partition
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastMismatched:
    """What was stored is not what was forecast; everything was rolled back."""

    partition: Partition
    forecast: ForecastFingerprint
    stored: ForecastFingerprint


ForecastOutcome = ForecastWritten | ForecastRefused | ForecastMismatched


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonScore:
    """How good the forecasts were on one horizon day; `horizon` 0 is all known days together.

    Units are thousandths. A ratio is None where nothing was sold or there is nothing to compare.
    """

    horizon: int
    target_date: Date | None
    actual_milliunits: int
    forecast_milliunits: int
    wape: float | None
    naive_wape: float | None
    bias: float | None
    rmsse: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The accuracy of a (date, region) over the horizon days that are in by now."""

    partition: Partition
    forecast_version: str
    known_days: int
    horizon_days: int
    scores: tuple[HorizonScore, ...]

    @property
    def overall(self) -> HorizonScore:
        """The score over all known days."""
        return self.scores[0]

    @property
    def data_version(self) -> str:
        """Changes with the forecast and with every actual that comes in or is corrected."""
        known = f"{self.known_days}-{self.overall.actual_milliunits}"
        return f"{self.forecast_version}-{known}-{self.overall.rmsse}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMeasured:
    """There is nothing to measure yet."""

    partition: Partition
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedNotice:
    """A notice that was claimed for sending; `attempts` counts this one too."""

    notice_id: int
    audience: Audience
    title: str
    body: str
    attempts: int
