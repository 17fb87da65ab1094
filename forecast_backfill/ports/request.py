"""Who asks for partitions, and how."""

from __future__ import annotations

from dataclasses import dataclass

from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """Who asks for partitions, and how: the same for nightly, backfill, CLI and both engines.

    `run_id` is Dagster's run id or the CLI's own; `campaign_id` the backfill id, None outside a
    campaign. `epoch` is the workload's epoch when the run began: a kill raises it, and then nothing
    of this run can commit. `reprocess` writes also what the ledger has as done. `winner` asks for
    an overlap: the campaign then merges, on either side of the seam. `revision` is the number of
    the overlapping campaign, 0 without one. `chunk_rows` is how many rows are written at a time.
    """

    workload: Workload
    run_id: str
    campaign_id: str | None
    epoch: int
    reprocess: bool = False
    winner: Winner | None = None
    revision: int = 0
    chunk_rows: int = 8192
