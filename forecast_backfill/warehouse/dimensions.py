"""Dimensions in PostgreSQL: a part is replaced, fingerprinted and recorded in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date as Date
from typing import Any

import psycopg

from forecast_backfill.core.dimension import COLUMNS, DimensionFingerprint, DimensionName, Row
from forecast_backfill.core.errors import DimensionRefused
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.ports.dimension import PromotionShare
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


class PostgresDimensions:
    """Where dimensions are stored and read by date, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @contextmanager
    def transaction(self, name: DimensionName, part: str) -> Iterator[PostgresDimensionTransaction]:
        """One transaction over a dimension's part, under the dimension's lock."""
        with self._session.transaction() as connection:
            statements().lock_dimension(connection, dimension=name)
            yield PostgresDimensionTransaction(connection, name, part)

    def promotion_shares(
        self, weeks: DateRange, regions: Sequence[str], *, known_by: Date
    ) -> tuple[PromotionShare, ...]:
        """Of every week that touches `weeks` and was recorded by the end of `known_by` (UTC).

        Groups without a promotion have no row; a week of a region without any row is unknown.
        """
        with self._session.use() as connection:
            rows = statements().known_promotions(
                connection,
                start=weeks.start,
                end=weeks.end,
                regions=list(regions),
                known_by=known_by,
            )
            return tuple(
                PromotionShare(
                    region=row["region"],
                    demand_group=row["demand_group"],
                    week=row["week"],
                    pairs=row["stores"] * row["products"],
                    on_display=row["on_display"],
                    on_mailer=row["on_mailer"],
                )
                for row in rows
            )

    def shelf_prices(self, day: Date, *, known_by: Date) -> dict[str, int]:
        """The price in cents of every product on `day`, as known by the end of `known_by` (UTC)."""
        with self._session.use() as connection:
            rows = statements().known_shelf_prices(connection, day=day, known_by=known_by)
            return {row["product_id"]: row["price_cents"] for row in rows}

    def store_regions(self, day: Date) -> dict[str, str]:
        """The region of every store that has one on `day`."""
        with self._session.use() as connection:
            rows = statements().store_regions_on(connection, day=day)
            return {row["store_id"]: row["region"] for row in rows}

    def demand_at_shelf_price(self, partition: Partition) -> list[dict[str, Any]]:
        """The partition's rows of `daily_demand`, with the shelf price of their own date."""
        with self._session.use() as connection:
            return list(
                statements().demand_at_shelf_price(
                    connection, date=partition.date, region=partition.region
                )
            )


class PostgresDimensionTransaction:
    """The steps of one load, on an open transaction."""

    def __init__(self, connection: psycopg.Connection[Any], name: DimensionName, part: str) -> None:
        self._connection = connection
        self._name = name
        self._part = part

    def loaded_digest(self) -> str | None:
        """The digest of what is stored, None where nothing is."""
        digest: str | None = statements().loaded_digest(
            self._connection, dimension=self._name, part=self._part
        )
        return digest

    def replace(self, rows: Sequence[Row]) -> int:
        """Delete what is stored of the part and write `rows`; how many were deleted.

        Raises DimensionRefused where a constraint of the database refuses a row.
        """
        try:
            return self._replace(rows)
        except psycopg.IntegrityError as error:
            raise DimensionRefused(
                f"the dimension {self._name} was refused by {error.diag.constraint_name}",
                why=error.diag.message_detail or str(error),
                next_command=f"correct the landed file of {self._name}, then try again",
            ) from error

    def _replace(self, rows: Sequence[Row]) -> int:
        delete = getattr(statements(), f"delete_{self._name}")
        deleted: int = delete(self._connection, part=self._part)
        copy_statement = f"COPY {self._name} ({', '.join(COLUMNS[self._name])}) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(copy_statement.encode()) as copy:
            for row in rows:
                copy.write_row(row)
        return deleted

    def fingerprint(self) -> DimensionFingerprint:
        """The fingerprint of what is stored now, computed by the database from the columns."""
        fingerprint = getattr(statements(), f"fingerprint_{self._name}")
        row = fingerprint(self._connection, part=self._part)
        return DimensionFingerprint(rows=int(row["rows"]), checksum=int(row["checksum"]))

    def record(self, digest: str, fingerprint: DimensionFingerprint) -> None:
        """Record what is stored now."""
        statements().record_dimension_load(
            self._connection,
            dimension=self._name,
            part=self._part,
            digest=digest,
            rows=fingerprint.rows,
            checksum=fingerprint.checksum,
        )
