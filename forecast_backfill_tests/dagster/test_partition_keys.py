"""Dagster's partition keys."""

from __future__ import annotations

from datetime import date

import pytest

from forecast_backfill.core.partition import Partition
from forecast_backfill.dagster_defs.partition_keys import format_key, parse_key


def test_a_key_is_the_date_then_the_region() -> None:
    assert format_key(Partition(date=date(2026, 3, 1), region="R07")) == "2026-03-01|R07"


def test_a_key_reads_back_as_its_partition() -> None:
    assert parse_key("2026-03-01|R07") == Partition(date=date(2026, 3, 1), region="R07")


@pytest.mark.parametrize("key", ["2026-03-01", "2026-03-01|", "R07|2026-03-01", "2026-02-30|R07"])
def test_a_malformed_key_is_refused_by_name(key: str) -> None:
    with pytest.raises(ValueError, match="the partition key"):
        parse_key(key)
