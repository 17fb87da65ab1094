"""Shadows in PostgreSQL: made, looked at, and compared with the live table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date as Date
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from forecast_backfill.core.errors import ShadowRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import (
    TRANSITIONS,
    ShadowDefinition,
    ShadowState,
    judge_definition,
)
from forecast_backfill.core.shadow_check import ComparedPartition, DuePartition, Validation
from forecast_backfill.ports.shadow import By, Shadow
from forecast_backfill.warehouse import shadow_sql
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.shadow_records import (
    Connection,
    lock_shadow,
    move,
    note,
    read_due,
    shadow_of,
)
from forecast_backfill.warehouse.shadow_rows import one_line
from forecast_backfill.warehouse.statements import statements

Seen = tuple[ComparedPartition, datetime | None]
"""A comparison, and when the partition had been written as it was compared."""

_NOWHERE = {"date": Date(1, 1, 1), "region": ""}


class PostgresShadows:
    """The shadows, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self) -> tuple[Shadow, ...]:
        """All that there ever were, the oldest first."""
        with self._session.use() as connection:
            return tuple(shadow_of(row) for row in statements().shadow_list(connection))

    def start(self, definition: ShadowDefinition, by: By) -> int:
        """Make the table; its number.

        Raises ShadowRefused where another is under way, and where PostgreSQL refuses an expression
        over the live table.
        """
        fields = Jsonb(definition.as_fields())
        try:
            with self._session.transaction() as connection:
                shadow_id: int = statements().shadow_insert(connection, definition=fields)[
                    "shadow_id"
                ]
                connection.execute(shadow_sql.create_table(shadow_id, definition))
                _probe(connection, shadow_id, definition)
                note(connection, shadow_id, "start", by)
        except (psycopg.errors.ExclusionViolation, psycopg.errors.UniqueViolation) as error:
            raise ShadowRefused(
                "no shadow was started",
                why="another one is under way, or swapped and still to be reverted or kept",
                next_command="forecast-backfill shadow status; then shadow drop, or drop --earlier",
            ) from error
        return shadow_id

    def due(self, shadow_id: int) -> tuple[DuePartition, ...]:
        """The partitions that it does not hold as they are live."""
        with self._session.use() as connection:
            return read_due(connection, shadow_id)

    def leave_out(self, shadow_id: int, partition: Partition, by: By) -> None:
        """A person's word that it may be swapped without the partition."""
        with self._session.transaction() as connection:
            statements().shadow_leave_out(
                connection,
                shadow_id=shadow_id,
                date=partition.date,
                region=partition.region,
                reason=by.reason,
                left_out_by=by.name,
            )
            note(connection, shadow_id, "leave_out", by, partition=str(partition))

    def note_backfill(self, shadow_id: int, by: By, *, partitions: int) -> None:
        """Record that so many partitions are to be filled."""
        with self._session.transaction() as connection:
            note(connection, shadow_id, "backfill", by, partitions=partitions)

    def dates(self) -> tuple[Date, ...]:
        """Every date of which either side may hold rows."""
        with self._session.use() as connection:
            return tuple(row["date"] for row in statements().shadow_dates(connection))

    def compare(self, shadow_id: int, date: Date) -> tuple[ComparedPartition, ...]:
        """Both sides of the date's partitions in one snapshot; what differs is marked as due."""
        with self._session.use() as connection:
            definition = _definition(connection, shadow_id)
            try:
                found = _compare(connection, shadow_id, definition, date)
            except psycopg.DataError:
                # Some live row cannot be mapped: region by region, to say where.
                found = list(_by_region(connection, shadow_id, definition, date))
            for each, seen in found:
                if each.difference is not None:
                    statements().shadow_mark_differing(
                        connection,
                        shadow_id=shadow_id,
                        date=date,
                        region=each.partition.region,
                        reason=each.difference,
                        seen=seen,
                        run_id="validate",
                    )
        return tuple(each for each, _ in found)

    def settle(self, shadow_id: int, validation: Validation, by: By) -> ShadowState:
        """Record a validation and move the shadow by it; its state.

        What readers read stays in its state, whatever was found.
        """
        with self._session.transaction() as connection:
            state, _ = lock_shadow(connection, shadow_id)
            if (state, validation.state) in TRANSITIONS:
                move(connection, shadow_id, validation.state)
                state = validation.state
            note(
                connection,
                shadow_id,
                "validate",
                by,
                partitions=validation.partitions,
                rows=validation.rows,
                left_out=len(validation.left_out),
                differing=len(validation.differing),
            )
        with self._session.use() as connection:
            connection.execute(sql.SQL("ANALYZE {}").format(shadow_sql.table_of(shadow_id)))
        return state


def _definition(connection: Connection, shadow_id: int) -> ShadowDefinition:
    row = statements().shadow_definition(connection, shadow_id=shadow_id)
    return judge_definition(row["definition"])


def _probe(connection: Connection, shadow_id: int, definition: ShadowDefinition) -> None:
    """Let PostgreSQL plan every expression. Raises ShadowRefused with what it says."""
    for column in definition.columns:
        _plan(connection, shadow_sql.probe(column), f"the expression of {column.name}")
    _plan(connection, shadow_sql.probe_all(shadow_id, definition), "the definition")


def _plan(connection: Connection, statement: sql.Composed, what: str) -> None:
    try:
        with connection.transaction():
            connection.execute(statement, _NOWHERE)
    except (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError) as error:
        raise ShadowRefused(
            f"{what} was refused",
            why=one_line(error),
            next_command="correct the file, then forecast-backfill shadow start …",
        ) from error


def _compare(
    connection: Connection,
    shadow_id: int,
    definition: ShadowDefinition,
    date: Date,
    region: str | None = None,
) -> list[Seen]:
    statement = shadow_sql.compare(shadow_id, definition, by_region=region is not None)
    asked = {"shadow_id": shadow_id, "date": date, "region": region}
    return [_seen(date, row) for row in connection.execute(statement, asked)]


def _by_region(
    connection: Connection, shadow_id: int, definition: ShadowDefinition, date: Date
) -> Iterator[Seen]:
    regions = [row["region"] for row in statements().shadow_regions_of(connection, day=date)]
    for region in regions:
        try:
            yield from _compare(connection, shadow_id, definition, date, region)
        except psycopg.DataError as error:
            partition = Partition(date=date, region=region)
            row = statements().shadow_seen(
                connection, shadow_id=shadow_id, date=date, region=region
            )
            failed = ComparedPartition(
                partition=partition,
                live=(0, 0),
                shadow=(0, 0),
                left_out=row["left_out"],
                trouble=f"a live row cannot be mapped: {one_line(error)}",
            )
            yield failed, row["seen"]


def _seen(date: Date, row: Mapping[str, Any]) -> Seen:
    compared = ComparedPartition(
        partition=Partition(date=date, region=row["region"]),
        live=(row["live_rows"], int(row["live_checksum"])),
        shadow=(row["rows"], int(row["checksum"])),
        left_out=row["left_out"],
    )
    return compared, row["seen"]
