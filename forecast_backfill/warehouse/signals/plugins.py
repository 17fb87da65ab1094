"""Signals of other packages, found by their entry points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points

from forecast_backfill.core.signal import Look, Thresholds, Unreadable
from forecast_backfill.ports.signal import Signal

GROUP = "forecast_backfill.signals"
_WORST = Thresholds(half=1, pause=2, trip=2)


class BrokenSignal:
    """Stands for a signal that was asked for and cannot be loaded: it is unreadable."""

    thresholds = _WORST

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def look(self, notes: Mapping[str, object]) -> Look:
        """Say why."""
        return Look(reading=Unreadable(reason=self._reason))


def load_plugins(found: Sequence[EntryPoint] | None = None) -> tuple[Signal, ...]:
    """The signals of every installed entry point, in the order of their names."""
    listed = entry_points(group=GROUP) if found is None else found
    return tuple(_load(each) for each in sorted(listed, key=lambda each: each.name))


def _load(entry: EntryPoint) -> Signal:
    try:
        signal: Signal = entry.load()()
        _ = (signal.name, signal.thresholds.half)
    except Exception as error:  # noqa: BLE001  (whatever a signal raises, it is unreadable)
        reason = f"{entry.value} does not load: {type(error).__name__}: {error}"
        return BrokenSignal(entry.name, reason)
    return signal
