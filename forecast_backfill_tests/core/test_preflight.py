"""What is looked at before a campaign is launched."""

from datetime import UTC, date, datetime, timedelta

import pytest

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.capacity_measure import CapacityMeasure, PeakSource
from forecast_backfill.core.completeness import CompletenessContract, judge
from forecast_backfill.core.coverage import Cell, CellState
from forecast_backfill.core.hold import HoldWindow
from forecast_backfill.core.night_profile import flat_profile
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.preflight import (
    ForeignLock,
    PreflightLine,
    Standing,
    judge_capacity,
    judge_contract,
    judge_control,
    judge_locks,
    judge_room,
    judge_seam,
    judge_signals,
    judge_slots,
    judge_sources,
)
from forecast_backfill.core.sizing import Room, TaskSeconds, size_campaign

CALENDAR = Calendar(
    first_date=date(2026, 1, 1), latest_date=date(2026, 11, 28), seam=date(2026, 11, 27)
)
NOW = datetime(2026, 11, 29, 20, tzinfo=UTC)


def dates(start, end):
    return DateRange(start=date.fromisoformat(start), end=date.fromisoformat(end))


def measure(nights=5):
    return CapacityMeasure(
        slots=4,
        headroom=0,
        nights=nights,
        source=PeakSource.NIGHTS if nights >= 3 else PeakSource.SETTING,
        peak=2,
        peak_at=None,
        by_shape={},
        together={},
        profile=flat_profile(2, timedelta(hours=1)),
        reason="x",
    )


@pytest.mark.parametrize(
    ("start", "end", "standing", "told"),
    [
        ("2026-11-01", "2026-11-27", "pass", "all dates lie before the seam 2026-11-27"),
        ("2026-11-01", "2026-11-28", "stop", "nightly owns 2026-11-27 and every later date"),
        ("2025-12-31", "2026-11-01", "stop", "2025-12-31 is before the first date 2026-01-01"),
    ],
)
def test_a_range_ends_at_the_seam(start, end, standing, told):
    found = judge_seam(dates(start, end), CALENDAR)
    assert (found.standing, found.told) == (standing, told)


def test_all_landed_sources_pass():
    assert judge_sources(landed=8, missing=(), total=8).standing is Standing.PASS


def test_a_missing_source_is_named_and_does_not_stop_the_others():
    found = judge_sources(landed=6, missing=["2026-11-01 R01", "2026-11-02 R01"], total=8)
    assert (found.standing, found.told) == (
        "look",
        "2 of 8 have no manifest and would be quarantined: 2026-11-01 R01, 2026-11-02 R01",
    )


def test_a_range_of_which_nothing_is_landed_stops():
    assert judge_sources(landed=0, missing=["2026-11-01 R01"], total=1).standing is Standing.STOP


@pytest.mark.parametrize(
    ("kept", "free", "standing"),
    [(10**9, 2 * 10**9, "pass"), (10**9, 2 * 10**9 - 1, "stop"), (10**9, None, "look")],
)
def test_replaced_rows_must_fit_beside_the_new_ones(kept, free, standing):
    assert judge_room(kept_bytes=kept, free_bytes=free).standing == standing


def test_room_is_told_in_units():
    assert judge_room(kept_bytes=3 * 10**6, free_bytes=25 * 10**9).told == (
        "up to 6.0 MB of 25.0 GB free are needed"
    )


def verdict_of(holes):
    contract = CompletenessContract(window_days=10, recent_days=10, max_missing_per_region=9)
    day = date(2026, 11, 11)
    cells = {
        Partition(date=each, region="R01"): Cell(state=CellState.IN, version="v")
        for each in list(contract.window(day))[holes:]
    }
    return judge(contract, forecast_from=day, regions=("R01",), cells=cells)


def test_windows_that_will_be_taken_pass():
    assert judge_contract({date(2026, 11, 10): verdict_of(0)}).told == (
        "windows over the range that will be taken: all 1"
    )


