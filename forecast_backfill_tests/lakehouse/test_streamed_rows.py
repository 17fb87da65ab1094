"""Rows that come piece by piece become one file; of one that was not finished nothing is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.outcome import Failed, Written
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports import Prepared
from forecast_backfill.warehouse.kill import kill
from forecast_backfill.warehouse_delta import demand_file
from forecast_backfill.warehouse_delta.demand_file import Stamp, write_file
from forecast_backfill.wiring.partition import open_session, open_wiring
from forecast_backfill_tests.app.campaigns import (
    land_campaign,
    ledger_rows,
    run_campaign,
    settings_for,
)
from forecast_backfill_tests.lakehouse.deltas import PARTITION, commits, data_files, units_of
from forecast_backfill_tests.postgres.rows import fingerprint_of, table_of
from forecast_backfill_tests.postgres.test_streamed_rows import stream


@dataclass(frozen=True, slots=True)
class Pieces:
    """A table in pieces of one row; `between` is called before each."""

    table: pa.Table
    between: Callable[[int], object] = lambda place: None

    @property
    def num_rows(self) -> int:
        return self.table.num_rows

    def pieces(self) -> Iterator[pa.Table]:
        for place in range(self.num_rows):
            self.between(place)
            yield self.table.slice(place, 1)


@pytest.fixture
def settings(database_url, tmp_path):
    land_campaign(tmp_path, [PARTITION])
    return settings_for(database_url, tmp_path, warehouse="delta")


def test_a_partition_is_replaced_by_rows_in_pieces(settings, database_url, tmp_path):
    assert isinstance(stream(settings), Written)
    land_campaign(tmp_path, [PARTITION], quantity="3")
    outcome = stream(settings)
    assert isinstance(outcome, Written)
    assert outcome.replaced_rows == 2
    assert units_of(settings) == {("s1", "0042"): 6, ("s1", "NA"): 6}
    assert ledger_rows(database_url)[0][2:] == ("done", "current", 2)
    assert (commits(settings), len(data_files(settings))) == (2, 2)


def test_rows_that_stop_in_the_middle_leave_what_was_there_and_no_file(
    settings, database_url, tmp_path
):
    run_campaign(settings, [PARTITION])
    before = data_files(settings)
    land_campaign(tmp_path, [PARTITION], quantity="3")
    outcome = stream(settings, breaks=True)
    assert outcome == Failed(partition=PARTITION, reason="ConnectionError: an executor is gone")
    assert data_files(settings) == before
    assert commits(settings) == 1
    assert units_of(settings) == {("s1", "0042"): 4, ("s1", "NA"): 4}
    assert ledger_rows(database_url)[0][2:4] == ("failed", "stale")


def test_a_kill_in_the_middle_ends_the_stream_and_leaves_no_file(settings, database_url):
    asked = []

    def end_it(place):
        asked.append(place)
        if place == 1:
            with open_session(settings, Workload.BACKFILL) as session:
                kill(session, Workload.BACKFILL, reason="a test", changed_by="pytest")

    class Streaming:
        """The engine, whose rows come three times over, in pieces."""

        def __init__(self, engine):
            self._engine = engine
            self.code_version = engine.code_version

        def prepare(self, source, dimensions):
            prepared = self._engine.prepare(source, dimensions)
            assert isinstance(prepared, Prepared)
            return replace(prepared, rows=Pieces(pa.concat_tables([prepared.rows] * 3), end_it))

    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        ports = replace(wiring.ports, engine=Streaming(wiring.ports.engine))
        with pytest.raises(EpochRaised):
            run_batch([PARTITION], wiring.request(), ports, lambda outcome: None)
    assert asked == [0, 1]
    assert data_files(settings) == []
    assert ledger_rows(database_url)[0][2:4] == ("failed", "absent")


@pytest.mark.parametrize(("limit", "expected"), [(1, [1] * 5), (2, [2, 2, 1]), (100, [5])])
def test_small_pieces_share_a_row_group(limit, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(demand_file, "GROUP_ROWS", limit)
    rows = table_of([{"store_id": f"s{n}", "product_id": "1"} for n in range(5)], PARTITION)
    stamp = Stamp(
        partition=PARTITION,
        fingerprint=fingerprint_of(rows),
        version=Version(authority=Authority.BACKFILL, source_version=1),
    )
    found = pq.ParquetFile(write_file(tmp_path, Pieces(rows), stamp, "a"))
    groups = [found.metadata.row_group(n).num_rows for n in range(found.num_row_groups)]
    assert groups == expected
    assert found.read().column("store_id").to_pylist() == rows.column("store_id").to_pylist()
