"""Writes the campaigns' figures as the section of `RESULTS.md` that `make bench` owns."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.bare_copy import BareCopy
from benchmarks.campaign import CampaignFigures

FULL_SIZE = 3_600
"""Partitions from which on the figures are judged: a small campaign is mostly waiting."""

HEADER = """\
| what | partitions | runs | launch → first commit | launch → last commit | partitions/min \
| a run, median | peak memory of a run |
|---|---:|---:|---:|---:|---:|---:|---:|"""

HOW = """\
How it was measured:

- Real sales of The Complete Journey, landed before; each campaign has a home, a database and a \
`dagster dev` of its own with the checkout's `dagster.yaml`, and starts when the daemon is at work.
- Launch is the GraphQL call; commits are the `written` events of the history. The daemon looks \
for new backfills every 30 s and has just looked: nearly all of that wait is in launch → first \
commit.
- One run a partition: the same graph, files and settings but FORECAST_BACKFILL_BATCH_SIZE=1, \
directly after, on a sample. Scaled = its launch → first commit once, then first → last commit in \
proportion. What Dagster itself needs longer for thousands of runs is not in it.
- Peak memory: the largest VmHWM of the processes that the code server spawns, one a run, read \
from outside twice a second.
- Bare COPY: all rows of the campaign, encoded before, from a file through psycopg into a table \
without index or key, WAL written, median of 5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignReport:
    """Both campaigns of a session, and bare COPY of the rows of the first."""

    batched: CampaignFigures
    single: CampaignFigures
    bare: BareCopy

    @property
    def scaled_seconds(self) -> float:
        """How long one run a partition would have taken for the whole campaign."""
        return self.single.seconds_for(self.batched.partitions)

    @property
    def ratio(self) -> float:
        """How many times faster batches are."""
        return self.scaled_seconds / self.batched.launch_to_last

    @property
    def ratio_without_wait(self) -> float:
        """The same from first to last commit."""
        return self.single.seconds_each / self.batched.seconds_each

    @property
    def is_full_size(self) -> bool:
        """Whether the figures can be judged."""
        return self.batched.partitions >= FULL_SIZE

    @property
    def verdicts(self) -> tuple[tuple[str, str, str, bool], ...]:
        """Name, measured value, limit, and whether it was reached."""
        seconds, peak = self.batched.launch_to_last, self.batched.peak_mib
        rate = self.ratio_without_wait
        return (
            ("launch to last commit", f"{seconds:.0f} s", "≤ 360 s (aim 240 s)", seconds <= 360),
            ("rate against one run a partition", f"{rate:.1f} ×", "≥ 20 ×", rate >= 20),
            ("peak memory of a run", f"{peak:.0f} MiB", "≤ 500 MiB", 0 < peak <= 500),
        )

    def as_markdown(self, *, command: str, machine: str) -> str:
        """The section: machine, command, table, verdicts, and how it was measured."""
        batched, bare = self.batched, self.bare
        return "\n".join(
            [
                "## A campaign through Dagster's daemon",
                "",
                machine,
                f"- Command: `{command}`",
                "",
                HEADER,
                _row(f"batches of {batched.batch_size}", batched),
                _row("one run a partition, a sample", self.single),
                self._scaled_row(),
                f"| bare COPY of the same rows | {batched.partitions:,} | – | – "
                f"| {bare.seconds:.3f} s | {batched.partitions * 60 / bare.seconds:,.0f} | – | – |",
                "",
                self._comparison(),
                "",
                *self._verdict_lines(),
                "",
                HOW,
            ]
        )

    def _comparison(self) -> str:
        batched, bare = self.batched, self.bare
        each = batched.task_seconds / batched.partitions
        share = batched.task_seconds / batched.launch_to_last
        return (
            f"From first to last commit batches have {self.ratio_without_wait:.1f} times the rate "
            f"of one run a partition; with the wait for the first commit, which both have once, "
            f"the campaign takes 1/{self.ratio:.1f} of the time. They wrote "
            f"{batched.rows:,} rows, {bare.encoded_bytes / 1e6:.1f} MB as COPY sends them; bare "
            f"COPY is {batched.launch_to_last / bare.seconds:,.0f} times as fast. The partition "
            f"tasks took {batched.task_seconds:.1f} s in all, {each * 1000:.0f} ms each: "
            f"{share:.2f} s in each second from launch to last commit."
        )

    def _scaled_row(self) -> str:
        count, seconds = self.batched.partitions, self.scaled_seconds
        first = f"{self.single.launch_to_first:.1f} s"
        return (
            f"| one run a partition, scaled | {count:,} | {count:,} | {first} "
            f"| {seconds:,.0f} s | {count * 60 / seconds:,.1f} | – | – |"
        )

    def _verdict_lines(self) -> list[str]:
        if not self.is_full_size:
            return [f"Not judged: the figures are for {FULL_SIZE:,} partitions and more."]
        rows = [
            f"| {name} | {value} | {limit} | {'yes' if is_reached else 'NO'} |"
            for name, value, limit, is_reached in self.verdicts
        ]
        return ["| figure | measured | reach | reached |", "|---|---:|---:|---|", *rows]


def _row(name: str, figures: CampaignFigures) -> str:
    run = "–" if figures.run_seconds is None else f"{figures.run_seconds:.1f} s"
    return (
        f"| {name} | {figures.partitions:,} | {figures.runs:,} | {figures.launch_to_first:.1f} s "
        f"| {figures.launch_to_last:.1f} s | {figures.per_minute:,.1f} | {run} "
        f"| {figures.peak_mib:.0f} MiB |"
    )
