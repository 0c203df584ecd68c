"""The command line from end to end: a PyTensor file to a module to results, and every way to get it wrong."""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import pytest
from scripts import run_script

import hlograph as package
from hlograph.codegen.artifact import foreign
from hlograph.codegen.passes.rewriting import REWRITES
from hlograph.tools.cli import main
from hlograph.tools.console import format_seconds, progress
from hlograph.tools.files import DIMS, entries_of, parted

MODEL = '''
import pytensor
import pytensor.tensor as pt
from pytensor.graph.fg import FunctionGraph
from pytensor.raise_op import Assert

print("a line that must not get into the module")

x = pt.matrix("x", dtype="float64")
w = pt.vector("w", dtype="float64")
predicted = pt.dot(x, w)
predicted.name = "predicted"
loss = (predicted**2).sum()
loss.name = "loss"

pair = ([x, w], [predicted, loss])
fgraph = FunctionGraph([x, w], [predicted, loss], clone=True)
compiled = pytensor.function([x, w], [predicted, loss], mode=pytensor.compile.mode.Mode(linker="py", optimizer=None))
checked = ([w], [Assert("the weights must be positive")(w.sum(), pt.all(w > 0))])
scale = pytensor.shared(2.0, name="scale")
scaled = w * scale
scaled.name = "scaled"
with_shared = ([w], [scaled])
y = pt.dvector("y")
twice = ([w, y], [(pt.sin(w / y) + pt.cos(w / y)).sum()])


def make_pair():
    """The graph, from a function."""
    return pair

'''

PLAIN = """
func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<?xf32>
  %1 = stablehlo.add %arg0, %arg1 : tensor<?xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<?xf32>
  return %2 : tensor<?xf32>
}
"""

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

REWRITE = '''
from hlograph.passes import rewrite, stablehlo

@rewrite("stablehlo.add", name="swap_operands_of_add", exact=True)
def swap(op):
    """x + y becomes maximum(x, y), which is nonsense that is easy to see."""
    return stablehlo.maximum(op.operands[0], op.operands[1])
'''

X = np.arange(24, dtype=np.float64).reshape(3, 8) / 10
W = np.linspace(-1, 1, 8)


@dataclass(frozen=True)
class Outcome:
    """What one command gave."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The error; it must be one line, and all that was printed."""
        assert self.code in (1, 2), self
        assert self.out == "", self
        assert re.fullmatch(r"hlograph: error: [^\n]+\n", self.err), self.err
        return self.err.removeprefix("hlograph: error: ").rstrip("\n")


def hlograph(*arguments: object, stdin: bytes = b"") -> Outcome:
    """Run the command line in this process."""
    out, err, real = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
    finally:
        sys.stdin = real
    return Outcome(code, out.getvalue(), err.getvalue())


def succeed(*arguments: object, stdin: bytes = b"") -> str:
    """Run the command line, which must go well, and return what it printed."""
    outcome = hlograph(*arguments, stdin=stdin)
    assert outcome.code == 0, outcome.err
    return outcome.out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder: modules, a model, rewrites, data. What they leave in Python is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "plain.mlir").write_text(PLAIN)
    (tmp_path / "twice.mlir").write_text(TWICE)
    (tmp_path / "four.mlir").write_text(TWICE.replace("?", "4").replace('"n"', '"4"'))
    (tmp_path / "rewrites.py").write_text(REWRITE)
    np.savez(tmp_path / "data.npz", x=X, w=W)
    yield tmp_path
    REWRITES.pop("swap_operands_of_add", None)
    for name in ("model", "rewrites"):
        sys.modules.pop(name, None)


