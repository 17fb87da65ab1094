"""What on-call is shown: intent against fact, the cap in force with its reason, the time left."""

from __future__ import annotations

from dataclasses import replace

from forecast_backfill.app.operate import (
    InForce,
    Motion,
    TimeLeft,
    in_force,
    motion_of,
    split_time_left,
)
from forecast_backfill.core.admission import WaitCause
from forecast_backfill.core.pace import PaceLevel
from forecast_backfill.core.states import Workload
from forecast_backfill_tests.core.test_admission import FULL, QUIET


def test_a_paused_workload_is_pausing_until_nothing_is_in_flight() -> None:
    assert motion_of(is_paused=True, in_flight=1) is Motion.PAUSING
    assert motion_of(is_paused=True, in_flight=0) is Motion.PAUSED
    assert motion_of(is_paused=False, in_flight=3) is Motion.RUNNING


def test_an_automatic_cap_says_what_nightly_needs() -> None:
    assert in_force(Workload.BACKFILL, QUIET) == InForce(
        slots=5, cause=None, reason="8 slots less 3 for nightly"
    )


def test_a_cap_that_was_asked_for_says_by_whom_whatever_was_turned_since() -> None:
    asked = replace(QUIET, cap=4, cap_reason="lag (ana)", reason="deploy is over (bob)")
    assert in_force(Workload.BACKFILL, asked) == InForce(
        slots=4, cause=None, reason="a cap of 4 was asked for: lag (ana)"
    )


def test_a_slow_pace_and_a_reserved_fit_say_why_it_is_less() -> None:
    half = replace(FULL, level=PaceLevel.HALF, share=0.5, reason="replication lag 7 s")
    assert in_force(Workload.BACKFILL, replace(QUIET, pace=half)) == InForce(
        slots=2, cause=None, reason="8 slots less 3 for nightly; pace half: replication lag 7 s"
    )
    reserved = replace(QUIET, nightly_peak=0, reserved=6)
    assert in_force(Workload.BACKFILL, reserved) == InForce(
        slots=2, cause=None, reason="8 slots less 0 for nightly; the others are held for nightly"
    )


def test_a_pause_leaves_nothing_and_names_its_cause() -> None:
    paused = replace(QUIET, is_paused=True, reason="deploy (ana)")
    assert in_force(Workload.BACKFILL, paused) == InForce(
        slots=0, cause=WaitCause.PAUSE, reason="paused: deploy (ana)"
    )


def test_nightly_may_hold_every_slot() -> None:
    assert in_force(Workload.NIGHTLY, QUIET) == InForce(
        slots=8, cause=None, reason="nightly may hold all 8 slots"
    )


def test_what_is_left_splits_as_the_time_so_far_did() -> None:
    waited = {WaitCause.CAP: 30.0, WaitCause.PAUSE: 10.0, WaitCause.PACE: 0.0}
    assert split_time_left(120.0, worked=60.0, waited=waited) == TimeLeft(
        work=72.0, waiting={WaitCause.CAP: 36.0, WaitCause.PAUSE: 12.0}
    )


def test_a_time_left_that_is_not_known_is_not_split() -> None:
    assert split_time_left(None, worked=60.0, waited={}) is None
    assert split_time_left(120.0, worked=0.0, waited={}) is None
