"""A shadow's declaration is judged as a whole; its states move along the table's arrows only."""

from __future__ import annotations

from itertools import product

import pytest

from forecast_backfill.core.errors import ShadowRefused
from forecast_backfill.core.shadow import (
    OPEN,
    READ,
    TRANSITIONS,
    ShadowColumn,
    ShadowState,
    held_definition,
    judge_definition,
    read_definition,
    sources_of,
)

KEY = """
[columns.date]
type = "date"
[columns.region]
type = "text"
[columns.store_id]
type = "text"
[columns.product_id]
type = "text"
"""


def why(text: str) -> str:
    with pytest.raises(ShadowRefused) as refused:
        read_definition(text)
    return refused.value.why


def test_a_definition_gives_the_key_first_and_then_the_columns_in_their_order() -> None:
    found = read_definition(
        '[columns.revenue]\ntype = "numeric(12,2)"\nfrom = "revenue_cents / 100.0"\n'
        "not_null = true\n" + KEY + '[columns.note]\ntype = "text"\n'
    )
    assert [each.name for each in found.columns] == [
        "date", "region", "store_id", "product_id", "revenue", "note",
    ]  # fmt: skip
    assert found.columns[0] == ShadowColumn(
        name="date", type="date", expression="date", is_required=True
    )
    assert found.columns[4] == ShadowColumn(
        name="revenue", type="numeric(12,2)", expression="revenue_cents / 100.0", is_required=True
    )
    assert found.columns[5].expression is None


def test_a_definition_is_read_again_from_its_stored_fields() -> None:
    found = read_definition(KEY + '[columns.units]\ntype = "integer"\nfrom = "units"\n')
    assert judge_definition(found.as_fields()) == found


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ('[columns.a]\ntype = "money"', "a has the unknown type 'money'"),
        ('[columns.a]\ntype = "double precision"', "unknown type 'double precision'"),
        ('[columns.a]\ntype = "integer) ; DROP TABLE x; --"', "unknown type"),
        ('[columns.a]\ntype = "bigint(5)"', "bigint takes no numbers in brackets"),
        ('[columns.a]\ntype = "varchar(5,2)"', "varchar takes 1 numbers in brackets"),
        ('[columns.a]\nfrom = "units"', "a has the unknown type None"),
        ('[columns.a]\ntype = "text"\nnot_null = true', "a is NOT NULL and has no expression"),
        ('[columns.a]\ntype = "text"\nnot_null = "yes"', "a.not_null is neither true nor false"),
        ('[columns.a]\ntype = "text"\nform = "x"', "a.form is no part of a column"),
        ('[columns.a]\ntype = "text"\nfrom = ""', "a.from is no SQL expression"),
        ('[columns.a]\ntype = "text"\nfrom = "1; DROP TABLE x"', "one plain expression"),
        ('[columns.a]\ntype = "text"\nfrom = "units -- x"', "one plain expression"),
        ('[columns.a]\ntype = "text"\nfrom = "E\'x\'"', "one plain expression"),
        ('[columns.a]\ntype = "text"\nfrom = "$$x$$"', "one plain expression"),
        ('[columns.a]\ntype = "text"\nfrom = "units) , (1"', "brackets without their other half"),
        ('[columns.a]\ntype = "text"\nfrom = "(SELECT 1)"', "a.from reads one live row"),
        ('[columns."a b"]\ntype = "text"', "'a b' is no name"),
        ('[columns.xmin]\ntype = "text"', "'xmin' is no name"),
    ],
)
def test_a_column_that_cannot_be_meant_is_refused(column: str, told: str) -> None:
    assert told in why(KEY + column)


def test_words_and_brackets_inside_a_text_are_no_sql() -> None:
    found = read_definition(KEY + '[columns.a]\ntype = "text"\nfrom = "\'select ; ) --\'"\n')
    assert found.columns[4].expression == "'select ; ) --'"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (KEY.replace("store_id", "store"), "the key column store_id is missing"),
        (KEY.replace('"date"', '"text"'), "date belongs to the key: its type is date"),
        (KEY + 'from = "upper(product_id)"', "product_id belongs to the key and is taken as it is"),
        ("[columns", "it is no TOML"),
        ("columns = 3", "it has no [columns.NAME] tables"),
        ('name = "v2"\n' + KEY, "name is no part of a definition"),
    ],
)
def test_a_definition_without_the_key_as_it_is_is_refused(text: str, told: str) -> None:
    assert told in why(text)


def test_all_faults_are_told_at_once() -> None:
    told = why('[columns.a]\ntype = "money"\n[columns.b]\ntype = "text"\nnot_null = true\n')
    assert told.count(";") == 5


def test_only_a_validated_shadow_is_swapped_and_what_is_read_is_never_dropped() -> None:
    assert sources_of(ShadowState.SWAPPED) == (ShadowState.VALIDATED,)
    assert not READ & set(sources_of(ShadowState.DROPPED))
    assert sources_of(ShadowState.REVERTED) == (ShadowState.SWAPPED,)


def test_a_dropped_shadow_moves_nowhere_and_every_state_is_reached() -> None:
    arrows = {
        (a, b) for a, b in product([None, *ShadowState], ShadowState) if (a, b) in TRANSITIONS
    }
    assert arrows == set(TRANSITIONS)
    assert {b for _, b in arrows} == set(ShadowState)
    assert ShadowState.DROPPED not in {a for a, _ in arrows}
    assert {
        ShadowState.BUILDING, ShadowState.VALIDATED, ShadowState.SWAPPED, ShadowState.REVERTED,
    } == OPEN  # fmt: skip


def test_a_held_definition_has_the_live_columns_and_is_read_again() -> None:
    found = held_definition()
    assert judge_definition(found.as_fields()) == found
    assert [each.name for each in found.columns][:6] == [
        "date", "region", "store_id", "product_id", "demand_group", "units",
    ]  # fmt: skip
    assert all(each.expression == each.name for each in found.columns)


def test_whom_a_shadow_follows_is_all_or_nightly() -> None:
    assert read_definition('follows = "nightly"\n' + KEY).is_held
    assert not read_definition(KEY).is_held
    assert "follows is neither all nor nightly, but 'me'" in why('follows = "me"\n' + KEY)
