"""Lands a delivery in parts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forecast_backfill.core.partition import Partition
from forecast_backfill_tests.landing.hand_made import land


def land_in_parts(
    directory: Path, partition: Partition, groups: Sequence[Sequence[Mapping[str, Any]]]
) -> Path:
    """Land one packed file a group of lines, with a true manifest; the partition's folder.

    Lines take what they do not name as `land` does; their ids go on from part to part. The groups
    are of the same stores.
    """
    manifests: list[dict[str, Any]] = []
    number = 0
    for group in groups:
        lines = [{"line_id": number + place, **line} for place, line in enumerate(group, start=1)]
        number += len(lines)
        name = f"part-{len(manifests) + 1:04d}.csv.gz"
        folder = land(directory, partition, lines, file_name=name)
        manifests.append(json.loads((folder / "manifest.json").read_text()))
    whole = dict(manifests[0])
    del whole["file"], whole["sha256"]
    for total in ("lines", "units", "revenue_cents"):
        whole[total] = sum(each[total] for each in manifests)
    whole["parts"] = [
        {"file": each["file"], "sha256": each["sha256"], "lines": each["lines"]}
        for each in manifests
    ]
    (folder / "manifest.json").write_text(json.dumps(whole))
    return folder
