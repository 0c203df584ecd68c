"""`hlograph explain --stages`: the table, one stage's text, differences, the page, and every way to ask wrongly."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hlograph
from hlograph.codegen.passes.rewriting import REWRITES
from hlograph.tools.cli import main

TWICE = """
module @twice {
  func.func public @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]},
      %y: tensor<?xf32> {hlograph.name = "y", hlograph.dims = ["n"]}) -> tensor<?xf32> {
    %0 = stablehlo.add %x, %y : tensor<?xf32>
    %1 = stablehlo.multiply %x, %y : tensor<?xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<?xf32>
    return %2 : tensor<?xf32>
  }
}
"""

USERS_REWRITE = '''
from hlograph.passes import rewrite, stablehlo

@rewrite("stablehlo.add", name="swap_operands_of_add", exact=True)
def swap(op):
    """x + y becomes maximum(x, y), which is nonsense that is easy to see."""
    return stablehlo.maximum(op.operands[0], op.operands[1])
'''

MODEL = """
import pytensor.tensor as pt
x, y = pt.dvector("x"), pt.dvector("y")
loss = ([x, y], [(pt.sin(x / y) + pt.cos(x / y)).sum()])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder: modules, rewrites and a model. What they leave in Python is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "twice.mlir").write_text(TWICE)
    (tmp_path / "four.mlir").write_text(TWICE.replace("?", "4").replace('"n"', '"4"'))
    (tmp_path / "stages_rewrites.py").write_text(USERS_REWRITE)
    (tmp_path / "stages_model.py").write_text(MODEL)
    yield tmp_path
    REWRITES.pop("swap_operands_of_add", None)
    for name in ("stages_rewrites", "stages_model"):
        sys.modules.pop(name, None)


def explain(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["explain", *arguments])
    return code, out.getvalue(), err.getvalue()


def succeed(*arguments: str) -> str:
    code, out, err = explain(*arguments)
    assert code == 0, err
    return out


def rows(text: str) -> dict[str, list[str]]:
    """The table's rows by stage: the cells, which two spaces separate."""
    found = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.startswith("  ")]
    return {name: cells for name, *cells in found}


def test_a_row_for_each_stage(folder: Path) -> None:
    table = rows(succeed("twice.mlir", "--stages", "--size", "n=4"))
    assert list(table) == ["stage", "emitted", "specialize", "cpu_regions", "lowered", "optimized HLO"]
    assert table["stage"] == ["ops", "flops", "bytes", "temporary", "compile", "pass"]
    assert table["emitted"] == ["3"]
    assert table["specialize"][:4] == ["3", "12", "48 B", "0 B"]
    assert int(table["lowered"][0]) == int(table["cpu_regions"][0]) + 1  # the call of the module is an operation
    assert table["lowered"][1:4] == table["cpu_regions"][1:4] != table["specialize"][1:4]  # what a call runs


def test_sizes_that_the_policy_pads_to(folder: Path) -> None:
    table = rows(succeed("twice.mlir", "--stages", "--policy", "16", "--no-costs"))
    assert list(table) == ["stage", "emitted", "pad", "cpu_regions", "lowered"]


def test_the_default_passes_and_ones_own(folder: Path) -> None:
    text = succeed("four.mlir", "--stages", "--load", "stages_rewrites.py", "--pass", "default",
                   "--pass", "swap_operands_of_add", "--no-costs")  # fmt: skip
    assert list(rows(text)) == ["stage", "emitted", "swap_operands_of_add", "cpu_regions", "lowered"]
    assert "changed nothing: roll_loops, simplify, loop_writes, " in text


def test_a_graph_in_a_python_file(folder: Path) -> None:
    table = rows(succeed("stages_model.py:loss", "--dims", "x=n", "--dims", "y=n", "--stages", "--size", "n=10"))
    assert int(table["optimized HLO"][0]) > 3
    text = succeed("stages_model.py:loss", "--dims", "x=n", "--dims", "y=n", "--stage", "emitted", "--size", "n=10")
    assert text.count("stablehlo.divide") == 1  # it is written twice


def test_one_stages_text_is_a_module(folder: Path) -> None:
    text = succeed("twice.mlir", "--stage", "specialize", "--size", "n=4")
    assert hlograph.Program.parse(text).text == hlograph.Program.parse(TWICE).specialize({"n": 4}).text
    assert "hlograph_twice" in succeed("twice.mlir", "--stage", "lowered", "--size", "n=4")
    hlo = succeed("twice.mlir", "--stage", "hlo", "--size", "n=4")
    assert hlo.startswith("HloModule")
    assert "FileNames" not in hlo


def test_the_difference_to_the_stage_before(folder: Path) -> None:
    text = succeed("four.mlir", "--load", "stages_rewrites.py", "--pass", "swap_operands_of_add",
                   "--stage", "swap_operands_of_add", "--diff")  # fmt: skip
    lines = text.splitlines()
    assert lines[:2] == ["--- emitted", "+++ swap_operands_of_add"]
    changed = [line for line in lines[2:] if line.startswith(("+", "-"))]
    assert [line[0] + re.sub(r".* = ", "", line) for line in changed] == [
        "-stablehlo.add %x, %y : tensor<4xf32>",
        "+stablehlo.maximum %x, %y : tensor<4xf32>",
    ]


def test_the_page(folder: Path) -> None:
    assert succeed("twice.mlir", "--stages", "--size", "n=4", "--html", "page.html") == ""
    text = (folder / "page.html").read_text()
    assert "<h1>twice (n = 4)</h1>" in text
    assert re.findall("<h2>(.* to .*)</h2>", text) == [
        *("emitted to specialize", "specialize to cpu_regions", "cpu_regions to lowered"),
    ]
    assert "<td>12</td>" in text
    assert "tensor&lt;4xf32&gt;" in text
    assert "<4xf32>" not in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--stages"], 1, "the size n is not known"),
        (["--stages", "--size", "m=4"], 1, "the program has no size 'm'"),
        (["--stages", "--size", "n"], 2, "what sizes are, as in 'n=100,m=3'"),
        (["--size", "n=4"], 2, "are for --stages"),
        (["--stages", "--bound", "n=4"], 2, "--bound is not for --stages"),
        (["--stages", "--size", "n=4", "--diff"], 2, "--diff needs --stage NAME"),
        (["--stage", "emitted", "--size", "n=4", "--diff"], 2, "emitted is the first stage"),
        (["--stage", "hlo", "--size", "n=4", "--diff"], 2, "the optimized HLO is none of them"),
        (["--stage", "specialise", "--size", "n=4"], 1, "no stage 'specialise'; did you mean 'specialize'?"),
        (["--stages", "--size", "n=4", "--pass", "cze"], 1, "unknown pass 'cze'; did you mean 'cse'?"),
        (["--stages", "--size", "n=4", "--pass", "none", "--pass", "cse"], 2, "stands alone"),
        (["--stages", "--size", "n=4", "--load", "nowhere.py"], 1, "nowhere.py: no such file"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, arguments: list[str], code: int, message: str) -> None:
    found, out, err = explain("twice.mlir", *arguments)
    assert (found, out) == (code, "")
    assert message in err
    assert err.startswith("hlograph: error: ")
    assert err.count("\n") == 1
