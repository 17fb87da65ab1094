"""The partition task through its real adapters: outcomes, isolation, seam, pause, kill."""

from dataclasses import replace
from datetime import date, timedelta

import psycopg
import pytest

from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Step
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    good_lines,
    land_campaign,
    ledger_rows,
    line,
    settings_for,
    stored_rows,
)
from forecast_backfill_tests.landing.hand_made import land
from forecast_backfill_tests.postgres.rows import fetch

PARTITIONS = list(
    partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=2)), ["R01", "R02"])
)
FIRST_R01 = PARTITIONS[0]


@pytest.fixture
def settings(database_url, tmp_path):
    land_campaign(tmp_path, PARTITIONS)
    return settings_for(database_url, tmp_path)


@pytest.fixture
def wiring(settings):
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as opened:
        yield opened


def run(wiring, partitions=PARTITIONS, *, reprocess=False, ports=None):
    told = []
    request = wiring.request(campaign_id="spring", reprocess=reprocess)
    outcomes = run_batch(partitions, request, ports or wiring.ports, told.append)
    assert told == outcomes
    return [type(each).__name__ for each in outcomes], outcomes


def events(url):
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT region, kind FROM forecast_backfill.partition_event ORDER BY event_id"
        ).fetchall()


def execute(url, statement):
    with psycopg.connect(url) as connection:
        connection.execute(statement)


def test_good_sources_are_written_with_their_fingerprint(wiring, database_url):
    names, outcomes = run(wiring)
    assert names == ["Written"] * 4
    found = outcomes[0].fingerprint
    assert (found.rows, found.units, found.revenue_cents, found.stores, found.products) == (
        2,
        8,
        1592,
        1,
        2,
    )
    assert outcomes[0].exclusions["fuel"].lines == 1
    assert len(stored_rows(database_url)) == 8


def test_a_corrupt_source_is_quarantined_and_the_others_go_on(wiring, settings, database_url):
    bad = [*good_lines(FIRST_R01)[:4], line(5, day=FIRST, store="s1", sales_value='"3,98"')]
    land(settings.landing_directory, FIRST_R01, bad)
    names, outcomes = run(wiring)
    assert names == ["Quarantined", "Written", "Written", "Written"]
    fault = outcomes[0].report.kept[0]
    assert (fault.code, fault.file, fault.line, fault.column, fault.value) == (
        "decimal_comma",
        "sales.csv.gz",
        6,
        "sales_value",
        "3,98",
    )
    assert outcomes[0].has_stale_output is False
    assert ledger_rows(database_url)[0][2:] == ("quarantined", "absent", None)


def test_a_source_that_turns_bad_leaves_the_last_good_output_stale(wiring, settings, database_url):
    run(wiring)
    before = stored_rows(database_url)
    land(settings.landing_directory, FIRST_R01, [line(1, day=FIRST, store="s2")])
    names, outcomes = run(wiring, [FIRST_R01])
    assert names == ["Quarantined"]
    assert outcomes[0].report.kept[0].code == "region_foreign"
    assert outcomes[0].has_stale_output is True
    assert stored_rows(database_url) == before
    assert ledger_rows(database_url)[0][2:] == ("quarantined", "stale", 2)

    land(settings.landing_directory, FIRST_R01, good_lines(FIRST_R01))
    assert run(wiring, [FIRST_R01])[0] == ["Written"]
    assert ledger_rows(database_url)[0][2:] == ("done", "current", 2)


def test_an_export_in_the_far_future_is_refused_until_then(wiring, settings, database_url):
    """Its version would win every merge for good."""
    run(wiring)
    far = {"exported_at": "2199-01-01T00:00:00+00:00"}
    lines = good_lines(FIRST_R01, quantity="3")
    land(settings.landing_directory, FIRST_R01, lines, manifest_overrides=far)
    names, outcomes = run(wiring, [FIRST_R01])
    assert names == ["Quarantined"]
    fault = outcomes[0].report.kept[0]
    assert (fault.code, fault.file, fault.column, fault.value) == (
        "manifest_schema",
        "manifest.json",
        "exported_at",
        "2199-01-01T00:00:00+00:00",
    )
    assert ledger_rows(database_url)[0][2:] == ("quarantined", "stale", 2)

    then = replace(wiring.ports, as_of=date(2198, 12, 31))
    assert run(wiring, [FIRST_R01], ports=then)[0] == ["Written"]
    # What is done stays done, also where the clock is set back.
    assert run(wiring, [FIRST_R01])[0] == ["Unchanged"]


def test_an_empty_day_replaces_older_rows_with_none(wiring, settings, database_url):
    run(wiring)
    land(settings.landing_directory, FIRST_R01, [])
    names, outcomes = run(wiring, [FIRST_R01])
    assert names == ["Written"]
    assert (outcomes[0].fingerprint.rows, outcomes[0].replaced_rows) == (0, 2)
    assert ledger_rows(database_url)[0][2:] == ("done", "current", 0)


def test_reprocess_writes_the_same_bytes_again(wiring, database_url):
    run(wiring)
    before = stored_rows(database_url)
    assert run(wiring, reprocess=True)[0] == ["Written"] * 4
    assert stored_rows(database_url) == before


def test_reprocess_of_the_same_bytes_leaves_every_stored_row_where_it_is(wiring, database_url):
    """Their place in the file (ctid) tells: a replay is proved, and leaves no dead row behind."""
    places = "SELECT date, region, store_id, product_id, ctid FROM daily_demand ORDER BY 1, 2, 3, 4"
    run(wiring)
    before = fetch(database_url, places)
    _, outcomes = run(wiring, reprocess=True)
    assert [each.replaced_rows for each in outcomes] == [0] * 4
    assert fetch(database_url, places) == before


