"""Rows that come piece by piece are written as those that come at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest

from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.outcome import Failed, Outcome, Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner
from forecast_backfill.ports import Dimensions, Engine, LandedSource, Prepared, Rejected
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    land_campaign,
    run_campaign,
    settings_for,
    stored_rows,
)

PARTITION = Partition(date=FIRST, region="R01")


@dataclass(frozen=True, slots=True)
class Pieces:
    """A table in pieces of one row; the last one is lost where it breaks."""

    table: pa.Table
    breaks: bool

    @property
    def num_rows(self) -> int:
        return self.table.num_rows

    def pieces(self) -> Iterator[pa.Table]:
        for place in range(self.num_rows):
            if self.breaks and place == self.num_rows - 1:
                raise ConnectionError("an executor is gone")
            yield self.table.slice(place, 1)


@dataclass(frozen=True, slots=True)
class Streaming:
    """The engine, whose rows come in pieces."""

    engine: Engine
    breaks: bool

    @property
    def code_version(self) -> str:
        return self.engine.code_version

    def prepare(self, source: LandedSource, dimensions: Dimensions) -> Prepared | Rejected:
        prepared = self.engine.prepare(source, dimensions)
        assert isinstance(prepared, Prepared)
        return replace(prepared, rows=Pieces(prepared.rows, self.breaks))


def stream(settings: Settings, winner: Winner | None = None, *, breaks: bool = False) -> Outcome:
    """Run the partition as a backfill whose rows come in pieces."""
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        ports = replace(wiring.ports, engine=Streaming(wiring.ports.engine, breaks))
        revision = 0 if winner is None else 1
        request = wiring.request(campaign_id="streamed", winner=winner, revision=revision)
        (outcome,) = run_batch([PARTITION], request, ports, lambda outcome: None)
    return outcome


def units(url: str) -> list[tuple[str, int]]:
    """Product and units of every row."""
    return [(row[3], row[5]) for row in stored_rows(url)]


@pytest.mark.parametrize("layout", ["plain", "leaves"])
def test_a_partition_is_replaced_by_rows_in_pieces(
    layout: str, database: str, tmp_path: Path
) -> None:
    land_campaign(tmp_path, [PARTITION])
    settings = settings_for(database, tmp_path, table_layout=layout, large_rows=1)
    assert isinstance(stream(settings), Written)
    assert units(database) == [("0042", 4), ("NA", 4)]


def test_an_overlap_merges_rows_in_pieces(database: str, tmp_path: Path) -> None:
    settings = settings_for(database, tmp_path, seam=FIRST)
    land_campaign(tmp_path, [PARTITION])
    run_campaign(settings, [PARTITION], workload=Workload.NIGHTLY)
    land_campaign(tmp_path, [PARTITION], quantity="3")
    outcome = stream(settings, Winner.CORRECTION)
    assert isinstance(outcome, Written)
    assert outcome.merge is not None
    assert units(database) == [("0042", 6), ("NA", 6)]


def test_rows_that_stop_in_the_middle_leave_what_was_there(database: str, tmp_path: Path) -> None:
    settings = settings_for(database, tmp_path)
    land_campaign(tmp_path, [PARTITION])
    run_campaign(settings, [PARTITION])
    land_campaign(tmp_path, [PARTITION], quantity="3")
    outcome = stream(settings, breaks=True)
    assert outcome == Failed(partition=PARTITION, reason="ConnectionError: an executor is gone")
    assert units(database) == [("0042", 4), ("NA", 4)]
