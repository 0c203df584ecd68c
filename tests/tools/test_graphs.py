"""`FILE.py:NAME`: what is found, and what is said when it is not."""

import sys
from pathlib import Path
from typing import Any

import click
import pytest

from hlograph.tools.graphs import GraphPath, load_graph


@pytest.fixture(autouse=True)
def _import_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs a file of the same name: forget it afterwards, with its folder on the path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "model", sys)
    monkeypatch.delitem(sys.modules, "model")


def load(folder: Path, source: str, name: str) -> Any:
    file = folder / "model.py"
    file.write_text(source)
    return load_graph(GraphPath(file, name))


def fail(folder: Path, source: str, name: str) -> str:
    with pytest.raises(click.ClickException) as caught:
        load(folder, source, name)
    message = caught.value.format_message()
    assert "\n" not in message
    return message.replace(str(folder), "")


def test_a_path_is_a_file_and_a_name() -> None:
    assert GraphPath.parse("a/model.py:loss") == GraphPath(Path("a/model.py"), "loss")
    assert GraphPath.parse(r"C:\a\model.py:loss").name == "loss"


@pytest.mark.parametrize("text", ["model.py", "model.py:", "model:loss", "model.mlir:loss", ":loss"])
def test_a_path_without_file_or_name_is_a_wrong_command(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"as in model\.py:loss"):
        GraphPath.parse(text)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("loss = 3", "loss"),
        ("class model:\n    loss = 3", "model.loss"),
        ("def make(size=3): return size", "make"),
        ("import functools\ndef scaled(k): return k\nmake = functools.partial(scaled, 3)", "make"),
    ],
)
def test_objects_are_found_and_functions_without_arguments_called(tmp_path: Path, source: str, name: str) -> None:
    assert load(tmp_path, source, name) == 3


def test_an_object_that_happens_to_be_callable_is_not_called(tmp_path: Path) -> None:
    found = load(tmp_path, "class F:\n    def __call__(self): raise RuntimeError\nf = F()", "f")
    assert type(found).__name__ == "F"


def test_the_file_sees_its_neighbours_and_itself(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_model.py").write_text("value = 5")
    source = (
        "import sys\nfrom neighbour_of_model import value\n"
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    b: 'int' = value\n"
        "found = (__file__, A().b, sys.modules[__name__].A is A)"
    )
    assert load(tmp_path, source, "found") == (str(tmp_path / "model.py"), 5, True)


def test_what_the_file_prints_goes_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(tmp_path, "print('top')\ndef make(): print('inside')", "make")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "top\ninside\n"


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("loss = 1", "los", "/model.py: there is no los in this file; it has loss"),
        ("alpha = 1\nbeta = 2", "zzz", "/model.py: there is no zzz in this file; it has alpha, beta"),
        ("", "loss", "/model.py: there is no loss in this file"),
        ("\nx = 1 / 0", "x", "/model.py:2: ZeroDivisionError: division by zero"),
        ("def f():\n    pass\n    raise KeyError('k')", "f", "/model.py:3: KeyError: 'k'"),
        ("def f():\n    raise ValueError", "f", "/model.py:2: ValueError"),
        ("x = (\n", "x", "/model.py:1: SyntaxError: '(' was never closed"),
        ("import sys\nsys.exit(0)", "x", "/model.py:2: SystemExit: 0"),
        ("import nowhere_to_be_found", "x", "/model.py:1: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        (
            "def f(a, b=1, *, c): pass",
            "f",
            "/model.py:f: is a function that takes a, c; give a graph, or a function without arguments that returns "
            "one, or the program that hlograph.emit_stablehlo makes of a function of JAX arrays",
        ),
    ],
)
def test_what_goes_wrong_is_one_line_with_its_place(tmp_path: Path, source: str, name: str, message: str) -> None:
    assert fail(tmp_path, source, name) == message


def test_the_innermost_line_of_the_file_is_named_when_a_library_raises(tmp_path: Path) -> None:
    message = fail(tmp_path, "import json\ndef f():\n    return json.loads('{')", "f")
    assert message.startswith("/model.py:3: JSONDecodeError: ")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match=r"other\.py: no such file"):
        load_graph(GraphPath(tmp_path / "other.py", "x"))
