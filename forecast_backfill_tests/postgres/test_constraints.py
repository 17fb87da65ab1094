"""Every named constraint refuses the row that it is there to refuse."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

from forecast_backfill_tests import postgres
from forecast_backfill_tests.postgres import test_dimensions
from forecast_backfill_tests.postgres.refusals import refusal_of
from forecast_backfill_tests.postgres.rows import fetch

DEMAND = {
    "date": "2026-11-01", "region": "R01", "store_id": "1", "product_id": "2",
    "demand_group": "MILK", "units": 1, "revenue_cents": 1, "discount_cents": 0, "baskets": 1,
    "authority": 10, "source_version": 1, "row_hash": 1,
}  # fmt: skip
LEDGER = {
    "date": "2026-11-01", "region": "R01", "status": "running", "output": "absent", "attempt": 1,
    "workload": "backfill", "run_id": "r", "epoch": 1, "started_at": "2026-11-02",
}  # fmt: skip
EVENT = {
    "date": "2026-11-01", "region": "R01", "kind": "started", "workload": "backfill", "run_id": "r",
}  # fmt: skip
QUARANTINE = {
    "date": "2026-11-01", "region": "R01", "source_digest": "s", "fault_total": 1,
    "fault_counts": "{}", "faults": "[]", "summary": "x", "workload": "backfill", "run_id": "r",
    "quarantined_at": "2026-11-02",
}  # fmt: skip
CAMPAIGN = {
    "campaign_id": "c", "workload": "backfill", "partitions": 1, "launched_at": "2026-11-02",
    "launched_by": "x", "reprocess": False,
}  # fmt: skip
CONTROL = {
    "workload": "nightly", "epoch": 1, "intent": "running", "reason": "x", "changed_by": "x",
    "changed_at": "2026-11-02",
}  # fmt: skip
FINISHED = {"status": "failed", "finished_at": "2026-11-02", "reason": "x"}
OUTPUT = {
    "output_source_digest": "s", "output_code_version": "v", "output_dimension_version": "d",
    "output_rows": 0, "output_checksum": 0, "output_units": 0, "output_revenue_cents": 0,
    "output_stores": 0, "output_products": 0, "output_data_version": "x", "output_authority": 10,
    "output_source_version": 1, "output_written_at": "2026-11-02", "output_lines": 0,
    "output_exclusions": "{}",
}  # fmt: skip
OTHER = {"workload": "weekly"}

CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("daily_demand_is_unique_by_grain", "daily_demand", DEMAND, {}),
    ("daily_demand_authority_is_known", "daily_demand", DEMAND, {"authority": 11}),
    ("partition_ledger_has_one_row_a_partition", "partition_ledger", LEDGER, {}),
    ("partition_ledger_status_is_known", "partition_ledger", LEDGER, FINISHED | {"status": "ok",
     "reason": None}),
    ("partition_ledger_output_is_known", "partition_ledger", LEDGER, OUTPUT | {"output": "good"}),
    ("partition_ledger_workload_is_known", "partition_ledger", LEDGER, OTHER),
    ("partition_ledger_attempt_is_counted", "partition_ledger", LEDGER, {"attempt": 0}),
    ("partition_ledger_running_is_unfinished", "partition_ledger", LEDGER,
     {"finished_at": "2026-11-02"}),
    ("partition_ledger_done_is_current", "partition_ledger", LEDGER,
     {"status": "done", "finished_at": "2026-11-02"}),
    ("partition_ledger_refused_is_not_current", "partition_ledger", LEDGER,
     FINISHED | OUTPUT | {"output": "current"}),
    ("partition_ledger_refused_has_a_reason", "partition_ledger", LEDGER,
     FINISHED | {"reason": None}),
    ("partition_ledger_output_is_described", "partition_ledger", LEDGER, {"output_rows": 1}),
    ("partition_event_is_numbered", "partition_event", EVENT, {"event_id": 1}),
    ("partition_event_kind_is_known", "partition_event", EVENT, {"kind": "seen"}),
    ("partition_event_workload_is_known", "partition_event", EVENT, OTHER),
    ("quarantine_is_numbered", "quarantine", QUARANTINE, {"quarantine_id": 1, "region": "R02"}),
    ("quarantine_is_open_once", "quarantine", QUARANTINE, {}),
    ("quarantine_has_a_fault", "quarantine", QUARANTINE, {"fault_total": 0}),
    ("quarantine_faults_are_listed", "quarantine", QUARANTINE, {"faults": "{}"}),
    ("quarantine_workload_is_known", "quarantine", QUARANTINE, OTHER),
    ("campaign_is_named_once", "campaign", CAMPAIGN, {}),
    ("campaign_workload_is_known", "campaign", CAMPAIGN, OTHER),
    ("campaign_asks_for_partitions", "campaign", CAMPAIGN, {"partitions": 0}),
    ("workload_control_has_one_row_a_workload", "workload_control", CONTROL, {}),
    ("workload_control_workload_is_known", "workload_control", CONTROL, OTHER),
    ("workload_control_epoch_is_positive", "workload_control", CONTROL, {"epoch": 0}),
    ("workload_control_intent_is_known", "workload_control", CONTROL, {"intent": "stopped"}),
    ("workload_control_cap_is_not_negative", "workload_control", CONTROL, {"cap": -1}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("constraint", "table", "good", "change"), CASES, ids=[case[0] for case in CASES]
)
def test_the_constraint_refuses(
    constraints_database: str,
    constraint: str,
    table: str,
    good: dict[str, Any],
    change: dict[str, Any],
) -> None:
    """A good row goes in (where the migration has not put it there), the bad one does not."""
    bad = good | change
    if "region" in good and change and "is_numbered" not in constraint:
        bad = good | {"region": "R09"} | change
    before = [] if table == "workload_control" else [(table, good)]
    assert refusal_of(constraints_database, table, bad, *before) == constraint


def constraint_tests() -> list[Any]:
    """The modules `test_…constraints` of this package, each with its CASES."""
    names = [each.name for each in pkgutil.iter_modules(postgres.__path__)]
    found = [name for name in names if name.startswith("test_") and name.endswith("constraints")]
    return [importlib.import_module(f"{postgres.__name__}.{name}") for name in found]


def test_every_constraint_is_explained_and_tried(database: str) -> None:
    """Names from the catalogue; not-null constraints and our migration record are no invariants."""
    rows = fetch(
        database,
        """SELECT conname, obj_description(oid, 'pg_constraint') FROM pg_constraint
           WHERE connamespace = 'forecast_backfill'::regnamespace AND contype <> 'n'
             AND conrelid <> 'schema_migration'::regclass""",
    )
    dated = test_dimensions.test_a_row_that_cannot_be_meant_is_refused_by_its_constraint
    tried = {
        *(case[0] for module in constraint_tests() for case in module.CASES),
        *(constraint for _, constraint in dated.pytestmark[0].args[1]),  # type: ignore[attr-defined]
    }
    assert {name for name, _ in rows} | {"quarantine_is_open_once"} == tried
    assert [name for name, comment in rows if not comment] == []
