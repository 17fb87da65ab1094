"""What is exported, what is left out with which words, and what the manifest says of it."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from forecast_backfill.core.export import LeftOut, Recorded, Wanted, decide
from forecast_backfill.core.export_manifest import (
    ExportState,
    Listed,
    ended,
    read_manifest,
    under_way,
    unlisted,
    written_manifest,
)
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import OutputState, PartitionStatus

ONE, TWO, THREE = (Partition(date=date(2026, 11, 2), region=f"R0{each}") for each in (1, 2, 3))
PRINT = Fingerprint(rows=2, checksum=2**61, units=8, revenue_cents=5, stores=1, products=2)
FIRST_DAY, SECOND_DAY = (datetime(2026, 12, day, 4, tzinfo=UTC) for day in (1, 2))


def recorded(status, output, reason=None):
    fingerprint = None if output == "absent" else PRINT
    return Recorded(
        partition=ONE,
        status=PartitionStatus(status),
        output=OutputState(output),
        reason=reason,
        fingerprint=fingerprint,
    )


@pytest.mark.parametrize("status", ["done", "running"])
def test_a_current_output_is_exported_also_while_an_attempt_runs(status):
    assert decide(ONE, recorded(status, "current")) == Wanted(partition=ONE, fingerprint=PRINT)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (None, "it was never built"),
        (recorded("running", "absent"), "nothing is stored, it is being built"),
        (
            recorded("quarantined", "stale", "line 2: many"),
            "stale, its source is quarantined: line 2: many",
        ),
        (recorded("failed", "stale", "lost"), "stale, its last attempt failed: lost"),
        (recorded("mismatched", "absent"), "nothing is stored, its last attempt was not proved"),
        (recorded("rolled_back", "absent"), "nothing is stored, it was rolled back"),
        (recorded("running", "stale"), "stale, it is being built"),
    ],
)
def test_what_is_not_current_is_left_out_with_its_reason(found, reason):
    assert decide(ONE, found) == LeftOut(partition=ONE, reason=reason)


def wanted(partition):
    return Wanted(partition=partition, fingerprint=PRINT)


def test_a_manifest_is_read_as_it_was_written():
    found = ended(None, [wanted(TWO), LeftOut(partition=ONE, reason="stale")], FIRST_DAY)
    assert read_manifest(written_manifest(found)) == found


def test_something_left_out_makes_an_export_incomplete():
    assert ended(None, [wanted(ONE)], FIRST_DAY).state is ExportState.COMPLETE
    left_out = LeftOut(partition=TWO, reason="stale")
    assert ended(None, [wanted(ONE), left_out], FIRST_DAY).state is ExportState.INCOMPLETE


def test_what_another_range_has_left_stays_listed_as_of_its_own_instant():
    earlier = ended(None, [wanted(ONE), LeftOut(partition=TWO, reason="stale")], FIRST_DAY)
    found = ended(earlier, [wanted(THREE)], SECOND_DAY)
    assert [(each.partition, each.as_of) for each in found.listed] == [
        (ONE, FIRST_DAY),
        (TWO, FIRST_DAY),
        (THREE, SECOND_DAY),
    ]
    assert (found.state, found.as_of, found.oldest_as_of) == (
        ExportState.INCOMPLETE,
        SECOND_DAY,
        FIRST_DAY,
    )


def test_what_was_left_out_and_is_there_now_is_listed_once():
    earlier = ended(None, [LeftOut(partition=ONE, reason="stale")], FIRST_DAY)
    found = ended(earlier, [wanted(ONE)], SECOND_DAY)
    assert (found.state, [each.as_of for each in found.listed]) == ("complete", [SECOND_DAY])


def test_under_way_the_partitions_at_work_are_named_as_such():
    earlier = ended(None, [wanted(ONE), wanted(TWO)], FIRST_DAY)
    found = under_way(earlier, [TWO, THREE], SECOND_DAY)
    assert (found.state, found.exported) == (ExportState.UNDER_WAY, {ONE})
    assert [each.left_out for each in found.listed] == [
        None,
        "an export of it was begun and is not ended",
        "an export of it was begun and is not ended",
    ]


def test_what_a_killed_export_never_wrote_keeps_the_folder_incomplete_after_another_range():
    killed = under_way(None, [ONE, TWO], FIRST_DAY)
    found = ended(killed, [wanted(THREE)], SECOND_DAY)
    assert (found.state, found.exported) == (ExportState.INCOMPLETE, {THREE})
    assert ended(found, [wanted(ONE), wanted(TWO)], SECOND_DAY).state is ExportState.COMPLETE


def test_a_file_without_an_entry_and_an_entry_without_a_file_are_unlisted():
    earlier = ended(None, [wanted(ONE), wanted(TWO)], FIRST_DAY)
    assert unlisted(earlier, {TWO, THREE}) == {ONE, THREE}
    assert unlisted(None, {ONE}) == {ONE}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "forecast-backfill export 2"}'])
def test_what_is_not_a_manifest_is_refused(text):
    with pytest.raises(ValueError, match=r"format|field|Expecting"):
        read_manifest(text)


def test_a_partition_has_a_file_or_a_reason_and_not_both():
    for fields in ({}, {"data_version": "ab", "left_out": "stale"}):
        with pytest.raises(ValueError, match="or neither"):
            Listed(partition=ONE, as_of=FIRST_DAY, **fields)
