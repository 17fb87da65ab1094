"""The words and JSON of `forecast-backfill reconcile`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, assert_never

import click

from forecast_backfill.app.localise import Localised, PartitionDifference
from forecast_backfill.app.recompute import Different, NotRecomputed, Proof, Same
from forecast_backfill.app.reconcile import Differs, Proved, Unproved, Verdict
from forecast_backfill.core.digest_tree import RowDifference
from forecast_backfill.core.outcome import Outcome, Refused, Unchanged, Written, reason_of
from forecast_backfill.core.partition import Partition

MOST_SHOWN = 10
MOST_LINES = 50


def quietly(_: object) -> None:
    """JSON is printed at the end."""


def show_verdict(verdict: Verdict) -> None:
    """One line a partition that is not proved, with the rows below it."""
    match verdict:
        case Proved():
            pass
        case Differs():
            click.echo(f"{verdict.partition}  {verdict.kind}: {verdict.reason}")
            click.echo(f"  {verdict.witness}")
            _show_rows(verdict.rows, verdict.differing)
        case Unproved():
            click.echo(f"{verdict.partition}  not proved: {verdict.reason}")
        case _:
            assert_never(verdict)


class Lines:
    """Shows verdicts as they come, of either kind only the first: the summary counts all."""

    def __init__(self) -> None:
        self._differ = self._unproved = 0

    def show(self, verdict: Verdict) -> None:
        """One verdict."""
        self._differ += isinstance(verdict, Differs)
        self._unproved += isinstance(verdict, Unproved)
        number = self._differ if isinstance(verdict, Differs) else self._unproved
        if number <= MOST_LINES:
            show_verdict(verdict)

    def close(self) -> None:
        """How many were not shown."""
        for number, what in ((self._differ, "differ"), (self._unproved, "are not proved")):
            if number > MOST_LINES:
                click.echo(f"… and {number - MOST_LINES} more {what} (--json names all)")


def show_outcome(outcome: Outcome) -> None:
    """What running a partition again came to."""
    reason = _reason(outcome)
    click.echo(f"{outcome.partition}  {_name(outcome)}" + (f": {reason}" if reason else " again"))


def show_verdicts(
    verdicts: Sequence[Verdict],
    outcomes: Sequence[Outcome],
    again: Sequence[Verdict],
    *,
    as_json: bool,
) -> int:
    """The summary; the exit code is 1 where a partition is not proved in the end."""
    last = {each.partition: each for each in (*verdicts, *again)}
    counts = {
        name: sum(isinstance(each, kind) for each in last.values())
        for name, kind in (("proved", Proved), ("differ", Differs), ("unproved", Unproved))
    }
    if as_json:
        fields = {
            **counts,
            "verdicts": [_verdict_fields(each) for each in verdicts],
            "repaired": [
                {**_place(each.partition), "outcome": _name(each), "reason": _reason(each)}
                for each in outcomes
            ],
            "proved_again": [_verdict_fields(each) for each in again],
        }
        click.echo(json.dumps(fields))
    else:
        click.echo(", ".join(f"{number} {name}" for name, number in counts.items()))
        if counts["differ"] and not outcomes:
            click.echo("next: forecast-backfill reconcile --repair … with the same range")
        elif refused := sorted({each.partition.date for each in outcomes if _is_refused(each)}):
            # Nightly's own dates: no campaign may write them.
            click.echo(f"next: forecast-backfill nightly --date {refused[0]} --reprocess")
        elif counts["unproved"]:
            click.echo("next: forecast-backfill backfill … (builds what is due)")
    return 0 if counts["proved"] == len(last) else 1


def _is_refused(outcome: Outcome) -> bool:
    return isinstance(outcome, Refused)


def show_comparison(found: Localised, *, as_json: bool) -> int:
    """What differs between the two tables; the exit code is 1 where anything does."""
    if as_json:
        fields = {
            "partitions": found.partitions,
            "expected": _digest_fields(found.expected),
            "found": _digest_fields(found.found),
            "differences": [_difference_fields(each) for each in found.differences],
        }
        click.echo(json.dumps(fields))
        return 1 if found.differences else 0
    for each in found.differences:
        click.echo(f"{each.partition}  {each.kind}: {each.reason}")
        _show_rows(each.rows, each.differing)
    click.echo(
        f"{found.partitions} partitions compared, {found.expected.rows} rows here, "
        f"{found.found.rows} there; {len(found.differences)} differ"
    )
    return 1 if found.differences else 0


def show_proofs(proofs: Sequence[Proof], *, wanted: int, seed: str, as_json: bool) -> int:
    """What recomputing came to; 1 where rows differ, or fewer than wanted could be recomputed."""
    same = [each for each in proofs if isinstance(each, Same)]
    different = [each for each in proofs if isinstance(each, Different)]
    passed_over = [each for each in proofs if isinstance(each, NotRecomputed)]
    if as_json:
        fields = {
            "seed": seed,
            "same": [{**_place(each.partition), "rows": each.rows} for each in same],
            "different": [_different_fields(each) for each in different],
            "not_recomputed": [
                {**_place(each.partition), "reason": each.reason} for each in passed_over
            ],
        }
        click.echo(json.dumps(fields))
    else:
        for each in different:
            click.echo(f"{each.partition}  {each.reason}")
        for each in passed_over:
            click.echo(f"{each.partition}  not recomputed: {each.reason}")
        rows = sum(each.rows for each in same)
        click.echo(
            f"{len(same)} of {wanted} recomputed to the same bytes ({rows} rows), "
            f"{len(different)} differ; seed {seed}"
        )
    return 0 if len(same) == wanted else 1


def _show_rows(rows: Sequence[RowDifference], differing: int) -> None:
    for row in rows[:MOST_SHOWN]:
        shown = ", ".join(row.key)
        click.echo(f"  {shown}  {row.kind}: {row.expected} expected, {row.found} found")
    if differing > MOST_SHOWN:
        click.echo(f"  and {differing - MOST_SHOWN} more keys")


def _verdict_fields(verdict: Verdict) -> dict[str, Any]:
    place = _place(verdict.partition)
    match verdict:
        case Proved(fingerprint=fingerprint):
            version = fingerprint.data_version
            return {**place, "verdict": "proved", "rows": fingerprint.rows, "data_version": version}
        case Unproved(reason=reason):
            return {**place, "verdict": "unproved", "reason": reason}
        case Differs():
            return {
                **place,
                "verdict": "differs",
                "kind": verdict.kind,
                "reason": verdict.reason,
                "witness": verdict.witness,
                "differing": verdict.differing,
                "rows": [_row_fields(row) for row in verdict.rows],
            }


def _difference_fields(found: PartitionDifference) -> dict[str, Any]:
    return {
        **_place(found.partition),
        "kind": found.kind,
        "reason": found.reason,
        "expected_rows": found.expected.rows,
        "found_rows": found.found.rows,
        "differing": found.differing,
        "rows": [_row_fields(row) for row in found.rows],
        "rows_read": found.read,
        "rows_scanned": found.scanned,
    }


def _different_fields(found: Different) -> dict[str, Any]:
    return {
        **_place(found.partition),
        "recomputed": found.recomputed,
        "stored": found.stored,
        "only_recomputed": list(found.only_recomputed),
        "only_stored": list(found.only_stored),
    }


def _row_fields(row: RowDifference) -> dict[str, Any]:
    return {
        "store_id": row.key[0],
        "product_id": row.key[1],
        "kind": row.kind,
        "expected": row.expected,
        "found": row.found,
    }


def _digest_fields(digest: Any) -> dict[str, Any]:
    return {"rows": digest.rows, "checksum": str(digest.checksum)}


def _place(partition: Partition) -> dict[str, str]:
    return {"date": partition.date.isoformat(), "region": partition.region}


def _name(outcome: Outcome) -> str:
    return type(outcome).__name__.lower()


def _reason(outcome: Outcome) -> str | None:
    return None if isinstance(outcome, Written | Unchanged) else reason_of(outcome)
