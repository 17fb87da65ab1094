"""The peak memory of spawned processes is seen from outside."""

from __future__ import annotations

import multiprocessing
import os
import time

from benchmarks.worker_memory import WorkerMemory


def allocate_and_let_go(mebibytes: int) -> None:
    """Hold so much for a moment, then live on without it."""
    held = bytearray(mebibytes << 20)
    time.sleep(1.2)
    del held
    time.sleep(1.2)


def test_the_peak_of_a_spawned_process_is_seen_after_it_has_let_go() -> None:
    with WorkerMemory(os.getpid()) as memory:
        process = multiprocessing.get_context("spawn").Process(
            target=allocate_and_let_go, args=(300,)
        )
        process.start()
        process.join()
    assert memory.workers == 1
    assert 300 <= memory.peak_mib < 700


def test_without_a_spawned_process_nothing_is_seen() -> None:
    with WorkerMemory(os.getpid()) as memory:
        time.sleep(1.2)
    assert (memory.workers, memory.peak_mib) == (0, 0)
