"""Done partitions are recomputed from their sources and compared byte by byte."""

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from forecast_backfill.app.recompute import Different, NotRecomputed, Same, recompute
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.proofs import canonical_rows
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill.wiring.truth import proof_ports, prove_some
from forecast_backfill_tests.app.campaigns import FIRST, good_lines, land_campaign, settings_for
from forecast_backfill_tests.landing.hand_made import land

DATES = DateRange(start=FIRST, end=FIRST + timedelta(days=3))
PARTITIONS = list(partitions_of(DATES, ["R01", "R02"]))
FIRST_R01 = PARTITIONS[0]


@pytest.fixture
def wiring(database_url, tmp_path):
    land_campaign(tmp_path, PARTITIONS)
    settings = settings_for(database_url, tmp_path)
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as opened:
        run_batch(PARTITIONS, opened.request(), opened.ports, tell=lambda outcome: None)
        yield opened


def execute(url, statement):
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else None


def prove(wiring, count=3, seed="a"):
    return prove_some(wiring, DATES, ["R01", "R02"], count=count, seed=seed, by="test")


def test_as_many_as_are_wanted_come_out_the_same_and_are_recorded(wiring, database_url):
    proofs = prove(wiring)
    assert [type(each) for each in proofs] == [Same] * 3
    rows = execute(database_url, "SELECT is_same, rows, proved_by FROM recompute_proof")
    assert rows == [(True, 2, "test")] * 3


def test_the_seed_decides_which(wiring):
    def chosen(seed):
        return [each.partition for each in prove(wiring, seed=seed)]

    assert chosen("a") == chosen("a")
    assert len({tuple(chosen(seed)) for seed in "abcd"}) > 1


@pytest.mark.parametrize("column", ["units", "row_hash", "source_version"])
def test_any_stored_byte_that_differs_is_found(wiring, database_url, column):
    execute(
        database_url,
        f"UPDATE daily_demand SET {column} = {column} + 1 WHERE date = '{FIRST}'"
        " AND region = 'R01' AND product_id = 'NA'",
    )
    found = [each for each in prove(wiring, count=6) if isinstance(each, Different)]
    assert [each.partition for each in found] == [FIRST_R01]
    assert (len(found[0].only_recomputed), len(found[0].only_stored)) == (1, 1)
    assert found[0].only_stored[0].startswith("10:2026-11-023:R012:s12:NA4:DELI")
    recorded = execute(database_url, "SELECT region, reason FROM recompute_proof WHERE NOT is_same")
    assert recorded == [("R01", found[0].reason)]


def test_a_changed_source_proves_nothing_and_another_is_taken(wiring):
    first = prove(wiring, count=1)[0].partition
    land(wiring.settings.landing_directory, first, good_lines(first, quantity="3"))
    passed_over, proved = prove(wiring, count=1)
    assert passed_over == NotRecomputed(
        partition=first, reason="its source, code or dimensions have changed since"
    )
    assert isinstance(proved, Same)


def test_a_merged_partition_proves_nothing(wiring, database_url):
    execute(database_url, f"UPDATE partition_ledger SET is_merged = true WHERE date = '{FIRST}'")
    assert recompute(
        FIRST_R01, ports=proof_ports(wiring), canonical_rows=canonical_rows
    ) == NotRecomputed(partition=FIRST_R01, reason="it was merged from two writers")


def test_an_engine_that_is_not_deterministic_is_found(wiring):
    class Unsteady:
        code_version = wiring.ports.engine.code_version

        def prepare(self, source, dimensions):
            prepared = wiring.ports.engine.prepare(source, dimensions)
            return replace(prepared, rows=prepared.rows.slice(1))

    ports = replace(proof_ports(wiring), engine=Unsteady())
    found = recompute(FIRST_R01, ports=ports, canonical_rows=canonical_rows)
    assert isinstance(found, Different)
    assert (found.recomputed, found.stored, found.only_recomputed) == (1, 2, ())
