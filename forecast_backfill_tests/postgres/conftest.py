"""Databases that a module shares: making one takes long."""

import pytest

from forecast_backfill_tests.conftest import TEMPLATE, copy_database
from forecast_backfill_tests.postgres.doubled import ROWS, SALES, execute, insert


@pytest.fixture(scope="module")
def constraints_database(server, request):
    """The URL of a migrated database, whose tests take back what they insert."""
    yield from copy_database(server.url, request.module.__name__.rpartition(".")[2], TEMPLATE)


@pytest.fixture(scope="module")
def foreign_database(server, request):
    """The URL of a database without our schema."""
    name = f"foreign_{request.module.__name__.rpartition('.')[2]}"
    yield from copy_database(server.url, name, "template1")


@pytest.fixture
def sales_url(foreign_database):
    """The URL of the database, whose table `sales` holds three rows of one writer."""
    execute(
        foreign_database,
        'DROP SCHEMA public CASCADE; DROP SCHEMA IF EXISTS "Old 1" CASCADE; CREATE SCHEMA public',
    )
    execute(foreign_database, SALES)
    insert(foreign_database, ROWS, run_id="first")
    return foreign_database
