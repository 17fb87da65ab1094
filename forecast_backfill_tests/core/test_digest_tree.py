"""The digest tree finds what a plain difference of sets finds, and looks at little else."""

from collections import Counter
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.app.localise import RowsAtHand, localise
from forecast_backfill.core.digest_tree import (
    EMPTY,
    LEAF_ROWS,
    ROOT,
    Bucket,
    Digest,
    RowDigest,
    differing,
    differing_rows,
    explain,
    kind_of,
    split,
)
from forecast_backfill.core.fingerprint import row_hash
from forecast_backfill.core.partition import DateRange, Partition

DAYS = [date(2026, 11, day) for day in (1, 2, 3)]
PARTITIONS = [Partition(date=day, region=region) for day in DAYS for region in ("R01", "R02")]
DATES = DateRange(start=DAYS[0], end=date(2026, 11, 4))

row = st.builds(
    lambda *values: RowDigest(key=values[:2], hash=row_hash(values)),
    st.sampled_from(["s1", "s2", "S", ""]),
    st.integers(0, 400).map(str),
    st.integers(0, 3),
)
table = st.dictionaries(st.sampled_from(PARTITIONS), st.lists(row, max_size=12))


class Table:
    """A table in memory that counts the rows it hands out."""

    def __init__(self, rows):
        self._rows = rows
        self.handed_out = 0

    def partitions(self, dates, regions):
        return {
            partition: sum((Digest(rows=1, checksum=each.hash) for each in rows), EMPTY)
            for partition, rows in self._rows.items()
            if rows
        }

    def split(self, partition, parent):
        return split(self._rows.get(partition, ()), parent)

    def rows(self, partition, bucket):
        found = RowsAtHand(all_rows=self._rows.get(partition, ())).rows(partition, bucket)
        self.handed_out += len(found)
        return found


def naive(expected, found):
    """(partition, key) of every key whose rows differ as multisets."""

    def counted(rows):
        return Counter((part, each.key, each.hash) for part, all in rows.items() for each in all)

    ours, theirs = counted(expected), counted(found)
    return {(part, key) for part, key, _ in (ours - theirs) + (theirs - ours)}


def named(result):
    return {(each.partition, row.key) for each in result.differences for row in each.rows}


@given(expected=table, found=table)
def test_it_finds_what_a_difference_of_multisets_finds(expected, found):
    result = localise(expected=Table(expected), found=Table(found), dates=DATES)
    assert named(result) == naive(expected, found)


@given(base=table, changes=st.lists(st.tuples(st.sampled_from(PARTITIONS), row), max_size=3))
def test_a_few_changes_to_equal_tables_are_found(base, changes):
    found = {partition: list(rows) for partition, rows in base.items()}
    for partition, changed in changes:
        rows = [each for each in found.get(partition, ()) if each.key != changed.key]
        found[partition] = [*rows, changed]
    result = localise(expected=Table(base), found=Table(found), dates=DATES)
    assert named(result) == naive(base, found)


def plain_rows(count):
    return [RowDigest(key=("s1", str(number)), hash=row_hash((number,))) for number in range(count)]


def test_one_changed_row_in_a_large_partition_costs_one_bucket():
    rows = plain_rows(5000)
    changed = [*rows[:77], RowDigest(key=("s1", "77"), hash=1), *rows[78:]]
    expected, found = Table({PARTITIONS[0]: rows}), Table({PARTITIONS[0]: changed})
    result = localise(expected=expected, found=found, dates=DATES)
    (difference,) = result.differences
    assert [each.key for each in difference.rows] == [("s1", "77")]
    assert difference.kind == "values_differ"
    assert difference.reason == "5000 rows on both sides, their values differ"
    assert found.handed_out <= LEAF_ROWS
    assert difference.read == expected.handed_out + found.handed_out
    assert difference.scanned == 2 * 10_000


def test_two_regions_whose_rows_are_swapped_differ_though_their_sums_do_not():
    one, two = plain_rows(2), plain_rows(4)
    expected = Table({PARTITIONS[0]: one, PARTITIONS[1]: two})
    found = Table({PARTITIONS[0]: two, PARTITIONS[1]: one})
    result = localise(expected=expected, found=found, dates=DATES)
    assert [(each.partition, each.reason) for each in result.differences] == [
        (PARTITIONS[0], "2 rows expected, 4 found"),
        (PARTITIONS[1], "4 rows expected, 2 found"),
    ]
    assert result.expected.rows == result.found.rows
    assert result.expected != result.found


def test_equal_tables_hand_out_no_row():
    expected, found = Table({PARTITIONS[0]: plain_rows(3)}), Table({PARTITIONS[0]: plain_rows(3)})
    result = localise(expected=expected, found=found, dates=DATES)
    assert (result.partitions, result.expected.rows, result.differences) == (1, 3, ())
    assert expected.handed_out == found.handed_out == 0


def test_a_partition_that_lies_there_twice_is_an_exact_multiple():
    rows = plain_rows(4)
    result = localise(
        expected=Table({PARTITIONS[3]: rows}), found=Table({PARTITIONS[3]: rows * 2}), dates=DATES
    )
    (difference,) = result.differences
    assert (difference.partition, difference.kind) == (PARTITIONS[3], "exact_multiple")
    assert difference.reason == "every row is there 2 times"
    assert {(each.kind, each.expected, each.found) for each in difference.rows} == {
        ("exact_multiple", 1, 2)
    }


def test_the_kinds_are_told_apart_row_by_row():
    expected = [RowDigest(key=(name,), hash=ord(name)) for name in "abc"]
    found = [
        RowDigest(key=("a",), hash=1),
        RowDigest(key=("c",), hash=ord("c")),
        RowDigest(key=("c",), hash=ord("c")),
        RowDigest(key=("d",), hash=5),
    ]
    assert [(each.key[0], each.kind) for each in differing_rows(expected, found)] == [
        ("a", "values_differ"),
        ("b", "missing_rows"),
        ("c", "exact_multiple"),
        ("d", "extra_rows"),
    ]


def test_a_key_that_lies_there_hundreds_of_times_ends_the_descent():
    row = RowDigest(key=("s1", "1"), hash=9)
    expected, found = Table({PARTITIONS[0]: [row]}), Table({PARTITIONS[0]: [row] * 300})
    (difference,) = localise(expected=expected, found=found, dates=DATES).differences
    assert [(each.expected, each.found) for each in difference.rows] == [(1, 300)]


def test_as_many_rows_more_with_other_values_are_no_exact_multiple():
    expected, found = Digest(rows=2, checksum=7), Digest(rows=4, checksum=15)
    assert kind_of(expected, found) == "extra_rows"
    assert explain(expected, found) == "2 rows expected, 4 found"


def test_an_absent_child_counts_as_empty():
    digest = Digest(rows=1, checksum=5)
    assert differing({"b": digest, "a": digest}, {"a": EMPTY}) == ("a", "b")
    assert differing({"a": EMPTY}, {}) == ()


@given(st.integers(0, 2**60 - 1))
def test_a_key_hash_lies_in_exactly_one_child_of_every_bucket_that_holds_it(key_hash):
    bucket = ROOT
    for _ in range(12):
        assert key_hash in bucket
        children = [
            Bucket(depth=bucket.depth + 1, index=bucket.index * 32 + number) for number in range(32)
        ]
        assert [child for child in children if key_hash in child] == [bucket.of(key_hash)]
        bucket = bucket.of(key_hash)
