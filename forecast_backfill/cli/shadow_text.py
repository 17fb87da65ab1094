"""Shadows as lines for people and as the fields of `--json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forecast_backfill.app.fill_shadow import Filled
from forecast_backfill.core.shadow import READ, ShadowState
from forecast_backfill.core.shadow_check import ComparedPartition, DuePartition, Validation
from forecast_backfill.ports.shadow import Shadow

SHOWN = 20


def filled_lines(filled: Sequence[Filled]) -> Iterator[str]:
    """What was filled without a campaign, and what was refused."""
    failed = [each for each in filled if each.trouble is not None]
    rows = sum(each.rows for each in filled)
    yield f"{len(filled) - len(failed)} partitions filled here, {rows:,} rows"
    yield from _named([(each.partition, each.trouble) for each in failed], "were refused")
    if not failed:
        yield "  next: forecast-backfill shadow validate"


def filled_fields(filled: Sequence[Filled]) -> dict[str, object]:
    """The same for `--json`."""
    return {
        "filled": sum(each.trouble is None for each in filled),
        "rows": sum(each.rows for each in filled),
        "failed": [
            {
                "date": each.partition.date.isoformat(),
                "region": each.partition.region,
                "reason": each.trouble,
            }
            for each in filled
            if each.trouble is not None
        ],
    }


def validation_lines(shadow_id: int, found: Validation, state: ShadowState) -> Iterator[str]:
    """What the comparison found, and what comes next."""
    equal = found.partitions - len(found.differing) - len(found.left_out)
    yield (
        f"shadow {shadow_id} is {state}: {equal} of {found.partitions} partitions are equal by "
        f"the mapping, {len(found.left_out)} left out, {found.rows:,} rows"
    )
    named = [(each.partition, each.difference) for each in found.differing]
    yield from _named(named, "differ")
    if found.differing:
        yield "  next: forecast-backfill shadow backfill, then shadow validate"
    elif state is ShadowState.VALIDATED:
        yield '  next: forecast-backfill shadow swap --reason "…"'


def validation_fields(shadow_id: int, found: Validation, state: ShadowState) -> dict[str, object]:
    """The same for `--json`."""
    return {
        "shadow_id": shadow_id,
        "state": state.value,
        "partitions": found.partitions,
        "rows": found.rows,
        "differing": [_compared(each) for each in found.differing],
        "left_out": [_compared(each) for each in found.left_out],
    }


def line_of(shadow: Shadow, due: Sequence[DuePartition]) -> str:
    """One shadow in one line."""
    read = ", read by readers" if shadow.state in READ else ""
    held = " and held from campaigns" if read and shadow.definition.is_held else ""
    return (
        f"shadow {shadow.shadow_id} is {shadow.state}{read}{held}: {len(due)} partitions are not "
        f"as they are live; {shadow.step} by {shadow.by.name} at "
        f"{shadow.at:%F %T} UTC: {shadow.by.reason}"
    )


def fields_of(shadow: Shadow, due: Sequence[DuePartition]) -> dict[str, object]:
    """The same for `--json`."""
    return {
        "shadow_id": shadow.shadow_id,
        "state": shadow.state.value,
        "is_read": shadow.state in READ,
        "earlier": shadow.earlier,
        "partitions": shadow.equal,
        "due": [
            {
                "date": each.partition.date.isoformat(),
                "region": each.partition.region,
                "reason": each.reason,
                "left_out": each.left_out,
            }
            for each in due
        ],
        "step": shadow.step,
        "at": shadow.at.isoformat(),
        "by": shadow.by.name,
        "reason": shadow.by.reason,
    }


def _compared(each: ComparedPartition) -> dict[str, object]:
    return {
        "date": each.partition.date.isoformat(),
        "region": each.partition.region,
        "live_rows": each.live[0],
        "shadow_rows": each.shadow[0],
        "reason": each.difference,
        "left_out": each.left_out,
    }


def _named(troubled: Sequence[tuple[object, str | None]], what: str) -> Iterator[str]:
    if not troubled:
        return
    yield f"{len(troubled)} {what}:"
    for partition, reason in troubled[:SHOWN]:
        yield f"  {partition}  {reason}"
    if len(troubled) > SHOWN:
        yield f"  … and {len(troubled) - SHOWN} more (--json names all)"
