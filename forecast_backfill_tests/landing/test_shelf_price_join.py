"""On the real data the as-of join finds the price a line was rung up at; the current one does not.

The regular price of a line is worked out here by PostgreSQL from the line's own amounts, and the
joins are over the dimension as it was loaded from the landed file.
"""

from __future__ import annotations

from collections import Counter
from datetime import date as Date
from pathlib import Path

import psycopg

from forecast_backfill.app.load_dimensions import load_dimensions
from forecast_backfill.core.dimension import DimensionName
from forecast_backfill.core.partition import DateRange
from forecast_backfill.landing.journey_data import Journey
from forecast_backfill.landing.journey_dates import choose_window
from forecast_backfill.landing.landed_dimensions import FileDimensions
from forecast_backfill.ports.dimension import DimensionPorts
from forecast_backfill.warehouse.dimensions import PostgresDimensions
from forecast_backfill_tests.landing.conftest import REGIONS
from forecast_backfill_tests.postgres.rows import open_session

LAST_DAY = Date(2026, 11, 28)
WEEK = Date(2026, 11, 23)
CREATE_LINE = """
    CREATE TEMP TABLE line (
        product_id text COLLATE "C", day date, quantity bigint, before_discounts bigint
    )
"""
JOINED = """
    SELECT count(*),
           count(*) FILTER (WHERE at_its_time.price_cents * quantity = before_discounts),
           count(*) FILTER (WHERE current.price_cents * quantity = before_discounts)
    FROM line
    CROSS JOIN LATERAL shelf_price_at(line.product_id, line.day) AS at_its_time
    LEFT JOIN shelf_price AS current
        ON current.product_id = line.product_id AND current.valid_to IS NULL
    WHERE before_discounts % quantity = 0
"""


def test_the_price_of_the_lines_own_time_is_right_far_more_often_than_the_current_one(
    landed: Path, database: str, journey: Journey
):
    """93 % against 77 % of the lines that have a price a piece and a version at their time."""
    with open_session(database) as session:
        ports = DimensionPorts(landed=FileDimensions(landed), store=PostgresDimensions(session))
        dates = DateRange(start=LAST_DAY, end=Date(2026, 11, 29))
        loads = load_dimensions(dates, regions=REGIONS, ports=ports)
    assert [load.rows for load in loads[:3]] == [92_331, 457, 28_843]
    with psycopg.connect(database, options="-c search_path=forecast_backfill") as connection:
        connection.execute(CREATE_LINE)
        with connection.cursor().copy("COPY line FROM STDIN (FORMAT csv)") as copy:
            copy.write(_lines(journey))
        connection.execute("ANALYZE line")
        joined, at_its_time, current = connection.execute(JOINED).fetchone()
    assert (joined, at_its_time, current) == (1_056_413, 985_937, 813_377)
    assert (round(at_its_time / joined, 2), round(current / joined, 2)) == (0.93, 0.77)


def _lines(journey: Journey) -> str:
    """Every line of demand with its landed day, as CSV."""
    window = choose_window(
        first_day=journey.first_day, last_day=journey.last_day, as_of=LAST_DAY, days=1
    )
    demand = journey.demand
    columns = demand[["product_id", "day", "quantity"]].assign(
        day=demand["day"] + window.shift,
        paid=demand["sales_cents"] + demand["retail_cents"] + demand["coupon_cents"],
    )
    return columns.to_csv(index=False, header=False, date_format="%Y-%m-%d")


def test_prices_change_on_mondays_and_are_entered_on_the_saturday_before(landed: Path):
    rows = FileDimensions(landed).find(DimensionName.SHELF_PRICE).read()
    found = Counter((row[2].weekday(), (row[2] - row[4].date()).days) for row in rows)
    assert found == {(0, 2): 28_843}


def test_no_price_is_landed_that_was_entered_after_the_last_day(landed: Path):
    rows = FileDimensions(landed).find(DimensionName.SHELF_PRICE).read()
    assert max(row[4].date() for row in rows) <= LAST_DAY
    assert max(row[2] for row in rows) == WEEK


def test_the_promotion_counts_conserve_the_landed_facts(landed: Path):
    """405,875 facts in all regions and groups; each on display, in the mailer, or both."""
    rows = FileDimensions(landed).find_promotions(WEEK, REGIONS).read()
    assert sum(row[5] for row in rows) == 405_875
    assert all(max(row[6], row[7]) <= row[5] <= row[6] + row[7] for row in rows)
    assert {row[8].isoformat() for row in rows} == {"2026-11-08T12:00:00+00:00"}
