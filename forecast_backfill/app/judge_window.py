"""Judge a training window by the completeness contract, and record what it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date as Date
from datetime import timedelta
from typing import assert_never

from forecast_backfill.app.notice_text import refused_notice
from forecast_backfill.app.notify import queue_notice
from forecast_backfill.core.completeness import (
    Accepted,
    Degraded,
    NeedsOverride,
    Override,
    Refused,
    Verdict,
    judge,
)
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.seal import Seal, cells_of, digest_seals
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.night import NightPorts
from forecast_backfill.ports.night_values import VerdictKind, WindowVerdict


def judge_window(day: Date, *, request: RunRequest, ports: NightPorts) -> WindowVerdict:
    """Judge the window that ends with `day`, and store the verdict with every exclusion.

    Where no fit may start, a notice is queued; the forecasts published before are left alone.
    """
    verdict = ports.retry(lambda: _attempt(day, request, ports))
    if not verdict.is_trainable:
        queue_notice(refused_notice(verdict, request.workload), ports=ports)
    return verdict


def override_window(day: Date, override: Override, *, ports: NightPorts) -> str:
    """A named person takes the window as it is now; the digest of what was taken.

    The override holds for exactly this content: with other seals it has to be given again. Raises
    UsageRefused where the window needs none, or none would help.
    """
    window = ports.contract.window(_forecast_from(day))
    seals = ports.seals.find(window)
    match _judge(day, seals, ports, override=None):
        case NeedsOverride():
            digest = _digest(window, seals)
            ports.windows.store_override(day, digest, override)
            return digest
        case Refused(reasons=reasons):
            why = f"no override lifts this, only data does: {'; '.join(reasons)}"
        case Accepted() | Degraded():
            why = "the contract takes it without an override"
    raise UsageRefused(
        f"the window of {day} was not overridden",
        why=why,
        next_command=f"forecast-backfill status (the window ends with {day})",
    )


def _attempt(day: Date, request: RunRequest, ports: NightPorts) -> WindowVerdict:
    window = ports.contract.window(_forecast_from(day))
    seals = ports.seals.find(window)
    digest = _digest(window, seals)
    override = ports.windows.find_override(day, digest)
    before = ports.windows.find(day)
    verdict = _judge(day, seals, ports, override=override)
    kind, reasons, taken = _describe(verdict)
    versions = {each: seal.data_version for each, seal in seals.items()}
    judged = WindowVerdict(
        date=day,
        kind=kind,
        reasons=reasons,
        window=window,
        regions=verdict.coverage.regions,
        expected=verdict.coverage.expected,
        left_out=verdict.coverage.left_out,
        stale_used=verdict.coverage.stale_used,
        seals=versions,
        window_digest=digest,
        changed_dates=_changed(before, versions, digest, ports),
        override=taken,
    )
    ports.windows.store(judged, request)
    return judged


def _judge(
    day: Date, seals: Mapping[Date, Seal], ports: NightPorts, *, override: Override | None
) -> Verdict:
    return judge(
        ports.contract,
        forecast_from=_forecast_from(day),
        regions=ports.regions,
        cells=cells_of(seals),
        opened=ports.opened,
        override=override,
    )


def _describe(verdict: Verdict) -> tuple[VerdictKind, tuple[str, ...], Override | None]:
    match verdict:
        case Accepted():
            return VerdictKind.ACCEPTED, (), None
        case Degraded(reasons=reasons, override=override):
            return VerdictKind.DEGRADED, reasons, override
        case NeedsOverride(reasons=reasons):
            return VerdictKind.NEEDS_OVERRIDE, reasons, None
        case Refused(reasons=reasons):
            return VerdictKind.REFUSED, reasons, None
        case _:
            assert_never(verdict)


def _changed(
    before: WindowVerdict | None, versions: Mapping[Date, str], digest: str, ports: NightPorts
) -> tuple[Date, ...]:
    """The dates whose seal is another than when the window was fitted, or judged first."""
    if before is None:
        return ()
    if before.window_digest == digest:
        return before.changed_dates
    days = {*before.seals, *versions}
    changed = {day for day in days if before.seals.get(day) != versions.get(day)}
    model = ports.models.find(before.date)
    if model is None or model.window_digest != before.window_digest:
        changed |= {*before.changed_dates}
    return tuple(sorted(changed))


def _digest(window: DateRange, seals: Mapping[Date, Seal]) -> str:
    return digest_seals(window, {day: seal.data_version for day, seal in seals.items()})


def _forecast_from(day: Date) -> Date:
    return day + timedelta(days=1)
