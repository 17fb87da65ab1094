"""A shadow from its start to its end: both are written, and readers go over and back at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from forecast_backfill.core.errors import ShadowRefused
from forecast_backfill.core.outcome import Unchanged, Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import ShadowState
from forecast_backfill.ports import Step
from forecast_backfill.ports.shadow import By
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.overlaps import Killed
from forecast_backfill_tests.app.rollbacks import A, B
from forecast_backfill_tests.app.shadows import DEFINITION, Shadowed, columns, read, with_column
from forecast_backfill_tests.postgres.rows import fetch

ONE, TWO, THREE = (
    Partition(date=FIRST + timedelta(days=day), region=region)
    for day, region in ((0, "R01"), (0, "R02"), (1, "R01"))
)
NEW = ["date", "region", "store_id", "product_id", "quantity", "revenue", "note"]


@pytest.fixture
def site(database_url: str, tmp_path: Path) -> Iterator[Shadowed]:
    """Two partitions that a campaign has built."""
    with ExitStack() as stack:
        found = Shadowed(settings_for(database_url, tmp_path), stack)
        found.chain.write(ONE, {A: 1, B: 2}, campaign="spring")
        found.chain.write(TWO, {A: 3}, campaign="spring")
        yield found


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        connection.execute(statement.encode())


def due(site: Shadowed) -> list[tuple[Partition, str]]:
    return [(each.partition, each.reason) for each in site.shadows.due(1)]


def test_a_shadow_goes_to_the_readers_and_back_without_loss(site: Shadowed) -> None:
    before = read(site.url)
    site.start()
    assert [each.rows for each in site.fill()] == [2, 1]
    assert site.validate()[1] is ShadowState.VALIDATED
    assert read(site.url) == before
    site.swap()
    assert columns(site.url) == NEW
    assert read(site.url, "quantity, revenue, note")[0] == (1, Decimal("1.00"), None)
    site.chain.write(THREE, {A: 7})
    site.chain.write(ONE, {A: 9}, exported=2)
    assert [row[0] for row in read(site.url, "quantity")] == [9, 3, 7]
    site.revert()
    assert "units" in columns(site.url)
    assert [row[0] for row in read(site.url, "units")] == [9, 3, 7]


def test_what_is_written_after_the_start_is_written_to_both_in_one_transaction(
    site: Shadowed,
) -> None:
    def die(step: Step, partition: Partition) -> None:
        if step is Step.RECORDED:
            raise Killed

    site.start()
    with pytest.raises(Killed):
        site.write_again(THREE, {A: 6}, checkpoint=die)
    assert read(site.url, "quantity", "daily_demand_shadow_1") == []
    site.chain.write(THREE, {A: 7})
    assert read(site.url, "quantity", "daily_demand_shadow_1") == [(7,)]
    assert due(site) == [(ONE, "it was not written yet"), (TWO, "it was not written yet")]


def test_a_campaign_that_finds_a_partition_unchanged_fills_the_shadow(site: Shadowed) -> None:
    site.start()
    assert isinstance(site.write_again(ONE, {A: 1, B: 2}), Unchanged)
    assert [partition for partition, _ in due(site)] == [TWO]
    assert len(read(site.url, "*", "daily_demand_shadow_1")) == 2


def test_a_merge_and_a_rollback_are_followed(site: Shadowed) -> None:
    site.start()
    site.fill()
    site.chain.write(ONE, {A: 8}, campaign="summer", exported=2)
    assert read(site.url, "quantity", "daily_demand_shadow_1") == [(8,), (3,)]
    site.chain.roll_back("summer")
    assert read(site.url, "quantity", "daily_demand_shadow_1") == [(1,), (2,), (3,)]
    site.chain.roll_back("spring", regions=["R01"])
    assert read(site.url, "quantity", "daily_demand_shadow_1") == [(3,)]
    assert site.validate()[1] is ShadowState.VALIDATED


def test_what_the_shadow_refuses_does_not_cost_the_live_write(site: Shadowed) -> None:
    site.start()
    site.fill()
    outcome = site.chain.write(ONE, {A: 40_000}, exported=2)
    assert isinstance(outcome, Written)
    assert read(site.url, "units", "daily_demand")[0] == (40_000,)
    assert due(site) == [(ONE, "smallint out of range")]
    with pytest.raises(ShadowRefused, match="it is building; only one that is validated can"):
        site.swap()
    found, state = site.validate()
    assert state is ShadowState.BUILDING
    assert [each.difference for each in found.differing] == [
        "a live row cannot be mapped: smallint out of range"
    ]


def test_a_failure_after_the_validation_keeps_the_shadow_from_being_swapped(
    site: Shadowed,
) -> None:
    site.start()
    site.fill()
    site.validate()
    site.chain.write(ONE, {A: 40_000}, exported=2)
    with pytest.raises(ShadowRefused, match="1 partitions are not as they are live"):
        site.swap()
    assert "units" in columns(site.url)


def test_a_foreign_hand_is_found_named_and_repaired(site: Shadowed) -> None:
    site.start()
    site.fill()
    execute(site.url, "UPDATE daily_demand_shadow_1 SET quantity = 5 WHERE region = 'R02'")
    execute(site.url, "DELETE FROM daily_demand_shadow_1 WHERE region = 'R01' AND store_id = 's1'")
    found, state = site.validate()
    assert state is ShadowState.BUILDING
    assert [(each.partition, each.difference) for each in found.differing] == [
        (ONE, "the shadow has 1 rows, by the mapping it is 2"),
        (TWO, "1 rows on either side, but not the same values"),
    ]
    assert [partition for partition, _ in due(site)] == [ONE, TWO]
    site.fill()
    assert site.validate()[1] is ShadowState.VALIDATED


def test_a_writer_that_knows_no_shadow_makes_its_partition_due(site: Shadowed) -> None:
    """An older version of the program writes the live table only."""
    site.start()
    site.fill()
    site.validate()
    execute(site.url, "UPDATE partition_ledger SET output_data_version = 'x' WHERE region = 'R02'")
    assert due(site) == [(TWO, "the live rows are others by now")]
    with pytest.raises(ShadowRefused, match="the live rows are others by now"):
        site.swap()


def test_a_partition_may_be_left_out_by_name_and_reason(site: Shadowed) -> None:
    site.start()
    site.fill()
    site.chain.write(ONE, {A: 40_000}, exported=2)
    site.shadows.leave_out(1, ONE, By(name="ana", reason="a known bad import"))
    found, state = site.validate()
    assert (state, len(found.left_out), found.differing) == (ShadowState.VALIDATED, 1, ())
    site.swap()
    assert columns(site.url) == NEW


def test_the_side_that_is_read_is_not_dropped(site: Shadowed) -> None:
    site.start()
    site.go_over()
    with pytest.raises(ShadowRefused, match="it is what readers read"):
        site.drop()
    site.revert()
    site.drop()
    assert fetch(site.url, "SELECT to_regclass('daily_demand_shadow_1')") == [(None,)]
    assert isinstance(site.chain.write(THREE, {A: 7}), Written)
    assert len(read(site.url)) == 4


def test_a_kept_shadow_stays_written_and_gives_way_to_the_next_one(site: Shadowed) -> None:
    site.start()
    site.go_over()
    site.drop(is_earlier=True)
    with pytest.raises(ShadowRefused, match="shadow 1 cannot become reverted"):
        site.revert()
    assert site.start(with_column("basket_count", {"type": '"bigint"', "from": '"baskets"'})) == 2
    site.go_over()
    assert columns(site.url) == [*NEW, "basket_count"]
    site.chain.write(THREE, {A: 7})
    site.revert()
    assert columns(site.url) == NEW
    assert [row[0] for row in read(site.url, "quantity")] == [1, 2, 3, 7]
    site.validate()
    site.swap()
    site.drop(is_earlier=True)
    assert [(each.shadow_id, each.state.value) for each in site.shadows.list()] == [
        (1, "dropped"), (2, "adopted"),
    ]  # fmt: skip
    assert fetch(site.url, "SELECT to_regclass('daily_demand_shadow_1')") == [(None,)]


def test_only_one_shadow_is_under_way(site: Shadowed) -> None:
    site.start()
    with pytest.raises(ShadowRefused, match="another one is under way"):
        site.start()


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("unites", 'column "unites" does not exist'),
        ("units || demand_group || 1.5 || now(", "brackets without their other half"),
        ("sum(units)", "aggregate functions are not allowed in WHERE"),
        ("row_number() OVER ()", "window functions are not allowed in WHERE"),
        ("demand_group", "cannot cast|invalid input|is of type text"),
    ],
)
def test_an_expression_that_postgresql_refuses_leaves_nothing_behind(
    site: Shadowed, expression: str, told: str
) -> None:
    with pytest.raises(ShadowRefused, match=told):
        site.start(with_column("x", {"type": '"jsonb"', "from": f'"{expression}"'}))
    assert site.shadows.list() == ()
    assert fetch(site.url, "SELECT to_regclass('daily_demand_shadow_1')") == [(None,)]


def test_readers_keep_their_grants_and_dependent_views_their_version(site: Shadowed) -> None:
    execute(site.url, "CREATE ROLE shadow_reader_of_test; GRANT SELECT ON "
            "daily_demand_for_readers TO shadow_reader_of_test")  # fmt: skip
    execute(site.url, "CREATE VIEW theirs AS SELECT sum(units) FROM daily_demand_for_readers")
    try:
        site.start()
        site.go_over()
        assert fetch(
            site.url,
            "SELECT has_table_privilege('shadow_reader_of_test', "
            "'daily_demand_for_readers', 'SELECT'), (SELECT sum FROM theirs)",
        ) == [(True, 6)]
        with pytest.raises(ShadowRefused, match="view theirs depends on"):
            site.drop(is_earlier=True)
    finally:
        execute(site.url, "DROP OWNED BY shadow_reader_of_test; DROP ROLE shadow_reader_of_test")


def test_who_may_read_the_name_may_read_it_after_a_swap_and_a_revert_and_nobody_else(
    site: Shadowed,
) -> None:
    roles = ("shadow_keeps", "shadow_comes", "shadow_goes", "shadow_tests", "shadow_column")
    may = (
        "SELECT array_agg(role ORDER BY role) FROM unnest(%s::text[]) AS role WHERE "
        "has_any_column_privilege(role, 'daily_demand_for_readers', 'SELECT')"
    )
    for role in roles:
        execute(site.url, f"CREATE ROLE {role}")
    try:
        execute(
            site.url,
            "GRANT SELECT ON daily_demand_for_readers TO shadow_keeps, shadow_goes;"
            "GRANT SELECT (region, units) ON daily_demand_for_readers TO shadow_column",
        )
        site.start()
        execute(site.url, "GRANT SELECT ON daily_demand_version_1 TO shadow_tests")
        site.go_over()
        assert fetch(site.url, may, list(roles)) == [
            (["shadow_column", "shadow_goes", "shadow_keeps"],)
        ]
        execute(site.url, "GRANT SELECT ON daily_demand_for_readers TO shadow_comes;"
                "REVOKE SELECT ON daily_demand_for_readers FROM shadow_goes")  # fmt: skip
        site.revert()
        assert fetch(site.url, may, list(roles)) == [
            (["shadow_column", "shadow_comes", "shadow_keeps"],)
        ]
        assert fetch(
            site.url,
            "SELECT attname FROM pg_attribute WHERE attacl IS NOT NULL "
            "AND attrelid = 'daily_demand_for_readers'::regclass ORDER BY 1",
        ) == [("region",), ("units",)]
    finally:
        for role in roles:
            execute(site.url, f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_every_step_is_recorded_with_who_and_why(site: Shadowed) -> None:
    site.start(DEFINITION)
    site.go_over()
    site.revert()
    assert fetch(
        site.url, "SELECT step, state, done_by, reason FROM shadow_event ORDER BY event_id"
    ) == [
        ("start", "building", "ana", "new columns"),
        ("validate", "validated", "ana", "new columns"),
        ("swap", "swapped", "ana", "new columns"),
        ("revert", "reverted", "ana", "new columns"),
    ]


def test_a_leaf_that_is_swapped_is_followed_before_it_takes_its_place(
    database_url: str, tmp_path: Path
) -> None:
    settings = settings_for(database_url, tmp_path, table_layout="leaves", large_rows=2)
    with ExitStack() as stack:
        site = Shadowed(settings, stack)
        site.chain.write(ONE, {A: 1, B: 2}, campaign="spring")
        site.start()
        site.go_over()
        site.chain.write(ONE, {A: 3, B: 4}, campaign="summer", exported=2)
        ways = "SELECT detail ->> 'primitive' FROM partition_event WHERE kind = 'written'"
        assert fetch(database_url, ways) == [("swap_leaf",)] * 2
        assert read(site.url, "quantity") == [(3,), (4,)]
        site.revert()
        assert read(site.url, "units") == [(3,), (4,)]
