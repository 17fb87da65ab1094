"""Every named constraint of the night's tables refuses the row that it is there to refuse."""

from __future__ import annotations

from typing import Any

import pytest

from forecast_backfill_tests.postgres.refusals import refusal_of

WHO = {"workload": "nightly", "run_id": "r"}
OTHER = {"workload": "weekly"}
AT = "2026-11-02"
DAY = "2026-11-01"
SEAL = {"date": DAY, "data_version": "v", "first_sealed_at": AT, "sealed_at": AT, **WHO}
SEALED = {"date": DAY, "region": "R01", "state": "in", "version": "v"}
CHANGE = {"date": DAY, "data_version": "v", "changed_regions": ["R01"], **WHO}
WINDOW = {
    "date": DAY, "verdict": "accepted", "reasons": [], "window_start": "2026-10-01",
    "window_end": "2026-11-02", "regions": ["R01"], "expected": 9, "left_out": 1, "seals": "{}",
    "window_digest": "w", "changed_dates": [], "judged_at": AT, **WHO,
}  # fmt: skip
COVERAGE = {
    "date": DAY, "partition_date": "2026-10-15", "region": "R01", "state": "stale",
    "is_used": False, "reason": "x",
}  # fmt: skip
OVERRIDE = {"date": DAY, "window_digest": "w", "override_by": "Ada", "override_reason": "x"}
MODEL = {
    "date": DAY, "version": "m", "kind": "formula", "reason": "x", "artefact": b"x",
    "parameters": "{}", "seed": 1, "window_digest": "w", "data_digest": "d", "verdict": "accepted",
    "degraded_for": [], "regions": ["R01"], "groups": ["MILK"], "expected": 9, "left_out": 0,
    "moved": "[]", "changed_dates": [], "training_rows": 0, "seconds": 1.0, "trained_at": AT,
    **WHO,
}  # fmt: skip
STORED = {
    "date": DAY, "region": "R01", "forecast_version": "f", "model_version": "m", "rows": 1,
    "checksum": 1, "milliunits": 1, "written_at": AT, "epoch": 1, **WHO,
}  # fmt: skip
FORECAST = {
    "date": DAY, "region": "R01", "forecast_version": "f", "demand_group": "MILK",
    "target_date": "2026-11-02", "milliunits": 1,
}  # fmt: skip
PUBLISHED = {
    "date": DAY, "status": "fresh", "model_version": "m", "reasons": [], "absent": [],
    "data_version": "v", "first_published_at": AT, "switched_at": AT, **WHO,
}  # fmt: skip
SHOWN = {"date": DAY, "region": "R01", "source_date": DAY, "forecast_version": "f"}
ACCURACY = {
    "date": DAY, "region": "R01", "horizon": 1, "target_date": "2026-11-02",
    "forecast_version": "f", "known_days": 1, "horizon_days": 14, "actual_milliunits": 1,
    "forecast_milliunits": 1, "measured_at": AT, "run_id": "r",
}  # fmt: skip
NOTICE = {
    "key": "k", "kind": "campaign_finished", "audience": "nightly", "title": "t", "body": "b",
    "due_at": AT,
}  # fmt: skip
ENDED = {"due_at": None, "ended_at": AT}

ROWS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "demand_seal": ((), SEAL),
    "demand_seal_region": (("demand_seal",), SEALED),
    "demand_seal_change": ((), CHANGE),
    "training_window": ((), WINDOW),
    "model_coverage": (("training_window",), COVERAGE),
    "window_override": ((), OVERRIDE),
    "demand_model": ((), MODEL),
    "forecast_partition": ((), STORED),
    "demand_forecast": (("forecast_partition",), FORECAST),
    "forecast_publication": ((), PUBLISHED),
    "forecast_publication_region": (("forecast_partition", "forecast_publication"), SHOWN),
    "forecast_accuracy": ((), ACCURACY),
    "notice": ((), NOTICE),
}
"""By table: which tables need a row before it, and a good row."""

