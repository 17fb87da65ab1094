"""Builds the adapters and hands them to the application; engines are imported only when used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import date as Date
from typing import TypeVar

import stamina

from forecast_backfill.core.calendar import Calendar, build_calendar
from forecast_backfill.core.errors import DatabaseInterrupted, SettingRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.core.strategy import Layout, Target
from forecast_backfill.core.version import Winner
from forecast_backfill.landing.reader import FileLanding
from forecast_backfill.ports import Checkpoint, Clock, Engine, Ports, RunRequest, Step
from forecast_backfill.settings import PREFIX, Settings
from forecast_backfill.warehouse.connect import Session, resolve_database_url
from forecast_backfill.warehouse.date_states import last_night
from forecast_backfill.warehouse.leases import PostgresSlots
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.migrate import migrate
from forecast_backfill.warehouse.rate import PostgresRate
from forecast_backfill.warehouse.waits import PostgresWaits
from forecast_backfill.wiring.control import control_of
from forecast_backfill.wiring.lakehouse import engine_for, warehouse_of
from forecast_backfill.wiring.pace_health import PaceHealth

T = TypeVar("T")

# Long enough for a restart of the database.
RETRY_SECONDS = 90.0
FIRST_WAIT_SECONDS = 0.1


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The current instant, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def retry_interrupted(attempt: Callable[[], T]) -> T:
    """Run the attempt, and again with backoff and jitter where the database was interrupted.

    Patience begins with the first interruption: a task may have waited at a boundary for hours
    (paused for a restart of the database, say) before it came to that.
    """
    with suppress(DatabaseInterrupted):
        return attempt()
    time.sleep(FIRST_WAIT_SECONDS)
    for again in stamina.retry_context(
        on=DatabaseInterrupted, attempts=None, timeout=RETRY_SECONDS, wait_initial=0.2
    ):
        with again:
            return attempt()
    raise AssertionError("a retry context neither returned nor raised")


def no_checkpoint(step: Step, partition: Partition) -> None:
    """Production: pass every boundary."""


def calendar_of(settings: Settings, clock: Clock, *, last_night: Date | None = None) -> Calendar:
    """The calendar now; `last_night` is the last date that nightly has sealed, where it is known.

    Raises SettingRefused where the first date lies after the latest complete date.
    """
    try:
        return build_calendar(
            first_date=settings.first_date,
            as_of=settings.as_of,
            pinned_seam=settings.seam,
            now=clock.now(),
            zone=settings.zone,
            last_night=last_night,
        )
    except ValueError as error:
        name = f"{PREFIX}FIRST_DATE"
        raise SettingRefused(
            f"the setting {name}={settings.first_date} was refused",
            why=str(error),
            next_command=f"export {name}=YYYY-MM-DD with a date that is over, or unset it",
        ) from error


def calendar_in(session: Session, settings: Settings, clock: Clock) -> Calendar:
    """The calendar now, with the seam where nightly has come to by what is recorded.

    Raises SettingRefused as `calendar_of` does.
    """
    return calendar_of(settings, clock, last_night=last_night(session))


def load_engine(settings: Settings) -> Engine:
    """The engine that the settings name, imported only now."""
    from forecast_backfill.engines.pandas_engine import PandasEngine

    return engine_for(settings, PandasEngine())


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """The ports of one run, and what a caller needs beside them."""

    settings: Settings
    ports: Ports
    calendar: Calendar
    session: Session
    workload: Workload
    run_id: str

    def request(
        self,
        *,
        campaign_id: str | None = None,
        reprocess: bool = False,
        winner: Winner | None = None,
        revision: int = 0,
    ) -> RunRequest:
        """A request in the workload's current epoch; an overlap has a winner and its number."""
        return RunRequest(
            workload=self.workload,
            run_id=self.run_id,
            campaign_id=campaign_id,
            epoch=self.ports.control.epoch(self.workload),
            reprocess=reprocess,
            winner=winner,
            revision=revision,
        )


def target_of(settings: Settings) -> Target:
    """The table as the settings want it; who wants leaves accepts what their swap means."""
    layout = settings.table_layout
    return Target(
        layout=layout,
        large_rows=settings.large_rows,
        needs_one_version=layout is not Layout.LEAVES,
    )


@contextmanager
def open_session(
    settings: Settings, workload: Workload, *, is_bounded: bool = False
) -> Iterator[Session]:
    """A session on the project's database, which is started and migrated where need be.

    What works for backfill is bounded: it takes one of backfill's connections. Who looks or turns
    knobs is not, and gets through a full house. Raises ConnectionsExhausted where none is free.
    """
    url = resolve_database_url(settings)
    migrate(url)
    session = Session(url, workload, settings, is_bounded=is_bounded)
    try:
        yield session
    finally:
        session.close()


@contextmanager
def open_wiring(
    settings: Settings,
    *,
    workload: Workload,
    run_id: str,
    checkpoint: Checkpoint = no_checkpoint,
) -> Iterator[Wiring]:
    """Everything that a run of `workload` needs, closed at the end of the block."""
    clock = SystemClock()
    with (
        open_session(settings, workload, is_bounded=True) as session,
        closing(PaceHealth(settings, session)) as health,
    ):
        calendar = calendar_in(session, settings, clock)
        ports = Ports(
            landing=FileLanding(settings.landing_directory),
            engine=load_engine(settings),
            ledger=PostgresLedger(session),
            warehouse=warehouse_of(settings, session, target_of(settings)),
            control=control_of(settings, session, health),
            slots=PostgresSlots(session),
            waits=PostgresWaits(session),
            rate=PostgresRate(session),
            clock=clock,
            retry=retry_interrupted,
            checkpoint=checkpoint,
            seam=calendar.seam,
            as_of=settings.as_of,
        )
        yield Wiring(
            settings=settings,
            ports=ports,
            calendar=calendar,
            session=session,
            workload=workload,
            run_id=run_id,
        )
