"""Judged windows, overrides and the demand of a window in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date as Date
from datetime import timedelta
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from forecast_backfill.core.completeness import Override
from forecast_backfill.core.coverage import CellState, LeftOut
from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.stored_in import is_in_lakehouse
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.night_values import VerdictKind, WindowUnits, WindowVerdict
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.fences import fenced
from forecast_backfill.warehouse.replica import Replica
from forecast_backfill.warehouse.statements import statements

STREAMED_ROWS = 500
"""How many partitions of a window come from the server at a time."""


class PostgresWindows:
    """Judged windows with what they leave out, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, day: Date) -> WindowVerdict | None:
        """The window as it was judged last."""
        with self._session.use() as connection:
            row = statements().find_window(connection, date=day)
        return None if row is None else _verdict(row)

    def store(self, verdict: WindowVerdict, request: RunRequest) -> None:
        """Put the verdict and its exclusions in the place of what was there."""
        day, override = verdict.date, verdict.override
        listed = [*verdict.left_out, *verdict.stale_used]
        with fenced(self._session, request, f"window {day}") as connection:
            statements().clear_window(connection, date=day)
            statements().store_window(
                connection,
                date=day,
                verdict=verdict.kind,
                reasons=list(verdict.reasons),
                window_start=verdict.window.start,
                window_end=verdict.window.end,
                regions=list(verdict.regions),
                expected=verdict.expected,
                left_out=len(verdict.left_out),
                seals=Jsonb({each.isoformat(): seal for each, seal in verdict.seals.items()}),
                window_digest=verdict.window_digest,
                changed_dates=list(verdict.changed_dates),
                override_by=None if override is None else override.by,
                override_reason=None if override is None else override.reason,
                workload=request.workload,
                run_id=request.run_id,
                campaign_id=request.campaign_id,
            )
            statements().store_coverage(
                connection,
                date=day,
                dates=[each.partition.date for each in listed],
                regions=[each.partition.region for each in listed],
                states=[str(each.state) for each in listed],
                used=[False] * len(verdict.left_out) + [True] * len(verdict.stale_used),
                reasons=[each.reason for each in listed],
            )

    def find_override(self, day: Date, window_digest: str) -> Override | None:
        """Who took exactly this content of the window, if anybody."""
        with self._session.use() as connection:
            row = statements().find_override(connection, date=day, window_digest=window_digest)
        if row is None:
            return None
        return Override(by=row["override_by"], reason=row["override_reason"])

    def store_override(self, day: Date, window_digest: str, override: Override) -> None:
        """Record who takes the window; the first one stands."""
        with self._session.use() as connection:
            statements().store_override(
                connection,
                date=day,
                window_digest=window_digest,
                override_by=override.by,
                override_reason=override.reason,
            )


class PostgresDemand:
    """`daily_demand` as models and measures read it, over one session or a replica of it."""

    def __init__(self, session: Session, replica: Replica | None = None) -> None:
        self._session = session
        self._replica = replica

    def read(self, window: DateRange) -> Sequence[WindowUnits]:
        """Every readable partition of the window (stale ones too), in one snapshot, sorted."""
        return self._read(window, region=None, is_current=False)

    def read_current(self, window: DateRange, region: str) -> Sequence[WindowUnits]:
        """The partitions of one region whose output is not stale, in one snapshot, sorted."""
        return self._read(window, region=region, is_current=True)

    def _read(
        self, window: DateRange, *, region: str | None, is_current: bool
    ) -> Sequence[WindowUnits]:
        return self._through(
            lambda session: read_units(session, window, region=region, is_current=is_current)
        )

    def _through(self, read: Callable[[Session], Sequence[WindowUnits]]) -> Sequence[WindowUnits]:
        """What `read` finds on the replica, or else on the primary."""
        found = None if self._replica is None else self._replica.read(self._session, read)
        return read(self._session) if found is None else found


@contextmanager
def shared_snapshot(session: Session) -> Iterator[tuple[str, Callable[[], None]]]:
    """The name of a snapshot from which other sessions can read, while the block lasts.

    The second value is called now and then: a transaction that idles is ended.
    """
    with session.transaction() as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        row = connection.execute("SELECT pg_export_snapshot() AS name").fetchone()
        assert row is not None

        def stay_awake() -> None:
            connection.execute("SELECT")

        yield row["name"], stay_awake


def read_units(
    session: Session,
    window: DateRange,
    *,
    region: str | None = None,
    is_current: bool = False,
    snapshot: str | None = None,
) -> Sequence[WindowUnits]:
    """The readable partitions of the window, sorted, in one snapshot: its own, or a shared one.

    They come in pieces: only what is made of a row is kept.
    """
    with session.transaction() as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if snapshot is not None:
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
        with connection.cursor("units") as cursor:
            cursor.itersize = STREAMED_ROWS
            cursor.execute(
                statements().read_units.sql,
                {
                    "start": window.start,
                    "end": window.end,
                    "region": region,
                    "is_current": is_current,
                },
            )
            return tuple(_units(row) for row in cursor)


def _units(row: Mapping[str, Any]) -> WindowUnits:
    partition = Partition(date=row["date"], region=row["region"])
    if is_in_lakehouse(row["code_version"]):
        raise elsewhere(partition, where="the lakehouse")
    return WindowUnits(
        partition=partition,
        data_version=row["data_version"],
        units=dict(zip(row["groups"], row["units"], strict=True)),
    )


def elsewhere(partition: Partition, *, where: str) -> WarehouseRefused:
    """The error for a partition whose rows are in the other warehouse; a campaign moves them."""
    after = partition.date + timedelta(days=1)
    return WarehouseRefused(
        "a window cannot be read",
        why=f"rows of it are in {where} still, and FORECAST_BACKFILL_WAREHOUSE names the other",
        next_command=f"forecast-backfill backfill --from {partition.date} --to {after} (or the "
        "whole range), which moves what is not moved yet; or set FORECAST_BACKFILL_WAREHOUSE back",
        partition=partition,
    )


def _verdict(row: Mapping[str, Any]) -> WindowVerdict:
    listed, override = row["listed"], None
    if row["override_by"] is not None:
        override = Override(by=row["override_by"], reason=row["override_reason"])
    return WindowVerdict(
        date=row["date"],
        kind=VerdictKind(row["verdict"]),
        reasons=tuple(row["reasons"]),
        window=DateRange(start=row["window_start"], end=row["window_end"]),
        regions=tuple(row["regions"]),
        expected=row["expected"],
        left_out=tuple(_left_out(each) for each in listed if not each["is_used"]),
        stale_used=tuple(_left_out(each) for each in listed if each["is_used"]),
        seals={Date.fromisoformat(each): seal for each, seal in row["seals"].items()},
        window_digest=row["window_digest"],
        changed_dates=tuple(row["changed_dates"]),
        override=override,
    )


def _left_out(row: Mapping[str, Any]) -> LeftOut:
    return LeftOut(
        partition=Partition(date=Date.fromisoformat(row["partition_date"]), region=row["region"]),
        state=CellState(row["state"]),
        reason=row["reason"],
    )
