"""What Spark is asked for by the settings, and what is said where it is not there."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from forecast_backfill.core.errors import EpochRaised, SettingRefused
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.outcome import (
    Failed,
    Mismatched,
    Outcome,
    Quarantined,
    Refused,
    Unchanged,
    Written,
)
from forecast_backfill.core.parity import Exclusion, Mismatch, MismatchKind
from forecast_backfill.core.seam import SeamRefusal
from forecast_backfill.core.source import Fault, FaultCode, FaultReport
from forecast_backfill.core.states import Workload
from forecast_backfill.engines.spark_errors import SparkUnavailable
from forecast_backfill.engines.spark_job import deal
from forecast_backfill.engines.spark_needs import check_packages, check_spark
from forecast_backfill.engines.spark_reports import decode, encode
from forecast_backfill.engines.spark_session import max_cores, spark_config
from forecast_backfill.ports import RunRequest
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.batch import ship, unpack
from forecast_backfill_tests.spark.batches import PARTITIONS
from forecast_backfill_tests.spark.servers import free_port

PARTITION = PARTITIONS[0]
BIG = Fingerprint(rows=1, checksum=2**70, units=-3, revenue_cents=2**65, stores=1, products=1)
IDENTITY = OutputIdentity(source_digest="d", code_version="c", dimension_version="v")
OUTCOMES: tuple[Outcome, ...] = (
    Written(
        partition=PARTITION,
        identity=IDENTITY,
        fingerprint=BIG,
        exclusions={"fuel": Exclusion(lines=1, units=2, revenue_cents=3)},
        lines=4,
        replaced_rows=5,
        seconds=0.25,
    ),
    Unchanged(partition=PARTITION, identity=IDENTITY, fingerprint=BIG),
    Quarantined(
        partition=PARTITION,
        report=FaultReport(
            kept=(
                Fault(
                    code=FaultCode.DECIMAL_COMMA,
                    file="sales.csv.gz",
                    line=3,
                    column="sales_value",
                    value="2,50 é🛒",
                    reason="a comma",
                ),
            ),
            counts={FaultCode.DECIMAL_COMMA: 7},
        ),
        has_stale_output=True,
    ),
    Refused(
        partition=PARTITION,
        refusal=SeamRefusal(owner=Workload.NIGHTLY, reason="nightly owns it", next_command="x"),
    ),
    Mismatched(
        partition=PARTITION,
        mismatch=Mismatch(kind=MismatchKind.EXTRA_ROWS, read=BIG, stored=BIG, reason="more"),
    ),
    Failed(partition=PARTITION, reason="it broke"),
)


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: type(outcome).__name__)
def test_an_outcome_comes_back_from_an_executor_as_it_was(outcome: Outcome) -> None:
    assert decode(*encode(outcome)) == outcome


def test_an_error_comes_back_as_its_own_class_with_its_words() -> None:
    error = EpochRaised("backfill was killed", why="a test", next_command="x", partition=PARTITION)
    found = decode(*encode(error))
    assert type(found) is EpochRaised
    assert (str(found), found.partition) == (str(error), PARTITION)


@pytest.mark.parametrize(
    ("master", "cores", "expected"),
    [("local[8]", 3, "local[3,4]"), ("local[2]", 3, "local[2,4]"), ("local[*]", 3, "local[3,4]")],
)
def test_a_local_session_takes_no_more_cores_than_the_workload_may(
    master: str, cores: int, expected: str
) -> None:
    settings = load_settings(engine="spark", spark_master=master, spark_max_cores=cores)
    assert spark_config(settings, Workload.BACKFILL)["spark.master"] == expected


def test_an_application_on_a_cluster_takes_at_most_the_cap() -> None:
    settings = load_settings(engine="spark", spark_master="spark://h:1", slots=10, nightly_peak=7)
    assert spark_config(settings, Workload.BACKFILL)["spark.cores.max"] == "3"
    assert spark_config(settings, Workload.NIGHTLY)["spark.cores.max"] == "10"
    assert max_cores(settings, Workload.BACKFILL, limit=1) == 1


@pytest.mark.parametrize("master", ["yarn", "local[0]", "spark://host", "sc://", "local[2"])
def test_a_master_of_another_kind_is_refused(master: str) -> None:
    with pytest.raises(SettingRefused, match="FORECAST_BACKFILL_SPARK_MASTER"):
        load_settings(spark_master=master)


def test_without_java_the_remedy_is_named() -> None:
    settings = load_settings(engine="spark", spark_master="local[2]")
    with pytest.raises(SparkUnavailable, match="apt-get install openjdk-17-jre-headless"):
        check_spark(settings, {"PATH": ""})


def test_a_package_that_is_missing_is_named() -> None:
    with pytest.raises(SparkUnavailable, match=r"pip install 'forecast-backfill\[spark\]'"):
        check_packages("pyspark_of_nobody")


@pytest.mark.parametrize("kind", ["spark", "sc"])
def test_a_master_that_does_not_answer_is_told_at_once(kind: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = load_settings(engine="spark", spark_master=f"{kind}://{address}")
    with pytest.raises(SparkUnavailable, match=address):
        check_spark(settings)


def test_executors_get_the_settings_of_the_driver_and_no_notice_address() -> None:
    settings = load_settings(
        database_url="postgresql://host/db", backfill_notices="json://secret@host", slots=7
    )
    request = RunRequest(workload=Workload.BACKFILL, run_id="5f0c", campaign_id=None, epoch=1)
    shipment = ship(settings, request)
    assert "secret" not in shipment.settings
    assert unpack(shipment) == settings.model_copy(update={"backfill_notices": ()})
    assert json.loads(shipment.settings)["database_url"] == "postgresql://host/db"


def test_partitions_are_dealt_out_in_turn_and_none_is_lost() -> None:
    assert deal(PARTITIONS[:5], 2) == (PARTITIONS[0:5:2], PARTITIONS[1:5:2])
    assert deal(PARTITIONS[:2], 9) == ((PARTITIONS[0],), (PARTITIONS[1],))


def test_with_pandas_the_definitions_load_nothing_of_spark() -> None:
    code = (
        "import sys, forecast_backfill.definitions\n"
        "print([name for name in sys.modules if 'pyspark' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
