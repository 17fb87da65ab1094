"""A landed dimension is loaded whole or not at all, and is read as it was on a date."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from datetime import date as Date
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest

from forecast_backfill.app.load_dimensions import DimensionLoad, LoadOutcome, load_dimensions
from forecast_backfill.core.dimension import DimensionFingerprint, DimensionName
from forecast_backfill.core.errors import DimensionRefused, LandingIncomplete
from forecast_backfill.core.partition import DateRange
from forecast_backfill.landing.delivery import pack
from forecast_backfill.landing.landed_dimensions import FileDimensions
from forecast_backfill.landing.layout import SHELF_PRICE_COLUMNS, Layout
from forecast_backfill.ports.dimension import DimensionPorts, PromotionShare
from forecast_backfill.warehouse.dimensions import PostgresDimensions, PostgresDimensionTransaction
from forecast_backfill_tests.landing.hand_made import (
    land_dimensions,
    land_prices,
    land_promotions,
)
from forecast_backfill_tests.postgres.rows import PARTITION, fetch, open_session, table_of, write

SUNDAY = Date(2026, 11, 1)
MONDAY = Date(2026, 11, 2)
ONE_DAY = DateRange(start=SUNDAY, end=MONDAY)
REGIONS = ("R01", "R07")
TWO_PRICES = (
    ("1001", "199", "2026-10-05", "2026-11-02", "2026-10-03T12:00:00+00:00"),
    ("1001", "219", "2026-11-02", "", "2026-10-31T12:00:00+00:00"),
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    land_dimensions(
        tmp_path,
        products=["1001", "1002", {"product_id": "9", "demand_group": "", "exclusion": "fuel"}],
        stores=[("330", "R01", "", "2026-11-02"), ("330", "R07", "2026-11-02", "")],
    )
    land_prices(tmp_path, TWO_PRICES)
    return tmp_path


@pytest.fixture
def store(database: str) -> Iterator[PostgresDimensions]:
    with open_session(database) as session:
        yield PostgresDimensions(session)


def _load(
    directory: Path, store: PostgresDimensions, dates: DateRange = ONE_DAY
) -> tuple[DimensionLoad, ...]:
    ports = DimensionPorts(landed=FileDimensions(directory), store=store)
    return load_dimensions(dates, regions=REGIONS, ports=ports)


def _outcomes(loads: tuple[DimensionLoad, ...]) -> list[tuple[str, LoadOutcome, int, int]]:
    return [
        (f"{load.name} {load.part}".strip(), load.outcome, load.rows, load.replaced)
        for load in loads
    ]


def test_every_landed_dimension_is_loaded(
    directory: Path, store: PostgresDimensions, database: str
):
    land_promotions(directory, SUNDAY, "R01", [("330", "1001", True, False)])
    assert _outcomes(_load(directory, store)) == [
        ("product", LoadOutcome.LOADED, 3, 0),
        ("store_region", LoadOutcome.LOADED, 2, 0),
        ("shelf_price", LoadOutcome.LOADED, 2, 0),
        ("promotion 2026-10-26", LoadOutcome.LOADED, 1, 0),
    ]
    assert fetch(database, "SELECT * FROM shelf_price ORDER BY valid_from") == [
        ("1001", 199, Date(2026, 10, 5), MONDAY, datetime(2026, 10, 3, 12, tzinfo=UTC)),
        ("1001", 219, MONDAY, None, datetime(2026, 10, 31, 12, tzinfo=UTC)),
    ]
    assert fetch(database, "SELECT * FROM product WHERE product_id = '9'") == [
        ("9", "GROCERY", "MILK", "", "fuel")
    ]


def test_what_is_loaded_already_is_left_alone(directory: Path, store: PostgresDimensions):
    land_promotions(directory, SUNDAY, "R01", [("330", "1001", True, False)])
    _load(directory, store)
    assert {load.outcome for load in _load(directory, store)} == {LoadOutcome.UNCHANGED}


def test_a_changed_file_replaces_its_own_dimension_only(directory: Path, store: PostgresDimensions):
    _load(directory, store)
    land_prices(directory, TWO_PRICES[:1])
    assert _outcomes(_load(directory, store)) == [
        ("product", LoadOutcome.UNCHANGED, 0, 0),
        ("store_region", LoadOutcome.UNCHANGED, 0, 0),
        ("shelf_price", LoadOutcome.LOADED, 1, 2),
        ("promotion 2026-10-26", LoadOutcome.ABSENT, 0, 0),
    ]


def test_a_changed_demand_group_counts_promotions_again(directory: Path, store: PostgresDimensions):
    land_promotions(directory, SUNDAY, "R01", [("330", "1001", True, False)])
    _load(directory, store)
    land_dimensions(directory, [{"product_id": "1001", "demand_group": "EGGS"}])
    assert _outcomes(_load(directory, store))[-1] == (
        "promotion 2026-10-26",
        LoadOutcome.LOADED,
        1,
        1,
    )
    shares = store.promotion_shares(ONE_DAY, REGIONS, known_by=SUNDAY)
    assert [share.demand_group for share in shares] == ["EGGS"]


def test_weeks_without_an_asked_date_are_not_loaded(directory: Path, store: PostgresDimensions):
    dates = DateRange(start=SUNDAY, end=Date(2026, 11, 10))
    assert [load.part for load in _load(directory, store, dates)[3:]] == [
        "2026-10-26",
        "2026-11-02",
        "2026-11-09",
    ]


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        ("2026-10-26", "", r"two versions of 1001 hold on \[2026-10-26, 2026-11-02\)"),
        ("2026-11-09", "", r"no version of 1001 holds on \[2026-11-02, 2026-11-09\)"),
        ("2026-11-02", "2026-11-02", r"the version \[2026-11-02, 2026-11-02\) of 1001 holds no"),
    ],
)
def test_contradicting_prices_are_refused_with_key_and_dates(
    directory: Path, store: PostgresDimensions, database: str, start: str, end: str, reason: str
):
    _load(directory, store)
    wrong = ("1001", "250", start, end, "2026-10-01T12:00:00+00:00")
    land_prices(directory, [TWO_PRICES[0], wrong])
    with pytest.raises(DimensionRefused, match=reason):
        _load(directory, store)
    assert fetch(database, "SELECT price_cents FROM shelf_price ORDER BY 1") == [(199,), (219,)]


def test_a_store_that_is_nowhere_for_a_week_is_refused(directory: Path, store: PostgresDimensions):
    moved = [("330", "R01", "", "2026-11-02"), ("330", "R07", "2026-11-09", "")]
    land_dimensions(directory, stores=moved)
    with pytest.raises(DimensionRefused, match=r"no version of 330 holds on \[2026-11-02, 2026-"):
        _load(directory, store)


def test_a_product_that_stands_twice_is_refused(directory: Path, store: PostgresDimensions):
    land_dimensions(directory, products=["1001", "1001"])
    with pytest.raises(DimensionRefused, match="two versions of 1001"):
        _load(directory, store)


def test_a_price_entered_on_its_first_day_is_refused(directory: Path, store: PostgresDimensions):
    """As a feature it would leak."""
    land_prices(directory, [("1001", "199", "2026-11-02", "", "2026-11-02T00:00:00+00:00")])
    with pytest.raises(DimensionRefused, match="the price of 1001 from 2026-11-02 was recorded at"):
        _load(directory, store)


def test_a_price_that_the_database_refuses_is_an_expected_error(
    directory: Path, store: PostgresDimensions
):
    land_prices(directory, [("1001", "-1", "2026-11-02", "", "2026-10-31T12:00:00+00:00")])
    with pytest.raises(DimensionRefused, match="refused by shelf_price_is_not_negative"):
        _load(directory, store)


def test_other_rows_stored_than_read_roll_the_load_back(
    directory: Path, store: PostgresDimensions, database: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        PostgresDimensionTransaction,
        "fingerprint",
        lambda self: DimensionFingerprint(rows=1, checksum=7),
    )
    with pytest.raises(
        DimensionRefused, match=r"read 3 rows with checksum [0-9]+, stored 1 with 7"
    ):
        _load(directory, store)
    assert fetch(
        database, "SELECT (SELECT count(*) FROM product), (SELECT count(*) FROM dimension_load)"
    ) == [(0, 0)]


@pytest.mark.parametrize(
    "change",
    [
        "shelf_price SET price_cents = 1",
        "shelf_price SET valid_to = '2027-01-01' WHERE valid_to IS NULL",
        "shelf_price SET recorded_at = recorded_at - interval '1 microsecond'",
        "store_region SET region = 'R02' WHERE valid_to IS NULL",
        "product SET category = '' WHERE product_id = '9'",
        "promotion SET on_mailer = 1",
    ],
)
def test_a_changed_value_changes_the_databases_fingerprint(
    directory: Path, store: PostgresDimensions, database: str, change: str
):
    land_promotions(directory, SUNDAY, "R01", [("330", "1001", True, False)])
    _load(directory, store)
    name = DimensionName(change.split()[0])
    part = "2026-10-26" if name is DimensionName.PROMOTION else ""
    with store.transaction(name, part) as transaction:
        before = transaction.fingerprint()
    with psycopg.connect(database, options="-c search_path=forecast_backfill") as connection:
        connection.execute(f"UPDATE {change}".encode())
    with store.transaction(name, part) as transaction:
        after = transaction.fingerprint()
    assert before.rows == after.rows
    assert before.checksum != after.checksum


def test_products_are_needed(tmp_path: Path, store: PostgresDimensions):
    with pytest.raises(LandingIncomplete, match="the dimension product is not landed"):
        _load(tmp_path, store)


def test_prices_and_promotions_may_be_absent(tmp_path: Path, store: PostgresDimensions):
    land_dimensions(tmp_path)
    assert [load.outcome for load in _load(tmp_path, store)[2:]] == [LoadOutcome.ABSENT] * 2


@pytest.mark.parametrize(
    "content",
    [
        b"\x1f\x8b cut",
        pack(b"product_id,price_cents\n1001,199\n"),
        pack(f"{','.join(SHELF_PRICE_COLUMNS)}\n1001,199,2026-13-01,,2026-01-01T00:00Z\n".encode()),
        pack(f"{','.join(SHELF_PRICE_COLUMNS)}\n1001,199,2026-11-02,,2026-10-31T12:00\n".encode()),
    ],
)
def test_an_unreadable_price_file_is_an_expected_error(
    directory: Path, store: PostgresDimensions, content: bytes
):
    Layout(directory=directory).shelf_price.write_bytes(content)
    with pytest.raises(LandingIncomplete, match=r"shelf_price\.csv\.gz cannot be read"):
        _load(directory, store)


def test_an_unreadable_promotion_file_is_an_expected_error(
    directory: Path, store: PostgresDimensions
):
    land_promotions(directory, SUNDAY, "R01", []).write_bytes(b"no parquet")
    with pytest.raises(LandingIncomplete, match=r"region=R01\.parquet cannot be read"):
        _load(directory, store)


def test_demand_is_joined_with_the_price_of_its_own_date(
    directory: Path, store: PostgresDimensions, database: str
):
    """PARTITION is the Sunday before the price rises."""
    _load(directory, store)
    with open_session(database) as session:
        write(
            session,
            table_of([{"store_id": "330", "product_id": product} for product in ("1001", "1002")]),
        )
    rows = store.demand_at_shelf_price(PARTITION)
    assert [(row["product_id"], row["shelf_price_cents"]) for row in rows] == [
        ("1001", 199),
        ("1002", None),
    ]


@pytest.mark.parametrize(
    ("day", "prices"),
    [
        ("2026-10-04", []),
        ("2026-10-05", [(199,)]),
        ("2026-11-01", [(199,)]),
        ("2026-11-02", [(219,)]),
        ("2027-06-01", [(219,)]),
    ],
)
def test_exactly_one_price_holds_on_each_day_from_the_first_on(
    directory: Path, store: PostgresDimensions, database: str, day: str, prices: list[tuple[int]]
):
    _load(directory, store)
    assert fetch(database, "SELECT price_cents FROM shelf_price_at('1001', %s)", day) == prices


def test_a_price_is_known_only_once_it_is_recorded(directory: Path, store: PostgresDimensions):
    """On Friday nobody knows of Monday's rise: the price of then is taken to go on."""
    _load(directory, store)
    assert store.shelf_prices(MONDAY, known_by=Date(2026, 10, 30)) == {"1001": 199}
    assert store.shelf_prices(MONDAY, known_by=Date(2026, 10, 31)) == {"1001": 219}
    assert store.shelf_prices(SUNDAY, known_by=MONDAY) == {"1001": 199}


