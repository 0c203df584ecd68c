"""How `opt` takes a file apart."""

import pytest

from hlograph.tools.opt import Section, split_sections


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("module {\n}\n", [Section("module {\n}\n", 1)]),
        ("a\nb\n// -----\nc\n// -----\n\nd", [Section("a\nb\n", 1), Section("c\n", 4), Section("\nd\n", 6)]),
        ("// RUN: x\n\n// -----\nb\n// -----\n  // c\n", [Section("b\n", 4)]),  # comments and blanks are none
        ("a // -----\n// ------\n //-----\nb\n", [Section("a // -----\n// ------\n //-----\nb\n", 1)]),
        ("", []),
    ],
)
def test_sections_know_the_line_they_begin_on(text: str, sections: list[Section]) -> None:
    assert split_sections(text) == sections
