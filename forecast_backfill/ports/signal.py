"""What pacing needs of the world: signals of production's health, and where the pace is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from forecast_backfill.core.pace import PaceRules, PaceState
from forecast_backfill.core.signal import Look, SignalLook, Thresholds


class Signal(Protocol):
    """One measure of production's health. An entry point of `forecast_backfill.signals` is a
    callable without arguments that gives one."""

    @property
    def name(self) -> str: ...

    @property
    def thresholds(self) -> Thresholds: ...

    def look(self, notes: Mapping[str, object]) -> Look:
        """Measure now; `notes` is what the last look handed back, whichever process looked.

        Whatever it raises, and silence, counts as unreadable.
        """
        ...


class Signals(Protocol):
    """All signals, each with a timeout of its own."""

    def look(self, notes: Mapping[str, Mapping[str, object]]) -> Sequence[SignalLook]:
        """Look at each of them; `notes` by signal. Raises nothing: what fails is unreadable."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPace:
    """The pace as it is stored, and the database's clock, which all machines share.

    `revision` is what a change of it is guarded by.
    """

    state: PaceState
    revision: int
    now: datetime


class PaceStore(Protocol):
    """Where the pace of one workload is kept. DatabaseInterrupted where the database went away."""

    def read(self) -> tuple[PaceState, datetime]:
        """The pace without its memory, and the database's clock: one cheap query."""
        ...

    def try_sampling(self) -> AbstractContextManager[StoredPace] | None:
        """The right to look at the signals, for the block; None while another process looks."""
        ...

    def store(self, before: StoredPace, after: PaceState) -> PaceState:
        """Put the new state in the place of `before`, with an event where the pace is another one.

        What holds now: where a person has changed the pace meanwhile, theirs.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PacePorts:
    """Everything that pacing is handed."""

    store: PaceStore
    signals: Signals
    rules: PaceRules

    def over(self, store: PaceStore) -> PacePorts:
        """The same signals and rules with another way to the stored pace."""
        return replace(self, store=store)
