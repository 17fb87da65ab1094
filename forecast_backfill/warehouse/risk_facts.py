"""What the live system says of the risks of rebuilding history beside a live writer."""

from __future__ import annotations

from datetime import date as Date

from forecast_backfill.core.in_place import Risk, RiskFacts
from forecast_backfill.core.sizing import Room
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


def risk_facts(session: Session, *, room: Room, seam: Date, code_version: str) -> RiskFacts:
    """The facts now; `code_version` is that of the engine that a campaign would use."""
    with session.use() as connection:
        fences = {
            (Risk(row["risk"]), row["name"]): row["is_there"]
            for row in statements().risk_fences(connection)
        }
        row = statements().risk_facts(connection, code_version=code_version)
    last = row["last_at"]
    return RiskFacts(
        slots=room.slots,
        cap=room.cap,
        pace=row["pace"] or "never measured",
        seam=seam.isoformat(),
        overlap_writes=row["overlap_writes"],
        fences=fences,
        epoch=row["epoch"],
        code_version=code_version,
        proofs=row["proofs"],
        differing=row["differing"],
        last_proof=None if last is None else f"{last:%Y-%m-%d %H:%M} UTC",
    )
