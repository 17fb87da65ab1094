"""Reads the files of the lakehouse with another engine than the one that wrote them: DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import aiosql

from forecast_backfill.core.digest_tree import CONTENT_COLUMNS
from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, Fingerprint
from forecast_backfill.warehouse_delta.demand_file import home_of, is_whole, read_stamp
from forecast_backfill.warehouse_delta.packages import load_duckdb
from forecast_backfill.warehouse_delta.told import brief, repair_command, rewrite_command

_BOOLEANS = ("on_display", "on_mailer")


def _joined(columns: Iterable[str]) -> str:
    return " || ".join(
        f"canonical_text(CAST({name} AS INTEGER))"
        if name in _BOOLEANS
        else f"canonical_text({name})"
        for name in columns
    )


def _hashed(text: str) -> str:
    # The first 60 bits of the md5 are 15 hexadecimal digits.
    return f"CAST('0x' || substr(md5({text}), 1, 15) AS BIGINT)"


_CANONICAL = _joined(CHECKSUM_COLUMNS)
_PARTS = {
    "{hash}": _hashed(_CANONICAL),
    "{content_hash}": _hashed(_joined(CONTENT_COLUMNS)),
    "{canonical}": _CANONICAL,
    "{stored}": (
        "read_parquet($files, hive_partitioning = true,"
        " hive_types = {'date': VARCHAR, 'region': VARCHAR})"
    ),
}
_MACRO = """
CREATE TEMP MACRO canonical_text(value) AS
    coalesce(length(CAST(value AS VARCHAR)) || ':' || CAST(value AS VARCHAR), '-')
"""


class ReadBack:
    """SQL over the files of the lakehouse; opened at first use, in this process."""

    @cached_property
    def _connection(self) -> Any:
        # One thread: who reads holds one slot.
        connection = load_duckdb().connect(config={"threads": 1})
        connection.execute("SET enable_progress_bar = false")
        connection.execute(_MACRO)
        return connection

    @cached_property
    def _queries(self) -> Any:
        folder = Path(__file__).with_name("queries")
        return aiosql.from_path(folder, "duckdb", mandatory_parameters=False)

    def read(self, query: str, files: Iterable[Path]) -> list[dict[str, Any]]:
        """The rows of the named query over the files; none where there is no file."""
        places = list(files)
        if not places:
            return []
        text: str = getattr(self._queries, query).sql
        for name, part in _PARTS.items():
            text = text.replace(name, part)
        try:
            cursor = self._connection.execute(text, {"files": [str(each) for each in places]})
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        except load_duckdb().Error as error:
            raise _unreadable(places, error) from error
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def fingerprint(self, files: Sequence[Path]) -> Fingerprint:
        """The canonical fingerprint, recomputed from the stored columns."""
        return fingerprint_of(self.summary(files))

    def summary(self, files: Sequence[Path]) -> dict[str, Any]:
        """The fingerprint with the sum of the stored row hashes and the range of versions."""
        found = self.read("fingerprint", files)
        return found[0] if found else dict.fromkeys((*_FINGERPRINT, "row_hashes"), 0)


def _unreadable(files: Sequence[Path], error: Exception) -> WarehouseRefused:
    """The error with the partition of the first file that is gone or broken, else of a foreign one.

    A foreign one has other columns, say: then a proof cannot read it either.
    """
    what = "files of the lakehouse cannot be read"
    broken = next((each for each in files if not is_whole(each)), None)
    if broken is not None and (partition := home_of(broken)) is not None:
        return WarehouseRefused(
            what,
            why=f"{broken} is gone or broken",
            next_command=repair_command(partition),
            partition=partition,
        )
    foreign = next((each for each in files if read_stamp(each) is None), None)
    homes = {home_of(each) for each in ([foreign] if foreign is not None else files)}
    if homes == {None}:
        homes = {home_of(each) for each in files} - {None}
    partition = homes.pop() if len(homes) == 1 else None
    why = brief(error) if foreign is None else f"{foreign} is none of ours: {brief(error)}"
    return WarehouseRefused(
        what,
        why=why,
        next_command="forecast-backfill backfill --reprocess --from … --to …"
        if partition is None
        else rewrite_command(partition),
        partition=partition,
    )


_FINGERPRINT = ("rows", "checksum", "units", "revenue_cents", "stores", "products")


def fingerprint_of(summary: dict[str, Any]) -> Fingerprint:
    """The fingerprint in a summary."""
    return Fingerprint(**{name: int(summary[name]) for name in _FINGERPRINT})
