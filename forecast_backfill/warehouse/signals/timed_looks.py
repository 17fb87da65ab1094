"""Looks at every signal, each within its own time; what fails or stays silent is unreadable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Thread

from forecast_backfill.core.signal import Look, SignalLook, Unreadable
from forecast_backfill.ports.signal import Signal
from forecast_backfill.warehouse.signals.link import Links

LONGEST_REASON = 300


class TimedLooks:
    """All signals, one after the other; their connections are closed at the end of a round.

    A look that hangs keeps the connections of its round until it ends, and its signal is not looked
    at again meanwhile.
    """

    def __init__(self, signals: Sequence[Signal], *, timeout_seconds: float, links: Links) -> None:
        self._signals = tuple(signals)
        self._timeout_seconds = timeout_seconds
        self._links = links
        self._hanging: dict[str, tuple[Thread, Callable[[], None]]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Of all signals, in the order in which they are looked at."""
        return tuple(signal.name for signal in self._signals)

    def look(self, notes: Mapping[str, Mapping[str, object]]) -> Sequence[SignalLook]:
        """Look at each of them; `notes` by signal. Raises nothing: what fails is unreadable."""
        try:
            return tuple(
                SignalLook(
                    name=signal.name,
                    thresholds=signal.thresholds,
                    look=self._look(signal, notes.get(signal.name, {})),
                )
                for signal in self._signals
            )
        finally:
            self._links.close()

    def _look(self, signal: Signal, notes: Mapping[str, object]) -> Look:
        if self._still_hangs(signal.name):
            return _unreadable("its last look has not ended yet", notes)
        answers: SimpleQueue[Look] = SimpleQueue()
        thread = Thread(
            target=lambda: answers.put(_guarded(signal, notes)),
            name=f"look at {signal.name}",
            daemon=True,
        )
        thread.start()
        try:
            return answers.get(timeout=self._timeout_seconds)
        except Empty:
            self._hanging[signal.name] = (thread, self._links.abandon())
            return _unreadable(f"no answer within {self._timeout_seconds:g} s", notes)

    def _still_hangs(self, name: str) -> bool:
        if name not in self._hanging:
            return False
        thread, close = self._hanging[name]
        if thread.is_alive():
            return True
        close()
        del self._hanging[name]
        return False


def _guarded(signal: Signal, notes: Mapping[str, object]) -> Look:
    try:
        return signal.look(notes)
    except Exception as error:  # noqa: BLE001  (whatever a signal raises, it is unreadable)
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return _unreadable(text[:LONGEST_REASON], notes)


def _unreadable(reason: str, notes: Mapping[str, object]) -> Look:
    return Look(reading=Unreadable(reason=reason), notes=notes)
