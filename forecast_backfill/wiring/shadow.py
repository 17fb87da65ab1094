"""Builds what the steps of a shadow need, over one session."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from forecast_backfill.core.shadow import ShadowState
from forecast_backfill.core.shadow_check import DuePartition
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.shadow import Shadow
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.shadow import PostgresShadows
from forecast_backfill.warehouse.shadow_swap import PostgresVersions
from forecast_backfill.wiring.lakehouse import refuse_in_lakehouse
from forecast_backfill.wiring.partition import SystemClock, open_session

TRIES = 25
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowWiring:
    """Shadows, versions and a clock on one session."""

    shadows: PostgresShadows
    versions: PostgresVersions
    clock: SystemClock
    session: Session


@contextmanager
def open_shadows(settings: Settings) -> Iterator[ShadowWiring]:
    """Everything that a step needs, closed at the end of the block.

    Raises WarehouseRefused where the rows go to a lakehouse.
    """
    refuse_in_lakehouse(
        settings, "a shadow", next_command="export FORECAST_BACKFILL_WAREHOUSE=postgres"
    )
    with open_session(settings, Workload.BACKFILL) as session:
        yield ShadowWiring(
            shadows=PostgresShadows(session),
            versions=PostgresVersions(session),
            clock=SystemClock(),
            session=session,
        )


def read_shadows(session: Session) -> list[tuple[Shadow, tuple[DuePartition, ...]]]:
    """Each shadow that is written, with what it does not hold as it is live."""
    shadows = PostgresShadows(session)
    return [
        (each, shadows.due(each.shadow_id))
        for each in shadows.list()
        if each.state is not ShadowState.DROPPED
    ]


def pauses() -> Iterator[float]:
    """Seconds before each further try at the readers' name: longer and longer, with jitter."""
    longest = FIRST_PAUSE_SECONDS
    for _ in range(TRIES - 1):
        yield random.uniform(longest / 2, longest)
        longest = min(longest * 1.5, LONGEST_PAUSE_SECONDS)
