"""The completeness contract: every limit at its edge, and nothing left out without a reason."""

from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecast_backfill.core.completeness import (
    Accepted,
    CompletenessContract,
    Degraded,
    NeedsOverride,
    Override,
    Refused,
    judge,
)
from forecast_backfill.core.coverage import Cell, CellState, LeftOut
from forecast_backfill.core.partition import Partition

FORECAST_FROM = date(2026, 11, 29)
REGIONS = tuple(f"R{number:02d}" for number in range(1, 41))
CONTRACT = CompletenessContract()
IN = Cell(state=CellState.IN, version="v1")
OUT = Cell(state=CellState.QUARANTINED, reason="hash_mismatch in sales.csv.gz")
STALE = Cell(state=CellState.STALE, version="v0", reason="the newer file is cut short")


def days_ago(number):
    """The date `number` days before the first forecast; 1 is the last of the window."""
    return FORECAST_FROM - timedelta(days=number)


def grid(regions=REGIONS, days=90, **changes):
    cells = {
        Partition(date=days_ago(number), region=region): IN
        for number in range(1, days + 1)
        for region in regions
    }
    return cells | changes.get("but", {})


def spread(count, cell=OUT):
    """`count` cells outside the recent days: no region and no date is hit hard."""
    places = [(number, region) for number in range(89, 40, -1) for region in REGIONS]
    return {Partition(date=days_ago(n), region=r): cell for n, r in places[:count]}


def verdict(but=None, *, contract=CONTRACT, regions=REGIONS, **arguments):
    cells = grid(regions, but=but or {})
    return judge(contract, forecast_from=FORECAST_FROM, regions=regions, cells=cells, **arguments)


def test_a_full_window_is_accepted_and_leaves_nothing_out():
    result = verdict()
    assert isinstance(result, Accepted)
    assert result.coverage.expected == 3600
    assert result.coverage.left_out == ()
    assert result.coverage.window.start == date(2026, 8, 31)
    assert result.coverage.window.end == date(2026, 11, 29)


@pytest.mark.parametrize(
    ("missing", "kind"),
    [
        (72, Accepted),
        (73, Degraded),
        (180, Degraded),
        (181, NeedsOverride),
        (360, NeedsOverride),
        (361, Refused),
    ],
)
def test_the_missing_fraction_decides_at_exactly_2_5_and_10_percent(missing, kind):
    assert type(verdict(spread(missing))) is kind


def test_a_degraded_verdict_says_how_much_is_missing():
    assert verdict(spread(90)).reasons == (
        "90 of 3600 partitions are missing (2.50%), more than 2.00%",
    )


def test_every_exclusion_is_listed_with_its_own_reason_in_order_of_date_and_region():
    broken = Partition(date=days_ago(1), region="R07")
    stale = Partition(date=days_ago(2), region="R03")
    result = verdict({broken: OUT, stale: STALE})
    assert isinstance(result, Accepted)
    assert result.coverage.left_out == (
        LeftOut(partition=stale, state=CellState.STALE, reason="the newer file is cut short"),
        LeftOut(
            partition=broken, state=CellState.QUARANTINED, reason="hash_mismatch in sales.csv.gz"
        ),
    )
    assert result.coverage.missing_by_region == {"R03": 1, "R07": 1}
    assert result.coverage.missing_by_date == {days_ago(2): 1, days_ago(1): 1}
    assert result.coverage.missing_fraction == Fraction(2, 3600)


def test_a_partition_that_no_seal_has_is_missing():
    cells = grid()
    gone = Partition(date=days_ago(50), region="R11")
    del cells[gone]
    result = judge(CONTRACT, forecast_from=FORECAST_FROM, regions=REGIONS, cells=cells)
    assert result.coverage.left_out == (
        LeftOut(partition=gone, state=CellState.MISSING, reason="no seal has this partition"),
    )


def test_a_stale_partition_counts_only_where_the_contract_says_so_and_is_told_all_the_same():
    result = verdict(spread(361, STALE), contract=CompletenessContract(accepts_stale=True))
    assert isinstance(result, Accepted)
    assert result.coverage.left_out == ()
    assert len(result.coverage.stale_used) == 361
    assert isinstance(verdict(spread(361, STALE)), Refused)


