"""Recomputes a few done partitions a day and queues a notice of each that came out otherwise."""

from __future__ import annotations

from collections import Counter
from datetime import date as Date
from datetime import timedelta

from forecast_backfill.app.notice_text import determinism_notice
from forecast_backfill.app.notify import queue_notice
from forecast_backfill.app.recompute import Different
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.partition import DateRange
from forecast_backfill.wiring.night import NightWiring
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill.wiring.truth import prove_some

PROOFS = 3
"""Partitions a day: a sensor has a minute."""


def prove_determinism(wiring: NightWiring, today: str) -> str:
    """What recomputing partitions that the day chooses came to, in words; it never raises."""
    settings, calendar = wiring.settings, wiring.calendar
    dates = DateRange(start=calendar.first_date, end=calendar.latest_date + timedelta(days=1))
    try:
        with open_wiring(settings, workload=wiring.workload, run_id=wiring.run_id) as engine:
            proofs = prove_some(
                engine, dates, settings.regions, count=PROOFS, seed=today, by="nightly"
            )
    except ForecastBackfillError as error:
        return f"not proved: {error}"
    for proof in proofs:
        if isinstance(proof, Different):
            queue_notice(determinism_notice(proof, Date.fromisoformat(today)), ports=wiring.ports)
    counts = Counter(type(each).__name__ for each in proofs)
    return (
        f"{counts['Same']} partitions recomputed to the same bytes, {counts['Different']} to "
        f"others, {counts['NotRecomputed']} have changed since they were done"
    )
