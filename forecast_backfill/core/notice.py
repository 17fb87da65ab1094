"""Notices: what people are told, who, and how often sending is tried."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from forecast_backfill.core.states import Workload

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
MOST_ATTEMPTS = 30


class Audience(StrEnum):
    """Who is told; each audience has targets of its own."""

    NIGHTLY = "nightly"
    BACKFILL = "backfill"


class NoticeKind(StrEnum):
    """What a notice is about."""

    MODEL_EXCLUSIONS = "model_exclusions"
    CONTRACT_REFUSED = "contract_refused"
    FIT_FELL_BACK = "fit_fell_back"
    DEADLINE_AT_RISK = "deadline_at_risk"
    DEADLINE_MISSED = "deadline_missed"
    PUBLICATION_KEPT = "publication_kept"
    CAMPAIGN_FINISHED = "campaign_finished"
    NOT_DETERMINISTIC = "not_deterministic"
    SHADOW_REFUSES = "shadow_refuses"


class NoticeStatus(StrEnum):
    """What became of a queued notice; unaddressed where its audience has no target."""

    PENDING = "pending"
    SENT = "sent"
    UNADDRESSED = "unaddressed"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message; `subject` names what it is about, and the same one is told once only."""

    kind: NoticeKind
    audience: Audience
    subject: str
    title: str
    body: str

    def __post_init__(self) -> None:
        if not (self.subject.strip() and self.title.strip() and self.body.strip()):
            raise ValueError("a notice has a subject, a title and a body")

    @property
    def key(self) -> str:
        """By which a notice is queued once."""
        return f"{self.kind}/{self.audience}/{self.subject}"


def audience_of(workload: Workload) -> Audience:
    """Who is told of what a workload did."""
    return Audience.NIGHTLY if workload is Workload.NIGHTLY else Audience.BACKFILL


def pause_after(attempts: int) -> timedelta | None:
    """How long to wait after the failed attempt number `attempts`; None: give up."""
    if attempts >= MOST_ATTEMPTS:
        return None
    return min(FIRST_PAUSE * 2 ** min(attempts - 1, 10), LONGEST_PAUSE)
