"""The choice of a write primitive says which and why."""

import pytest

from forecast_backfill.core.strategy import Layout, Target, WritePrimitive, WriteSituation, choose

LEAVES = Target(layout=Layout.LEAVES, needs_one_version=False)
LARGE = {"rows": 50_000, "target": LEAVES}


@pytest.mark.parametrize(
    ("situation", "primitive", "reason"),
    [
        ({"rows": 400}, WritePrimitive.REPLACE, "400 rows in a plain table"),
        ({"rows": 10**6}, WritePrimitive.REPLACE, "plain table"),
        ({"rows": 400, "is_overlap": True}, WritePrimitive.MERGE, "beside nightly"),
        ({"rows": 400, "is_merged": True}, WritePrimitive.MERGE, "same order"),
        ({"rows": 400, "is_merged": True, "is_owner": True}, WritePrimitive.REPLACE, "plain"),
        (LARGE, WritePrimitive.SWAP_LEAF, "at least 50000"),
        (LARGE | {"rows": 49_999}, WritePrimitive.REPLACE, "fewer than 50000"),
        (
            LARGE | {"target": Target(layout=Layout.LEAVES)},
            WritePrimitive.REPLACE,
            "keeps a snapshot open",
        ),
        (LARGE | {"is_overlap": True}, WritePrimitive.MERGE, "beside nightly"),
        ({"rows": 1, "is_new_shape": True}, WritePrimitive.SWAP_TABLE, "another shape"),
    ],
)
def test_the_situation_decides_the_primitive(situation, primitive, reason):
    choice = choose(WriteSituation(**situation))
    assert choice.primitive is primitive
    assert reason in choice.reason
