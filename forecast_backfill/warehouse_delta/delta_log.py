"""The log of the Delta table: which files are current, and the commit that replaces a partition's.

Facts of deltalake 1.6 that shape it: two writers that create the same new partition both succeed
unless they share an app transaction id; a stale handle fails also for other partitions; a file that
is missing, or lies outside of the overwrite's filter, is accepted, so files are read back before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from forecast_backfill.core.errors import DatabaseInterrupted
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.warehouse_delta.demand_file import TABLE_SCHEMA, folder_of, sync
from forecast_backfill.warehouse_delta.packages import load_deltalake

TABLE = "daily_demand"
APP_ID = "forecast_backfill"
"""One id for every writer: of two commits over one version of the table, the second fails."""
COMMIT_TRIES = 5
_KEY = ["date", "region"]
_TRIED_AGAIN = "nothing, it is tried again; forecast-backfill status shows who runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`file`, of `rows` rows, is to take the place of the partition's files, `seen` before."""

    partition: Partition
    file: Path
    rows: int
    seen: tuple[Path, ...]


class Overtaken(DatabaseInterrupted):
    """Somebody else has replaced `partitions` meanwhile; they are to be looked at again."""

    def __init__(self, partitions: Sequence[Partition]) -> None:
        super().__init__(
            "the Delta table did not take the partition",
            why="another writer has replaced it meanwhile",
            next_command=_TRIED_AGAIN,
            partition=partitions[0],
        )
        self.partitions = tuple(partitions)


class DeltaLog:
    """The table's log over a folder; one of each process, since reading it whole is what costs."""

    def __init__(self, lakehouse: Path) -> None:
        self.directory = lakehouse / TABLE
        self._table: Any = None

    def reload(self) -> None:
        """Take in what was committed since; a table that does not exist yet is made."""
        if self._table is None:
            self._table = self._open()
        else:
            self._table.update_incremental()

    @property
    def version(self) -> int:
        """The version of the table as of the last reload."""
        version: int = self._table.version()
        return version

    def files_of(self, partition: Partition) -> tuple[Path, ...]:
        """The current files of the partition, as of the last reload: one, where all is well."""
        return self._files(
            [("date", "=", partition.date.isoformat()), ("region", "=", partition.region)]
        )

    def files_in(self, dates: DateRange, regions: Sequence[str] | None) -> tuple[Path, ...]:
        """The current files of the range, as of the last reload; None means every region."""
        chosen = [("date", ">=", _text(dates.start)), ("date", "<", _text(dates.end))]
        if regions is not None:
            chosen.append(("region", "in", list(regions)))  # type: ignore[arg-type]
        return self._files(chosen)

    def average_bytes(self) -> int:
        """Bytes of a current file on average, as of the last reload; 0 where there is none."""
        files = self._files(None)
        return sum(each.stat().st_size for each in files[:1000]) // max(1, len(files[:1000]))

    def publish(self, changes: Sequence[Change], told: Mapping[str, str]) -> None:
        """Commit all `changes` at once, with `told` in the commit's metadata.

        Raises Overtaken where a partition has other files by now: a writer whose lease is lost, or
        one that does not know of leases. Raises DatabaseInterrupted where others' commits come in
        between each time. Then nothing is committed.
        """
        reason = ""
        for _ in range(COMMIT_TRIES):
            self.reload()
            overtaken = [each.partition for each in changes if not self._is_as_seen(each)]
            if overtaken:
                raise Overtaken(overtaken)
            try:
                self._commit(changes, told)
            except load_deltalake().exceptions.CommitFailedError as error:
                reason = " ".join(str(error).split())
                continue
            log = self.directory / "_delta_log"
            sync([log / f"{self.version + 1:020}.json", log])
            return
        raise _interrupted(changes[0].partition, reason)

    def _is_as_seen(self, change: Change) -> bool:
        return self.files_of(change.partition) == tuple(change.seen)

    def _commit(self, changes: Sequence[Change], told: Mapping[str, str]) -> None:
        deltalake = load_deltalake()
        counter = (self._table.transaction_version(APP_ID) or 0) + 1
        actions: list[Any] = []
        for change in changes:
            actions += [_removal(deltalake, change, each) for each in change.seen]
            actions.append(_addition(deltalake, change))
        self._table.create_write_transaction(
            actions,
            "append",
            TABLE_SCHEMA,
            _KEY,
            commit_properties=deltalake.CommitProperties(
                custom_metadata=dict(told),
                app_transactions=[deltalake.Transaction(APP_ID, counter)],
                # Another's commit means that the partitions are looked at again first.
                max_commit_retries=0,
            ),
        )

    def _files(self, chosen: list[tuple[str, str, str]] | None) -> tuple[Path, ...]:
        found = self._table.file_uris(file_pruning_predicate=chosen)
        # Addresses, in which a blank is %20; a file lies in its partition's folder.
        places = [unquote(each).rsplit("/", 3)[1:] for each in found]
        return tuple(sorted(self.directory.joinpath(*place) for place in places))

    def _open(self) -> Any:
        deltalake = load_deltalake()
        if not deltalake.DeltaTable.is_deltatable(str(self.directory)):
            self.directory.mkdir(parents=True, exist_ok=True)
            # Another process may be faster; if that is not it, opening tells.
            with suppress(deltalake.exceptions.DeltaError):
                deltalake.DeltaTable.create(
                    str(self.directory), TABLE_SCHEMA, partition_by=_KEY, name=TABLE
                )
        return deltalake.DeltaTable(str(self.directory))


def _addition(deltalake: Any, change: Change) -> Any:
    written = change.file.stat()
    return deltalake.transaction.AddAction(
        path=_path(change, change.file),
        size=written.st_size,
        partition_values=_values(change),
        modification_time=int(written.st_mtime * 1000),
        data_change=True,
        stats=f'{{"numRecords": {change.rows}}}',
    )


def _removal(deltalake: Any, change: Change, gone: Path) -> Any:
    return deltalake.transaction.RemoveAction(
        path=_path(change, gone),
        data_change=True,
        # When its successor was written: there is no clock down here.
        deletion_timestamp=int(change.file.stat().st_mtime * 1000),
        size=gone.stat().st_size if gone.exists() else None,
        partition_values=_values(change),
    )


def _path(change: Change, file: Path) -> str:
    return f"{folder_of(change.partition)}/{file.name}"


def _values(change: Change) -> dict[str, str]:
    return {"date": _text(change.partition.date), "region": change.partition.region}


def _interrupted(partition: Partition, why: str) -> DatabaseInterrupted:
    return DatabaseInterrupted(
        "the Delta table did not take the partition",
        why=why,
        next_command=_TRIED_AGAIN,
        partition=partition,
    )


def _text(day: Date) -> str:
    return day.isoformat()
