"""The local engine: judges, transforms and fingerprints one landed partition, without I/O."""

from __future__ import annotations

from collections.abc import Sequence

from forecast_backfill.arrow_arrays import integers
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import FaultCollector
from forecast_backfill.engines.code_version import code_version
from forecast_backfill.engines.dimension_tables import PartitionDimensions
from forecast_backfill.engines.fingerprint import fingerprint_of, row_hashes
from forecast_backfill.engines.join_parts import has_distinct_lines, join_parts
from forecast_backfill.engines.judge_delivery import Transformed, prepare_delivery
from forecast_backfill.engines.judge_part import JudgedPart, PartReport, judge_part
from forecast_backfill.engines.transform import transform
from forecast_backfill.engines.validate import Lines
from forecast_backfill.ports import LandedFile, LandedSource, Prepared, Rejected


class PandasEngine:
    """Runs in this process, on Arrow columns."""

    @property
    def code_version(self) -> str:
        """Changes whenever the source text of the engine does."""
        return code_version()

    def prepare(self, source: LandedSource, dimensions: PartitionDimensions) -> Prepared | Rejected:
        """Judge the source and, where it is good, build the rows of `daily_demand`."""
        return prepare(source, dimensions)


def prepare(source: LandedSource, dimensions: PartitionDimensions) -> Prepared | Rejected:
    """A pure function of the landed bytes and the dimensions; never raises for a bad source."""
    return prepare_delivery(source, _LocalWork(source.partition, dimensions))


def rows_of(lines: Lines, partition: Partition, dimensions: PartitionDimensions) -> Transformed:
    """The rows of good lines, sorted by (store_id, product_id); a pyarrow Table."""
    rows, exclusions = transform(lines, dimensions)
    hashes = row_hashes(rows, partition)
    return Transformed(
        rows=rows.append_column("row_hash", integers(hashes)),
        fingerprint=fingerprint_of(rows, hashes),
        exclusions=exclusions,
    )


class _LocalWork:
    """All files of a delivery at once, in this process."""

    def __init__(self, partition: Partition, dimensions: PartitionDimensions) -> None:
        self._partition = partition
        self._dimensions = dimensions
        self._parts: list[JudgedPart] = []

    def judge(self, files: Sequence[LandedFile]) -> Sequence[PartReport]:
        """Judge each file alone."""
        self._parts = [judge_part(file, self._partition, self._dimensions) for file in files]
        return [part.report for part in self._parts]

    def has_distinct_lines(self, faults: FaultCollector) -> bool:
        """Whether no two files hold a line of one id; the faults where they do."""
        return has_distinct_lines([part.raw for part in self._parts if part.raw], faults)

    def transform(self) -> Transformed:
        """The rows of all files."""
        lines = join_parts([part.lines for part in self._parts if part.lines])
        return rows_of(lines, self._partition, self._dimensions)
