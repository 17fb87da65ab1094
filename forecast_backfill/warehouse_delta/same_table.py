"""Whether the folder holds the table that the ledger speaks of, before a file is written there."""

from __future__ import annotations

from typing import Any

import psycopg

from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.stored_in import in_lakehouse
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse.statements import statements
from forecast_backfill.warehouse_delta.delta_log import DeltaLog

LOOKED_AT = 3
"""The last written partitions: a table that knows none of them is not the one they went to."""


def refuse_other_table(
    connection: psycopg.Connection[Any], log: DeltaLog, partition: Partition, request: RunRequest
) -> None:
    """Raise WarehouseRefused where the ledger's rows went to another table than the folder's.

    A folder that is not mounted, another machine's, or one that was deleted: rows that went there
    now would be in no table with the others. Who rebuilds (`reprocess`) may begin a new one.
    """
    if request.reprocess:
        return
    rows: list[dict[str, Any]] = list(
        statements().newest_in_lakehouse(connection, code_suffix=in_lakehouse(""), count=LOOKED_AT)
    )
    newest = [Partition(date=row["date"], region=row["region"]) for row in rows]
    if not newest:
        return
    if log.exists:
        log.reload()
        if any(log.files_of(each) for each in newest):
            return
    raise WarehouseRefused(
        "the partition was not written to the lakehouse",
        why=f"by the ledger {newest[0]} is there, and {log.directory} holds no file of it: another "
        "folder, one that is not mounted, or a table that was deleted",
        next_command="export FORECAST_BACKFILL_LAKEHOUSE=… (or mount it); where the table is lost: "
        "forecast-backfill reconcile --repair",
        partition=partition,
    )
