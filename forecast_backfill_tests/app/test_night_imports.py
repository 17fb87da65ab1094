"""The night's libraries are loaded by who needs them only."""

import subprocess
import sys

from forecast_backfill_tests.app.nights import fill

SEAL_AND_JUDGE = """
import sys, warnings
warnings.simplefilter("error")
from datetime import UTC, date, datetime
from pathlib import Path
from forecast_backfill.app.check_deadline import check_deadline
from forecast_backfill.app.judge_window import judge_window
from forecast_backfill.app.notify import deliver_notices
from forecast_backfill.app.publish import publish_day
from forecast_backfill.app.seal_day import seal_day
from forecast_backfill_tests.app.nights import LAST, night, settings_for
with night(settings_for({url!r}, Path({home!r}))) as wiring:
    request, ports = wiring.request(), wiring.ports
    seal_day(LAST, request=request, ports=ports)
    judge_window(LAST, request=request, ports=ports)
    publish_day(LAST, request=request, ports=ports)
    check_deadline(datetime(2026, 11, 28, 11, tzinfo=UTC), ports=ports)
    deliver_notices(ports=ports)
print(sorted({{"lightgbm", "apprise", "pandas", "dagster"}} & set(sys.modules)))
"""


def run(script, url, home):
    done = subprocess.run(
        [sys.executable, "-c", script.format(url=url, home=str(home))],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_seal_verdict_switch_and_deadline_load_no_library_of_models(database_url, tmp_path):
    fill(database_url)
    assert run(SEAL_AND_JUDGE, database_url, tmp_path) == ["[]"]
