"""A chain whose readers go through the view, with a shadow of other columns beside it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg

from forecast_backfill.app.fill_shadow import Filled, fill_all
from forecast_backfill.app.run_partition import run_partition
from forecast_backfill.app.shadow import Stepped, current, drop, revert, swap, validate
from forecast_backfill.core.merge import Key
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import ShadowState, read_definition
from forecast_backfill.core.shadow_check import Validation
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Checkpoint
from forecast_backfill.ports.shadow import By
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.shadow import PostgresShadows
from forecast_backfill.warehouse.shadow_swap import PostgresVersions
from forecast_backfill.wiring.partition import SystemClock, open_session, open_wiring
from forecast_backfill_tests.app.campaigns import FIRST
from forecast_backfill_tests.app.overlaps import Engine, World
from forecast_backfill_tests.app.rollbacks import Chain

BY = By(name="ana", reason="new columns")
DEFINITION = """
[columns.date]
type = "date"
[columns.region]
type = "text"
[columns.store_id]
type = "text"
[columns.product_id]
type = "text"
[columns.quantity]
type = "smallint"
from = "units"
not_null = true
[columns.revenue]
type = "numeric(12,2)"
from = "revenue_cents / 100.0"
not_null = true
[columns.note]
type = "text"
"""
PAUSES = (0.05,) * 8


class Shadowed:
    """The steps of a shadow on real sessions, beside a chain of writers."""

    def __init__(self, settings: Settings, stack: ExitStack) -> None:
        self.url = settings.database_url or ""
        self.chain = Chain(settings, stack)
        session = stack.enter_context(open_session(settings, Workload.BACKFILL))
        self.shadows = PostgresShadows(session)
        self.versions = PostgresVersions(session)
        self._wiring = stack.enter_context(
            open_wiring(settings, workload=Workload.BACKFILL, run_id="shadow-run")
        )

    def write_again(
        self,
        partition: Partition,
        units: Mapping[Key, int],
        *,
        checkpoint: Checkpoint | None = None,
    ) -> Outcome:
        """A campaign's run that skips what is done, and may be interrupted at a step."""
        ports = replace(
            self._wiring.ports,
            landing=World(partition=partition, exported=1, units=dict(units)),
            engine=Engine(),
            seam=FIRST + timedelta(days=400),
            checkpoint=checkpoint or self._wiring.ports.checkpoint,
        )
        return run_partition(partition, self._wiring.request(campaign_id="fill"), ports)

    def start(self, definition: str = DEFINITION) -> int:
        return self.shadows.start(read_definition(definition), BY)

    def fill(self) -> list[Filled]:
        due = self.shadows.due(current(self.shadows).shadow_id)
        return fill_all(due, self._wiring.request(), self._wiring.ports, lambda filled: None)

    def validate(self) -> tuple[Validation, ShadowState]:
        return validate(current(self.shadows), BY, self.shadows, lambda count: None)

    def swap(self) -> Stepped:
        return swap(current(self.shadows), BY, self.versions, SystemClock(), PAUSES)

    def revert(self) -> Stepped:
        return revert(current(self.shadows), BY, self.versions, SystemClock(), PAUSES)

    def drop(self, *, is_earlier: bool = False) -> Stepped:
        return drop(
            current(self.shadows), BY, self.versions, SystemClock(), PAUSES, is_earlier=is_earlier
        )

    def go_over(self) -> None:
        """Fill, validate, swap."""
        self.fill()
        self.validate()
        self.swap()


def read(
    url: str, what: str = "*", name: str = "daily_demand_for_readers"
) -> list[tuple[Any, ...]]:
    """What a reader finds under a name, ordered by key."""
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        return connection.execute(
            f"SELECT {what} FROM {name} ORDER BY date, region, store_id, product_id".encode()
        ).fetchall()


def columns(url: str) -> list[str]:
    """The columns under the name that readers go through."""
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        found = connection.execute("SELECT * FROM daily_demand_for_readers LIMIT 0").description
    return [each.name for each in found or ()]


def with_column(name: str, fields: Mapping[str, str]) -> str:
    """The definition with one more column."""
    body = "".join(f"{key} = {value}\n" for key, value in fields.items())
    return f"{DEFINITION}[columns.{name}]\n{body}"
