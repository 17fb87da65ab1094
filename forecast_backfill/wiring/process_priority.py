"""The priority of this process: backfill's is lowered for CPU and disk, nightly's is normal."""

from __future__ import annotations

import os
from contextlib import suppress

import psutil

from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings

LEAST_IO_PRIORITY = 7
"""The last of the eight places of the kernel's ordinary class for disk access."""


def lower_priority(workload: Workload, settings: Settings) -> None:
    """Stand back behind the night, where this process works for backfill.

    Never raises a priority that is lower already. To be called once the embedded server runs, which
    would inherit it. Where the platform has no priorities, nothing happens.
    """
    if workload is Workload.NIGHTLY or settings.backfill_nice == 0:
        return
    missing = settings.backfill_nice - os.nice(0)
    if missing > 0:
        with suppress(OSError):
            os.nice(missing)
    _lower_io_priority()


def _lower_io_priority() -> None:
    if not hasattr(psutil, "IOPRIO_CLASS_BE"):
        return
    process = psutil.Process()
    with suppress(OSError, psutil.Error):
        found = process.ionice()
        # Nothing said: the kernel goes by the CPU's priority, which is not the last place.
        is_ordinary = found.ioclass in (psutil.IOPRIO_CLASS_NONE, psutil.IOPRIO_CLASS_BE)
        if is_ordinary and not (
            found.ioclass == psutil.IOPRIO_CLASS_BE and found.value >= LEAST_IO_PRIORITY
        ):
            process.ionice(psutil.IOPRIO_CLASS_BE, LEAST_IO_PRIORITY)
