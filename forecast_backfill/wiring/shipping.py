"""What travels with a Spark job, so that executors wire the ports as the driver would."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.ports import RunRequest
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.connect import resolve_database_url
from forecast_backfill.wiring.partition import load_engine
from forecast_backfill.wiring.process_priority import lower_priority

OpenSpark = Callable[[], AbstractContextManager[Any]]
"""Opens a Spark session that is stopped at the end of the block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """What an executor needs to wire the ports: plain values; `code_version` is the driver's."""

    settings: str
    request: RunRequest
    code_version: str


def ship(settings: Settings, request: RunRequest) -> Shipment:
    """The settings with the run's request and the version of its code."""
    return Shipment(
        settings=pack(settings),
        request=request,
        code_version=load_engine(settings).code_version,
    )


def pack(settings: Settings) -> str:
    """The settings as they hold here, whatever the executor's own environment says."""
    values: dict[str, Any] = settings.model_dump(mode="json")
    values["database_url"] = resolve_database_url(settings)
    # Addresses with passwords that no executor needs.
    values["nightly_notices"] = values["backfill_notices"] = []
    return json.dumps(values)


def unpack_settings(packed: str) -> Settings:
    """The settings that were packed."""
    return load_settings(**json.loads(packed))


def unpack(shipment: Shipment) -> Settings:
    """The shipped settings, on the executor; its process stands back where the work is backfill's.

    Not on a Connect server: its processes go on to serve the night, and none can be raised again.
    """
    settings = unpack_settings(shipment.settings)
    if not settings.is_spark_connect:
        lower_priority(shipment.request.workload, settings)
    return settings


def check_code(shipment: Shipment, found: str) -> None:
    """Raise ForecastBackfillError where the executor's code is not the driver's."""
    if found != shipment.code_version:
        raise ForecastBackfillError(
            "the Spark executors run another version of the code",
            why=f"they have {found}, this run has {shipment.code_version}",
            next_command="install this version of forecast-backfill on every worker",
        )
