"""What tests do to a lakehouse of two regions and two dates, and how they look at it."""

from __future__ import annotations

from datetime import timedelta

from forecast_backfill.app.reconcile import reconcile
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.wiring.lakehouse import demand_of
from forecast_backfill.wiring.truth import proof_ports
from forecast_backfill_tests.app.campaigns import FIRST

DATES = DateRange(start=FIRST, end=FIRST + timedelta(days=2))
PARTITIONS = list(partitions_of(DATES, ["R01", "R02"]))


def table_folder(settings):
    return settings.lakehouse_directory / "daily_demand"


def read_window(wiring):
    return demand_of(wiring.settings, wiring.session, None).read(DATES)


def write_anew(wiring, partitions=PARTITIONS):
    outcomes = run_batch(
        partitions, wiring.request(reprocess=True), wiring.ports, lambda told: None
    )
    assert [type(each) for each in outcomes] == [Written] * len(partitions)


def verdicts(wiring):
    return [
        type(each)
        for each in reconcile(PARTITIONS, ports=proof_ports(wiring), tell=lambda verdict: None)
    ]
