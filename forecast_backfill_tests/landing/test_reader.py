"""The reader takes every file once, changes none, and its digest covers every byte."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import date as Date
from pathlib import Path

import pytest

from forecast_backfill.core.errors import LandingIncomplete
from forecast_backfill.core.partition import Partition
from forecast_backfill.landing import reader
from forecast_backfill.landing.reader import FileLanding
from forecast_backfill.ports import LandedFile
from forecast_backfill_tests.landing.hand_made import land

PARTITION = Partition(date=Date(2026, 11, 1), region="R01")


def test_the_file_and_the_manifest_are_read_as_they_lie(tmp_path: Path):
    folder = land(tmp_path, PARTITION, [{}])
    source = FileLanding(tmp_path).read(PARTITION)
    assert [file.name for file in source.files] == ["sales.csv.gz"]
    assert source.files[0].content == (folder / "sales.csv.gz").read_bytes()
    assert source.manifest == (folder / "manifest.json").read_bytes()


def test_every_sales_file_is_handed_on_so_that_an_ambiguity_is_seen(tmp_path: Path):
    land(tmp_path, PARTITION, [{}], file_name="sales.parquet")
    land(tmp_path, PARTITION, [{}], file_name="sales.csv")
    source = FileLanding(tmp_path).read(PARTITION)
    assert [file.name for file in source.files] == ["sales.csv", "sales.parquet"]


def test_the_parts_of_a_large_delivery_are_handed_on_by_name(tmp_path: Path):
    for name in ("part-0002.csv.gz", "part-0001.csv.gz"):
        land(tmp_path, PARTITION, [{}], file_name=name)
    source = FileLanding(tmp_path).read(PARTITION)
    assert [file.name for file in source.files] == ["part-0001.csv.gz", "part-0002.csv.gz"]


def test_other_files_are_none_of_the_delivery(tmp_path: Path):
    folder = land(tmp_path, PARTITION, [{}])
    before = FileLanding(tmp_path).read(PARTITION)
    (folder / ".sales.csv.gz.7.partial").write_bytes(b"half")
    (folder / "_SUCCESS").write_bytes(b"")
    assert FileLanding(tmp_path).read(PARTITION) == before


def test_a_missing_folder_holds_no_file_and_no_manifest(tmp_path: Path):
    source = FileLanding(tmp_path).read(PARTITION)
    assert (source.files, source.manifest) == ((), None)


def test_reading_changes_no_file(tmp_path: Path):
    folder = land(tmp_path, PARTITION, [{}])
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}
    FileLanding(tmp_path).read(PARTITION)
    assert {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["sales.csv.gz", "manifest.json"])
def test_the_digest_changes_with_any_byte(tmp_path: Path, name: str):
    path = land(tmp_path, PARTITION, [{}]) / name
    content = path.read_bytes()
    landing = FileLanding(tmp_path)
    digests = {landing.read(PARTITION).digest}
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        digests.add(landing.read(PARTITION).digest)
    assert len(digests) == len(content) + 1


def test_the_digest_tells_a_missing_manifest_a_missing_file_and_another_name(tmp_path: Path):
    folder = land(tmp_path, PARTITION, [{}], file_name="sales.csv")
    landing = FileLanding(tmp_path)
    digests = {landing.read(PARTITION).digest}
    (folder / "sales.csv").rename(folder / "sales.csv.gz")
    digests.add(landing.read(PARTITION).digest)
    (folder / "sales.csv.gz").unlink()
    digests.add(landing.read(PARTITION).digest)
    (folder / "manifest.json").unlink()
    digests.add(landing.read(PARTITION).digest)
    assert len(digests) == 4


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file_is_an_expected_error(tmp_path: Path):
    folder = land(tmp_path, PARTITION, [{}])
    (folder / "sales.csv.gz").chmod(0)
    with pytest.raises(LandingIncomplete, match="cannot be read"):
        FileLanding(tmp_path).read(PARTITION)


def test_a_folder_where_a_manifest_should_be_is_an_expected_error(tmp_path: Path):
    folder = land(tmp_path, PARTITION, [{}])
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()
    with pytest.raises(LandingIncomplete, match=r"manifest\.json cannot be read"):
        FileLanding(tmp_path).read(PARTITION)


def test_a_delivery_landed_again_between_manifest_and_file_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = land(tmp_path, PARTITION, [{"quantity": "1"}])
    read_sales = reader._read_sales
    landings = iter(["9"])

    def landed_again_first(directory: Path, read: Callable[[Path], LandedFile]):
        for quantity in landings:
            land(tmp_path, PARTITION, [{"quantity": quantity}])
        return read_sales(directory, read)

    monkeypatch.setattr(reader, "_read_sales", landed_again_first)
    source = FileLanding(tmp_path).read(PARTITION)
    assert source.manifest == (folder / "manifest.json").read_bytes()
    assert json.loads(source.manifest)["units"] == 9
