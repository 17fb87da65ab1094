"""The settings of the target table: its layout, and from which size on a leaf is swapped."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from forecast_backfill.core.strategy import LARGE_ROWS, Layout


class LayoutSettings(BaseSettings):
    """The layout's part of Settings.

    With `table_layout` leaves a table that is still empty gets one leaf a partition, and one of
    `large_rows` rows or more is built beside the old leaf and takes its place. Who asks for it
    accepts that a reader with an older snapshot finds a swapped partition empty.
    """

    table_layout: Layout = Layout.PLAIN
    large_rows: int = Field(default=LARGE_ROWS, ge=1)
