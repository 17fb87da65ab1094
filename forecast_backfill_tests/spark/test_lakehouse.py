"""Spark writes a lakehouse: what pandas writes there, and once, whatever is lost on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.outcome import Failed, Outcome, Quarantined, Unchanged, Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.engines.spark_checksum import spark_fingerprint
from forecast_backfill.engines.spark_session import open_spark
from forecast_backfill.engines.spark_spread import SparkRows
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.kill import kill
from forecast_backfill.wiring.batch import OpenSpark
from forecast_backfill.wiring.partition import open_session
from forecast_backfill_tests.conformance.test_engines import (
    DAMAGED,
    EMPTY,
    EXTREME,
    ODD,
    UNICODE,
    Stored,
    databases,
    land_odd_campaign,
    run_batch,
    settings_of,
    stored_in,
)
from forecast_backfill_tests.conformance.test_spread import land_all
from forecast_backfill_tests.lakehouse.deltas import commits, data_files, delta_rows, table_of
from forecast_backfill_tests.landing.hand_made import land
from forecast_backfill_tests.spark.batches import (
    PARTITIONS,
    Background,
    kill_client,
    landed,
    lease_held,
    run,
    slots_held,
    statuses,
    written,
)
from forecast_backfill_tests.spark.servers import Cluster, ConnectServer, wait_until
from forecast_backfill_tests.spark.test_cluster import kill_executors, waiting_for_a_lease
from forecast_backfill_tests.spark.test_connect import turn

ONCE = dict.fromkeys(PARTITIONS, 1)
SOUND = (UNICODE, EXTREME, EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """What an engine left of a campaign, and what it made of the campaign once more."""

    settings: Settings
    stored: Stored
    files: Mapping[str, bytes]
    again: Sequence[Outcome]


def lake_of(
    url: str, home: Path, places: Sequence[Partition], opened: OpenSpark | None = None, **on: Any
) -> Lake:
    """The places, twice over, by one engine."""
    settings = settings_of(url, home, warehouse="delta", lakehouse=home / on["engine"], **on)
    run_batch(settings, places, opened)
    stored, files = stored_in(url), current_files(settings)
    again = run_batch(settings, places, opened)
    assert current_files(settings) == files
    return Lake(settings=settings, stored=stored, files=files, again=again)


def current_files(settings: Settings) -> dict[str, bytes]:
    """The current files' bytes by folder and data version; the rest of their names is random."""
    uris = table_of(settings).file_uris()
    return {uri.rpartition("-")[0].partition("daily_demand/")[2]: _bytes(uri) for uri in uris}


def _bytes(uri: str) -> bytes:
    return Path(uri).read_bytes()


@pytest.fixture(scope="module")
def lakes(
    connect: ConnectServer,
    connected: OpenSpark,
    server: EmbeddedServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Lake, Lake]]:
    """A campaign with every kind of damage, odd days, and a spread delivery, by both engines."""
    home = tmp_path_factory.mktemp("lakes")
    land_odd_campaign(home / "landing")
    places = [*DAMAGED, *ODD]
    with databases(server, ["lake_pandas", "lake_spark"]) as urls:
        pandas, spark = urls.values()
        on_spark = {"engine": "spark", "spark_master": connect.master, "spark_spread_lines": 1}
        yield (
            lake_of(pandas, home, places, engine="pandas"),
            lake_of(spark, home, places, connected, **on_spark),
        )


@pytest.mark.parametrize("what", ["ledger", "quarantines", "events"])
def test_a_campaign_leaves_the_same_records_in_both_engines(
    what: str, lakes: tuple[Lake, Lake]
) -> None:
    in_pandas, in_spark = lakes
    assert in_spark.stored[what]
    assert in_spark.stored[what] == in_pandas.stored[what]
    assert in_spark.stored["rows"] == []


def test_the_files_of_both_engines_are_the_same_to_the_byte(lakes: tuple[Lake, Lake]) -> None:
    in_pandas, in_spark = lakes
    done = [row for row in in_spark.stored["ledger"] if row[2] == "done"]
    assert len(done) == len(in_spark.files) == len(table_of(in_spark.settings).file_uris())
    assert in_spark.files == in_pandas.files
    assert delta_rows(in_spark.settings) == delta_rows(in_pandas.settings)


