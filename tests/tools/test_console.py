"""What the commands print."""

import pytest

from hlograph.tools.console import format_seconds, progress


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((123.4, "123 s"), (1.2345, "1.23 s"), (1.0, "1 s"), (0.0456, "45.6 ms"), (0.000789, "789 us")),
        *((7.89e-6, "7.89 us"), (2e-8, "0.02 us"), (0.0, "0 us")),
    ],
)
def test_seconds_have_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


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
