"""The three questions of a plan: asked as options, or at the terminal where none was given."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import click

from forecast_backfill.core.in_place import MEANINGS, Advice, Answers, Mitigation, advise

F = TypeVar("F", bound=Callable[..., Any])

_QUESTIONS = (
    ("--consumers-tolerate-partial/--no-consumers-tolerate-partial", "tolerates_partial",
     "Do consumers tolerate that some partitions are new and some still old?"),
    ("--destructive/--no-destructive", "is_destructive",
     "Is it destructive: could what is there not be had again?"),
    ("--small/--no-small", "is_small",
     "Is it small: over before the next reader of all of it?"),
)  # fmt: skip


def questions_options(function: F) -> F:
    """One pair of flags a question; a question without either was not answered."""
    for flags, name, question in reversed(_QUESTIONS):
        function = click.option(flags, name, default=None, help=question)(function)
    return function


def answers_of(
    *,
    tolerates_partial: bool | None,
    is_destructive: bool | None,
    is_small: bool | None,
    may_ask: bool,
) -> Answers:
    """What was answered by flags; where nothing was, it is asked at a terminal."""
    given = Answers(
        tolerates_partial=tolerates_partial, is_destructive=is_destructive, is_small=is_small
    )
    if given.is_asked or not may_ask or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return given
    replies = {name: click.confirm(question, err=True) for _, name, question in _QUESTIONS}
    return Answers(**replies)


def advice_of(answers: Answers) -> Advice | None:
    """The answer; None where no question was."""
    return advise(answers) if answers.is_asked else None


def advice_lines(advice: Advice | None, matrix: Sequence[Mitigation]) -> Iterator[str]:
    """In place or shadow with its reason, then each risk with what holds it off."""
    yield ""
    if advice is None:
        flags = ", ".join(flags.partition("/")[0] for flags, _, _ in _QUESTIONS)
        yield f"in place or shadow? answer {flags} (or --no-…)"
    else:
        yield f"{advice.approach.replace('_', ' ')}: {advice.reason}"
        yield f"  next: {advice.next_command}"
    yield ""
    yield "risks"
    for each in matrix:
        standing = "held" if each.is_in_force else "OPEN"
        yield f"  {standing:<5} {each.risk:<16} {MEANINGS[each.risk]}: {each.mitigation}"
        yield f"        seen: {each.evidence}"


def advice_fields(advice: Advice | None, matrix: Sequence[Mitigation]) -> dict[str, object]:
    """The same for `--json`."""
    return {
        "approach": None
        if advice is None
        else {
            "answer": advice.approach.value,
            "reason": advice.reason,
            "next_command": advice.next_command,
        },
        "risks": [
            {
                "risk": each.risk.value,
                "mitigation": each.mitigation,
                "evidence": each.evidence,
                "in_force": each.is_in_force,
            }
            for each in matrix
        ],
    }
