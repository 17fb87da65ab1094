"""Replication lag by heartbeats: as old as the oldest beat that a replica has not replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from forecast_backfill.core.signal import (
    REPLICATION_LAG,
    Look,
    Measured,
    NotApplicable,
    Reading,
    Thresholds,
    Unreadable,
)
from forecast_backfill.warehouse.signals.link import Link
from forecast_backfill.warehouse.signals.short_wait import wait_until
from forecast_backfill.warehouse.statements import statements

LONGEST_GAP = timedelta(seconds=10)
"""Beats further apart than this leave open how far behind a replica between them is."""
CATCH_UP_SECONDS = 1.0
FORGET_AFTER = timedelta(hours=24)
"""How long a replica that is gone is still expected; a person's reset forgets it at once."""


class ReplicaLag:
    """Lag of the replica at a URL, read on the replica itself.

    The usual `now() - pg_last_xact_replay_timestamp()` grows on an idle primary, the received
    against the replayed position says 0 on a replica that is cut off, and both say nothing, which
    reads as 0, on a primary. A beat written just now moves an idle primary, does not arrive on a
    replica that is cut off, and a server that is not in recovery is no replica.
    """

    name = REPLICATION_LAG

    def __init__(self, primary: Link, replica: Link, thresholds: Thresholds) -> None:
        self._primary = primary
        self._replica = replica
        self.thresholds = thresholds

    def look(self, notes: Mapping[str, object]) -> Look:
        """Beat, then see which beats have arrived."""
        newest = statements().beat(self._primary.connection())["beat_id"]
        row = statements().replayed_beat(self._replica.connection())
        if not row["is_in_recovery"]:
            reason = (
                "FORECAST_BACKFILL_REPLICA_URL leads to a server that is no replica (it is not in "
                "recovery): the primary itself, or a replica that was promoted"
            )
            return Look(reading=Unreadable(reason=reason))
        if (row["beat_id"] or 0) > newest:
            reason = "the replica follows another primary: it has beats that were not written here"
            return Look(reading=Unreadable(reason=reason))

        def lag() -> dict[str, Any]:
            seen = statements().replayed_beat(self._replica.connection())["beat_id"]
            found: dict[str, Any] = statements().lag_behind_beat(
                self._primary.connection(), beat_id=seen or 0
            )
            return found

        return Look(reading=judge_lag(lag))


class StandbyLag:
    """The worst lag of the standbys that `pg_stat_replication` shows on the primary.

    Its own `replay_lag` is empty where a standby is idle and stale where it is cut off; here the
    replayed position is compared with the beats'. A standby that was there and is gone lags by the
    time since it was seen last.
    """

    name = REPLICATION_LAG

    def __init__(self, primary: Link, thresholds: Thresholds) -> None:
        self._primary = primary
        self.thresholds = thresholds

    def look(self, notes: Mapping[str, object]) -> Look:
        """Beat where there are standbys, then see how far each of them has come."""
        connection = self._primary.connection()
        glance = statements().replication_at_a_glance(connection)
        now: datetime = glance["now"]
        known = {
            name: at
            for name, text in notes.items()
            if now - (at := datetime.fromisoformat(str(text))) < FORGET_AFTER
        }
        rows = list(statements().standbys(connection)) if glance["has_senders"] else []
        if any(row["is_hidden"] for row in rows):
            reason = (
                "this role may not read pg_stat_replication: GRANT pg_monitor TO it, or set "
                "FORECAST_BACKFILL_REPLICA_URL"
            )
            return Look(reading=Unreadable(reason=reason), notes=notes)
        present = _numbered(row["name"] for row in rows)
        gone = {name: at for name, at in known.items() if name not in present}
        if not present and not gone:
            return Look(reading=NotApplicable(reason="the primary has no replica"))
        reading: Reading = Measured(value=0)
        if present:
            statements().beat(connection)
            reading = judge_lag(lambda: statements().lag_of_standbys(connection))
        kept = known | dict.fromkeys(present, now)
        return Look(
            reading=_worse(reading, gone, now),
            notes={name: at.isoformat() for name, at in kept.items()},
        )


def _worse(reading: Reading, gone: Mapping[str, datetime], now: datetime) -> Reading:
    """The reading of the standbys that are there, or the longest absence, whichever is worse."""
    if not gone or not isinstance(reading, Measured):
        return reading
    name, at = min(gone.items(), key=lambda each: each[1])
    away = (now - at).total_seconds()
    if away < reading.value:
        return reading
    return Measured(value=away, detail=f"{name} is cut off or was stopped")


def _numbered(names: Iterable[str]) -> set[str]:
    """Standbys often share a name (walreceiver): of two, the second is told from the first."""
    counts = Counter(names)
    return {
        name if number == 1 else f"{name} #{number}"
        for name, count in counts.items()
        for number in range(1, count + 1)
    }


def judge_lag(read: Callable[[], Mapping[str, Any] | None]) -> Reading:
    """The age of the oldest beat not replayed, 0 where there is none.

    Where no beat was written between the last replayed and that one for long, the lag may be
    anything between their ages; a healthy replica replays the new one at once.
    """
    row = read()
    if row is not None and _is_open(row) and row["lag"].total_seconds() < CATCH_UP_SECONDS:
        wait_until(lambda: (again := read()) is None or not _is_open(again), CATCH_UP_SECONDS)
        row = read()
    if row is None:
        return Unreadable(reason="the replica went away while it was looked at")
    if _is_open(row):
        what = (
            "any beat" if row["gap"] is None else f"a beat for {row['gap'].total_seconds():,.0f} s"
        )
        return Unreadable(reason=f"how far it is behind is not known: it has not replayed {what}")
    lag: timedelta | None = row["lag"]
    if lag is None or lag <= timedelta(0):
        return Measured(value=0)
    return Measured(value=lag.total_seconds(), detail=row["name"] or "")


def _is_open(row: Mapping[str, Any]) -> bool:
    if row["lag"] is None:
        return False
    return row["gap"] is None or row["gap"] > LONGEST_GAP
