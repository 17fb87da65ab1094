"""Fitted models in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date as Date
from typing import Any

from psycopg.types.json import Jsonb

from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.night_values import TrainedModel, VerdictKind
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.fences import fenced
from forecast_backfill.warehouse.statements import statements


class PostgresModels:
    """Models with their artefacts, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, day: Date) -> TrainedModel | None:
        """The date's model, without its artefact."""
        with self._session.use() as connection:
            row = statements().find_model(connection, date=day)
        return None if row is None else _model(row)

    def artefact(self, day: Date, version: str) -> bytes | None:
        """The model's bytes; None where another version has taken its place."""
        with self._session.use() as connection:
            row = statements().find_artefact(connection, date=day, version=version)
        return None if row is None else bytes(row["artefact"])

    def store(self, model: TrainedModel, artefact: bytes, request: RunRequest) -> TrainedModel:
        """Replace the date's model under its lease; the model as stored (`is_changed` set)."""
        with fenced(self._session, request, f"model {model.date}") as connection:
            before = statements().find_model(connection, date=model.date)
            statements().clear_model(connection, date=model.date)
            statements().store_model(
                connection,
                **_columns(model),
                artefact=artefact,
                workload=request.workload,
                run_id=request.run_id,
                campaign_id=request.campaign_id,
            )
        return replace(model, is_changed=before is None or before["version"] != model.version)


def _columns(model: TrainedModel) -> dict[str, Any]:
    return {
        "date": model.date,
        "version": model.version,
        "kind": model.kind,
        "reason": model.reason,
        "parameters": Jsonb(dict(model.parameters)),
        "seed": model.seed,
        "window_digest": model.window_digest,
        "data_digest": model.data_digest,
        "verdict": model.verdict,
        "degraded_for": list(model.degraded_for),
        "regions": list(model.regions),
        "groups": list(model.groups),
        "expected": model.expected,
        "left_out": model.left_out,
        "moved": Jsonb([[each.date.isoformat(), each.region] for each in model.moved]),
        "changed_dates": list(model.changed_dates),
        "training_rows": model.training_rows,
        "holdout_model_wape": model.holdout_model_wape,
        "holdout_formula_wape": model.holdout_formula_wape,
        "seconds": model.seconds,
    }


def _model(row: Mapping[str, Any]) -> TrainedModel:
    moved = [Partition(date=Date.fromisoformat(day), region=region) for day, region in row["moved"]]
    return TrainedModel(
        **{
            **row,
            "verdict": VerdictKind(row["verdict"]),
            "degraded_for": tuple(row["degraded_for"]),
            "regions": tuple(row["regions"]),
            "groups": tuple(row["groups"]),
            "moved": tuple(moved),
            "changed_dates": tuple(row["changed_dates"]),
            "is_changed": False,
        }
    )
