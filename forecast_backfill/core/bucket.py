"""The token bucket of a workload: how many rows a turn takes, and when a turn has come.

Rows that were taken are counted, and so are the tokens that came in at the rate. A turn has the
number of the last row that it took; it has come once as many tokens came in. So turns come in the
order in which they were taken, whoever waits can be overtaken by nobody, and a changed rate moves
all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

BURST_SECONDS = 0.1
"""What an idle workload may save up: so much time's worth of tokens, one token at least."""

TURN_SECONDS = 0.5
"""The most that one turn takes: so much time's worth of tokens. A dead worker costs a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketLevel:
    """A workload's bucket at one moment, and what else decides whether to go on waiting.

    `taken` and `filled` count rows since ever; `rate` is rows a second, None without a limit.
    """

    taken: float
    filled: float
    rate: int | None
    epoch: int
    is_paused: bool
    reason: str

    def seconds_until(self, turn: float) -> float:
        """How long until the turn has come, at the rate of this moment; 0 where it has."""
        if self.rate is None:
            return 0.0
        return max(0.0, (turn - self.filled) / self.rate)


def split_into_turns(rows: int, *, rate: int, chunk_rows: int) -> Iterator[int]:
    """The rows of a partition as turns of at most a chunk and of at most half a second.

    Raises ValueError where nothing could ever be taken.
    """
    if rate < 1 or chunk_rows < 1:
        raise ValueError(f"{rate} rows a second in chunks of {chunk_rows} take nothing")
    most = max(1, min(chunk_rows, int(rate * TURN_SECONDS)))
    for start in range(0, rows, most):
        yield min(most, rows - start)
