"""Windows, proofs and the seam audit over a Delta table say what they say over PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import psycopg
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from forecast_backfill.app.audit_seam import audit_seam
from forecast_backfill.app.localise import localise
from forecast_backfill.app.recompute import Same
from forecast_backfill.app.reconcile import Differs, Proved, reconcile
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, row_hash
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports import Step
from forecast_backfill.settings.lakehouse import WarehouseKind
from forecast_backfill.warehouse.compared_table import open_compared
from forecast_backfill.warehouse_delta.demand_file import Stamp, write_file
from forecast_backfill.warehouse_delta.read_back import ReadBack
from forecast_backfill.wiring.lakehouse import demand_of, seam_records_of, stored_of
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill.wiring.truth import proof_ports, prove_some
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    KillAt,
    good_lines,
    land_campaign,
    run_campaign,
    settings_for,
    start_campaign,
)
from forecast_backfill_tests.conformance.test_spark_checksum import rows_of
from forecast_backfill_tests.lakehouse import deltas
from forecast_backfill_tests.lakehouse.deltas import data_files
from forecast_backfill_tests.landing.hand_made import land
from forecast_backfill_tests.postgres.rows import fetch, fingerprint_of, table_of

DATES = DateRange(start=FIRST, end=FIRST + timedelta(days=2))
REGIONS = ["R01", "R02"]
PARTITIONS = list(partitions_of(DATES, REGIONS))


@pytest.fixture
def postgres(database_url, tmp_path):
    land_campaign(tmp_path, PARTITIONS)
    return settings_for(database_url, tmp_path)


@pytest.fixture
def delta(postgres):
    return postgres.model_copy(update={"warehouse": WarehouseKind.DELTA})


@pytest.fixture
def opened(delta):
    run_campaign(delta, PARTITIONS)
    with open_wiring(delta, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        yield wiring


def verdicts(wiring):
    found = reconcile(PARTITIONS, ports=proof_ports(wiring), tell=lambda verdict: None)
    return [type(each) for each in found]


def table_path(settings):
    return settings.lakehouse_directory / "daily_demand"


def test_duckdb_reads_the_fingerprint_of_odd_values_that_the_core_defines(tmp_path):
    rows = [each | {"date": FIRST, "region": "R01"} for each in rows_of(300)]
    names = [name for name in CHECKSUM_COLUMNS if name not in ("date", "region")]
    for row in rows:
        row["row_hash"] = row_hash([FIRST.isoformat(), "R01", *(row[name] for name in names)])
    table = pa.Table.from_pylist(rows).select([*names, "row_hash"])
    stamp = Stamp(
        partition=PARTITIONS[0],
        fingerprint=fingerprint_of(table),
        version=Version(authority=Authority.BACKFILL, source_version=1),
    )
    file = write_file(tmp_path, table, stamp, uuid4().hex)
    assert ReadBack().fingerprint([file]) == fingerprint_of(table)


def test_a_window_has_the_same_units_and_versions_as_in_postgresql(postgres, delta, database_url):
    land(postgres.landing_directory, PARTITIONS[1], [])
    run_campaign(postgres, PARTITIONS)
    with open_wiring(postgres, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        expected = demand_of(postgres, wiring.session, None).read(DATES)
    assert [each.units for each in expected] == [
        {"SOUP": 4, "DELI": 4},
        {},
        {"SOUP": 4, "DELI": 4},
        {"SOUP": 4, "DELI": 4},
    ]
    run_campaign(delta, PARTITIONS)
    with open_wiring(delta, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        demand = demand_of(delta, wiring.session, None)
        assert demand.read(DATES) == expected
        assert demand.read_current(DATES, "R02") == expected[1::2]


def test_a_campaign_moves_each_partition_once_and_another_moves_it_back(
    postgres, delta, database_url
):
    def names(settings):
        return [type(each).__name__ for each in run_campaign(settings, PARTITIONS)]

    assert names(postgres) == ["Written"] * 4
    before = fetch(database_url, "SELECT * FROM daily_demand ORDER BY 1, 2, 3, 4")
    assert names(delta) == ["Written"] * 4
    assert names(delta) == ["Unchanged"] * 4
    assert fetch(database_url, "SELECT count(*) FROM daily_demand") == [(0,)]
    assert deltas.table_of(delta).to_pyarrow_table().num_rows == 8
    assert names(postgres) == ["Written"] * 4
    assert fetch(database_url, "SELECT * FROM daily_demand ORDER BY 1, 2, 3, 4") == before


@pytest.mark.parametrize("way", ["there", "back"])
def test_a_window_that_is_half_moved_is_refused_with_the_campaign_that_moves_the_rest(
    way, postgres, delta
):
    origin, target = (postgres, delta) if way == "there" else (delta, postgres)
    run_campaign(origin, PARTITIONS)
    run_campaign(target, PARTITIONS[:3])
    for settings in (origin, target):
        with (
            open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as wiring,
            pytest.raises(WarehouseRefused, match="backfill --from 2026-11-0"),
        ):
            demand_of(settings, wiring.session, None).read(DATES)


def test_a_window_over_what_a_killed_writer_left_has_the_earlier_rows_until_it_is_adopted(
    delta, database_url, monkeypatch
):
    monkeypatch.setattr("forecast_backfill.warehouse_delta.demand.WAIT_SECONDS", 0.01)
    run_campaign(delta, PARTITIONS)
    land(delta.landing_directory, PARTITIONS[0], good_lines(PARTITIONS[0], quantity="5"))
    victim = start_campaign(
        delta, PARTITIONS[:1], KillAt(step=Step.RECORDED, partition=PARTITIONS[0])
    )
    victim.join(60)
    assert victim.exitcode == -9
    files = data_files(delta)
    with open_wiring(delta, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        demand = demand_of(delta, wiring.session, None)
        assert demand.read(DATES)[0].units == {"SOUP": 4, "DELI": 4}
        run_campaign(delta, PARTITIONS[:1])
        assert demand.read(DATES)[0].units == {"SOUP": 10, "DELI": 10}
    assert data_files(delta) == files


def test_a_window_over_what_a_killed_writer_left_is_refused_where_vacuum_took_the_earlier_rows(
    delta, monkeypatch
):
    monkeypatch.setattr("forecast_backfill.warehouse_delta.demand.WAIT_SECONDS", 0.01)
    run_campaign(delta, PARTITIONS)
    land(delta.landing_directory, PARTITIONS[0], good_lines(PARTITIONS[0], quantity="5"))
    victim = start_campaign(
        delta, PARTITIONS[:1], KillAt(step=Step.RECORDED, partition=PARTITIONS[0])
    )
    victim.join(60)
    deltas.table_of(delta).vacuum(
        retention_hours=0, dry_run=False, enforce_retention_duration=False
    )
    with (
        open_wiring(delta, workload=Workload.BACKFILL, run_id="5f0c") as wiring,
        pytest.raises(WarehouseRefused, match="than the ledger vouches for"),
    ):
        demand_of(delta, wiring.session, None).read(DATES)


def test_what_is_stored_is_proved_from_its_sources(opened):
    assert verdicts(opened) == [Proved] * 4
    proofs = prove_some(opened, DATES, REGIONS, count=4, seed="x", by="test")
    assert [type(each) for each in proofs] == [Same] * 4


def test_rows_that_somebody_else_appended_are_found_and_repaired(opened, delta):
    table = DeltaTable(str(table_path(delta)))
    rows = table.to_pyarrow_table()
    mine = rows.filter(pa.compute.equal(rows["region"], "R02")).slice(0, 1)
    write_deltalake(table, mine, mode="append")
    assert verdicts(opened).count(Differs) == 1
    run_campaign(delta, PARTITIONS)
    assert verdicts(opened).count(Differs) == 1
    run_batch(PARTITIONS, opened.request(reprocess=True), opened.ports, tell=lambda outcome: None)
    assert verdicts(opened) == [Proved] * 4


def test_a_file_that_is_gone_is_a_difference_and_is_written_again(opened, delta):
    data_files(delta)[0].unlink()
    assert verdicts(opened) == [Differs, Proved, Proved, Proved]
    run_batch(PARTITIONS, opened.request(reprocess=True), opened.ports, tell=lambda outcome: None)
    assert verdicts(opened) == [Proved] * 4


def test_the_seam_audit_finds_every_key_once(opened, delta):
    records = seam_records_of(delta, opened.session)
    audit = audit_seam(DATES, regions=REGIONS, seam=delta.seam, records=records)
    assert audit.findings == ()


def test_a_table_in_postgresql_is_compared_with_the_lakehouse_to_the_row(
    postgres, delta, database_url
):
    run_campaign(postgres, PARTITIONS)
    with psycopg.connect(database_url) as connection:
        connection.execute("SET search_path = forecast_backfill")
        connection.execute("CREATE TABLE copy AS TABLE daily_demand")
        connection.execute(
            "UPDATE copy SET units = 5"
            " WHERE date = '2026-11-03' AND region = 'R02' AND product_id = 'NA'"
        )
    run_campaign(delta, PARTITIONS)
    with (
        open_wiring(delta, workload=Workload.BACKFILL, run_id="5f0c") as wiring,
        open_compared(f"{database_url}.forecast_backfill.copy") as other,
        stored_of(delta, wiring.session).view() as ours,
    ):
        found = localise(expected=ours, found=other, dates=DATES, regions=None)
    (difference,) = found.differences
    assert difference.partition == PARTITIONS[3]
    assert [row.key for row in difference.rows] == [("s2", "NA")]


def test_rows_that_come_in_pieces_are_one_file(tmp_path):
    pieces = [
        table_of([{"store_id": store, "product_id": "1"}], PARTITIONS[0]) for store in ("s1", "s2")
    ]

    class InPieces:
        num_rows = 2

        def pieces(self):
            return iter(pieces)

    expected = fingerprint_of(pa.concat_tables(pieces))
    stamp = Stamp(
        partition=PARTITIONS[0],
        fingerprint=expected,
        version=Version(authority=Authority.BACKFILL, source_version=1),
    )
    file = write_file(tmp_path, InPieces(), stamp, uuid4().hex)
    assert ReadBack().fingerprint([file]) == expected
