"""Doubled rows of a table are found, attributed and collapsed; what is removed is kept."""

import psycopg
import pytest

from forecast_backfill.app.diagnose import Collapsed, NotCollapsed, Planned, repair
from forecast_backfill.core.errors import DatabaseInterrupted
from forecast_backfill_tests.postgres.doubled import (
    ROWS,
    SALES,
    collapse,
    execute,
    findings,
    insert,
    opened,
    stored,
)


def test_a_table_without_doubled_keys_has_no_finding(sales_url):
    assert findings(sales_url) == []
    assert collapse(sales_url) == []


def test_a_partition_that_was_inserted_again_is_an_exact_multiple_by_two_writers(sales_url):
    insert(sales_url, ROWS[:2], run_id="blind")
    (found,) = findings(sales_url)
    assert found.copies.place == ("2026-11-01", "R01")
    assert (found.signature.kind, found.signature.factor) == ("exact_multiple", 2)
    assert (found.copies.rows, found.copies.keys, found.copies.surplus) == (4, 2, 2)
    assert [(each.name, each.rows, each.is_known) for each in found.writers] == [
        ("first", 2, True),
        ("blind", 2, True),
    ]
    assert found.writers[0].first < found.writers[1].first
    assert found.writers[0].transaction != found.writers[1].transaction


def test_a_table_that_tells_nothing_of_its_writers_says_so(sales_url):
    execute(sales_url, "ALTER TABLE sales DROP run_id, DROP written_at")
    execute(sales_url, "INSERT INTO sales SELECT * FROM sales WHERE store = 's2'")
    (found,) = findings(sales_url)
    assert [(each.is_known, each.rows) for each in found.writers] == [(False, 1), (False, 1)]
    assert found.signature.kind == "extra_rows"
    assert found.signature.reason == (
        "1 of 2 keys are there more than once (up to 2), with the same values"
    )


def test_a_dry_run_changes_nothing(sales_url):
    insert(sales_url, ROWS[:2], run_id="blind")
    before = stored(sales_url, "date, store, ctid")
    assert collapse(sales_url, is_dry=True) == [Planned(place=("2026-11-01", "R01"), removes=2)]
    assert stored(sales_url, "date, store, ctid") == before
    assert execute(sales_url, "SELECT to_regclass('forecast_backfill_duplicate_removed')") == [
        (None,)
    ]


def test_a_repair_leaves_one_row_a_key_and_keeps_the_others(sales_url):
    insert(sales_url, ROWS[:2], run_id="blind")
    assert collapse(sales_url) == [Collapsed(place=("2026-11-01", "R01"), removed=2, left=2)]
    assert stored(sales_url) == [
        ("2026-11-01", "R01", "s1", 2),
        ("2026-11-01", "R01", "s2", 3),
        ("2026-11-02", "R02", "s1", 4),
    ]
    kept = execute(
        sales_url,
        "SELECT repair_id, table_name, row_content FROM forecast_backfill_duplicate_removed",
    )
    assert [(row[0], row[1], row[2]["store"], row[2]["run_id"]) for row in kept] == [
        ("fix-1", "public.sales", "s1", "blind"),
        ("fix-1", "public.sales", "s2", "blind"),
    ]
    assert findings(sales_url) == []


def test_in_our_database_removed_rows_go_to_our_table(database):
    execute(database, SALES)
    insert(database, ROWS + ROWS[:1], run_id="x")
    collapse(database)
    kept = execute(database, "SELECT row_content FROM forecast_backfill.duplicate_removed")
    assert [(row[0]["store"], row[0]["price"]) for row in kept] == [("s1", 1.50)]


def test_the_newest_version_of_a_key_stays(sales_url):
    newer = [("2026-11-01", "R01", "s1", 20, "1.50")]
    insert(sales_url, newer, run_id="correction", version=2)
    insert(
        sales_url, [("2026-11-01", "R01", "s2", 30, "1.50")], run_id="late and old", version=None
    )
    (found,) = findings(sales_url, version="version")
    assert (found.signature.kind, found.copies.ties) == ("values_differ", 0)
    assert collapse(sales_url, version="version")[0].removed == 2
    assert stored(sales_url)[:2] == [
        ("2026-11-01", "R01", "s1", 20),
        ("2026-11-01", "R01", "s2", 3),
    ]


def test_a_tie_with_other_values_is_listed_and_its_partition_left_alone(sales_url):
    insert(sales_url, [("2026-11-01", "R01", "s1", 99, "1.50")], run_id="other")
    insert(sales_url, ROWS[1:], run_id="blind")
    refused, done = collapse(sales_url, version="version")
    assert isinstance(refused, NotCollapsed)
    assert refused.reason == "1 key has newest rows of one version with different values"
    assert [(tie.key, tie.copies, tie.version) for tie in refused.ties] == [
        (("2026-11-01", "R01", "s1"), 2, "1")
    ]
    assert done == Collapsed(place=("2026-11-02", "R02"), removed=1, left=1)
    assert [row[3] for row in stored(sales_url)] in ([2, 99, 3, 3, 4], [99, 2, 3, 3, 4])
    dry = collapse(sales_url, version="version", is_dry=True)
    assert dry[0].ties == refused.ties


def test_a_trigger_that_meddles_makes_the_repair_roll_back(sales_url):
    execute(
        sales_url,
        """CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RETURN NULL; END $$;
           CREATE TRIGGER keep BEFORE DELETE ON sales FOR EACH ROW EXECUTE FUNCTION keep()""",
    )
    insert(sales_url, ROWS[:1], run_id="blind")
    (found,) = collapse(sales_url)
    assert found.reason == (
        "rolled back, it did not reconcile: 1 keys are still there more than once"
    )
    assert len(stored(sales_url)) == 4


def test_a_writer_in_the_middle_of_its_transaction_is_waited_for_and_then_given_up(sales_url):
    insert(sales_url, ROWS[:1], run_id="blind")
    with psycopg.connect(sales_url) as writer:
        writer.execute("INSERT INTO sales (store) VALUES ('s9')")
        with (
            pytest.raises(DatabaseInterrupted, match="the table sales is in use"),
            opened(sales_url, lock_timeout=0.1) as table,
        ):
            repair(table, repair_id="x", is_dry=False, tell=lambda each: None)
        assert len(findings(sales_url)) == 1


def test_kept_rows_can_be_put_back_exactly(sales_url):
    insert(sales_url, ROWS[:2], run_id="blind")
    whole = "SELECT s.*::text FROM sales AS s ORDER BY 1"
    before = execute(sales_url, whole)
    collapse(sales_url)
    execute(
        sales_url,
        "INSERT INTO sales SELECT (jsonb_populate_record(NULL::sales, row_content)).*"
        " FROM forecast_backfill_duplicate_removed",
    )
    assert len(before) == 5
    assert execute(sales_url, whole) == before
