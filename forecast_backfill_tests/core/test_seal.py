"""The seal is decided by the ledger's outputs, and its version by content alone."""

from datetime import date

import pytest

from forecast_backfill.core.coverage import Cell, CellState
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.seal import (
    RegionOutput,
    Seal,
    SealedRegion,
    build_seal,
    digest_seals,
    window_ending,
)
from forecast_backfill.core.states import OutputState, PartitionStatus

DAY = date(2026, 11, 1)


def output(status, state, *, version=None, reason=None):
    return RegionOutput(
        status=PartitionStatus(status), output=OutputState(state), version=version, reason=reason
    )


def cell_of(found):
    outputs = {} if found is None else {"R01": found}
    return build_seal(DAY, regions=["R01"], outputs=outputs).regions[0].cell


@pytest.mark.parametrize(
    ("found", "state", "version", "reason"),
    [
        (None, "missing", None, "no source was landed or tried"),
        (output("done", "current", version="v"), "in", "v", None),
        (output("running", "current", version="v"), "in", "v", None),
        (output("running", "absent"), "missing", None, "an attempt is running"),
        (
            output("failed", "absent", reason="no disk"),
            "missing",
            None,
            "failed: no disk",
        ),
        (
            output("quarantined", "absent", reason="1 fault"),
            "quarantined",
            None,
            "quarantined: 1 fault",
        ),
        (
            output("mismatched", "stale", version="v", reason="extra_rows"),
            "stale",
            "v",
            "the readable output is older than its source: mismatched: extra_rows",
        ),
        (
            output("running", "stale", version="v"),
            "stale",
            "v",
            "the readable output is older than its source: an attempt is running",
        ),
    ],
)
def test_a_region_is_sealed_by_what_can_be_read_of_it(found, state, version, reason):
    assert cell_of(found) == Cell(state=CellState(state), version=version, reason=reason)


def seal(**versions):
    regions = tuple(
        SealedRegion(region=region, cell=Cell(state=CellState.IN, version=version))
        for region, version in sorted(versions.items())
    )
    return Seal(date=DAY, regions=regions)


def test_the_words_of_a_reason_do_not_change_the_version():
    first = build_seal(
        DAY, regions=["R01"], outputs={"R01": output("failed", "absent", reason="no disk")}
    )
    second = build_seal(
        DAY, regions=["R01"], outputs={"R01": output("failed", "absent", reason="no net")}
    )
    assert first.data_version == second.data_version


def test_one_changed_version_changes_the_seal_and_is_named():
    assert seal(R01="a", R02="b").data_version != seal(R01="a", R02="c").data_version
    assert seal(R01="a", R02="c").changed_regions(seal(R01="a", R02="b")) == ("R02",)


def test_two_regions_with_swapped_versions_are_another_seal():
    assert seal(R01="a", R02="b").data_version != seal(R01="b", R02="a").data_version


def test_everything_is_new_in_the_first_seal():
    assert seal(R01="a", R02="b").changed_regions(None) == ("R01", "R02")


def test_a_seal_names_each_region_once_and_in_order():
    twice = SealedRegion(region="R01", cell=Cell(state=CellState.IN, version="a"))
    with pytest.raises(ValueError, match="one twice, or out of order"):
        Seal(date=DAY, regions=(twice, twice))


def test_a_date_without_a_seal_counts_in_the_digest_of_a_window():
    window = DateRange(start=DAY, end=date(2026, 11, 3))
    second = date(2026, 11, 2)
    whole = digest_seals(window, {DAY: "a", second: "b"})
    assert digest_seals(window, {DAY: "a"}) != whole
    assert digest_seals(window, {DAY: "a", second: "b", date(2026, 11, 3): "c"}) == whole


def test_a_window_of_90_ends_with_its_date():
    window = window_ending(DAY, 90)
    assert (window.start, window.end, len(window)) == (date(2026, 8, 4), date(2026, 11, 2), 90)
