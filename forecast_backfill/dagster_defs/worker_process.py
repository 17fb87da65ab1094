"""Whether a process that a run was given still lives, judged only on the machine that it ran on."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

SLACK_SECONDS = 2.0
"""How much later than it told of itself a process may seem to have started: clocks are rounded."""

WORKER_MARK = b"--multiprocessing-fork"
"""In the command line of each process that a code server starts for a run."""


class Fate(StrEnum):
    """What is known of a process."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where process ids mean something: a host since its last boot, and a namespace of ids on it.

    Boot and namespace are empty where the platform does not tell them.
    """

    host: str
    boot: str
    namespace: str

    def as_text(self) -> str:
        """The machine as a run's tag."""
        return " ".join((self.host, self.boot or "-", self.namespace or "-"))

    @classmethod
    def of(cls, text: str) -> Machine:
        """The machine of a run's tag; of a tag that is none, one that is nowhere."""
        parts = text.split(" ")
        if len(parts) != 3:
            return cls(host="", boot="", namespace="")
        host, boot, namespace = ("" if part == "-" else part for part in parts)
        return cls(host=host, boot=boot, namespace=namespace)


@cache
def this_machine() -> Machine:
    """The machine that this process runs on."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        boot = namespace = ""
    return Machine(host=socket.gethostname(), boot=boot, namespace=namespace)


def fate_of(pid: int, *, started_at: float, machine: Machine, here: Machine) -> Fate:
    """What became of the process that told at `started_at` (epoch seconds) that it had the id.

    After another boot of the same host it is gone; on any other machine nothing is known.
    """
    if machine.host != here.host or not machine.boot or not here.boot:
        return Fate.UNKNOWN
    if machine.boot != here.boot:
        return Fate.GONE
    if machine.namespace != here.namespace:
        return Fate.UNKNOWN
    began = _began_at(pid)
    if began is None:
        return Fate.GONE
    # A later process may have been given the id again. It may also only seem to be later, where the
    # clock was set meanwhile: what looks like a worker is none that is certainly gone.
    is_same = began <= started_at + SLACK_SECONDS or _looks_like_a_worker(pid)
    return Fate.ALIVE if is_same else Fate.GONE


def is_stopped(pid: int) -> bool:
    """Whether the process was stopped (SIGSTOP, a debugger), so that it hears nothing."""
    fields = _fields_of(pid)
    return fields is not None and fields[0] in ("T", "t")


def _began_at(pid: int) -> float | None:
    """When the process with the id began, epoch seconds; None where there is none, or a zombie."""
    fields = _fields_of(pid)
    if fields is None or fields[0] in ("Z", "X"):
        return None
    # The time first: who is held up between the two must not take the process for a later one.
    now = time.time()
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return now - uptime + int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _looks_like_a_worker(pid: int) -> bool:
    try:
        return WORKER_MARK in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _fields_of(pid: int) -> list[str] | None:
    """What the kernel tells of a process from its state on; None where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, in brackets, may hold anything; the state is the next field, the start the 22nd.
    return text.rpartition(")")[2].split()
