"""A run loads what it needs and no more: pandas alone would cost each run a second."""

import subprocess
import sys
from datetime import timedelta

from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill_tests.app.campaigns import FIRST, land_campaign
from forecast_backfill_tests.landing.hand_made import land, land_promotions

PARTITIONS = list(
    partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=2)), ["R01", "R02"])
)
RUN = """
import sys
from datetime import timedelta
from pathlib import Path

from forecast_backfill_tests.app.campaigns import FIRST, run_campaign, settings_for
from forecast_backfill.core.partition import DateRange, partitions_of

dates = DateRange(start=FIRST, end=FIRST + timedelta(days=2))
settings = settings_for(sys.argv[1], Path(sys.argv[2]))
outcomes = run_campaign(settings, list(partitions_of(dates, ["R01", "R02"])))
print(*sorted(type(each).__name__ for each in outcomes))
print(sorted({"pandas", "dagster", "pyspark", "lightgbm", "apprise"} & set(sys.modules)))
"""


def test_a_whole_run_loads_no_pandas(database_url, tmp_path):
    """Landing, engine and warehouse: promotions or none, a day without trade, a quarantine."""
    land_campaign(tmp_path, PARTITIONS)
    land_promotions(tmp_path / "landing", FIRST, "R01", [("s1", "0042", True, False)])
    land(tmp_path / "landing", PARTITIONS[1], [])
    (tmp_path / "landing" / "date=2026-11-03" / "region=R02" / "sales.csv.gz").write_bytes(b"")
    done = subprocess.run(
        [sys.executable, "-c", RUN, database_url, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["Quarantined Written Written Written", "[]"]