def test_a_batch_is_one_commit_a_task(lakes: tuple[Lake, Lake]) -> None:
    in_pandas, in_spark = lakes
    assert commits(in_pandas.settings) == 1
    # Two tasks, since the cap is two of the four slots, and the spread delivery.
    assert commits(in_spark.settings) == 3


def test_the_second_batch_finds_what_is_done_unchanged(lakes: tuple[Lake, Lake]) -> None:
    _, in_spark = lakes
    done = {(row[0], row[1]) for row in in_spark.stored["ledger"] if row[2] == "done"}
    assert done >= {(each.date, each.region) for each in SOUND}
    for outcome in in_spark.again:
        is_done = (outcome.partition.date, outcome.partition.region) in done
        assert isinstance(outcome, Unchanged if is_done else Quarantined)


def test_spark_reads_the_current_files_and_comes_to_the_fingerprints_of_the_ledger(
    connected: OpenSpark, lakes: tuple[Lake, Lake]
) -> None:
    _, in_spark = lakes
    table = table_of(in_spark.settings)
    ledger = {row[:2]: fingerprint_in(row) for row in in_spark.stored["ledger"] if row[2] == "done"}
    with connected() as session:
        frame = session.read.option("basePath", table.table_uri).parquet(*table.file_uris())
        whole = spark_fingerprint(frame)
        for place in SOUND:
            rows = frame.where((frame.date == place.date) & (frame.region == place.region))
            assert spark_fingerprint(rows) == ledger[place.date, place.region]
    for name in ("rows", "checksum", "units", "revenue_cents"):
        assert getattr(whole, name) == sum(getattr(each, name) for each in ledger.values())


def fingerprint_in(row: tuple[Any, ...]) -> Fingerprint:
    """The fingerprint in a row of the ledger."""
    names = ("rows", "checksum", "units", "revenue_cents", "stores", "products")
    return Fingerprint(**{name: int(value) for name, value in zip(names, row[10:16], strict=True)})


def test_spread_deliveries_stream_into_the_files_that_one_process_writes(
    connect: ConnectServer, connected: OpenSpark, server: EmbeddedServer, tmp_path: Path
) -> None:
    found = land_all(tmp_path / "landing")
    places = [found["good"], found["damaged"]]
    with databases(server, ["streamed_pandas", "streamed_spark"]) as urls:
        pandas, spark = urls.values()
        on_spark = {"engine": "spark", "spark_master": connect.master, "spark_spread_lines": 1}
        ours = lake_of(pandas, tmp_path, places, engine="pandas")
        theirs = lake_of(spark, tmp_path, places, connected, **on_spark)
        assert delta_rows(theirs.settings) == delta_rows(ours.settings) != []
        assert theirs.files.keys() == ours.files.keys()
        for what in ("ledger", "quarantines", "events"):
            assert theirs.stored[what] == ours.stored[what]


