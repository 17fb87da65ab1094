"""Writers of one chain whose source is a table, and the rollback of what they wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any

from forecast_backfill.app.rollback import roll_back
from forecast_backfill.app.run_partition import run_partition
from forecast_backfill.core.merge import Key
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.rollback import RollbackOutcome
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner
from forecast_backfill.ports import RunRequest
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.partition import Wiring, open_wiring
from forecast_backfill.wiring.rollback import RollbackWiring, open_rollback
from forecast_backfill_tests.app.campaigns import FIRST
from forecast_backfill_tests.app.overlaps import Engine, World
from forecast_backfill_tests.postgres.rows import fetch

A, B = ("s1", "1"), ("s2", "1")


class Chain:
    """Nightly, campaigns and rollbacks over one database; every writer has its own source."""

    def __init__(self, settings: Settings, stack: ExitStack) -> None:
        self.url = settings.database_url or ""
        self._backfill = self._open(stack, settings, Workload.BACKFILL)
        self._nightly = self._open(stack, settings, Workload.NIGHTLY)
        self.rollback: RollbackWiring = stack.enter_context(
            open_rollback(settings, run_id="rollback-1")
        )
        self._runs = 0

    def _open(self, stack: ExitStack, settings: Settings, workload: Workload) -> Wiring:
        return stack.enter_context(open_wiring(settings, workload=workload, run_id="5f0c"))

    def write(
        self,
        partition: Partition,
        units: Mapping[Key, int],
        *,
        campaign: str | None = None,
        winner: Winner | None = None,
        exported: int = 1,
        code: int = 0,
    ) -> Outcome:
        """One run: nightly's without a campaign, who then owns the date."""
        wiring = self._nightly if campaign is None else self._backfill
        world = World(partition=partition, exported=exported, units=dict(units))
        is_nightly = campaign is None or winner is not None
        ports = replace(
            wiring.ports,
            landing=world,
            engine=Engine(shift=code),
            seam=FIRST if is_nightly else FIRST + timedelta(days=400),
        )
        self._runs += 1
        request = wiring.request(campaign_id=campaign, reprocess=True, winner=winner, revision=1)
        return run_partition(partition, replace(request, run_id=f"run-{self._runs}"), ports)

    def roll_back(
        self, campaign: str, *, request: RunRequest | None = None, **chosen: Any
    ) -> list[RollbackOutcome]:
        """Roll back what `chosen` leaves of the campaign."""
        ports = self.rollback.ports
        return roll_back(
            ports.rollbacks.list(campaign, **chosen),
            campaign,
            request or self.rollback.request(campaign),
            ports,
            lambda outcome: None,
        )

    def rows(self) -> list[str]:
        """Every stored row as PostgreSQL shows it: all its bytes."""
        return [row for (row,) in fetch(self.url, "SELECT d::text FROM daily_demand d ORDER BY 1")]

    def outputs(self) -> list[str]:
        """What the ledger says of every output, and every claim."""
        described = fetch(
            self.url,
            "SELECT jsonb_object_agg(key, value) FROM partition_ledger AS ledger, "
            "jsonb_each(to_jsonb(ledger)) WHERE key ~ '^(output|is_merged)' "
            "AND ledger.output <> 'absent' GROUP BY ledger.date, ledger.region ORDER BY 1",
        )
        claims = fetch(self.url, "SELECT to_jsonb(claim) FROM partition_claim AS claim ORDER BY 1")
        return [json.dumps(each, sort_keys=True) for (each,) in [*described, *claims]]

    def everything(self) -> tuple[list[str], list[str]]:
        """Rows and their records."""
        return self.rows(), self.outputs()


def names(outcomes: list[RollbackOutcome]) -> list[str]:
    """What each came to."""
    return [type(each).__name__ for each in outcomes]
