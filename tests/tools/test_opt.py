"""How `opt` takes a file apart."""

from hlograph.tools.opt import Section, split_sections


def test_a_text_without_separators_is_one_section() -> None:
    assert split_sections("module {\n}\n") == [Section("module {\n}\n", 1)]


def test_sections_know_the_line_they_begin_on() -> None:
    assert split_sections("a\nb\n// -----\nc\n// -----\n\nd") == [
        Section("a\nb\n", 1),
        Section("c\n", 4),
        Section("\nd\n", 6),
    ]


def test_sections_of_comments_and_blanks_are_left_out() -> None:
    assert split_sections("// RUN: x\n\n// -----\nb\n// -----\n  // c\n") == [Section("b\n", 4)]


def test_only_a_line_of_its_own_separates() -> None:
    text = "a // -----\n// ------\n //-----\nb\n"
    assert split_sections(text) == [Section(text, 1)]


def test_nothing_gives_no_section() -> None:
    assert split_sections("") == []
