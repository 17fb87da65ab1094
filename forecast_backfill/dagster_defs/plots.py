"""Small pictures for the UI: SVG inside Markdown, drawn without any plotting library."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Mapping, Sequence

WIDTH, HEIGHT, MARGIN = 640, 160, 28
COLOURS = ("#4f43dd", "#e0762f", "#2b8a6e", "#999999")
CELL = 7

Point = tuple[float, float]


def line_plot(
    title: str, lines: Mapping[str, Sequence[Point]], *, ends: Callable[[float], str]
) -> str:
    """One picture with a line a name; the vertical axis begins at zero.

    `ends` names the first and the last place of the horizontal axis.
    """
    points = [point for line in lines.values() for point in line]
    if not points:
        return f"{title}: nothing to draw"
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    lowest, highest = min(0.0, *(y for _, y in points)), max(0.0, *(y for _, y in points))

    def place(point: Point) -> str:
        x = MARGIN + (point[0] - left) / ((right - left) or 1) * (WIDTH - 2 * MARGIN)
        y = MARGIN + (highest - point[1]) / ((highest - lowest) or 1) * (HEIGHT - 2 * MARGIN)
        return f"{x:.1f},{y:.1f}"

    parts = [_text(MARGIN, 16, title), _text(2, MARGIN + 4, f"{highest:.3g}", size=9)]
    base = place((left, lowest)).split(",")[1]
    parts.append(_text(MARGIN, HEIGHT - 6, ends(left), size=9))
    parts.append(_text(WIDTH - MARGIN, HEIGHT - 6, ends(right), size=9, anchor="end"))
    parts.append(f'<path d="M{MARGIN} {base}H{WIDTH - MARGIN}" stroke="#ccc"/>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        drawn = " ".join(place(point) for point in line)
        parts.append(
            f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
        if len(line) == 1:
            x, y = drawn.split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colour}"/>')
        parts.append(_text(MARGIN + 110 * (number + 1), HEIGHT - 6, name, fill=colour))
    return _image(title, WIDTH, HEIGHT, parts)


def heat_map(
    title: str,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], str],
) -> str:
    """One picture with a square a (row, column); those in `cells` have a colour of their own."""
    top, left = 30, 40
    width, height = left + CELL * len(columns) + 10, top + CELL * len(rows) + 10
    parts = [_text(4, 14, title)]
    parts.append(
        f'<rect x="{left}" y="{top}" width="{CELL * len(columns)}" height="{CELL * len(rows)}"'
        ' fill="#cfe8dd"/>'
    )
    for index, name in enumerate(columns):
        if index % 14 == 0:
            parts.append(_text(left + CELL * index, top - 4, name, size=8))
    for index, name in enumerate(rows):
        parts.append(_text(4, top + CELL * index + CELL, name, size=7))
    row_of = {name: index for index, name in enumerate(rows)}
    column_of = {name: index for index, name in enumerate(columns)}
    for (row, column), colour in cells.items():
        x, y = left + CELL * column_of[column], top + CELL * row_of[row]
        parts.append(f'<rect x="{x}" y="{y}" width="6" height="6" fill="{colour}"/>')
    return _image(title, width, height, parts)


def _text(
    x: float, y: float, text: str, *, size: int = 11, fill: str = "#555", anchor: str = "start"
) -> str:
    shown = html.escape(text)
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-family="sans-serif" fill="{fill}"'
        f' text-anchor="{anchor}">{shown}</text>'
    )


def _image(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        '<rect width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>"
    )
    encoded = base64.b64encode(svg.encode()).decode()
    label = title.replace("[", "(").replace("]", ")")
    return f"![{label}](data:image/svg+xml;base64,{encoded})"
