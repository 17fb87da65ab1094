"""The check `seam_audit` on the seal: told for each date, and in nobody's way."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from dagster import AssetCheckSeverity, DagsterInstance

from forecast_backfill.settings import Settings
from forecast_backfill_tests.app.nights import LAST, fill, settings_for
from forecast_backfill_tests.dagster.event_log import evaluations_of
from forecast_backfill_tests.dagster.night_runs import run_assets, told

FIRST = LAST - timedelta(days=3)


@pytest.fixture
def settings(database_url: str, tmp_path) -> Settings:
    fill(database_url)
    # The last date is nightly's.
    change(database_url, f"UPDATE daily_demand SET authority = 20 WHERE date = '{LAST}'")
    change(database_url, f"UPDATE partition_ledger SET output_authority = 20 WHERE date = '{LAST}'")
    return settings_for(database_url, tmp_path)


@pytest.fixture
def instance() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as found:
        yield found


def change(url: str, statement: str) -> None:
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        connection.execute(statement)


def test_a_run_over_several_dates_tells_of_the_seam_at_each(settings, instance):
    assert run_assets(settings, instance, ["demand_seal"], ends=(FIRST, LAST)).success
    found = evaluations_of(instance, "demand_seal", "seam_audit")
    assert sorted(found) == [str(FIRST + timedelta(days=each)) for each in range(4)]
    assert {each.passed for each in found.values()} == {True}
    assert sorted(told(instance, "demand_seal")) == sorted(found)


def test_rows_that_nobody_recorded_fail_the_check_and_not_the_seal(settings, instance):
    change(
        settings.database_url,
        f"UPDATE daily_demand SET source_version = source_version + 1 WHERE date = '{LAST}'"
        " AND region = 'R01'",
    )
    assert run_assets(settings, instance, ["demand_seal"], day=LAST).success
    (found,) = evaluations_of(instance, "demand_seal", "seam_audit").values()
    assert (found.passed, found.blocking) == (False, False)
    assert found.severity is AssetCheckSeverity.ERROR
    assert "which nobody has recorded" in found.description
    assert str(LAST) in told(instance, "demand_seal")


def test_an_audit_that_cannot_be_made_costs_no_seal(settings, instance, monkeypatch):
    from forecast_backfill.core.errors import DatabaseUnavailable
    from forecast_backfill.warehouse.seam_records import PostgresSeamRecords

    def fail(self, dates, regions):
        raise DatabaseUnavailable("no answer", why="a test", next_command="none")

    monkeypatch.setattr(PostgresSeamRecords, "read", fail)
    assert run_assets(settings, instance, ["demand_seal"], day=LAST).success
    (found,) = evaluations_of(instance, "demand_seal", "seam_audit").values()
    assert (found.passed, found.severity) == (False, AssetCheckSeverity.WARN)
    assert found.description.startswith("not audited: no answer")
