"""Seals, windows, models and scores as an operator reads them in Dagster's UI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date as Date

from dagster import MetadataValue

from forecast_backfill.app.night_steps import Fit
from forecast_backfill.app.sketch_model import SeriesSketch
from forecast_backfill.core.coverage import CellState, LeftOut
from forecast_backfill.core.publication import NothingToPublish, Publication
from forecast_backfill.core.seal import Seal
from forecast_backfill.dagster_defs.contract_words import next_command, shortened
from forecast_backfill.dagster_defs.metadata import RawMetadata
from forecast_backfill.dagster_defs.plots import heat_map, line_plot
from forecast_backfill.ports.night_values import Accuracy, HorizonScore, TrainedModel, WindowVerdict

MOST_ROWS = 200
LETTERS = {CellState.STALE: "s", CellState.QUARANTINED: "q", CellState.MISSING: "m"}
COLOURS = {
    CellState.STALE: "#e9b949",
    CellState.QUARANTINED: "#d64545",
    CellState.MISSING: "#5f6c7b",
}


def seal_metadata(seal: Seal) -> dict[str, RawMetadata]:
    """How many regions are in, and why the others are not."""
    out = [each for each in seal.regions if each.cell.reason is not None]
    rows = [(each.region, each.cell.state, each.cell.reason or "") for each in out]
    return {
        "regions": len(seal.regions),
        "regions_in": len(seal.regions) - len(out),
        "regions_out": len(out),
        "left_out": markdown(_table(("region", "state", "reason"), rows)),
    }


def window_metadata(verdict: WindowVerdict) -> dict[str, RawMetadata]:
    """The verdict with every exclusion and its reason, as a table and as a heat map."""
    return {
        "verdict": verdict.kind.value,
        "reasons": shortened(verdict.reasons),
        "next": next_command(verdict) or "none",
        "window": f"{min(verdict.window)} … {verdict.date}",
        "expected": verdict.expected,
        "left_out": len(verdict.left_out),
        "left_out_percent": round(100 * len(verdict.left_out) / verdict.expected, 3),
        "sealed_dates": len(verdict.seals),
        "changed_dates": _sentence([str(each) for each in verdict.changed_dates]),
        "override": "none"
        if verdict.override is None
        else f"{verdict.override.by}: {verdict.override.reason}",
        "all_reasons": markdown(_list(verdict.reasons)),
        "exclusions": markdown(_exclusions(verdict.left_out)),
        "stale_but_used": markdown(_exclusions(verdict.stale_used)),
        "coverage": MetadataValue.md(_coverage(verdict)),
    }


def model_metadata(
    model: TrainedModel, fit: Fit, verdict: WindowVerdict | None, sketches: Sequence[SeriesSketch]
) -> dict[str, RawMetadata]:
    """The model's card: what it is, what it was fitted on, how it scored, what it expects."""
    return {
        "kind": model.kind,
        "reason": model.reason,
        **_number("holdout_wape", model.holdout_model_wape),
        **_number("holdout_formula_wape", model.holdout_formula_wape),
        "forecast_against_sold": MetadataValue.md("\n\n".join(map(_draw, sketches))),
        "verdict": model.verdict.value,
        "degraded_for": _sentence(model.degraded_for),
        "expected": model.expected,
        "left_out": model.left_out,
        "exclusions": markdown(_exclusions(() if verdict is None else verdict.left_out)),
        "changed_dates": _sentence([str(each) for each in model.changed_dates]),
        "committed_since_sealed": _sentence([str(each) for each in model.moved]),
        "regions": len(model.regions),
        "demand_groups": len(model.groups),
        "series": len(model.regions) * len(model.groups),
        "training_rows": model.training_rows,
        "seconds": round(model.seconds, 3),
        "outcome": "changed" if model.is_changed else "the same model as before",
        "dimensions": fit.dimension_problem or "current",
        "window_digest": model.window_digest,
        "data_digest": model.data_digest,
        "seed": model.seed,
        "parameters": MetadataValue.json(dict(model.parameters)),
    }


