"""What Dagster is told of each outcome."""

from __future__ import annotations

from datetime import date

from dagster import AssetCheckEvaluation, AssetCheckSeverity, AssetMaterialization

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.outcome import (
    Failed,
    Mismatched,
    Quarantined,
    Refused,
    Unchanged,
    Written,
)
from forecast_backfill.core.parity import Exclusion, Mismatch, MismatchKind
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.seam import SeamRefusal
from forecast_backfill.core.source import Fault, FaultCode, FaultReport
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.events import events_of
from forecast_backfill.dagster_defs.metadata import money
from forecast_backfill.dagster_defs.summary import summarize

DAY = Partition(date=date(2026, 3, 1), region="R07")
READ = Fingerprint(rows=3, checksum=10**20, units=7, revenue_cents=123_456, stores=1, products=2)
STORED = Fingerprint(rows=2, checksum=9, units=5, revenue_cents=100_000, stores=1, products=2)
IDENTITY = OutputIdentity(source_digest="src1", code_version="code1", dimension_version="dim1")
WRITTEN = Written(
    partition=DAY,
    identity=IDENTITY,
    fingerprint=READ,
    exclusions={"fuel": Exclusion(lines=4, units=9, revenue_cents=500)},
    lines=9,
    replaced_rows=0,
    seconds=0.1234,
)
UNCHANGED = Unchanged(partition=DAY, identity=IDENTITY, fingerprint=READ)
FAULTS = FaultReport(
    kept=(
        Fault(
            code=FaultCode.DECIMAL_COMMA,
            file="sales.csv.gz",
            line=17,
            column="sales_value",
            value="3,98",
            reason="a decimal comma",
        ),
    ),
    counts={FaultCode.DECIMAL_COMMA: 2},
)
QUARANTINED = Quarantined(partition=DAY, report=FAULTS, has_stale_output=False)


def checks(events: list[object]) -> dict[str, bool]:
    """Name → passed of the check evaluations among the events."""
    return {
        each.check_name: each.passed for each in events if isinstance(each, AssetCheckEvaluation)
    }


def test_a_written_partition_is_materialized_and_passes_both_checks() -> None:
    first, *rest = events_of(WRITTEN)
    assert isinstance(first, AssetMaterialization)
    assert first.partition == "2026-03-01|R07"
    assert first.metadata["rows"].value == 3
    assert first.metadata["revenue"].value == "1,234.56"
    assert first.metadata["checksum"].value == "100000000000000000000"
    assert first.metadata["lines_left_out"].value == 4
    assert first.metadata["source_digest"].value == "src1"
    assert checks(rest) == {"source_intact": True, "reconcile_parity": True}


def test_a_materialization_carries_the_versions_from_which_dagster_judges_staleness() -> None:
    first = next(events_of(WRITTEN))
    assert isinstance(first, AssetMaterialization)
    assert first.tags == {
        "dagster/data_version": READ.data_version,
        "dagster/data_version_is_user_provided": "true",
        "dagster/code_version": "code1",
        "dagster/input_data_version/pos_sales": "INITIAL",
        "dagster/input_event_pointer/pos_sales": "NULL",
        "dagster/partition/date": "2026-03-01",
        "dagster/partition/region": "R07",
    }


def test_an_unchanged_partition_is_materialized_with_the_data_version_that_it_had() -> None:
    first = next(events_of(UNCHANGED))
    assert isinstance(first, AssetMaterialization)
    assert first.metadata["outcome"].value == "unchanged"
    assert first.tags is not None
    assert first.tags["dagster/data_version"] == READ.data_version


def test_a_quarantined_partition_fails_source_intact_and_is_not_materialized() -> None:
    only, _ = events_of(QUARANTINED)
    assert isinstance(only, AssetCheckEvaluation)
    assert (only.check_name, only.passed, only.partition) == (
        "source_intact",
        False,
        "2026-03-01|R07",
    )
    shown = {name: only.metadata[name].value for name in ("file", "line", "column", "value")}
    assert shown == {
        "file": "sales.csv.gz",
        "line": "17",
        "column": "sales_value",
        "value": "3,98",
    }
    assert only.metadata["faults"].value == 2
    assert only.metadata["reason"].value == "a decimal comma"


