"""Writes a partition into the shadows, in the transaction that writes it into the live table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import READ, ShadowDefinition, ShadowState, judge_definition
from forecast_backfill.core.shadow_check import ShadowWrite
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse import shadow_sql
from forecast_backfill.warehouse.statements import statements

_REFUSED = (psycopg.IntegrityError, psycopg.DataError, psycopg.ProgrammingError)
"""What the shadow's own constraints, types or expressions refuse; all else ends the transaction."""

_HELD_BACK = "held back from "
"""Stands before the data version of a shadow's rows when the live ones were written alone."""


class _Unequal(Exception):
    """The stored rows are not what the mapping says; leaving the savepoint by it undoes them."""


def write_shadows(
    connection: psycopg.Connection[Any],
    partition: Partition,
    shadow_ids: Sequence[int],
    *,
    data_version: str | None,
    request: RunRequest,
    source: str = "daily_demand",
) -> tuple[ShadowWrite, ...]:
    """Write the partition as `source` has it into each shadow that is not dropped.

    `data_version` is that of the live rows. What a shadow refuses is recorded with its reason, its
    earlier rows of the partition stay, and the live write is not lost. A held shadow that is read
    gets nightly's writes only; of any other it is recorded that the partition is due in it.
    """
    found = list(statements().shadow_lock_written(connection, shadow_ids=list(shadow_ids)))
    is_backfill = request.workload is Workload.BACKFILL
    live = sql.Identifier(source)
    written: list[ShadowWrite] = []
    for row in found:
        if is_backfill and is_held_back(row):
            _hold_back(connection, partition, row, data_version, live)
        else:
            written.append(
                _write_one(connection, partition, row, data_version, request.run_id, live)
            )
    return tuple(written)


def is_held_back(row: Mapping[str, Any]) -> bool:
    """Whether campaigns do not come into the shadow, by its state and definition."""
    is_held: bool = row["definition"].get("follows") == "nightly"
    return is_held and ShadowState(row["state"]) in READ


def _hold_back(
    connection: psycopg.Connection[Any],
    partition: Partition,
    row: Mapping[str, Any],
    data_version: str | None,
    source: sql.Identifier,
) -> None:
    """Record that the shadow is due for the partition, unless it holds just these live rows.

    The same data version is not enough for that: it does not look at the columns of versions, which
    a shadow may have.
    """
    key = {"shadow_id": row["shadow_id"], "date": partition.date, "region": partition.region}
    recorded = statements().shadow_made_from(connection, **key)
    if recorded is None:
        return
    made_from = (recorded["data_version"] or "").removeprefix(_HELD_BACK) or None
    mark = data_version
    if made_from != data_version or not _is_equal(connection, key, row["definition"], source):
        mark = f"{_HELD_BACK}{made_from or ''}"
    statements().shadow_hold_back(connection, **key, data_version=mark)


def _is_equal(
    connection: psycopg.Connection[Any],
    key: Mapping[str, Any],
    definition: Mapping[str, object],
    source: sql.Identifier,
) -> bool:
    statement = shadow_sql.compare(
        key["shadow_id"], judge_definition(definition), by_region=True, source=source
    )
    try:
        with connection.transaction():
            sides = connection.execute(statement, key).fetchall()
    except _REFUSED:
        return False
    return all(
        (each["live_rows"], each["live_checksum"]) == (each["rows"], each["checksum"])
        for each in sides
    )


def _write_one(
    connection: psycopg.Connection[Any],
    partition: Partition,
    row: Mapping[str, Any],
    data_version: str | None,
    run_id: str,
    source: sql.Identifier,
) -> ShadowWrite:
    shadow_id, definition = row["shadow_id"], judge_definition(row["definition"])
    try:
        with connection.transaction():
            rows = _fill(connection, partition, shadow_id, definition, source)
        trouble = None
    except (*_REFUSED, _Unequal) as error:
        rows, trouble = 0, one_line(error)
    statements().shadow_record(
        connection,
        shadow_id=shadow_id,
        date=partition.date,
        region=partition.region,
        status="equal" if trouble is None else "failed",
        rows=rows,
        data_version=data_version if trouble is None else None,
        reason=trouble,
        run_id=run_id,
    )
    return ShadowWrite(shadow_id=shadow_id, rows=rows, trouble=trouble)


def _fill(
    connection: psycopg.Connection[Any],
    partition: Partition,
    shadow_id: int,
    definition: ShadowDefinition,
    source: sql.Identifier,
) -> int:
    key = {"date": partition.date, "region": partition.region}
    connection.execute(shadow_sql.delete(shadow_id), key)
    counted = connection.execute(shadow_sql.fill(shadow_id, definition, source), key).fetchone()
    assert counted is not None
    if (counted["rows"], counted["checksum"]) != (counted["live_rows"], counted["live_checksum"]):
        raise _Unequal(
            f"{counted['rows']} rows were stored, but not with the values that the mapping gives"
        )
    return int(counted["rows"])


def one_line(error: Exception) -> str:
    """What PostgreSQL said, with its detail, in one line."""
    return " ".join(str(error).split())
