"""What the commands print."""

import pytest

from hlograph.tools.console import columns, count, format_dims, format_seconds, progress


def test_columns_align_and_leave_no_trailing_spaces() -> None:
    text = columns([("name", "dtype", ""), ("x", "float64", "1.5"), ("longer", "f32", "")], indent="  ")
    assert text.splitlines() == [
        "  name    dtype",
        "  x       float64  1.5",
        "  longer  f32",
    ]


def test_no_rows_give_no_text() -> None:
    assert columns([]) == ""


def test_rows_of_different_lengths_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="zip"):
        columns([("a", "b"), ("c",)])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (123.4, "123 s"),
        (1.2345, "1.23 s"),
        (1.0, "1 s"),
        (0.0456, "45.6 ms"),
        (0.000789, "789 us"),
        (7.89e-6, "7.89 us"),
        (2e-8, "0.02 us"),
        (0.0, "0 us"),
    ],
)
def test_seconds_have_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_dims_and_counts() -> None:
    assert format_dims(()) == "()"
    assert format_dims(("n", 8)) == "(n, 8)"
    assert count(1, "input") == "1 input"
    assert count(0, "input") == "0 inputs"


def test_progress_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("compiling"):
        pass
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_progress_shows_its_label_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress("compiling [loss]"):
        print("a result")
    captured = capsys.readouterr()
    assert captured.out == "a result\n"
    assert "compiling [loss]" in captured.err
