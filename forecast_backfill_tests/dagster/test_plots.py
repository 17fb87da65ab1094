"""The pictures in the UI are well-formed SVG that shows what it was given."""

import base64
import re
from xml.etree import ElementTree

from forecast_backfill.dagster_defs.plots import heat_map, line_plot

SVG = "{http://www.w3.org/2000/svg}"


def picture(markdown: str) -> ElementTree.Element:
    found = re.fullmatch(r"!\[.*\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", markdown)
    assert found is not None
    return ElementTree.fromstring(base64.b64decode(found[1]))


def day(place: float) -> str:
    return f"day {place:.0f}"


def test_each_line_has_its_points_between_the_margins():
    lines = {"sold": [(0, 0.0), (10, 4.0)], "forecast": [(5, 2)]}
    drawn = picture(line_plot("R01 <MILK>", lines, ends=day))
    points = [each.get("points") for each in drawn.iter(f"{SVG}polyline")]
    assert points == ["28.0,132.0 612.0,28.0", "320.0,80.0"]
    assert next(each.text for each in drawn.iter(f"{SVG}text")) == "R01 <MILK>"


def test_the_ends_of_the_axis_are_named():
    drawn = picture(line_plot("WAPE", {"a": [(1, 0.5), (8, 0.25)]}, ends=day))
    named = [(each.text, each.get("x")) for each in drawn.iter(f"{SVG}text")]
    assert ("day 1", "28") in named
    assert ("day 8", "612") in named


def test_a_line_of_one_point_is_a_dot():
    drawn = picture(line_plot("WAPE", {"a": [(1, 0.5)], "b": [(1, 0.25), (2, 0.5)]}, ends=day))
    assert [(dot.get("cx"), dot.get("cy")) for dot in drawn.iter(f"{SVG}circle")] == [
        ("28.0", "28.0")
    ]


def test_one_constant_line_is_drawn_too():
    drawn = picture(line_plot("flat", {"a": [(1, 0.0), (2, 0.0)]}, ends=day))
    assert next(drawn.iter(f"{SVG}polyline")).get("points") == "28.0,28.0 612.0,28.0"


def test_nothing_to_draw_is_said():
    assert line_plot("empty", {"a": []}, ends=day) == "empty: nothing to draw"


def test_a_heat_map_colours_only_the_cells_that_it_is_given():
    markdown = heat_map(
        "coverage", rows=["R01", "R02"], columns=["d1", "d2", "d3"], cells={("R02", "d3"): "red"}
    )
    cells = [each for each in picture(markdown).iter(f"{SVG}rect") if each.get("fill") == "red"]
    assert [(each.get("x"), each.get("y")) for each in cells] == [("54", "37")]
