"""All signals of an installation: those that ship, those of other packages, less those set off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.core.signal import DEFAULT_THRESHOLDS, REPLICATION_LAG, Look, Thresholds
from forecast_backfill.ports.signal import Signal
from forecast_backfill.warehouse.signals.canary import CanaryRead
from forecast_backfill.warehouse.signals.heartbeat import ReplicaLag, StandbyLag
from forecast_backfill.warehouse.signals.link import Link, Links
from forecast_backfill.warehouse.signals.nightly_queue import NightlyQueueWait
from forecast_backfill.warehouse.signals.plugins import load_plugins
from forecast_backfill.warehouse.signals.server_load import ConnectionUse, WalRate
from forecast_backfill.warehouse.signals.timed_looks import TimedLooks

Limits = tuple[float, float, float]
"""Thresholds as they are set: half, pause, trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rethreshold:
    """A signal of another package with the thresholds that were set."""

    signal: Signal
    thresholds: Thresholds

    @property
    def name(self) -> str:
        """Its own."""
        return self.signal.name

    def look(self, notes: Mapping[str, object]) -> Look:
        """Its own."""
        return self.signal.look(notes)


def build_signals(
    url: str,
    *,
    replica_url: str | None,
    thresholds: Mapping[str, Limits | None],
    timeout_seconds: float,
) -> TimedLooks:
    """Every signal; `thresholds` are those that were set, None switches the signal off.

    Raises SettingRefused where a name is no signal's.
    """
    primary = Link(url, timeout_seconds=timeout_seconds)
    replica = None if replica_url is None else Link(replica_url, timeout_seconds=timeout_seconds)
    limits = {name: _set(each, thresholds.get(name)) for name, each in DEFAULT_THRESHOLDS.items()}
    signals: list[Signal] = [_lag(primary, replica, limits[REPLICATION_LAG])]
    kinds: tuple[Callable[[Link, Thresholds], Signal], ...] = (
        NightlyQueueWait,
        ConnectionUse,
        CanaryRead,
        WalRate,
    )
    names = (each for each in DEFAULT_THRESHOLDS if each != REPLICATION_LAG)
    signals += [kind(primary, limits[name]) for kind, name in zip(kinds, names, strict=True)]
    for plugin in load_plugins():
        own = _set(plugin.thresholds, thresholds.get(plugin.name))
        signals.append(Rethreshold(signal=plugin, thresholds=own))
    known = {each.name for each in signals}
    if unknown := sorted(thresholds.keys() - known):
        name = "FORECAST_BACKFILL_PACE_THRESHOLDS"
        raise SettingRefused(
            f"the setting {name} was refused",
            why=f"there is no signal {unknown[0]}; there are {', '.join(sorted(known))}",
            next_command=f"export {name}=… with names of those, or unset it",
        )
    chosen = [each for each in signals if thresholds.get(each.name, ()) is not None]
    links = Links(primary) if replica is None else Links(primary, replica)
    return TimedLooks(chosen, timeout_seconds=timeout_seconds, links=links)


def _lag(primary: Link, replica: Link | None, thresholds: Thresholds) -> Signal:
    if replica is None:
        return StandbyLag(primary, thresholds)
    return ReplicaLag(primary, replica, thresholds)


def _set(default: Thresholds, asked: Limits | None) -> Thresholds:
    if asked is None:
        return default
    half, pause, trip = asked
    return Thresholds(half=half, pause=pause, trip=trip, unit=default.unit)