def test_a_store_is_where_it_was_on_the_date(directory: Path, store: PostgresDimensions):
    _load(directory, store)
    assert store.store_regions(SUNDAY) == {"330": "R01"}
    assert store.store_regions(MONDAY) == {"330": "R07"}


def _insert(database: str, statement: str) -> None:
    with psycopg.connect(database, options="-c search_path=forecast_backfill") as connection:
        connection.execute(f"INSERT INTO {statement}".encode())


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        ("product VALUES ('9', 'D', 'C', 'G', '')", "product_is_unique"),
        (
            "store_region VALUES ('330', 'R02', '2026-11-01', '2026-11-03')",
            "store_region_does_not_overlap",
        ),
        (
            "store_region VALUES ('7', 'R02', '2026-11-03', '2026-11-03')",
            "store_region_holds_a_date",
        ),
        (
            "shelf_price VALUES ('1001', 1, '2030-01-07', NULL, '2026-01-01 00:00Z')",
            "shelf_price_does_not_overlap",
        ),
        (
            "shelf_price VALUES ('8', 1, '2030-01-07', '2030-01-07', '2026-01-01 00:00Z')",
            "shelf_price_holds_a_date",
        ),
        (
            "shelf_price VALUES ('8', -1, '2030-01-07', NULL, '2026-01-01 00:00Z')",
            "shelf_price_is_not_negative",
        ),
        (
            "shelf_price VALUES ('8', 1, '2030-01-07', NULL, '2030-01-07 00:00Z')",
            "shelf_price_is_recorded_before_it_holds",
        ),
        (
            "promotion VALUES ('2026-10-26', 'R01', 'MILK', 1, 2, 1, 1, 0, '2026-10-01 00:00Z')",
            "promotion_has_one_row_a_week_region_and_group",
        ),
        (
            "promotion VALUES ('2026-10-27', 'R01', 'MILK', 1, 2, 1, 1, 0, '2026-10-01 00:00Z')",
            "promotion_week_begins_on_monday",
        ),
        (
            "promotion VALUES ('2026-11-02', 'R01', 'MILK', 1, 2, 1, 0, 2, '2026-10-01 00:00Z')",
            "promotion_counts_its_facts",
        ),
        (
            "dimension_load VALUES ('product', '', 'd', 1, 1, now())",
            "dimension_load_has_one_row_a_part",
        ),
        (
            "dimension_load VALUES ('weather', '', 'd', 1, 1, now())",
            "dimension_load_dimension_is_known",
        ),
    ],
)
def test_a_row_that_cannot_be_meant_is_refused_by_its_constraint(
    directory: Path, store: PostgresDimensions, database: str, statement: str, constraint: str
):
    land_promotions(directory, SUNDAY, "R01", [("330", "1001", True, False)])
    _load(directory, store)
    with pytest.raises(psycopg.IntegrityError) as refused:
        _insert(database, statement)
    assert refused.value.diag.constraint_name == constraint


