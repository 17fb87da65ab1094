"""The order of versions: the source first, then who says so, then the revision."""

import pytest

from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Authority, Version, Winner, authority_of


def version(authority, source_version, revision=0):
    return Version(authority=authority, source_version=source_version, revision=revision)


def test_a_correction_beats_live_rows_of_the_same_export():
    assert version(Authority.CORRECTION, 100) > version(Authority.LIVE, 100)


def test_a_live_write_of_a_newer_export_beats_a_correction():
    assert version(Authority.LIVE, 101) > version(Authority.CORRECTION, 100)


def test_a_campaign_that_lets_live_win_loses_where_the_export_is_the_same():
    assert version(Authority.BACKFILL, 100, revision=9) < version(Authority.LIVE, 100)


def test_a_later_correction_of_the_same_export_beats_an_earlier_one():
    earlier = version(Authority.CORRECTION, 100, revision=3)
    later = version(Authority.CORRECTION, 100, revision=4)
    assert later > earlier
    assert later.is_same_statement(earlier)


@pytest.mark.parametrize(
    ("workload", "winner", "authority"),
    [
        (Workload.NIGHTLY, None, Authority.LIVE),
        (Workload.BACKFILL, None, Authority.BACKFILL),
        (Workload.BACKFILL, Winner.LIVE, Authority.BACKFILL),
        (Workload.BACKFILL, Winner.CORRECTION, Authority.CORRECTION),
    ],
)
def test_only_a_correction_is_raised_above_live(workload, winner, authority):
    assert authority_of(workload, winner) is authority


def test_nightly_cannot_ask_for_a_winner():
    with pytest.raises(ValueError, match="nightly writes as live"):
        authority_of(Workload.NIGHTLY, Winner.CORRECTION)
