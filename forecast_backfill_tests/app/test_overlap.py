"""A campaign beside nightly: what stays, what the ledger says, and what it leaves to the owner."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from forecast_backfill.core.merge import MergeCounts
from forecast_backfill.core.outcome import Failed, Mismatched, Quarantined, Unchanged, Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import Fault, FaultCode, FaultReport
from forecast_backfill.core.version import Winner
from forecast_backfill.ports import Rejected, Step
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.overlaps import Engine, Stage, World, Writer, stored_rows
from forecast_backfill_tests.postgres.rows import fetch

A, B, C = ("s1", "1"), ("s1", "2"), ("s2", "1")
NIGHTLY = Writer(engine=Engine())
LIVE_WINS = Writer(engine=Engine(shift=10), winner=Winner.LIVE, number=1)
CORRECTION = Writer(engine=Engine(shift=10, dropped="s2"), winner=Winner.CORRECTION, number=2)


@pytest.fixture
def stage(database_url, tmp_path):
    with ExitStack() as opened:
        yield Stage(settings_for(database_url, tmp_path, seam=FIRST), opened)


@pytest.fixture
def world():
    found = World(partition=Partition(date=FIRST, region="R01"))
    found.deliver({A: 1, C: 2})
    return found


@pytest.fixture
def stored(database_url, world):
    def units_and_authority():
        rows = stored_rows(database_url, world.partition)
        return {(store, product): (units, who) for store, product, units, who, *_ in rows}

    return units_and_authority


def ledger(url, columns):
    return fetch(url, f"SELECT {columns} FROM partition_ledger")


def claims(url):
    return fetch(
        url,
        "SELECT authority, source_version, revision, workload, campaign_id, rows"
        " FROM partition_claim ORDER BY authority",
    )


def test_where_live_wins_a_campaign_of_the_same_export_changes_no_row(stage, world, stored):
    stage.run(world, NIGHTLY)
    outcome = stage.run(world, LIVE_WINS)
    assert isinstance(outcome, Written)
    assert outcome.merge == MergeCounts(inserted=0, updated=0, deleted=0, kept=2)
    assert outcome.identity.code_version == "shift 0 without None"
    assert stored() == {A: (1, 20), C: (2, 20)}


def test_where_live_wins_a_campaign_fills_what_nightly_has_not_written(
    stage, world, stored, database_url
):
    assert stage.run(world, LIVE_WINS).merge.inserted == 2
    assert stored() == {A: (11, 10), C: (12, 10)}
    assert ledger(database_url, "status, output, is_merged, workload, attempt") == [
        ("done", "current", True, "backfill", 1)
    ]
    stage.run(world, NIGHTLY)
    assert stored() == {A: (1, 20), C: (2, 20)}


def test_a_correction_replaces_live_rows_and_removes_those_that_it_drops(
    stage, world, stored, database_url
):
    stage.run(world, NIGHTLY)
    outcome = stage.run(world, CORRECTION)
    assert outcome.merge == MergeCounts(inserted=0, updated=1, deleted=1, kept=0)
    assert stored() == {A: (11, 30)}
    assert ledger(
        database_url, "is_merged, output_authority, output_source_version, output_revision"
    ) == [(True, 30, 1, 2)]
    assert claims(database_url) == [
        (20, 1, 0, "nightly", None, 2),
        (30, 1, 2, "backfill", "c2", 1),
    ]


def test_a_nightly_that_is_run_again_leaves_the_correction(stage, world, stored, database_url):
    stage.run(world, NIGHTLY)
    stage.run(world, CORRECTION)
    assert isinstance(stage.run(world, NIGHTLY), Unchanged)
    other_code = Writer(engine=Engine(shift=3))
    assert stage.run(world, other_code).merge.changed == 0
    assert stored() == {A: (11, 30)}
    assert ledger(database_url, "status, output_authority, run_id") == [("done", 30, "run-4")]


def test_a_live_write_of_a_newer_export_wins_over_a_correction(stage, world, stored):
    stage.run(world, NIGHTLY)
    stage.run(world, CORRECTION)
    world.deliver({A: 4, B: 5})
    assert stage.run(world, NIGHTLY).merge == MergeCounts(inserted=1, updated=1, deleted=0, kept=0)
    assert stored() == {A: (4, 20), B: (5, 20)}


def test_a_later_correction_of_the_same_export_wins_and_a_repeated_one_changes_nothing(
    stage, world, stored
):
    stage.run(world, CORRECTION)
    later = Writer(engine=Engine(shift=20), winner=Winner.CORRECTION, number=3)
    stage.run(world, later)
    assert stored() == {A: (21, 30), C: (22, 30)}
    assert isinstance(stage.run(world, later), Unchanged)
    assert stage.run(world, CORRECTION).merge.changed == 0
    assert stored() == {A: (21, 30), C: (22, 30)}


def test_fixed_code_of_nightly_replaces_its_own_rows_of_one_export(stage, world, stored):
    stage.run(world, NIGHTLY)
    stage.run(world, LIVE_WINS)
    stage.run(world, Writer(engine=Engine(shift=3)))
    assert stored() == {A: (4, 20), C: (5, 20)}
    stage.run(world, NIGHTLY)
    assert stored() == {A: (1, 20), C: (2, 20)}


def test_a_source_without_a_version_is_refused(stage, world, stored, database_url):
    stage.run(world, NIGHTLY)
    world.exported = 0
    outcome = stage.run(world, CORRECTION)
    assert isinstance(outcome, Failed)
    assert "no instant of export" in outcome.reason
    assert stored() == {A: (1, 20), C: (2, 20)}
    assert ledger(database_url, "status, output") == [("done", "current")]


def test_a_campaign_beside_a_running_nightly_leaves_its_attempt_to_it(
    stage, world, stored, database_url
):
    def at(step):
        if step is Step.PREPARED:
            stage.run(world, CORRECTION)
            assert ledger(database_url, "status, workload, run_id, output_authority") == [
                ("running", "nightly", "run-1", 30)
            ]

    outcome = stage.run(world, NIGHTLY, at=at)
    assert isinstance(outcome, Written)
    assert outcome.merge.changed == 0
    assert stored() == {A: (11, 30)}
    assert ledger(database_url, "status, workload, output") == [("done", "nightly", "current")]


def test_a_campaign_whose_source_is_refused_leaves_the_owners_row(stage, world, database_url):
    class Refusing(Engine):
        def prepare(self, source, dimensions):
            fault = Fault(code=FaultCode.NUL_BYTE, file="sales.csv", reason="a NUL byte")
            return Rejected(report=FaultReport(kept=(fault,), counts={FaultCode.NUL_BYTE: 1}))

    stage.run(world, NIGHTLY)
    refused = Writer(engine=Refusing(shift=9), winner=Winner.CORRECTION, number=1)
    outcome = stage.run(world, refused)
    assert isinstance(outcome, Quarantined)
    assert outcome.has_stale_output
    assert ledger(database_url, "status, output, workload") == [("done", "current", "nightly")]
    assert fetch(
        database_url, "SELECT kind, campaign_id FROM partition_event ORDER BY event_id DESC LIMIT 1"
    ) == [("quarantined", "c1")]
    kept = "SELECT campaign_id, summary, resolved_at IS NULL FROM quarantine"
    assert fetch(database_url, kept) == [("c1", "sales.csv nul_byte: a NUL byte", True)]
    world.deliver({A: 5})
    stage.run(world, NIGHTLY)
    assert fetch(database_url, kept)[0][2] is False


def test_the_history_says_that_a_partition_was_merged_and_what_came_of_it(
    stage, world, database_url
):
    stage.run(world, NIGHTLY)
    stage.run(world, CORRECTION)
    ((detail,),) = fetch(
        database_url,
        "SELECT detail FROM partition_event WHERE kind = 'written' AND campaign_id = 'c2'",
    )
    assert detail["primitive"] == "merge"
    assert (detail["winner"], detail["authority"], detail["revision"]) == ("correction", 30, 2)
    assert detail["merge"] == {"inserted": 0, "updated": 1, "deleted": 1, "kept": 0}
    assert detail["holds"] is True


def test_what_a_merge_replaces_is_kept_for_a_rollback(stage, world, database_url):
    stage.run(world, NIGHTLY)
    stage.run(world, CORRECTION)
    assert fetch(
        database_url,
        "SELECT store_id, units, authority, campaign_id FROM daily_demand_superseded ORDER BY 1",
    ) == [("s1", 1, 20, "c2"), ("s2", 2, 20, "c2")]


def test_a_foreign_change_between_merge_and_proof_is_a_mismatch_and_rolled_back(
    stage, world, stored, database_url
):
    stage.run(world, NIGHTLY)

    class Meddler(Stage):
        """Lowers the version of a row inside the transaction: the fingerprint does not see it."""

        def _take(self, workload):
            self.wiring = super()._take(workload)
            return self.wiring

    with ExitStack() as opened:
        meddler = Meddler(stage._settings, opened)

        def at(step):
            if step is Step.REPLACED:
                with meddler.wiring.session.use() as connection:
                    connection.execute("UPDATE daily_demand SET authority = 20")

        outcome = meddler.run(world, CORRECTION, at=at)
    assert isinstance(outcome, Mismatched)
    assert outcome.mismatch.reason.startswith("rows of live 1: must be 0")
    assert stored() == {A: (1, 20), C: (2, 20)}
    assert ledger(database_url, "status, output, is_merged") == [("done", "current", False)]


def test_nightly_and_two_campaigns_at_once_all_commit_and_the_highest_statement_stays(
    database_url, tmp_path, world, stored
):
    """None takes another's attempt over, whoever comes first to the lease."""
    settings = settings_for(database_url, tmp_path, seam=FIRST)

    def run_often(writer):
        with ExitStack() as opened:
            stage = Stage(settings, opened)
            return [stage.run(world, writer, reprocess=True) for _ in range(6)]

    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(run_often, [NIGHTLY, LIVE_WINS, CORRECTION]))
    assert {type(outcome) for outcomes in runs for outcome in outcomes} == {Written}
    assert stored() == {A: (11, 30)}
    assert [row[:3] for row in claims(database_url)] == [(10, 1, 1), (20, 1, 0), (30, 1, 2)]
    assert ledger(database_url, "status, output, output_authority") == [("done", "current", 30)]


def test_the_owner_of_a_date_before_the_seam_replaces_whole_and_forgets_the_claims(
    database_url, tmp_path, world, stored
):
    with ExitStack() as opened:
        before_seam = Stage(settings_for(database_url, tmp_path), opened)
        before_seam.run(world, CORRECTION)
        owner = Writer(engine=Engine(shift=7), is_owner=True)
        outcome = before_seam.run(world, owner)
    assert outcome.merge is None
    assert stored() == {A: (8, 10), C: (9, 10)}
    assert claims(database_url) == []
    assert ledger(database_url, "is_merged, output_revision") == [(False, 0)]