def _shares(
    store: PostgresDimensions, known_by: Date
) -> list[tuple[str, str, Date, int, int, int]]:
    weeks = DateRange(start=Date(2026, 10, 28), end=Date(2026, 11, 12))
    return [
        (each.region, each.demand_group, each.week, each.pairs, each.on_display, each.on_mailer)
        for each in store.promotion_shares(weeks, REGIONS, known_by=known_by)
    ]


@pytest.fixture
def promoted(directory: Path, store: PostgresDimensions) -> PostgresDimensions:
    """Three weeks of promotions in R01; the third was recorded on Wednesday 28 October."""
    recorded = {
        Date(2026, 10, 26): datetime(2026, 10, 11, 12, tzinfo=UTC),
        Date(2026, 11, 2): None,
        Date(2026, 11, 9): datetime(2026, 10, 28, 23, 59, tzinfo=UTC),
    }
    for week, at in recorded.items():
        facts = [
            ("330", "1001", True, False),
            ("331", "1001", True, True),
            ("330", "9", True, True),
        ]
        land_promotions(directory, week, "R01", facts, recorded_at=at)
    _load(directory, store, DateRange(start=Date(2026, 10, 26), end=Date(2026, 11, 16)))
    return store


def test_coming_promotions_are_known_from_the_day_on_which_they_were_recorded(
    promoted: PostgresDimensions,
):
    """A week that does not say when it was recorded is known when it begins."""
    milk = [("R01", "MILK", Date(2026, 10, day), 4, 2, 1) for day in (26,)]
    coming = [("R01", "MILK", Date(2026, 11, 9), 4, 2, 1)]
    begun = [("R01", "MILK", Date(2026, 11, 2), 4, 2, 1)]
    assert _shares(promoted, Date(2026, 10, 27)) == milk
    assert _shares(promoted, Date(2026, 10, 28)) == milk + coming
    assert _shares(promoted, Date(2026, 11, 1)) == milk + coming
    assert _shares(promoted, Date(2026, 11, 2)) == milk + begun + coming


def test_a_share_is_of_all_products_of_the_group_in_all_known_stores():
    share = PromotionShare(
        region="R01", demand_group="MILK", week=MONDAY, pairs=4, on_display=2, on_mailer=1
    )
    assert (share.display_share, share.mailer_share) == (0.5, 0.25)


def test_facts_of_products_that_are_left_out_are_counted_apart(
    promoted: PostgresDimensions, database: str
):
    statement = "SELECT demand_group, facts FROM promotion WHERE week = '2026-10-26' ORDER BY 1"
    assert fetch(database, statement) == [("", 1), ("MILK", 2)]


def test_a_landed_promotion_file_without_facts_says_nothing(
    directory: Path, store: PostgresDimensions
):
    path = land_promotions(directory, SUNDAY, "R01", [])
    assert pq.read_table(path).num_rows == 0
    assert _outcomes(_load(directory, store))[-1] == (
        "promotion 2026-10-26",
        LoadOutcome.LOADED,
        0,
        0,
    )
