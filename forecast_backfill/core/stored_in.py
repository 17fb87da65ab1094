"""Which warehouse holds an output: a part of the code version that it was written under.

So a campaign under the other setting finds every partition due that was not moved yet, and only
those, and a reader knows where the rows are that the ledger speaks of.
"""

from __future__ import annotations

_DELTA = "@delta"


def in_lakehouse(code_version: str) -> str:
    """The code version of what is written to the lakehouse."""
    return f"{code_version}{_DELTA}"


def is_in_lakehouse(code_version: str | None) -> bool:
    """Whether what was written under the code version lies in the lakehouse."""
    return code_version is not None and code_version.endswith(_DELTA)