# ---- from a graph to results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pair", "fgraph", "compiled", "make_pair"])
@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_a_graph_of_any_kind_is_emitted_and_run(folder: Path, name: str, suffix: str) -> None:
    report = succeed("emit", f"model.py:{name}", "-o", f"out{suffix}")
    assert report.startswith(f"out{suffix}: 2 inputs, 2 outputs, ")
    succeed("run", f"out{suffix}", "--inputs", "data.npz", "--output", "results.npz")
    results = np.load("results.npz")
    assert len(results.files) == 2
    first, second = (results[key] for key in results.files)
    np.testing.assert_allclose(first, X @ W, rtol=1e-14)
    np.testing.assert_allclose(second, ((X @ W) ** 2).sum(), rtol=1e-14)
    assert "interpreted in " in succeed("run", f"out{suffix}", "--inputs", "data.npz", "-o", "again.npz", "--interpret")
    np.testing.assert_allclose(np.load("again.npz")["predicted"], X @ W, rtol=1e-14)
    assert {file.suffix for file in folder.iterdir()} <= {"", ".py", ".mlir", ".mlirbc", ".npz"}


def test_a_module_on_stdout_is_the_module_alone(folder: Path) -> None:
    outcome = hlograph("emit", "model.py:pair")
    assert outcome.code == 0
    assert outcome.out.startswith(("module", "#"))
    assert outcome.err == "a line that must not get into the module\n"
    assert "predicted" in succeed("explain", "-", stdin=outcome.out.encode())


def test_run_shows_a_row_for_each_result(folder: Path) -> None:
    succeed("emit", "model.py:pair", "-o", "out.mlir")
    lines = succeed("run", "out.mlir", "--inputs", "data.npz", "--device", "cpu").splitlines()
    assert lines[0].split() == ["result", "dtype", "shape"]
    assert lines[1].split() == ["predicted", "float64", "(3)"]
    assert lines[2].split()[:3] == ["loss", "float64", "()"]
    assert float(lines[2].split()[3]) == pytest.approx(((X @ W) ** 2).sum(), rel=1e-12)
    assert re.fullmatch(r"compiled in [\d.]+ (s|ms|us), ran in [\d.]+ (s|ms|us)", lines[3])


FUNCTIONS = """
import hlograph
import jax
import jax.numpy as jnp

def made():
    specs = jax.ShapeDtypeStruct(("n", 8), "float32"), jax.ShapeDtypeStruct((8,), "float32")
    return hlograph.emit_stablehlo(lambda x, w: jnp.tanh(x @ w).sum() * 2, *specs)
"""


def test_programs_of_functions_of_jax_are_emitted(folder: Path) -> None:
    (folder / "functions.py").write_text(FUNCTIONS)
    np.savez(folder / "narrow.npz", x=X.astype(np.float32), w=W.astype(np.float32))
    succeed("emit", "functions.py:made", "-o", "loss.mlir")
    assert 'hlograph.dims = ["n", "8"]' in (folder / "loss.mlir").read_text()
    succeed("run", "loss.mlir", "--inputs", "narrow.npz", "--output", "out.npz")
    np.testing.assert_allclose(np.load("out.npz")["out"], 2 * np.tanh(X @ W).sum(), rtol=1e-5)
    assert "tensor<3x8xf32>" in succeed("emit", "functions.py:made", "--dims", "n=3")
    assert "are for graphs" in hlograph("emit", "functions.py:made", "--name", "loss").error


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float8_e5m2", "bfloat16", "int4"])
def test_narrow_types_go_through_npz_files_under_their_names(folder: Path, dtype: str) -> None:
    name = {"float8_e5m2": "f8E5M2", "bfloat16": "bf16", "int4": "i4"}[dtype]
    same = f"func.func @main(%arg0: tensor<?x{name}>) -> tensor<?x{name}> {{ return %arg0 : tensor<?x{name}> }}"
    (folder / "same.mlir").write_text(same)
    wanted = np.array([1, 2, -3], dtype)
    np.savez("in.npz", arg0=wanted.view(np.dtype([(dtype, f"u{wanted.itemsize}")])))
    succeed("run", "same.mlir", "--inputs", "in.npz", "--output", "out.npz")
    found = np.load("out.npz")["result0"]
    assert found.dtype.names == (dtype,)
    np.testing.assert_array_equal(found.view(dtype), wanted)
    (folder / "other.mlir").write_text(same.replace(name, "ui4"))
    assert "expected dtype uint4" in hlograph("run", "other.mlir", "--inputs", "in.npz").error


