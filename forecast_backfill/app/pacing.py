"""Pacing: whoever comes by first after the interval looks at production's health, for everybody."""

from __future__ import annotations

from datetime import datetime

from forecast_backfill.core.pace import PaceState, distrusted
from forecast_backfill.core.pace_steps import step
from forecast_backfill.ports.signal import PacePorts


def sample_if_due(ports: PacePorts, now: datetime | None = None) -> PaceState:
    """The pace that holds now, measured first where that is due.

    `now` None is the database's clock, which all machines share. A state that was never measured,
    or not for long, is not trusted: while another process measures, nothing starts.
    """
    state, clock = ports.store.read()
    if not state.is_due(ports.rules, now or clock):
        return state
    sampling = ports.store.try_sampling()
    if sampling is None:
        if state.is_trusted(ports.rules, now or clock):
            return state
        return distrusted(state, ports.rules, now or clock)
    with sampling as stored:
        at = now or stored.now
        if not stored.state.is_due(ports.rules, at):
            return stored.state
        looks = ports.signals.look(stored.state.memory.notes)
        return ports.store.store(stored, step(stored.state, looks, ports.rules, at))
