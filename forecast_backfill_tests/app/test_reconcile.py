"""Proving stored partitions anew: three witnesses, kinds, keys, repair; nothing is written."""

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from forecast_backfill.app.reconcile import Differs, Proved, Unproved, reconcile
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill.wiring.truth import proof_ports
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    good_lines,
    land_campaign,
    line,
    settings_for,
    stored_rows,
)
from forecast_backfill_tests.landing.hand_made import land

PARTITIONS = list(
    partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=2)), ["R01", "R02"])
)
FIRST_R01, FIRST_R02 = PARTITIONS[:2]
EVERYTHING = """
    SELECT (SELECT count(*) FROM partition_event), (SELECT array_agg(l.*::text) FROM
    (SELECT * FROM partition_ledger ORDER BY date, region) AS l)
"""


@pytest.fixture
def settings(database_url, tmp_path):
    land_campaign(tmp_path, PARTITIONS)
    return settings_for(database_url, tmp_path)


@pytest.fixture
def wiring(settings):
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as opened:
        run_batch(PARTITIONS, opened.request(), opened.ports, tell=lambda outcome: None)
        yield opened


def execute(url, statement):
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else None


def prove(wiring, partitions=PARTITIONS, **changes):
    told = []
    ports = replace(proof_ports(wiring), **changes)
    verdicts = reconcile(partitions, ports=ports, tell=told.append)
    assert told == verdicts
    return verdicts


def test_what_was_built_is_proved_and_nothing_is_written(wiring, database_url):
    before = (execute(database_url, EVERYTHING), stored_rows(database_url))
    verdicts = prove(wiring)
    assert [type(each) for each in verdicts] == [Proved] * 4
    assert verdicts[0].fingerprint.rows == 2
    assert (execute(database_url, EVERYTHING), stored_rows(database_url)) == before


@pytest.mark.parametrize(
    ("damage", "kind", "reason", "row"),
    [
        (
            "UPDATE daily_demand SET units = units + 1 WHERE region = 'R01' AND product_id = 'NA'",
            "values_differ",
            "2 rows on both sides, their values differ",
            (("s1", "NA"), "values_differ", 1, 1),
        ),
        (
            "DELETE FROM daily_demand WHERE region = 'R01' AND product_id = 'NA'",
            "missing_rows",
            "2 rows expected, 1 found",
            (("s1", "NA"), "missing_rows", 1, 0),
        ),
        (
            "INSERT INTO daily_demand SELECT date, region, store_id, 'new', demand_group, 1, 1, 0,"
            " 1, NULL, NULL, NULL, 10, 1, 1 FROM daily_demand"
            " WHERE region = 'R01' AND product_id = 'NA'",
            "extra_rows",
            "2 rows expected, 3 found",
            (("s1", "new"), "extra_rows", 0, 1),
        ),
    ],
)
def test_a_foreign_change_is_named_by_kind_and_key(wiring, database_url, damage, kind, reason, row):
    execute(database_url, damage)
    verdicts = prove(wiring, PARTITIONS[:2])
    assert [type(each) for each in verdicts] == [Differs, Proved]
    found = verdicts[0]
    assert (found.kind, found.reason) == (kind, reason)
    assert [(each.key, each.kind, each.expected, each.found) for each in found.rows] == [row]
    assert found.witness == (
        "source and ledger agree: the stored rows were changed since they were committed"
    )


def test_a_partition_inserted_again_where_the_key_was_dropped_is_an_exact_multiple(
    wiring, database_url
):
    execute(
        database_url,
        "ALTER TABLE daily_demand DROP CONSTRAINT daily_demand_is_unique_by_grain;"
        f" INSERT INTO daily_demand SELECT * FROM daily_demand WHERE date = '{FIRST}'"
        " AND region = 'R02'",
    )
    found = prove(wiring)[1]
    assert (found.kind, found.reason) == ("exact_multiple", "every row is there 2 times")
    assert [each.key for each in found.rows] == [("s2", "0042"), ("s2", "NA")]
    request = wiring.request(reprocess=True)
    run_batch([FIRST_R02], request, wiring.ports, tell=lambda outcome: None)
    assert [type(each) for each in prove(wiring)] == [Proved] * 4


def test_a_source_that_came_since_is_due_not_wrong(wiring, settings):
    land(settings.landing_directory, FIRST_R01, good_lines(FIRST_R01, quantity="3"))
    assert prove(wiring, [FIRST_R01]) == [
        Unproved(partition=FIRST_R01, reason="stored as recorded, but source changed since")
    ]


def test_a_merged_partition_is_the_seam_audit_s_to_prove(wiring, settings, database_url):
    execute(database_url, f"UPDATE partition_ledger SET is_merged = true WHERE date = '{FIRST}'")
    land(settings.landing_directory, FIRST_R01, good_lines(FIRST_R01, quantity="3"))
    mixed, same = prove(wiring, PARTITIONS[:2])
    assert mixed == Unproved(
        partition=FIRST_R01,
        reason="stored as recorded, merged from two writers; reconcile --seam audits it",
    )
    assert isinstance(same, Proved)


def test_a_source_that_is_refused_now_leaves_the_ledger_as_witness(wiring, settings, database_url):
    land(settings.landing_directory, FIRST_R01, [line(1, day=FIRST, store="s2")])
    (calm,) = prove(wiring, [FIRST_R01])
    assert isinstance(calm, Unproved)
    assert calm.reason.startswith("stored as recorded, but the source is refused now: sales.csv.gz")
    execute(database_url, "DELETE FROM daily_demand WHERE region = 'R01' AND product_id = 'NA'")
    (wrong,) = prove(wiring, [FIRST_R01])
    assert isinstance(wrong, Differs)
    assert (wrong.kind, wrong.differing) == ("missing_rows", 0)


def test_what_was_never_built_is_not_proved(wiring):
    unbuilt = Partition(date=FIRST + timedelta(days=9), region="R02")
    land(wiring.settings.landing_directory, unbuilt, good_lines(unbuilt))
    assert prove(wiring, [unbuilt]) == [Unproved(partition=unbuilt, reason="it was never built")]


def test_rows_without_a_ledger_row_are_a_foreign_writer_s(wiring, database_url):
    execute(database_url, f"DELETE FROM partition_ledger WHERE date = '{FIRST}' AND region = 'R01'")
    execute(database_url, "DELETE FROM daily_demand WHERE region = 'R01' AND product_id = 'NA'")
    (found,) = prove(wiring, [FIRST_R01])
    assert found.kind == "missing_rows"
    assert found.witness == "the ledger knows of no output: a foreign writer stored these rows"


def test_a_ledger_that_says_otherwise_stands_alone(wiring, database_url):
    execute(
        database_url,
        f"UPDATE partition_ledger SET output_rows = 3 WHERE date = '{FIRST}' AND region = 'R01'",
    )
    (found,) = prove(wiring, [FIRST_R01])
    assert (found.witness, found.reason) == (
        "the ledger stands alone",
        "source and warehouse agree; recorded are 3 rows, stored 2",
    )


def test_an_engine_that_gives_other_rows_for_the_same_source_is_named(wiring):
    class Unsteady:
        code_version = wiring.ports.engine.code_version

        def prepare(self, source, dimensions):
            another = wiring.ports.landing.read(PARTITIONS[2])
            return wiring.ports.engine.prepare(another, dimensions)

    (found,) = prove(wiring, [FIRST_R01], engine=Unsteady())
    assert found.kind == "values_differ"
    assert found.witness == "warehouse and ledger agree: the same source gives other rows now"
