"""A delivery whose product codes were mangled is refused, not written as an empty day."""

from datetime import date

import pytest

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import explain_unknown_products
from forecast_backfill.engines.pandas_engine import PandasEngine
from forecast_backfill.landing.reader import FileLanding
from forecast_backfill.ports import Prepared, Rejected
from forecast_backfill_tests.landing.hand_made import land, land_dimensions

PARTITION = Partition(date=date(2026, 3, 1), region="R01")


def prepare(directory, products):
    land_dimensions(directory, products=["0042"])
    land(directory, PARTITION, [{"product_id": product} for product in products])
    landing = FileLanding(directory)
    return PandasEngine().prepare(landing.read(PARTITION), landing.dimensions(PARTITION))


def test_codes_without_their_leading_zeros_are_refused(tmp_path):
    found = prepare(tmp_path, ["42"] * 20)
    assert isinstance(found, Rejected)
    (fault,) = found.report.kept
    assert (fault.code, fault.file, fault.column) == (
        "product_unknown",
        "sales.csv.gz",
        "product_id",
    )
    assert fault.reason == (
        "20 of 20 lines have a product that the product dimension does not know"
    )


def test_single_unknown_products_are_left_out_and_counted(tmp_path):
    found = prepare(tmp_path, ["0042"] * 10 + ["new"] * 10)
    assert isinstance(found, Prepared)
    assert found.exclusions["unmatched_product"].lines == 10
    assert found.fingerprint.rows == 1


@pytest.mark.parametrize(
    ("lines", "unmatched", "is_refused"),
    [(19, 19, False), (20, 10, False), (20, 11, True), (1000, 500, False), (1000, 501, True)],
)
def test_more_than_half_of_at_least_twenty_lines_is_too_much(lines, unmatched, is_refused):
    reason = explain_unknown_products(lines=lines, unmatched=unmatched)
    assert (reason is not None) is is_refused