@pytest.mark.parametrize("file", ["out.mlir", "out.mlirbc"])
def test_a_shared_variable_is_an_argument_of_the_saved_module(folder: Path, file: str) -> None:
    succeed("emit", "model.py:with_shared", "-o", file)
    assert re.search(r"\n  scale  float64  \(\) +shared variable\n", succeed("explain", file))
    np.savez("both.npz", w=W, scale=np.float64(3))
    succeed("run", file, "--inputs", "both.npz", "--output", "results.npz")
    np.testing.assert_array_equal(np.load("results.npz")["scaled"], 3 * W)


# ---- opt and explain --------------------------------------------------------------------------------------------


def test_dims_are_those_of_every_command(folder: Path) -> None:
    made_for = "--dims x=n,m,w=m --dims n=5,m=7 --name linear --platform cuda --platform tpu"
    text = succeed("emit", "model.py:pair", *made_for.split())
    assert all(part in text for part in ("tensor<5x7xf64>", "module @linear", 'hlograph.platforms = ["cuda", "tpu"]'))
    succeed("emit", "model.py:pair", "--dims", "x=n,m,w=m", "-o", "out.mlir")
    assert "?" not in succeed("opt", "out.mlir", "--dims", "n=5,m=7")
    assert re.search(r"x +float64 +\(5, 7\)", succeed("explain", "out.mlir", "--dims", "n=5,m=7"))
    np.savez("data.npz", x=np.ones((5, 7)), w=np.arange(7.0))
    assert re.search(r"predicted +float64 +\(5\)", succeed("run", "out.mlir", "--dims", "n=5", "--inputs", "data.npz"))
    outcome = hlograph("run", "out.mlir", "--dims", "n=4", "--inputs", "data.npz")
    assert (outcome.code, "x" in outcome.error) == (1, True)
    np.savez("plain.npz", arg0=np.ones(3, np.float32), arg1=np.ones(3, np.float32))
    printed = run_script(
        """
        import sys
        from hlograph.tools.cli import main
        for dims in ("", "--dims arg0=n,arg1=n"):
            assert main(f"run plain.mlir {dims} --inputs plain.npz -o results.npz".split()) == 0
        assert not {"pytensor", "aesara"} & set(sys.modules), "a module needs no graph library"
        """
    )
    assert re.search(r"float32 +\(3\)", printed)
    np.testing.assert_array_equal(np.load("results.npz")["result0"], np.full(3, 4, np.float32))


def test_opt_takes_each_section_by_itself(folder: Path) -> None:
    source = f"// RUN: something\n{PLAIN}\n// -----\n// a comment\n// -----\n{PLAIN.replace('f32', 'f64')}"
    for each in (source, source.replace("\n", "\r\n")):
        text = succeed("opt", "-", "--split-input-file", "--pass", "cse", stdin=each.encode())
        first, second = text.split("// -----\n")
        assert ("f32" in first, "f64" in first) == (True, False)
        assert ("f32" in second, "f64" in second) == (False, True)


def test_opt_prints_the_good_sections_and_fails(folder: Path) -> None:
    source = f"{PLAIN}// -----\nthis is not MLIR\n// -----\n{PLAIN}"
    outcome = hlograph("opt", "-", "--split-input-file", stdin=source.encode())
    assert outcome.code == 1
    assert outcome.out.count("func.func") == 2
    line = source.splitlines().index("this is not MLIR") + 1
    assert f":{line}:" in outcome.err
    outcome = hlograph("opt", "-", "--split-input-file", "-o", "out.mlir", stdin=source.encode())
    assert outcome.code == 1
    assert not Path("out.mlir").exists()


def test_opt_writes_files_that_opt_reads(folder: Path) -> None:
    assert succeed("opt", "plain.mlir").count("stablehlo.add") == 2
    assert succeed("opt", "plain.mlir", "--pass", "canonicalize", "--pass", "cse", "-o", "out.mlirbc") == ""
    assert Path("out.mlirbc").read_bytes().startswith(b"ML\xefR")
    assert succeed("opt", "out.mlirbc").count("stablehlo.add") == 1
    Path("two.mlir").write_text(f"{PLAIN}// -----\n{PLAIN}")
    succeed("opt", "two.mlir", "--split-input-file", "-o", "out.mlir")
    assert Path("out.mlir").read_text().count("func.func") == 2


