"""Watches the peak memory of Dagster's run workers from outside."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Self

import psutil

INTERVAL_SECONDS = 0.5
SPAWNED = "--multiprocessing-fork"
"""The code server spawns a process a run; nothing else of `dagster dev` is started so."""


class WorkerMemory:
    """A context in which a thread looks at every run worker below the process `dagster`.

    Linux keeps each process's own peak (VmHWM), so nothing between two looks is missed but what a
    worker does in its last half second; elsewhere the size at each look counts.
    """

    def __init__(self, dagster: int) -> None:
        self._dagster = dagster
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._peaks: dict[int, int] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def workers(self) -> int:
        """How many workers were seen."""
        return len(self._peaks)

    @property
    def peak_mib(self) -> float:
        """The peak of the largest worker."""
        return max(self._peaks.values(), default=0) / 2**20

    def _watch(self) -> None:
        while not self._done.wait(INTERVAL_SECONDS):
            try:
                processes = psutil.Process(self._dagster).children(recursive=True)
            except psutil.NoSuchProcess:
                return
            for process in processes:
                try:
                    if SPAWNED in process.cmdline():
                        self._note(process.pid, _peak_bytes(process))
                except psutil.Error:
                    continue

    def _note(self, process: int, peak: int) -> None:
        self._peaks[process] = max(peak, self._peaks.get(process, 0))


def _peak_bytes(process: psutil.Process) -> int:
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return int(process.memory_info().rss)
    found = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(found[0]) * 1024 if found else 0
