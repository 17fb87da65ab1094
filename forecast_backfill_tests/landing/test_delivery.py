"""A file is placed whole, only where it differs, and packed the same every time."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.landing.delivery import pack, place


def test_a_packed_file_carries_neither_a_time_nor_a_name():
    packed = pack(b"line\n")
    assert gzip.decompress(packed) == b"line\n"
    # Byte 3 holds the flags (a name would set one), bytes 4 to 7 the time.
    assert packed[3:8] == bytes(5)


def test_the_same_content_is_not_placed_again(tmp_path: Path):
    path = tmp_path / "new" / "file"
    assert place(path, b"one") is True
    before = path.stat().st_mtime_ns
    assert place(path, b"one") is False
    assert path.stat().st_mtime_ns == before


def test_other_content_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path):
    path = tmp_path / "file"
    place(path, b"one")
    assert place(path, b"two") is True
    assert [found.read_bytes() for found in tmp_path.iterdir()] == [b"two"]


def test_a_folder_that_cannot_be_written_is_an_expected_error(tmp_path: Path):
    (tmp_path / "taken").write_bytes(b"a file, not a folder")
    with pytest.raises(SettingRefused, match="cannot be written"):
        place(tmp_path / "taken" / "file", b"one")
