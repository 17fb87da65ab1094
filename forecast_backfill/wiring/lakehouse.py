"""Which warehouse the settings name, for who writes it, proves it or reads windows of it.

The packages of the lakehouse are imported only where the settings name one.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from forecast_backfill.app.audit_seam import SeamRecords
from forecast_backfill.app.export import ExportSource
from forecast_backfill.app.reconcile import StoredView
from forecast_backfill.core.errors import SettingRefused, WarehouseRefused
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.stored_in import in_lakehouse
from forecast_backfill.core.strategy import Layout, Target
from forecast_backfill.ports import Dimensions, Engine, LandedSource, Prepared, Rejected, Warehouse
from forecast_backfill.ports.night import Demand
from forecast_backfill.settings import PREFIX, Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.digests import PostgresStored
from forecast_backfill.warehouse.exported import PostgresExport
from forecast_backfill.warehouse.partitions import PostgresWarehouse
from forecast_backfill.warehouse.plan_facts import PostgresPlanFacts
from forecast_backfill.warehouse.replica import Replica
from forecast_backfill.warehouse.seam_records import PostgresSeamRecords
from forecast_backfill.warehouse.windows import PostgresDemand

if TYPE_CHECKING:
    from forecast_backfill.warehouse_delta.delta_log import DeltaLog
    from forecast_backfill.warehouse_delta.read_back import ReadBack


class Stored(Protocol):
    """What is stored, and which done partitions there are to choose from."""

    def view(self) -> AbstractContextManager[StoredView]: ...

    def sample_done(
        self, dates: DateRange, regions: Sequence[str], *, seed: str, count: int
    ) -> Sequence[Partition]: ...


class LakehouseEngine:
    """An engine whose code version says that its rows go to the lakehouse."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def code_version(self) -> str:
        """Another one than that of the same rows in PostgreSQL: those are due to be moved."""
        return in_lakehouse(self._engine.code_version)

    def prepare(self, source: LandedSource, dimensions: Dimensions) -> Prepared | Rejected:
        """Judge the source and build the rows, as the engine does."""
        return self._engine.prepare(source, dimensions)


class LakehousePlanFacts(PostgresPlanFacts):
    """The facts of a plan whose rows go to the lakehouse's disk."""

    def __init__(self, session: Session, settings: Settings) -> None:
        super().__init__(session)
        self._settings = settings

    def partition_bytes(self) -> int:
        """Bytes of a file on average; 0 where none is stored."""
        log, _ = _delta(self._settings)
        log.reload()
        return log.average_bytes()

    def free_bytes(self) -> int | None:
        """Free bytes of the lakehouse's disk; None where its folder is not here yet."""
        folder = self._settings.lakehouse_directory
        return shutil.disk_usage(folder).free if folder.exists() else None


def engine_for(settings: Settings, engine: Engine) -> Engine:
    """The engine, whose code version tells where its rows go."""
    return LakehouseEngine(engine) if settings.is_lakehouse else engine


def warehouse_of(settings: Settings, session: Session, target: Target) -> Warehouse:
    """Where `daily_demand` is stored; `target` is how a table in PostgreSQL is laid out.

    Raises SettingRefused where both a lakehouse and leaves are set.
    """
    if not settings.is_lakehouse:
        return PostgresWarehouse(session, target)
    if target.layout is not Layout.PLAIN:
        raise SettingRefused(
            f"the setting {PREFIX}TABLE_LAYOUT={target.layout} was refused",
            why="a lakehouse has no table whose leaves could be swapped",
            next_command=f"unset {PREFIX}TABLE_LAYOUT, or export {PREFIX}WAREHOUSE=postgres",
        )
    from forecast_backfill.warehouse_delta.partitions import DeltaWarehouse

    return DeltaWarehouse(session, *_delta(settings, makes=True), lambda: uuid4().hex)


def demand_of(settings: Settings, session: Session, replica: Replica | None) -> Demand:
    """Windows as models read them; a lakehouse needs no replica."""
    if not settings.is_lakehouse:
        return PostgresDemand(session, replica)
    from forecast_backfill.warehouse_delta.demand import DeltaDemand

    return DeltaDemand(session, *_delta(settings))


def stored_of(settings: Settings, session: Session) -> Stored:
    """What proofs read."""
    if not settings.is_lakehouse:
        return PostgresStored(session)
    from forecast_backfill.warehouse_delta.stored import DeltaStored

    return DeltaStored(session, *_delta(settings))


def seam_records_of(settings: Settings, session: Session) -> SeamRecords:
    """What the seam audit compares."""
    if not settings.is_lakehouse:
        return PostgresSeamRecords(session)
    from forecast_backfill.warehouse_delta.stored import DeltaSeamRecords

    return DeltaSeamRecords(session, *_delta(settings))


def export_source_of(settings: Settings, session: Session) -> ExportSource:
    """What an export reads."""
    if not settings.is_lakehouse:
        return PostgresExport(session)
    from forecast_backfill.warehouse_delta.exported import DeltaExport

    log, _ = _delta(settings)
    return DeltaExport(session, log)


def plan_facts_of(settings: Settings, session: Session) -> PostgresPlanFacts:
    """What a plan looks at."""
    if not settings.is_lakehouse:
        return PostgresPlanFacts(session)
    return LakehousePlanFacts(session, settings)


def refuse_in_lakehouse(settings: Settings, what: str, *, next_command: str) -> None:
    """Raise WarehouseRefused where the settings name a lakehouse, which cannot do `what`."""
    if settings.is_lakehouse:
        raise WarehouseRefused(
            f"{what} is refused",
            why=f"{PREFIX}WAREHOUSE=delta, and it works on rows in PostgreSQL",
            next_command=next_command,
        )


def _refuse_key_folders(settings: Settings) -> None:
    folder = settings.lakehouse_directory
    keys = [part for part in folder.parts if part.startswith(("date=", "region="))]
    if keys:
        raise SettingRefused(
            f"the setting {PREFIX}LAKEHOUSE={folder} was refused",
            why=f"readers would take its folder {keys[0]} for a partition's",
            next_command=f"export {PREFIX}LAKEHOUSE=… of a folder without date= or region=",
        )


def _delta(settings: Settings, *, makes: bool = False) -> tuple[DeltaLog, ReadBack]:
    _refuse_key_folders(settings)
    # Only who writes may begin the table: a wrong folder is not made by looking at it.
    from forecast_backfill.warehouse_delta.delta_log import DeltaLog
    from forecast_backfill.warehouse_delta.read_back import ReadBack

    return DeltaLog(settings.lakehouse_directory, makes=makes), ReadBack()
