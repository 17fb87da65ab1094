"""Builds what rollback and accept need, over one session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from forecast_backfill.core.states import Workload
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.rollback import RollbackPorts
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.leases import PostgresSlots
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.rate import PostgresRate
from forecast_backfill.warehouse.superseded import PostgresRollbacks
from forecast_backfill.warehouse.waits import PostgresWaits
from forecast_backfill.wiring.control import control_of
from forecast_backfill.wiring.pace_health import PaceHealth
from forecast_backfill.wiring.partition import SystemClock, open_session, retry_interrupted


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackWiring:
    """The ports of one rollback."""

    ports: RollbackPorts
    session: Session
    run_id: str

    def request(self, campaign_id: str) -> RunRequest:
        """A request in backfill's current epoch, in the name of the campaign."""
        return RunRequest(
            workload=Workload.BACKFILL,
            run_id=self.run_id,
            campaign_id=campaign_id,
            epoch=self.ports.control.epoch(Workload.BACKFILL),
        )


@contextmanager
def open_rollback(settings: Settings, *, run_id: str) -> Iterator[RollbackWiring]:
    """Everything that a rollback needs, closed at the end of the block."""
    with (
        open_session(settings, Workload.BACKFILL, is_bounded=True) as session,
        closing(PaceHealth(settings, session)) as health,
    ):
        yield RollbackWiring(
            ports=RollbackPorts(
                rollbacks=PostgresRollbacks(session),
                ledger=PostgresLedger(session),
                control=control_of(settings, session, health),
                slots=PostgresSlots(session),
                waits=PostgresWaits(session),
                rate=PostgresRate(session),
                clock=SystemClock(),
                retry=retry_interrupted,
            ),
            session=session,
            run_id=run_id,
        )
