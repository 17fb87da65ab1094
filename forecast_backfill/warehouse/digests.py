"""One side of the digest tree in PostgreSQL: `daily_demand`, or another table of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.rows import dict_row

from forecast_backfill.core.digest_tree import BITS, CONTENT_COLUMNS, Bucket, Digest, RowDigest
from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, Fingerprint, canonical_text
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.ports import LedgerRow, Rows
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.statements import statements

KEY_COLUMNS = ("store_id", "product_id")
DATE_TEXT = sql.SQL("'10:' || date::text")
"""A date of four digits' year has ten characters: measuring them costs a second text a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestedTable:
    """A table and how each of its columns is written as canonical text."""

    table: sql.Composable
    texts: Mapping[str, sql.Composable]

    @property
    def row(self) -> sql.Composed:
        """The canonical text of a row, of which its hash is made."""
        return self._joined(CHECKSUM_COLUMNS)

    def statement(self, name: str) -> sql.Composed:
        """The named query over this table."""
        query: str = getattr(statements(), name).sql
        return sql.SQL(query).format(  # type: ignore[arg-type]
            table=self.table,
            row=self.row,
            key=self._joined(KEY_COLUMNS),
            content=self._joined(CONTENT_COLUMNS),
        )

    def _joined(self, columns: Sequence[str]) -> sql.Composed:
        return sql.SQL(" || ").join(self.texts[name] for name in columns)


def _ours() -> DigestedTable:
    call = sql.SQL("canonical_text({})").format
    texts = {name: call(sql.Identifier(name)) for name in CHECKSUM_COLUMNS}
    texts["date"] = DATE_TEXT
    return DigestedTable(table=sql.Identifier("daily_demand"), texts=texts)


DAILY_DEMAND = _ours()


class PostgresSide:
    """A table as one snapshot of it has it; `connection` is inside the snapshot's transaction."""

    def __init__(self, connection: psycopg.Connection[Any], digested: DigestedTable) -> None:
        self._connection = connection
        self._digested = digested

    def partitions(
        self, dates: DateRange, regions: Sequence[str] | None
    ) -> Mapping[Partition, Digest]:
        """The digest of every partition that holds a row; None means every region."""
        chosen = None if regions is None else list(regions)
        rows = self._read("partition_digests", start=dates.start, end=dates.end, regions=chosen)
        return {Partition(date=row["date"], region=row["region"]): _digest(row) for row in rows}

    def split(self, partition: Partition, parent: Bucket) -> Mapping[Bucket, Digest]:
        """The digests of the parent's children that hold a row."""
        rows = self._read(
            "bucket_digests", **_place(partition, parent), child_shift=parent.shift - BITS
        )
        depth = parent.depth + 1
        return {Bucket(depth=depth, index=row["index"]): _digest(row) for row in rows}

    def rows(self, partition: Partition, bucket: Bucket) -> Sequence[RowDigest]:
        """The rows of one bucket."""
        rows = self._read("bucket_rows", **_place(partition, bucket))
        return [
            RowDigest(key=(row["store_id"], row["product_id"]), hash=row["hash"]) for row in rows
        ]

    def canonical_rows(self, partition: Partition) -> Sequence[str]:
        """Every row's key and values as text, sorted; only of `daily_demand`."""
        return sorted(row["canonical"] for row in self._read("canonical_rows", **_key(partition)))

    def _read(self, name: str, **values: Any) -> list[dict[str, Any]]:
        # Such a statement is of use once: a generic plan would not know the range.
        cursor = self._connection.cursor(row_factory=dict_row)
        return cursor.execute(self._digested.statement(name), values, prepare=False).fetchall()


class StoredView(PostgresSide):
    """What is stored of partitions, and what the ledger says of it, as of one moment."""

    def __init__(self, connection: psycopg.Connection[Any], ledger: PostgresLedger) -> None:
        super().__init__(connection, DAILY_DEMAND)
        self._ledger = ledger

    def ledger(self, partition: Partition) -> LedgerRow | None:
        """The partition as the ledger has it; None where it was never attempted."""
        return self._ledger.find(partition)

    def fingerprint(self, partition: Partition) -> Fingerprint:
        """The fingerprint of what is stored, computed by the database from the columns."""
        prefix = canonical_text((partition.date.isoformat(), partition.region))
        row = statements().fingerprint_partition(self._connection, **_key(partition), prefix=prefix)
        return Fingerprint(**{name: int(value) for name, value in row.items()})


class PostgresStored:
    """Read-only views of `daily_demand` and its ledger, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @contextmanager
    def view(self) -> Iterator[StoredView]:
        """One snapshot; nothing can be written through it."""
        with self._session.transaction() as connection:
            begin_snapshot(connection)
            # Its session is this one, so the ledger is read within the same snapshot.
            yield StoredView(connection, PostgresLedger(self._session))

    def sample_done(
        self, dates: DateRange, regions: Sequence[str], *, seed: str, count: int
    ) -> Sequence[Partition]:
        """Up to `count` done partitions in an order that the seed decides."""
        with self._session.use() as connection:
            rows = statements().sample_done(
                connection,
                start=dates.start,
                end=dates.end,
                regions=list(regions),
                seed=seed,
                count=count,
            )
            return [Partition(date=row["date"], region=row["region"]) for row in rows]


def begin_snapshot(connection: psycopg.Connection[Any]) -> None:
    """Make the transaction that has just begun a read-only view as of one moment."""
    statements().hold_snapshot(connection)
    statements().hold_limits(connection)


def row_digests(rows: Rows) -> Sequence[RowDigest]:
    """The keys and hashes of an engine's rows (a pyarrow Table)."""
    table = cast("pa.Table", rows)
    columns = [table.column(name).to_pylist() for name in (*KEY_COLUMNS, "row_hash")]
    return [
        RowDigest(key=(store, product), hash=row_hash)
        for store, product, row_hash in zip(*columns, strict=True)
    ]


def _digest(row: Mapping[str, Any]) -> Digest:
    return Digest(rows=row["rows"], checksum=int(row["checksum"]))


def _key(partition: Partition) -> dict[str, Any]:
    return {"date": partition.date, "region": partition.region}


def _place(partition: Partition, bucket: Bucket) -> dict[str, Any]:
    return {**_key(partition), "shift": bucket.shift, "index": bucket.index}
