"""Makes Ctrl-C, a hang-up and a polite kill end a bench in one way, and never its cleaning up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_on_signals() -> None:
    """Let each of the signals raise KeyboardInterrupt."""
    for number in SIGNALS:
        signal.signal(number, _interrupt)


@contextmanager
def undisturbed() -> Iterator[None]:
    """A context in which the signals are ignored."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
