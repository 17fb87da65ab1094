"""One Connect server and one cluster for all tests of a process that use them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from forecast_backfill.core.states import Workload
from forecast_backfill.engines.spark_session import open_spark
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.batch import OpenSpark
from forecast_backfill_tests.spark import servers


@pytest.fixture(scope="session")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.ConnectServer]:
    """A running Spark Connect server."""
    _skip_without_spark()
    with servers.connect_server(tmp_path_factory.mktemp("connect")) as server:
        yield server


@pytest.fixture(scope="session")
def connected(connect: servers.ConnectServer) -> Iterator[OpenSpark]:
    """One session of backfill's on the Connect server: a new one has its Python workers start and
    import anew, which takes seconds."""
    settings = load_settings(engine="spark", spark_master=connect.master)
    with open_spark(settings, Workload.BACKFILL) as session:
        yield lambda: nullcontext(session)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Cluster]:
    """A running standalone cluster."""
    _skip_without_spark()
    with servers.standalone_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


def _skip_without_spark() -> None:
    reason = servers.why_skipped()
    if reason is not None:
        pytest.skip(reason)