def test_a_window_that_will_not_be_fitted_is_named_with_its_reason():
    found = judge_contract({date(2026, 11, 10): verdict_of(2), date(2026, 11, 9): verdict_of(0)})
    assert (found.standing, found.told) == (
        "look",
        "1 of 2 windows will not be fitted: 2026-11-10: 2 of 10 partitions are missing (20.00%), "
        "more than 10.00%",
    )


def test_a_range_that_no_window_in_use_reads_passes():
    assert judge_contract({}).standing is Standing.PASS


def test_a_foreign_lock_stops_with_the_command_that_ends_it():
    lock = ForeignLock(
        pid=77, user="ada", application="psql", mode="AccessExclusiveLock", since=NOW
    )
    found = judge_locks([lock])
    assert (found.standing, found.told) == (
        "stop",
        "1 foreign locks on daily_demand; ada (psql, pid 77) holds AccessExclusiveLock since "
        "20:00 UTC",
    )
    assert "pg_terminate_backend(77)" in str(found.next_command)
    assert judge_locks([]).standing is Standing.PASS


def test_a_signal_that_cannot_be_read_stops():
    assert judge_signals({}, total=3).standing is Standing.PASS
    found = judge_signals({"replication lag": "connection refused"}, total=3)
    assert (found.standing, found.told) == (
        "stop",
        "1 of 3 cannot be read, which counts as unhealthy: replication lag: connection refused",
    )


def test_no_signal_at_all_is_worth_a_look():
    assert judge_signals({}, total=0).standing is Standing.LOOK


def test_a_recent_measure_over_enough_nights_passes():
    found = judge_capacity(measure(), measured_at=NOW - timedelta(days=13), now=NOW)
    assert (found.standing, found.told) == ("pass", "peak 2 of 5 nights")


@pytest.mark.parametrize(
    ("nights", "days", "told"),
    [
        (5, 20, "the nightly peak was measured 20 days ago"),
        (2, 1, "measured over 2 nights, 3 are needed; the setting counts"),
        (None, 0, "the nightly peak was never measured, the setting counts"),
    ],
)
def test_an_old_thin_or_absent_measure_is_worth_a_look(nights, days, told):
    found = judge_capacity(
        None if nights is None else measure(nights),
        measured_at=NOW - timedelta(days=days),
        now=NOW,
    )
    assert (found.standing, found.told) == ("look", told)


def test_only_a_pass_has_no_next_command():
    with pytest.raises(ValueError, match="stands at stop"):
        PreflightLine(name="x", standing=Standing.STOP, told="x")
    with pytest.raises(ValueError, match="stands at pass"):
        PreflightLine(name="x", standing=Standing.PASS, told="x", next_command="y")


def test_a_pause_is_worth_a_look_with_its_reason():
    assert judge_control(None).standing is Standing.PASS
    found = judge_control("deploy (ada)")
    assert (found.standing, found.told) == ("look", "backfill is paused: deploy (ada)")


def slots_line(cap, *, asked=None, holds=(), tasks=5):
    room = Room(slots=4, cap=cap, holds=holds)
    each = TaskSeconds(average=1.0, p95=1.0, source="x")
    sizing = size_campaign(tasks=tasks, each=each, room=room, start=NOW)
    found = judge_slots(room, tasks=tasks, asked=asked, sizing=sizing)
    return found.standing, found.told


ALWAYS_HELD = HoldWindow(start=NOW, end=NOW + timedelta(days=40), slots=4, reason="x")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (slots_line(2), ("pass", "2 of 4 for backfill")),
        (
            slots_line(0),
            ("stop", "0 of 4 for backfill, nightly needs the others: nothing would ever run"),
        ),
        (slots_line(0, asked=0), ("look", "0 of 4 for backfill, as asked: it waits")),
        (
            slots_line(2, holds=(ALWAYS_HELD,)),
            ("stop", "2 of 4 for backfill, but holds leave it no room in 30 days"),
        ),
        (slots_line(0, tasks=0), ("pass", "0 of 4 for backfill; nothing is left to do")),
    ],
)
def test_a_campaign_for_which_no_slot_will_ever_be_free_stops(found, expected):
    assert found == expected
