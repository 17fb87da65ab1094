"""Partitions of `daily_demand` in PostgreSQL: replaced, fingerprinted and recorded in one go.

Longer than other modules on purpose: the steps of one transaction share its state and are read in
one place. What a primitive does is in a module of its own (merge.py, swap_leaf.py, shadow_rows.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, cast

import psycopg
import pyarrow as pa
from psycopg.types.json import Jsonb

from forecast_backfill.core.fingerprint import Fingerprint, canonical_text
from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.merge import Claim, Key, MergeRow, Standing
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow_check import ShadowWrite
from forecast_backfill.core.states import PartitionStatus, sources_of
from forecast_backfill.core.stored_in import in_lakehouse
from forecast_backfill.core.strategy import Layout, Target
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports import Completion, MergeCompletion, Rows, RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.copy_rows import copy_rows
from forecast_backfill.warehouse.fences import (
    GATE_CLASS,
    GATE_NUMBERS,
    key_of,
    refuse_other_epoch,
    take_lease,
    take_lease_last,
)
from forecast_backfill.warehouse.leaf_layout import ensure_leaf, find_layout, make_leaves
from forecast_backfill.warehouse.ledger import refused_move
from forecast_backfill.warehouse.merge import (
    choice_detail,
    claim_of,
    complete_merge,
    merge_rows,
    read_statements,
    read_stored_rows,
    standing_of,
)
from forecast_backfill.warehouse.shadow_rows import write_shadows
from forecast_backfill.warehouse.statements import statements
from forecast_backfill.warehouse.swap_leaf import (
    BuiltLeaf,
    build_leaf,
    fingerprint_built,
    swap_leaf,
)


class PostgresWarehouse:
    """Where `daily_demand` is stored, over one session."""

    def __init__(self, session: Session, wanted: Target | None = None) -> None:
        self._session = session
        self._wanted = Target() if wanted is None else wanted
        self._target: Target | None = None

    def target(self) -> Target:
        """How the table is laid out, and from which size on a leaf is swapped.

        Leaves that are wanted are made, once. Raises SettingRefused where the table holds rows.
        """
        if self._target is None:
            with self._session.use() as connection:
                layout = find_layout(connection)
                if self._wanted.layout is Layout.LEAVES and layout is Layout.PLAIN:
                    make_leaves(connection)
                    layout = Layout.LEAVES
            self._target = replace(self._wanted, layout=layout)
        return self._target

    @contextmanager
    def transaction(
        self, partition: Partition, request: RunRequest
    ) -> Iterator[PostgresPartitionTransaction]:
        """One READ COMMITTED transaction over the partition; an exception rolls it all back."""
        layout = self.target().layout
        with self._session.transaction() as connection:
            yield PostgresPartitionTransaction(connection, partition, request, layout)


class PostgresPartitionTransaction:
    """The steps of one replacement, on an open transaction."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        partition: Partition,
        request: RunRequest,
        layout: Layout = Layout.PLAIN,
    ) -> None:
        self._connection = connection
        self._layout = layout
        self._built: BuiltLeaf | None = None
        self._partition = partition
        self._request = request
        self._key = {"date": partition.date, "region": partition.region}
        self._standing: Standing | None = None
        self._shadows: Sequence[int] = ()
        self._recorded_checksum: int | None = None
        self._becomes: Fingerprint | None = None
        self._proved: Fingerprint | None = None

    def take_lease(self) -> None:
        """Wait for the partition's lease, to be held until the transaction ends.

        A campaign that writes beside nightly takes it after all who wait for it.
        """
        take = take_lease if self._request.winner is None else take_lease_last
        take(
            self._connection,
            key=lease_key(self._partition),
            name=application_name(self._partition, self._request.run_id),
            what="the partition",
            partition=self._partition,
        )

    def hold_epoch(self) -> None:
        """Lock the workload's epoch row against a kill until the transaction ends."""
        workload = self._request.workload
        held = statements().merge_hold_epoch(
            self._connection,
            **self._key,
            workload=workload,
            gate_class=GATE_CLASS,
            number=GATE_NUMBERS[workload],
        )
        refuse_other_epoch(held["epoch"], self._request, self._partition)
        self._standing = standing_of(held)
        self._shadows = held["shadows"] or ()
        checksum = held["output_checksum"]
        self._recorded_checksum = None if checksum is None else int(checksum)

    def standing(self) -> Standing:
        """What stands in the partition, as of when the epoch was held."""
        assert self._standing is not None, "the epoch is held first"
        return self._standing

    def keep_superseded(
        self, becomes: Fingerprint | None = None, version: Version | None = None
    ) -> int:
        """Keep what is about to be changed, for a rollback; how many rows were copied.

        None are where the rows become the same bytes, by their fingerprint and version, nor where
        the campaign has kept them before.
        """
        self._becomes = becomes
        return self._keep(becomes, version, keeps_rows=True)

    def keep_record(self) -> None:
        """Keep the record of the output, where its rows will not be changed."""
        self._keep(None, None, keeps_rows=False)

    def _keep(
        self, becomes: Fingerprint | None, version: Version | None, *, keeps_rows: bool
    ) -> int:
        request = self._request
        kept: int = statements().keep_superseded(
            self._connection,
            **self._key,
            workload=request.workload,
            campaign_id=request.campaign_id or request.run_id,
            run_id=request.run_id,
            keeps_rows=keeps_rows,
            rows=None if becomes is None else becomes.rows,
            checksum=None if becomes is None else becomes.checksum,
            authority=None if version is None else int(version.authority),
            source_version=None if version is None else version.source_version,
            lakehouse=in_lakehouse(""),
        )
        return kept

    def replace(self, rows: Rows, version: Version) -> int:
        """Delete the partition's rows and write `rows` (a pyarrow Table); how many were deleted.

        None are where exactly these rows are stored already, which is proved column by column: a
        replay then leaves no dead rows behind.
        """
        self._ensure_leaf()
        self._proved = self._prove_stored(version)
        if self._proved is not None:
            return 0
        deleted: int = statements().delete_partition(self._connection, **self._key)
        if rows.num_rows:
            copy_rows(
                self._connection,
                self._partition,
                cast("pa.Table", rows),
                version,
                chunk_rows=self._request.chunk_rows,
            )
        return deleted

    def _prove_stored(self, version: Version) -> Fingerprint | None:
        """The fingerprint of what is stored, where it is what the rows become, to the byte."""
        becomes = self._becomes
        is_recorded = becomes is not None and becomes.checksum == self._recorded_checksum
        if becomes is None or not is_recorded or self.standing().floor != version:
            return None
        # The fingerprint does not look at versions and row hashes; merges go by both.
        is_same = statements().has_row_hashes(
            self._connection,
            **self._key,
            rows=becomes.rows,
            checksum=becomes.checksum,
            authority=int(version.authority),
            source_version=version.source_version,
        )
        stored = self.fingerprint() if is_same else None
        return stored if stored == becomes else None

    def swap_leaf(self, rows: Rows, version: Version) -> int:
        """Build a leaf of `rows` that takes the old one's place at the end; rows of the old one."""
        table = cast("pa.Table", rows)
        chunk_rows = self._request.chunk_rows
        self._built = build_leaf(self._connection, self._partition, table, version, chunk_rows)
        return self._built.replaced_rows

    def _ensure_leaf(self) -> None:
        if self._layout is Layout.LEAVES:
            ensure_leaf(self._connection, self._partition)

    def write_shadows(self, data_version: str | None) -> tuple[ShadowWrite, ...]:
        """Write what is stored now into every shadow, as of the live rows' `data_version`.

        What a shadow refuses is recorded there and told; it is no error.
        """
        if not self._shadows:
            return ()
        return write_shadows(
            self._connection,
            self._partition,
            self._shadows,
            data_version=data_version,
            request=self._request,
            source="daily_demand" if self._built is None else self._built.name,
        )

    def fill_shadows(self) -> tuple[ShadowWrite, ...]:
        """The same, where nothing is written but the shadows."""
        row = statements().shadow_data_version(self._connection, **self._key)
        return self.write_shadows(None if row is None else row["data_version"])

    def stored_rows(self) -> Mapping[Key, MergeRow]:
        """The partition's rows as the oracle of a merge reads them, hashed by the database."""
        return read_stored_rows(self._connection, self._partition)

    def claim_of(self, rows: Rows, version: Version) -> Claim:
        """The engine's rows (a pyarrow Table) as a claim."""
        return claim_of(cast("pa.Table", rows), version)

    def merge(self, rows: Rows, version: Version, standing: Standing) -> int:
        """Merge `rows` by version, row by row; how many rows that added, changed or removed."""
        table = cast("pa.Table", rows)
        self._ensure_leaf()
        return merge_rows(
            self._connection,
            self._partition,
            table,
            version,
            standing.floor,
            chunk_rows=self._request.chunk_rows,
        )

    def statements(self) -> Mapping[tuple[Authority, int], tuple[int, int]]:
        """Rows and sum of hashes of each (authority, source version) that is stored now."""
        return read_statements(self._connection, self._partition)

    def complete_merge(self, completion: MergeCompletion) -> OutputIdentity:
        """Record the claim and what is stored; the identity that describes it."""
        identity = complete_merge(self._connection, self._partition, self._request, completion)
        if identity is None:
            raise refused_move(self._partition, PartitionStatus.DONE, self._request)
        return identity

    def forget_claims(self) -> None:
        """The owner has replaced the partition whole: older statements about it count no more."""
        statements().merge_forget(self._connection, **self._key)

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of what is stored now, computed by the database from the columns."""
        if self._proved is not None:
            return self._proved
        date, region = self._partition.date, self._partition.region
        asked = {**self._key, "prefix": canonical_text((date.isoformat(), region))}
        if self._built is None:
            row = statements().fingerprint_partition(self._connection, **asked)
        else:
            row = fingerprint_built(self._connection, self._built, asked)
        return Fingerprint(**{name: int(value) for name, value in row.items()})

    def complete(self, completion: Completion) -> None:
        """Move the ledger to done, append the event, close an open quarantine.

        A leaf that was built takes its place now: readers wait for nothing but the commit.
        """
        if self._built is not None:
            swap_leaf(self._connection, self._partition, self._built)
        fingerprint, version = completion.fingerprint, completion.version
        exclusions = {rule: asdict(each) for rule, each in completion.exclusions.items()}
        row = statements().complete_partition(
            self._connection,
            **self._key,
            run_id=self._request.run_id,
            sources=list(sources_of(PartitionStatus.DONE)),
            **asdict(completion.identity),
            **asdict(fingerprint),
            data_version=fingerprint.data_version,
            authority=int(version.authority),
            source_version=version.source_version,
            lines=completion.totals.lines,
            exclusions=Jsonb(exclusions),
            seconds=completion.seconds,
            detail=Jsonb(
                {
                    "data_version": fingerprint.data_version,
                    "lines": completion.totals.lines,
                    "replaced_rows": completion.replaced_rows,
                    **choice_detail(completion),
                }
            ),
        )
        if row is None:
            raise refused_move(self._partition, PartitionStatus.DONE, self._request)


def lease_key(partition: Partition) -> int:
    """The advisory lock of a partition: a signed 64-bit hash of its date and region."""
    return key_of(f"{partition.date}|{partition.region}")


def application_name(partition: Partition, run_id: str) -> str:
    """Run and partition in the 63 bytes that PostgreSQL shows of a client."""
    return f"{run_id[:36]} {partition.date:%Y%m%d} {partition.region}"
