"""A swap and a revert while readers read and nightly writes: nobody waits long, nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from forecast_backfill.core.errors import ShadowRefused
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.partition import Partition
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.rollbacks import A, B, Chain
from forecast_backfill_tests.app.shadows import Shadowed, columns, read

PARTITIONS = [
    Partition(date=FIRST + timedelta(days=day), region=region)
    for day in range(3)
    for region in ("R01", "R02")
]


@pytest.fixture
def site(database_url: str, tmp_path: Path) -> Iterator[Shadowed]:
    """Six partitions, and a shadow that is ready to be swapped."""
    with ExitStack() as stack:
        found = Shadowed(settings_for(database_url, tmp_path), stack)
        for each in PARTITIONS:
            found.chain.write(each, {A: 1, B: 1}, campaign="spring")
        found.start()
        found.fill()
        found.validate()
        yield found


@contextmanager
def beside(*tasks: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run the tasks until the block is over; what they raise is raised here."""
    over, failures = threading.Event(), []

    def run(task: Callable[[threading.Event], None]) -> None:
        try:
            task(over)
        except Exception as error:  # noqa: BLE001 — told to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert failures == []


def test_readers_see_one_version_whole_and_nightly_goes_on(site: Shadowed, tmp_path: Path) -> None:
    """Every read gives all rows of one version; each partition is all old or all new."""
    reads: list[tuple[list[str], int]] = []
    written: list[int] = []

    def reader(over: threading.Event) -> None:
        with psycopg.connect(site.url, autocommit=True, prepare_threshold=None) as connection:
            while not over.is_set():
                cursor = connection.execute(
                    "SELECT * FROM forecast_backfill.daily_demand_for_readers"
                )
                found = cursor.fetchall()
                names = [each.name for each in cursor.description or ()]
                reads.append((names, len(found)))

    def nightly(over: threading.Event) -> None:
        with ExitStack() as stack:
            chain = Chain(settings_for(site.url, tmp_path), stack)
            while not over.is_set() or not written:
                count = len(written) + 2
                outcome = chain.write(PARTITIONS[-1], {A: count, B: count}, exported=count)
                assert isinstance(outcome, Written)
                written.append(count)

    with beside(reader, reader, nightly):
        for _ in range(2):
            wait_for_one_more(reads)
            site.swap()
            wait_for_one_more(reads)
            wait_for_one_more(written)
            site.revert()
            site.validate()
        wait_for_one_more(reads)
    assert {count for _, count in reads} == {12}
    assert {len(names) for names, _ in reads} == {7, 15}
    assert read(site.url, "units")[-2:] == [(written[-1],)] * 2
    assert read(site.url, "quantity", "daily_demand_shadow_1")[-2:] == [(written[-1],)] * 2


def test_a_swap_that_a_long_reader_holds_off_gives_up_and_names_who(site: Shadowed) -> None:
    """Between its tries others are let through: a read never waits for the long one."""
    done: list[float] = []

    def others(over: threading.Event) -> None:
        with psycopg.connect(site.url, autocommit=True) as connection:
            while not over.is_set():
                began = time.monotonic()
                connection.execute("SELECT 1 FROM forecast_backfill.daily_demand_for_readers")
                done.append(time.monotonic() - began)

    with psycopg.connect(site.url, application_name="long reader") as reader:
        reader.execute("SELECT count(*) FROM forecast_backfill.daily_demand_for_readers")
        with beside(others), pytest.raises(ShadowRefused, match=r"long reader \(PID \d+\) has"):
            site.swap()
    assert "units" in columns(site.url)
    assert len(done) > 8
    assert site.shadows.list()[0].state == "validated"


def test_a_reader_of_the_version_under_its_own_name_holds_nobody_else_up(site: Shadowed) -> None:
    with psycopg.connect(site.url, application_name="curious") as reader:
        reader.execute("SELECT count(*) FROM forecast_backfill.daily_demand_version_1")
        with pytest.raises(ShadowRefused, match=r"curious \(PID \d+\) has held it"):
            site.swap()
    site.swap()
    assert "quantity" in columns(site.url)


def test_a_drop_waits_for_who_is_writing_the_shadow(site: Shadowed) -> None:
    """A writer that has begun with the shadow commits with it; only then is the table gone."""
    with psycopg.connect(site.url, options="-c search_path=forecast_backfill") as writer:
        writer.execute("SELECT 1 FROM shadow WHERE shadow_id = 1 FOR KEY SHARE")
        with pytest.raises(ShadowRefused, match="readers or writers did not let go"):
            site.drop()
    site.drop()
    assert site.shadows.list()[0].state == "dropped"


def wait_for_one_more(seen: list[object] | list[int] | list[tuple[list[str], int]]) -> None:
    count, deadline = len(seen), time.monotonic() + 30
    while len(seen) == count and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(seen) > count
