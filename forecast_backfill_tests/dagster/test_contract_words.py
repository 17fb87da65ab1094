"""What an operator reads first of a window's verdict."""

from datetime import date, timedelta

import pytest

from forecast_backfill.core.coverage import CellState, LeftOut
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.dagster_defs.contract_words import contract_words
from forecast_backfill.ports.night_values import VerdictKind, WindowVerdict

DAY = date(2026, 3, 31)
MISSING = tuple(
    LeftOut(
        partition=Partition(date=day, region="R01"), state=CellState.MISSING, reason="never built"
    )
    for day in (date(2026, 3, 2), date(2026, 3, 9), DAY)
)


def verdict(
    kind: VerdictKind, *reasons: str, left_out: tuple[LeftOut, ...] = MISSING
) -> WindowVerdict:
    return WindowVerdict(
        date=DAY,
        kind=kind,
        reasons=reasons,
        window=DateRange(start=DAY - timedelta(days=29), end=DAY + timedelta(days=1)),
        regions=("R01", "R02"),
        expected=60,
        left_out=left_out,
        stale_used=(),
        seals={},
        window_digest="w1",
        changed_dates=(),
        override=None,
    )


@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ((), "complete: all 60 partitions are in"),
        (MISSING, "accepted: 3 of 60 partitions are left out"),
    ],
)
def test_an_accepted_window_says_whether_it_is_complete(left_out, words):
    assert contract_words(verdict(VerdictKind.ACCEPTED, left_out=left_out)) == words


def test_a_degraded_window_says_why_and_asks_for_nothing():
    found = contract_words(verdict(VerdictKind.DEGRADED, "3 of 60 are missing"))
    assert found == "degraded: 3 of 60 are missing"


def test_many_reasons_are_shortened_and_what_is_missing_before_the_date_is_to_be_built():
    reasons = [f"region R{number:02d} misses 27 days" for number in range(1, 41)]
    assert contract_words(verdict(VerdictKind.REFUSED, *reasons)) == (
        "refused: region R01 misses 27 days; region R02 misses 27 days; region R03 misses 27 days; "
        "region R04 misses 27 days; and 36 more. "
        "Next: forecast-backfill backfill --from 2026-03-02 --to 2026-03-10"
    )


def test_a_window_that_a_person_may_take_names_the_command_for_that():
    assert contract_words(verdict(VerdictKind.NEEDS_OVERRIDE, "6 of 60 are missing")) == (
        "needs override: 6 of 60 are missing. Next: "
        "forecast-backfill nightly --date 2026-03-31 --override-by NAME --reason TEXT"
    )
