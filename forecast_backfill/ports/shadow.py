"""What the steps of a shadow need of the world, as Protocols."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime
from typing import Protocol

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import ShadowDefinition, ShadowState
from forecast_backfill.core.shadow_check import ComparedPartition, DuePartition, Validation


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who takes a step, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """A shadow and its last step; `equal` and `troubled` count its partitions."""

    shadow_id: int
    state: ShadowState
    earlier: int | None
    definition: ShadowDefinition
    step: str
    at: datetime
    by: By
    equal: int
    troubled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A session that holds the readers' name; seconds since its transaction began."""

    pid: int
    user: str | None
    name: str | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """The name was not free within the lock timeout; who held it just after."""

    holders: tuple[Holder, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The step was taken; `held_seconds` is how long readers were kept waiting at the most."""

    held_seconds: float


class Shadows(Protocol):
    """Shadows in the database; each step is one transaction, guarded and recorded."""

    def list(self) -> tuple[Shadow, ...]:
        """All that there ever were, the oldest first."""
        ...

    def start(self, definition: ShadowDefinition, by: By) -> int:
        """Make the table; its number. Raises ShadowRefused where another is under way, and where
        PostgreSQL refuses an expression over the live table."""
        ...

    def due(self, shadow_id: int) -> tuple[DuePartition, ...]:
        """The partitions that it does not hold as they are live."""
        ...

    def leave_out(self, shadow_id: int, partition: Partition, by: By) -> None:
        """A person's word that it may be swapped without the partition."""
        ...

    def note_backfill(self, shadow_id: int, by: By, *, partitions: int) -> None:
        """Record that so many partitions are to be filled."""
        ...

    def dates(self) -> tuple[Date, ...]:
        """Every date of which either side may hold rows."""
        ...

    def compare(self, shadow_id: int, date: Date) -> tuple[ComparedPartition, ...]:
        """Both sides of the date's partitions in one snapshot; what differs is marked as due."""
        ...

    def settle(self, shadow_id: int, validation: Validation, by: By) -> ShadowState:
        """Record a validation and move the shadow by it; its state.

        What readers read stays in its state, whatever was found.
        """
        ...


class Versions(Protocol):
    """The version that readers read; each try is one transaction with a short lock timeout.

    Raises ShadowRefused where the shadow's state or content speaks against the step.
    """

    def try_swap(self, shadow_id: int, by: By) -> Moved | Blocked:
        """Repoint the readers' name to the shadow, if it is free within the lock timeout."""
        ...

    def try_revert(self, shadow_id: int, by: By) -> Moved | Blocked:
        """Repoint the readers' name to the earlier version."""
        ...

    def try_drop(self, shadow_id: int, by: By) -> Moved | Blocked:
        """Drop a shadow that is not read."""
        ...

    def try_adopt(self, shadow_id: int, by: By) -> Moved | Blocked:
        """Drop the version before the shadow that is read."""
        ...
