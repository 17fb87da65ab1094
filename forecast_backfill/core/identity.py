"""The identity of an output: from which source, by which code and dimensions it was made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputIdentity:
    """What decides whether an output would come out the same again."""

    source_digest: str
    code_version: str
    dimension_version: str
