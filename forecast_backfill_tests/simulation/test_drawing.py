"""The picture of all policies."""

import xml.etree.ElementTree as ElementTree

from forecast_backfill.simulation.compare import Scenario, compare
from forecast_backfill.simulation.drawing import draw
from forecast_backfill.simulation.shapes import Campaign, parse_night

SCENARIO = Scenario(
    slots=10,
    nights=(parse_night("regions:4x3m,fit:1x20m@3"),),
    first_night=600.0,
    deadline=1500.0,
    fit="fit",
    campaign=Campaign(tasks=200, durations=(60.0,), p95=60.0),
)


def drawn(scenario=SCENARIO):
    return ElementTree.fromstring(draw(scenario, compare(scenario)))


def texts(picture):
    return [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]


def test_each_policy_has_its_panel_with_its_figures():
    shown = texts(drawn())
    assert [
        name
        for name in (
            "no cap",
            "priority only",
            "cap from idle",
            "cap from peak",
            "night reservation",
        )
        if name in shown
    ] == ["no cap", "priority only", "cap from idle", "cap from peak", "night reservation"]
    assert "cap 6" in shown
    assert "fit +0.0 min" in shown


def test_a_late_night_and_a_campaign_that_never_ends_are_told():
    late = Scenario(**{**{name: getattr(SCENARIO, name) for name in SCENARIO.__slots__}, "peak": 10,
                       "days": 1, "deadline": 60.0})  # fmt: skip
    shown = texts(drawn(late))
    assert "night late" in shown
    assert "campaign never" in shown


def test_panels_hold_backfill_and_nightly_as_areas():
    paths = list(drawn().iter("{http://www.w3.org/2000/svg}path"))
    assert len([each for each in paths if each.get("fill")]) == 10