def test_opt_lists_its_passes() -> None:
    lines = succeed("opt", "--list").splitlines()
    names = [line.split()[0] for line in lines]
    assert names == sorted(names)
    assert {"specialize", "canonicalize", "cse"} <= set(names)
    assert all(len(line.split()) > 1 for line in lines)


@pytest.mark.parametrize("kind", ["graph", "text", "bytecode"])
def test_explain_says_what_a_program_is(folder: Path, kind: str) -> None:
    dims = ["--dims", "x=n,8", "--dims", "w=8"]
    file = {"graph": "model.py:pair", "text": "out.mlir", "bytecode": "out.mlirbc"}[kind]
    if kind == "graph":
        text = succeed("explain", file, *dims)
    else:
        succeed("emit", "model.py:pair", *dims, "-o", file)
        text = succeed("explain", file)
    parts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    sections = {part.split(":")[0].strip().split("\n")[0]: part for part in parts}
    assert parts[1].strip() == file
    assert re.search(r"x +float64 +\(n, 8\)\n +w +float64 +\(8\)\n", sections["inputs"])
    assert re.search(r"predicted +float64 +\(n\)\n +loss +float64 +\(\)\n", sections["outputs"])
    assert re.search(r"n +size of axis 0 of x\n", sections["dimensions"])
    given = dims if kind == "graph" else []
    assert succeed("explain", file, *given, "--html", "page.html", "--bounds", "n=8") == ""
    assert "(bounds n = 8)" in Path("page.html").read_text()


# ---- explain --stages ------------------------------------------------------------------------------------------------


def rows(text: str) -> dict[str, list[str]]:
    """The table's rows by stage: the cells, which two spaces separate."""
    found = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.startswith("  ")]
    return {name: cells for name, *cells in found}


def test_a_row_for_each_stage(folder: Path) -> None:
    padded = rows(succeed("explain", "twice.mlir", "--stages", "--policy", "16", "--no-costs"))
    assert list(padded) == ["stage", "emitted", "pad", "cpu_regions", "lowered"]
    table = rows(succeed("explain", "twice.mlir", "--stages", "--sizes", "n=4"))
    assert list(table) == ["stage", "emitted", "specialize", "cpu_regions", "lowered", "optimized HLO"]
    assert table["stage"] == ["ops", "flops", "bytes", "temporary", "compile", "pass"]
    assert table["emitted"] == ["3"]
    assert table["specialize"][:4] == ["3", "12", "48 B", "0 B"]
    assert int(table["lowered"][0]) == int(table["cpu_regions"][0]) + 1  # the call of the module is an operation
    assert table["lowered"][1:4] == table["cpu_regions"][1:4] != table["specialize"][1:4]  # what a call runs


def test_the_default_passes_and_ones_own(folder: Path) -> None:
    text = succeed("explain", "four.mlir", "--stages", "--load", "rewrites.py", "--optimize", "default",
                   "--optimize", "swap_operands_of_add", "--no-costs")  # fmt: skip
    assert list(rows(text)) == ["stage", "emitted", "swap_operands_of_add", "cpu_regions", "lowered"]
    assert "changed nothing: roll_loops, simplify, compress_rows, fold_constants, loop_writes, " in text


def test_a_graph_in_a_python_file(folder: Path) -> None:
    table = rows(succeed("explain", "model.py:twice", "--dims", "w=n,y=n", "--stages", "--sizes", "n=10"))
    assert int(table["optimized HLO"][0]) > 3
    text = succeed("explain", "model.py:twice", "--dims", "w=n,y=n", "--stage", "emitted", "--sizes", "n=10")
    assert text.count("stablehlo.divide") == 1  # it is written twice


