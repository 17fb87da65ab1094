"""Any table can be searched for doubled rows: odd names, missing values, no keys, leaves."""

import pytest
from psycopg import conninfo

from forecast_backfill.app.diagnose import Collapsed, NotCollapsed
from forecast_backfill.core.errors import TableRefused
from forecast_backfill_tests.postgres.doubled import (
    ROWS,
    collapse,
    execute,
    findings,
    insert,
    stored,
)


def test_missing_values_in_key_and_partition_are_values_too(sales_url):
    rows = [(None, "R01", None, 5, "1.00")]
    insert(sales_url, rows, run_id="a")
    insert(sales_url, rows, run_id="b")
    (found,) = findings(sales_url)
    assert found.copies.place == (None, "R01")
    assert collapse(sales_url) == [Collapsed(place=(None, "R01"), removed=1, left=1)]
    assert len(stored(sales_url)) == 4


def test_identity_generated_and_serial_columns_are_not_compared(sales_url):
    execute(
        sales_url,
        "ALTER TABLE sales ADD id bigint GENERATED ALWAYS AS IDENTITY, ADD n serial,"
        " ADD twice integer GENERATED ALWAYS AS (units * 2) STORED",
    )
    insert(sales_url, ROWS[:2], run_id="blind")
    (found,) = findings(sales_url)
    assert (found.signature.kind, found.signature.factor) == ("exact_multiple", 2)
    assert collapse(sales_url)[0].removed == 2
    assert [row[0] for row in execute(sales_url, "SELECT id FROM sales ORDER BY 1")] == [1, 2, 3]


def test_a_column_that_may_differ_is_named(sales_url):
    execute(sales_url, "ALTER TABLE sales ADD surrogate uuid DEFAULT gen_random_uuid()")
    insert(sales_url, ROWS[:2], run_id="blind")
    assert findings(sales_url)[0].copies.ties == 2
    assert findings(sales_url, ignored=("surrogate",))[0].signature.kind == "exact_multiple"


def test_odd_names_in_another_schema_are_quoted(sales_url):
    execute(sales_url, 'CREATE SCHEMA "Old 1"')
    execute(
        sales_url,
        'CREATE TABLE "Old 1"."Sales 100% {x}" ("a%b" text, "select" integer, "va""l" numeric)',
    )
    execute(
        sales_url, """INSERT INTO "Old 1"."Sales 100% {x}" VALUES ('p', 1, 2.5), ('p', 1, 2.5)"""
    )
    asked = {
        "table": "Old 1.Sales 100% {x}",
        "key": ("a%b", "select"),
        "partition_by": ("a%b",),
    }
    assert findings(sales_url, **asked)[0].signature.factor == 2
    assert collapse(sales_url, **asked) == [Collapsed(place=("p",), removed=1, left=1)]
    kept = '"Old 1".forecast_backfill_duplicate_removed'
    assert execute(sales_url, f"SELECT row_content FROM {kept}") == [
        ({"a%b": "p", "select": 1, 'va"l': 2.5},)
    ]


def test_a_column_with_a_name_of_the_query_is_a_column(sales_url):
    execute(sales_url, "CREATE TABLE odd (k integer, gone integer, kept integer, copy integer)")
    execute(sales_url, "INSERT INTO odd VALUES (1, 7, 8, 9), (1, 7, 8, 9)")
    assert collapse(sales_url, table="odd", key=("k",)) == [Collapsed(place=(), removed=1, left=1)]
    kept = execute(sales_url, "SELECT row_content FROM forecast_backfill_duplicate_removed")
    assert kept == [({"k": 1, "gone": 7, "kept": 8, "copy": 9},)]


