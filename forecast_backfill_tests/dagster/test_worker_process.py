"""Whether a run's worker is gone: only where that is certain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from forecast_backfill.dagster_defs.worker_process import (
    Fate,
    Machine,
    fate_of,
    is_stopped,
    this_machine,
)

HERE = this_machine()
pytestmark = pytest.mark.skipif(not HERE.boot, reason="no /proc on this platform")


def test_the_machine_survives_the_way_through_a_tag() -> None:
    assert Machine.of(HERE.as_text()) == HERE


def test_a_process_that_runs_is_alive() -> None:
    assert fate_of(os.getpid(), started_at=time.time(), machine=HERE, here=HERE) is Fate.ALIVE


def test_a_process_that_ended_is_gone() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert fate_of(ended.pid, started_at=time.time(), machine=HERE, here=HERE) is Fate.GONE


def test_a_stopped_process_is_alive_and_known_as_stopped() -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert not is_stopped(sleeper.pid)
        sleeper.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED)
        assert is_stopped(sleeper.pid)
        assert fate_of(sleeper.pid, started_at=time.time(), machine=HERE, here=HERE) is Fate.ALIVE
    finally:
        sleeper.kill()
        sleeper.wait()
    assert not is_stopped(sleeper.pid)


def test_an_id_that_a_later_process_was_given_is_no_sign_of_life() -> None:
    long_ago = time.time() - 86_400
    assert fate_of(os.getpid(), started_at=long_ago, machine=HERE, here=HERE) is Fate.GONE


def test_a_worker_that_runs_is_alive_though_the_clock_was_set_forward() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)", "--multiprocessing-fork"]
    worker = subprocess.Popen(command)
    try:
        told = time.time() - 3600  # the clock was an hour behind when the worker told of itself
        assert fate_of(worker.pid, started_at=told, machine=HERE, here=HERE) is Fate.ALIVE
    finally:
        worker.kill()
        worker.wait()


def test_whatever_ran_before_the_last_boot_is_gone() -> None:
    before = replace(HERE, boot="another")
    assert fate_of(os.getpid(), started_at=time.time(), machine=before, here=HERE) is Fate.GONE


@pytest.mark.parametrize(
    "machine",
    [
        replace(HERE, host="elsewhere"),
        replace(HERE, namespace="pid:[1]"),
        replace(HERE, boot=""),
        Machine.of("no machine at all, this"),
    ],
)
def test_of_another_machine_nothing_is_known(machine: Machine) -> None:
    assert fate_of(1, started_at=0.0, machine=machine, here=HERE) is Fate.UNKNOWN
