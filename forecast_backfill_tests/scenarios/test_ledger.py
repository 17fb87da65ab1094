"""Every scenario folder through the whole partition task into PostgreSQL."""

from datetime import date

import psycopg
import pytest
from psycopg.rows import dict_row

from forecast_backfill.app.run_partition import run_partition
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.scenarios.folders import (
    NAMES,
    PARTITION,
    expected_of,
    land_scenario,
    land_scenario_dimensions,
)

LEDGER = (
    "SELECT status, output, output_rows AS rows, reason FROM forecast_backfill.partition_ledger"
)
FAULTS = "SELECT faults, fault_total FROM forecast_backfill.quarantine WHERE resolved_at IS NULL"
ROWS = """
    SELECT store_id, product_id, demand_group, units, revenue_cents, discount_cents, baskets,
           list_price_cents, on_display, on_mailer
    FROM forecast_backfill.daily_demand ORDER BY store_id, product_id
"""


def run_scenario(name, url, home):
    land_scenario_dimensions(home / "landing")
    land_scenario(name, home / "landing")
    settings = load_settings(
        home=home, database_url=url, first_date=date(2026, 1, 1), as_of=date(2026, 4, 1)
    )
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        run_partition(PARTITION, wiring.request(), wiring.ports)


def fetch(url, query):
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("name", [name for name in NAMES if "rows" in expected_of(name)])
def test_a_good_scenario_is_stored_and_done(name, database_url, tmp_path):
    run_scenario(name, database_url, tmp_path)
    rows = expected_of(name)["rows"]
    assert fetch(database_url, ROWS) == rows
    assert fetch(database_url, LEDGER) == [
        {"status": "done", "output": "current", "rows": len(rows), "reason": None}
    ]
    assert fetch(database_url, FAULTS) == []


@pytest.mark.parametrize("name", [name for name in NAMES if "faults" in expected_of(name)])
def test_a_bad_scenario_is_quarantined_with_its_faults_and_stores_nothing(
    name, database_url, tmp_path
):
    run_scenario(name, database_url, tmp_path)
    faults = expected_of(name)["faults"]
    (quarantine,) = fetch(database_url, FAULTS)
    keys = ("code", "line", "column", "value")
    assert [{key: fault[key] for key in keys} for fault in quarantine["faults"]] == faults
    assert quarantine["fault_total"] >= len(faults)
    (row,) = fetch(database_url, LEDGER)
    assert (row["status"], row["output"], row["rows"]) == ("quarantined", "absent", None)
    assert faults[0]["code"] in row["reason"]
    assert fetch(database_url, ROWS) == []
