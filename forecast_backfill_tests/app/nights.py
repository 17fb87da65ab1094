"""A small chain with a filled window, and the steps of its nights through the real adapters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psycopg

from forecast_backfill.app.judge_window import judge_window
from forecast_backfill.app.publish import forecast_region, publish_day
from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.app.train import train
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.wiring.night import NightWiring, open_night

LAST = date(2026, 11, 27)
REGIONS = ("R01", "R02", "R03", "R04")
GROUPS = ("BREAD", "MILK", "SOUP")
OPTIONS = "-c search_path=forecast_backfill"

_DEMAND = """
INSERT INTO daily_demand (date, region, store_id, product_id, demand_group, units, revenue_cents,
    discount_cents, baskets, authority, source_version, row_hash)
SELECT day, region, 's' || part, grp || part, grp,
       2 + (extract(isodow FROM day)::int * n) %% 7 + (day - date '2026-08-01') / 20 + part,
       100, 0, 1,
       10, 1, 1
FROM generate_series(%(first)s, %(last)s, interval '1 day') AS moment,
     LATERAL (SELECT moment::date AS day) AS dated,
     unnest(%(regions)s::text[]) AS region,
     unnest(%(groups)s::text[]) WITH ORDINALITY AS named (grp, n),
     generate_series(1, 2) AS part
"""
_LEDGER = """
INSERT INTO partition_ledger (date, region, status, output, attempt, workload, run_id, epoch,
    started_at, finished_at, output_source_digest, output_code_version, output_dimension_version,
    output_rows, output_checksum, output_units, output_revenue_cents, output_stores,
    output_products, output_data_version, output_authority, output_source_version,
    output_written_at, output_lines, output_exclusions)
SELECT moment::date, region, 'done', 'current', 1, 'backfill', 'r', 1, now(), now(), 's', 'c', 'd',
       6, 1, 1, 1, 1, 1, 'v1 ' || moment::date || region, 10, 1, now(), 6, '{}'
FROM generate_series(%(first)s, %(last)s, interval '1 day') AS moment,
     unnest(%(regions)s::text[]) AS region
"""


def settings_for(url: str, home: Path, **changes: Any) -> Settings:
    """A chain of four regions whose latest date, and seam, is 27 November 2026."""
    fields: dict[str, Any] = {
        "home": home,
        "database_url": url,
        "regions": REGIONS,
        "first_date": LAST - timedelta(days=200),
        "as_of": LAST,
    }
    return load_settings(**{**fields, **changes})


def fill(url: str, *, first: date = LAST - timedelta(days=89), last: date = LAST) -> None:
    """Every partition from `first` to `last` written and current, three groups in each."""
    values = {"first": first, "last": last, "regions": list(REGIONS), "groups": list(GROUPS)}
    with psycopg.connect(url, options=OPTIONS) as connection:
        connection.execute(_DEMAND, values)
        connection.execute(_LEDGER, values)


def execute(url: str, statement: str, *values: Any) -> None:
    """One statement, committed."""
    with psycopg.connect(url, options=OPTIONS) as connection:
        connection.execute(statement.encode(), values)


def fetch(url: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of one statement, on a connection of its own."""
    with psycopg.connect(url, options=OPTIONS) as connection:
        return connection.execute(statement.encode(), values).fetchall()


def quarantine(url: str, day: date, region: str, *, keeps_output: bool = False) -> None:
    """The partition's source was refused; an older output stays readable or never was there."""
    where = "WHERE date = %s AND region = %s"
    if keeps_output:
        execute(
            url,
            "UPDATE partition_ledger SET status = 'quarantined', output = 'stale',"
            f" reason = '1 fault: bad_number' {where}",
            day,
            region,
        )
        return
    execute(url, f"DELETE FROM daily_demand {where}", day, region)
    execute(url, f"DELETE FROM partition_ledger {where}", day, region)
    execute(
        url,
        "INSERT INTO partition_ledger (date, region, status, attempt, workload, run_id, epoch,"
        " started_at, finished_at, reason) VALUES (%s, %s, 'quarantined', 1, 'backfill', 'r', 1,"
        " now(), now(), '1 fault: bad_number')",
        day,
        region,
    )


def correct(url: str, day: date, region: str, *, units: int = 9) -> None:
    """A campaign has committed other rows of the partition."""
    where = "WHERE date = %s AND region = %s"
    execute(url, f"UPDATE daily_demand SET units = %s {where}", units, day, region)
    execute(
        url,
        f"UPDATE partition_ledger SET output_data_version = %s, output_units = 1 {where}",
        f"v2 {units} {day}{region}",
        day,
        region,
    )


@contextmanager
def night(
    settings: Settings, *, workload: Workload = Workload.NIGHTLY, run_id: str = "n1"
) -> Iterator[NightWiring]:
    """The night's wiring on the test's database."""
    with open_night(settings, workload=workload, run_id=run_id) as wiring:
        yield wiring


def seal_window(wiring: NightWiring, day: date = LAST) -> None:
    """Seal every date of the window that ends with `day`."""
    request = wiring.request()
    for each in wiring.contract.window(day + timedelta(days=1)):
        seal_day(each, request=request, ports=wiring.ports)


def fit_day(wiring: NightWiring, day: date = LAST) -> Any:
    """Judge the window and fit the model of `day`."""
    request = wiring.request()
    judge_window(day, request=request, ports=wiring.ports)
    return train(day, request=request, ports=wiring.ports)


def forecast_day(
    wiring: NightWiring, day: date = LAST, regions: tuple[str, ...] = REGIONS
) -> list[Any]:
    """The forecasts of some regions."""
    request = wiring.request()
    return [
        forecast_region(Partition(date=day, region=region), request=request, ports=wiring.ports)
        for region in regions
    ]


def publish(wiring: NightWiring, day: date = LAST) -> Any:
    """The switch of `day`."""
    return publish_day(day, request=wiring.request(), ports=wiring.ports)


def run_night(wiring: NightWiring, day: date = LAST) -> Any:
    """Seal the day, fit, forecast every region and publish."""
    seal_day(day, request=wiring.request(), ports=wiring.ports)
    fit_day(wiring, day)
    forecast_day(wiring, day)
    return publish(wiring, day)
