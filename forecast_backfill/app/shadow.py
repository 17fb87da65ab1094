"""The steps of a shadow: validated, swapped, reverted, dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from forecast_backfill.core.errors import ShadowRefused
from forecast_backfill.core.shadow import OPEN, READ, ShadowState
from forecast_backfill.core.shadow_check import (
    ComparedPartition,
    Validation,
    require_followed,
    require_move,
    sum_up,
)
from forecast_backfill.ports import Clock
from forecast_backfill.ports.shadow import Blocked, By, Holder, Moved, Shadow, Shadows, Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """A step at the readers' name: after so many tries, with readers held up at most so long."""

    shadow_id: int
    tries: int
    held_seconds: float


def current(shadows: Shadows) -> Shadow:
    """The shadow that is under way, else the one that is read. Raises ShadowRefused without one."""
    found = shadows.list()
    for states in (OPEN, READ):
        for each in found:
            if each.state in states:
                return each
    raise ShadowRefused(
        "there is no shadow",
        why="none is under way, and readers read daily_demand",
        next_command="forecast-backfill shadow start --definition FILE (or --hold) --reason …",
    )


def validate(
    shadow: Shadow, by: By, shadows: Shadows, tell: Callable[[int], None]
) -> tuple[Validation, ShadowState]:
    """Compare every partition by the mapping; what was found, and the state that follows.

    What differs is due for the next backfill of the shadow. `tell` is called with how many
    partitions were compared so far.
    """
    compared: list[ComparedPartition] = []
    for date in shadows.dates():
        compared.extend(shadows.compare(shadow.shadow_id, date))
        tell(len(compared))
    validation = sum_up(compared)
    return validation, shadows.settle(shadow.shadow_id, validation, by)


def swap(
    shadow: Shadow, by: By, versions: Versions, clock: Clock, pauses: Iterable[float]
) -> Stepped:
    """Let readers read the shadow. Raises ShadowRefused where it is not validated and whole, and
    where readers never let the name go."""
    require_move(shadow.shadow_id, shadow.state, ShadowState.SWAPPED)
    return _insist(shadow.shadow_id, lambda: versions.try_swap(shadow.shadow_id, by), clock, pauses)


def revert(
    shadow: Shadow, by: By, versions: Versions, clock: Clock, pauses: Iterable[float]
) -> Stepped:
    """Let readers read the earlier version, which was written all the time. Raises as `swap`."""
    require_move(shadow.shadow_id, shadow.state, ShadowState.REVERTED)
    return _insist(
        shadow.shadow_id, lambda: versions.try_revert(shadow.shadow_id, by), clock, pauses
    )


def drop(
    shadow: Shadow,
    by: By,
    versions: Versions,
    clock: Clock,
    pauses: Iterable[float],
    *,
    is_earlier: bool = False,
) -> Stepped:
    """Drop the side that is not read: the shadow, or with `is_earlier` the version before it.

    Raises ShadowRefused for the side that is read.
    """
    target = ShadowState.ADOPTED if is_earlier else ShadowState.DROPPED
    require_move(shadow.shadow_id, shadow.state, target)
    if is_earlier:
        held = shadow.definition.is_held
        require_followed(shadow.shadow_id, shadow.state, is_held=held)
    attempt = versions.try_adopt if is_earlier else versions.try_drop
    return _insist(shadow.shadow_id, lambda: attempt(shadow.shadow_id, by), clock, pauses)


def _insist(
    shadow_id: int, attempt: Callable[[], Moved | Blocked], clock: Clock, pauses: Iterable[float]
) -> Stepped:
    """Try, and again after each pause: who reads meanwhile is let through between two tries."""
    tries = 1
    outcome = attempt()
    for pause in pauses:
        if isinstance(outcome, Moved):
            break
        clock.sleep(pause)
        tries += 1
        outcome = attempt()
    if isinstance(outcome, Moved):
        return Stepped(shadow_id=shadow_id, tries=tries, held_seconds=outcome.held_seconds)
    raise ShadowRefused(
        "readers or writers did not let go",
        why=f"after {tries} short tries: {_described(outcome.holders)}",
        next_command="end the long transaction (SELECT pg_cancel_backend(PID)), then try again",
    )


def _described(holders: tuple[Holder, ...]) -> str:
    if not holders:
        return "nobody holds the name just now"
    return ", ".join(
        f"{each.name or each.user or 'somebody'} (PID {each.pid}) has held it for "
        f"{each.seconds or 0:.0f} s"
        for each in holders
    )
