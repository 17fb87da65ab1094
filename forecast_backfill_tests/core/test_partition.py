"""Partitions and half-open ranges of dates."""

from datetime import date

import pytest

from forecast_backfill.core.partition import DateRange, Partition, partitions_of

NOV_26, NOV_27, NOV_28 = date(2026, 11, 26), date(2026, 11, 27), date(2026, 11, 28)


def test_the_end_of_a_range_is_not_in_it():
    dates = DateRange(start=NOV_26, end=NOV_28)
    assert list(dates) == [NOV_26, NOV_27]
    assert len(dates) == 2
    assert NOV_28 not in dates


@pytest.mark.parametrize("end", [NOV_26, date(2026, 11, 25)])
def test_an_empty_or_inverted_range_is_refused(end):
    with pytest.raises(ValueError, match="holds no date"):
        DateRange(start=NOV_26, end=end)


def test_partitions_come_by_date_and_then_by_region():
    found = list(partitions_of(DateRange(start=NOV_26, end=NOV_28), ["R02", "R01"]))
    assert [str(each) for each in found] == [
        "2026-11-26 R02",
        "2026-11-26 R01",
        "2026-11-27 R02",
        "2026-11-27 R01",
    ]


def test_its_options_name_it_alone_to_a_verb():
    partition = Partition(date=date(2026, 12, 31), region="R07")
    assert partition.options == "--from 2026-12-31 --to 2027-01-01 --regions R07"


def test_partitions_with_the_same_date_and_region_are_one():
    assert len({Partition(date=NOV_26, region="R01"), Partition(date=NOV_26, region="R01")}) == 1
