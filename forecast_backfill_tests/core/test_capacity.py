"""The cap: slots less the nightly peak, unless somebody asked for another."""

import pytest

from forecast_backfill.core.capacity import cap_for


@pytest.mark.parametrize(
    ("slots", "nightly_peak", "asked", "cap"),
    [
        (300, 200, None, 100),
        (300, 300, None, 0),
        (300, 200, 0, 0),
        (300, 200, 250, 250),
        (300, 200, 400, 300),
    ],
)
def test_the_cap_stays_between_nothing_and_all_slots(slots, nightly_peak, asked, cap):
    assert cap_for(slots=slots, nightly_peak=nightly_peak, asked=asked) == cap
