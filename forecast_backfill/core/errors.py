"""Every expected error: one root, one class for each remedy, each with the next command to run."""

from __future__ import annotations

from forecast_backfill.core.partition import Partition


class ForecastBackfillError(Exception):
    """An expected error that an operator can act on.

    `what` says what failed, `why` the cause, `next_command` what to do now, and `partition`
    (None where no single partition is meant) which one.
    """

    def __init__(
        self, what: str, *, why: str, next_command: str, partition: Partition | None = None
    ) -> None:
        self.what = what
        self.why = why
        self.next_command = next_command
        self.partition = partition
        where = f" [{partition}]" if partition is not None else ""
        super().__init__(f"{what}{where}: {why}. Next: {next_command}")


class SettingRefused(ForecastBackfillError):
    """A setting is missing, malformed or contradicts another; correct it and start again."""


class UsageRefused(ForecastBackfillError):
    """A command's arguments cannot be meant (an empty range, an unknown region)."""


class DatabaseUnavailable(ForecastBackfillError):
    """PostgreSQL cannot be reached or started; the remedy is on the server's side."""


class ConnectionsExhausted(DatabaseUnavailable):
    """Backfill has as many connections as it may; wait for one to end, or allow more."""


class LandingIncomplete(ForecastBackfillError):
    """Landed data that every partition needs (a dimension) is absent or unreadable."""


class DimensionRefused(ForecastBackfillError):
    """A landed dimension contradicts itself, or was not stored as it was read; it is not used."""


class DatabaseInterrupted(ForecastBackfillError):
    """A connection or transaction was lost; the whole partition may be tried again."""


class EpochRaised(ForecastBackfillError):
    """The workload was killed after this task began; the task may not commit."""


class KillIncomplete(ForecastBackfillError):
    """A kill could not raise the epoch: sessions that are committing could not be ended."""


class PartitionLeased(DatabaseInterrupted):
    """Another task held the partition's lease for longer than the lock timeout."""


class MissingVersion(ForecastBackfillError):
    """A row or source that takes part in a merge has no version; the source must give one."""


class TransitionRefused(ForecastBackfillError):
    """A ledger row was not in a state from which the asked transition is allowed."""


class WarehouseRefused(ForecastBackfillError):
    """The warehouse in use cannot do what was asked, or does not hold it; another way is named."""


class TableRefused(ForecastBackfillError):
    """A table cannot be read or repaired as asked; the reason is the table's or the database's."""


class RollbackMismatched(ForecastBackfillError):
    """A rollback did not come to the bytes that were there before; it was undone."""


class ExportRefused(ForecastBackfillError):
    """An export's folder cannot be written: it is full, forbidden, or another export's just now."""


class DiskTooFull(ForecastBackfillError):
    """What a campaign may write does not fit on the disk; nothing was written."""


class ShadowRefused(ForecastBackfillError):
    """A step of a shadow was refused: its declaration, state or content speaks against it."""


class DagsterUnreachable(ForecastBackfillError):
    """The Dagster webserver did not answer, or answered with an error."""


class NotificationFailed(ForecastBackfillError):
    """A notice was not taken by a target of its audience; it is tried again later."""
