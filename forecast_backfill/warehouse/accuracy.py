"""Measured accuracy in PostgreSQL."""

from __future__ import annotations

from dataclasses import asdict

from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.night_values import Accuracy, HorizonScore
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.fences import fenced
from forecast_backfill.warehouse.statements import statements


class PostgresAccuracy:
    """The scores of forecast partitions, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def store(self, accuracy: Accuracy, request: RunRequest) -> None:
        """Replace the partition's scores."""
        partition = accuracy.partition
        key = {"date": partition.date, "region": partition.region}
        shared = {
            **key,
            "forecast_version": accuracy.forecast_version,
            "known_days": accuracy.known_days,
            "horizon_days": accuracy.horizon_days,
            "run_id": request.run_id,
        }
        with fenced(self._session, request, f"accuracy {partition}") as connection:
            statements().clear_accuracy(connection, **key)
            statements().store_accuracy(
                connection, [{**shared, **asdict(score)} for score in accuracy.scores]
            )

    def find(self, partition: Partition) -> Accuracy | None:
        """The scores as measured last; None where nothing was measured."""
        with self._session.use() as connection:
            rows = list(
                statements().find_accuracy(connection, date=partition.date, region=partition.region)
            )
        if not rows:
            return None
        names = ("forecast_version", "known_days", "horizon_days")
        shared = {name: rows[0][name] for name in names}
        scores = tuple(
            HorizonScore(**{name: value for name, value in row.items() if name not in names})
            for row in rows
        )
        return Accuracy(partition=partition, scores=scores, **shared)
