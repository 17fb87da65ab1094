"""What the assets' bodies share: expected errors told in their own words, the night's ports."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dagster import AssetExecutionContext, BetaWarning, Failure, PreviewWarning

from forecast_backfill.app.audit_seam import SeamRecords
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.dagster_defs.batch import workload_of
from forecast_backfill.dagster_defs.tags import BACKFILL_ID_TAG
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.dimension import DimensionPorts
from forecast_backfill.ports.night import NightPorts
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.dimension import dimension_ports
from forecast_backfill.wiring.lakehouse import seam_records_of
from forecast_backfill.wiring.night import open_night
from forecast_backfill.wiring.process_priority import lower_priority

GROUP = "demand"
NIGHT_GROUP = "night"


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRun:
    """The night's ports of a Dagster run, and the request in whose name it works."""

    ports: NightPorts
    request: RunRequest
    dimensions: DimensionPorts
    seam_records: SeamRecords


@contextmanager
def night_run(context: AssetExecutionContext, settings: Settings) -> Iterator[NightRun]:
    """Everything that a body of the night needs; an expected error ends the run."""
    tags = context.run.tags
    with (
        expected_errors(),
        open_night(settings, workload=workload_of(tags), run_id=context.run.run_id) as wiring,
    ):
        lower_priority(wiring.workload, settings)
        yield NightRun(
            ports=wiring.ports,
            request=wiring.request(campaign_id=tags.get(BACKFILL_ID_TAG)),
            dimensions=dimension_ports(settings, wiring.session),
            seam_records=seam_records_of(settings, wiring.session),
        )


@contextmanager
def expected_errors() -> Iterator[None]:
    """An expected error ends the run with its own words instead of a stack trace."""
    try:
        yield
    except ForecastBackfillError as error:
        raise Failure(description=str(error), allow_retries=False) from error


@contextmanager
def accepted_previews() -> Iterator[None]:
    """Partitioned checks are a preview in Dagster 1.13, backfill policies a beta; both are used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreviewWarning)
        warnings.simplefilter("ignore", BetaWarning)
        yield
