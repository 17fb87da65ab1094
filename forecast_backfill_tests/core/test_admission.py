"""Who may start now, and what the others wait for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.admission import Admit, Conditions, Wait, WaitCause, admit
from forecast_backfill.core.hold import HoldWindow
from forecast_backfill.core.pace import Pace, PaceLevel
from forecast_backfill.core.states import Workload

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FULL = Pace(level=PaceLevel.FULL, share=1.0, chunk_rows=8192, reason="")
QUIET = Conditions(
    now=NOON,
    epoch=1,
    is_paused=False,
    reason="initial (migration)",
    cap=None,
    slots=8,
    nightly_peak=3,
    reserved=0,
    holds=(),
    pace=FULL,
    partition_seconds=60.0,
)


def hold(start_minute: int, end_minute: int, slots: int) -> HoldWindow:
    return HoldWindow(
        start=NOON.replace(hour=13, minute=start_minute),
        end=NOON.replace(hour=14, minute=end_minute),
        slots=slots,
        reason="night",
    )


def test_backfill_may_use_what_the_nightly_peak_leaves() -> None:
    assert admit(Workload.BACKFILL, QUIET) == Admit(limit=5)


def test_nightly_may_use_every_slot_whatever_the_cap_and_the_pace() -> None:
    tripped = replace(FULL, level=PaceLevel.TRIPPED, reason="lag")
    assert admit(Workload.NIGHTLY, replace(QUIET, cap=0, pace=tripped)) == Admit(limit=8)


@pytest.mark.parametrize("workload", list(Workload))
def test_a_paused_workload_waits_for_whoever_paused_it(workload: Workload) -> None:
    paused = replace(QUIET, is_paused=True, reason="deploy (ana)")
    assert admit(workload, paused) == Wait(cause=WaitCause.PAUSE, reason="paused: deploy (ana)")


def test_a_cap_of_nothing_says_who_asked_for_it() -> None:
    asked = replace(QUIET, cap=0, reason="lag (ana)")
    assert admit(Workload.BACKFILL, asked) == Wait(
        cause=WaitCause.CAP, reason="the cap is 0: lag (ana)"
    )


def test_an_automatic_cap_of_nothing_says_that_nightly_needs_all() -> None:
    assert admit(Workload.BACKFILL, replace(QUIET, nightly_peak=8)) == Wait(
        cause=WaitCause.CAP,
        reason="the automatic cap is 0: nightly's peak of 8 needs all 8 slots",
    )


def test_a_pace_of_half_halves_the_cap_and_a_small_share_still_moves() -> None:
    half = replace(FULL, level=PaceLevel.HALF, share=0.5)
    assert admit(Workload.BACKFILL, replace(QUIET, pace=half)) == Admit(limit=2)
    assert admit(Workload.BACKFILL, replace(QUIET, pace=replace(half, share=0.01))) == Admit(
        limit=1
    )


def test_a_stopped_pace_names_its_reason() -> None:
    stopped = replace(FULL, level=PaceLevel.PAUSED, reason="replication lag 41 s")
    assert admit(Workload.BACKFILL, replace(QUIET, pace=stopped)) == Wait(
        cause=WaitCause.PACE, reason="paused: replication lag 41 s"
    )


def test_the_slots_of_a_fit_that_is_due_are_not_lent_although_they_are_free() -> None:
    assert admit(Workload.BACKFILL, replace(QUIET, cap=8, reserved=3)) == Admit(limit=5)


def test_in_a_hold_backfill_gets_what_it_leaves() -> None:
    now = NOON.replace(hour=13, minute=30)
    assert admit(Workload.BACKFILL, replace(QUIET, now=now, holds=(hold(0, 0, 6),))) == Admit(
        limit=2
    )


def test_a_hold_of_every_slot_closes_backfill() -> None:
    now = NOON.replace(hour=13, minute=30)
    assert admit(Workload.BACKFILL, replace(QUIET, now=now, holds=(hold(0, 0, 8),))) == Wait(
        cause=WaitCause.HOLD, reason="8 of 8 slots are held for nightly"
    )


def test_before_a_hold_only_a_partition_that_ends_in_time_is_admitted() -> None:
    holds = (hold(0, 0, 8),)
    in_time = replace(QUIET, now=NOON.replace(minute=59), holds=holds)
    assert admit(Workload.BACKFILL, in_time) == Admit(limit=5)
    too_late = replace(in_time, now=NOON.replace(minute=59, second=1))
    assert admit(Workload.BACKFILL, too_late) == Wait(
        cause=WaitCause.HOLD,
        reason="slots are held for nightly from 13:00 UTC, and a partition may take 60 s",
    )


def test_before_a_partial_hold_a_partition_takes_a_slot_that_stays_free() -> None:
    late = replace(QUIET, now=NOON.replace(minute=59, second=30), holds=(hold(0, 0, 7),))
    assert admit(Workload.BACKFILL, late) == Admit(limit=1)


@given(
    cap=st.one_of(st.none(), st.integers(0, 20)),
    peak=st.integers(0, 12),
    reserved=st.integers(0, 12),
    share=st.floats(0.01, 1.0),
    held=st.integers(0, 12),
)
def test_backfill_never_gets_a_slot_that_is_held_or_above_its_cap(
    cap: int | None, peak: int, reserved: int, share: float, held: int
) -> None:
    conditions = replace(
        QUIET,
        now=NOON.replace(hour=13, minute=30),
        cap=cap,
        nightly_peak=peak,
        reserved=reserved,
        pace=replace(FULL, share=share),
        holds=(hold(0, 0, held),),
    )
    verdict = admit(Workload.BACKFILL, conditions)
    if isinstance(verdict, Admit):
        assert 1 <= verdict.limit <= conditions.cap_in_force
        assert verdict.limit <= 8 - max(held, reserved)
    else:
        assert verdict.reason
