"""Nights, one a day and in turn, beside a campaign: one policy from launch to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import simpy

from forecast_backfill.simulation.engine import DAY, Machine, NightLog, Sample, Steps
from forecast_backfill.simulation.shapes import Night, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a simulation came to; `campaign_end` is None where it did not end within the days."""

    nights: tuple[NightLog, ...]
    campaign_end: float | None
    samples: tuple[Sample, ...]


def replay(
    machine: Machine,
    nights: Sequence[Night],
    *,
    first_night: float,
    days: int,
    wakes: Sequence[float] = (),
    least: int = 1,
) -> Trace:
    """Run the nights beside the machine's campaign, the first at second `first_night`.

    It ends once the campaign has ended, `least` nights were seen and none is under way; at the
    latest after `days` days. At the seconds in `wakes` the machine looks again.
    """
    env = machine.env
    logs: list[NightLog] = []
    ended: list[float] = []
    env.process(_note_end(machine, ended))
    nightly = env.process(_nights(machine, nights, first_night, least, logs))
    for at in wakes:
        machine.wake(at)
    machine.dispatch()
    env.run(until=env.any_of([nightly, env.timeout(days * DAY)]))
    return Trace(
        nights=tuple(logs),
        campaign_end=ended[0] if ended else None,
        samples=tuple(machine.samples),
    )


def _note_end(machine: Machine, ended: list[float]) -> Steps:
    yield machine.campaign_done
    ended.append(machine.env.now)


def _nights(
    machine: Machine,
    nights: Sequence[Night],
    first_night: float,
    least: int,
    logs: list[NightLog],
) -> Steps:
    env = machine.env
    for number in count():
        begin = first_night + number * DAY
        if number >= least:
            yield machine.campaign_done | env.timeout(max(0.0, begin - env.now))
            if machine.campaign_done.triggered:
                return
        if env.now < begin:
            yield env.timeout(begin - env.now)
        log = NightLog(begin=begin)
        logs.append(log)
        yield from _night(machine, nights[number % len(nights)], log)
        log.end = env.now - begin
        machine.end_night()


def _night(machine: Machine, night: Night, log: NightLog) -> Steps:
    """Stage after stage; a pause between two that was recorded is kept."""
    env = machine.env
    nominal_end = 0.0
    for stage in night:
        start = min(task.offset for task in stage)
        yield env.timeout(max(0.0, start - nominal_end))
        yield from _stage(machine, stage, log, start)
        nominal_end = max(task.end for task in stage)


def _stage(machine: Machine, stage: Stage, log: NightLog, start: float) -> Steps:
    env = machine.env
    begun = env.now
    ended: list[simpy.Event] = []
    for task in sorted(stage, key=lambda each: each.offset):
        ready = begun + task.offset - start
        if ready > env.now:
            yield env.timeout(ready - env.now)
        ended.append(machine.add(task, log))
    yield env.all_of(ended)
