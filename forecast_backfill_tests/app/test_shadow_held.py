"""A held shadow: a campaign rebuilds in place unseen, and readers go over to all of it at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from forecast_backfill.core.errors import ShadowRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import held_definition
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.rollbacks import A
from forecast_backfill_tests.app.shadows import BY, Shadowed, read

ONE, TWO, TONIGHT = (Partition(date=FIRST + timedelta(days=day), region="R01") for day in range(3))


@pytest.fixture
def site(database_url: str, tmp_path: Path) -> Iterator[Shadowed]:
    """Two partitions, held for readers."""
    with ExitStack() as stack:
        found = Shadowed(settings_for(database_url, tmp_path), stack)
        for each in (ONE, TWO):
            found.chain.write(each, {A: 1}, campaign="spring")
        found.shadows.start(held_definition(), BY)
        found.go_over()
        yield found


def units(site: Shadowed) -> list[int]:
    return [row[0] for row in read(site.url, "units")]


def test_readers_see_nothing_of_a_campaign_until_all_of_it_is_there(site: Shadowed) -> None:
    site.chain.write(ONE, {A: 5}, campaign="summer", code=1)
    site.chain.write(TONIGHT, {A: 9})
    assert units(site) == [1, 1, 9]
    site.chain.write(TWO, {A: 5}, campaign="summer", code=1)
    assert units(site) == [1, 1, 9]
    site.revert()
    assert units(site) == [6, 6, 9]


def test_a_partition_that_a_campaign_finds_unchanged_is_not_shown_either(site: Shadowed) -> None:
    site.chain.write(ONE, {A: 5}, campaign="summer")
    site.write_again(ONE, {A: 5})
    assert units(site) == [1, 1]


def test_a_campaign_that_is_rolled_back_was_never_seen(site: Shadowed) -> None:
    site.chain.write(ONE, {A: 5}, campaign="summer", code=1)
    site.chain.roll_back("summer")
    assert units(site) == [1, 1]
    assert site.shadows.due(1) == ()


def test_what_is_held_is_not_kept_for_good(site: Shadowed) -> None:
    with pytest.raises(ShadowRefused, match="shadow 1 is held"):
        site.drop(is_earlier=True)


def test_after_the_revert_it_follows_everybody_again(site: Shadowed) -> None:
    site.chain.write(ONE, {A: 5}, campaign="summer")
    site.revert()
    assert [each.partition for each in site.shadows.due(1)] == [ONE]
    site.chain.write(TWO, {A: 7}, campaign="summer")
    site.go_over()
    assert units(site) == [5, 7]
