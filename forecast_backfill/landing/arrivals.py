"""Which deliveries of a date have arrived: a manifest is landed last, so it tells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date as Date
from pathlib import Path

from forecast_backfill.core.partition import Partition
from forecast_backfill.landing.layout import Layout


def landed_regions(directory: Path, day: Date, regions: Sequence[str]) -> frozenset[str]:
    """The regions whose delivery of `day` is complete."""
    layout = Layout(directory=directory)
    return frozenset(
        region for region in regions if layout.manifest(Partition(date=day, region=region)).exists()
    )