def accuracy_metadata(accuracy: Accuracy) -> dict[str, RawMetadata]:
    """The scores over all known days, and by horizon day as a table and a picture."""
    overall = accuracy.overall
    days = [each for each in accuracy.scores if each.horizon > 0]
    rows = [(str(each.horizon), str(each.target_date), *_shown(each)) for each in days]
    names = ("horizon", "date", "WAPE", "seasonal naive", "bias", "RMSSE")
    lines = {
        "WAPE": [(each.horizon, each.wape) for each in days if each.wape is not None],
        "seasonal naive": [
            (each.horizon, each.naive_wape) for each in days if each.naive_wape is not None
        ],
    }
    return {
        **_number("wape", overall.wape),
        **_number("naive_wape", overall.naive_wape),
        **_number("bias", overall.bias),
        **_number("rmsse", overall.rmsse),
        "known_days": accuracy.known_days,
        "horizon_days": accuracy.horizon_days,
        "forecast_version": accuracy.forecast_version,
        "error_by_horizon": MetadataValue.md(
            line_plot(
                f"{accuracy.partition}: error by horizon day",
                lines,
                ends=lambda day: f"day {day:.0f}",
            )
        ),
        "by_horizon": MetadataValue.md(_table(names, rows)),
    }


def publication_metadata(published: Publication | NothingToPublish) -> dict[str, RawMetadata]:
    """What readers of the date see, and why it is not simply fresh."""
    if isinstance(published, NothingToPublish):
        return {"status": "nothing published", "reasons": published.reason}
    return {
        "status": published.status.value,
        "regions": len(published.regions),
        "absent": len(published.absent),
        "model_version": published.model_version or "none of this night",
        "reasons": _sentence(published.reasons),
    }


def _coverage(verdict: WindowVerdict) -> str:
    """Date × region: a picture, and the same as text, in which a dot is simply in."""
    listed = [*verdict.left_out, *verdict.stale_used]
    states = {(each.partition.region, str(each.partition.date)): each.state for each in listed}
    dates = [str(day) for day in verdict.window]
    picture = heat_map(
        f"{verdict.date}: green in, red quarantined, grey missing, yellow stale",
        rows=verdict.regions,
        columns=dates,
        cells={key: COLOURS[state] for key, state in states.items() if key[0] in verdict.regions},
    )
    lines = [
        f"{region:>6} " + "".join(_letter(states.get((region, day))) for day in dates)
        for region in verdict.regions
    ]
    legend = f"{dates[0]} to {dates[-1]}; · in, q quarantined, m missing, s stale"
    return "\n".join([picture, "", "```text", legend, *lines, "```"])


def _letter(state: CellState | None) -> str:
    return "·" if state is None else LETTERS[state]


def _exclusions(listed: Sequence[LeftOut]) -> str:
    rows = [
        (str(each.partition.date), each.partition.region, each.state.value, each.reason)
        for each in listed
    ]
    return _table(("date", "region", "state", "reason"), rows)


def _draw(sketch: SeriesSketch) -> str:
    lines = {
        "sold": [(float(day.toordinal()), units) for day, units in sorted(sketch.sold.items())],
        "forecast": [
            (float(day.toordinal()), units) for day, units in sorted(sketch.forecast.items())
        ],
    }
    title = f"{sketch.region} {sketch.demand_group}: units a day"
    return line_plot(title, lines, ends=lambda day: str(Date.fromordinal(int(day))))


def _shown(score: HorizonScore) -> Iterable[str]:
    for value in (score.wape, score.naive_wape, score.bias, score.rmsse):
        yield "—" if value is None else f"{value:.3f}"


def _number(name: str, value: float | None) -> dict[str, RawMetadata]:
    return {} if value is None else {name: round(value, 6)}


def _sentence(lines: Sequence[str]) -> str:
    """Short lists as plain text: Markdown is one click away from view."""
    return "; ".join(lines) or "none"


def markdown(text: str) -> MetadataValue:
    """Text that the UI shows behind a click; one word is shown at once."""
    return MetadataValue.md(text) if "\n" in text or " " in text else MetadataValue.text(text)


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {each}" for each in lines) or "none"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "none"
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    for row in rows[:MOST_ROWS]:
        cells = [" ".join(cell.replace("|", "\\|").split()) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    more = len(rows) - MOST_ROWS
    return "\n".join([*lines, *([f"\nand {more} more, in `model_coverage`"] if more > 0 else [])])
