"""The worked rewrites of docs/how-to/own_pass.md, used by name, on JAX functions, PyTensor graphs and files."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytensor.tensor as pt
import pytest

import hlograph
from hlograph import Program
from hlograph.passes import available, forget

FILE = Path(__file__).parents[3] / "examples" / "own_rewrites.py"


@pytest.fixture
def example():
    """What the file defines."""
    return runpy.run_path(str(FILE))


def lowered(function, *arguments) -> Program:
    return Program.parse(jax.jit(function).lower(*arguments).as_text())


def explained(program: Program, name: str) -> tuple[Program, str]:
    reports: list = []
    return program.optimize([name], reports=reports), reports[0].text


@pytest.mark.parametrize("name", ["log_of_squares", "sum_of_product", "tridiagonal_to_lapack"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_jax_functions(example, name, dtype):
    """The results are those of NumPy, before and after."""
    function, arguments = example["examples"]()[name]
    with jax.enable_x64(True):
        arguments = [x.astype(dtype) for x in arguments]
        expected = NUMPY[name](*[x.astype(np.float64) for x in arguments])
        written = hlograph.jit(function, optimize="none")
        rewritten = hlograph.jit(function, optimize=[name])
        after, text = explained(lowered(function, *arguments), name)
        assert "rewritten" in text
        tolerance = 1e-3 if dtype == np.float32 else 1e-11
        for found in (written(*arguments), rewritten(*arguments)):
            if dtype == np.float32 and name == "log_of_squares" and not np.isfinite(found):
                continue  # as written, the product is beyond float32
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.max(np.abs(expected)))
        assert np.isfinite(rewritten(*arguments)).all()
    for gone in GONE[name]:
        assert gone not in after.text


def solve(lower, diagonal, upper, right):
    return np.linalg.solve(np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1), right)


NUMPY = {
    "log_of_squares": lambda a: np.linalg.slogdet(a)[1],
    "sum_of_product": lambda w, x: w @ x,
    "tridiagonal_to_lapack": solve,
}
GONE = {
    "log_of_squares": ["applies stablehlo.multiply"],
    "sum_of_product": ["stablehlo.reduce"],
    "tridiagonal_to_lapack": ["stablehlo.composite"],
}


def test_a_pytensor_graph(example):
    """The same two patterns, from PyTensor."""
    d, w = pt.dvector("d"), pt.dvector("w")
    graph = ([d, w], [pt.log(pt.prod(d**2)), pt.sum(d * w)])
    values = [np.array([0.5, -2.0, 1e-3]), np.array([1.0, 2.0, -3.0])]
    function = hlograph.function(*graph, optimize=["log_of_squares", "sum_of_product"])
    logarithm, total = function(*values)
    np.testing.assert_allclose(logarithm, np.log(values[0] ** 2).sum(), rtol=1e-12)
    np.testing.assert_allclose(total, values[0] @ values[1], rtol=1e-12)
    program = hlograph.emit_stablehlo(graph).specialize({"d_0": 3, "w_0": 3})
    assert "stablehlo.dot_general" in explained(program, "sum_of_product")[0].text


def test_the_text_of_the_docs(example, capsys):
    """The first two blocks of docs/how-to/own_pass.md can be pasted, and say what the first prints."""
    text = (FILE.parents[1] / "docs" / "how-to" / "own_pass.md").read_text()
    scope: dict = {}
    for name in ("log_of_squares", "sum_of_product"):
        forget(name)
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[:2]:
        exec(block, scope)
    assert capsys.readouterr().out.startswith("inf\n690.775")
    for name in ("log_of_squares", "sum_of_product"):
        assert name in available()
        function, arguments = example["examples"]()[name]
        assert "rewritten" in explained(lowered(function, *arguments), name)[1]


def test_the_file_at_the_command_line(tmp_path):
    """`hlograph opt --load`."""
    path = lowered(lambda w, x: (w * x).sum(), *[np.ones(4, np.float32)] * 2).save(tmp_path / "sum.mlir")
    command = Path(sys.executable).parent / "hlograph"
    run = subprocess.run(
        [command, "opt", path, "--load", FILE, "--pass", "sum_of_product", "--explain", "sum_of_product"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "stablehlo.dot_general" in run.stdout
    assert "sum_of_product: " in run.stderr
    assert "rewritten" in run.stderr


def test_the_program(capsys):
    """`python examples/own_rewrites.py` prints a line for each."""
    with jax.enable_x64(True):
        runpy.run_path(str(FILE), run_name="__main__")
    jax.config.update("jax_enable_x64", False)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["log_of_squares", "sum_of_product", "tridiagonal_to_lapack"]
