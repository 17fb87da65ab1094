"""A batch whose partitions are staged one by one and committed together.

For a warehouse whose commit costs the same for one partition as for hundreds. Each partition goes
through `run_partition` as ever; only the outcome of what is staged is held back until its group is
committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, cast

from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import (
    DatabaseInterrupted,
    EpochRaised,
    PartitionLeased,
)
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import Clock, Ports, RunRequest

GROUP_SIZE = 400
GROUP_SECONDS = 30.0
"""So long a group is collected; what a crash costs is a group's work."""


class Group(Protocol):
    """What is staged and not yet committed; no lock is held for it."""

    @property
    def partitions(self) -> Sequence[Partition]:
        """What is staged."""
        ...

    def publish(self) -> Sequence[Partition]:
        """Record and commit all that is staged; what was not, because others were there first."""
        ...

    def clear(self) -> None:
        """Forget what is staged."""
        ...


class GroupingWarehouse(Protocol):
    """A warehouse that can stage partitions."""

    def open_group(self) -> Group:
        """From now on partitions are staged, until the group is closed."""
        ...

    def close_group(self) -> None:
        """Each partition is committed on its own again."""
        ...


def run_grouped(
    partitions: Iterable[Partition],
    request: RunRequest,
    ports: Ports,
    tell: Callable[[Outcome], None],
) -> list[Outcome]:
    """Try every partition; tell an outcome as soon as it is known and, where written, committed.

    What could not be committed with its group is tried again on its own. Raises as `run_batch`.
    """
    warehouse = cast("GroupingWarehouse", ports.warehouse)
    batch = _Batch(request=request, ports=ports, tell=tell, group=warehouse.open_group())
    try:
        batch.run(partitions)
    except BaseException as stop:
        warehouse.close_group()
        batch.give_up(f"its group was not committed: {type(stop).__name__}")
        raise
    warehouse.close_group()
    return batch.run_alone()


@dataclass(kw_only=True)
class _Batch:
    """One batch under way: `held` are outcomes whose partitions are staged."""

    request: RunRequest
    ports: Ports
    tell: Callable[[Outcome], None]
    group: Group
    held: dict[Partition, Outcome] = field(default_factory=dict[Partition, Outcome])
    alone: list[Partition] = field(default_factory=list[Partition])
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    def run(self, partitions: Iterable[Partition]) -> None:
        # Who waits (for a slot, a pause, the rate) commits first what is ready.
        clock = _CommitsFirst(self.ports.clock, self.commit)
        ports = replace(self.ports, clock=clock)
        began = clock.monotonic()
        for partition in partitions:
            run_batch([partition], self.request, ports, self._take)
            is_due = clock.monotonic() - began >= GROUP_SECONDS
            if is_due or len(self.held) >= GROUP_SIZE:
                self.commit()
                began = clock.monotonic()
        self.commit()

    def commit(self) -> None:
        """Commit what is staged, and tell it; what was not is left to be tried alone."""
        if not self.held:
            return
        left: list[Partition] = []

        def publish() -> Outcome:
            left.extend(self.group.publish())
            return next(iter(self.held.values()))

        try:
            self.ports.retry(publish)
        except EpochRaised:
            raise
        except PartitionLeased:
            left = list(self.held)
        except DatabaseInterrupted:
            raise
        except Exception:  # noqa: BLE001 — what goes wrong for one must not cost the others
            # One of them is another run's by now, or the end of a commit was lost on the way. What
            # concerns all (a full disk) is told of each when it is tried alone.
            left = list(self.held)
        self.group.clear()
        held, self.held = self.held, {}
        self.alone += left
        for partition, outcome in held.items():
            if partition not in left:
                self._end(outcome)

    def run_alone(self) -> list[Outcome]:
        """Try what could not be committed with its group; all outcomes."""
        run_batch(self.alone, self.request, self.ports, self._end)
        return self.outcomes

    def give_up(self, reason: str) -> None:
        """Record that what is staged was not committed."""
        for partition in [*self.held, *self.alone]:
            with suppress(Exception):
                self.ports.ledger.fail(partition, self.request, reason=reason)

    def _take(self, outcome: Outcome) -> None:
        if outcome.partition in self.group.partitions:
            self.held[outcome.partition] = outcome
        else:
            self._end(outcome)

    def _end(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.tell(outcome)


class _CommitsFirst:
    """A clock that commits before it sleeps."""

    def __init__(self, clock: Clock, commit: Callable[[], None]) -> None:
        self._clock = clock
        self._commit = commit

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self._commit()
        self._clock.sleep(seconds)