def test_one_stages_text_is_a_module(folder: Path) -> None:
    text = succeed("explain", "twice.mlir", "--stage", "specialize", "--sizes", "n=4")
    assert package.Program.parse(text).text == package.Program.parse(TWICE).specialize({"n": 4}).text
    assert "hlograph_twice" in succeed("explain", "twice.mlir", "--stage", "lowered", "--sizes", "n=4")
    hlo = succeed("explain", "twice.mlir", "--stage", "hlo", "--sizes", "n=4")
    assert hlo.startswith("HloModule")
    assert "FileNames" not in hlo


def test_the_difference_to_the_stage_before(folder: Path) -> None:
    text = succeed("explain", "four.mlir", "--load", "rewrites.py", "--optimize", "swap_operands_of_add",
                   "--stage", "swap_operands_of_add", "--diff")  # fmt: skip
    lines = text.splitlines()
    assert lines[:2] == ["--- emitted", "+++ swap_operands_of_add"]
    changed = [line for line in lines[2:] if line.startswith(("+", "-"))]
    assert [line[0] + re.sub(r".* = ", "", line) for line in changed] == [
        "-stablehlo.add %x, %y : tensor<4xf32>",
        "+stablehlo.maximum %x, %y : tensor<4xf32>",
    ]


def test_the_page(folder: Path) -> None:
    assert succeed("explain", "twice.mlir", "--stages", "--sizes", "n=4", "--html", "page.html") == ""
    text = (folder / "page.html").read_text()
    assert "<h1>twice (n = 4)</h1>" in text
    assert re.findall("<h2>(.* to .*)</h2>", text) == [
        *("emitted to specialize", "specialize to cpu_regions", "cpu_regions to lowered"),
    ]
    assert "<td>12</td>" in text
    assert "tensor&lt;4xf32&gt;" in text
    assert "<4xf32>" not in text


