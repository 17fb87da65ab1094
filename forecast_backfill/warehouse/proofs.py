"""Proofs of determinism in PostgreSQL, and the reference text of an engine's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pyarrow as pa

from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, canonical_text
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import Prepared
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


class PostgresProofRecord:
    """The table `recompute_proof`, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, partition: Partition, *, rows: int, by: str, difference: str | None) -> None:
        """Keep one proof; `difference` is None where every byte is the same."""
        with self._session.use() as connection:
            statements().add_proof(
                connection,
                date=partition.date,
                region=partition.region,
                is_same=difference is None,
                rows=rows,
                proved_by=by,
                reason=None if difference is None else difference.replace("\0", "␀"),
            )


def canonical_rows(prepared: Prepared, partition: Partition) -> Sequence[str]:
    """Every row of an engine (a pyarrow Table) as the database should have it, sorted.

    Written value by value by the reference implementation, which shares no code with the engine.
    """
    constants = {
        "date": partition.date.isoformat(),
        "region": partition.region,
        "source_version": prepared.source_version,
    }
    names = (*CHECKSUM_COLUMNS, "source_version", "row_hash")
    rows = cast("pa.Table", prepared.rows).to_pylist()
    return sorted(canonical_text([(constants | row)[name] for name in names]) for row in rows)
