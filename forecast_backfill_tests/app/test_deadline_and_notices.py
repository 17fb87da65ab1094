"""Deadlines are told before and at the miss; notices are retried and never fail the work."""

import json
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from forecast_backfill.app.check_deadline import check_deadline
from forecast_backfill.app.notice_text import campaign_notice
from forecast_backfill.app.notify import Delivery, NotQueued, deliver_notices, queue_notice
from forecast_backfill.core.errors import DatabaseInterrupted, NotificationFailed
from forecast_backfill.core.notice import Audience, Notice, NoticeKind
from forecast_backfill.core.states import Workload
from forecast_backfill.notices.apprise_notifier import AppriseNotifier
from forecast_backfill_tests.app.nights import (
    LAST,
    REGIONS,
    execute,
    fetch,
    fill,
    fit_day,
    night,
    quarantine,
    run_night,
    seal_window,
    settings_for,
)

MORNING = datetime(2026, 11, 28, 11, 0, tzinfo=UTC)
"""06:00 in New York, the opening time after the business date 27 November."""
NOTICE = campaign_notice("spring", done=3, not_done=["2026-11-01 R02: bad_number"])


def told(wiring, now):
    return [(each.kind, each.subject) for each in check_deadline(now, ports=wiring.ports)]


def publish_at(wiring, url, moment):
    seal_window(wiring)
    run_night(wiring)
    execute(url, "UPDATE forecast_publication SET first_published_at = %s", moment)


def test_nothing_is_told_while_there_is_time(wiring):
    assert told(wiring, MORNING - timedelta(minutes=46)) == []


def test_a_late_night_is_told_of_before_its_deadline_and_once_only(wiring, database_url):
    assert told(wiring, MORNING - timedelta(minutes=45)) == [("deadline_at_risk", "2026-11-27")]
    told(wiring, MORNING - timedelta(minutes=30))
    assert fetch(database_url, "SELECT audience, title, body FROM notice") == [
        (
            "nightly",
            "The forecast of 2026-11-27 may miss its deadline, 2026-11-28 06:00 EST",
            "it is not sealed yet\nNext: forecast-backfill nightly --date 2026-11-27",
        )
    ]


def test_a_missed_deadline_is_told_at_the_miss(wiring, database_url):
    assert told(wiring, MORNING) == [("deadline_missed", "2026-11-27")]


def test_a_night_published_in_time_is_on_time_for_good(wiring, database_url):
    publish_at(wiring, database_url, MORNING - timedelta(minutes=1))
    assert told(wiring, MORNING + timedelta(hours=5)) == []


def test_a_night_published_late_has_missed_its_deadline(wiring, database_url):
    publish_at(wiring, database_url, MORNING + timedelta(minutes=20))
    (notice,) = check_deadline(MORNING + timedelta(hours=1), ports=wiring.ports)
    assert notice.kind is NoticeKind.DEADLINE_MISSED
    assert notice.body.startswith("it was published 20 min after the deadline")


def test_a_backfill_of_an_old_date_does_not_turn_a_missed_night_green(wiring, database_url):
    """Sealed, fitted and published a minute ago, for the day before."""
    day = LAST - timedelta(days=1)
    fill(database_url, first=LAST - timedelta(days=90), last=LAST - timedelta(days=90))
    with night(wiring.settings, workload=Workload.BACKFILL, run_id="hindcast") as past:
        seal_window(past, day)
        run_night(past, day)
    execute(
        database_url,
        "UPDATE forecast_publication SET first_published_at = %s",
        MORNING - timedelta(minutes=1),
    )
    assert told(wiring, MORNING) == [("deadline_missed", "2026-11-27")]


def test_last_nights_forecasts_kept_do_not_meet_the_deadline(wiring, database_url):
    day = LAST - timedelta(days=1)
    fill(database_url, first=LAST - timedelta(days=90), last=LAST - timedelta(days=90))
    seal_window(wiring, day)
    run_night(wiring, day)
    for region in REGIONS:
        quarantine(database_url, LAST, region)
    run_night(wiring)
    (notice,) = check_deadline(MORNING, ports=wiring.ports)
    assert notice.body.startswith("no forecast of it could be published, the last night's are kept")


def test_nights_that_an_outage_has_hidden_are_told_of_too(database_url, tmp_path):
    pinned = settings_for(database_url, tmp_path, seam=LAST - timedelta(days=1))
    with night(pinned) as wiring:
        assert told(wiring, MORNING) == [
            ("deadline_missed", "2026-11-26"),
            ("deadline_missed", "2026-11-27"),
        ]


