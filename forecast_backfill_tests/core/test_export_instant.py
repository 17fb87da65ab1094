"""Which export instants are believed."""

from datetime import UTC, date, datetime, timedelta

import pytest

from forecast_backfill.core.export_instant import judge_export

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def judge(exported: datetime, as_of: date | None = None) -> bool:
    """Whether the export is refused."""
    version = (exported - EPOCH) // MICROSECOND
    return judge_export(source_version=version, now=NOW, as_of=as_of) is not None


@pytest.mark.parametrize(
    ("exported", "is_refused"),
    [
        (EPOCH, False),
        (NOW, False),
        (NOW + timedelta(days=1), False),
        (NOW + timedelta(days=1) + MICROSECOND, True),
    ],
)
def test_an_export_of_up_to_a_day_from_now_is_believed(exported: datetime, is_refused: bool):
    assert judge(exported) is is_refused


def test_an_installation_that_stands_later_than_today_believes_exports_of_its_day():
    as_of = date(2027, 5, 1)
    assert judge(datetime(2027, 5, 3, tzinfo=UTC), as_of) is False
    assert judge(datetime(2027, 5, 3, tzinfo=UTC) + MICROSECOND, as_of) is True


def test_an_installation_that_stands_earlier_believes_exports_of_today():
    assert judge(NOW, date(2026, 3, 1)) is False


def test_an_instant_that_no_calendar_holds_is_refused_with_the_last_one():
    report = judge_export(source_version=10**18, now=NOW, as_of=None)
    assert report is not None
    assert report.kept[0].value == "9999-12-31T23:59:59.999999+00:00"
