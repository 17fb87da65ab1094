"""The seam audit over a real database: sound after every mixture, and it finds what is planted."""

import json
from contextlib import ExitStack
from datetime import timedelta

import psycopg
import pytest
from click.testing import CliRunner

from forecast_backfill.app.audit_seam import audit_seam
from forecast_backfill.cli.reconcile import command
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.seam_audit import FindingKind
from forecast_backfill.core.version import Winner
from forecast_backfill.warehouse.seam_records import PostgresSeamRecords
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.overlaps import Engine, Stage, World, Writer
from forecast_backfill_tests.postgres.rows import open_session

SEAM = FIRST + timedelta(days=1)
DATES = DateRange(start=FIRST, end=FIRST + timedelta(days=3))
BACKFILL = Writer(engine=Engine(), is_owner=True)
NIGHTLY = Writer(engine=Engine())
CORRECTION = Writer(engine=Engine(shift=1), winner=Winner.CORRECTION, number=1)


@pytest.fixture
def settings(database_url, tmp_path):
    return settings_for(database_url, tmp_path, seam=SEAM, regions=("R01",))


@pytest.fixture(autouse=True)
def stored(settings):
    """Backfill before the seam, nightly at it, a correction merged into the day after it."""
    with ExitStack() as opened:
        stage = Stage(settings, opened)
        for day, writers in enumerate(([BACKFILL], [NIGHTLY], [NIGHTLY, CORRECTION])):
            world = World(partition=Partition(date=FIRST + timedelta(days=day), region="R01"))
            world.deliver({("s1", "1"): 1, ("s1", "2"): 2})
            for writer in writers:
                stage.run(world, writer)


def audited(url):
    with open_session(url) as session:
        return audit_seam(DATES, regions=["R01"], seam=SEAM, records=PostgresSeamRecords(session))


def found(url):
    return [
        (each.date, each.kind, each.is_explained)
        for each in audited(url).findings
        if not each.is_explained
    ]


def change(url, *statements):
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_mixture_that_is_recorded_is_sound_and_its_overlap_is_named(database_url):
    audit = audited(database_url)
    assert (audit.partitions, audit.keys, audit.is_sound) == (3, 6, True)
    assert [str(each) for each in audit.findings] == [
        f"{FIRST + timedelta(days=2)} overlap R01: merged as recorded; "
        "stated by correction 1, live 1"
    ]


def test_a_key_that_is_stored_twice_is_found_without_a_key_of_the_table(database_url):
    change(
        database_url,
        "ALTER TABLE daily_demand DROP CONSTRAINT daily_demand_is_unique_by_grain",
        f"INSERT INTO daily_demand SELECT * FROM daily_demand WHERE date = '{FIRST}'",
    )
    assert found(database_url) == [
        (FIRST, FindingKind.DUPLICATE_KEYS, False),
        (FIRST, FindingKind.ROW_COUNT, False),
    ]
    assert audited(database_url).keys == 6


def test_a_loser_that_was_brought_back_is_found(database_url):
    day = FIRST + timedelta(days=2)
    change(
        database_url,
        f"UPDATE daily_demand SET authority = 20 WHERE date = '{day}' AND product_id = '1'",
    )
    assert found(database_url) == [(day, FindingKind.LOSER_STAYED, False)]


def test_a_row_of_a_version_that_nobody_recorded_is_found(database_url):
    change(
        database_url,
        f"UPDATE daily_demand SET source_version = 9 WHERE date = '{SEAM}' AND product_id = '1'",
    )
    assert found(database_url) == [(SEAM, FindingKind.UNRECORDED_ROWS, False)]


def test_a_gap_beside_the_seam_is_named_by_its_date(database_url, settings, monkeypatch):
    change(
        database_url,
        f"DELETE FROM daily_demand WHERE date = '{SEAM}'",
        f"DELETE FROM partition_ledger WHERE date = '{SEAM}'",
    )
    for name in ("database_url", "seam", "first_date", "as_of", "home"):
        variable = f"FORECAST_BACKFILL_{name.upper()}"
        monkeypatch.setenv(variable, str(getattr(settings, name)))
    monkeypatch.setenv("FORECAST_BACKFILL_REGIONS", "R01")
    asked = ["--seam", "--from", str(FIRST), "--to", str(FIRST + timedelta(days=3))]
    result = CliRunner().invoke(command, [*asked, "--json"], standalone_mode=False)
    assert result.return_value == 1
    (gap, overlap) = json.loads(result.stdout)["findings"]
    assert gap == {
        "date": str(SEAM),
        "kind": "gap",
        "owner": "nightly",
        "regions": ["R01"],
        "reason": "nightly owns it; never written",
        "explained": False,
    }
    assert overlap["explained"] is True
