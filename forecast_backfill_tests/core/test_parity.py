"""Every kind of difference between what was read and what is stored, with its reason."""

from __future__ import annotations

import pytest

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.parity import Exclusion, Mismatch, MismatchKind, Parity, compare
from forecast_backfill.core.source import ControlTotals

READ = Fingerprint(rows=10, checksum=1000, units=50, revenue_cents=9900, stores=3, products=7)
TOTALS = ControlTotals(lines=14, units=55, revenue_cents=10_000, stores=3)
EXCLUSIONS = {
    "fuel": Exclusion(lines=1, units=6, revenue_cents=90),
    "no_quantity": Exclusion(lines=1, units=-1, revenue_cents=10),
}


def _compare(totals: ControlTotals = TOTALS, **changes: int) -> Parity | Mismatch:
    fields = {name: getattr(READ, name) for name in Fingerprint.__dataclass_fields__}
    stored = Fingerprint(**(fields | changes))
    return compare(read=READ, stored=stored, totals=totals, exclusions=EXCLUSIONS)


def test_equal_sides_whose_totals_are_conserved_are_at_parity() -> None:
    assert _compare() == Parity(fingerprint=READ)


@pytest.mark.parametrize(
    ("changes", "kind", "reason"),
    [
        ({"rows": 9, "checksum": 900}, "missing_rows", "read 10 rows, stored 9"),
        ({"rows": 0, "checksum": 0}, "missing_rows", "read 10 rows, stored 0"),
        ({"rows": 11, "checksum": 1100}, "extra_rows", "read 10 rows, stored 11"),
        ({"rows": 20, "checksum": 2000}, "exact_multiple", "every row is stored 2 times"),
        ({"rows": 30, "checksum": 3000}, "exact_multiple", "every row is stored 3 times"),
        ({"rows": 20, "checksum": 2001}, "extra_rows", "read 10 rows, stored 20"),
        ({"units": 51}, "values_differ", "units: read 50, stored 51"),
        ({"revenue_cents": 9899}, "values_differ", "revenue_cents: read 9900, stored 9899"),
        ({"stores": 2}, "values_differ", "stores: read 3, stored 2"),
        ({"products": 8}, "values_differ", "products: read 7, stored 8"),
        ({"checksum": 1001}, "values_differ", "checksum: read 1000, stored 1001"),
    ],
)
def test_a_difference_has_its_kind_and_both_values(
    changes: dict[str, int], kind: str, reason: str
) -> None:
    result = _compare(**changes)
    assert isinstance(result, Mismatch)
    assert (result.kind, result.reason) == (MismatchKind(kind), reason)


@pytest.mark.parametrize(
    ("units", "cents", "reason"),
    [
        (56, 10_000, "units: stored and left out make 55, the manifest says 56"),
        (55, 9_999, "revenue_cents: stored and left out make 10000, the manifest says 9999"),
    ],
)
def test_totals_that_are_not_conserved_are_a_mismatch(units: int, cents: int, reason: str) -> None:
    totals = ControlTotals(lines=14, units=units, revenue_cents=cents, stores=3)
    result = _compare(totals)
    assert isinstance(result, Mismatch)
    assert (result.kind, result.reason) == (MismatchKind.CONTROL_TOTALS, reason)
