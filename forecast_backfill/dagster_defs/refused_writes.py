"""Finds what readers do not see of nightly's, and queues one notice a date for on-call."""

from __future__ import annotations

from itertools import groupby

from forecast_backfill.app.notice_text import shadow_notice
from forecast_backfill.app.notify import queue_notice
from forecast_backfill.core.shadow_check import RefusedWrite
from forecast_backfill.warehouse.shadow_records import refused_nightly
from forecast_backfill.wiring.night import NightWiring


def tell_of_refused_writes(wiring: NightWiring) -> int:
    """How many dates of nightly's the shadow that is read refuses now; each is told of once."""
    notices = [
        shadow_notice(list(refused))
        for _, refused in groupby(refused_nightly(wiring.session), _shadow_and_date)
    ]
    for notice in notices:
        queue_notice(notice, ports=wiring.ports)
    return len(notices)


def _shadow_and_date(refused: RefusedWrite) -> tuple[int, object]:
    return refused.shadow_id, refused.partition.date
