"""Writers that meet in one partition: their steps interleave, some die, and a model says the end.

Everything is real but the source: what is landed is a table, so that a run costs no file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from forecast_backfill.app.run_partition import run_partition
from forecast_backfill.core.merge import Claim, Key, MergeRow
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import ControlTotals
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Version, Winner, authority_of
from forecast_backfill.ports import LandedSource, Prepared, Step
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.partition import Wiring, open_wiring
from forecast_backfill_tests.postgres.rows import fetch, fingerprint_of, table_of

NESTED = (Step.ADMITTED, Step.READ, Step.STARTED, Step.PREPARED)
"""The steps at which another writer can come between: after them the lease keeps it out."""


class Killed(BaseException):
    """A process that dies here: nothing of it is recorded afterwards."""


@dataclass(frozen=True, kw_only=True)
class Dimensions:
    """No dimension is looked at; the version makes outputs of one source differ."""

    version: str = "d"


@dataclass(kw_only=True)
class World:
    """What is landed for one partition: the version of the export, and units by key."""

    partition: Partition
    exported: int = 0
    units: Mapping[Key, int] = field(default_factory=dict)
    committed: list[Claim] = field(default_factory=list)
    live_statements: int = 0

    def deliver(self, units: Mapping[Key, int]) -> None:
        """A newer export with other rows."""
        self.exported += 1
        self.units = dict(units)

    # What a run asks of a landing.
    def read(self, partition: Partition) -> LandedSource:
        return LandedSource(
            partition=partition,
            files=(),
            manifest=repr((self.exported, sorted(self.units.items()))).encode(),
            digest=f"export {self.exported}",
        )

    def dimensions(self, partition: Partition) -> Dimensions:
        return Dimensions()


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Adds `shift` to all units, and drops the keys of the store that it does not like."""

    shift: int = 0
    dropped: str | None = None

    @property
    def code_version(self) -> str:
        return f"shift {self.shift} without {self.dropped}"

    def prepare(self, source: LandedSource, dimensions: Any) -> Prepared:
        assert source.manifest is not None
        exported, units = eval(source.manifest)
        table = self.table(source.partition, dict(units))
        found = fingerprint_of(table)
        return Prepared(
            rows=table,
            fingerprint=found,
            totals=ControlTotals(
                lines=found.rows,
                units=found.units,
                revenue_cents=found.revenue_cents,
                stores=found.stores,
            ),
            exclusions={},
            source_version=exported,
        )

    def table(self, partition: Partition, units: Mapping[Key, int]) -> pa.Table:
        return table_of(
            [
                {"store_id": store, "product_id": product, "units": each + self.shift}
                for (store, product), each in sorted(units.items())
                if store != self.dropped
            ],
            partition,
        )


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Who runs: nightly, a campaign by its number and whom it lets win, or an ordinary campaign."""

    engine: Engine
    winner: Winner | None = None
    number: int = 0
    is_owner: bool = False

    @property
    def workload(self) -> Workload:
        return Workload.BACKFILL if self.winner or self.is_owner else Workload.NIGHTLY


class Stage:
    """Runs writers on real sessions; a writer inside another gets sessions of its own."""

    def __init__(self, settings: Settings, stack: ExitStack) -> None:
        self._settings = settings
        self._stack = stack
        self._free: dict[Workload, list[Wiring]] = {each: [] for each in Workload}
        self._runs = 0

    def run(
        self,
        world: World,
        writer: Writer,
        *,
        at: Callable[[Step], None] = lambda step: None,
        reprocess: bool = False,
    ) -> Outcome | None:
        """One run of the writer; `at` is called at each step. None where it died."""
        wiring = self._take(writer.workload)
        self._runs += 1
        request = replace(
            wiring.request(
                campaign_id=f"c{writer.number}" if writer.winner else None,
                winner=writer.winner,
                revision=writer.number,
                reprocess=reprocess,
            ),
            run_id=f"run-{self._runs}",
        )
        is_dead = False

        def checkpoint(step: Step, partition: Partition) -> None:
            nonlocal is_dead
            if step is Step.COMMITTED:
                world.committed.append(_claim(world, seen, writer))
            try:
                at(step)
            except Killed:
                is_dead = True
                wiring.session.close()
                raise

        class Grave:
            """The ledger of a process that may be dead by then."""

            def __getattr__(self, name: str) -> Any:
                return getattr(wiring.ports.ledger, name)

            def fail(self, *args: Any, **named: Any) -> None:
                if not is_dead:
                    wiring.ports.ledger.fail(*args, **named)

        seen = World(partition=world.partition, exported=world.exported, units=world.units)

        class Landed:
            """What is landed when it is read, remembered for the model."""

            def __getattr__(self, name: str) -> Any:
                return getattr(world, name)

            def read(self, partition: Partition) -> LandedSource:
                seen.exported, seen.units = world.exported, world.units
                return world.read(partition)

        ports = replace(
            wiring.ports,
            landing=Landed(),
            engine=writer.engine,
            ledger=Grave(),
            checkpoint=checkpoint,
        )
        try:
            return run_partition(world.partition, request, ports)
        except Killed:
            return None
        finally:
            self._free[writer.workload].append(wiring)

    def _take(self, workload: Workload) -> Wiring:
        if self._free[workload]:
            return self._free[workload].pop()
        return self._stack.enter_context(
            open_wiring(self._settings, workload=workload, run_id="5f0c")
        )


def _claim(world: World, seen: World, writer: Writer) -> Claim:
    """The statement that the writer has committed, as the model has it."""
    revision = writer.number
    if writer.workload is Workload.NIGHTLY:
        # Nightly's own statements of one export come in the order in which it makes them.
        world.live_statements += 1
        revision = world.live_statements
    version = Version(
        authority=authority_of(writer.workload, writer.winner),
        source_version=seen.exported,
        revision=revision,
    )
    rows = writer.engine.table(world.partition, seen.units).to_pylist()
    return Claim(
        version=version,
        rows={
            (row["store_id"], row["product_id"]): MergeRow(
                authority=version.authority,
                source_version=version.source_version,
                row_hash=row["row_hash"],
                units=row["units"],
                revenue_cents=row["revenue_cents"],
            )
            for row in rows
        },
    )


def expected_rows(world: World) -> list[tuple[Any, ...]]:
    """The rows of the highest statement that was committed: the whole model.

    Where a campaign has stated one export with two codes, the higher row hash decides by key.
    """
    highest = max((each.version for each in world.committed), default=None)
    rows: dict[Key, MergeRow] = {}
    for claim in world.committed:
        if claim.version == highest:
            for key, row in claim.rows.items():
                rows[key] = max(row, rows.get(key, row), key=lambda each: each.row_hash)
    return sorted(
        (*key, row.units, int(row.authority), row.source_version, row.row_hash)
        for key, row in rows.items()
    )


def stored_rows(url: str, partition: Partition) -> list[tuple[Any, ...]]:
    """The partition as it is stored."""
    return fetch(
        url,
        "SELECT store_id, product_id, units, authority, source_version, row_hash"
        " FROM daily_demand WHERE date = %s AND region = %s ORDER BY 1, 2",
        partition.date,
        partition.region,
    )
