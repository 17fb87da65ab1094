"""A price is what most baskets paid before discounts in a week, and changes on Mondays."""

from __future__ import annotations

from datetime import date as Date
from datetime import timedelta

import pandas as pd

from forecast_backfill.landing.journey_dates import Window
from forecast_backfill.landing.journey_prices import price_file, price_versions, regular_prices

MONDAY = pd.Timestamp("2017-06-05")
WEEK = pd.Timedelta(weeks=1)
NO_SHIFT = Window(first=Date(2017, 6, 1), last=Date(2017, 12, 1), shift=timedelta(0))


def _weeks(*prices: int | None, baskets: int = 2, product: int = 1001) -> pd.DataFrame:
    """A week each, with so many baskets at its price; None is a week without a sale."""
    rows = [
        (product, 1000 * number + basket, MONDAY + number * WEEK + pd.Timedelta(days=2), price)
        for number, price in enumerate(prices)
        if price is not None
        for basket in range(baskets)
    ]
    return pd.DataFrame(rows, columns=["product_id", "basket_id", "day", "price_cents"])


def _versions(prices: pd.DataFrame) -> list[tuple[int, int, int]]:
    """(product, cents, weeks after MONDAY)."""
    found = price_versions(prices)
    weeks = (found["valid_from"] - MONDAY) // WEEK
    return list(zip(found["product_id"], found["price_cents"], weeks, strict=True))


def test_equal_weeks_are_one_version_that_begins_on_a_monday():
    assert _versions(_weeks(199, 199, 219, 219)) == [(1001, 199, 0), (1001, 219, 2)]


def test_a_week_without_a_sale_ends_no_version():
    assert _versions(_weeks(199, None, 199)) == [(1001, 199, 0)]


def test_a_price_of_one_week_between_two_of_another_is_dropped():
    assert _versions(_weeks(199, 150, 199)) == [(1001, 199, 0)]


def test_a_price_that_stays_two_weeks_is_kept():
    assert _versions(_weeks(199, 150, 150, 199)) == [(1001, 199, 0), (1001, 150, 1), (1001, 199, 3)]


def test_a_step_through_three_prices_is_no_flap():
    assert _versions(_weeks(199, 209, 219)) == [(1001, 199, 0), (1001, 209, 1), (1001, 219, 2)]


def test_the_price_of_one_basket_says_nothing():
    assert _versions(_weeks(199, baskets=1)) == []


def test_one_basket_that_bought_twice_counts_once():
    twice = pd.concat([_weeks(199, baskets=1)] * 2)
    assert _versions(twice) == []


def test_the_most_frequent_price_of_a_week_counts():
    mixed = pd.concat([_weeks(199, baskets=3), _weeks(150).assign(basket_id=[7, 8])])
    assert _versions(mixed) == [(1001, 199, 0)]


def test_the_same_price_of_another_product_is_another_version():
    both = pd.concat([_weeks(199, product=1002), _weeks(199, product=1001)])
    assert _versions(both) == [(1001, 199, 0), (1002, 199, 0)]


def _lines(**changes: object) -> pd.DataFrame:
    fields = {"product_id": 1, "basket_id": 5, "day": MONDAY, "quantity": 2, "sales_cents": 300}
    fields |= {"retail_cents": 80, "coupon_cents": 20}
    return pd.DataFrame([fields | changes])


PRODUCTS = pd.DataFrame({"department": ["GROCERY", "PRODUCE"]}, index=[1, 2])


def test_a_regular_price_is_what_a_piece_cost_before_discounts():
    assert regular_prices(_lines(), PRODUCTS)["price_cents"].tolist() == [200]


def test_an_amount_that_the_quantity_does_not_divide_has_no_price_a_piece():
    assert regular_prices(_lines(quantity=3), PRODUCTS).empty


def test_what_is_sold_by_weight_has_no_price_a_piece():
    assert regular_prices(_lines(product_id=2), PRODUCTS).empty


def test_a_version_ends_where_the_next_of_its_product_begins():
    both = pd.concat([_weeks(199, 219), _weeks(99, product=1002)])
    assert price_file(price_versions(both), NO_SHIFT).decode().splitlines() == [
        "product_id,price_cents,valid_from,valid_to,recorded_at",
        "1001,199,2017-06-05,2017-06-12,2017-06-03T12:00:00+00:00",
        "1001,219,2017-06-12,,2017-06-10T12:00:00+00:00",
        "1002,99,2017-06-05,,2017-06-03T12:00:00+00:00",
    ]


def test_a_price_that_is_entered_only_after_the_window_is_not_landed():
    """The Friday before does not know Monday's price; the Saturday does."""
    versions = price_versions(_weeks(199, 219))
    friday = Window(first=Date(2017, 6, 1), last=Date(2017, 6, 9), shift=timedelta(0))
    saturday = Window(first=Date(2017, 6, 1), last=Date(2017, 6, 10), shift=timedelta(0))
    assert b"1001,199,2017-06-05,," in price_file(versions, friday)
    assert b"1001,219,2017-06-12,," in price_file(versions, saturday)
