"""What the engine needs of the dimensions of one partition."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa


class PartitionDimensions(Protocol):
    """Point-in-time dimensions: the same tables give the same rows, whenever they are asked.

    `products` has product_id, demand_group and exclusion (empty where the product counts, else the
    name of the rule that leaves it out); `promotions` store_id, product_id, on_display, on_mailer;
    `promotion_stores` the stores for which promotion facts exist; `region_of_store` store_id and
    region.
    """

    @property
    def version(self) -> str: ...

    @property
    def products(self) -> pa.Table: ...

    @property
    def promotions(self) -> pa.Table: ...

    @property
    def promotion_stores(self) -> pa.Array: ...

    @property
    def region_of_store(self) -> pa.Table: ...
