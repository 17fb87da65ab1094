"""The seam audit names each gap, overlap and wrong survivor by its date."""

from datetime import date

import pytest

from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.seam_audit import (
    Finding,
    FindingKind,
    Recorded,
    SeamSides,
    StoredKeys,
    audit,
)
from forecast_backfill.core.states import OutputState, PartitionStatus, Workload
from forecast_backfill.core.version import Authority, Version

SEAM = date(2026, 11, 28)
BEFORE, AFTER = date(2026, 11, 27), date(2026, 11, 28)
LIVE = Version(authority=Authority.LIVE, source_version=200)
CAMPAIGN = Version(authority=Authority.BACKFILL, source_version=200)
CORRECTION = Version(authority=Authority.CORRECTION, source_version=200, revision=3)


def ledger(version, rows=2, **changes):
    fields = {
        "status": PartitionStatus.DONE,
        "output": OutputState.CURRENT,
        "rows": rows,
        "version": version,
        "is_merged": False,
    }
    return Recorded(**{**fields, **changes})


def rows_of(*versions, keys=None):
    counts = {(each.authority, each.source_version): 2 for each in versions}
    return StoredKeys(keys=2 * len(counts) if keys is None else keys, rows=counts)


def findings(day, recorded, stored):
    here = Partition(date=day, region="R01")
    result = audit(
        dates=DateRange(start=day, end=date.fromordinal(day.toordinal() + 1)),
        regions=["R01"],
        seam=SEAM,
        sides=SeamSides(
            recorded={} if recorded is None else {here: recorded},
            stored={} if stored is None else {here: stored},
        ),
    )
    return [(each.kind, each.reason, each.is_explained) for each in result.findings]


@pytest.mark.parametrize(("day", "version"), [(BEFORE, CAMPAIGN), (BEFORE, LIVE), (AFTER, LIVE)])
def test_rows_of_the_recorded_version_are_sound(day, version):
    assert findings(day, ledger(version), rows_of(version)) == []


def test_a_key_that_is_there_twice_is_found():
    assert findings(BEFORE, ledger(CAMPAIGN), rows_of(CAMPAIGN, keys=1)) == [
        (FindingKind.DUPLICATE_KEYS, "1 rows more than keys", False)
    ]


def test_a_loser_that_stayed_is_found():
    merged = ledger(CORRECTION, is_merged=True, claims=(LIVE, CORRECTION), rows=4)
    assert findings(AFTER, merged, rows_of(CORRECTION, LIVE)) == [
        (
            FindingKind.LOSER_STAYED,
            "2 rows of live 200 stayed where correction 200 has won",
            False,
        ),
        (
            FindingKind.OVERLAP,
            "merged as recorded; stated by correction 200, live 200",
            True,
        ),
    ]


def test_rows_above_every_recorded_version_are_found():
    newer = Version(authority=Authority.LIVE, source_version=300)
    assert findings(AFTER, ledger(LIVE, rows=4), rows_of(LIVE, newer)) == [
        (FindingKind.UNRECORDED_ROWS, "2 rows of live 300, which nobody has recorded", False)
    ]


def test_a_recorded_merge_is_named_and_no_fault():
    merged = ledger(CORRECTION, is_merged=True, claims=(LIVE, CORRECTION))
    assert findings(AFTER, merged, rows_of(CORRECTION)) == [
        (FindingKind.OVERLAP, "merged as recorded; stated by correction 200, live 200", True)
    ]


def test_a_campaigns_rows_beside_nightly_without_a_merge_are_a_fault():
    assert findings(AFTER, ledger(CAMPAIGN), rows_of(CAMPAIGN)) == [
        (
            FindingKind.OVERLAP,
            "rows of backfill on a date of nightly, without a recorded merge",
            False,
        )
    ]


def test_rows_that_vanished_are_found():
    assert findings(AFTER, ledger(LIVE, rows=3), rows_of(LIVE)) == [
        (FindingKind.ROW_COUNT, "the ledger says 3 rows, 2 are stored", False)
    ]


def test_rows_without_a_ledger_row_are_found():
    assert findings(AFTER, None, rows_of(LIVE)) == [
        (FindingKind.UNRECORDED_ROWS, "2 rows of which the ledger knows nothing", False)
    ]


def test_a_quarantined_gap_is_explained_and_another_is_a_fault():
    quarantined = ledger(
        None,
        status=PartitionStatus.QUARANTINED,
        output=OutputState.ABSENT,
        reason="file_missing",
    )
    assert findings(AFTER, quarantined, None) == [
        (FindingKind.GAP, "nightly owns it; quarantined: file_missing", True)
    ]
    assert findings(BEFORE, None, None) == [
        (FindingKind.GAP, "backfill owns it; never written", False)
    ]


def test_gaps_on_both_sides_of_the_seam_are_named_by_date_with_their_regions():
    result = audit(
        dates=DateRange(start=BEFORE, end=date(2026, 11, 29)),
        regions=["R01", "R02"],
        seam=SEAM,
        sides=SeamSides(
            recorded={Partition(date=BEFORE, region="R01"): ledger(CAMPAIGN)},
            stored={Partition(date=BEFORE, region="R01"): rows_of(CAMPAIGN)},
        ),
    )
    assert (result.partitions, result.keys, result.is_sound) == (4, 2, False)
    assert result.findings == (
        Finding(
            date=BEFORE,
            kind=FindingKind.GAP,
            owner=Workload.BACKFILL,
            regions=("R02",),
            reason="backfill owns it; never written",
        ),
        Finding(
            date=AFTER,
            kind=FindingKind.GAP,
            owner=Workload.NIGHTLY,
            regions=("R01", "R02"),
            reason="nightly owns it; never written",
        ),
    )
    assert str(result.findings[1]) == ("2026-11-28 gap R01, R02: nightly owns it; never written")