def test_every_kept_fault_is_a_row_of_the_table() -> None:
    only, _ = events_of(QUARANTINED)
    assert isinstance(only, AssetCheckEvaluation)
    records = only.metadata["fault_table"].records
    assert [record.data for record in records] == [
        {
            "file": "sales.csv.gz",
            "line": "17",
            "column": "sales_value",
            "value": "3,98",
            "code": "decimal_comma",
            "reason": "a decimal comma",
        }
    ]


def test_a_mismatch_fails_reconcile_parity_with_both_sides_and_is_not_materialized() -> None:
    mismatch = Mismatch(
        kind=MismatchKind.MISSING_ROWS, read=READ, stored=STORED, reason="read 3 rows, stored 2"
    )
    events = list(events_of(Mismatched(partition=DAY, mismatch=mismatch)))
    assert checks(events) == {"source_intact": True, "reconcile_parity": False}
    sides = events[1].metadata["sides"].records
    assert sides[0].data == {"figure": "rows", "read": "3", "stored": "2"}
    assert not any(isinstance(each, AssetMaterialization) for each in events)


def test_parity_of_a_quarantined_partition_warns_that_it_was_not_judged() -> None:
    """Without an evaluation Dagster shows the check as one that crashed."""
    _, parity = events_of(QUARANTINED)
    assert isinstance(parity, AssetCheckEvaluation)
    assert (parity.check_name, parity.passed) == ("reconcile_parity", False)
    assert parity.severity is AssetCheckSeverity.WARN
    assert parity.description == "not judged: the source was refused, so nothing was stored"
    assert parity.metadata["next"].value == "forecast-backfill quarantine show 2026-03-01 R07"


def test_both_checks_of_a_refused_partition_warn_with_the_reason_and_the_next_command() -> None:
    refusal = SeamRefusal(owner=Workload.NIGHTLY, reason="nightly owns it", next_command="x")
    events = list(events_of(Refused(partition=DAY, refusal=refusal)))
    assert checks(events) == {"source_intact": False, "reconcile_parity": False}
    for each in events:
        assert isinstance(each, AssetCheckEvaluation)
        assert each.severity is AssetCheckSeverity.WARN
        assert each.description == "not judged: nightly owns it"
        assert each.metadata["next"].value == "x"


def test_no_check_speaks_of_an_attempt_that_ended_in_an_error() -> None:
    assert list(events_of(Failed(partition=DAY, reason="boom"))) == []


def test_passed_checks_say_what_they_saw() -> None:
    said = [each.description for each in [*events_of(WRITTEN)][1:]]
    assert said == [
        "9 lines, as the manifest says",
        "3 rows, 7 units, revenue 1,234.56: stored as read",
    ]
    said = [each.description for each in [*events_of(UNCHANGED)][1:]]
    assert said == [
        "the source is the one that was read before",
        "3 rows, 7 units, revenue 1,234.56: unchanged since it was reconciled",
    ]


def test_money_shows_cents_and_sign() -> None:
    assert [money(5), money(-123), money(123_456_789)] == ["0.05", "-1.23", "1,234,567.89"]


def test_a_run_in_which_all_is_done_has_no_summary() -> None:
    assert summarize([WRITTEN, UNCHANGED]) is None


def test_the_summary_counts_then_names_ten_partitions_and_the_next_command() -> None:
    text = summarize([WRITTEN, *[QUARANTINED] * 12])
    assert text is not None
    lines = text.splitlines()
    assert lines[0] == "12 of 13 partitions are not done: 12 quarantined, 1 written"
    assert lines[2] == (
        "  2026-03-01 R07  quarantined: sales.csv.gz:17 sales_value '3,98' decimal_comma: "
        "a decimal comma (+1 more)"
    )
    assert lines[12] == "  … and 2 more"
    assert lines[15].startswith("  forecast-backfill quarantine list")
    assert len(lines) <= 24
