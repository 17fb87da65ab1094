"""Faults, their collection, and the manifest."""

from __future__ import annotations

import json

import pytest

from forecast_backfill.core.manifest import ManifestRefused, parse_manifest
from forecast_backfill.core.source import (
    Fault,
    FaultCode,
    FaultCollector,
    FaultReport,
)

FIELDS = {
    "schema_version": 1,
    "date": "2026-03-01",
    "region": "R01",
    "file": "sales.csv.gz",
    "sha256": "AB",
    "exported_at": "1970-01-01T02:00:01.000005+01:00",
    "lines": 4,
    "units": 7,
    "revenue_cents": 1125,
    "stores": 2,
}


def _fault(line: int | None, code: FaultCode = FaultCode.FIELD_COUNT) -> Fault:
    return Fault(code=code, file="sales.csv", line=line, reason="bad")


def test_a_fault_reads_as_one_line() -> None:
    fault = Fault(
        code=FaultCode.DATE_OUTSIDE, file="f.csv", line=3, column="sold_at", value="x", reason="why"
    )
    assert str(fault) == "f.csv:3 sold_at 'x' date_outside: why"


def test_a_long_value_is_cut_at_eighty_characters() -> None:
    fault = Fault(code=FaultCode.VALUE_BLANK, file="f", value="x" * 81, reason="why")
    assert fault.value == "x" * 79 + "…"


def test_what_postgresql_cannot_store_is_escaped_in_a_fault() -> None:
    fault = Fault(
        code=FaultCode.VALUE_BLANK, file="f", value="a\0", column="\ud800", reason="b\udfff"
    )
    assert (fault.value, fault.column, fault.reason) == ("a\\x00", "\\ud800", "b\\udfff")


def test_a_fault_without_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        Fault(code=FaultCode.FIELD_COUNT, file="f", reason="")


def test_a_collector_keeps_a_hundred_and_counts_all() -> None:
    faults = FaultCollector()
    for line in range(150):
        faults.add(_fault(line))
    faults.add(_fault(7, FaultCode.NUL_BYTE), also=9)
    report = faults.report()
    assert report is not None
    assert (len(report.kept), report.total) == (100, 160)
    assert report.counts == {FaultCode.FIELD_COUNT: 150, FaultCode.NUL_BYTE: 10}


def test_faults_of_lines_come_first_then_of_the_file_then_of_the_manifest() -> None:
    faults = FaultCollector()
    faults.add(_fault(None, FaultCode.MANIFEST_HASH))
    for line in (None, 9, 2):
        faults.add(_fault(line))
    report = faults.report()
    assert report is not None
    assert [fault.line for fault in report.kept] == [2, 9, None, None]
    assert report.kept[-1].code is FaultCode.MANIFEST_HASH
    assert report.summary == "sales.csv:2 field_count: bad (+3 more)"


def test_nothing_collected_is_no_report() -> None:
    assert FaultCollector().report() is None


def test_a_report_without_a_fault_is_refused() -> None:
    with pytest.raises(ValueError, match="without a fault"):
        FaultReport(kept=(), counts={})


def test_a_manifest_is_read_with_its_version_in_microseconds() -> None:
    manifest = parse_manifest(json.dumps(FIELDS).encode("utf-8-sig"))
    assert (manifest.source_version, manifest.sha256) == (3_601_000_005, "ab")
    assert (manifest.totals.lines, manifest.totals.stores) == (4, 2)


@pytest.mark.parametrize("name", FIELDS)
def test_a_manifest_without_one_of_its_fields_is_refused(name: str) -> None:
    fields = {key: value for key, value in FIELDS.items() if key != name}
    with pytest.raises(ManifestRefused) as refused:
        parse_manifest(json.dumps(fields).encode())
    assert (refused.value.code, refused.value.column) == (FaultCode.MANIFEST_SCHEMA, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lines", True),
        ("lines", 4.0),
        ("units", "7"),
        ("region", ""),
        ("date", 20260301),
        ("exported_at", "yesterday"),
        ("exported_at", "2026-03-02T04:00:00"),
        ("schema_version", 2),
    ],
)
def test_a_manifest_with_a_field_of_the_wrong_kind_is_refused(name: str, value: object) -> None:
    with pytest.raises(ManifestRefused) as refused:
        parse_manifest(json.dumps(FIELDS | {name: value}).encode())
    assert (refused.value.code, refused.value.column) == (FaultCode.MANIFEST_SCHEMA, name)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b"9" * 5000])
def test_a_manifest_that_is_no_json_object_is_unreadable(content: bytes) -> None:
    with pytest.raises(ManifestRefused) as refused:
        parse_manifest(content)
    assert refused.value.code is FaultCode.MANIFEST_UNREADABLE
