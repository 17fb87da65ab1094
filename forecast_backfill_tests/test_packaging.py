"""What was measured about packages that do not work together stays written down."""

import re
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import forecast_backfill

PACKAGE = Path(forecast_backfill.__file__).parent
CHECKOUT = PACKAGE.parent


def pins():
    lines = (CHECKOUT / "constraints.txt").read_text().splitlines()
    return dict(
        line.split(" ;")[0].split("==") for line in lines if line and not line.startswith("#")
    )


def ranges():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    listed = [*project["dependencies"], *chain.from_iterable(extras)]
    return {Requirement(text).name: Requirement(text).specifier for text in listed}


@pytest.mark.parametrize(
    ("package", "version"),
    [
        ("dagster", "1.13.27"),
        ("dagster-webserver", "1.13.27"),
        ("dagster-postgres", "0.29.27"),
        ("dagster-pyspark", "0.29.27"),
    ],
)
def test_the_dagster_set_that_installs_together_is_pinned(package, version):
    assert pins()[package] == version


@pytest.mark.parametrize(
    ("package", "refused"),
    [("dagster-postgres", "0.11.0"), ("sqlalchemy", "2.1.0"), ("pandas", "3.0.0")],
)
def test_a_version_that_was_seen_to_break_is_out_of_range(package, refused):
    assert refused not in ranges()[package]


def test_every_pin_lies_in_its_range():
    pinned = pins()
    outside = [name for name, allowed in ranges().items() if pinned[name.lower()] not in allowed]
    assert outside == []


def test_no_file_names_a_package_index():
    text = (CHECKOUT / "constraints.txt").read_text() + (CHECKOUT / "pyproject.toml").read_text()
    assert re.findall(r"https?://|--(?:extra-)?index-url", text) == []


def test_no_top_level_module_of_ours_shadows_a_package():
    """A `gql.py` beside the code that imports it breaks the webserver."""
    ours = {path.stem for path in PACKAGE.rglob("*.py")}
    assert "gql" in packages_distributions()
    assert ours & {"gql", "dagster", "pandas", "psycopg", "click", "rich", "yaml"} == set()
