"""Reads landed dimensions whole, for the warehouse: texts to values, promotion facts to counts."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from datetime import date as Date
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from forecast_backfill.core.dimension import COLUMNS, DimensionName, Row, Value
from forecast_backfill.core.errors import LandingIncomplete
from forecast_backfill.core.partition import Partition
from forecast_backfill.landing.layout import Layout
from forecast_backfill.landing.promotion_counts import count_promotions, read_facts
from forecast_backfill.ports.dimension import LandedDimension

FORM = "1"
"""Part of every digest: counts up when the same files would give other rows."""

_Parse = Callable[[str], Value]
T = TypeVar("T")


class FileDimensions:
    """The dimensions of one landing folder."""

    def __init__(self, directory: Path) -> None:
        self._layout = Layout(directory=directory)
        self._paths = {
            DimensionName.PRODUCT: self._layout.product,
            DimensionName.STORE_REGION: self._layout.store_region,
            DimensionName.SHELF_PRICE: self._layout.shelf_price,
        }
        self._groups: tuple[bytes, Mapping[str, str]] | None = None

    def find(self, name: DimensionName) -> LandedDimension | None:
        """One that is landed in a single file; None where it is not landed.

        Raises LandingIncomplete, now or when its rows are read, where the file cannot be read.
        """
        path = self._paths[name]
        content = _read(path)
        if content is None:
            return None
        return LandedDimension(
            name=name,
            part="",
            digest=_digest([content]),
            read=lambda: _parse(path, lambda: _rows(name, content)),
        )

    def find_promotions(self, week: Date, regions: Sequence[str]) -> LandedDimension | None:
        """The promotion facts of the week that begins on the Monday `week`; None without any.

        Raises LandingIncomplete, now or when its rows are read, where a file cannot be read.
        """
        paths = {
            region: self._layout.promotion(Partition(date=week, region=region))
            for region in sorted(regions)
        }
        read = {region: _read(path) for region, path in paths.items()}
        files = {region: content for region, content in read.items() if content is not None}
        products = _read(self._layout.product)
        if not files or products is None:
            return None
        names = [region.encode() for region in files]
        return LandedDimension(
            name=DimensionName.PROMOTION,
            part=week.isoformat(),
            digest=_digest([products, *names, *files.values()]),
            read=lambda: self._count(week, paths, files, products),
        )

    def _count(
        self, week: Date, paths: Mapping[str, Path], files: Mapping[str, bytes], products: bytes
    ) -> Sequence[Row]:
        facts = {
            region: _parse(paths[region], lambda content=content: read_facts(content, week))
            for region, content in files.items()
        }
        return count_promotions(facts, week=week, groups=self._groups_of(products))

    def _groups_of(self, products: bytes) -> Mapping[str, str]:
        """The demand group of every product; of the same file they are worked out once."""
        if self._groups is None or self._groups[0] != products:
            rows = _parse(self._layout.product, lambda: _rows(DimensionName.PRODUCT, products))
            self._groups = (products, {str(row[0]): str(row[3]) for row in rows})
        return self._groups[1]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error


def _parse(path: Path, parse: Callable[[], T]) -> T:
    try:
        return parse()
    # ValueError covers malformed numbers, dates and UTF-8.
    except (ValueError, KeyError, OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> LandingIncomplete:
    return LandingIncomplete(
        f"the dimension file {path} cannot be read",
        why=" ".join(str(error).split()) or type(error).__name__,
        next_command="forecast-backfill landing --days 91",
    )


def _digest(contents: Sequence[bytes]) -> str:
    parts = [hashlib.sha256(content).hexdigest() for content in contents]
    return hashlib.sha256(":".join([FORM, *parts]).encode()).hexdigest()


def _rows(name: DimensionName, content: bytes) -> Sequence[Row]:
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    parsers = [_PARSERS.get(column, str) for column in COLUMNS[name]]
    reader = csv.DictReader(io.StringIO(content.decode(), newline=""))
    missing = set(COLUMNS[name]) - set(reader.fieldnames or ()) - {"valid_from", "valid_to"}
    if missing:
        raise ValueError(f"the column {min(missing)} is missing")
    return [
        tuple(
            parse(row.get(column) or "")
            for parse, column in zip(parsers, COLUMNS[name], strict=True)
        )
        for row in reader
    ]


def _date(text: str) -> Date | None:
    return Date.fromisoformat(text) if text else None


def _instant(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"the instant {text} has no offset")
    return moment.astimezone(UTC)


_PARSERS: Mapping[str, _Parse] = {
    "price_cents": int,
    "valid_from": _date,
    "valid_to": _date,
    "recorded_at": _instant,
}
