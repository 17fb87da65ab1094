"""Builds what an export needs: the warehouse that the settings name, and a folder of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from forecast_backfill.app.export import ExportPorts, ExportSource
from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.states import Workload
from forecast_backfill.export_files.open_folder import open_folder
from forecast_backfill.ports import Clock
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.lakehouse import export_source_of
from forecast_backfill.wiring.partition import SystemClock, calendar_in, open_session
from forecast_backfill.wiring.process_priority import lower_priority


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportWiring:
    """The warehouse, the dates that there are, and the folders that no export may touch."""

    source: ExportSource
    clock: Clock
    calendar: Calendar
    kept_apart: Mapping[str, Path]

    @contextmanager
    def into(self, folder: Path) -> Iterator[ExportPorts]:
        """The ports of an export into the folder.

        Raises UsageRefused for one that is not meant for an export, and ExportRefused where another
        export is at work in it.
        """
        with open_folder(folder, kept_apart=self.kept_apart) as opened:
            yield ExportPorts(source=self.source, folder=opened, clock=self.clock)


@contextmanager
def open_export(settings: Settings) -> Iterator[ExportWiring]:
    """Everything that an export reads; it stands back as backfill does."""
    clock = SystemClock()
    with open_session(settings, Workload.BACKFILL, is_bounded=True) as session:
        lower_priority(Workload.BACKFILL, settings)
        yield ExportWiring(
            source=export_source_of(settings, session),
            clock=clock,
            calendar=calendar_in(session, settings, clock),
            kept_apart={
                "the landing folder": settings.landing_directory,
                "the lakehouse": settings.lakehouse_directory,
                "the embedded server's data": settings.home / "postgres",
            },
        )
