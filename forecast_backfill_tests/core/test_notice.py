"""Notices are told once a subject, and tried again ever more slowly."""

from datetime import timedelta

import pytest

from forecast_backfill.core.notice import Audience, Notice, NoticeKind, pause_after


def notice(**changes):
    fields = {
        "kind": NoticeKind.DEADLINE_MISSED,
        "audience": Audience.NIGHTLY,
        "subject": "2026-11-01",
        "title": "t",
        "body": "b",
    }
    return Notice(**{**fields, **changes})


def test_the_words_of_a_notice_do_not_make_it_another():
    assert notice(title="x", body="y").key == notice().key
    assert notice(subject="2026-11-02").key != notice().key
    assert notice(kind=NoticeKind.DEADLINE_AT_RISK).key != notice().key


@pytest.mark.parametrize("field", ["subject", "title", "body"])
def test_a_notice_without_words_is_refused(field):
    with pytest.raises(ValueError, match="a subject, a title and a body"):
        notice(**{field: " "})


@pytest.mark.parametrize(
    ("attempts", "minutes"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (29, 60)]
)
def test_pauses_double_up_to_an_hour(attempts, minutes):
    assert pause_after(attempts) == timedelta(minutes=minutes)


def test_after_thirty_attempts_it_is_given_up():
    assert pause_after(30) is None
