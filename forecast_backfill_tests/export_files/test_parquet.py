"""A file's bytes go by its rows, and what it holds is read back from them."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from forecast_backfill.core.export import Wanted
from forecast_backfill.export_files import parquet
from forecast_backfill.export_files.open_folder import open_folder
from forecast_backfill.export_files.parquet import STAMP, read_fingerprint, read_stamp, write_rows
from forecast_backfill.warehouse.exported import EXPORT_SCHEMA
from forecast_backfill_tests.conformance.test_spark_checksum import rows_of
from forecast_backfill_tests.postgres.rows import PARTITION, fingerprint_of, table_of

# Revenue as an engine has it: its sum fits into 64 bits.
ROWS = table_of([each | {"revenue_cents": each["revenue_cents"] >> 9} for each in rows_of(300)])
EXPORTED = ROWS.select(EXPORT_SCHEMA.names).cast(EXPORT_SCHEMA)


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 64)


def written(file, *sizes):
    """The rows in pieces of these sizes, and the rest."""
    bounds = [0]
    for size in sizes:
        bounds.append(bounds[-1] + size)
    ends = [*bounds[1:], EXPORTED.num_rows]
    pieces = [EXPORTED.slice(a, b - a) for a, b in zip(bounds, ends, strict=True)]
    write_rows(file, "stamp", pieces)
    return file


def test_the_bytes_do_not_depend_on_the_pieces_that_rows_come_in(tmp_path):
    one = written(tmp_path / "one").read_bytes()
    assert written(tmp_path / "two", 1, 130, 64).read_bytes() == one
    assert pq.read_metadata(tmp_path / "two").num_row_groups == 5


def test_the_fingerprint_of_odd_values_is_read_back_over_row_groups(tmp_path):
    assert read_fingerprint(written(tmp_path / "one", 200), PARTITION) == fingerprint_of(ROWS)


def test_a_file_that_is_gone_or_broken_has_no_fingerprint(tmp_path):
    file = written(tmp_path / "one")
    file.write_bytes(file.read_bytes()[:-9])
    assert read_fingerprint(file, PARTITION) is None
    assert read_fingerprint(tmp_path / "two", PARTITION) is None


def test_a_stamp_that_is_no_text_is_nobodys(tmp_path):
    pq.write_table(EXPORTED.replace_schema_metadata({STAMP: b"\xff"}), tmp_path / "one")
    assert read_stamp(tmp_path / "one") == "\N{REPLACEMENT CHARACTER}"


def test_what_is_staged_is_seen_by_nobody_until_it_is_published(tmp_path):
    wanted = Wanted(partition=PARTITION, fingerprint=fingerprint_of(ROWS))
    with open_folder(tmp_path / "export", kept_apart={}) as folder:
        assert folder.stage(wanted, _Whole()) == wanted.fingerprint
        assert (folder.partitions(), folder.fingerprint(wanted)) == (frozenset(), None)
        folder.publish(PARTITION)
        assert folder.partitions() == {PARTITION}
        assert folder.fingerprint(wanted) == wanted.fingerprint
        folder.remove(PARTITION)
        assert folder.partitions() == frozenset()


class _Whole:
    num_rows = EXPORTED.num_rows

    def pieces(self):
        yield EXPORTED
