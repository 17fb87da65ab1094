"""What is recorded of shadows: read, moved along the arrows, noted with who and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from forecast_backfill.core.errors import ShadowRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import ShadowState, judge_definition, sources_of
from forecast_backfill.core.shadow_check import DuePartition, RefusedWrite
from forecast_backfill.core.states import PartitionStatus
from forecast_backfill.ports.shadow import By, Shadow
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

Connection = psycopg.Connection[Any]


def shadow_of(row: Mapping[str, Any]) -> Shadow:
    """A shadow from its row and that of its last step."""
    return Shadow(
        shadow_id=row["shadow_id"],
        state=ShadowState(row["state"]),
        earlier=row["earlier"],
        definition=judge_definition(row["definition"]),
        step=row["step"],
        at=row["at"],
        by=By(name=row["done_by"], reason=row["reason"]),
        equal=row["equal"],
        troubled=row["troubled"],
    )


def lock_shadow(
    connection: Connection, shadow_id: int, *, is_drop: bool = False
) -> tuple[ShadowState, int | None]:
    """State and earlier version, kept as they are until the transaction ends.

    For a drop it waits for whoever is writing the shadow. Raises ShadowRefused where there is none.
    """
    ask = statements().shadow_lock_for_drop if is_drop else statements().shadow_lock
    row = ask(connection, shadow_id=shadow_id)
    if row is None:
        raise ShadowRefused(
            f"there is no shadow {shadow_id}",
            why="none was started under that number",
            next_command="forecast-backfill shadow status",
        )
    return ShadowState(row["state"]), row["earlier"]


def move(
    connection: Connection, shadow_id: int, state: ShadowState, earlier: int | None = None
) -> None:
    """One guarded update. Raises ShadowRefused where no arrow leads there from where it is."""
    moved: int = statements().shadow_move(
        connection,
        shadow_id=shadow_id,
        state=state,
        sources=list(sources_of(state)),
        earlier=earlier,
    )
    if moved != 1:
        raise ShadowRefused(
            f"shadow {shadow_id} cannot become {state}",
            why="it has moved meanwhile",
            next_command="forecast-backfill shadow status",
        )


def note(connection: Connection, shadow_id: int, step: str, by: By, **detail: Any) -> None:
    """Append the step to the shadow's history, with the state that it has come to."""
    statements().shadow_note(
        connection,
        shadow_id=shadow_id,
        step=step,
        done_by=by.name,
        reason=by.reason,
        detail=Jsonb(detail),
    )


def refused_nightly(session: Session) -> tuple[RefusedWrite, ...]:
    """What readers do not see of nightly's, since the shadow that they read refuses it."""
    with session.use() as connection:
        return tuple(
            RefusedWrite(
                shadow_id=row["shadow_id"],
                state=ShadowState(row["state"]),
                partition=Partition(date=row["date"], region=row["region"]),
                reason=row["reason"],
            )
            for row in statements().shadow_refused_nightly(connection)
        )


def read_due(connection: Connection, shadow_id: int) -> tuple[DuePartition, ...]:
    """The partitions that the shadow does not hold as they are live."""
    return tuple(
        DuePartition(
            partition=Partition(date=row["date"], region=row["region"]),
            rows=row["rows"],
            is_done=row["status"] == PartitionStatus.DONE and row["output"] == "current",
            reason=row["reason"],
            left_out=row["left_out"],
        )
        for row in statements().shadow_due(connection, shadow_id=shadow_id)
    )
