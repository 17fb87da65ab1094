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


def test_each_line_has_its_points_between_the_margins():
    drawn = picture(line_plot("R01 <MILK>", {"sold": [(0, 0.0), (10, 4.0)], "forecast": [(5, 2)]}))
    points = [each.get("points") for each in drawn.iter(f"{SVG}polyline")]
    assert points == ["28.0,132.0 612.0,28.0", "320.0,80.0"]
    assert next(each.text for each in drawn.iter(f"{SVG}text")) == "R01 <MILK>"


def test_one_constant_line_is_drawn_too():
    drawn = picture(line_plot("flat", {"a": [(1, 0.0), (2, 0.0)]}))
    assert next(drawn.iter(f"{SVG}polyline")).get("points") == "28.0,28.0 612.0,28.0"


def test_nothing_to_draw_is_said():
    assert line_plot("empty", {"a": []}) == "empty: nothing to draw"


def test_a_heat_map_colours_only_the_cells_that_it_is_given():
    markdown = heat_map(
        "coverage", rows=["R01", "R02"], columns=["d1", "d2", "d3"], cells={("R02", "d3"): "red"}
    )
    cells = [each for each in picture(markdown).iter(f"{SVG}rect") if each.get("fill") == "red"]
    assert [(each.get("x"), each.get("y")) for each in cells] == [("54", "37")]