def test_a_whole_region_missing_is_refused_though_the_total_is_under_every_fraction():
    regions = tuple(f"R{number:03d}" for number in range(1, 101))
    gone = {Partition(date=days_ago(n), region="R007"): OUT for n in range(1, 91)}
    result = verdict(gone, regions=regions)
    assert result.coverage.missing_fraction == Fraction(1, 100)
    assert isinstance(result, Refused)
    assert result.reasons == ("region R007 misses 28 of the last 28 days, more than 7",)


@pytest.mark.parametrize(("missing", "kind"), [(7, Accepted), (8, Refused)])
def test_a_region_needs_21_of_the_last_28_days(missing, kind):
    but = {Partition(date=days_ago(28 - n), region="R07"): OUT for n in range(missing)}
    assert type(verdict(but)) is kind


def test_a_region_missing_before_the_recent_days_only_costs_its_fraction():
    but = {Partition(date=days_ago(n), region="R07"): OUT for n in range(29, 91)}
    assert isinstance(verdict(but), Accepted)


def test_a_window_whose_last_date_is_missing_everywhere_is_refused():
    but = {Partition(date=days_ago(1), region=region): OUT for region in REGIONS}
    result = verdict(but)
    assert isinstance(result, Refused)
    assert result.reasons == ("2026-11-28 is missing in all 40 regions",)


def test_one_region_that_has_the_last_date_is_enough_without_a_limit_by_date():
    but = {Partition(date=days_ago(1), region=region): OUT for region in REGIONS[1:]}
    assert isinstance(verdict(but), Accepted)


def test_the_window_of_the_day_before_is_refused_for_today():
    cells = grid(days=91)
    judged = judge(
        CONTRACT,
        forecast_from=FORECAST_FROM + timedelta(days=1),
        regions=REGIONS,
        cells=cells,
    )
    assert isinstance(judged, Refused)
    assert judged.reasons == ("2026-11-29 is missing in all 40 regions",)


@pytest.mark.parametrize(
    ("day", "missing", "kind"),
    [(50, 20, Accepted), (50, 21, NeedsOverride), (1, 20, Accepted), (1, 21, Refused)],
)
def test_a_limit_by_date_needs_an_override_and_refuses_on_the_last_date(day, missing, kind):
    contract = CompletenessContract(max_missing_per_date=20)
    but = {Partition(date=days_ago(day), region=region): OUT for region in REGIONS[:missing]}
    assert type(verdict(but, contract=contract)) is kind


def test_an_override_by_a_named_person_degrades_and_is_kept():
    override = Override(by="M. Okafor", reason="the depot burned down")
    result = verdict(spread(200), override=override)
    assert isinstance(result, Degraded)
    assert result.override == override
    assert result.reasons == ("200 of 3600 partitions are missing (5.56%), more than 5.00%",)


def test_no_override_lifts_a_refusal():
    override = Override(by="M. Okafor", reason="publish anyway")
    assert isinstance(verdict(spread(361), override=override), Refused)


def test_an_override_that_nothing_needs_changes_nothing():
    override = Override(by="M. Okafor", reason="just in case")
    assert verdict(override=override) == verdict()


@pytest.mark.parametrize(("by", "reason"), [(" ", "why"), ("M. Okafor", "")])
def test_an_override_without_a_person_or_a_reason_is_refused(by, reason):
    with pytest.raises(ValueError, match="names a person and a reason"):
        Override(by=by, reason=reason)


def test_nothing_is_expected_of_a_region_before_it_opened():
    opened = {"R40": days_ago(5)}
    cells = {place: cell for place, cell in grid().items() if place.region != "R40"}
    cells |= {Partition(date=days_ago(n), region="R40"): IN for n in range(1, 6)}
    result = judge(
        CONTRACT, forecast_from=FORECAST_FROM, regions=REGIONS, cells=cells, opened=opened
    )
    assert isinstance(result, Accepted)
    assert result.coverage.expected == 39 * 90 + 5
    assert result.coverage.left_out == ()


