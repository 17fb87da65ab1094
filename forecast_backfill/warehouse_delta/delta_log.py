"""The log of the Delta table: which files are current, and the commit that replaces a partition's.

Facts of deltalake 1.6 that shape it: two writers that create the same new partition both succeed
unless they share an app transaction id; a stale handle fails also for other partitions; a file that
is missing, or lies outside of the overwrite's filter, is accepted, so files are read back before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from forecast_backfill.warehouse_delta.told import brief, log_told

TABLE = "daily_demand"
APP_ID = "forecast_backfill"
"""One id for every writer: of two commits over one version of the table, the second fails."""
COMMIT_TRIES = 5
_KEY = ["date", "region"]
_REPLACED = "another writer has replaced it meanwhile"
_TRIED_AGAIN = "nothing, it is tried again; forecast-backfill status shows who runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`file`, of `rows` rows, is to take the place of the partition's files, `seen` before.

    `size` is in bytes, as of the moment when the file was read back; None: not looked at again.
    """

    partition: Partition
    file: Path
    rows: int
    seen: tuple[Path, ...]
    size: int | None = None


class Overtaken(DatabaseInterrupted):
    """`partitions`, or files that were to be theirs, are not what they were; to be looked at again.

    Somebody else has replaced them meanwhile, or has removed what was staged.
    """

    def __init__(self, partitions: Sequence[Partition], *, why: str = _REPLACED) -> None:
        super().__init__(
            "the Delta table did not take the partition",
            why=why,
            next_command=_TRIED_AGAIN,
            partition=partitions[0],
        )
        self.partitions = tuple(partitions)


class DeltaLog:
    """The table's log over a folder; one of each process, since reading it whole is what costs.

    Who `makes` the table may begin it where there is none; to all others it then has no files.
    """

    def __init__(self, lakehouse: Path, *, makes: bool = True) -> None:
        self.directory = lakehouse / TABLE
        self._makes = makes
        self.is_known = False
        """Whether it was made sure that the ledger's rows are in this table."""
        self._table: Any = None

    def reload(self) -> None:
        """Take in what was committed since; a table that does not exist yet is made.

        Raises WarehouseRefused where the log cannot be read, or nothing can be written there.
        """
        with log_told(self.directory, "the Delta table cannot be read"):
            if self._table is None:
                self._table = self._open(makes=self._makes)
                return
            if not self._update():
                # The folder is another than it was: moved away, put back, begun anew.
                self._table, self.is_known = None, False
                self._table = self._open(makes=False)

    def _update(self) -> bool:
        if not (self.directory / "_delta_log").is_dir():
            return False
        try:
            self._table.update_incremental()
        except load_deltalake().exceptions.DeltaError:
            return False
        return True

    @property
    def exists(self) -> bool:
        """Whether there is a table in the folder, now."""
        with log_told(self.directory, "the Delta table cannot be read"):
            found: bool = load_deltalake().DeltaTable.is_deltatable(str(self.directory))
        return found

    @property
    def is_open(self) -> bool:
        """Whether there was a table, as of the last reload."""
        return self._table is not None

    @property
    def version(self) -> int:
        """The version of the table as of the last reload; there is one."""
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

    def kept(self, partition: Partition, data_version: str) -> Sequence[Path]:
        """Files of that content in the partition's folder, current or not, whole or not."""
        return sorted((self.directory / folder_of(partition)).glob(f"{data_version}-*.parquet"))

    def average_bytes(self) -> int:
        """Bytes of a current file on average, as of the last reload; 0 where there is none."""
        sizes = [size for each in self._files(None)[:1000] if (size := _size_of(each)) is not None]
        return sum(sizes) // max(1, len(sizes))

    def publish(self, changes: Sequence[Change], told: Mapping[str, str]) -> None:
        """Commit all `changes` at once, with `told` in the commit's metadata.

        Raises Overtaken where a partition has other files by now (a writer whose lease is lost, or
        one that does not know of leases), or where what was staged is not there any more. Raises
        DatabaseInterrupted where others' commits come in between each time, and WarehouseRefused
        where the log cannot be written. Then nothing is committed.
        """
        reason = ""
        for _ in range(COMMIT_TRIES):
            self.reload()
            self._check(changes)
            made = last = self.version + 1
            try:
                self._commit(changes, told)
            except load_deltalake().exceptions.CommitFailedError as error:
                reason = brief(error)
                continue
            except (load_deltalake().exceptions.DeltaError, OSError) as error:
                # Also what follows a commit may fail (a checkpoint): then it is made all the same.
                self.reload()
                if not all(self.files_of(each.partition) == (each.file,) for each in changes):
                    with log_told(
                        self.directory, "the Delta table was not written", changes[0].partition
                    ):
                        raise error
                last = self.version
            self._sync_commits(range(made, last + 1), changes[0].partition)
            return
        raise _interrupted(changes[0].partition, reason)

    def _check(self, changes: Sequence[Change]) -> None:
        if self._table is None:
            every = [each.partition for each in changes]
            raise Overtaken(every, why="the table has been taken away meanwhile")
        overtaken = [
            each.partition for each in changes if self.files_of(each.partition) != tuple(each.seen)
        ]
        if overtaken:
            raise Overtaken(overtaken)
        lost = [each.partition for each in changes if not _is_there(each)]
        if lost:
            why = "its file, which was read back, is gone or another by now (VACUUM?)"
            raise Overtaken(lost, why=why)

    def _sync_commits(self, versions: Iterable[int], partition: Partition) -> None:
        log = self.directory / "_delta_log"
        with log_told(self.directory, "the Delta table was not written", partition):
            sync([*(log / f"{each:020}.json" for each in versions), log])

    def _commit(self, changes: Sequence[Change], told: Mapping[str, str]) -> None:
        deltalake = load_deltalake()
        counter = (self._table.transaction_version(APP_ID) or 0) + 1
        actions: list[Any] = []
        for change in changes:
            actions += [self._removal(deltalake, change, each) for each in change.seen]
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

    def _removal(self, deltalake: Any, change: Change, gone: Path) -> Any:
        is_inside = gone.is_relative_to(self.directory)
        return deltalake.transaction.RemoveAction(
            path=gone.relative_to(self.directory).as_posix() if is_inside else gone.as_posix(),
            data_change=True,
            # When its successor was written: there is no clock down here.
            deletion_timestamp=int(change.file.stat().st_mtime * 1000),
            size=_size_of(gone),
            partition_values=_values(change),
        )

    def _files(self, chosen: list[tuple[str, str, str]] | None) -> tuple[Path, ...]:
        if self._table is None:
            return ()
        root = self._table.table_uri.removeprefix("file://")
        found = self._table.file_uris(file_pruning_predicate=chosen)
        # Addresses, in which a blank is %20. Others' files may lie outside of a partition's folder.
        places = [unquote(each.removeprefix(root)) for each in found]
        return tuple(sorted(self.directory / each for each in places))

    def _open(self, *, makes: bool) -> Any:
        deltalake = load_deltalake()
        if not deltalake.DeltaTable.is_deltatable(str(self.directory)):
            if not makes:
                return None
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
        path=f"{folder_of(change.partition)}/{change.file.name}",
        size=written.st_size,
        partition_values=_values(change),
        modification_time=int(written.st_mtime * 1000),
        data_change=True,
        stats=f'{{"numRecords": {change.rows}}}',
    )


def _size_of(file: Path) -> int | None:
    try:
        return file.stat().st_size
    except OSError:
        return None


def _is_there(change: Change) -> bool:
    size = _size_of(change.file)
    return size is not None and change.size in (None, size)


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
