"""One picture of all policies, who held how many slots when: SVG without a plotting library."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from forecast_backfill.simulation.compare import Result, Scenario
from forecast_backfill.simulation.engine import Sample

WIDTH, PANEL, TOP, LEFT, RIGHT = 960, 92, 46, 132, 32
GAP = 26
NIGHTLY, BACKFILL, LINE, TEXT = "#4f43dd", "#f2b98f", "#b3261e", "#444444"


def draw(scenario: Scenario, results: Sequence[Result]) -> str:
    """A panel a policy over one axis of time, in hours since the launch; the SVG's text."""
    end = max(3600.0, *(_end_of(each) for each in results))
    height = TOP + (PANEL + GAP) * len(results) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        ' font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(LEFT, 18, f"Slots held of {scenario.slots}, by policy", size=14),
        _square(LEFT, 26, NIGHTLY),
        _text(LEFT + 14, 35, "nightly"),
        _square(LEFT + 80, 26, BACKFILL),
        _text(LEFT + 94, 35, f"backfill, {scenario.campaign.tasks:,} tasks"),
        _text(LEFT + 260, 35, "deadline of the night", fill=LINE),
    ]
    for number, result in enumerate(results):
        parts += _panel(scenario, result, top=TOP + number * (PANEL + GAP), end=end)
    return "".join([*parts, *_axis(end, height), "</svg>\n"])


def _panel(scenario: Scenario, result: Result, *, top: float, end: float) -> Iterator[str]:
    bottom = top + PANEL
    yield f'<rect x="{LEFT}" y="{top}" width="{_span()}" height="{PANEL}" fill="#f6f6f6"/>'
    yield _text(8, top + 16, result.policy.value, size=12)
    yield _text(8, top + 34, f"cap {result.cap}")
    yield _text(8, top + 50, f"fit {_later(result.fit_delay)}")
    is_late = result.late_by is None or result.late_by > 0
    yield _text(8, top + 66, "night late" if is_late else "night in time", fill=_colour(is_late))
    yield _text(8, top + 82, f"campaign {_hours(result.campaign_seconds)}")
    samples, horizon = result.trace.samples, _end_of(result)
    both = [(each.at, each.nightly + each.backfill) for each in samples]
    alone = [(each.at, each.nightly) for each in samples]
    for colour, levels in ((BACKFILL, both), (NIGHTLY, alone)):
        yield f'<path d="{_area(levels, scenario.slots, bottom, end, horizon)}" fill="{colour}"/>'
    for night in result.trace.nights:
        at = night.begin + scenario.deadline
        if at <= end:
            x = _x(at, end)
            yield f'<path d="M{x:.1f} {top}V{bottom}" stroke="{LINE}" stroke-dasharray="3 2"/>'


def _area(
    levels: Sequence[tuple[float, int]], slots: int, bottom: float, end: float, horizon: float
) -> str:
    """Steps from level to level; of those within half a pixel the highest, then the last."""
    points = [f"M{_x(0, end):.1f} {bottom:.1f}"]
    drawn: dict[float, tuple[int, int]] = {}
    for at, level in levels:
        x = round(_x(at, end) * 2) / 2
        drawn[x] = max(drawn.get(x, (0, 0))[0], level), level
    for x, (highest, last) in drawn.items():
        points.append(f"H{x:.1f}V{bottom - PANEL * highest / slots:.1f}")
        if last != highest:
            points.append(f"H{x + 0.5:.1f}V{bottom - PANEL * last / slots:.1f}")
    points.append(f"H{_x(horizon, end):.1f}V{bottom:.1f}Z")
    return "".join(points)


def _axis(end: float, height: float) -> Iterator[str]:
    hours = end / 3600
    step = next((each for each in (1, 2, 3, 6, 12, 24, 48, 96) if hours / each <= 12), 168)
    for hour in range(0, int(hours) + 1, step):
        yield _text(_x(hour * 3600, end), height - 8, f"{hour} h")


def _end_of(result: Result) -> float:
    last: Sample | None = result.trace.samples[-1] if result.trace.samples else None
    return 0.0 if last is None else last.at


def _x(at: float, end: float) -> float:
    return LEFT + at / end * _span()


def _span() -> float:
    return WIDTH - LEFT - RIGHT


def _later(seconds: float | None) -> str:
    return "never" if seconds is None else f"+{seconds / 60:.1f} min"


def _hours(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds / 3600:.1f} h"


def _colour(is_late: bool) -> str:
    return LINE if is_late else TEXT


def _square(x: float, y: float, colour: str) -> str:
    return f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/>'


def _text(x: float, y: float, text: str, *, size: int = 11, fill: str = TEXT) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}">{html.escape(text)}</text>'
    )
