"""Errors of the packages and of the disk, as an operator can act on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forecast_backfill.core.errors import DatabaseInterrupted, WarehouseRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.warehouse_delta.packages import load_deltalake

LONGEST_WHY = 300


def brief(error: BaseException) -> str:
    """What an error says, in one line, without a package's own backtrace and colours."""
    text = str(error).partition("<unknown>")[0].replace("\x1b[31m↳\x1b[0m", "")
    return " ".join(text.split())[:LONGEST_WHY] or type(error).__name__


def repair_command(partition: Partition) -> str:
    """The command that proves one partition from its source, and writes it anew."""
    return f"forecast-backfill reconcile --repair {partition.options}"


def rewrite_command(partition: Partition) -> str:
    """The command that writes one partition anew, whatever is stored there."""
    return (
        f"forecast-backfill backfill --reprocess {partition.options}, which adopts or rewrites it; "
        "where nightly owns the date: forecast-backfill nightly "
        f"--date {partition.date} --reprocess"
    )


@contextmanager
def log_told(directory: Path, what: str, partition: Partition | None = None) -> Iterator[None]:
    """Raise WarehouseRefused for what reading or writing the table's log in `directory` raises."""
    try:
        yield
    except (load_deltalake().exceptions.DeltaError, OSError, ValueError) as error:
        raise WarehouseRefused(
            what,
            why=f"{directory}: {brief(error)}",
            next_command=f"put {directory} right (mount it, free its disk, restore its _delta_log);"
            " or move it away: forecast-backfill reconcile --repair then writes the table anew",
            partition=partition,
        ) from error


@contextmanager
def file_told(directory: Path, partition: Partition) -> Iterator[None]:
    """Raise WarehouseRefused for what writing a partition's file under `directory` raises.

    Raises DatabaseInterrupted, which is tried again, where the file was taken away meanwhile.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise DatabaseInterrupted(
            "a file of the lakehouse is gone before it was offered to the table",
            why=f"{brief(error)}: VACUUM without retention?",
            next_command="nothing, it is tried again; vacuum with a retention of some hours",
            partition=partition,
        ) from error
    except OSError as error:
        raise WarehouseRefused(
            "a file of the lakehouse was not written",
            why=f"{directory}: {brief(error)}",
            next_command="free the disk, or make the folder writable; then the same campaign, or "
            f"forecast-backfill nightly --date {partition.date}, again",
            partition=partition,
        ) from error
