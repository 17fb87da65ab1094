"""The double-count story on the command line, and what `reconcile` says and returns."""

import json
from datetime import timedelta

import psycopg
import pytest
from click.testing import CliRunner

from forecast_backfill.cli.diagnose import command as diagnose_command
from forecast_backfill.cli.reconcile import command as reconcile_command
from forecast_backfill.cli.repair import command as repair_command
from forecast_backfill.cli.rollback import command as rollback_command
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill_tests.app.campaigns import FIRST, land_campaign, run_campaign, settings_for

PARTITIONS = list(
    partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=2)), ["R01", "R02"])
)
RANGE = ("--from", "2026-11-02", "--to", "2026-11-04")
KEY = "date,region,store_id,product_id"


@pytest.fixture
def database(database_url, tmp_path, monkeypatch):
    """Four partitions of two rows each, built from their landed files."""
    land_campaign(tmp_path, PARTITIONS)
    settings = settings_for(database_url, tmp_path)
    for name in ("home", "database_url", "first_date", "as_of", "seam"):
        monkeypatch.setenv(f"FORECAST_BACKFILL_{name.upper()}", str(getattr(settings, name)))
    monkeypatch.setenv("FORECAST_BACKFILL_REGIONS", "R01,R02")
    run_campaign(settings, PARTITIONS)
    return database_url


def run(command, *words):
    done = CliRunner().invoke(command, [*words, "--json"], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, json.loads(done.output)


def say(command, *words):
    done = CliRunner().invoke(command, words, standalone_mode=False)
    return done.return_value, done.output


def execute(url, statement):
    with psycopg.connect(url) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else None


def against(url):
    before, mark, after = url.partition("?")
    return f"{before}.public.reporting{mark}{after}"


def test_a_double_count_is_found_localised_repaired_and_proved(database):
    """A foreign script inserts a partition blindly into a table of ours that has no keys."""
    execute(
        database, "CREATE TABLE public.reporting AS SELECT * FROM forecast_backfill.daily_demand"
    )
    assert run(reconcile_command, *RANGE, "--against", against(database))[0] == 0
    execute(
        database,
        "INSERT INTO public.reporting SELECT * FROM forecast_backfill.daily_demand"
        " WHERE date = '2026-11-03' AND region = 'R02'",
    )

    code, told = run(reconcile_command, *RANGE, "--against", against(database))
    (difference,) = told["differences"]
    assert (code, difference["kind"]) == (1, "exact_multiple")
    assert (difference["date"], difference["region"]) == ("2026-11-03", "R02")
    assert [row["product_id"] for row in difference["rows"]] == ["0042", "NA"]

    code, found = run(diagnose_command, "duplicates", "public.reporting", "--key", KEY)
    assert code == 1
    assert [(each["partition"], each["factor"]) for each in found] == [(["2026-11-03", "R02"], 2)]
    assert [writer["rows"] for writer in found[0]["writers"]] == [2, 2]

    words = ("duplicates", "public.reporting", "--key", KEY, "--version", "source_version")
    assert run(repair_command, *words)[1]["would_remove"] == 2
    code, repaired = run(repair_command, *words, "--apply")
    assert (code, repaired["removed"], repaired["refused"]) == (0, 2, 0)

    assert run(reconcile_command, *RANGE, "--against", against(database))[0] == 0
    assert run(diagnose_command, *words) == (0, [])
    kept = execute(database, "SELECT repair_id FROM forecast_backfill.duplicate_removed")
    assert kept == [(repaired["repair_id"],)] * 2


def test_a_damaged_partition_is_named_then_repaired_and_proved_again(database):
    execute(
        database,
        "UPDATE forecast_backfill.daily_demand SET units = 99"
        " WHERE date = '2026-11-02' AND region = 'R01' AND product_id = 'NA'",
    )
    code, text = say(reconcile_command, *RANGE)
    assert (code, text.splitlines()) == (
        1,
        [
            "2026-11-02 R01  values_differ: 2 rows on both sides, their values differ",
            "  source and ledger agree: the stored rows were changed since they were committed",
            "  s1, NA  values_differ: 1 expected, 1 found",
            "3 proved, 1 differ, 0 unproved",
            "next: forecast-backfill reconcile --repair … with the same range",
        ],
    )
    code, told = run(reconcile_command, *RANGE, "--repair")
    assert (code, told["proved"], told["differ"]) == (0, 4, 0)
    assert [(each["region"], each["outcome"]) for each in told["repaired"]] == [("R01", "written")]
    assert [each["verdict"] for each in told["proved_again"]] == ["proved"]
    events = "SELECT workload FROM forecast_backfill.partition_event WHERE run_id LIKE 'reconcile%'"
    assert set(execute(database, events)) == {("backfill",)}


def test_what_nightly_owns_is_found_but_not_repaired_by_backfill(database, monkeypatch):
    monkeypatch.setenv("FORECAST_BACKFILL_SEAM", "2026-11-03")
    execute(database, "DELETE FROM forecast_backfill.daily_demand WHERE product_id = 'NA'")
    code, told = run(reconcile_command, *RANGE, "--repair")
    assert code == 1
    assert [each["outcome"] for each in told["repaired"]] == ["written"] * 2 + ["refused"] * 2
    assert [each["verdict"] for each in told["proved_again"]] == ["proved"] * 2 + ["differs"] * 2
    _, said = say(reconcile_command, *RANGE, "--repair")
    assert "next: forecast-backfill nightly --date 2026-11-03 --reprocess" in said


def test_a_partition_that_was_not_built_is_not_proved(database):
    code, text = say(reconcile_command, "--from", "2026-11-03", "--to", "2026-11-05")
    assert code == 1
    assert "2026-11-04 R01  not proved: nothing is stored, but the source is refused now" in text
    assert text.splitlines()[-2] == "2 proved, 0 differ, 2 unproved"


def test_random_partitions_are_recomputed_to_the_same_bytes(database):
    code, told = run(reconcile_command, "--recompute", "3", "--seed", "a")
    assert (code, len(told["same"]), told["different"], told["seed"]) == (0, 3, [], "a")
    assert run(reconcile_command, "--recompute", "3", "--seed", "a")[1] == told
    assert len(run(reconcile_command, "--recompute", "1")[1]["seed"]) == 8


def test_fewer_done_partitions_than_were_wanted_is_told(database):
    code, text = say(reconcile_command, *RANGE, "--recompute", "5", "--seed", "a")
    assert (code, text) == (
        1,
        "4 of 5 recomputed to the same bytes (8 rows), 0 differ; seed a\n",
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--from", "2026-11-04", "--to", "2026-11-03"), "holds no date"),
        (("--from", "0001-01-01", "--to", "9999-12-31"), "is too long"),
        ((*RANGE, "--regions", "R09"), "unknown region 'R09'"),
        ((*RANGE, "--against", "copy"), "names no table"),
    ],
)
def test_what_cannot_be_meant_is_refused(database, words, told):
    with pytest.raises(UsageRefused, match=told):
        run(reconcile_command, *words)


