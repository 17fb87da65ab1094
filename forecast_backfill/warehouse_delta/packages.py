"""The packages of the extra `lakehouse`, imported only where a lakehouse is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from forecast_backfill.core.errors import ForecastBackfillError


class LakehouseUnavailable(ForecastBackfillError):
    """A package of the lakehouse is not installed; install the extra."""


def load_deltalake() -> Any:
    """The package deltalake. Raises LakehouseUnavailable where it is not installed."""
    return _load("deltalake")


def load_duckdb() -> Any:
    """The package duckdb. Raises LakehouseUnavailable where it is not installed."""
    return _load("duckdb")


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise LakehouseUnavailable(
            "the lakehouse cannot be used",
            why=f"the package {name} is not installed ({error})",
            next_command="pip install 'forecast-backfill[lakehouse]', "
            "or export FORECAST_BACKFILL_WAREHOUSE=postgres",
        ) from error
