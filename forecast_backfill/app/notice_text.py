"""The words of notices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date as Date

from forecast_backfill.app.recompute import Different
from forecast_backfill.core.coverage import LeftOut
from forecast_backfill.core.deadline import AtRisk, Missed
from forecast_backfill.core.notice import Audience, Notice, NoticeKind, audience_of
from forecast_backfill.core.publication import NothingToPublish, Publication
from forecast_backfill.core.shadow import ShadowState
from forecast_backfill.core.shadow_check import RefusedWrite
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.night_values import TrainedModel, VerdictKind, WindowVerdict

MOST_LISTED = 20


def refused_notice(verdict: WindowVerdict, workload: Workload) -> Notice:
    """No fit started."""
    needs = verdict.kind is VerdictKind.NEEDS_OVERRIDE
    what = "needs a named person's override" if needs else "was refused"
    return Notice(
        kind=NoticeKind.CONTRACT_REFUSED,
        audience=audience_of(workload),
        subject=f"{verdict.date} {verdict.data_version}",
        title=f"The training window of {verdict.date} {what}",
        body=_lines(
            "No model was fitted; the forecasts published last stay, and are marked so.",
            *verdict.reasons,
            *_listed(verdict.left_out),
        ),
    )


def exclusions_notice(
    model: TrainedModel, left_out: Sequence[LeftOut], workload: Workload
) -> Notice:
    """A model was fitted on a window that leaves something out."""
    return Notice(
        kind=NoticeKind.MODEL_EXCLUSIONS,
        audience=audience_of(workload),
        subject=f"{model.date} {model.version}",
        title=f"The model of {model.date} leaves out {len(left_out)} of {model.expected}"
        " partitions",
        body=_lines(*model.degraded_for, *_listed(left_out)),
    )


def fell_back_notice(model: TrainedModel, workload: Workload) -> Notice:
    """The formula forecasts in place of the model."""
    return Notice(
        kind=NoticeKind.FIT_FELL_BACK,
        audience=audience_of(workload),
        subject=f"{model.date} {model.version}",
        title=f"The formula forecasts for {model.date} in place of the model",
        body=model.reason,
    )


def kept_notice(publication: Publication | NothingToPublish, workload: Workload) -> Notice:
    """This night's forecasts could not be published."""
    match publication:
        case NothingToPublish(reason=reason):
            what, body = "nothing is published", reason
        case Publication(reasons=reasons, regions=regions):
            newest = max(each.source_date for each in regions)
            what, body = f"the forecasts of {newest} stay", _lines(*reasons)
    return Notice(
        kind=NoticeKind.PUBLICATION_KEPT,
        audience=audience_of(workload),
        subject=f"{publication.date}",
        title=f"No forecast of {publication.date}: {what}",
        body=body,
    )


def deadline_notice(day: Date, verdict: AtRisk | Missed) -> Notice:
    """The night of `day` is late, or about to be."""
    is_missed = isinstance(verdict, Missed)
    what = "missed its deadline" if is_missed else "may miss its deadline"
    return Notice(
        kind=NoticeKind.DEADLINE_MISSED if is_missed else NoticeKind.DEADLINE_AT_RISK,
        audience=Audience.NIGHTLY,
        subject=f"{day}",
        title=f"The forecast of {day} {what}, {verdict.deadline:%Y-%m-%d %H:%M %Z}",
        body=_lines(verdict.lacking, f"Next: forecast-backfill nightly --date {day}"),
    )


def campaign_notice(campaign_id: str, *, done: int, not_done: Sequence[str]) -> Notice:
    """A campaign has finished and left partitions out; `not_done` has a line for each."""
    return Notice(
        kind=NoticeKind.CAMPAIGN_FINISHED,
        audience=Audience.BACKFILL,
        subject=campaign_id,
        title=f"Campaign {campaign_id} finished: {done} done, {len(not_done)} not",
        body=_lines(*_shortened(not_done), "Next: forecast-backfill quarantine list"),
    )


def determinism_notice(found: Different, day: Date) -> Notice:
    """A done partition came out otherwise when it was recomputed from the same source."""
    return Notice(
        kind=NoticeKind.NOT_DETERMINISTIC,
        audience=Audience.NIGHTLY,
        subject=f"{found.partition} {day}",
        title=f"{found.partition} was recomputed to other bytes than are stored",
        body=_lines(
            found.reason,
            f"Next: forecast-backfill reconcile {found.partition.options}",
        ),
    )


def shadow_notice(refused: Sequence[RefusedWrite]) -> Notice:
    """Readers do not see what nightly wrote of one date: the shadow that they read refuses it."""
    first = refused[0]
    remedy = (
        "Next: forecast-backfill shadow start … (one that takes it; the one before was dropped)"
        if first.state is ShadowState.ADOPTED
        else 'Next: forecast-backfill shadow revert --reason "…" (daily_demand has it)'
    )
    return Notice(
        kind=NoticeKind.SHADOW_REFUSES,
        audience=Audience.NIGHTLY,
        subject=f"shadow {first.shadow_id}, {first.partition.date}",
        title=f"Readers do not see {first.partition.date} as nightly wrote it: "
        f"shadow {first.shadow_id} refuses it",
        body=_lines(*_shortened([f"{each.partition}: {each.reason}" for each in refused]), remedy),
    )


def _listed(left_out: Sequence[LeftOut]) -> list[str]:
    return _shortened([f"{each.partition} ({each.state}): {each.reason}" for each in left_out])


def _shortened(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_LISTED
    return [*lines[:MOST_LISTED], *([f"and {more} more"] if more > 0 else [])]


def _lines(*lines: str) -> str:
    return "\n".join(lines)