def test_what_was_rolled_back_to_nothing_is_not_called_never_built(database):
    ((run_id,),) = execute(
        database, "SELECT DISTINCT campaign_id FROM forecast_backfill.superseded_partition"
    )
    run(rollback_command, "--campaign", run_id, "--regions", "R02")
    code, output = say(reconcile_command, *RANGE, "--regions", "R02")
    assert code == 1
    assert "2026-11-02 R02  not proved: it was rolled back to nothing\n" in output


def test_of_many_partitions_that_were_never_built_only_the_first_are_shown(database):
    code, output = say(reconcile_command, "--from", "2026-01-01", "--to", "2026-02-10")
    assert code == 1
    assert output.count("not proved: ") == 50
    assert (
        "… and 30 more are not proved (--json names all)\n0 proved, 0 differ, 80 unproved" in output
    )


def test_a_column_that_is_named_twice_counts_once(database):
    words = ("duplicates", "daily_demand", "--key", f"{KEY},{KEY}")
    assert run(diagnose_command, *words) == (0, [])


def test_a_tie_is_listed_and_exit_code_1(database):
    execute(
        database,
        "CREATE TABLE public.reporting AS SELECT * FROM forecast_backfill.daily_demand;"
        " INSERT INTO public.reporting SELECT * FROM public.reporting;"
        " UPDATE public.reporting SET units = 5 WHERE ctid IN"
        " (SELECT min(ctid) FROM public.reporting)",
    )
    words = ("duplicates", "reporting", "--key", KEY, "--version", "source_version", "--apply")
    code, text = say(repair_command, *words)
    assert code == 1
    assert "left as it is: 1 key has newest rows of one version with different values" in text
    assert "removed 6 rows, kept as repair" in text
