"""A fitted model and the panel that it has seen, as bytes: enough to forecast again, exactly."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import asdict, fields
from datetime import date as Date
from types import MappingProxyType

import numpy as np

from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.forecasting.model import FittedModel, ModelKind
from forecast_backfill.forecasting.panel import Floats, Panel
from forecast_backfill.forecasting.training import Plan

MAGIC = b"forecast-backfill model 1\n"
LEVEL = 6


class ArtefactRefused(ForecastBackfillError):
    """The stored bytes are no model of this version; fit it again."""


def dump(model: FittedModel, panel: Panel) -> tuple[str, bytes]:
    """The version, a digest of all that decides forecasts, and the bytes."""
    header = {
        "model": {
            **{each.name: getattr(model, each.name) for each in fields(model)},
            "plan": asdict(model.plan),
            "kind": model.kind.value,
            "window_first": model.window_first.isoformat(),
            "forecast_from": model.forecast_from.isoformat(),
            "parameters": dict(model.parameters),
        },
        "regions": panel.regions,
        "groups": panel.groups,
        "first": panel.first.isoformat(),
        "units": panel.units.shape,
        "promotions": panel.promotions.shape,
    }
    text = json.dumps(header, sort_keys=True, ensure_ascii=False).encode()
    arrays = [_bytes(panel.units), _bytes(panel.promotions)]
    payload = b"".join([len(text).to_bytes(8, "little"), text, *arrays])
    version = hashlib.sha256(payload).hexdigest()[:20]
    return version, MAGIC + zlib.compress(payload, LEVEL)


def load(artefact: bytes) -> tuple[FittedModel, Panel]:
    """What `dump` made the bytes from.

    Raises ArtefactRefused where they are not of this form.
    """
    try:
        if not artefact.startswith(MAGIC):
            raise ValueError("its form is another")
        payload = zlib.decompress(artefact[len(MAGIC) :])
        size = int.from_bytes(payload[:8], "little")
        header = json.loads(payload[8 : 8 + size])
        return _build(header, payload[8 + size :])
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise ArtefactRefused(
            "the stored model cannot be read",
            why=str(error),
            next_command="launch demand_model of the date again",
        ) from error


def _build(header: dict, arrays: bytes) -> tuple[FittedModel, Panel]:
    stored = header["model"]
    model = FittedModel(
        **{
            **stored,
            "kind": ModelKind(stored["kind"]),
            "window_first": Date.fromisoformat(stored["window_first"]),
            "forecast_from": Date.fromisoformat(stored["forecast_from"]),
            "plan": Plan(**stored["plan"]),
            "parameters": MappingProxyType(stored["parameters"]),
        }
    )
    split = 8 * int(np.prod(header["units"]))
    panel = Panel(
        regions=tuple(header["regions"]),
        groups=tuple(header["groups"]),
        first=Date.fromisoformat(header["first"]),
        units=_array(arrays[:split], header["units"]),
        promotions=_array(arrays[split:], header["promotions"]),
    )
    return model, panel


def _bytes(values: Floats) -> bytes:
    return np.ascontiguousarray(values, dtype="<f8").tobytes()


def _array(content: bytes, shape: list[int]) -> Floats:
    return np.frombuffer(content, dtype="<f8").reshape(shape).astype(np.float64)
