"""An export that is broken off leaves each partition whole, old or new, and is gone on with."""

from __future__ import annotations

import pytest

from forecast_backfill_tests.app.exports import (
    ONE,
    PARTITIONS,
    PLACES,
    THREE,
    TWO,
    contents,
    exported_settings,
    land_again,
    listed,
    manifest_of,
    place_of,
    refuse_source,
    run_export,
    units,
)


@pytest.fixture
def settings(database_url, tmp_path):
    return exported_settings(database_url, tmp_path / "home")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "export"


class _Breaking:
    """A folder that breaks at one point, as a crash would, from the second partition on."""

    def __init__(self, folder):
        self._folder = folder
        self._done = 0

    def __getattr__(self, name):
        return getattr(self._folder, name)


class BeforeTheRename(_Breaking):
    def publish(self, partition):
        self._done += 1
        if self._done == 2:
            raise KeyboardInterrupt
        self._folder.publish(partition)

    def discard(self, partition):
        """A killed process discards nothing."""
        if self._done != 2:
            self._folder.discard(partition)


class AfterTheRename(_Breaking):
    def publish(self, partition):
        self._folder.publish(partition)
        self._done += 1
        if self._done == 2:
            raise KeyboardInterrupt


class BeforeTheManifest(_Breaking):
    def write_manifest(self, manifest):
        self._done += 1
        if self._done == 2:
            raise KeyboardInterrupt
        self._folder.write_manifest(manifest)


class InTheFile(_Breaking):
    def stage(self, wanted, rows):
        self._done += 1
        return self._folder.stage(wanted, rows if self._done == 1 else Torn(rows))

    def discard(self, partition):
        """A killed process discards nothing."""


class Torn:
    """Rows that end in the middle."""

    def __init__(self, rows):
        self._rows = rows
        self.num_rows = rows.num_rows

    def pieces(self):
        for piece in self._rows.pieces():
            yield piece.slice(0, 1)
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("broken_by", "new"),
    [(BeforeTheRename, 1), (AfterTheRename, 2), (InTheFile, 1), (BeforeTheManifest, 4)],
)
def test_broken_off_anywhere_each_partition_is_whole_and_the_next_export_goes_on(
    settings, folder, broken_by, new
):
    run_export(settings, folder)
    old = contents(folder)
    land_again(settings, PARTITIONS)
    with pytest.raises(KeyboardInterrupt):
        run_export(settings, folder, broken_by=broken_by)

    found = contents(folder)
    assert [place for place in PLACES if found[place] != old[place]] == PLACES[:new]
    assert manifest_of(folder)["state"] == "under_way"
    assert listed(folder) == []
    assert sorted(units(folder).values()) == [8] * (4 - new) + [28] * new

    done = run_export(settings, folder, day=2)
    assert (len(done.unchanged), len(done.written)) == (new, 4 - new)
    assert set(units(folder).values()) == {28}
    assert manifest_of(folder)["state"] == "complete"
    assert not list(folder.rglob("*.part"))


def test_a_first_export_that_broke_off_is_known_as_ours_and_goes_on(settings, folder):
    with pytest.raises(KeyboardInterrupt):
        run_export(settings, folder, broken_by=InTheFile)
    assert list(contents(folder)) == PLACES[:1]
    assert len(run_export(settings, folder).written) == 3


def test_what_a_broken_export_left_unlisted_is_done_along_by_one_of_another_range(settings, folder):
    with pytest.raises(KeyboardInterrupt):
        run_export(settings, folder, [ONE, TWO], broken_by=AfterTheRename)
    refuse_source(settings, TWO)
    done = run_export(settings, folder, [THREE])
    assert [each.partition for each in done.written] == [THREE]
    assert [each.partition for each in done.unchanged] == [ONE]
    assert [each.partition for each in done.left_out] == [TWO]
    assert list(contents(folder)) == [place_of(ONE), place_of(THREE)]
