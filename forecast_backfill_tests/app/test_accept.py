"""Accepting a campaign frees what it replaced, a part at a time, and ends its rollbacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from forecast_backfill.app.accept import Accepted, accept, accept_expired
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports.rollback import Freed
from forecast_backfill.warehouse import acceptances
from forecast_backfill.warehouse.acceptances import PostgresAcceptances, superseded_size
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.rollbacks import A, B, Chain, names
from forecast_backfill_tests.postgres.rows import fetch

THREE = [Partition(date=FIRST + timedelta(days=day), region="R01") for day in range(3)]
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def chain(database_url: str, tmp_path: Path) -> Iterator[Chain]:
    """Two campaigns over three partitions."""
    with ExitStack() as stack:
        found = Chain(settings_for(database_url, tmp_path), stack)
        for each in THREE:
            found.write(each, {A: 1, B: 1}, campaign="spring")
            found.write(each, {A: 2}, campaign="summer")
        yield found


@dataclass(kw_only=True)
class Counting:
    """The real acceptances; counts what each transaction freed, and dies after `most`."""

    real: PostgresAcceptances
    most: int = 1_000
    freed: list[Freed] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def free_some(self, campaign_id: str) -> Freed:
        if len(self.freed) == self.most:
            raise KeyboardInterrupt
        self.freed.append(self.real.free_some(campaign_id))
        return self.freed[-1]


def counting(chain: Chain, **fields: int) -> Counting:
    return Counting(real=PostgresAcceptances(chain.rollback.session), **fields)


def accepted(store: Any, campaign: str = "summer") -> Accepted:
    return accept(campaign, accepted_by="ana", reason="looks good", acceptances=store)


def left(url: str) -> tuple[int, int]:
    rows = fetch(url, "SELECT count(*) FROM daily_demand_superseded")
    marks = fetch(url, "SELECT count(*) FROM superseded_partition")
    return rows[0][0], marks[0][0]


def test_what_is_written_meanwhile_does_not_hide_what_is_to_be_freed(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forecast_backfill.warehouse.acceptances.FREED_PARTITIONS", 1)
    fetch(
        chain.url,
        "UPDATE superseded_partition SET superseded_at = now() + interval '1 h' "
        "WHERE campaign_id = 'summer' AND date = %s RETURNING 1",
        FIRST,
    )
    assert accepted(counting(chain)).partitions == 2
    assert [each.partition.date for each in chain.rollback.ports.rollbacks.list("summer")] == [
        FIRST
    ]


def test_giving_space_back_takes_longer_than_a_statement_may(chain: Chain) -> None:
    fetch(
        chain.url,
        "WITH more AS (INSERT INTO daily_demand_superseded SELECT kept.* "
        "FROM daily_demand_superseded AS kept, generate_series(1, 20000) RETURNING 1) "
        "SELECT count(*) FROM more",
    )
    with chain.rollback.session.use() as connection:
        connection.execute("SET statement_timeout = '15ms'")
    PostgresAcceptances(chain.rollback.session).give_back_space()


def test_what_the_campaign_replaced_is_freed_and_nothing_else(chain: Chain) -> None:
    before = chain.everything()
    assert left(chain.url) == (6, 6)
    done = accepted(counting(chain))
    assert (done.partitions, done.rows, done.acceptance.accepted_by) == (3, 6, "ana")
    assert left(chain.url) == (0, 3)
    assert chain.everything() == before
    assert chain.roll_back("summer") == []


def test_a_transaction_frees_a_bounded_part(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptances, "FREED_ROWS", 3)
    store = counting(chain)
    accepted(store)
    assert store.freed == [
        Freed(partitions=2, rows=4),
        Freed(partitions=1, rows=2),
        Freed(partitions=0, rows=0),
    ]


def test_an_acceptance_that_was_interrupted_goes_on(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptances, "FREED_PARTITIONS", 1)
    with pytest.raises(KeyboardInterrupt):
        accepted(counting(chain, most=1))
    assert left(chain.url) == (4, 5)
    assert chain.roll_back("summer") == [], "what is being freed was put back"
    done = accepted(counting(chain))
    assert (done.partitions, done.rows) == (2, 4)
    assert accepted(counting(chain)).partitions == 0


def test_what_the_campaign_writes_after_that_can_be_rolled_back(chain: Chain) -> None:
    accepted(counting(chain))
    before = chain.everything()
    chain.write(THREE[0], {A: 9}, campaign="summer")
    assert names(chain.roll_back("summer")) == ["RolledBack"]
    assert chain.everything() == before


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_the_campaign_writes_below_an_interrupted_acceptance_can_be_rolled_back(
    chain: Chain, is_kept: bool
) -> None:
    """The accepted output is what stood before, though an earlier state is not freed yet."""
    changed, same = THREE[0], THREE[1]
    with pytest.raises(KeyboardInterrupt):
        accepted(counting(chain, most=0))
    assert left(chain.url) == (6, 6)
    before = chain.everything()
    # The same rows first: they need no copy, until others come.
    for units in ({A: 2}, {A: 9}) if is_kept else ({A: 9}, {A: 8}):
        chain.write(changed, units, campaign="summer")
    chain.write(same, {A: 2}, campaign="summer")
    assert [(names([each]), each.partition) for each in chain.roll_back("summer")] == [
        (["RolledBack"], changed),
        (["RolledBack"], same),
    ]
    assert chain.everything() == before
    accepted(counting(chain))
    assert left(chain.url) == (0, 3), "summer's are freed, spring's marks stay"


def test_a_campaign_that_changed_nothing_is_refused(chain: Chain) -> None:
    with pytest.raises(UsageRefused, match="there is nothing to accept of 'winter'"):
        accepted(counting(chain), "winter")


def test_the_expired_are_the_campaigns_that_last_wrote_long_ago(chain: Chain) -> None:
    with psycopg.connect(chain.url, options="-c search_path=forecast_backfill") as connection:
        connection.execute(
            "UPDATE superseded_partition SET superseded_at = '2025-12-31' "
            "WHERE campaign_id = 'spring' OR date = %s",
            (FIRST,),
        )
        connection.execute("UPDATE daily_demand_superseded SET superseded_at = '2025-12-31'")
        connection.execute(
            "INSERT INTO daily_demand_superseded SELECT d.*, '2025-12-31', NULL, 'run-0' "
            "FROM daily_demand AS d WHERE date = %s",
            (FIRST,),
        )
    done = accept_expired(LONG_AGO, accepted_by="ana", reason="old", acceptances=counting(chain))
    assert [(each.campaign_id, each.partitions) for each in done] == [("spring", 3)]
    assert left(chain.url) == (6, 3), "rows of no campaign are freed too, summer's are kept"


def test_the_size_names_every_campaign(chain: Chain) -> None:
    chain.roll_back("summer", end=FIRST + timedelta(days=1))
    size = superseded_size(chain.rollback.session)
    assert size.bytes > 0
    assert [
        (each.campaign_id, each.partitions, each.rolled_back, each.rows) for each in size.campaigns
    ] == [("spring", 3, 0, 0), ("summer", 3, 1, 4)]


def test_space_is_given_back_to_the_disk(chain: Chain) -> None:
    store = counting(chain)
    accepted(store)
    accepted(store, "spring")
    store.give_back_space()
    sizes = fetch(chain.url, "SELECT pg_relation_size('daily_demand_superseded')")
    assert sizes == [(0,)]
