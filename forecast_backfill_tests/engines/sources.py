"""Builds landed sources and dimensions in memory, with a manifest that is true unless told."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import LINE_COLUMNS, FaultCode
from forecast_backfill.engines.pandas_engine import prepare
from forecast_backfill.ports import LandedFile, LandedSource, Prepared, Rejected

PARTITION = Partition(date=Date(2026, 3, 1), region="R01")
HEADER = ",".join(LINE_COLUMNS)
LINES = (
    "1,b1,0007,1001,2026-03-01T09:30:00-05:00,2,3.00,0.50,0.50",
    "2,b1,0007,NA,2026-03-01T09:30:00-05:00,1,1.25,0.00,0.00",
    "3,b2,0007,1001,2026-03-01T10:00:00-05:00,1,2.00,0.00,0.00",
    "4,b3,0008,1001,2026-03-01T21:15:00-05:00,3,5.00,0.00,0.00",
)
"""Seven units for 11.25 in two stores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandMadeDimensions:
    """Dimensions as the landing hands them out."""

    version: str
    products: pa.Table
    promotions: pa.Table
    promotion_stores: pa.Array
    region_of_store: pa.Table


def dimensions() -> HandMadeDimensions:
    """Three products, of which one is fuel; stores 0007 and 0008 in R01, 0009 in R02."""
    return HandMadeDimensions(
        version="d1",
        products=pa.table(
            {
                "product_id": ["1001", "NA", "2001"],
                "demand_group": ["MILK", "BREAD", "ALL OTHER"],
                "exclusion": ["", "", "fuel"],
            }
        ),
        promotions=pa.table(
            {
                "store_id": ["0007", "0009"],
                "product_id": ["1001", "1001"],
                "on_display": [True, True],
                "on_mailer": [False, True],
            }
        ),
        promotion_stores=pa.array(["0007", "0009"]),
        region_of_store=pa.table(
            {"store_id": ["0007", "0008", "0009"], "region": ["R01", "R01", "R02"]}
        ),
    )


def csv_of(lines: Sequence[str], header: str = HEADER) -> bytes:
    """The header and the lines, each closed by a line feed."""
    return "".join(f"{line}\n" for line in (header, *lines)).encode()


def source_of(
    content: bytes | None,
    *,
    name: str = "sales.csv",
    manifest: Mapping[str, Any] | bytes | None = None,
    **fields: Any,
) -> LandedSource:
    """A source whose manifest fits LINES; `fields` replace single fields of the manifest."""
    if content is not None and name.endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    if manifest is None:
        manifest = {
            "schema_version": 1,
            "date": "2026-03-01",
            "region": "R01",
            "file": name,
            "sha256": hashlib.sha256(content or b"").hexdigest(),
            "exported_at": "2026-03-02T04:00:00+00:00",
            "lines": 4,
            "units": 7,
            "revenue_cents": 1125,
            "stores": 2,
        } | fields
    return LandedSource(
        partition=PARTITION,
        files=() if content is None else (LandedFile(name=name, content=content),),
        manifest=manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode(),
        digest="digest",
    )


def totals_of(lines: Sequence[Mapping[str, str]]) -> dict[str, int]:
    """The manifest's totals of lines given as mappings."""
    return {
        "lines": len(lines),
        "units": sum(int(line["quantity"]) for line in lines),
        "revenue_cents": sum(int(Decimal(line["sales_value"]) * 100) for line in lines),
        "stores": len({line["store_id"] for line in lines}),
    }


def prepared(source: LandedSource) -> Prepared:
    """The source prepared; the test fails with the faults where it is refused."""
    result = prepare(source, dimensions())
    assert isinstance(result, Prepared), getattr(result, "report", None)
    return result


def faults_of(source: LandedSource) -> list[tuple[FaultCode, int | None, str | None, str | None]]:
    """Code, line, column and value of every kept fault."""
    result = prepare(source, dimensions())
    assert isinstance(result, Rejected)
    return [(fault.code, fault.line, fault.column, fault.value) for fault in result.report.kept]


def changed(line: int, old: str, new: str) -> bytes:
    """LINES as CSV with one text replaced once on a physical line."""
    lines = [HEADER, *LINES]
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return csv_of(lines[1:], lines[0])