def test_rows_that_a_policy_hides_are_not_taken_for_none(sales_url):
    insert(sales_url, ROWS[:1], run_id="blind")
    execute(
        sales_url,
        "CREATE ROLE onlooker; GRANT USAGE ON SCHEMA public TO onlooker;"
        " GRANT SELECT ON sales TO onlooker;"
        " ALTER TABLE sales ENABLE ROW LEVEL SECURITY;"
        " CREATE POLICY nothing ON sales USING (false)",
    )
    limited = conninfo.make_conninfo(sales_url, options="-c role=onlooker")
    try:
        with pytest.raises(TableRefused, match="affected by row-level security"):
            findings(limited)
    finally:
        execute(sales_url, "DROP OWNED BY onlooker; DROP ROLE onlooker")


def test_texts_of_several_lengths_are_no_versions(sales_url):
    execute(sales_url, "ALTER TABLE sales ADD day varchar(10)")
    execute(sales_url, "UPDATE sales SET day = '2026-11-01'")
    assert findings(sales_url, version="day") == []
    execute(sales_url, "UPDATE sales SET day = '9' WHERE store = 's2'")
    with pytest.raises(TableRefused, match="texts of several lengths"):
        findings(sales_url, version="day")


def test_a_table_without_partitions_is_one(sales_url):
    insert(sales_url, ROWS[:1], run_id="blind")
    (found,) = findings(sales_url, partition_by=())
    assert found.copies.place == ()
    assert collapse(sales_url, partition_by=()) == [Collapsed(place=(), removed=1, left=3)]


def test_a_partitioned_table_is_repaired_across_its_leaves(sales_url):
    execute(
        sales_url,
        "CREATE TABLE leafy (date date, store text, units integer) PARTITION BY LIST (store);"
        " CREATE TABLE leafy_1 PARTITION OF leafy FOR VALUES IN ('s1');"
        " CREATE TABLE leafy_2 PARTITION OF leafy FOR VALUES IN ('s2');"
        " INSERT INTO leafy SELECT DATE '2026-11-01', s, 1"
        " FROM unnest(ARRAY['s1', 's2']) AS s, generate_series(1, 3)",
    )
    asked = {"table": "leafy", "key": ("date", "store")}
    assert findings(sales_url, **asked)[0].signature.factor == 3
    assert collapse(sales_url, **asked) == [Collapsed(place=("2026-11-01",), removed=4, left=2)]


def test_a_table_whose_rows_others_hang_on_is_refused(sales_url):
    execute(
        sales_url,
        "ALTER TABLE sales ADD id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY;"
        " CREATE TABLE note (sale bigint REFERENCES sales (id) ON DELETE CASCADE)",
    )
    with pytest.raises(TableRefused, match="would change note"):
        collapse(sales_url)


def test_rows_that_may_not_go_do_not_keep_the_other_partitions(sales_url):
    execute(sales_url, "ALTER TABLE sales ADD id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
    insert(sales_url, [ROWS[0], ROWS[2]], run_id="blind")
    execute(
        sales_url,
        "CREATE TABLE note (sale bigint REFERENCES sales (id)); INSERT INTO note"
        " SELECT max(id) FROM sales WHERE region = 'R01' AND store = 's1'",
    )
    stuck, done = collapse(sales_url)
    assert isinstance(stuck, NotCollapsed)
    assert 'rolled back: update or delete on table "sales" violates' in stuck.reason
    assert done == Collapsed(place=("2026-11-02", "R02"), removed=1, left=1)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"table": "nothing"}, "there is no such table"),
        ({"table": "a.b.c.d"}, "there is no such table"),
        ({"table": "seen"}, "it is a view"),
        ({"key": ("sku",)}, "it has no column sku; it has date, region"),
        ({"version": "v"}, "it has no column v"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(sales_url, asked, why):
    execute(sales_url, "CREATE VIEW seen AS SELECT * FROM sales")
    with pytest.raises(TableRefused, match=why):
        findings(sales_url, **asked)


def test_a_key_that_has_no_order_is_refused_with_the_database_s_reason(sales_url):
    execute(sales_url, "ALTER TABLE sales ADD place point")
    with pytest.raises(TableRefused, match="could not identify an equality operator"):
        findings(sales_url, key=("place",))
