"""In place or in a shadow: three questions, one answer, and the risks with what holds them off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Approach(StrEnum):
    """How a change of history comes into the target."""

    IN_PLACE = "in_place"
    SHADOW = "shadow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the operator says of the change; None is a question that was not answered.

    `tolerates_partial`: consumers may see some partitions old and some new. `is_destructive`: what
    is there could not be had again. `is_small`: it is over before the next reader of all of it.
    """

    tolerates_partial: bool | None = None
    is_destructive: bool | None = None
    is_small: bool | None = None

    @property
    def is_asked(self) -> bool:
        """Whether any question was answered."""
        return any(
            each is not None
            for each in (self.tolerates_partial, self.is_destructive, self.is_small)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The answer and its reason, fit for an operator."""

    approach: Approach
    reason: str
    next_command: str


def advise(answers: Answers) -> Advice:
    """In place or shadow. What was not answered counts as the answer that needs more care."""
    supposed = [
        name
        for name, answer in (
            ("consumers do not tolerate partial", answers.tolerates_partial),
            ("it is destructive", answers.is_destructive),
            ("it is not small", answers.is_small),
        )
        if answer is None
    ]
    approach, reason = _judge(
        tolerates_partial=answers.tolerates_partial is True,
        is_destructive=answers.is_destructive is not False,
        is_small=answers.is_small is True,
    )
    if supposed:
        reason += f" (not answered, so supposed: {', '.join(supposed)})"
    commands = {
        Approach.IN_PLACE: "forecast-backfill backfill --from … --to …",
        Approach.SHADOW: "forecast-backfill shadow start --definition FILE (or --hold) --reason …",
    }
    return Advice(approach=approach, reason=reason, next_command=commands[approach])


def _judge(
    *, tolerates_partial: bool, is_destructive: bool, is_small: bool
) -> tuple[Approach, str]:
    if is_destructive:
        return Approach.SHADOW, (
            "it is destructive: the live table stays as it is until the new version is validated, "
            "and a revert brings it back at once"
        )
    if tolerates_partial:
        return Approach.IN_PLACE, (
            "consumers tolerate partial and nothing is lost: each partition is replaced whole in "
            "one transaction, and a rollback puts it back"
        )
    if is_small:
        return Approach.IN_PLACE, (
            "it is small and nothing is lost: it is over before the next reader of all of it, and "
            "each partition is replaced whole"
        )
    return Approach.SHADOW, (
        "consumers do not tolerate partial and it takes long: they go over in one moment, with all "
        "of it"
    )


class Risk(StrEnum):
    """What can go wrong when history is rebuilt beside a live writer."""

    CONTENTION = "contention"
    CLOBBER = "clobber"
    RACE = "race"
    NON_DETERMINISM = "non-determinism"


MEANINGS = {
    Risk.CONTENTION: "the campaign takes what nightly needs",
    Risk.CLOBBER: "older rows overwrite fresher ones",
    Risk.RACE: "two writers of one partition mix their rows",
    Risk.NON_DETERMINISM: "the same source gives other rows",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mitigation:
    """What holds a risk off, and what was seen of it in the live system.

    `is_in_force` is False where it was looked for and not found as it has to be.
    """

    risk: Risk
    mitigation: str
    evidence: str
    is_in_force: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskFacts:
    """What was read from the live system for the matrix.

    `fences` are the constraints and triggers that hold a risk off, each with whether it is there
    and valid. `proofs` counts recomputed partitions of the present code and how many of them
    differed; `last_proof` says when the last one was, in words, None where there was none.
    """

    slots: int
    cap: int
    pace: str
    seam: str
    overlap_writes: int
    fences: Mapping[tuple[Risk, str], bool]
    epoch: int
    code_version: str
    proofs: int
    differing: int
    last_proof: str | None


def risk_matrix(facts: RiskFacts) -> tuple[Mitigation, ...]:
    """Each risk once, with the mitigation in force and its evidence."""
    race, clobber = (_missing(facts, risk) for risk in (Risk.RACE, Risk.CLOBBER))
    return (
        Mitigation(
            risk=Risk.CONTENTION,
            mitigation="a cap of slots below nightly's peak, and a pace that gives way",
            evidence=f"cap {facts.cap} of {facts.slots} slots now; pace {facts.pace}",
            is_in_force=facts.cap < facts.slots,
        ),
        Mitigation(
            risk=Risk.CLOBBER,
            mitigation="backfill ends at the seam; beyond it only a merge by version writes",
            evidence=clobber
            or f"seam {facts.seam}; {facts.overlap_writes} partitions merged so far, every row and "
            "claim with its version",
            is_in_force=clobber is None,
        ),
        Mitigation(
            risk=Risk.RACE,
            mitigation="one transaction a partition under its lease and the epoch, keys unique",
            evidence=race or f"lease and constraints hold, epoch {facts.epoch}",
            is_in_force=race is None,
        ),
        Mitigation(
            risk=Risk.NON_DETERMINISM,
            mitigation="a pure transform with a code version; partitions recomputed and compared",
            evidence=_proof(facts),
            is_in_force=facts.proofs > 0 and facts.differing == 0,
        ),
    )


def _missing(facts: RiskFacts, risk: Risk) -> str | None:
    missing = [name for (of, name), is_there in facts.fences.items() if of is risk and not is_there]
    return f"not there or not valid: {', '.join(missing)}" if missing else None


def _proof(facts: RiskFacts) -> str:
    code = facts.code_version[:12]
    if facts.last_proof is None:
        return f"code {code}; never proved: forecast-backfill reconcile --recompute 5"
    return (
        f"code {code}; {facts.proofs} partitions recomputed by it, "
        f"{facts.differing} differed, the last {facts.last_proof}"
    )