@pytest.mark.parametrize(
    "damage",
    ["units = units + 1", "row_hash = row_hash + 1", "authority = 20", "on_mailer = true"],
)
def test_reprocess_heals_a_row_that_somebody_has_changed(damage, wiring, database_url):
    run(wiring)
    before = stored_rows(database_url)
    execute(database_url, f"UPDATE forecast_backfill.daily_demand SET {damage}")
    _, outcomes = run(wiring, reprocess=True)
    assert [each.replaced_rows for each in outcomes] == [2] * 4
    assert stored_rows(database_url) == before


def test_the_partition_at_the_seam_is_refused_and_the_others_go_on(settings, database_url):
    pinned = settings.model_copy(update={"seam": FIRST + timedelta(days=1)})
    with open_wiring(pinned, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        names, outcomes = run(wiring)
    assert names == ["Written", "Written", "Refused", "Refused"]
    assert outcomes[2].refusal.reason == (
        "nightly owns 2026-11-03 and every later date until the seam moves past it"
    )
    assert [row[:2] for row in ledger_rows(database_url)] == [(FIRST, "R01"), (FIRST, "R02")]
    assert events(database_url)[-1] == ("R02", "refused")


def test_nightly_may_not_write_before_the_seam(settings, database_url):
    with open_wiring(settings, workload=Workload.NIGHTLY, run_id="5f0c") as wiring:
        assert run(wiring)[0] == ["Refused"] * 4
    assert stored_rows(database_url) == []


def test_a_row_that_somebody_else_adds_in_the_middle_rolls_the_partition_back(wiring, database_url):
    """The foreign row comes by a trigger: the only way into a partition whose lease is held."""
    run(wiring)
    # Something has to be written for the trigger to fire.
    execute(database_url, "UPDATE forecast_backfill.daily_demand SET units = units + 1")
    before = stored_rows(database_url)
    execute(
        database_url,
        """
        CREATE FUNCTION forecast_backfill.add_one() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF NEW.product_id = '0042' THEN
            INSERT INTO forecast_backfill.daily_demand
            SELECT (jsonb_populate_record(NEW, '{"product_id": "added"}')).*;
          END IF;
          RETURN NEW;
        END $$;
        CREATE TRIGGER add_one BEFORE INSERT ON forecast_backfill.daily_demand
        FOR EACH ROW EXECUTE FUNCTION forecast_backfill.add_one()
        """,
    )
    names, outcomes = run(wiring, [FIRST_R01], reprocess=True)
    assert names == ["Mismatched"]
    assert outcomes[0].mismatch.kind == "extra_rows"
    assert outcomes[0].mismatch.reason == "read 2 rows, stored 3"
    assert stored_rows(database_url) == before
    assert ledger_rows(database_url)[0][2:] == ("mismatched", "stale", 2)


def test_a_kill_between_the_lease_and_the_commit_lets_nothing_through(settings, database_url):
    def raise_epoch(step, partition):
        if step is Step.LEASED:
            execute(
                database_url,
                "UPDATE forecast_backfill.workload_control SET epoch = epoch + 1"
                " WHERE workload = 'backfill'",
            )

    with (
        open_wiring(
            settings, workload=Workload.BACKFILL, run_id="5f0c", checkpoint=raise_epoch
        ) as wiring,
        pytest.raises(EpochRaised),
    ):
        run(wiring)
    assert stored_rows(database_url) == []
    assert ledger_rows(database_url) == [(FIRST, "R01", "failed", "absent", None)]


def test_a_run_of_an_older_epoch_does_not_even_start(wiring, database_url):
    old = replace(wiring.request(), epoch=-1)
    with pytest.raises(EpochRaised, match="this run began in epoch -1"):
        run_batch(PARTITIONS, old, wiring.ports, tell=lambda outcome: None)
    assert stored_rows(database_url) == []


def test_a_paused_workload_waits_at_the_boundary_and_goes_on_when_resumed(wiring, database_url):
    execute(
        database_url,
        "UPDATE forecast_backfill.workload_control SET intent = 'paused' WHERE workload='backfill'",
    )
    waits = []

    class ResumesOnThirdWait(type(wiring.ports.clock)):
        def sleep(self, seconds):
            assert stored_rows(database_url) == []
            waits.append(seconds)
            if len(waits) == 3:
                execute(
                    database_url,
                    "UPDATE forecast_backfill.workload_control SET intent = 'running'"
                    " WHERE workload = 'backfill'",
                )

    ports = replace(wiring.ports, clock=ResumesOnThirdWait())
    assert run(wiring, ports=ports)[0] == ["Written"] * 4
    assert waits == [0.5, 0.5, 0.5]


def test_a_bug_in_one_partition_does_not_cost_the_others(wiring, database_url):
    class Fragile:
        code_version = "1"

        def prepare(self, source, dimensions):
            if source.partition == FIRST_R01:
                raise ZeroDivisionError("a bug")
            return wiring.ports.engine.prepare(source, dimensions)

    names, outcomes = run(wiring, ports=replace(wiring.ports, engine=Fragile()))
    assert names == ["Failed", "Written", "Written", "Written"]
    assert outcomes[0].reason == "ZeroDivisionError: a bug"
    assert ledger_rows(database_url)[0][2:] == ("failed", "absent", None)


def test_a_missing_folder_is_a_quarantine_not_a_crash(wiring):
    unlanded = Partition(date=FIRST + timedelta(days=9), region="R02")
    names, outcomes = run(wiring, [unlanded])
    assert names == ["Quarantined"]
    assert {fault.code for fault in outcomes[0].report.kept} >= {"file_missing"}
