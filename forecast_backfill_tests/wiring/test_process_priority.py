"""Backfill's processes stand back: read back in processes that do nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

PROGRAM = """
import json, os, sys
import psutil
from forecast_backfill.core.states import Workload
from forecast_backfill.wiring.process_priority import lower_priority
from forecast_backfill.settings import Settings

def priorities():
    disk = psutil.Process().ionice() if hasattr(psutil, "IOPRIO_CLASS_BE") else None
    return [os.nice(0), disk and [int(disk.ioclass), disk.value]]

os.nice(int(sys.argv[3]))
before = priorities()
lower_priority(Workload(sys.argv[1]), Settings(backfill_nice=int(sys.argv[2])))
print(json.dumps([before, priorities()]))
"""
LAST_PLACE = [2, 7]
"""Best effort, the last of eight places."""


Priorities = tuple[int, list[int] | None]
"""For CPU (nice) and disk (class, place). What a test inherits need not be the usual: another test
of the same process may have run backfill in it."""


def lowered(workload: str, *, nice: int, already: int = 0) -> tuple[Priorities, Priorities]:
    """The priorities before and after."""
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM, workload, str(nice), str(already)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    before, after = json.loads(printed)
    return tuple(before), tuple(after)


@pytest.mark.skipif(not hasattr(psutil, "IOPRIO_CLASS_BE"), reason="no disk priorities here")
def test_backfill_goes_last_to_cpu_and_disk() -> None:
    before, after = lowered("backfill", nice=12)
    assert after == (max(12, before[0]), LAST_PLACE)


def test_nightly_stays_as_it_is() -> None:
    before, after = lowered("nightly", nice=12)
    assert after == before


def test_a_process_that_stands_further_back_is_not_raised() -> None:
    (before, _), (after, _) = lowered("backfill", nice=5, already=15)
    assert after == before
    assert before >= 15


def test_nothing_is_lowered_where_that_was_switched_off() -> None:
    before, after = lowered("backfill", nice=0)
    assert after == before


EXECUTOR = """
import json, os, sys
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import RunRequest
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.shipping import Shipment, pack, unpack

workload, master = Workload(sys.argv[1]), sys.argv[2]
packed = pack(Settings(backfill_nice=19, spark_master=master, database_url="postgresql:///none"))
request = RunRequest(workload=workload, run_id="r1", campaign_id=None, epoch=0)
before = os.nice(0)
unpack(Shipment(settings=packed, request=request, code_version="1"))
print(json.dumps([before, os.nice(0)]))
"""


@pytest.mark.parametrize(
    ("workload", "master", "is_lowered"),
    [
        ("backfill", "spark://host:7077", True),
        ("nightly", "spark://host:7077", False),
        ("backfill", "sc://host:15002", False),
    ],
)
def test_an_executor_of_backfill_stands_back_but_not_one_that_serves_the_night_too(
    workload: str, master: str, is_lowered: bool
) -> None:
    printed = subprocess.run(
        [sys.executable, "-c", EXECUTOR, workload, master],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    before, after = json.loads(printed)
    assert after == (19 if is_lowered else before)
    assert before < 19


VERB = """
import os, sys
from forecast_backfill.cli.reconcile import command

try:
    code = command([*sys.argv[1:]], standalone_mode=False)
finally:
    print("nice", os.nice(0))
"""


def test_a_proof_stands_back_as_all_of_backfill(database: str, tmp_path: Path) -> None:
    variables = {"HOME": tmp_path, "DATABASE_URL": database, "BACKFILL_NICE": "19"}
    named = {f"FORECAST_BACKFILL_{name}": str(value) for name, value in variables.items()}
    printed = subprocess.run(
        [sys.executable, "-c", VERB, "--seam", "--regions", "R01"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **named},
    ).stdout
    assert printed.splitlines()[-1] == "nice 19"
