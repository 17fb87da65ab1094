"""The night's chain, filled and wired; a module of another chain has fixtures of its own."""

import pytest

from forecast_backfill_tests.app.nights import fill, night, settings_for


@pytest.fixture
def settings(database_url, tmp_path):
    fill(database_url)
    return settings_for(database_url, tmp_path)


@pytest.fixture
def wiring(settings):
    with night(settings) as opened:
        yield opened
