"""Nightly and campaigns in one partition, in every order, with crashes: the model says the end."""

from contextlib import ExitStack
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forecast_backfill.core.outcome import Mismatched
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.version import Winner
from forecast_backfill.ports import Step
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.overlaps import (
    NESTED,
    Engine,
    Killed,
    Stage,
    World,
    Writer,
    expected_rows,
    stored_rows,
)
from forecast_backfill_tests.postgres.rows import fetch

KEYS = [("s1", "1"), ("s1", "2"), ("s2", "1")]
deliveries = st.dictionaries(st.sampled_from(KEYS), st.integers(1, 3))
engines = st.builds(Engine, shift=st.integers(0, 1), dropped=st.sampled_from([None, "s2"]))
writers = st.one_of(
    st.builds(Writer, engine=engines),
    st.builds(
        Writer,
        engine=engines,
        winner=st.sampled_from(list(Winner)),
        number=st.integers(1, 3),
    ),
)
runs = st.tuples(
    writers,
    # Where another writer, or a newer delivery, comes between; and where the process dies.
    st.none() | st.tuples(st.sampled_from(NESTED), writers | deliveries),
    st.none() | st.sampled_from(list(Step)),
)
stories = st.lists(st.one_of(runs, runs, runs, deliveries), min_size=3, max_size=6)
_numbers = count()


@pytest.fixture
def stage(database_url, tmp_path):
    with ExitStack() as opened:
        yield Stage(settings_for(database_url, tmp_path, seam=FIRST), opened)


def tell(stage, world, story):
    """Play the story; a process that died is run again to its end."""
    for each in story:
        if isinstance(each, dict):
            world.deliver(each)
            continue
        writer, between, death = each

        def at(step, between=between, death=death):
            if between is not None and step is between[0]:
                if isinstance(between[1], dict):
                    world.deliver(between[1])
                else:
                    stage.run(world, between[1])
            if step is death:
                raise Killed

        outcome = stage.run(world, writer, at=at)
        assert not isinstance(outcome, Mismatched), outcome
        if outcome is None:
            assert not isinstance(stage.run(world, writer), Mismatched)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(first=deliveries, story=stories)
def test_the_highest_statement_stays_in_every_interleaving(stage, database_url, first, story):
    number = next(_numbers)
    world = World(partition=Partition(date=FIRST + timedelta(days=number), region="R01"))
    world.deliver(first)
    tell(stage, world, story)
    assert stored_rows(database_url, world.partition) == expected_rows(world)
    found = fetch(
        database_url,
        "SELECT output_rows FROM partition_ledger WHERE date = %s AND output <> 'absent'",
        world.partition.date,
    )
    assert found == ([(len(expected_rows(world)),)] if world.committed else [])
