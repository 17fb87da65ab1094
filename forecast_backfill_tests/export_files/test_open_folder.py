"""Which folders take an export, and what is said of the others."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from forecast_backfill.core.errors import ExportRefused, UsageRefused
from forecast_backfill.core.export_manifest import ended
from forecast_backfill.export_files.open_folder import open_folder


def opened(folder, **kept_apart):
    with open_folder(folder, kept_apart=kept_apart) as found:
        return found


def claim(folder):
    """The folder is an export's, which holds nothing yet."""
    with open_folder(folder, kept_apart={}) as found:
        found.write_manifest(ended(None, [], datetime(2026, 12, 1, tzinfo=UTC)))


def test_a_new_and_an_empty_folder_take_an_export(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("new/below", "empty"):
        assert opened(tmp_path / name).manifest is None
        assert opened(tmp_path / name).partitions() == frozenset()


def test_the_folder_of_an_earlier_export_takes_another(tmp_path):
    claim(tmp_path / "export")
    assert opened(tmp_path / "export").manifest is not None


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "photos.txt").write_text("x")
    with pytest.raises(UsageRefused, match="it is not empty and has no") as refused:
        opened(tmp_path)
    assert refused.value.next_command.startswith("forecast-backfill export FOLDER")
    assert [each.name for each in tmp_path.iterdir()] == ["photos.txt"]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "export").write_text("x")
    with pytest.raises(UsageRefused, match="not a folder"):
        opened(tmp_path / "export")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "another tool\'s"}'])
def test_a_manifest_of_something_else_is_refused(tmp_path, text):
    (tmp_path / "_export.json").write_text(text)
    with pytest.raises(UsageRefused, match="cannot be read as that of an export"):
        opened(tmp_path)


@pytest.mark.parametrize("place", ["lakehouse", "lakehouse/export", ".", "link/export"])
def test_a_folder_in_or_around_the_lakehouse_is_refused(tmp_path, place):
    (tmp_path / "lakehouse").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "lakehouse")
    with pytest.raises(UsageRefused, match="it lies in or around the lakehouse"):
        opened(tmp_path / place, **{"the lakehouse": tmp_path / "lakehouse"})
    assert list((tmp_path / "lakehouse").iterdir()) == []


@pytest.mark.parametrize(
    "place",
    [
        "more.parquet",
        "date=2026-11-02/region=R01/more.parquet",
        "date=2026-02-31/region=R01/daily_demand.parquet",
    ],
)
def test_a_foreign_file_that_readers_would_take_along_is_refused(tmp_path, place):
    claim(tmp_path)
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("x")
    (tmp_path / "_SUCCESS").write_text("")
    with pytest.raises(UsageRefused, match="not of an export") as refused:
        opened(tmp_path)
    assert refused.value.why.endswith(f"take them along: {place}")


def test_two_exports_do_not_write_to_one_folder(tmp_path):
    with (
        open_folder(tmp_path / "export", kept_apart={}),
        pytest.raises(ExportRefused, match="another export writes to it just now"),
    ):
        opened(tmp_path / "export")
    assert opened(tmp_path / "export").partitions() == frozenset()


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ExportRefused, match="Not a directory"):
        opened(tmp_path / "file" / "export")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_cannot_be_looked_into_is_told(tmp_path):
    claim(tmp_path)
    (tmp_path / "date=2026-11-02").mkdir(mode=0)
    with pytest.raises(ExportRefused, match="Permission denied"):
        opened(tmp_path)
