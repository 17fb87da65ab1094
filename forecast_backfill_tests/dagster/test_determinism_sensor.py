"""Once a day the watch recomputes done partitions, and tells of one that came out otherwise."""

from datetime import datetime, timedelta

import psycopg
import pytest
from dagster import build_sensor_context

from forecast_backfill.dagster_defs.sensors import build_watch_sensor
from forecast_backfill_tests.app.nights import fetch
from forecast_backfill_tests.dagster.night_chain import (
    LAST,
    backfill,
    chain_settings,
    land_chain_dimensions,
    land_days,
)

DAY = LAST - timedelta(days=5)


@pytest.fixture
def settings(database_url, tmp_path):
    """A chain with one built day of two regions."""
    found = chain_settings(database_url, tmp_path)
    land_chain_dimensions(found.landing_directory)
    land_days(found.landing_directory, [DAY])
    backfill(found, [DAY])
    return found


def look(settings, cursor=None):
    with build_sensor_context(cursor=cursor) as context:
        told = build_watch_sensor(settings)(context).skip_message
        return told.partition("; determinism: ")[2], context.cursor


def test_recomputed_partitions_are_counted_and_the_day_is_remembered(settings):
    told, cursor = look(settings)
    assert told == (
        "2 partitions recomputed to the same bytes, 0 to others, "
        "0 have changed since they were done"
    )
    assert cursor == str(datetime.now(settings.zone).date())
    proofs = "SELECT region, is_same, proved_by FROM recompute_proof ORDER BY region"
    assert fetch(settings.database_url, proofs) == [
        ("R01", True, "nightly"),
        ("R02", True, "nightly"),
    ]


def test_the_same_day_again_nothing_is_recomputed(settings):
    _, cursor = look(settings)
    assert look(settings, cursor) == ("", cursor)


def test_a_partition_that_comes_out_otherwise_is_told_to_whoever_owns_the_night(settings):
    with psycopg.connect(settings.database_url) as connection:
        connection.execute(
            "UPDATE forecast_backfill.daily_demand SET units = units + 1 WHERE region = 'R02'"
        )
    told, _ = look(settings)
    assert told.startswith("1 partitions recomputed to the same bytes, 1 to others")
    ((title, body),) = fetch(
        settings.database_url,
        "SELECT title, body FROM notice WHERE kind = 'not_deterministic' AND audience = 'nightly'",
    )
    assert title == f"{DAY} R02 was recomputed to other bytes than are stored"
    assert body.endswith(
        f"Next: forecast-backfill reconcile --from {DAY} --to {DAY + timedelta(days=1)}"
        " --regions R02"
    )


def test_what_keeps_it_from_proving_does_not_keep_the_watch_from_its_work(settings):
    (settings.landing_directory / "dimensions" / "product.csv.gz").unlink()
    told, cursor = look(settings)
    assert told.startswith("not proved: ")
    assert cursor == str(datetime.now(settings.zone).date())