def test_a_spread_delivery_that_breaks_in_mid_stream_leaves_no_file(
    connect: ConnectServer,
    connected: OpenSpark,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = land_all(tmp_path / "landing")["good"]
    on_spark = {"engine": "spark", "spark_master": connect.master, "spark_spread_lines": 1}
    settings = settings_of(database, tmp_path, warehouse="delta", **on_spark)
    pieces = SparkRows.pieces

    def lost(self: SparkRows) -> Iterator[pa.Table]:
        yield next(pieces(self))
        raise ConnectionError("an executor is gone")

    with monkeypatch.context() as patched:
        patched.setattr(SparkRows, "pieces", lost)
        outcomes = run_batch(settings, [place], connected)
    assert outcomes == [Failed(partition=place, reason="ConnectionError: an executor is gone")]
    assert data_files(settings) == []
    assert statuses(database) == {place: "failed"}
    assert [type(each) for each in run_batch(settings, [place], connected)] == [Written]
    assert len(data_files(settings)) == commits(settings) == 1


def test_a_pause_commits_what_is_staged_and_gives_the_cores_back(
    connect: ConnectServer, connected: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, connect.master, slots=3, warehouse="delta")
    held, begun = PARTITIONS[3], PARTITIONS[:4]
    with open_session(settings, Workload.BACKFILL) as session:
        with lease_held(database, held):
            batch = Background(settings, connected)
            batch.wait_until_running(held)
            # Three are staged, and none is committed.
            assert len(data_files(settings)) == 3
            assert written(database) == {}
            turn(session, "paused")
        wait_until(lambda: statuses(database)[held] == "done", "it was never committed")
        wait_until(lambda: connect.active_tasks() == 0, "a paused job holds its cores", 30)
        assert statuses(database) == dict.fromkeys(begun, "done")
        assert commits(settings) == 1
        assert batch.thread.is_alive()
        turn(session, "running")
    batch.thread.join(120)
    assert batch.error is None
    assert {each.partition for each in batch.outcomes} == set(PARTITIONS)
    assert written(database) == ONCE
    assert commits(settings) == 2
    assert len(data_files(settings)) == len(PARTITIONS)


def test_a_kill_commits_nothing_of_what_is_staged(
    connect: ConnectServer, connected: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, connect.master, slots=3, warehouse="delta")
    held = PARTITIONS[7]
    with lease_held(database, held):
        batch = Background(settings, connected)
        batch.wait_until_running(held)
        assert len(data_files(settings)) == 7
        with open_session(settings, Workload.BACKFILL) as session:
            kill(session, Workload.BACKFILL, reason="a test", changed_by="pytest")
        batch.thread.join(60)
        assert not batch.thread.is_alive()
    assert isinstance(batch.error, EpochRaised)
    wait_until(lambda: slots_held(database) == 0, "a slot is held", 30)
    assert written(database) == {}
    assert (commits(settings), delta_rows(settings)) == (0, [])
    assert statuses(database) == dict.fromkeys(PARTITIONS[:8], "failed")

    # Launched again, in the new epoch, all of it is done, once.
    run(settings, open_spark=connected)
    assert written(database) == ONCE
    assert len(delta_rows(settings)) == 2 * len(PARTITIONS)
    assert len(table_of(settings).file_uris()) == len(PARTITIONS)


def test_what_the_server_staged_for_a_killed_client_is_not_committed_after_a_kill(
    connect: ConnectServer, connected: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, connect.master, slots=3, warehouse="delta")
    held = PARTITIONS[2]
    with lease_held(database, held):
        kill_client(database, tmp_path, connect.master, at=held, slots=3, warehouse="delta")
        with open_session(settings, Workload.BACKFILL) as session:
            kill(session, Workload.BACKFILL, reason="a test", changed_by="pytest")
    wait_until(lambda: connect.active_tasks() == 0, "tasks of the dead client go on", 60)
    assert written(database) == {}
    assert (commits(settings), delta_rows(settings)) == (0, [])
    assert statuses(database) == dict.fromkeys(PARTITIONS[:3], "failed")
    assert slots_held(database) == 0


@pytest.fixture
def application(cluster: Cluster) -> Iterator[OpenSpark]:
    """A Spark application on the cluster, with a driver of its own."""
    settings = load_settings(engine="spark", spark_master=cluster.master)
    with open_spark(settings, Workload.BACKFILL) as session:
        yield lambda: nullcontext(session)


def test_an_executor_killed_while_files_are_staged_leaves_nothing_doubled(
    cluster: Cluster, application: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, cluster.master, warehouse="delta")
    bad, held = PARTITIONS[4], PARTITIONS[8]
    land(tmp_path / "landing", bad, [{"store_id": "s1", "sales_value": '"2,50"'}])
    good = [each for each in PARTITIONS if each != bad]
    with lease_held(database, held):
        batch = Background(settings, application)
        batch.wait_until_running(held)
        wait_until(lambda: waiting_for_a_lease(database), "nobody waits for the lease")
        # Its task has the first one staged.
        assert statuses(database)[PARTITIONS[0]] == "running"
        waiting = waiting_for_a_lease(database)
        kill_executors(cluster)
        wait_until(lambda: not waiting & waiting_for_a_lease(database), "a dead task waits", 30)
    batch.thread.join(120)

    assert batch.error is None
    kinds = {each.partition: type(each) for each in batch.outcomes}
    assert set(kinds) == set(PARTITIONS)
    assert kinds[bad] is Quarantined
    assert written(database) == dict.fromkeys(good, 1)
    assert statuses(database) == {**dict.fromkeys(good, "done"), bad: "quarantined"}
    uris = table_of(settings).file_uris()
    assert sorted(uri.split("/")[-3:-1] for uri in uris) == [
        [f"date={each.date}", f"region={each.region}"] for each in good
    ]
    assert len(delta_rows(settings)) == 2 * len(good)
    assert slots_held(database) == 0
