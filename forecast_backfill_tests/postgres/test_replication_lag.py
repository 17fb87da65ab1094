"""Replication lag in the cases where the usual queries are wrong, against a real replica."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping

import pytest

from forecast_backfill.app.pacing import sample_if_due
from forecast_backfill.core.pace import PaceLevel
from forecast_backfill.core.signal import (
    DEFAULT_THRESHOLDS,
    Measured,
    NotApplicable,
    Reading,
    Unreadable,
)
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.signal import Signals
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.pace import PostgresPace
from forecast_backfill.warehouse.postmaster import find_postmaster
from forecast_backfill.warehouse.signals.heartbeat import ReplicaLag, StandbyLag
from forecast_backfill.warehouse.signals.link import Link
from forecast_backfill.warehouse.signals.short_wait import wait_until
from forecast_backfill.wiring.pace import pace_ports, pace_rules
from forecast_backfill_tests.conftest import server_home
from forecast_backfill_tests.postgres.replicas import Pair, execute, streaming_pair

LIMITS = DEFAULT_THRESHOLDS["replication_lag"]


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    with server_home() as home, streaming_pair(home) as pair:
        yield pair


@pytest.fixture
def pair(servers: Pair) -> Iterator[Pair]:
    """The pair, whole and caught up before and after."""
    yield servers
    servers.reconnect()


def look_at_replica(pair: Pair, url: str | None = None) -> Reading:
    """A look by the replica's URL, on connections of its own."""
    primary = Link(pair.primary.url, timeout_seconds=2)
    replica = Link(url or pair.replica.url, timeout_seconds=2)
    try:
        return ReplicaLag(primary, replica, LIMITS).look({}).reading
    finally:
        primary.close()
        replica.close()


def look_at_standbys(url: str, notes: dict[str, object]) -> Reading:
    """A look at what replicates from the primary; `notes` is brought up to date."""
    link = Link(url, timeout_seconds=2)
    try:
        look = StandbyLag(link, LIMITS).look(notes)
    finally:
        link.close()
    notes.clear()
    notes.update(look.notes)
    return look.reading


def seconds_of(reading: Reading) -> float:
    assert isinstance(reading, Measured), reading
    return reading.value


def test_on_an_idle_primary_the_lag_stays_small(pair: Pair):
    look_at_replica(pair)
    time.sleep(1.2)
    (usual,) = execute(
        pair.replica.url,
        "SELECT extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float",
    )
    assert isinstance(usual, float)
    assert usual > 1.0
    assert seconds_of(look_at_replica(pair)) < 1.0


def test_of_a_replica_that_is_cut_off_the_lag_grows(pair: Pair):
    look_at_replica(pair)
    pair.cut_off()
    first = seconds_of(look_at_replica(pair))
    time.sleep(1.2)
    second = seconds_of(look_at_replica(pair))
    (usual,) = execute(
        pair.replica.url, "SELECT pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()"
    )
    assert usual is True
    assert second - first >= 1.0


def test_run_on_the_primary_itself_it_cannot_be_read(pair: Pair):
    (usual,) = execute(
        pair.primary.url, "SELECT coalesce(now() - pg_last_xact_replay_timestamp(), '0')::text"
    )
    assert usual == "00:00:00"
    reading = look_at_replica(pair, pair.primary.url)
    assert isinstance(reading, Unreadable)
    assert "no replica (it is not in recovery)" in reading.reason


def test_of_a_replica_that_receives_but_does_not_replay_the_lag_grows(pair: Pair):
    look_at_replica(pair)
    execute(pair.replica.url, "SELECT pg_wal_replay_pause()")
    look_at_replica(pair)
    time.sleep(1.2)
    assert seconds_of(look_at_replica(pair)) >= 1.0
    execute(pair.replica.url, "SELECT pg_wal_replay_resume()")
    assert wait_until(lambda: seconds_of(look_at_replica(pair)) < 1.0, 10)


def test_of_a_replica_cut_off_before_the_first_beat_for_long_the_lag_is_not_known(pair: Pair):
    look_at_replica(pair)
    assert wait_until(pair.has_caught_up, 10)
    execute(
        pair.primary.url,
        "UPDATE forecast_backfill.pace_heartbeat SET beat_at = beat_at - interval '20 minutes'",
    )
    assert wait_until(pair.has_caught_up, 10)
    pair.cut_off()
    reading = look_at_replica(pair)
    assert isinstance(reading, Unreadable)
    assert "has not replayed a beat for 1,2" in reading.reason


def test_after_a_long_silence_a_healthy_replica_is_read_at_once(pair: Pair):
    look_at_replica(pair)
    execute(
        pair.primary.url,
        "UPDATE forecast_backfill.pace_heartbeat SET beat_at = beat_at - interval '20 minutes'",
    )
    assert seconds_of(look_at_replica(pair)) < 1.0


