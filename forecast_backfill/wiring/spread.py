"""A large delivery over Spark's executors, in the one order of steps that every partition takes.

The order is this process's: it holds slots, lease and epoch, and writes the rows as they come in.
Judging and transforming are the executors'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from forecast_backfill.app.admission import may_run
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import DatabaseInterrupted, LandingIncomplete
from forecast_backfill.core.manifest import ManifestRefused, parse_manifest
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import Partition
from forecast_backfill.engines import spark_session
from forecast_backfill.engines.dimension_tables import PartitionDimensions
from forecast_backfill.engines.judge_delivery import Transformed, prepare_delivery
from forecast_backfill.engines.judge_part import JudgedPart, judge_part
from forecast_backfill.engines.pandas_engine import rows_of
from forecast_backfill.engines.spark_spread import SparkWork, SpreadPlan
from forecast_backfill.engines.spark_watch import Group
from forecast_backfill.engines.validate import Lines
from forecast_backfill.landing.reader import FileLanding
from forecast_backfill.ports import (
    HashedFile,
    LandedSource,
    Ports,
    Prepared,
    Rejected,
    RunRequest,
    Slots,
)
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.partition import load_engine
from forecast_backfill.wiring.shipping import OpenSpark, Shipment, check_code, ship, unpack


def is_large(settings: Settings, partition: Partition) -> bool:
    """Whether its delivery comes in parts with so many lines that it is spread."""
    # What is wrong with it is told where the partition is tried.
    with suppress(LandingIncomplete, ManifestRefused):
        content = FileLanding(settings.landing_directory).read_manifest(partition)
        if content is not None:
            manifest = parse_manifest(content)
            return bool(manifest.parts) and manifest.totals.lines >= settings.spark_spread_lines
    return False


def run_spread(
    settings: Settings,
    open_spark: OpenSpark,
    partitions: Sequence[Partition],
    request: RunRequest,
    ports: Ports,
    tell: Callable[[Outcome], None],
) -> list[Outcome]:
    """Try the partitions one after the other, each over as many executors as there are slots."""
    engine = SpreadEngine(settings, open_spark, request, ports)
    spread = replace(
        ports,
        landing=FileLanding(settings.landing_directory, keeps_bytes=False),
        engine=engine,
        slots=SpreadSlots(ports.slots, settings, request, engine),
    )
    return run_batch(partitions, request, spread, tell)


class SpreadEngine:
    """Prepares one delivery over the executors; `tasks` says how many cores it may take."""

    def __init__(
        self, settings: Settings, open_spark: OpenSpark, request: RunRequest, ports: Ports
    ) -> None:
        self.tasks = 1
        self._settings = settings
        self._open_spark = open_spark
        self._request = request
        self._ports = ports
        self._opened = ExitStack()

    @property
    def code_version(self) -> str:
        """That of the engine without Spark: the rows are the same."""
        return self._ports.engine.code_version

    def prepare(self, source: LandedSource, dimensions: PartitionDimensions) -> Prepared | Rejected:
        """Judge the delivery and, where it is good, have its rows ready on the executors.

        They stay there until `release`. Raises EpochRaised where the workload is killed meanwhile.
        """
        self.release()
        shipment = ship(self._settings, self._request)
        place = _Place(
            shipment=shipment, partition=source.partition, dimension_version=dimensions.version
        )
        plan = SpreadPlan(
            tasks=self.tasks, judge=partial(judge_here, place), transform=partial(rows_here, place)
        )
        group = Group(
            session=self._opened.enter_context(self._open_spark()),
            name=f"forecast-backfill-{self._request.run_id}",
            description=f"{self._request.workload}: {source.partition} in parts",
            is_connect=self._settings.is_spark_connect,
        )
        work = self._opened.enter_context(closing(SparkWork(group, plan, self._look)))
        return prepare_delivery(source, work)

    def release(self) -> None:
        """Give back rows and cores."""
        self._opened.close()

    def _look(self) -> None:
        # A database that does not answer is waited for by the steps that need it.
        with suppress(DatabaseInterrupted):
            may_run(self._request, self._ports)


class SpreadSlots:
    """Slots for as many tasks as the delivery may run at once; with them its cores go back."""

    def __init__(
        self, slots: Slots, settings: Settings, request: RunRequest, engine: SpreadEngine
    ) -> None:
        self._slots = slots
        self._settings = settings
        self._workload = request.workload
        self._engine = engine

    def try_acquire(
        self, limit: int, weight: int = 1
    ) -> AbstractContextManager[tuple[int, ...]] | None:
        """The most free slots below `limit`; None where fewer than `weight` are free."""
        most = min(limit, spark_session.max_cores(self._settings, self._workload, limit))
        for count in range(max(most, weight), weight - 1, -1):
            taken = self._slots.try_acquire(limit, count)
            if taken is not None:
                return self._held(taken)
        return None

    @contextmanager
    def _held(self, taken: AbstractContextManager[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
        with taken as indices:
            self._engine.tasks = len(indices)
            try:
                yield indices
            finally:
                self._engine.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Which partition an executor works on, and what has to be the same there."""

    shipment: Shipment
    partition: Partition
    dimension_version: str


def judge_here(place: _Place, file: HashedFile) -> JudgedPart:
    """On an executor: read one file and judge it.

    Raises LandingIncomplete where file or dimensions are not what the driver saw.
    """
    found = _landing(place).read_again(place.partition, file)
    return judge_part(found, place.partition, _dimensions(place))


def rows_here(place: _Place, lines: Lines) -> Transformed:
    """On an executor: the rows of whole stores."""
    return rows_of(lines, place.partition, _dimensions(place))


def _landing(place: _Place) -> FileLanding:
    return FileLanding(unpack(place.shipment).landing_directory)


@lru_cache(maxsize=2)
def _dimensions(place: _Place) -> PartitionDimensions:
    check_code(place.shipment, load_engine(unpack(place.shipment)).code_version)
    found = _landing(place).dimensions(place.partition)
    if found.version != place.dimension_version:
        raise LandingIncomplete(
            "a Spark executor sees other dimensions than the run",
            why=f"it has {found.version}, the run has {place.dimension_version}",
            next_command="run the partition again; every machine has to see the same folder",
            partition=place.partition,
        )
    return found
