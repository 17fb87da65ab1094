"""Another table of the same columns is compared exactly, whatever its exact types are."""

import psycopg
import pytest
from psycopg import conninfo

from forecast_backfill.app.localise import localise
from forecast_backfill.core.errors import DatabaseUnavailable, UsageRefused
from forecast_backfill.core.partition import DateRange
from forecast_backfill.warehouse.compared_table import (
    TableAddress,
    open_compared,
    parse_table_address,
)
from forecast_backfill.warehouse.digests import PostgresStored
from forecast_backfill_tests.postgres.rows import PARTITION, open_session, table_of, write

DATES = DateRange(start=PARTITION.date, end=PARTITION.date.replace(day=2))
WIDE = [
    {"store_id": "s1", "product_id": f"p{number}", "units": number, "list_price_cents": None}
    for number in range(600)
]


@pytest.fixture
def session(database):
    with open_session(database) as opened:
        write(opened, table_of(WIDE))
        execute(
            database, "CREATE TABLE public.copy AS SELECT * FROM forecast_backfill.daily_demand"
        )
        yield opened


def execute(url, statement):
    with psycopg.connect(url) as connection:
        connection.execute(statement)


def target(url, table="copy"):
    before, mark, after = url.partition("?")
    return f"{before}.{table}{mark}{after}"


def compare(session, url, **options):
    stored = PostgresStored(session)
    with open_compared(url) as other, stored.view() as ours:
        return localise(expected=ours, found=other, **{"dates": DATES, **options})


def test_a_copy_is_equal(session, database):
    found = compare(session, target(database))
    assert (found.partitions, found.expected.rows, found.differences) == (1, 600, ())
    assert found.expected == found.found


def test_other_exact_types_of_the_same_values_are_equal(session, database):
    execute(
        database,
        "ALTER TABLE copy ALTER units TYPE numeric(12,2), ALTER baskets TYPE integer,"
        " ALTER region TYPE varchar(9), ALTER demand_group TYPE char(30),"
        " DROP row_hash, DROP authority",
    )
    assert compare(session, target(database, "public.copy")).differences == ()


def test_a_fraction_is_not_rounded_away(session, database):
    execute(
        database,
        "ALTER TABLE copy ALTER units TYPE numeric;"
        " UPDATE copy SET units = 7.4 WHERE product_id = 'p7'",
    )
    (found,) = compare(session, target(database)).differences
    assert [(row.key, row.kind) for row in found.rows] == [(("s1", "p7"), "values_differ")]


def test_one_changed_one_missing_and_one_added_row_are_found_in_their_buckets(session, database):
    execute(
        database,
        "UPDATE copy SET on_display = false WHERE product_id = 'p10';"
        " DELETE FROM copy WHERE product_id = 'p20';"
        " INSERT INTO copy SELECT * FROM copy WHERE product_id = 'p30'",
    )
    (found,) = compare(session, target(database)).differences
    assert (found.kind, found.differing) == ("values_differ", 3)
    assert {row.key[1]: (row.kind, row.expected, row.found) for row in found.rows} == {
        "p10": ("values_differ", 1, 1),
        "p20": ("missing_rows", 1, 0),
        "p30": ("exact_multiple", 1, 2),
    }
    # Three of 32 buckets of about 19 rows were read, from both sides.
    assert 6 <= found.read < 300


def test_missing_and_empty_text_are_told_apart(session, database):
    execute(database, "UPDATE copy SET demand_group = '' WHERE product_id = 'p1'")
    execute(database, "UPDATE copy SET demand_group = NULL WHERE product_id = 'p2'")
    (found,) = compare(session, target(database)).differences
    assert [row.key[1] for row in found.rows] == ["p1", "p2"]


def test_rows_that_lie_under_another_date_are_found(session, database):
    execute(database, "UPDATE copy SET date = date + 1")
    dates = DateRange(start=DATES.start, end=DATES.end.replace(day=3))
    found = compare(session, target(database), dates=dates).differences
    assert [(each.partition.date.day, each.kind, each.differing) for each in found] == [
        (1, "missing_rows", 600),
        (2, "extra_rows", 600),
    ]


