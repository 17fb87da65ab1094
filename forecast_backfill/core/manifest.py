"""The manifest: what the retailer says it delivered, read from the bytes of `manifest.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from forecast_backfill.core.source import ControlTotals, FaultCode

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedPart:
    """One file of a delivery that comes as several; `lines` does not count its header."""

    file: str
    sha256: str
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What the retailer says it delivered: totals, the landed file's SHA-256, export instant.

    A delivery of several files names them in `parts`; `file` and `sha256` are then those of the
    first. The totals are over all of them.
    """

    schema_version: int
    date: str
    region: str
    file: str
    sha256: str
    exported_at: datetime
    totals: ControlTotals
    parts: tuple[LandedPart, ...] = ()

    @property
    def files(self) -> tuple[LandedPart, ...]:
        """The files that were delivered, one or several."""
        if self.parts:
            return self.parts
        return (LandedPart(file=self.file, sha256=self.sha256, lines=self.totals.lines),)

    @property
    def source_version(self) -> int:
        """The version of every row of it: `exported_at` in microseconds since 1970 UTC."""
        delta = self.exported_at - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
        return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


class ManifestRefused(ValueError):
    """A manifest that cannot be read; `code` is the fault to record."""

    def __init__(self, code: FaultCode, reason: str, column: str | None = None) -> None:
        self.code = code
        self.reason = reason
        self.column = column
        super().__init__(reason)


def parse_manifest(content: bytes) -> Manifest:
    """Read a manifest from the bytes of `manifest.json`.

    Raises ManifestRefused where it is not JSON, lacks a field, or has one of the wrong type.
    """
    try:
        raw: Any = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise ManifestRefused(
            FaultCode.MANIFEST_UNREADABLE, f"the manifest is not JSON in UTF-8: {error}"
        ) from error
    if not isinstance(raw, dict):
        raise ManifestRefused(FaultCode.MANIFEST_UNREADABLE, "the manifest is not a JSON object")
    fields = cast("dict[str, Any]", raw)
    version = _integer(fields, "schema_version")
    if version != SCHEMA_VERSION:
        raise ManifestRefused(
            FaultCode.MANIFEST_SCHEMA,
            f"schema version {version} is not the supported {SCHEMA_VERSION}",
            "schema_version",
        )
    parts = _parts(fields) if "parts" in fields else ()
    return Manifest(
        schema_version=version,
        date=_text(fields, "date"),
        region=_text(fields, "region"),
        file=parts[0].file if parts else _text(fields, "file"),
        sha256=parts[0].sha256 if parts else _text(fields, "sha256").lower(),
        exported_at=_instant(fields, "exported_at"),
        totals=ControlTotals(
            lines=_integer(fields, "lines"),
            units=_integer(fields, "units"),
            revenue_cents=_integer(fields, "revenue_cents"),
            stores=_integer(fields, "stores"),
        ),
        parts=parts,
    )


def _parts(fields: Mapping[str, Any]) -> tuple[LandedPart, ...]:
    listed: Any = fields["parts"]
    if not isinstance(listed, list) or not listed:
        raise ManifestRefused(
            FaultCode.MANIFEST_SCHEMA, "parts is not a list of the files delivered", "parts"
        )
    parts: list[LandedPart] = []
    for each in cast("list[Any]", listed):
        if not isinstance(each, dict):
            reason = f"a part is not a JSON object: {each!r}"
            raise ManifestRefused(FaultCode.MANIFEST_SCHEMA, reason, "parts")
        part = cast("dict[str, Any]", each)
        parts.append(
            LandedPart(
                file=_text(part, "file"),
                sha256=_text(part, "sha256").lower(),
                lines=_integer(part, "lines"),
            )
        )
    if len({part.file for part in parts}) < len(parts):
        raise ManifestRefused(FaultCode.MANIFEST_SCHEMA, "parts names a file twice", "parts")
    return tuple(parts)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field stands there twice")
    return fields


def _field(fields: Mapping[str, Any], name: str) -> Any:
    if name not in fields:
        raise ManifestRefused(
            FaultCode.MANIFEST_SCHEMA, f"the manifest has no field {name!r}", name
        )
    return fields[name]


def _integer(fields: Mapping[str, Any], name: str) -> int:
    value = _field(fields, name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ManifestRefused(
            FaultCode.MANIFEST_SCHEMA, f"{name} is not an integer: {value!r}", name
        )
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = _field(fields, name)
    if not isinstance(value, str) or not value:
        raise ManifestRefused(FaultCode.MANIFEST_SCHEMA, f"{name} is not a text: {value!r}", name)
    return value


def _instant(fields: Mapping[str, Any], name: str) -> datetime:
    text = _text(fields, name)
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise ManifestRefused(
            FaultCode.MANIFEST_SCHEMA, f"{name} is not an ISO 8601 instant: {text!r}", name
        ) from error
    if instant.tzinfo is None:
        raise ManifestRefused(
            FaultCode.MANIFEST_SCHEMA, f"{name} carries no offset from UTC: {text!r}", name
        )
    return instant
