"""Any history of nightly, campaigns and rollbacks over one partition ends as a model says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forecast_backfill.core.partition import Partition
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.rollbacks import A, B, Chain, names
from forecast_backfill_tests.postgres.rows import fetch

CONTENTS = [{A: 1}, {A: 2, B: 1}, {}]
WRITE = st.tuples(st.sampled_from([None, "spring", "summer"]), st.integers(0, 2))
ROLLBACK = st.tuples(st.sampled_from(["spring", "summer"]), st.just("back"))
_days = count(1)


@dataclass(kw_only=True)
class Model:
    """What stands and who wrote it; what each campaign took the place of first."""

    stands: tuple[int | None, str | None] = (None, None)
    kept: dict[str, tuple[int | None, str | None]] = field(default_factory=dict)

    def write(self, writer: str, content: int) -> None:
        if writer not in self.kept or self.stands[1] != writer:
            self.kept[writer] = self.stands
        self.stands = (content, writer)

    def roll_back(self, campaign: str) -> list[str]:
        if campaign not in self.kept:
            return []
        if self.kept[campaign] == ("back", None):
            return ["AlreadyBack"]
        if self.stands[1] != campaign:
            return ["Left"]
        self.stands, self.kept[campaign] = self.kept[campaign], ("back", None)  # type: ignore[assignment]
        return ["RolledBack"]


@pytest.fixture
def chain(database_url: str, tmp_path: Path) -> Iterator[Chain]:
    with ExitStack() as stack:
        yield Chain(settings_for(database_url, tmp_path), stack)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(history=st.lists(st.one_of(WRITE, WRITE, ROLLBACK), max_size=10))
def test_a_partition_ends_as_the_model_says(
    chain: Chain, history: list[tuple[str | None, int | str]]
) -> None:
    """Each history has a date of its own, so that they do not meet."""
    day = FIRST + timedelta(days=next(_days))
    partition, model = Partition(date=day, region="R01"), Model()
    for number, (who, what) in enumerate(history):
        if isinstance(what, int):
            chain.write(partition, CONTENTS[what], campaign=who)
            model.write(who or f"nightly {number}", what)
        elif who is not None:
            outcomes = chain.roll_back(who, start=day, end=day + timedelta(days=1))
            assert names(outcomes) == model.roll_back(who)
    content = model.stands[0]
    expected = {} if content is None else CONTENTS[content]
    stored = fetch(
        chain.url,
        "SELECT store_id, product_id, units FROM daily_demand WHERE date = %s",
        day,
    )
    assert {(store, product): units for store, product, units in stored} == expected
    described = fetch(
        chain.url,
        "SELECT output_rows FROM partition_ledger WHERE date = %s AND output <> 'absent'",
        day,
    )
    assert described == ([] if content is None else [(len(expected),)])
