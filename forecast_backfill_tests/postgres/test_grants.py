"""One relation is given the grants of another, and no others."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from forecast_backfill.warehouse.grants import Grant, give_same, grants_of

OURS, OTHER = sql.Identifier("ours"), sql.Identifier("other")


@pytest.fixture
def connection(database):
    """A transaction that is undone, roles and all, with two views of the same columns."""
    with psycopg.connect(database, row_factory=dict_row) as opened:
        opened.execute(
            "CREATE ROLE grants_passes; CREATE ROLE grants_gets;"
            "GRANT USAGE, CREATE ON SCHEMA public TO grants_passes, grants_gets;"
            "SET search_path = public;"
            "CREATE VIEW ours AS SELECT 1 AS one, 2 AS two;"
            "CREATE VIEW other AS SELECT 1 AS one, 2 AS two"
        )
        yield opened
        opened.rollback()


def test_a_grant_that_its_grantee_has_passed_on_is_taken_back_with_what_it_passed_on(connection):
    connection.execute(
        "GRANT SELECT ON ours TO grants_passes WITH GRANT OPTION;"
        "SET ROLE grants_passes; GRANT SELECT ON ours TO grants_gets, PUBLIC; RESET ROLE;"
        "GRANT SELECT ON other TO grants_gets"
    )
    give_same(connection, OURS, OTHER)
    assert grants_of(connection, OURS) == (
        Grant(grantee="grants_gets", privilege="SELECT", is_grantable=False, column=None),
    )


def test_a_column_keeps_its_own_grant_with_the_right_to_pass_it_on(connection):
    connection.execute(
        "GRANT SELECT ON ours TO PUBLIC;"
        "GRANT SELECT (two) ON other TO grants_gets WITH GRANT OPTION"
    )
    give_same(connection, OURS, OTHER)
    assert grants_of(connection, OURS) == (
        Grant(grantee="grants_gets", privilege="SELECT", is_grantable=True, column="two"),
    )
