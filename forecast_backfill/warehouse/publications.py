"""Publications in PostgreSQL: one switch a date, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date as Date
from typing import Any

import psycopg

from forecast_backfill.core.deadline import NightProgress
from forecast_backfill.core.publication import Publication, PublicationStatus, PublishedRegion
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.fences import fenced
from forecast_backfill.warehouse.forecasts import PUBLICATION_LEASE
from forecast_backfill.warehouse.statements import statements


class PostgresPublications:
    """What readers see, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @contextmanager
    def transaction(
        self, day: Date, request: RunRequest
    ) -> Iterator[PostgresPublicationTransaction]:
        """One transaction that holds the publication lease and the epoch."""
        with fenced(self._session, request, PUBLICATION_LEASE) as connection:
            yield PostgresPublicationTransaction(connection, day, request)

    def find(self, day: Date) -> Publication | None:
        """What readers of the date see; None where it was never published."""
        with self._session.use() as connection:
            rows = list(statements().find_publication(connection, date=day))
        if not rows:
            return None
        return Publication(
            date=day,
            status=PublicationStatus(rows[0]["status"]),
            model_version=rows[0]["model_version"],
            regions=tuple(_region(row) for row in rows if row["region"] is not None),
            reasons=tuple(rows[0]["reasons"]),
            absent=tuple(rows[0]["absent"]),
        )

    def progress(self, day: Date) -> NightProgress:
        """When the date was first sealed, and first published with forecasts of its own."""
        with self._session.use() as connection:
            row = statements().night_progress(connection, date=day)
        status = row["status"]
        return NightProgress(
            sealed_at=row["sealed_at"],
            published_at=row["published_at"],
            status=None if status is None else PublicationStatus(status),
        )


class PostgresPublicationTransaction:
    """The steps of one switch, on an open transaction."""

    def __init__(self, connection: psycopg.Connection[Any], day: Date, request: RunRequest) -> None:
        self._connection = connection
        self._day = day
        self._request = request

    def fresh(self, model_version: str) -> Mapping[str, str]:
        """The forecast version of each region that has forecasts of the date by that model."""
        rows = statements().fresh_forecasts(
            self._connection, date=self._day, model_version=model_version
        )
        return {row["region"]: row["forecast_version"] for row in rows}

    def previous(self) -> Mapping[str, PublishedRegion]:
        """What the date shows of its own by now, else what the last publication before it shows."""
        rows = statements().previous_publication(self._connection, date=self._day)
        return {row["region"]: _region(row) for row in rows}

    def switch(self, publication: Publication) -> None:
        """From the commit on, readers of the date see this and nothing of what was there."""
        status = publication.status
        statements().switch_publication(
            self._connection,
            date=publication.date,
            status=status,
            model_version=publication.model_version,
            reasons=list(publication.reasons),
            absent=list(publication.absent),
            data_version=publication.data_version,
            is_own=status is not PublicationStatus.KEPT,
            workload=self._request.workload,
            run_id=self._request.run_id,
            campaign_id=self._request.campaign_id,
        )
        statements().clear_published_regions(self._connection, date=publication.date)
        statements().store_published_regions(
            self._connection,
            date=publication.date,
            regions=[each.region for each in publication.regions],
            source_dates=[each.source_date for each in publication.regions],
            versions=[each.forecast_version for each in publication.regions],
        )
        if publication.model_version is not None:
            statements().drop_replaced_forecasts(
                self._connection, date=publication.date, model_version=publication.model_version
            )


def _region(row: Mapping[str, Any]) -> PublishedRegion:
    return PublishedRegion(
        region=row["region"],
        source_date=row["source_date"],
        forecast_version=row["forecast_version"],
    )
