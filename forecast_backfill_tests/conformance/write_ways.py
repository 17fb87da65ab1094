"""The write primitives as the conformance suite runs them: to join it is to be added to WAYS."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.strategy import WritePrimitive
from forecast_backfill.core.version import Winner
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.leaf_layout import leaf_name
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.overlaps import Engine, Writer


class Way(Protocol):
    """One primitive: settings under which it is chosen, who writes by it, where it has written."""

    name: str
    primitive: WritePrimitive

    def settings(self, url: str, home: Path, **changes: Any) -> Settings:
        """Settings of a chain whose partitions are written in this way."""
        ...

    def writer(self, engine: Engine) -> Writer:
        """A writer whose partitions are written in this way."""
        ...

    def written_table(self, partition: Partition) -> str:
        """The table that holds the new rows before they are reconciled."""
        ...


class Replace:
    """Delete and copy in the plain table."""

    name = "replace"
    primitive = WritePrimitive.REPLACE

    def settings(self, url: str, home: Path, **changes: Any) -> Settings:
        return settings_for(url, home, seam=FIRST, **changes)

    def writer(self, engine: Engine) -> Writer:
        return Writer(engine=engine)

    def written_table(self, partition: Partition) -> str:
        return "daily_demand"


class Merge(Replace):
    """Upsert by key under the guard of versions, by a correction."""

    name = "merge"
    primitive = WritePrimitive.MERGE

    def writer(self, engine: Engine) -> Writer:
        return Writer(engine=engine, winner=Winner.CORRECTION, number=1)


class ReplaceInLeaves(Replace):
    """Delete and copy in a table with one leaf a partition."""

    name = "replace_in_leaves"

    def settings(self, url: str, home: Path, **changes: Any) -> Settings:
        return settings_for(url, home, seam=FIRST, table_layout="leaves", **changes)


class MergeInLeaves(Merge, ReplaceInLeaves):
    """The merge in a table with one leaf a partition."""

    name = "merge_in_leaves"


class SwapLeaf(Replace):
    """Attach and detach: every partition counts as large."""

    name = "swap_leaf"
    primitive = WritePrimitive.SWAP_LEAF

    def settings(self, url: str, home: Path, **changes: Any) -> Settings:
        leaves = {"table_layout": "leaves", "large_rows": 1}
        return settings_for(url, home, seam=FIRST, **leaves, **changes)

    def written_table(self, partition: Partition) -> str:
        return f'"{leaf_name(partition)}_next"'


WAYS: list[Way] = [Replace(), Merge(), SwapLeaf()]
"""Each under the whole suite."""

IN_LEAVES: list[Way] = [ReplaceInLeaves(), MergeInLeaves()]
"""The same statements in the other layout: only that a leaf is there, and what a death leaves."""
