"""Stops campaigns where they are run from: first what makes new runs, then the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

RUNS_AT_ONCE = 50


class Stopper(Protocol):
    """Whoever runs campaigns, as far as stopping them goes."""

    def active_backfills(self) -> Mapping[str, Mapping[str, str]]: ...

    def cancel(self, backfill_id: str) -> None: ...

    def unfinished_runs(self, tags: Mapping[str, str], *, limit: int) -> Sequence[str]: ...

    def stop_runs(self, run_ids: Sequence[str]) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The campaigns that were cancelled and how many runs were; `left` could not be."""

    campaigns: tuple[str, ...]
    runs: int
    left: int


def stop_campaigns(
    stopper: Stopper, *, is_meant: Callable[[str, Mapping[str, str]], bool], tags: Mapping[str, str]
) -> Stopped:
    """Cancel every active campaign that is meant, then every unfinished run with the tags."""
    active = stopper.active_backfills()
    meant = tuple(each for each, its_tags in active.items() if is_meant(each, its_tags))
    for each in meant:
        stopper.cancel(each)
    stopped = 0
    while runs := stopper.unfinished_runs(tags, limit=RUNS_AT_ONCE):
        ended = stopper.stop_runs(runs)
        stopped += ended
        if ended == 0:
            break
    return Stopped(campaigns=meant, runs=stopped, left=len(runs))