def test_cells_outside_the_window_or_of_other_regions_do_not_count():
    but = {
        Partition(date=days_ago(0), region="R01"): OUT,
        Partition(date=days_ago(91), region="R01"): OUT,
        Partition(date=days_ago(1), region="R99"): OUT,
    }
    assert verdict(but) == verdict()


@pytest.mark.parametrize("regions", [(), ("R01", "R01")])
def test_no_region_and_a_doubled_region_are_errors(regions):
    with pytest.raises(ValueError, match="expect nothing, or one is named twice"):
        judge(CONTRACT, forecast_from=FORECAST_FROM, regions=regions, cells={})


@pytest.mark.parametrize(
    "contradiction",
    [
        {"state": CellState.IN},
        {"state": CellState.IN, "version": "v1", "reason": "why"},
        {"state": CellState.STALE, "reason": "why"},
        {"state": CellState.MISSING, "version": "v1", "reason": "why"},
        {"state": CellState.QUARANTINED},
    ],
)
def test_a_cell_that_contradicts_itself_is_refused(contradiction):
    with pytest.raises(ValueError, match="a cell that is"):
        Cell(**contradiction)


@pytest.mark.parametrize(
    "contradiction",
    [
        {"max_missing_fraction": Fraction(6, 100)},
        {"max_missing_fraction": Fraction(-1, 100)},
        {"max_override_fraction": Fraction(1)},
        {"recent_days": 91},
        {"recent_days": 0},
        {"must_have_last_days": 91},
        {"max_missing_per_region": 28},
        {"max_missing_per_date": -1},
    ],
)
def test_a_contract_that_contradicts_itself_is_refused(contradiction):
    with pytest.raises(ValueError, match=r"fractions|days|missing"):
        CompletenessContract(**contradiction)


SMALL = CompletenessContract(
    window_days=10,
    recent_days=4,
    max_missing_per_region=2,
    max_missing_per_date=2,
    max_missing_fraction=Fraction(10, 100),
    max_degraded_fraction=Fraction(20, 100),
    max_override_fraction=Fraction(30, 100),
)
RANK = {Accepted: 0, Degraded: 1, NeedsOverride: 2, Refused: 3}
PLACES = st.builds(
    Partition,
    date=st.integers(1, 10).map(days_ago),
    region=st.sampled_from(("A", "B", "C", "D")),
)
NOT_IN = st.sampled_from((OUT, STALE, Cell(state=CellState.MISSING, reason="late")))
HOLES = st.dictionaries(PLACES, NOT_IN, max_size=14)


def small(holes):
    return judge(
        SMALL,
        forecast_from=FORECAST_FROM,
        regions=("A", "B", "C", "D"),
        cells=grid(("A", "B", "C", "D"), days=10) | holes,
    )


@given(HOLES, HOLES)
@settings(deadline=None)
def test_losing_more_never_makes_a_verdict_better(holes, more):
    assert RANK[type(small(holes))] <= RANK[type(small(holes | more))]


@given(HOLES)
@settings(deadline=None)
def test_what_is_in_and_what_is_left_out_make_the_whole_window(holes):
    result = small(holes)
    coverage = result.coverage
    assert {each.partition for each in coverage.left_out} == set(holes)
    assert {each.partition: each.reason for each in coverage.left_out} == {
        place: cell.reason for place, cell in holes.items()
    }
    assert sum(coverage.missing_by_region.values()) == len(holes)
    assert sum(coverage.missing_by_date.values()) == len(holes)
    assert coverage.expected == 40
    assert isinstance(result, Accepted) or result.reasons != ()


@given(HOLES)
@settings(deadline=None)
def test_an_accepted_window_holds_every_limit(holes):
    result = small(holes)
    if isinstance(result, Accepted):
        recent = [place.region for place in holes if place.date >= days_ago(4)]
        assert len(holes) <= 4
        assert all(recent.count(region) <= 2 for region in "ABCD")
        assert all(count <= 2 for count in result.coverage.missing_by_date.values())
