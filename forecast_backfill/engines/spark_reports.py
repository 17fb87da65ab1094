"""What an executor sends back for a partition: a kind and JSON, one Arrow row each."""

from __future__ import annotations

import json
from functools import cache
from typing import get_args

from pydantic import TypeAdapter

from forecast_backfill.core import errors
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import Partition

_OUTCOMES = {kind.__name__: kind for kind in get_args(Outcome)}
Report = Outcome | ForecastBackfillError


def encode(report: Report) -> tuple[str, str]:
    """The name of the report's class, and the report as JSON."""
    kind = type(report).__name__
    if isinstance(report, ForecastBackfillError):
        return kind, _encode_error(report)
    return kind, _adapter(kind).dump_json(report).decode()


def decode(kind: str, text: str) -> Report:
    """The report; an error whose class the core does not know comes as its root."""
    if kind in _OUTCOMES:
        report: Outcome = _adapter(kind).validate_json(text)
        return report
    return _decode_error(kind, text)


@cache
def _adapter(kind: str) -> TypeAdapter:
    return TypeAdapter(_OUTCOMES[kind])


def _encode_error(error: ForecastBackfillError) -> str:
    where = error.partition
    return json.dumps(
        {
            "what": error.what,
            "why": error.why,
            "next_command": error.next_command,
            "partition": None if where is None else [where.date.isoformat(), where.region],
        }
    )


def _decode_error(kind: str, text: str) -> ForecastBackfillError:
    fields = json.loads(text)
    where = fields["partition"]
    found = getattr(errors, kind, ForecastBackfillError)
    return found(
        fields["what"],
        why=fields["why"],
        next_command=fields["next_command"],
        partition=None
        if where is None
        else TypeAdapter(Partition).validate_python({"date": where[0], "region": where[1]}),
    )
