"""What the pace remembers from one look to the next, and its form as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from forecast_backfill.core.pressure import Band, Pressure


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceMemory:
    """The signals' pressures and own notes, and how far a recovery has come.

    `calm_since` is since when nothing has stood against going faster, `stepped_at` when the share
    was last changed, `cool_down` how long a pause must have been calm before the next probe.
    """

    pressures: tuple[Pressure, ...] = ()
    notes: Mapping[str, Mapping[str, object]] = field(
        default_factory=dict[str, Mapping[str, object]]
    )
    is_probing: bool = False
    calm_since: datetime | None = None
    stepped_at: datetime | None = None
    cool_down: timedelta | None = None

    def pressure_of(self, name: str) -> Pressure | None:
        """What is known of one signal."""
        return next((each for each in self.pressures if each.name == name), None)


def memory_to_json(memory: PaceMemory) -> dict[str, object]:
    """Plain values only."""
    return {
        "pressures": [_pressure_to_json(each) for each in memory.pressures],
        "notes": {name: dict(notes) for name, notes in memory.notes.items()},
        "is_probing": memory.is_probing,
        "calm_since": _text(memory.calm_since),
        "stepped_at": _text(memory.stepped_at),
        "cool_down": None if memory.cool_down is None else memory.cool_down.total_seconds(),
    }


def memory_from_json(stored: Mapping[str, Any]) -> PaceMemory:
    """The memory as it was stored; one that another version has stored is forgotten."""
    try:
        cool_down = stored.get("cool_down")
        return PaceMemory(
            pressures=tuple(_pressure_from_json(each) for each in stored.get("pressures", ())),
            notes=dict(stored.get("notes", {})),
            is_probing=stored.get("is_probing", False),
            calm_since=_instant(stored.get("calm_since")),
            stepped_at=_instant(stored.get("stepped_at")),
            cool_down=None if cool_down is None else timedelta(seconds=cool_down),
        )
    except (KeyError, TypeError, ValueError):
        return PaceMemory()


def _pressure_to_json(pressure: Pressure) -> dict[str, object]:
    return {
        "name": pressure.name,
        "band": int(pressure.band),
        "value": pressure.value,
        "reason": pressure.reason,
        "red_since": _text(pressure.red_since),
        "points": [[at.isoformat(), value] for at, value in pressure.points],
    }


def _pressure_from_json(stored: Mapping[str, Any]) -> Pressure:
    points: Sequence[Sequence[Any]] = stored["points"]
    return Pressure(
        name=stored["name"],
        band=Band(stored["band"]),
        value=stored["value"],
        reason=stored["reason"],
        red_since=_instant(stored["red_since"]),
        points=tuple((datetime.fromisoformat(at), float(value)) for at, value in points),
    )


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
