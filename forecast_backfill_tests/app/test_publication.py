"""Publication: readers see one whole night at any moment, and what they see cannot be dropped."""

import threading
from datetime import timedelta

import psycopg
import pytest

from forecast_backfill.app.publish import forecast_region
from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.night_values import ForecastMismatched
from forecast_backfill.warehouse.kill import kill
from forecast_backfill_tests.app.nights import (
    LAST,
    OPTIONS,
    correct,
    execute,
    fetch,
    fill,
    fit_day,
    forecast_day,
    night,
    publish,
    run_night,
    seal_window,
)

SEEN = """
SELECT count(*), count(DISTINCT region), count(DISTINCT switched_at),
       string_agg(DISTINCT region || forecast_version, ',')
FROM published_forecast WHERE date = %s
"""


@pytest.fixture
def wiring(settings):
    with night(settings) as opened:
        seal_window(opened)
        yield opened


def refit(wiring, url, units):
    """A campaign has changed a day of every region: new model, new forecasts, new switch."""
    day = LAST - timedelta(days=1)
    for region in ("R01", "R02", "R03", "R04"):
        correct(url, day, region, units=units)
    seal_day(day, request=wiring.request(), ports=wiring.ports)
    fit_day(wiring)
    forecast_day(wiring)
    publish(wiring)


def watch(url, stop, seen):
    with psycopg.connect(url, options=OPTIONS, autocommit=True) as connection:
        while not stop.is_set():
            seen.append(connection.execute(SEEN, [LAST]).fetchone())


def test_a_reader_never_sees_half_of_a_night(wiring, database_url):
    """Refits replace every region one by one while a reader looks all the time."""
    run_night(wiring)
    stop, seen = threading.Event(), []
    reader = threading.Thread(target=watch, args=(database_url, stop, seen))
    reader.start()
    published = [fetch(database_url, SEEN, LAST)[0]]
    for units in (11, 12, 13, 14):
        refit(wiring, database_url, units)
        published.append(fetch(database_url, SEEN, LAST)[0])
    stop.set()
    reader.join()
    assert len(set(published)) == 5
    assert all(each[:3] == (168, 4, 1) for each in published)
    assert set(seen) <= set(published)
    assert len(seen) > 20


def test_forecasts_that_are_not_switched_yet_are_not_seen(wiring, database_url):
    fit_day(wiring)
    forecast_day(wiring)
    assert fetch(database_url, "SELECT count(*) FROM demand_forecast") == [(168,)]
    assert fetch(database_url, "SELECT count(*) FROM published_forecast") == [(0,)]


def test_a_switch_drops_what_it_has_replaced(wiring, database_url):
    run_night(wiring)
    refit(wiring, database_url, 30)
    assert fetch(database_url, "SELECT count(*) FROM demand_forecast") == [(168,)]


def test_what_is_published_cannot_be_dropped(wiring, database_url):
    run_night(wiring)
    with pytest.raises(psycopg.errors.ForeignKeyViolation) as refused:
        execute(database_url, "DELETE FROM forecast_partition WHERE region = 'R01'")
    assert refused.value.diag.constraint_name == "forecast_publication_region_is_stored"


def test_stored_forecasts_that_differ_are_rolled_back(wiring, database_url):
    """A trigger of the database changes a value on its way in."""
    fit_day(wiring)
    execute(
        database_url,
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN NEW.milliunits := NEW.milliunits + 1; RETURN NEW; END'",
    )
    execute(
        database_url,
        "CREATE TRIGGER spoil BEFORE INSERT ON demand_forecast FOR EACH ROW"
        " WHEN (NEW.demand_group = 'MILK') EXECUTE FUNCTION spoil()",
    )
    (outcome,) = forecast_day(wiring, regions=("R01",))
    assert isinstance(outcome, ForecastMismatched)
    assert outcome.stored.milliunits == outcome.forecast.milliunits + 14
    assert fetch(database_url, "SELECT count(*) FROM demand_forecast") == [(0,)]


def test_a_killed_workload_writes_no_forecast_and_publishes_nothing(wiring, database_url):
    fit_day(wiring)
    request = wiring.request()
    kill(wiring.session, Workload.NIGHTLY, reason="test", changed_by="test")
    with pytest.raises(EpochRaised):
        forecast_region(Partition(date=LAST, region="R01"), request=request, ports=wiring.ports)
    assert fetch(database_url, "SELECT count(*) FROM forecast_partition") == [(0,)]


def test_publishing_an_older_date_leaves_the_newer_one_as_it_was(wiring, database_url):
    """A hindcast is backfill, and what the stores read tonight does not move."""
    run_night(wiring)
    before = fetch(database_url, SEEN, LAST)
    day = LAST - timedelta(days=1)
    fill(database_url, first=LAST - timedelta(days=90), last=LAST - timedelta(days=90))
    with night(wiring.settings, workload=Workload.BACKFILL, run_id="hindcast") as past:
        seal_window(past, day)
        run_night(past, day)
    assert fetch(database_url, SEEN, LAST) == before
    assert fetch(database_url, "SELECT count(*) FROM published_forecast WHERE date = %s", day) == [
        (168,)
    ]


def test_the_databases_fingerprint_of_forecasts_is_that_of_the_core(wiring, database_url):
    """Also where a group's name is not ASCII: `complete` would refuse it otherwise."""
    execute(database_url, "UPDATE daily_demand SET demand_group = 'Süßes 🥛' WHERE store_id = 's1'")
    fit_day(wiring)
    written = forecast_day(wiring)
    assert [type(each).__name__ for each in written] == ["ForecastWritten"] * 4
