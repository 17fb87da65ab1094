"""Builds what proofs are handed: reconcile, localisation and recomputation."""

from __future__ import annotations

from collections.abc import Sequence

from forecast_backfill.app.recompute import Proof, prove
from forecast_backfill.app.reconcile import ProofPorts
from forecast_backfill.core.partition import DateRange
from forecast_backfill.warehouse.digests import row_digests
from forecast_backfill.warehouse.proofs import PostgresProofRecord, canonical_rows
from forecast_backfill.wiring.lakehouse import stored_of
from forecast_backfill.wiring.partition import Wiring

TRIES = 4
"""Partitions looked at for each that is wanted: some have changed since they were done."""


def proof_ports(wiring: Wiring) -> ProofPorts:
    """The ports of a proof over the wiring's landing, engine and database."""
    return ProofPorts(
        landing=wiring.ports.landing,
        engine=wiring.ports.engine,
        stored=stored_of(wiring.settings, wiring.session),
        row_digests=row_digests,
    )


def prove_some(
    wiring: Wiring, dates: DateRange, regions: Sequence[str], *, count: int, seed: str, by: str
) -> list[Proof]:
    """Recompute `count` done partitions of the range, chosen by the seed; see recompute.prove."""
    stored = stored_of(wiring.settings, wiring.session)
    return prove(
        stored.sample_done(dates, regions, seed=seed, count=TRIES * count),
        count=count,
        by=by,
        ports=proof_ports(wiring),
        canonical_rows=canonical_rows,
        record=PostgresProofRecord(wiring.session),
    )
