"""The pace in PostgreSQL: one process looks, all go by it, and a person's word is not lost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

import psycopg
import pytest

from forecast_backfill.app.pacing import sample_if_due
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.pace import PaceLevel, PaceRules
from forecast_backfill.core.signal import (
    DEFAULT_THRESHOLDS,
    Look,
    Measured,
    Reading,
    SignalLook,
    Unreadable,
)
from forecast_backfill.ports.signal import PacePorts
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.pace import PostgresPace
from forecast_backfill_tests.postgres.rows import fetch, open_session

ALWAYS = PaceRules(interval=timedelta(microseconds=1))


class CountedSignals:
    """One signal whose readings the test decides; counts how often it was looked at."""

    def __init__(self, *readings: Reading) -> None:
        self.readings = list(readings)
        self.notes: list[Mapping[str, Mapping[str, object]]] = []

    def look(self, notes: Mapping[str, Mapping[str, object]]) -> Sequence[SignalLook]:
        self.notes.append(notes)
        reading = self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]
        look = Look(reading=reading, notes={"looks": len(self.notes)})
        limits = DEFAULT_THRESHOLDS["replication_lag"]
        return [SignalLook(name="lag", thresholds=limits, look=look)]


def seconds(*values: float) -> CountedSignals:
    return CountedSignals(*(Measured(value=each) for each in values))


def ports_of(
    session: Session, signals: CountedSignals, rules: PaceRules | None = None
) -> PacePorts:
    return PacePorts(store=PostgresPace(session), signals=signals, rules=rules or PaceRules())


@pytest.fixture
def session(database: str) -> Iterator[Session]:
    with open_session(database) as opened:
        yield opened


def test_a_pace_that_was_never_measured_is_measured_first(session: Session):
    signals = seconds(31.0)
    state = sample_if_due(ports_of(session, signals))
    assert (state.level, state.signal, state.value) == (PaceLevel.PAUSED, "lag", 31.0)


def test_a_pace_that_is_fresh_is_not_measured_again(session: Session):
    signals = seconds(0.0)
    for _ in range(3):
        sample_if_due(ports_of(session, signals))
    assert len(signals.notes) == 1


def test_a_pace_is_measured_again_after_the_interval(session: Session, database: str):
    signals = seconds(0.0, 7.0)
    sample_if_due(ports_of(session, signals))
    age(database, 3)
    assert sample_if_due(ports_of(session, signals)).level is PaceLevel.HALF


def test_a_look_is_handed_the_notes_of_the_last_one(session: Session):
    signals = seconds(0.0)
    for _ in range(2):
        sample_if_due(ports_of(session, signals, ALWAYS))
    assert signals.notes == [{}, {"lag": {"looks": 1}}]


def test_while_another_process_looks_a_fresh_pace_holds(session: Session, database: str):
    sample_if_due(ports_of(session, seconds(0.0)))
    age(database, 3)
    with open_session(database) as other:
        sampling = PostgresPace(other).try_sampling()
        assert sampling is not None
        with sampling:
            signals = seconds(0.0)
            assert sample_if_due(ports_of(session, signals)).level is PaceLevel.FULL
    assert signals.notes == []


@pytest.mark.parametrize("is_stale", [True, False])
def test_while_another_process_looks_a_pace_that_is_not_trusted_lets_nothing_start(
    session: Session, database: str, is_stale: bool
):
    if is_stale:
        sample_if_due(ports_of(session, seconds(0.0)))
        age(database, 60)
    with open_session(database) as other:
        sampling = PostgresPace(other).try_sampling()
        assert sampling is not None
        with sampling:
            state = sample_if_due(ports_of(session, seconds(0.0)))
    assert state.level is PaceLevel.PAUSED
    assert "another process is measuring it" in state.reason


def test_a_process_that_dies_while_it_looks_gives_the_right_back(session: Session, database: str):
    with open_session(database) as other:
        assert PostgresPace(other).try_sampling() is not None
    assert sample_if_due(ports_of(session, seconds(0.0))).level is PaceLevel.FULL


def test_a_process_that_was_stopped_while_it_looks_is_not_waited_for(
    session: Session, database: str, monkeypatch: pytest.MonkeyPatch
):
    sample_if_due(ports_of(session, seconds(0.0)))
    with open_session(database) as stopped:
        assert PostgresPace(stopped).try_sampling() is not None
        age(database, 60)
        assert sample_if_due(ports_of(session, seconds(0.0))).level is PaceLevel.PAUSED
        monkeypatch.setattr("forecast_backfill.warehouse.pace.STUCK_SECONDS", 0.05)
        time.sleep(0.1)
        assert sample_if_due(ports_of(session, seconds(7.0))).level is PaceLevel.HALF
        with open_session(database) as third:
            deputy = PostgresPace(third).try_sampling()
            assert deputy is not None
            with deputy:
                assert PostgresPace(session).try_sampling() is None


def test_every_change_of_pace_is_an_event_and_nothing_else_is(session: Session):
    ports = ports_of(session, seconds(0.0, 7.0, 7.0, 31.0, 31.0), ALWAYS)
    for _ in range(5):
        sample_if_due(ports)
    events = PostgresPace(session).events()
    assert [(str(each.old_level), str(each.level), each.value) for each in events[::-1]] == [
        ("full", "half", 7.0),
        ("half", "paused", 31.0),
    ]
    assert events[0].signal == "lag"
    assert events[0].reason == "lag is 31 s, the limit is 30 s"
    assert events[0].changed_by == "pace"


def test_what_cannot_be_read_pauses(session: Session):
    signals = CountedSignals(Unreadable(reason="no answer within 2 s"))
    state = sample_if_due(ports_of(session, signals))
    assert (state.level, state.reason) == (
        PaceLevel.PAUSED,
        "lag cannot be read: no answer within 2 s",
    )


def test_a_reset_is_recorded_with_who_and_why_and_is_measured_before_anything_starts(
    session: Session,
):
    sample_if_due(ports_of(session, seconds(40.0)))
    store = PostgresPace(session)
    store.reset("Ada", "the disk was replaced")
    signals = seconds(0.0)
    state = sample_if_due(ports_of(session, signals))
    assert (state.level, state.share, len(signals.notes)) == (PaceLevel.HALF, 0.1, 1)
    event = store.events()[0]
    assert (event.changed_by, event.reason) == ("Ada", "reset by Ada: the disk was replaced")


@pytest.mark.parametrize(("by", "reason"), [("", "x"), ("Ada", " ")])
def test_a_reset_without_a_name_or_a_reason_is_refused(session: Session, by: str, reason: str):
    with pytest.raises(UsageRefused):
        PostgresPace(session).reset(by, reason)


def test_a_look_does_not_overwrite_a_reset_that_came_meanwhile(session: Session, database: str):
    class ResetMeanwhile(CountedSignals):
        def look(self, notes: Mapping[str, Mapping[str, object]]) -> Sequence[SignalLook]:
            with open_session(database) as person:
                PostgresPace(person).reset("Ada", "x")
            return super().look(notes)

    sample_if_due(ports_of(session, seconds(40.0)))
    age(database, 3)
    state = sample_if_due(ports_of(session, ResetMeanwhile(Measured(value=200.0))))
    assert (state.level, state.sampled_at) == (PaceLevel.HALF, None)
    assert [each.changed_by for each in PostgresPace(session).events()] == ["Ada", "pace"]


def test_a_reset_of_a_pace_that_lets_work_start_changes_nothing(session: Session):
    sample_if_due(ports_of(session, seconds(0.0)))
    store = PostgresPace(session)
    assert store.reset("Ada", "x").level is PaceLevel.FULL
    assert store.events() == ()


def test_what_every_signal_showed_last_can_be_read(session: Session):
    sample_if_due(ports_of(session, seconds(7.0)))
    (pressure,) = PostgresPace(session).pressures()
    assert (pressure.name, pressure.value) == ("lag", 7.0)


def test_a_trip_stays_through_looks_of_other_processes(session: Session, database: str):
    rules = PaceRules(interval=timedelta(microseconds=1))
    sample_if_due(ports_of(session, seconds(200.0), rules))
    fetch(
        database,
        "UPDATE workload_pace SET state = jsonb_set(state, '{pressures,0,red_since}', "
        "to_jsonb(now() - interval '6 minutes')) RETURNING 1",
    )
    tripped = sample_if_due(ports_of(session, seconds(200.0), rules))
    assert tripped.level is PaceLevel.TRIPPED
    with open_session(database) as other:
        assert sample_if_due(ports_of(other, seconds(0.0), rules)).level is PaceLevel.TRIPPED


def test_the_fast_way_is_one_statement(session: Session, database: str):
    ports = ports_of(session, seconds(0.0))
    sample_if_due(ports)
    with session.use() as connection:
        sent: list[str] = []

        class Recording(psycopg.Cursor[dict[str, object]]):
            def execute(self, query, *args, **kwargs):  # type: ignore[no-untyped-def]
                sent.append(str(query))
                return super().execute(query, *args, **kwargs)

        connection.cursor_factory = Recording
        sample_if_due(ports)
    assert len(sent) == 1


def age(database: str, seconds: float) -> None:
    """Let the stored pace be so much older."""
    fetch(
        database,
        "UPDATE workload_pace SET sampled_at = sampled_at - make_interval(secs => %s) RETURNING 1",
        seconds,
    )
