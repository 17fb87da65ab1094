"""The words and JSON of `forecast-backfill reconcile --seam`."""

from __future__ import annotations

import json

import click

from forecast_backfill.core.seam_audit import SeamAudit


def show_audit(audit: SeamAudit, *, as_json: bool) -> int:
    """Every finding by date; the exit code is 1 where one is not explained by a record."""
    if as_json:
        fields = {
            "from": str(audit.dates.start),
            "to": str(audit.dates.end),
            "seam": str(audit.seam),
            "partitions": audit.partitions,
            "keys": audit.keys,
            "sound": audit.is_sound,
            "findings": [
                {
                    "date": str(each.date),
                    "kind": each.kind,
                    "owner": each.owner,
                    "regions": list(each.regions),
                    "reason": each.reason,
                    "explained": each.is_explained,
                }
                for each in audit.findings
            ],
        }
        click.echo(json.dumps(fields))
        return 0 if audit.is_sound else 1
    for each in audit.findings:
        click.echo(f"{each}{' (recorded, no fault)' if each.is_explained else ''}")
    click.echo(
        f"{audit.partitions} partitions, {audit.keys} keys, seam {audit.seam}: "
        + ("every key once, of the version that has won" if audit.is_sound else "not sound")
    )
    if not audit.is_sound:
        click.echo("  next: forecast-backfill backfill over gaps; reconcile --repair for the rest")
    return 0 if audit.is_sound else 1
