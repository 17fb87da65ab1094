"""Outcomes as Dagster's metadata: figures, and tables that an operator reads in the UI."""

from __future__ import annotations

from dataclasses import asdict

from dagster import (
    MetadataValue,
    TableColumn,
    TableRecord,
    TableSchema,
)

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.outcome import Unchanged, Written
from forecast_backfill.core.parity import Mismatch
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import Fault, FaultReport

RawMetadata = MetadataValue | str | int | float | bool

FAULT_SCHEMA = TableSchema(
    columns=[
        TableColumn("file", "string"),
        TableColumn("line", "string"),
        TableColumn("column", "string"),
        TableColumn("value", "string"),
        TableColumn("code", "string"),
        TableColumn("reason", "string"),
    ]
)
SIDES_SCHEMA = TableSchema(
    columns=[
        TableColumn("figure", "string"),
        TableColumn("read", "string"),
        TableColumn("stored", "string"),
    ]
)


def output_metadata(outcome: Written | Unchanged) -> dict[str, RawMetadata]:
    """The figures of a partition that is current."""
    found: dict[str, RawMetadata] = {
        "outcome": "unchanged" if isinstance(outcome, Unchanged) else "written",
        **figures_metadata(outcome.fingerprint),
        "source_digest": outcome.identity.source_digest,
    }
    if isinstance(outcome, Written):
        left_out = {name: each.lines for name, each in outcome.exclusions.items()}
        found |= {
            "lines_landed": outcome.lines,
            "rows_replaced": outcome.replaced_rows,
            "lines_left_out": sum(left_out.values()),
            "left_out_by_rule": MetadataValue.json(left_out),
            "seconds": round(outcome.seconds, 3),
        }
        if outcome.merge is not None:
            counts = asdict(outcome.merge)
            found |= {"outcome": "merged"} | {f"rows_{name}": n for name, n in counts.items()}
    return found


def figures_metadata(fingerprint: Fingerprint) -> dict[str, RawMetadata]:
    """The figures of stored rows."""
    return {
        "dagster/partition_row_count": fingerprint.rows,
        "rows": fingerprint.rows,
        "units": fingerprint.units,
        "revenue": money(fingerprint.revenue_cents),
        "revenue_cents": fingerprint.revenue_cents,
        "stores": fingerprint.stores,
        "products": fingerprint.products,
        # Text: the sum of the row hashes outgrows the 64 bits that Dagster's integers have.
        "checksum": str(fingerprint.checksum),
    }


def intact_words(outcome: Written | Unchanged) -> str:
    """What passing `source_intact` says of the partition."""
    if isinstance(outcome, Unchanged):
        return "the source is the one that was read before"
    return f"{outcome.lines:,} lines, as the manifest says"


def parity_words(outcome: Written | Unchanged) -> str:
    """What passing `reconcile_parity` says of the partition."""
    stored = outcome.fingerprint
    figures = f"{stored.rows:,} rows, {stored.units:,} units, revenue {money(stored.revenue_cents)}"
    if isinstance(outcome, Unchanged):
        return f"{figures}: unchanged since it was reconciled"
    return f"{figures}: stored as {'read' if outcome.merge is None else 'merged'}"


def show_command(partition: Partition) -> str:
    """The command that shows everything about a refused source."""
    return f"forecast-backfill quarantine show {partition.date} {partition.region}"


def faults_metadata(report: FaultReport, *, has_stale_output: bool) -> dict[str, RawMetadata]:
    """Why a source was refused: the first fault in plain sight, the kept ones as a table."""
    first = report.kept[0]
    return {
        "reason": first.reason,
        "file": first.file,
        "line": _or_dash(first.line),
        "column": _or_dash(first.column),
        "value": _or_dash(first.value),
        "code": first.code.value,
        "faults": report.total,
        "fault_counts": MetadataValue.json(
            {code.value: count for code, count in report.counts.items()}
        ),
        "fault_table": MetadataValue.table(
            records=[_fault_record(fault) for fault in report.kept], schema=FAULT_SCHEMA
        ),
        "older_output": "stale, still readable" if has_stale_output else "none",
        "next": "repair the source, then: forecast-backfill quarantine retry",
    }


def mismatch_metadata(mismatch: Mismatch) -> dict[str, RawMetadata]:
    """Both sides of a reconcile that found a difference."""
    return {
        "kind": mismatch.kind.value,
        "reason": mismatch.reason,
        "sides": MetadataValue.table(
            records=[
                TableRecord({"figure": name, "read": read, "stored": stored})
                for (name, read), (_, stored) in zip(
                    _figures(mismatch.read), _figures(mismatch.stored), strict=True
                )
            ],
            schema=SIDES_SCHEMA,
        ),
    }


def money(cents: int) -> str:
    """Cents as an amount: 123456 is 1,234.56."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def _figures(side: Fingerprint) -> list[tuple[str, str]]:
    names = ("rows", "units", "revenue_cents", "stores", "products", "checksum")
    return [(name, str(getattr(side, name))) for name in names]


def _fault_record(fault: Fault) -> TableRecord:
    return TableRecord(
        {
            "file": fault.file,
            "line": _or_dash(fault.line),
            "column": _or_dash(fault.column),
            "value": _or_dash(fault.value),
            "code": fault.code.value,
            "reason": fault.reason,
        }
    )


def _or_dash(value: str | int | None) -> str:
    return "—" if value is None else str(value)
