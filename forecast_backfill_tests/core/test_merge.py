"""The merge: the higher statement of every key stays, in whatever order they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.errors import MissingVersion
from forecast_backfill.core.merge import (
    MergeCounts,
    Standing,
    TieRule,
    fingerprint_of,
    may_insert,
    merge,
    revise,
    tie_rule,
)
from forecast_backfill.core.version import Authority
from forecast_backfill_tests.core.claims import claim_of, claims, merge_all, version_of

BACKFILL, LIVE, CORRECTION = Authority.BACKFILL, Authority.LIVE, Authority.CORRECTION
OLD, SAME, NEW = 100, 200, 300
A, B = ("s1", "1"), ("s1", "2")


def units(merged):
    return {key: row.units for key, row in merged.rows.items()}


@given(st.lists(claims, min_size=1, max_size=4).flatmap(
    lambda each: st.tuples(st.just(each), st.permutations(each), st.permutations(each + each))
))  # fmt: skip
def test_claims_come_to_the_same_rows_in_every_order_and_however_often(orders):
    plain, shuffled, repeated = (merge_all(order) for order in orders)
    assert plain.rows == shuffled.rows == repeated.rows
    assert plain.floor == shuffled.floor == repeated.floor


@given(st.lists(claims, min_size=1, max_size=4))
def test_the_rows_are_those_of_the_highest_claim_where_no_two_tie(given_claims):
    highest = max(given_claims, key=lambda claim: claim.version)
    if sum(claim.version == highest.version for claim in given_claims) > 1:
        return
    assert merge_all(given_claims).rows == highest.rows


def test_a_campaign_that_lets_live_win_never_overwrites_a_fresher_live_row():
    live = claim_of(version_of(LIVE, NEW), {A: 1})
    campaign = claim_of(version_of(BACKFILL, OLD, 7), {A: 2, B: 2})
    assert units(merge_all([live, campaign])) == {A: 1}
    assert units(merge_all([campaign, live])) == {A: 1}


def test_a_row_that_a_correction_drops_is_removed_and_no_stale_live_retry_brings_it_back():
    live = claim_of(version_of(LIVE, SAME), {A: 1, B: 1})
    correction = claim_of(version_of(CORRECTION, SAME, 1), {A: 5})
    stale = claim_of(version_of(LIVE, OLD), {A: 9, B: 9})
    assert units(merge_all([live, correction, live, stale])) == {A: 5}


def test_a_live_write_of_a_newer_export_wins_over_a_correction_and_brings_its_rows_back():
    correction = claim_of(version_of(CORRECTION, SAME, 1), {A: 5})
    fresher = claim_of(version_of(LIVE, NEW), {A: 1, B: 1})
    assert units(merge_all([correction, fresher])) == {A: 1, B: 1}


def test_rows_of_one_version_are_decided_by_their_hash():
    one, two = (claim_of(version_of(LIVE, SAME), {A: each}) for each in (1, 2))
    hashes = {claim.rows[A].row_hash: claim.rows[A].units for claim in (one, two)}
    assert units(merge_all([one, two])) == units(merge_all([two, one])) == {A: hashes[max(hashes)]}


def test_a_row_that_a_foreign_writer_put_above_the_claim_is_left():
    foreign = claim_of(version_of(LIVE, NEW), {B: 3}).rows
    floor = version_of(LIVE, OLD)
    claim = claim_of(version_of(CORRECTION, SAME, 1), {A: 5})
    merged = merge(foreign, Standing(floor=floor), claim)
    assert units(merged) == {A: 5, B: 3}
    assert merged.floor == claim.version


def test_a_merge_counts_what_it_does():
    before = claim_of(version_of(LIVE, SAME), {A: 1, B: 1, ("s2", "1"): 1})
    claim = claim_of(version_of(CORRECTION, SAME, 1), {A: 1, ("s9", "9"): 2})
    merged = merge(before.rows, Standing(floor=before.version), claim)
    assert merged.counts == MergeCounts(inserted=1, updated=1, deleted=2, kept=0)
    assert merged.counts.changed == 4
    again = merge(merged.rows, Standing(floor=merged.floor, is_merged=True), claim)
    assert again.counts == MergeCounts(inserted=0, updated=0, deleted=0, kept=2)


def test_a_row_that_is_stated_again_in_a_later_revision_is_kept():
    before = claim_of(version_of(CORRECTION, SAME, 1), {A: 1})
    again = claim_of(version_of(CORRECTION, SAME, 2), {A: 1})
    merged = merge(before.rows, Standing(floor=before.version, is_merged=True), again)
    assert merged.counts == MergeCounts(inserted=0, updated=0, deleted=0, kept=1)
    assert merged.floor == again.version


def test_the_fingerprint_of_what_must_be_stored_adds_up_its_rows():
    claim = claim_of(version_of(LIVE, SAME), {A: 1, B: 2, ("s2", "1"): 4})
    found = fingerprint_of(claim.rows)
    assert (found.rows, found.units, found.revenue_cents) == (3, 7, 700)
    assert (found.stores, found.products) == (2, 2)
    assert found.checksum == sum(row.row_hash for row in claim.rows.values())


@pytest.mark.parametrize(
    ("claim", "floor", "rule", "inserts"),
    [
        (version_of(LIVE, SAME), None, TieRule.ROW_HASH, True),
        (version_of(LIVE, SAME), version_of(LIVE, SAME), TieRule.ROW_HASH, True),
        (version_of(LIVE, SAME, 1), version_of(LIVE, SAME), TieRule.CLAIM, True),
        (version_of(LIVE, SAME), version_of(LIVE, SAME, 1), TieRule.STORED, False),
        (version_of(LIVE, SAME), version_of(CORRECTION, SAME, 1), TieRule.ROW_HASH, False),
        (version_of(CORRECTION, SAME, 2), version_of(LIVE, SAME), TieRule.CLAIM, True),
    ],
)
def test_the_rules_that_the_database_is_told_agree_with_the_order(claim, floor, rule, inserts):
    assert tie_rule(claim, floor) is rule
    assert may_insert(claim, floor) is inserts


def test_nightly_that_states_an_export_again_with_other_code_gives_way_to_itself():
    standing = Standing(floor=version_of(LIVE, SAME, 1), is_merged=True)
    live = version_of(LIVE, SAME)
    assert revise(live, standing, is_restated=True) == version_of(LIVE, SAME, 2)
    assert revise(live, standing, is_restated=False) == version_of(LIVE, SAME, 1)
    over = Standing(floor=version_of(CORRECTION, SAME, 4), is_merged=True)
    assert revise(live, over, is_restated=True) == live


def test_a_claim_or_a_stored_row_without_a_version_is_refused():
    good, none = claim_of(version_of(LIVE, SAME), {A: 1}), claim_of(version_of(LIVE, 0), {A: 1})
    with pytest.raises(MissingVersion, match="no instant of export"):
        merge({}, Standing(), none)
    with pytest.raises(MissingVersion):
        merge(none.rows, Standing(), good)
