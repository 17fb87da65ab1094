"""Forecast partitions in PostgreSQL: stored by version, so that what is published never changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from forecast_backfill.core.fingerprint import canonical_text
from forecast_backfill.core.forecast import ForecastFingerprint, ForecastRow
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.fences import hold_epoch, key_of, take_lease
from forecast_backfill.warehouse.statements import statements

PUBLICATION_LEASE = "publication"
"""Held exclusively by a switch, shared by writers of forecasts: a switch never meets a drop."""

_COPY = (
    "COPY demand_forecast"
    " (date, region, forecast_version, demand_group, target_date, milliunits) FROM STDIN"
)


class PostgresForecasts:
    """Where `demand_forecast` is stored, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @contextmanager
    def transaction(
        self, partition: Partition, request: RunRequest
    ) -> Iterator[PostgresForecastTransaction]:
        """One READ COMMITTED transaction over the partition; an exception rolls it all back."""
        with self._session.transaction() as connection:
            yield PostgresForecastTransaction(connection, partition, request)

    def latest(self, partition: Partition) -> tuple[str, Sequence[ForecastRow]] | None:
        """The version and rows that are published for the partition, else those last written."""
        with self._session.use() as connection:
            rows = list(
                statements().latest_forecast(
                    connection, date=partition.date, region=partition.region
                )
            )
        if not rows:
            return None
        return rows[0]["forecast_version"], tuple(
            ForecastRow(
                demand_group=row["demand_group"],
                target_date=row["target_date"],
                milliunits=row["milliunits"],
            )
            for row in rows
        )


class PostgresForecastTransaction:
    """The steps of one replacement, on an open transaction."""

    def __init__(
        self, connection: psycopg.Connection[Any], partition: Partition, request: RunRequest
    ) -> None:
        self._connection = connection
        self._partition = partition
        self._request = request
        self._key = {"date": partition.date, "region": partition.region}

    def take_lease(self) -> None:
        """Wait for the partition's lease and for a switch in flight."""
        partition = self._partition
        take_lease(
            self._connection,
            key=key_of(f"forecast {partition}"),
            name=f"{self._request.run_id[:36]} forecast {partition}"[:63],
            what="the forecast partition",
            partition=partition,
        )
        statements().share_publication(self._connection, key=key_of(PUBLICATION_LEASE))

    def hold_epoch(self) -> None:
        """Lock the workload's epoch row against a kill until the transaction ends."""
        hold_epoch(self._connection, self._request, self._partition)

    def is_stored(self, fingerprint: ForecastFingerprint, model_version: str) -> bool:
        """Whether exactly these forecasts of this model are the stored ones."""
        version = fingerprint.data_version
        row = statements().find_forecast(self._connection, **self._key, forecast_version=version)
        return (
            row is not None
            and row["model_version"] == model_version
            and self.fingerprint(version) == fingerprint
        )

    def replace(self, rows: Sequence[ForecastRow], forecast_version: str) -> None:
        """Write the rows as that version and drop older versions that no publication shows."""
        named = {**self._key, "forecast_version": forecast_version}
        statements().drop_unpublished(self._connection, **named)
        statements().drop_forecast_version(self._connection, **named)
        key = (self._partition.date, self._partition.region, forecast_version)
        with self._connection.cursor() as cursor, cursor.copy(_COPY) as copy:
            for row in rows:
                copy.write_row((*key, row.demand_group, row.target_date, row.milliunits))

    def fingerprint(self, forecast_version: str) -> ForecastFingerprint:
        """The fingerprint of what is stored now, computed by the database from the columns."""
        date, region = self._partition.date, self._partition.region
        row = statements().fingerprint_forecast(
            self._connection,
            **self._key,
            forecast_version=forecast_version,
            prefix=canonical_text((date.isoformat(), region)),
        )
        return ForecastFingerprint(**{name: int(value) for name, value in row.items()})

    def complete(self, fingerprint: ForecastFingerprint, model_version: str) -> None:
        """Record the version next to its rows."""
        statements().complete_forecast(
            self._connection,
            **self._key,
            forecast_version=fingerprint.data_version,
            model_version=model_version,
            rows=fingerprint.rows,
            checksum=fingerprint.checksum,
            milliunits=fingerprint.milliunits,
            workload=self._request.workload,
            run_id=self._request.run_id,
            campaign_id=self._request.campaign_id,
            epoch=self._request.epoch,
        )