# ---- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("frobnicate", 2, "No such command 'frobnicate'"),
        ("emit", 2, "Missing argument 'FILE.py:NAME'"),
        *((f"emit {text}", 2, "as in model.py:loss") for text in ("model.py", "model.py:", "model:loss", ":loss")),
        ("emit model.mlir:loss", 2, "give a Python file and a name in it"),
        ("emit model.py:pair -o out.txt", 2, "out.txt: the name must end in .mlir or .mlirbc"),
        ("emit model.py:pair -o nowhere/out.mlir", 1, "there is no folder nowhere"),
        ("emit model.py:pair -o folder.mlir", 1, "folder.mlir: is a folder, not a file to write"),
        ("emit model.py:pair --dims x", 2, "x: write the axes of an argument, as in 'x=n,8'"),
        ("emit other.py:pair", 1, "other.py: no such file"),
        ("run nothing.mlir", 1, "nothing.mlir"),
        ("run plain.mlir --device toaster", 2, "'toaster' is not one of 'cpu', 'gpu', 'tpu'"),
        ("run plain.mlir --device cpu --interpret", 2, "--device and --interpret exclude each other"),
        ("run plain.mlir --inputs nothing.npz", 1, "nothing.npz: No such file or directory"),
        ("run plain.mlir --inputs model.py", 1, "model.py: not a readable .npz file"),
        ("run plain.mlir --output results.txt", 2, "results.txt: the name must end in .npz"),
        ("run plain.mlir", 1, "no array for the argument arg0 (float32, "),
        ("run plain.mlir --inputs data.npz", 1, "no argument x, w (it takes arg0, arg1)"),
        ("opt plain.mlir --pass csee", 1, "unknown pass 'csee'; did you mean 'cse'?"),
        ("opt plain.mlir --pass default{x=1}", 1, "'default' stands for several passes"),
        ("opt plain.mlir --split-input-file -o out.mlirbc", 2, "which only a .mlir file can hold"),
        ("opt .", 1, "Is a directory"),
        ("opt data.npz", 1, "data.npz is not StableHLO text: it has a NUL byte"),
        ("explain nothing.mlirbc", 1, "nothing.mlirbc"),
        ("explain plain.mlir --dims x=n", 1, "dims names the argument 'x'; there are 0: arg0, 1: arg1"),
        ("explain twice.mlir --dims m=4", 1, "the argument 'm'; there are 0: x, 1: y (and the sizes n)"),
        ("explain twice.mlir --dims x=rows", 1, "have names in the file"),
        ("explain twice.mlir --dims x=n,8 --dims y=3,x=4", 2, "x is given twice"),
        ("explain twice.mlir --stages", 1, "the size n is not known"),
        ("explain twice.mlir --stages --sizes m=4", 1, "the program has no size 'm'"),
        ("explain twice.mlir --stages --sizes n", 2, "what sizes are, as in 'n=100,m=3'"),
        ("explain twice.mlir --sizes n=4", 2, "are for --stages"),
        ("explain twice.mlir --stages --bounds n=4", 2, "--bounds does not go with --stages"),
        ("explain twice.mlir --stages --sizes n=4 --diff", 2, "--diff needs --stage NAME"),
        ("explain twice.mlir --stage emitted --sizes n=4 --diff", 2, "emitted is the first stage"),
        ("explain twice.mlir --stage hlo --sizes n=4 --diff", 2, "the optimized HLO is not one"),
        ("explain twice.mlir --stage specialise --sizes n=4", 1, "no stage 'specialise'; did you mean 'specialize'?"),
        ("explain twice.mlir --stages --sizes n=4 --optimize cze", 1, "unknown pass 'cze'; did you mean 'cse'?"),
        ("explain twice.mlir --stages --sizes n=4 --optimize none --optimize cse", 1, "stands alone"),
        ("explain twice.mlir --stages --sizes n=4 --load nowhere.py", 1, "nowhere.py: no such file"),
    ],
)
def test_errors_are_one_line_and_an_exit_code(folder: Path, arguments: str, code: int, message: str) -> None:
    (folder / "folder.mlir").mkdir()
    outcome = hlograph(*arguments.split())
    assert message in outcome.error
    assert outcome.code == code
    assert not {"out.mlir", "out.mlirbc", "results.npz"} & {file.name for file in folder.iterdir()}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X, "v": W}, "no array for the argument w .*; the program has no argument v"),
        ({"x": X.astype(np.float32), "w": W}, "x.*float64.*float32|x.*float32.*float64"),
        ({"x": X[0], "w": W}, "x"),
        ({"x": X, "w": W[:5]}, "8.*5|5.*8"),
        ({"x": X, "w": np.array([{}])}, r"wrong.npz: not a readable .npz file \(array 'w'\): Object"),
    ],
)
def test_arrays_that_do_not_fit_are_named_and_nothing_is_written(
    folder: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    succeed("emit", "model.py:pair", "-o", "out.mlir")
    np.savez("wrong.npz", **arrays)
    outcome = hlograph("run", "out.mlir", "--inputs", "wrong.npz", "--output", "results.npz")
    assert outcome.code == 1
    assert re.search(message, outcome.err), outcome.err
    assert "unexpected" not in outcome.err
    assert not Path("results.npz").exists()


@pytest.mark.parametrize("file", ["out.mlir", "out.mlirbc"])
def test_a_check_that_fails_gives_its_own_message(folder: Path, file: str) -> None:
    succeed("emit", "model.py:checked", "-o", file)
    np.savez("weights.npz", w=abs(W))
    succeed("run", file, "--inputs", "weights.npz")
    np.savez("weights.npz", w=W)
    outcome = hlograph("run", file, "--inputs", "weights.npz", "--output", "results.npz")
    assert outcome.error == "check failed: AssertionError: the weights must be positive"
    assert not Path("results.npz").exists()


@pytest.mark.parametrize("command", ["opt", "explain", "run"])
@pytest.mark.parametrize("damage", ["text", "truncated", "empty"])
def test_a_damaged_module_is_an_error_about_the_file(folder: Path, command: str, damage: str) -> None:
    succeed("opt", "plain.mlir", "-o", "good.mlirbc")
    data = {"text": b"func.func @main(", "truncated": Path("good.mlirbc").read_bytes()[:80], "empty": b""}[damage]
    Path("bad.mlir").write_bytes(data)
    outcome = hlograph(command, "bad.mlir")
    assert outcome.code == 1
    assert outcome.err.startswith("hlograph: error: ")
    assert "bad.mlir" in outcome.err.splitlines()[0]
    assert "unexpected" not in outcome.err


def test_a_traceback_is_shown_on_request_only(folder: Path) -> None:
    (folder / "model.py").write_text("raise ZeroDivisionError('why')")
    assert hlograph("emit", "model.py:x").error == "model.py:1: ZeroDivisionError: why"
    outcome = hlograph("--traceback", "emit", "model.py:x")
    assert outcome.code == 1
    assert "Traceback" in outcome.err
    assert "raise ZeroDivisionError('why')" in outcome.err
    assert outcome.err.endswith("hlograph: error: model.py:1: ZeroDivisionError: why\n")


SAME = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"


@pytest.mark.parametrize("command", ["opt", "run", "explain"])
def test_commands_parse_foreign_modules_in_a_child_unless_they_are_trusted(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def parse(data: bytes, filename: str) -> bytes:
        names.append(filename)
        return data

    monkeypatch.setattr(foreign, "parse", parse)
    path, arrays = tmp_path / "a.mlir", tmp_path / "a.npz"
    path.write_text(SAME)
    np.savez(arrays, arg0=np.zeros(3, np.float32))
    options = ["--inputs", str(arrays), "--interpret"] if command == "run" else []
    for file in (str(path), "-"):
        succeed(command, file, *options, stdin=SAME.encode())
    assert names == [str(path), "<stdin>"]
    succeed(command, path, "--trusted", *options)
    assert names == [str(path), "<stdin>"]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (TypeError("surprise\nand more"), 1, "unexpected TypeError: surprise; `hlograph --traceback ...` shows where"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_of_our_own_and_interrupts_are_one_line_too(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("hlograph.tools.files.load_program", fail)
    outcome = hlograph("explain", "x.mlir")
    assert (outcome.code, outcome.err.lstrip()) == (code, f"hlograph: error: {said}\n")


def test_there_may_be_no_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["opt", "-"]) == 1


# ---- --dims ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dims"),
    [
        ("x=n,8", (("x", ("n", 8)),)),
        (" x = n , 8 ", (("x", ("n", 8)),)),
        ("x=", (("x", ()),)),
        ("x=2*n+1", (("x", ("2*n+1",)),)),
        ("x=min(n, m),k", (("x", ("min(n, m)", "k")),)),
        ("x=max(min(n,m),1),0", (("x", ("max(min(n,m),1)", 0)),)),
        ("n=5,m=3", (("n", (5,)), ("m", (3,)))),
        ("x=n,8,n=100,y=n", (("x", ("n", 8)), ("n", (100,)), ("y", ("n",)))),
    ],
)
def test_dims_are_sizes_names_and_expressions(text: str, dims: object) -> None:
    assert DIMS.convert(text, None, None) == dims


@pytest.mark.parametrize("text", ["x", "=n", "x=n,", "x=,n", "x=n,,m", "", "5", "x=n,=3"])
def test_malformed_dims_are_a_wrong_command(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"'x=n,8'.*'n=100,m=3'"):
        DIMS.convert(text, None, None)


def test_what_is_a_size_is_told_by_the_others() -> None:
    entries = entries_of([DIMS.convert(text, None, None) for text in ("x=n,2*m", "w=8", "n=100,m=3")])
    assert parted(entries, ()) == ({"x": ("n", "2*m"), "w": (8,)}, {"n": 100, "m": 3})
    assert parted(entries_of([DIMS.convert("k=4,y=4", None, None)]), ["k"]) == ({"y": (4,)}, {"k": 4})


GRAPH = "import pytensor.tensor as pt\nloss = pt.dvector('v') * 2\n"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class model:\n    inner = loss", "model.inner"),
        ("def make(size=3): return loss", "make"),
        ("import functools\ndef made(k): return loss\nmake = functools.partial(made, 3)", "make"),
        ("from neighbour_of_model import value\nassert value == 5", "loss"),
        ("import sys\nassert sys.modules[__name__].loss is loss and __file__ == 'model.py'", "loss"),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    b: 'int' = 5\nassert A().b == 5", "loss"),
    ],
)
def test_graphs_are_found_and_functions_without_arguments_called(folder: Path, source: str, name: str) -> None:
    (folder / "neighbour_of_model.py").write_text("value = 5")
    (folder / "model.py").write_text(GRAPH + source)
    assert "stablehlo.multiply" in succeed("emit", f"model.py:{name}")


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("x = 3.5", "x", "cannot read a graph from float 3.5: expected a PyTensor FunctionGraph, "),
        ("loss = 1", "los", "model.py: there is no los in this file; it has loss"),
        ("alpha = 1\nbeta = 2", "zzz", "model.py: there is no zzz in this file; it has alpha, beta"),
        ("", "loss", "model.py: there is no loss in this file"),
        ("\nx = 1 / 0", "x", "model.py:2: ZeroDivisionError: division by zero"),
        ("def f():\n    pass\n    raise KeyError('k')", "f", "model.py:3: KeyError: 'k'"),
        ("def f():\n    raise ValueError", "f", "model.py:2: ValueError"),
        ("x = (\n", "x", "model.py:1: SyntaxError: '(' was never closed"),
        ("import sys\nsys.exit(0)", "x", "model.py:2: SystemExit: 0"),
        ("import nowhere_to_be_found", "x", "model.py:1: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("import json\ndef f():\n    return json.loads('{')", "f", "model.py:3: JSONDecodeError: "),
        (
            "def f(a, b=1, *, c): pass",
            "f",
            "model.py:f: is a function that takes a, c; give a graph, or a function without arguments that returns "
            "one, or the program that hlograph.emit_stablehlo makes of a function of JAX arrays",
        ),
    ],
)
def test_what_goes_wrong_is_one_line_with_its_place(folder: Path, source: str, name: str, message: str) -> None:
    (folder / "model.py").write_text(source)
    assert hlograph("emit", f"model.py:{name}").error.startswith(message)


