"""Version-guarded merge of a claim into a partition, in SQL; core/merge.py is its oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import psycopg
import pyarrow as pa
from psycopg.types.json import Jsonb

from forecast_backfill.core.fingerprint import canonical_text
from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.merge import (
    Claim,
    Key,
    MergeRow,
    Standing,
    may_insert,
    tie_rule,
)
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import PartitionStatus, sources_of
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports import Completion, MergeCompletion, RunRequest
from forecast_backfill.warehouse.binary_rows import CHUNK_ROWS
from forecast_backfill.warehouse.copy_rows import copy_rows, pieces_of
from forecast_backfill.warehouse.statements import statements

Connection = psycopg.Connection[Any]
_CLAIM_TABLE = "merge_claim"


def standing_of(found: Mapping[str, Any]) -> Standing:
    """What stands in a partition, from the columns of its ledger row; nulls where it has none."""
    if found["output_authority"] is None:
        return Standing(is_merged=bool(found["is_merged"]))
    return Standing(
        floor=Version(
            authority=Authority(found["output_authority"]),
            source_version=found["output_source_version"],
            revision=found["output_revision"],
        ),
        identity=OutputIdentity(
            source_digest=found["output_source_digest"],
            code_version=found["output_code_version"],
            dimension_version=found["output_dimension_version"],
        ),
        is_merged=found["is_merged"],
    )


def read_stored_rows(connection: Connection, partition: Partition) -> dict[Key, MergeRow]:
    """The partition's rows as the oracle reads them."""
    rows = statements().merge_rows(connection, **_key(partition), prefix=_prefix(partition))
    return {
        (row["store_id"], row["product_id"]): MergeRow(
            authority=Authority(row["authority"]),
            source_version=row["source_version"],
            row_hash=row["row_hash"],
            units=row["units"],
            revenue_cents=row["revenue_cents"],
        )
        for row in rows
    }


def claim_of(rows: pa.Table, version: Version) -> Claim:
    """An engine's rows as a claim."""
    names = ("store_id", "product_id", "row_hash", "units", "revenue_cents")
    whole = pa.concat_tables(pieces_of(rows))
    columns = (whole.column(name).to_pylist() for name in names)
    return Claim(
        version=version,
        rows={
            (store, product): MergeRow(
                authority=version.authority,
                source_version=version.source_version,
                row_hash=row_hash,
                units=units,
                revenue_cents=cents,
            )
            for store, product, row_hash, units, cents in zip(*columns, strict=True)
        },
    )


def merge_rows(
    connection: Connection,
    partition: Partition,
    rows: pa.Table,
    version: Version,
    floor: Version | None,
    *,
    chunk_rows: int = CHUNK_ROWS,
) -> int:
    """Merge `rows` into the partition by version; how many rows that changed."""
    ties = tie_rule(version, floor)
    statements().merge_open(connection)
    if rows.num_rows:
        copy_rows(connection, partition, rows, version, table=_CLAIM_TABLE, chunk_rows=chunk_rows)
    deleted: int = statements().merge_delete(
        connection,
        **_key(partition),
        authority=int(version.authority),
        source_version=version.source_version,
        ties=ties,
    )
    written = statements().merge_upsert(
        connection, **_key(partition), ties=ties, may_insert=may_insert(version, floor)
    )
    return deleted + int(written["rows"])


def read_statements(
    connection: Connection, partition: Partition
) -> dict[tuple[Authority, int], tuple[int, int]]:
    """Rows and sum of row hashes of each (authority, source version) that is stored."""
    rows = statements().merge_statements(connection, **_key(partition), prefix=_prefix(partition))
    return {
        (Authority(row["authority"]), row["source_version"]): (row["rows"], int(row["checksum"]))
        for row in rows
    }


def complete_merge(
    connection: Connection, partition: Partition, request: RunRequest, done: MergeCompletion
) -> OutputIdentity | None:
    """Record claim, output and event; what the output was made from, None where refused."""
    claim, stored = done.claim, done.stored
    exclusions = {rule: asdict(each) for rule, each in claim.exclusions.items()}
    row = statements().merge_complete(
        connection,
        **_key(partition),
        is_guest=done.is_guest,
        holds=done.holds,
        sources=list(sources_of(PartitionStatus.DONE)),
        workload=request.workload,
        run_id=request.run_id,
        campaign_id=request.campaign_id,
        epoch=request.epoch,
        **asdict(claim.identity),
        **asdict(stored),
        data_version=stored.data_version,
        authority=int(claim.version.authority),
        source_version=claim.version.source_version,
        revision=claim.version.revision,
        claim_rows=claim.fingerprint.rows,
        claim_checksum=claim.fingerprint.checksum,
        lines=claim.totals.lines,
        exclusions=Jsonb(exclusions),
        seconds=claim.seconds,
        detail=Jsonb(_detail(request, done)),
    )
    if row is None:
        return None
    return OutputIdentity(
        source_digest=row["output_source_digest"],
        code_version=row["output_code_version"],
        dimension_version=row["output_dimension_version"],
    )


def choice_detail(completion: Completion) -> dict[str, str]:
    """How the rows were written, and why, for the history."""
    choice = completion.choice
    return {} if choice is None else {"primitive": choice.primitive, "why": choice.reason}


def _detail(request: RunRequest, done: MergeCompletion) -> dict[str, Any]:
    return {
        **choice_detail(done.claim),
        "winner": request.winner,
        "authority": int(done.claim.version.authority),
        "source_version": done.claim.version.source_version,
        "revision": done.claim.version.revision,
        "holds": done.holds,
        "merge": asdict(done.counts),
        "data_version": done.stored.data_version,
        "lines": done.claim.totals.lines,
        "replaced_rows": done.claim.replaced_rows,
    }


def _key(partition: Partition) -> dict[str, Any]:
    return {"date": partition.date, "region": partition.region}


def _prefix(partition: Partition) -> str:
    return canonical_text((partition.date.isoformat(), partition.region))