def test_a_partition_of_a_foreign_region_counts_where_all_are_compared(session, database):
    execute(database, "UPDATE copy SET region = 'R99' WHERE product_id = 'p1'")
    everywhere = compare(session, target(database)).differences
    assert [(each.partition.region, each.kind) for each in everywhere] == [
        ("R07", "missing_rows"),
        ("R99", "extra_rows"),
    ]
    assert len(compare(session, target(database), regions=["R07"]).differences) == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("ALTER TABLE copy ALTER units TYPE float8", "the column units is float8"),
        ("ALTER TABLE copy ALTER date TYPE timestamptz", "the column date is timestamptz"),
        ("ALTER TABLE copy DROP units, DROP baskets", "it has no column units, baskets"),
        ("UPDATE copy SET region = NULL WHERE units < 3", "3 rows lack a part of the key"),
        ("DROP TABLE copy", "there is no such table"),
    ],
)
def test_a_table_that_cannot_be_compared_exactly_is_refused(session, database, change, why):
    execute(database, change)
    with pytest.raises(UsageRefused, match=why):
        compare(session, target(database))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("GRANT SELECT (date) ON copy TO visitor", "permission denied for table copy"),
        (
            "GRANT SELECT ON copy TO visitor; ALTER TABLE copy ENABLE ROW LEVEL SECURITY",
            "affected by row-level security",
        ),
    ],
)
def test_a_table_that_may_not_be_read_whole_is_refused(session, database, change, why):
    execute(database, f"CREATE ROLE visitor; {change}")
    limited = conninfo.conninfo_to_dict(database)
    url = f"postgresql://{limited['user']}@/{limited['dbname']}.copy"
    url += f"?host={limited['host']}&options=-c%20role%3Dvisitor"
    try:
        with pytest.raises(UsageRefused, match=why):
            compare(session, url)
    finally:
        execute(database, "DROP OWNED BY visitor; DROP ROLE visitor")


def test_a_table_in_a_database_of_another_encoding_is_refused(session, database):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        name = connection.info.dbname
    try:
        with pytest.raises(UsageRefused, match="stores text as LATIN1"):
            compare(session, target(database.replace(f"/{name}?", "/latin?")))
    finally:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("DROP DATABASE latin WITH (FORCE)")


def test_a_comparison_writes_nothing(session, database):
    with (
        PostgresStored(session).view() as view,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        view._connection.execute("DELETE FROM daily_demand")


def test_a_server_that_does_not_answer_is_told_without_its_password():
    with (
        pytest.raises(DatabaseUnavailable) as refused,
        open_compared("postgresql://me:secret@127.0.0.1:1/db.copy"),
    ):
        pass
    assert "secret" not in str(refused.value)
    assert "FORECAST_BACKFILL_DATABASE_URL" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "url", "schema", "name"),
    [
        ("postgresql://me@host:5432/db.copy", "postgresql://me@host:5432/db", None, "copy"),
        ("postgres://host/db.old.copy", "postgres://host/db", "old", "copy"),
        (
            "postgresql:///db.old.copy?host=/run/x.y/s",
            "postgresql:///db?host=/run/x.y/s",
            "old",
            "copy",
        ),
        ("postgresql:///db?host=/run/s.copy", "postgresql:///db?host=/run/s", None, "copy"),
    ],
)
def test_a_table_stands_behind_the_database(text, url, schema, name):
    assert parse_table_address(text) == TableAddress(url=url, schema=schema, name=name)


@pytest.mark.parametrize("text", ["postgresql://host.example/db", "copy", "mysql://h/db.copy"])
def test_an_address_without_a_table_is_refused(text):
    with pytest.raises(UsageRefused, match="a database's URL and a table are joined by a dot"):
        parse_table_address(text)