def test_a_beat_does_not_wait_for_a_synchronous_replica(pair: Pair):
    execute(pair.primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
    execute(pair.primary.url, "SELECT pg_reload_conf()")
    try:
        pair.cut_off()
        assert isinstance(look_at_replica(pair), Measured | Unreadable)
        before = time.monotonic()
        look_at_replica(pair)
        assert time.monotonic() - before < 2.0
    finally:
        execute(pair.primary.url, "ALTER SYSTEM RESET synchronous_standby_names")
        execute(pair.primary.url, "SELECT pg_reload_conf()")


def test_without_its_url_the_replica_is_found_on_an_idle_primary(pair: Pair):
    notes: dict[str, object] = {}
    look_at_standbys(pair.primary.url, notes)
    time.sleep(1.2)
    assert seconds_of(look_at_standbys(pair.primary.url, notes)) < 1.0
    assert list(notes) == ["walreceiver@local"]


def test_without_its_url_a_replica_that_is_cut_off_is_missed(pair: Pair):
    notes: dict[str, object] = {}
    look_at_standbys(pair.primary.url, notes)
    pair.cut_off()
    time.sleep(1.2)
    reading = look_at_standbys(pair.primary.url, notes)
    assert seconds_of(reading) >= 1.0
    assert isinstance(reading, Measured)
    assert reading.detail == "walreceiver@local is cut off or was stopped"


def test_without_its_url_a_replica_that_does_not_replay_lags(pair: Pair):
    notes: dict[str, object] = {}
    look_at_standbys(pair.primary.url, notes)
    execute(pair.replica.url, "SELECT pg_wal_replay_pause()")
    look_at_standbys(pair.primary.url, notes)
    time.sleep(1.2)
    assert seconds_of(look_at_standbys(pair.primary.url, notes)) >= 1.0


def test_a_primary_without_a_replica_has_no_lag_and_says_so(database: str):
    reading = look_at_standbys(database, {})
    assert reading == NotApplicable(reason="the primary has no replica")


def test_a_role_that_may_not_see_the_replicas_cannot_tell(pair: Pair):
    for statement in (
        "CREATE ROLE reader LOGIN",
        "GRANT USAGE ON SCHEMA forecast_backfill TO reader",
        "GRANT SELECT, INSERT, DELETE ON forecast_backfill.pace_heartbeat TO reader",
    ):
        execute(pair.primary.url, statement)
    reading = look_at_standbys(pair.primary.url.replace("postgres@", "reader@"), {})
    assert isinstance(reading, Unreadable)
    assert "GRANT pg_monitor" in reading.reason


def readings_of(signals: Signals) -> Mapping[str, Reading]:
    return {each.name: each.look.reading for each in signals.look({})}


def test_a_replica_that_is_stopped_is_unreadable_and_keeps_the_others_readable(pair: Pair):
    settings = Settings(replica_url=pair.replica.url, pace_timeout_seconds=0.5)
    session = Session(pair.primary.url, Workload.BACKFILL, settings)
    signals = pace_ports(settings, session).signals
    postmaster = find_postmaster(pair.replica.data)
    assert postmaster is not None
    os.kill(postmaster, signal.SIGSTOP)
    try:
        first, second = readings_of(signals), readings_of(signals)
    finally:
        os.kill(postmaster, signal.SIGCONT)
    assert first["replication_lag"] == Unreadable(reason="no answer within 0.5 s")
    assert second["replication_lag"] == Unreadable(reason="its last look has not ended yet")
    assert isinstance(first["connection_use"], Measured)
    assert isinstance(second["wal_rate"], Measured)
    assert wait_until(lambda: isinstance(readings_of(signals)["replication_lag"], Measured), 10)


def test_a_campaign_slows_pauses_and_trips_with_the_replica_and_a_person_lets_it_go_on(
    pair: Pair,
):
    settings = Settings(
        replica_url=pair.replica.url,
        pace_seconds=0.1,
        pace_trip_minutes=0.01,
        pace_thresholds="replication_lag=0.8/1.5/2,wal_rate=off,canary_read=off",
    )
    session = Session(pair.primary.url, Workload.BACKFILL, settings)
    try:
        ports = pace_ports(settings, session)
        assert sample_if_due(ports).level is PaceLevel.FULL
        pair.cut_off()
        assert wait_until(lambda: sample_if_due(ports).level is PaceLevel.TRIPPED, 15)
        pair.reconnect()
        time.sleep(0.2)
        assert sample_if_due(ports).level is PaceLevel.TRIPPED
        store = PostgresPace(session)
        store.reset("Ada", "the cable is back", rules=pace_rules(settings))
        after = sample_if_due(ports)
        changes = store.events()
    finally:
        session.close()
    assert (after.level, after.share) == (PaceLevel.HALF, 0.1)
    events = [(str(each.level), each.signal, each.changed_by) for each in changes]
    assert events[::-1] == [
        ("half", "replication_lag", "pace"),
        ("paused", "replication_lag", "pace"),
        ("tripped", "replication_lag", "pace"),
        ("half", None, "Ada"),
    ]
