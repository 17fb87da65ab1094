"""What is recorded of every date, as the plans of the night and of history look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date as Date
from typing import Any

from forecast_backfill.core.night_state import NOTHING_RECORDED, DateState, Freshness
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


def last_night(session: Session) -> Date | None:
    """The last date that nightly has sealed."""
    with session.use() as connection:
        day: Date | None = statements().last_night(connection)["date"]
    return day


def read_date_states(
    session: Session, *, regions: Sequence[str], horizon_days: int
) -> Mapping[Date, DateState]:
    """Every date of which the ledger or the night has anything, as of one moment."""
    with session.use() as connection:
        rows = list(
            statements().date_states(connection, regions=list(regions), horizon_days=horizon_days)
        )
    return {row["date"]: _state(row) for row in rows}


def _state(row: Mapping[str, Any]) -> DateState:
    named = ("is_night", "is_trainable", "model", "is_model_of_window", "is_published")
    more = ("has_own_forecast", "published_model", "known_days", "measured_days", "date")
    return DateState(
        decided=frozenset(row["decided"]),
        content=row["content"] or NOTHING_RECORDED,
        seal=_freshness(row["is_sealed"], row["is_seal_current"]),
        window=_freshness(row["is_judged"], row["is_window_current"]),
        window_seals=row["window_seals"] or NOTHING_RECORDED,
        **{name: row[name] for name in (*named, *more)},
    )


def _freshness(is_there: bool, is_current: bool) -> Freshness:
    if not is_there:
        return Freshness.ABSENT
    return Freshness.CURRENT if is_current else Freshness.OUTDATED