NUMBERED = {"demand_seal_change": {"change_id": 77}, "notice": {"notice_id": 77}}
"""Numbers that the database gives, fixed for the row that goes in first."""

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("demand_seal_has_one_row_a_date", "demand_seal", {}),
    ("demand_seal_workload_is_known", "demand_seal", {"date": "2026-11-03", **OTHER}),
    ("demand_seal_region_has_one_row_a_partition", "demand_seal_region", {}),
    ("demand_seal_region_belongs_to_a_seal", "demand_seal_region", {"date": "2026-11-03"}),
    ("demand_seal_region_state_is_known", "demand_seal_region",
     {"region": "R2", "state": "lost", "version": None, "reason": "x"}),
    ("demand_seal_region_readable_has_a_version", "demand_seal_region",
     {"region": "R2", "version": None}),
    ("demand_seal_region_left_out_has_a_reason", "demand_seal_region",
     {"region": "R2", "state": "missing", "version": None}),
    ("demand_seal_change_is_numbered", "demand_seal_change", {"change_id": 77}),
    ("demand_seal_change_changes_something", "demand_seal_change", {"previous_version": "v"}),
    ("training_window_has_one_row_a_date", "training_window", {}),
    ("training_window_verdict_is_known", "training_window",
     {"date": "2026-11-03", "window_end": "2026-11-04", "verdict": "maybe", "reasons": ["x"]}),
    ("training_window_verdict_has_reasons", "training_window",
     {"date": "2026-11-03", "window_end": "2026-11-04", "verdict": "refused"}),
    ("training_window_ends_with_its_date", "training_window", {"date": "2026-11-03"}),
    ("training_window_left_out_was_expected", "training_window",
     {"date": "2026-11-03", "window_end": "2026-11-04", "left_out": 10}),
    ("training_window_override_has_a_name", "training_window",
     {"date": "2026-11-03", "window_end": "2026-11-04", "override_by": "Ada"}),
    ("training_window_workload_is_known", "training_window",
     {"date": "2026-11-03", "window_end": "2026-11-04", **OTHER}),
    ("model_coverage_has_one_row_a_partition", "model_coverage", {}),
    ("model_coverage_belongs_to_a_window", "model_coverage", {"date": "2026-11-03"}),
    ("model_coverage_state_is_an_exception", "model_coverage", {"region": "R2", "state": "in"}),
    ("model_coverage_only_stale_is_used", "model_coverage",
     {"region": "R2", "state": "missing", "is_used": True}),
    ("window_override_is_given_once", "window_override", {}),
    ("window_override_names_a_person", "window_override",
     {"window_digest": "x", "override_by": " "}),
    ("demand_model_has_one_row_a_date", "demand_model", {}),
    ("demand_model_kind_is_known", "demand_model", {"date": "2026-11-03", "kind": "guess"}),
    ("demand_model_window_was_taken", "demand_model", {"date": "2026-11-03", "verdict": "refused"}),
    ("demand_model_has_a_series", "demand_model", {"date": "2026-11-03", "groups": []}),
    ("demand_model_workload_is_known", "demand_model", {"date": "2026-11-03", **OTHER}),
    ("forecast_partition_has_one_row_a_version", "forecast_partition", {}),
    ("forecast_partition_holds_rows", "forecast_partition", {"region": "R2", "rows": 0}),
    ("forecast_partition_workload_is_known", "forecast_partition", {"region": "R2", **OTHER}),
    ("demand_forecast_is_unique_by_grain", "demand_forecast", {}),
    ("demand_forecast_belongs_to_a_partition", "demand_forecast", {"region": "R2"}),
    ("demand_forecast_is_not_negative", "demand_forecast",
     {"demand_group": "SOUP", "milliunits": -1}),
    ("demand_forecast_looks_ahead", "demand_forecast", {"target_date": DAY}),
    ("forecast_publication_has_one_row_a_date", "forecast_publication", {}),
    ("forecast_publication_status_is_known", "forecast_publication",
     {"date": "2026-11-03", "status": "good", "reasons": ["x"]}),
    ("forecast_publication_says_why", "forecast_publication",
     {"date": "2026-11-03", "status": "kept"}),
    ("forecast_publication_own_is_dated", "forecast_publication",
     {"date": "2026-11-03", "first_published_at": None}),
    ("forecast_publication_workload_is_known", "forecast_publication",
     {"date": "2026-11-03", **OTHER}),
    ("forecast_publication_region_has_one_row_a_region", "forecast_publication_region", {}),
    ("forecast_publication_region_belongs_to_a_publication", "forecast_publication_region",
     {"date": "2026-11-03"}),
    ("forecast_publication_region_is_stored", "forecast_publication_region", {"region": "R2"}),
    ("forecast_publication_region_was_made_by_then", "forecast_publication_region",
     {"date": "2026-10-31"}),
    ("forecast_accuracy_has_one_row_a_horizon", "forecast_accuracy", {}),
    ("forecast_accuracy_horizon_is_dated", "forecast_accuracy", {"horizon": 2}),
    ("forecast_accuracy_days_are_known", "forecast_accuracy", {"region": "R2", "known_days": 15}),
    ("forecast_accuracy_is_a_number", "forecast_accuracy", {"region": "R2", "wape": "NaN"}),
    ("notice_is_numbered", "notice", {"notice_id": 77, "key": "l"}),
    ("notice_is_told_once", "notice", {}),
    ("notice_audience_is_known", "notice", {"key": "l", "audience": "everybody"}),
    ("notice_status_is_known", "notice", {"key": "l", "status": "read", **ENDED}),
    ("notice_pending_is_due", "notice", {"key": "l", "due_at": None}),
    ("notice_abandoned_has_an_error", "notice", {"key": "l", "status": "abandoned", **ENDED}),
]  # fmt: skip


@pytest.mark.parametrize(("constraint", "table", "change"), CASES, ids=[case[0] for case in CASES])
def test_the_constraint_refuses(
    constraints_database: str, constraint: str, table: str, change: dict[str, Any]
) -> None:
    """The good row goes in with what it needs, the changed one does not."""
    needed, good = ROWS[table]
    before = [(each, ROWS[each][1]) for each in needed]
    before.append((table, good | NUMBERED.get(table, {})))
    assert refusal_of(constraints_database, table, good | change, *before) == constraint
