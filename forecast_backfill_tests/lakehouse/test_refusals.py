"""What a lakehouse cannot do is refused with the next command, never half done."""

from __future__ import annotations

import sys

import pytest

from forecast_backfill.cli.main import main
from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse_delta.packages import LakehouseUnavailable, load_deltalake
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.lakehouse.deltas import delta_settings


@pytest.mark.parametrize(
    ("verb", "told"),
    [
        (["rollback", "--campaign", "spring"], "a rollback is refused"),
        (
            ["backfill", "--from", "2026-11-02", "--to", "2026-11-03", "--overlap"],
            "a campaign with --overlap is refused",
        ),
        (["shadow", "status"], "a shadow is refused"),
    ],
)
def test_a_verb_that_works_on_rows_in_postgresql_is_refused(verb, told, monkeypatch, capsys, home):
    monkeypatch.setenv("FORECAST_BACKFILL_HOME", str(home))
    monkeypatch.setenv("FORECAST_BACKFILL_WAREHOUSE", "delta")
    monkeypatch.setattr(sys, "argv", ["forecast-backfill", *verb])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    shown = capsys.readouterr().err
    assert told in shown
    assert "next:" in shown
    assert list(home.iterdir()) == []


def test_leaves_are_refused(database_url, tmp_path):
    settings = delta_settings(database_url, tmp_path, table_layout="leaves")
    with (
        pytest.raises(SettingRefused, match="TABLE_LAYOUT=leaves"),
        open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c"),
    ):
        pass


def test_a_folder_that_reads_as_a_pattern_is_refused():
    with pytest.raises(SettingRefused, match="FORECAST_BACKFILL_LAKEHOUSE"):
        load_settings(lakehouse="/lake/[1]")


def test_a_folder_that_reads_as_a_partition_is_refused(database_url, tmp_path):
    settings = delta_settings(database_url, tmp_path, lakehouse=tmp_path / "region=eu" / "lake")
    with (
        pytest.raises(SettingRefused, match="region=eu for a partition's"),
        open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c"),
    ):
        pass


def test_without_the_package_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(LakehouseUnavailable, match=r"pip install 'forecast-backfill\[lakehouse\]'"):
        load_deltalake()
