"""The primary's own signals, and how signals are looked at when they fail, hang or are others'."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint

import psycopg
import pytest

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.core.signal import (
    DEFAULT_THRESHOLDS,
    Look,
    Measured,
    NotApplicable,
    Reading,
    Thresholds,
    Unreadable,
)
from forecast_backfill.warehouse.signals import assembly, plugins
from forecast_backfill.warehouse.signals.assembly import build_signals
from forecast_backfill.warehouse.signals.canary import CanaryRead, percentile
from forecast_backfill.warehouse.signals.link import Link, Links
from forecast_backfill.warehouse.signals.plugins import load_plugins
from forecast_backfill.warehouse.signals.server_load import ConnectionUse, WalRate
from forecast_backfill.warehouse.signals.timed_looks import TimedLooks
from forecast_backfill_tests.postgres.rows import fetch

SHIPPED = (
    "replication_lag", "nightly_queue_wait", "connection_use", "canary_read", "wal_rate",
)  # fmt: skip


@pytest.fixture
def link(database: str) -> Iterator[Link]:
    opened = Link(database, timeout_seconds=5)
    yield opened
    opened.close()


def value_of(reading: Reading) -> float:
    assert isinstance(reading, Measured), reading
    return reading.value


def test_connection_use_is_the_part_of_the_connections_that_is_taken(link: Link, database: str):
    signal = ConnectionUse(link, DEFAULT_THRESHOLDS["connection_use"])
    before = value_of(signal.look({}).reading)
    taken = [psycopg.connect(database) for _ in range(5)]
    try:
        after = value_of(signal.look({}).reading)
    finally:
        for connection in taken:
            connection.close()
    assert round((after - before) * 97) == 5


def test_wal_rate_counts_the_bytes_written_since_the_last_look(link: Link, database: str):
    signal = WalRate(link, DEFAULT_THRESHOLDS["wal_rate"])
    first = signal.look({})
    statement = (
        "CREATE TABLE filled AS SELECT repeat('x', 1000) AS text FROM generate_series(1, 3000)"
    )
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(statement.encode())
        connection.execute("INSERT INTO filled SELECT * FROM filled")
    time.sleep(0.1)
    second = signal.look(first.notes)
    seconds = float(str(second.notes["at"])) - float(str(first.notes["at"]))
    assert 3_000_000 < value_of(second.reading) * seconds < 30_000_000


def test_the_first_look_at_wal_rate_needs_no_earlier_one(link: Link):
    signal = WalRate(link, DEFAULT_THRESHOLDS["wal_rate"])
    assert value_of(signal.look({"position": 1e18, "at": 0.0}).reading) >= 0


def test_the_canary_judges_by_the_reads_of_the_last_minute(link: Link):
    signal = CanaryRead(link, DEFAULT_THRESHOLDS["canary_read"])
    first = signal.look({})
    reads = first.notes["reads"]
    assert isinstance(reads, list)
    assert len(reads) == 20
    now = float(reads[-1][0])
    slow = [[now - 30, 9.0]] * 2 + [[now - 90, 11.0]] * 50
    assert value_of(signal.look({"reads": slow}).reading) == 9.0


def test_the_canary_keeps_a_hundred_reads(link: Link):
    signal = CanaryRead(link, DEFAULT_THRESHOLDS["canary_read"])
    notes: Mapping[str, object] = {}
    for _ in range(22):
        notes = signal.look(notes).notes
    reads = notes["reads"]
    assert isinstance(reads, list)
    assert len(reads) == 100


def test_the_99th_percentile_of_a_hundred_leaves_out_the_worst():
    assert percentile([*range(1, 100), 1000], 0.99) == 99


def test_of_fewer_than_a_hundred_the_worst_is_left_out_too():
    assert percentile([3.0, 1.0, 2.0], 0.99) == 2.0
    assert percentile([7.0], 0.99) == 7.0


def test_every_signal_that_ships_is_looked_at_on_one_connection(database: str):
    signals = build_signals(database, replica_url=None, thresholds={}, timeout_seconds=5)
    looks = signals.look({})
    assert tuple(each.name for each in looks) == SHIPPED
    assert looks[0].look.reading == NotApplicable(reason="the primary has no replica")
    assert looks[1].look.reading == NotApplicable(reason="Dagster keeps no runs in this database")
    assert all(isinstance(each.look.reading, Measured) for each in looks[2:])
    (left,) = fetch(
        database,
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'forecast_backfill pace'"
        " AND datname = current_database() AND state IS NOT NULL",
    )[0]
    assert left <= 1


def test_a_database_that_does_not_answer_makes_every_signal_unreadable():
    url = "postgresql://nobody@127.0.0.1:1/nothing"
    signals = build_signals(url, replica_url=None, thresholds={}, timeout_seconds=5)
    assert all(isinstance(each.look.reading, Unreadable) for each in signals.look({}))


def test_thresholds_are_set_and_signals_switched_off(database: str):
    signals = build_signals(
        database,
        replica_url=None,
        thresholds={"wal_rate": None, "replication_lag": (1, 2, 3)},
        timeout_seconds=5,
    )
    looks = {each.name: each.thresholds for each in signals.look({})}
    assert set(looks) == {*SHIPPED} - {"wal_rate"}
    assert looks["replication_lag"] == Thresholds(half=1, pause=2, trip=3)


def test_a_threshold_for_a_signal_that_there_is_not_is_refused(database: str):
    with pytest.raises(SettingRefused, match="there is no signal replication_lagg"):
        build_signals(
            database,
            replica_url=None,
            thresholds={"replication_lagg": (1, 2, 3)},
            timeout_seconds=5,
        )


class OneSignal:
    """A signal of another package, as the tests below need it."""

    name = "queue_depth"
    thresholds = Thresholds(half=10, pause=20, trip=30, unit="jobs")

    def look(self, notes: Mapping[str, object]) -> Look:
        return Look(reading=Measured(value=12))


class RaisingSignal(OneSignal):
    name = "raising"

    def look(self, notes: Mapping[str, object]) -> Look:
        raise RuntimeError("no route to the queue")


class NullSignal(OneSignal):
    name = "null"

    def look(self, notes: Mapping[str, object]) -> Look:
        return Look(reading=Measured(value=None))  # type: ignore[arg-type]


class HangingSignal(OneSignal):
    name = "hanging"

    def __init__(self) -> None:
        self.released = threading.Event()
        self.begun = 0

    def look(self, notes: Mapping[str, object]) -> Look:
        self.begun += 1
        self.released.wait()
        return Look(reading=Measured(value=1))


def readings_of(looks: TimedLooks) -> dict[str, Reading]:
    return {each.name: each.look.reading for each in looks.look({})}


def test_a_signal_that_raises_or_gives_nothing_is_unreadable_with_its_reason():
    looks = TimedLooks([RaisingSignal(), NullSignal()], timeout_seconds=5, links=Links())
    readings = readings_of(looks)
    assert readings["raising"] == Unreadable(reason="RuntimeError: no route to the queue")
    assert isinstance(readings["null"], Unreadable)


def test_a_signal_that_hangs_is_unreadable_and_not_asked_again_until_it_has_answered():
    hanging = HangingSignal()
    looks = TimedLooks([hanging, OneSignal()], timeout_seconds=0.1, links=Links())
    first, second = readings_of(looks), readings_of(looks)
    hanging.released.set()
    while (third := readings_of(looks))["hanging"] != Measured(value=1):
        time.sleep(0.01)
    assert first["hanging"] == Unreadable(reason="no answer within 0.1 s")
    assert second["hanging"] == Unreadable(reason="its last look has not ended yet")
    assert first["queue_depth"] == second["queue_depth"] == Measured(value=12)
    assert third["hanging"] == Measured(value=1)
    assert hanging.begun == 2


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group=plugins.GROUP)


def test_a_signal_of_another_package_is_found_by_its_entry_point(
    database: str, monkeypatch: pytest.MonkeyPatch
):
    found = load_plugins([entry("queue", f"{__name__}:OneSignal")])
    monkeypatch.setattr(assembly, "load_plugins", lambda: found)
    signals = build_signals(
        database,
        replica_url=None,
        thresholds={"queue_depth": (1, 2, 3)},
        timeout_seconds=5,
    )
    last = signals.look({})[-1]
    assert (last.name, last.look.reading) == ("queue_depth", Measured(value=12))
    assert last.thresholds == Thresholds(half=1, pause=2, trip=3, unit="jobs")


@pytest.mark.parametrize("value", ["no_such_package:Signal", f"{__name__}:entry"])
def test_a_signal_that_does_not_load_is_unreadable(value: str):
    (signal,) = load_plugins([entry("broken", value)])
    reading = signal.look({}).reading
    assert signal.name == "broken"
    assert isinstance(reading, Unreadable)
    assert f"{value} does not load" in reading.reason
