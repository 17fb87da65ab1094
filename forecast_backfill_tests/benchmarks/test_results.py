"""Sections of RESULTS.md are replaced one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.results import write_section


def test_a_first_section_begins_the_file_with_its_heading(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    write_section("campaign", "## Campaign\n\nfast\n", path)
    assert path.read_text() == (
        "# Results\n\nWritten by the benches (see README.md beside this file); not by hand.\n\n"
        "<!-- begin: campaign -->\n## Campaign\n\nfast\n<!-- end: campaign -->\n"
    )


def test_a_section_is_replaced_where_it_stands_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    for name in ("one", "two", "three"):
        write_section(name, f"old {name}", path)
    before = path.read_text()
    write_section("two", "new", path)
    assert path.read_text() == before.replace("old two", "new")


def test_what_a_hand_wrote_between_sections_stays(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    write_section("one", "old", path)
    path.write_text(path.read_text() + "\nby hand\n")
    write_section("one", "new", path)
    write_section("two", "other", path)
    assert path.read_text().endswith(
        "new\n<!-- end: one -->\n\nby hand\n\n<!-- begin: two -->\nother\n<!-- end: two -->\n"
    )


@pytest.mark.parametrize("left", ["<!-- begin: one -->\n", "<!-- end: one -->\n"])
def test_a_marker_without_its_other_half_is_refused(tmp_path: Path, left: str) -> None:
    path = tmp_path / "RESULTS.md"
    path.write_text(f"# Results\n\n{left}")
    with pytest.raises(ValueError, match="only one of the two markers"):
        write_section("one", "new", path)
    assert path.read_text() == f"# Results\n\n{left}"


def test_a_name_that_would_break_a_marker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not lower-case letters"):
        write_section("one -->", "new", tmp_path / "RESULTS.md")
