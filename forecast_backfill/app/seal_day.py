"""Seal a date: record which regions are in, at which version, and which are not and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date as Date

from forecast_backfill.core.seal import RegionOutput, Seal, build_seal
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.night import NightPorts


def seal_day(day: Date, *, request: RunRequest, ports: NightPorts) -> Seal:
    """Seal `day`, or seal it again: the same content has the same `data_version`.

    Raises EpochRaised where the workload was killed after the request was made.
    """

    def build(outputs: Mapping[str, RegionOutput]) -> Seal:
        return build_seal(day, regions=ports.regions, outputs=outputs)

    return ports.retry(lambda: ports.seals.seal(day, request, build))
