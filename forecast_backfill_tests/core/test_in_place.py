"""In place or shadow: the three questions, and the matrix of risks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forecast_backfill.core.in_place import (
    Answers,
    Approach,
    Risk,
    RiskFacts,
    advise,
    risk_matrix,
)

FACTS = RiskFacts(
    slots=8, cap=5, pace="full", seam="2026-11-28", overlap_writes=0,
    fences={(Risk.RACE, "a_key"): True}, epoch=3, code_version="0123456789abcdef",
    proofs=5, differing=0, last_proof="2026-11-28 04:00 UTC",
)  # fmt: skip


@pytest.mark.parametrize(
    ("partial", "destructive", "small", "approach"),
    [
        (True, False, True, Approach.IN_PLACE),
        (True, False, False, Approach.IN_PLACE),
        (False, False, True, Approach.IN_PLACE),
        (False, False, False, Approach.SHADOW),
        (True, True, True, Approach.SHADOW),
        (True, True, False, Approach.SHADOW),
        (False, True, True, Approach.SHADOW),
        (False, True, False, Approach.SHADOW),
    ],
)
def test_the_three_answers_decide(
    partial: bool, destructive: bool, small: bool, approach: Approach
) -> None:
    found = advise(Answers(tolerates_partial=partial, is_destructive=destructive, is_small=small))
    assert found.approach is approach
    assert "supposed" not in found.reason


def test_what_was_not_answered_counts_as_what_needs_more_care() -> None:
    found = advise(Answers(tolerates_partial=True))
    assert found.approach is Approach.SHADOW
    assert "supposed: it is destructive, it is not small" in found.reason
    assert advise(Answers(is_destructive=False)).approach is Approach.SHADOW
    assert not Answers().is_asked


def test_every_risk_has_a_mitigation_with_its_evidence() -> None:
    found = risk_matrix(FACTS)
    assert [each.risk for each in found] == list(Risk)
    assert all(each.is_in_force for each in found)
    assert found[0].evidence == "cap 5 of 8 slots now; pace full"


def test_a_mitigation_that_is_not_there_is_said() -> None:
    broken = replace(
        FACTS,
        cap=8,
        fences={(Risk.RACE, "a_key"): False, (Risk.CLOBBER, "a_version"): False},
        last_proof=None,
        proofs=0,
    )
    found = {each.risk: each for each in risk_matrix(broken)}
    assert [risk for risk, each in found.items() if not each.is_in_force] == [
        Risk.CONTENTION, Risk.CLOBBER, Risk.RACE, Risk.NON_DETERMINISM,
    ]  # fmt: skip
    assert found[Risk.RACE].evidence == "not there or not valid: a_key"
    assert found[Risk.CLOBBER].evidence == "not there or not valid: a_version"
    assert "never proved" in found[Risk.NON_DETERMINISM].evidence


def test_a_proof_that_differed_is_not_in_force() -> None:
    assert not risk_matrix(replace(FACTS, differing=1))[3].is_in_force
