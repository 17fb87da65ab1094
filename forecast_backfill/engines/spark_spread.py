"""One large delivery over many executors: judged by file, transformed by store.

Executors run the same code as a process alone. Spark moves the lines between them, and looks for
ids that are there twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pydantic import TypeAdapter

from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.parity import Exclusion
from forecast_backfill.core.source import KEPT_FAULTS, FaultCollector
from forecast_backfill.engines.join_parts import doubled_line
from forecast_backfill.engines.judge_delivery import Transformed
from forecast_backfill.engines.judge_part import JudgedPart, PartReport
from forecast_backfill.engines.spark_reports import decode, encode
from forecast_backfill.engines.spark_watch import Group, broken, run_watched, struct_of
from forecast_backfill.engines.spread_lines import LINE_SCHEMA, by_store, line_table, lines_of
from forecast_backfill.engines.validate import Lines
from forecast_backfill.ports import HashedFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

BATCH_ROWS = 16_384
"""So many lines or rows travel at a time."""

_REPORT = pa.schema([("kind", pa.string()), ("report", pa.string())])
_JUDGED = pa.schema([*_REPORT, *LINE_SCHEMA])
_SHARDS = pa.schema([*_REPORT, ("rows", pa.binary())])
_PART = TypeAdapter(PartReport)

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadPlan:
    """What executors do, picklable and importable there, in at most `tasks` tasks at once.

    `judge` has the file and the partition's dimensions at hand where it runs; so has `transform`.
    """

    tasks: int
    judge: Callable[[HashedFile], JudgedPart]
    transform: Callable[[Lines], Transformed]


class SparkWork:
    """The work on one delivery's files; what it keeps on the executors is given back by `close`."""

    def __init__(self, group: Group, plan: SpreadPlan, look: Callable[[], None]) -> None:
        self._group = group
        self._plan = plan
        self._look = look
        self._names: list[str] = []
        self._kept: list[DataFrame] = []

    def judge(self, files: Sequence[HashedFile]) -> Sequence[PartReport]:
        """Judge each file alone, wherever there is room; the good lines stay there."""
        self._names = [file.name for file in files]
        count = min(self._plan.tasks, len(files))
        frame = self._group.session.range(0, count, 1, count)
        judged = frame.mapInArrow(
            _judging(tuple(files), count, self._plan.judge), struct_of(_JUDGED)
        )
        self._keep(judged)
        found = self._collect(judged.where("kind IS NOT NULL").select("part", "kind", "report"))
        return [_PART.validate_json(row["report"]) for row in sorted(found, key=_part_of)]

    def has_distinct_lines(self, faults: FaultCollector) -> bool:
        """Whether no two files hold a line of one id; the faults where they do."""
        sf = self._group.functions
        lines = self._lines().select("line_id", "part", "line")
        first = sf.min(sf.struct("part", "line")).alias("first")
        times = sf.count(sf.lit(1)).alias("times")
        by_id = lines.repartition(self._plan.tasks, "line_id").groupBy("line_id").agg(first, times)
        doubled = by_id.where("times > 1")
        (row,) = self._collect(doubled.agg(sf.sum(sf.col("times") - 1).alias("more")))
        if not row["more"]:
            return True
        again = lines.join(doubled, "line_id").where(
            "struct(part, line) <> struct(first.part, first.line)"
        )
        told = again.orderBy("part", "line").limit(KEPT_FAULTS)
        found = sorted(self._collect(told), key=lambda each: (each["part"], each["line"]))
        for place, each in enumerate(found, start=1):
            fault = doubled_line(
                self._names[each["part"]],
                each["line"],
                each["line_id"],
                f"{self._names[each['first']['part']]}:{each['first']['line']}",
            )
            # As many as could not be told are counted with the last that is.
            faults.add(fault, also=row["more"] - place if place == len(found) else 0)
        return False

    def transform(self) -> Transformed:
        """The rows of all lines, whole stores at a time; they stay there until they are read."""
        by_range = self._lines().repartitionByRange(self._plan.tasks, "store_id")
        ordered = by_range.sortWithinPartitions("store_id").select(*LINE_SCHEMA.names)
        shards = ordered.mapInArrow(_transforming(self._plan.transform), struct_of(_SHARDS))
        self._keep(shards)
        found = self._collect(shards.where("kind IS NOT NULL").select("kind", "report"))
        fingerprint, exclusions = _sum_up([json.loads(row["report"]) for row in found])
        packed = shards.where("rows IS NOT NULL").select("rows")
        rows = SparkRows(self._group, packed, fingerprint.rows)
        return Transformed(rows=rows, fingerprint=fingerprint, exclusions=exclusions)

    def close(self) -> None:
        """Let the executors forget it."""
        while self._kept:
            self._kept.pop().unpersist()

    def _lines(self) -> DataFrame:
        return self._kept[0].where("kind IS NULL")

    def _keep(self, frame: DataFrame) -> None:
        # Read more than once. What is lost with an executor is made again from the files.
        self._kept.append(frame.persist())

    def _collect(self, frame: DataFrame) -> list[Row]:
        found = run_watched(self._group, frame.collect, self._look)
        for row in found:
            if "kind" in row and row["kind"] not in _OURS:
                error = decode(row["kind"], row["report"])
                assert isinstance(error, ForecastBackfillError)
                raise error
        return found


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Rows on the executors."""

    group: Group
    frame: DataFrame
    num_rows: int

    def pieces(self) -> Iterator[pa.Table]:
        """The rows in the order of their key, as pyarrow Tables.

        Raises ForecastBackfillError where they are lost and cannot be made again.
        """
        for packed in self._packed():
            with pa.ipc.open_stream(packed) as reader:
                yield reader.read_all()

    def _packed(self) -> Iterator[bytes]:
        try:
            for row in self.frame.toLocalIterator():
                yield bytes(row["rows"])
        except Exception as error:
            raise broken(self.group, error) from error


_OURS = {"part", "shard"}


def _part_of(row: Row) -> int:
    return row["part"]


def _judging(
    files: tuple[HashedFile, ...], tasks: int, judge: Callable[[HashedFile], JudgedPart]
) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for part in range(task, len(files), tasks):
                    yield from _judged(part, files[part], judge)

    return run


def _judged(part: int, file: HashedFile, judge: Callable[[HashedFile], JudgedPart]) -> Batches:
    try:
        judged = judge(file)
    except ForecastBackfillError as error:
        kind, text = encode(error)
        yield _filled(_JUDGED, part=part, kind=kind, report=text)
        return
    report = _PART.dump_json(judged.report).decode()
    yield _filled(_JUDGED, part=part, kind="part", report=report)
    if judged.raw is not None and judged.lines is not None:
        table = line_table(part, judged.raw, judged.lines)
        for name in reversed(_REPORT.names):
            table = table.add_column(0, name, pa.nulls(table.num_rows, pa.string()))
        yield from table.to_batches(max_chunksize=BATCH_ROWS)


def _transforming(transform: Callable[[Lines], Transformed]) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        # A product is told once a task: the distinct ones of all are counted where they meet.
        told: set[str] = set()
        for table in by_store(batches):
            try:
                made = transform(lines_of(table))
            except ForecastBackfillError as error:
                kind, text = encode(error)
                yield _filled(_SHARDS, kind=kind, report=text)
                return
            products = set(made.rows.column("product_id").unique().to_pylist()) - told
            told |= products
            yield _filled(_SHARDS, kind="shard", report=_shard_report(made, products))
            for start in range(0, max(1, made.rows.num_rows), BATCH_ROWS):
                yield _filled(_SHARDS, rows=_packed(made.rows.slice(start, BATCH_ROWS)))

    return run


def _shard_report(made: Transformed, products: set[str]) -> str:
    exclusions = {rule: asdict(each) for rule, each in made.exclusions.items()}
    fields = {"exclusions": exclusions, "products": sorted(products)}
    return json.dumps({"fingerprint": asdict(made.fingerprint), **fields})


def _packed(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return sink.getvalue().to_pybytes()


def _filled(schema: pa.Schema, **values: object) -> pa.RecordBatch:
    """One row; null where no value is given."""
    columns = {field.name: pa.array([values.get(field.name)], field.type) for field in schema}
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def _sum_up(shards: Sequence[Mapping]) -> tuple[Fingerprint, Mapping[str, Exclusion]]:
    """Fingerprint and exclusions of all shards: a store is in one of them, a product in many."""
    prints = [shard["fingerprint"] for shard in shards]
    summed = ("rows", "checksum", "units", "revenue_cents", "stores")
    exclusions: dict[str, Exclusion] = {}
    for shard in shards:
        for rule, found in shard["exclusions"].items():
            before = asdict(exclusions[rule]) if rule in exclusions else dict.fromkeys(found, 0)
            exclusions[rule] = Exclusion(**{name: found[name] + before[name] for name in found})
    return Fingerprint(
        **{name: sum(each[name] for each in prints) for name in summed},
        products=len({product for shard in shards for product in shard["products"]}),
    ), exclusions
