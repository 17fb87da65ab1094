"""Any history of writers, rollbacks, swaps and reverts shows readers what a model says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import (
    ShadowDefinition,
    ShadowState,
    held_definition,
    read_definition,
)
from forecast_backfill.core.version import Winner
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.rollbacks import A, B
from forecast_backfill_tests.app.shadows import BY, DEFINITION, Shadowed, columns
from forecast_backfill_tests.postgres.rows import fetch

CONTENTS = [{A: 1}, {A: 2, B: 1}, {B: 3}, {}]
NIGHTLY, CAMPAIGN, LIVE, CORRECTION = "nightly", "campaign", "live", "correction"
WRITE = st.tuples(
    st.sampled_from([NIGHTLY, CAMPAIGN, LIVE, CORRECTION]), st.integers(0, len(CONTENTS) - 1)
)
STEP = st.tuples(st.sampled_from(["roll back", "swap", "revert"]), st.just(0))
_days = count(1)

Rows = list[tuple[str, str, int]]


@pytest.fixture(params=["following", "held"])
def site(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[Shadowed]:
    followed = read_definition(DEFINITION)
    definition: ShadowDefinition = followed if request.param == "following" else held_definition()
    with ExitStack() as stack:
        found = Shadowed(settings_for(database_url, tmp_path), stack)
        found.shadows.start(definition, BY)
        yield found


def live(site: Shadowed, partition: Partition) -> Rows:
    return fetch(
        site.url,
        "SELECT store_id, product_id, units FROM daily_demand WHERE date = %s ORDER BY 1, 2",
        partition.date,
    )


def shown(site: Shadowed, partition: Partition) -> Rows:
    units = "quantity" if "quantity" in columns(site.url) else "units"
    return fetch(
        site.url,
        f"SELECT store_id, product_id, {units} FROM daily_demand_for_readers WHERE date = %s "
        "ORDER BY 1, 2",
        partition.date,
    )


def be_reverted(site: Shadowed) -> bool:
    """Undo what the history before left; whether the shadow is held."""
    (shadow,) = site.shadows.list()
    if shadow.state is ShadowState.SWAPPED:
        site.revert()
    return shadow.definition.is_held


def write(site: Shadowed, partition: Partition, who: str, what: int, number: int) -> None:
    winner = Winner(who) if who in (LIVE, CORRECTION) else None
    campaign = None if who == NIGHTLY else who
    site.chain.write(
        partition, CONTENTS[what], campaign=campaign, winner=winner, exported=number + 1
    )


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(history=[(CAMPAIGN, 0), ("swap", 0), (NIGHTLY, 1), (CAMPAIGN, 2), ("roll back", 0)])
@example(history=[(NIGHTLY, 1), ("swap", 0), (LIVE, 2), (CORRECTION, 0), ("revert", 0)])
@example(history=[(CORRECTION, 2), ("swap", 0), (CORRECTION, 2), ("revert", 0), ("swap", 0)])
@example(history=[(CAMPAIGN, 2), ("swap", 0), ("roll back", 0), ("revert", 0), ("swap", 0)])
@given(history=st.lists(st.one_of(WRITE, STEP), max_size=8))
def test_readers_see_what_the_model_says(site: Shadowed, history: list[tuple[str, int]]) -> None:
    """A following shadow shows what is live; a held one that of the swap and of nightly since."""
    day = FIRST + timedelta(days=next(_days))
    partition = Partition(date=day, region="R01")
    is_held, is_swapped = be_reverted(site), False
    expected: Rows = []
    for number, (step, what) in enumerate(history):
        if step == "swap":
            if is_swapped:
                continue
            site.go_over()
        elif step == "revert":
            if is_swapped:
                site.revert()
        elif step == "roll back":
            site.chain.roll_back(CAMPAIGN, start=day, end=day + timedelta(days=1))
        else:
            write(site, partition, step, what, number)
        is_hidden = is_held and is_swapped and step not in (NIGHTLY, "revert")
        is_swapped = step == "swap" or (is_swapped and step != "revert")
        expected = expected if is_hidden else live(site, partition)
        assert shown(site, partition) == expected
    if not is_held:
        assert site.shadows.due(1) == ()