def test_a_calendar_pinned_to_an_earlier_date_has_no_deadline(wiring):
    assert told(wiring, MORNING + timedelta(days=10)) == []


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.got.append((self.path, body["title"], body["message"]))
        self.send_response(self.server.answer)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def receiver():
    """A real HTTP server that takes Apprise's JSON; `answer` is the status that it gives."""
    server = HTTPServer(("127.0.0.1", 0), _Handler)
    server.got, server.answer = [], 200
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def reachable(wiring, receiver):
    """The nightly audience at /nightly, the backfill audience at /backfill of the receiver."""
    port = receiver.server_port
    targets = {each: [f"json://127.0.0.1:{port}/{each}"] for each in Audience}
    return replace(wiring.ports, notifier=AppriseNotifier(targets))


def test_each_audience_has_targets_of_its_own(wiring, receiver):
    ports = reachable(wiring, receiver)
    queue_notice(NOTICE, ports=ports)
    check_deadline(MORNING, ports=ports)
    assert deliver_notices(ports=ports) == Delivery(sent=2, failed=0, abandoned=0, unaddressed=0)
    assert [(path, title) for path, title, _ in receiver.got] == [
        ("/backfill", "Campaign spring finished: 3 done, 1 not"),
        ("/nightly", "The forecast of 2026-11-27 missed its deadline, 2026-11-28 06:00 EST"),
    ]


def test_a_notice_that_is_not_taken_is_recorded_and_tried_again(wiring, receiver, database_url):
    ports = reachable(wiring, receiver)
    receiver.answer = 500
    queue_notice(NOTICE, ports=ports)
    assert deliver_notices(ports=ports).failed == 1
    assert fetch(database_url, "SELECT status, attempts, last_error FROM notice") == [
        (
            "pending",
            1,
            "a notice to backfill was not sent: a target did not take it. Next: check "
            "FORECAST_BACKFILL_BACKFILL_NOTICES; it is tried again",
        )
    ]
    assert deliver_notices(ports=ports).failed == 0
    execute(database_url, "UPDATE notice SET due_at = now()")
    receiver.answer = 200
    assert deliver_notices(ports=ports).sent == 1
    assert fetch(database_url, "SELECT status, attempts FROM notice") == [("sent", 2)]


def test_a_notice_is_given_up_after_many_attempts(wiring, receiver, database_url):
    ports = reachable(wiring, receiver)
    receiver.answer = 500
    queue_notice(NOTICE, ports=ports)
    execute(database_url, "UPDATE notice SET attempts = 29")
    assert deliver_notices(ports=ports).abandoned == 1
    assert fetch(database_url, "SELECT status FROM notice") == [("abandoned",)]


def test_without_targets_a_notice_stays_readable_and_is_not_sent_later(wiring, database_url):
    queue_notice(NOTICE, ports=wiring.ports)
    assert deliver_notices(ports=wiring.ports).unaddressed == 1
    assert deliver_notices(ports=wiring.ports).unaddressed == 0
    assert fetch(database_url, "SELECT status, title FROM notice") == [
        ("unaddressed", "Campaign spring finished: 3 done, 1 not")
    ]


def test_the_same_subject_is_queued_once(wiring):
    assert queue_notice(NOTICE, ports=wiring.ports).is_new
    assert not queue_notice(NOTICE, ports=wiring.ports).is_new


def test_an_outbox_that_fails_does_not_fail_the_work(wiring, database_url):
    class _Broken:
        def queue(self, notice: Notice) -> bool:
            raise DatabaseInterrupted("the outbox", why="it is gone", next_command="nothing")

    quarantine(database_url, LAST - timedelta(days=40), "R01")
    seal_window(wiring)
    ports = replace(wiring.ports, notices=_Broken())
    assert isinstance(queue_notice(NOTICE, ports=ports), NotQueued)
    assert fit_day(replace(wiring, ports=ports)).left_out == 1


def test_a_target_that_is_no_address_is_refused_without_naming_it():
    notifier = AppriseNotifier({Audience.NIGHTLY: ["secret-token"]})
    with pytest.raises(NotificationFailed, match="target 1 is no Apprise URL") as refused:
        notifier.send(Audience.NIGHTLY, title="t", body="b")
    assert "secret-token" not in str(refused.value)


def test_two_senders_never_take_the_same_notice(wiring, settings):
    for number in range(6):
        queue_notice(campaign_notice(f"c{number}", done=1, not_done=["x"]), ports=wiring.ports)
    now = datetime.now(UTC)
    with night(settings, run_id="n2") as other:
        first = wiring.ports.notices.claim(now=now, limit=4)
        second = other.ports.notices.claim(now=now, limit=4)
    assert len(first) == 4
    assert len(second) == 2
    assert not {each.notice_id for each in first} & {each.notice_id for each in second}
