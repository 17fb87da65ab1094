"""Fit the model of a date on its judged window; what is missing is missing, never zero."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date as Date
from datetime import timedelta

from forecast_backfill.app.admission import admitted
from forecast_backfill.app.notice_text import exclusions_notice, fell_back_notice
from forecast_backfill.app.notify import queue_notice
from forecast_backfill.core.coverage import LeftOut
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.seal import cells_of
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.night import NightPorts
from forecast_backfill.ports.night_values import (
    Fitted,
    NotTrained,
    TrainedModel,
    TrainingData,
    WindowUnits,
    WindowVerdict,
)

FALLBACK_KIND = "formula"


def train(day: Date, *, request: RunRequest, ports: NightPorts) -> TrainedModel | NotTrained:
    """Fit on the window that `judge_window` recorded last, and store the model.

    No fit starts where the window was not judged or the contract does not take it. A fit that fails
    leaves the formula as the model, recorded with its reason. Raises EpochRaised where the workload
    was killed after the request was made.
    """
    verdict = ports.windows.find(day)
    if verdict is None:
        return NotTrained(date=day, reasons=(f"the window of {day} was not judged",))
    if not verdict.is_trainable:
        return NotTrained(date=day, reasons=verdict.reasons)
    trained = ports.retry(lambda: _attempt(verdict, request, ports))
    if isinstance(trained, TrainedModel):
        _tell(trained, verdict.left_out, request, ports)
    return trained


def _attempt(
    verdict: WindowVerdict, request: RunRequest, ports: NightPorts
) -> TrainedModel | NotTrained:
    with admitted(request, ports, weight=ports.fit_slots):
        started = ports.clock.monotonic()
        present = _present(verdict, ports)
        data = _gather(verdict, present, ports)
        if not data.groups:
            return NotTrained(date=verdict.date, reasons=("nothing was sold in the window",))
        fitted = ports.forecaster.fit(data, seed=ports.seed)
        model = _describe(verdict, data, fitted, ports, started)
        return ports.models.store(model, fitted.artefact, request)


def _present(verdict: WindowVerdict, ports: NightPorts) -> tuple[WindowUnits, ...]:
    """What is read now of the partitions that the verdict counts as there."""
    left_out = {each.partition for each in verdict.left_out}
    regions = set(verdict.regions)
    return tuple(
        each
        for each in ports.demand.read(verdict.window)
        if each.partition.region in regions and each.partition not in left_out
    )


def _gather(
    verdict: WindowVerdict, present: tuple[WindowUnits, ...], ports: NightPorts
) -> TrainingData:
    reach = timedelta(days=ports.horizon_days)
    weeks = DateRange(start=verdict.window.start, end=verdict.window.end + reach)
    return TrainingData(
        window=verdict.window,
        regions=tuple(sorted(verdict.regions)),
        groups=tuple(sorted({group for each in present for group in each.units})),
        present=present,
        promotions=ports.promotions.promotion_shares(weeks, verdict.regions, known_by=verdict.date),
    )


def _describe(
    verdict: WindowVerdict,
    data: TrainingData,
    fitted: Fitted,
    ports: NightPorts,
    started: float,
) -> TrainedModel:
    return TrainedModel(
        date=verdict.date,
        version=fitted.version,
        kind=fitted.kind,
        reason=fitted.reason,
        parameters=fitted.parameters,
        seed=fitted.seed,
        window_digest=verdict.window_digest,
        data_digest=_digest(data.present),
        verdict=verdict.kind,
        degraded_for=verdict.reasons,
        regions=data.regions,
        groups=data.groups,
        expected=verdict.expected,
        left_out=len(verdict.left_out),
        moved=_moved(verdict, data.present, ports),
        changed_dates=verdict.changed_dates,
        training_rows=fitted.training_rows,
        holdout_model_wape=fitted.holdout_model_wape,
        holdout_formula_wape=fitted.holdout_formula_wape,
        seconds=ports.clock.monotonic() - started,
        is_changed=True,
    )


def _moved(
    verdict: WindowVerdict, present: Sequence[WindowUnits], ports: NightPorts
) -> tuple[Partition, ...]:
    """Partitions that are not as their seal has them: committed anew, or gone, since then."""
    cells = cells_of(ports.seals.find(verdict.window))
    left_out = {each.partition for each in verdict.left_out}
    sealed = {
        partition: cell.version
        for partition, cell in cells.items()
        if cell.version is not None and partition not in left_out
    }
    read = {each.partition: each.data_version for each in present}
    return tuple(
        partition
        for partition in sorted({*sealed, *read})
        if partition.region in verdict.regions and sealed.get(partition) != read.get(partition)
    )


def _digest(present: Sequence[WindowUnits]) -> str:
    lines = [f"{each.partition}={each.data_version}" for each in present]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:20]


def _tell(
    model: TrainedModel, left_out: Sequence[LeftOut], request: RunRequest, ports: NightPorts
) -> None:
    if left_out:
        queue_notice(exclusions_notice(model, left_out, request.workload), ports=ports)
    if model.kind == FALLBACK_KIND:
        queue_notice(fell_back_notice(model, request.workload), ports=ports)
