"""On-call is told, once, of what readers do not see since their shadow refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.refused_writes import tell_of_refused_writes
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.night import open_night
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.rollbacks import A
from forecast_backfill_tests.app.shadows import Shadowed
from forecast_backfill_tests.postgres.rows import fetch

ONE, TWO = (Partition(date=FIRST, region=region) for region in ("R01", "R02"))
NEXT_DAY = Partition(date=FIRST + timedelta(days=1), region="R01")
NOTICES = "SELECT audience, title, body FROM notice ORDER BY notice_id"


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return settings_for(database_url, tmp_path)


@pytest.fixture
def site(settings: Settings) -> Iterator[Shadowed]:
    """A shadow that cannot hold more than 32,767 units, swapped."""
    with ExitStack() as stack:
        found = Shadowed(settings, stack)
        for each in (ONE, TWO, NEXT_DAY):
            found.chain.write(each, {A: 1})
        found.start()
        found.fill()
        found.validate()
        yield found


def look(settings: Settings) -> int:
    with open_night(settings, workload=Workload.NIGHTLY, run_id="watch") as wiring:
        return tell_of_refused_writes(wiring)


def test_a_date_that_the_shadow_refuses_is_told_once(site: Shadowed, settings: Settings) -> None:
    site.swap()
    assert look(settings) == 0
    for each in (ONE, TWO):
        site.chain.write(each, {A: 40_000}, exported=2)
    assert (look(settings), look(settings)) == (1, 1)
    assert fetch(site.url, NOTICES) == [
        (
            "nightly",
            f"Readers do not see {FIRST} as nightly wrote it: shadow 1 refuses it",
            f"{ONE}: smallint out of range\n{TWO}: smallint out of range\n"
            'Next: forecast-backfill shadow revert --reason "…" (daily_demand has it)',
        )
    ]
    site.chain.write(NEXT_DAY, {A: 40_000}, exported=2)
    assert look(settings) == 2
    assert len(fetch(site.url, NOTICES)) == 2


def test_what_is_not_read_or_not_nightlys_wakes_nobody(site: Shadowed, settings: Settings) -> None:
    site.chain.write(ONE, {A: 40_000}, exported=2)
    assert look(settings) == 0, "readers read daily_demand"
    site.chain.write(ONE, {A: 1}, exported=3)
    site.validate()
    site.swap()
    site.chain.write(TWO, {A: 40_000}, campaign="spring", exported=2)
    assert look(settings) == 0, "status names it"
