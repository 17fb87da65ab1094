"""Keeps `RESULTS.md`: each bench replaces its own section and leaves those of the others alone."""

from __future__ import annotations

import re
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
HEADING = "# Results\n\nWritten by the benches (see README.md beside this file); not by hand.\n"
NAME = re.compile(r"[a-z0-9_]+")


def write_section(name: str, markdown: str, path: Path = RESULTS) -> None:
    """Replace the section `name` between its markers, or add it at the end.

    Raises ValueError where the name would not fit a marker, or a marker lacks its other half.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not lower-case letters, digits and underscores")
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    section = f"{begin}\n{markdown.strip()}\n{end}\n"
    text = path.read_text("utf-8") if path.exists() else HEADING
    before, has_begin, rest = text.partition(f"{begin}\n")
    _, has_end, after = rest.partition(f"{end}\n")
    if bool(has_begin) != bool(has_end) or (not has_begin and f"{end}\n" in text):
        raise ValueError(f"{path} holds only one of the two markers of the section {name!r}")
    text = f"{before}{section}{after}" if has_begin else f"{text.rstrip()}\n\n{section}"
    unfinished = path.with_suffix(".new")
    unfinished.write_text(text, "utf-8")
    unfinished.replace(path)
