"""Backfill's processes stand back: read back in processes that do nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

import psutil
import pytest

PROGRAM = """
import json, os, sys
import psutil
from forecast_backfill.core.states import Workload
from forecast_backfill.process_priority import lower_priority
from forecast_backfill.settings import Settings

os.nice(int(sys.argv[3]))
before = os.nice(0)
lower_priority(Workload(sys.argv[1]), Settings(backfill_nice=int(sys.argv[2])))
disk = psutil.Process().ionice() if hasattr(psutil, "IOPRIO_CLASS_BE") else None
print(json.dumps([before, os.nice(0), disk and [int(disk.ioclass), disk.value]]))
"""
HERE = psutil.Process().nice()
LAST_PLACE = [2, 7]
"""Best effort, the last of eight places."""


def lowered(workload: str, *, nice: int, already: int = 0) -> tuple[int, int, list[int] | None]:
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM, workload, str(nice), str(already)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    before, after, disk = json.loads(printed)
    return before, after, disk


@pytest.mark.skipif(not hasattr(psutil, "IOPRIO_CLASS_BE"), reason="no disk priorities here")
def test_backfill_goes_last_to_cpu_and_disk() -> None:
    _, after, disk = lowered("backfill", nice=12)
    assert (after, disk) == (max(12, HERE), LAST_PLACE)


def test_nightly_stays_as_it_is() -> None:
    before, after, disk = lowered("nightly", nice=12)
    assert after == before
    assert disk != LAST_PLACE


def test_a_process_that_stands_further_back_is_not_raised() -> None:
    before, after, _ = lowered("backfill", nice=5, already=15)
    assert after == before
    assert before >= 15


def test_nothing_is_lowered_where_that_was_switched_off() -> None:
    before, after, disk = lowered("backfill", nice=0)
    assert after == before
    assert disk != LAST_PLACE
