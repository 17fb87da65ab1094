"""Waits for a moment until something holds."""

from __future__ import annotations

import time
from collections.abc import Callable

POLL_SECONDS = 0.02


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether it came to hold within the seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