# ---- the program itself -----------------------------------------------------------------------------------------


def test_help_is_quick() -> None:
    """It imports nothing that takes long; a limit in seconds would fail on a busy machine."""
    printed = run_script(
        """
        import runpy, sys
        sys.argv = ["hlograph", "--help"]
        try:
            runpy.run_module("hlograph", run_name="__main__")
        except SystemExit as end:
            assert not end.code
        print("click" in sys.modules, {"jax", "jaxlib", "numpy", "pytensor"} & set(sys.modules))
        """
    )
    assert "Commands:" in printed
    assert printed.endswith("True set()\n")


def test_help_and_version() -> None:
    assert re.fullmatch(r"hlograph \d\S* \(jax \d\S*, jaxlib \d\S*\)\n", succeed("--version"))
    outcome = hlograph()
    assert (outcome.code, "Commands:" in outcome.err) == (2, True)
    from hlograph.tools.app import app

    for command in app.commands.values():
        assert command.get_short_help_str()
        assert [option.name for option in command.params if isinstance(option, click.Option) and not option.help] == []


def test_without_click_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['click'], sys.stderr = None, sys.stdout"
    code += "\nfrom hlograph.tools.cli import main\nprint(main([]))"
    said = 'hlograph: error: the command line needs the package click: pip install "hlograph[cli]"\n1\n'
    assert run_script(code) == said


def test_a_reader_that_is_gone_is_no_error(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "hlograph", "opt", "plain.mlir"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((123.4, "123 s"), (1.2345, "1.23 s"), (1.0, "1 s"), (0.0456, "45.6 ms"), (0.000789, "789 us")),
        *((7.89e-6, "7.89 us"), (2e-8, "0.02 us"), (0.0, "0 us")),
    ],
)
def test_seconds_have_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_progress_shows_its_label_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for terminal in (False, True):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        with progress("compiling [loss]"):
            print("a result")
        captured = capsys.readouterr()
        assert captured.out == "a result\n"
        assert ("compiling [loss]" in captured.err, captured.err != "") == (terminal, terminal)
