"""Programs compiled once by IREE, for all sizes: models, the programs of examples/, ops of each kind, at five sizes.

The models are those of benchmarks/models.py; PyTensor's own evaluation, or JAX's, says what they should give.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import iree_runs
import numpy as np
import pytensor.tensor as pt
import pytest
from iree_programs import PROGRAMS
from op_cases import CASES
from pytensor.ifelse import ifelse
from support import reference

import hlograph

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
from models import MODELS

pytestmark = pytest.mark.skipif(not iree_runs.installed(), reason="IREE is not installed: pip install 'hlograph[iree]'")

SIZES = (1, 2, 5, 8, 17)
OPS = (
    *("Softmax", "Gemv", "Einsum", "AdvancedSubtensor", "AdvancedIncSubtensor", "IncSubtensor", "Subtensor", "Pad"),
    *("Cholesky", "SolveTriangular", "CholeskySolve", "Scan", "Argmax", "SortOp", "ArgSortOp", "Join", "Split"),
    *("Reshape", "IfElse", "Pow", "Log1p", "Expm1", "BetaInc", "QR", "LU", "Det", "Solve", "BlockDiagonal"),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    model = MODELS[name]
    inputs, outputs = model.graph()
    function = iree_runs.compiled(hlograph.emit_stablehlo((inputs, outputs)).run_passes(["for_iree"]))
    for size in SIZES:
        data = model.data(size)
        *found, flags = function(*data)
        assert flags.all()
        for result, wanted in zip(found, reference(inputs, outputs, data), strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-12, err_msg=f"{name}, {size}")


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_examples(name: str) -> None:
    example = PROGRAMS[name]()
    function = iree_runs.compiled(example.program.run_passes(["for_iree"]))
    for size in example.sizes:
        arrays = example.data(size, np.random.default_rng(size))
        for result, wanted in zip(function(*arrays), example.wanted(arrays), strict=False):
            rtol = 1e-9 if np.asarray(wanted).dtype.itemsize == 8 else 1e-5
            np.testing.assert_allclose(result, wanted, rtol=rtol, atol=1e-11, err_msg=f"{name}, {size}")


@pytest.mark.sampled(11)
@pytest.mark.parametrize("name", OPS)
def test_ops(name: str) -> None:
    case = CASES[name]
    program = hlograph.emit_stablehlo(case.build()[:2]).run_passes(["for_iree"])
    function = iree_runs.compiled(program)
    for size in SIZES:
        if name == "Split" and size < 2:  # of which two elements are split off
            continue
        inputs, outputs, arrays = case.build(size)
        for result, wanted in zip(function(*arrays), reference(inputs, outputs, arrays), strict=False):
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-12, err_msg=f"{name}, {size}")


def test_constraints() -> None:
    """Sizes that do not fit end the call, before anything is read; or are told by flags."""
    text = (
        'func.func @main(%x: tensor<?xf64> {hlograph.name = "x", hlograph.dims = ["n"]}, %y: tensor<?xf64> '
        '{hlograph.name = "y", hlograph.dims = ["n"]}) -> tensor<?xf64> {\n'
        "  %r = stablehlo.add %x, %y : tensor<?xf64>\n  return %r : tensor<?xf64>\n}"
    )
    program = hlograph.Program.parse(text)
    asserted = iree_runs.compiled(program.run_passes(["for_iree{asserts=true}"]))
    np.testing.assert_array_equal(asserted(np.ones(4), np.ones(4))[0], np.full(4, 2.0))
    with pytest.raises(Exception, match="axis_1_0 == n"):
        asserted(np.ones(4), np.ones(3))
    assert iree_runs.compiled(program.run_passes(["for_iree"]))(np.ones(3), np.ones(4))[1].tolist() == [False]


def _checked(inputs: list[Any], output: Any, arrays: list[np.ndarray]) -> hlograph.Program:
    """The program in IREE's forms, whose result there is PyTensor's."""
    program = hlograph.emit_stablehlo((inputs, [output])).run_passes(["for_iree"])
    found, *_ = iree_runs.compiled(program)(*arrays)
    np.testing.assert_allclose(found, reference(inputs, [output], arrays)[0], rtol=1e-9)
    return program


def test_branches_of_several_arrays() -> None:
    """Of two open axes each: IREE mixes up where they lie, unless their sizes are bounded."""
    x, y, first = pt.dmatrix("x"), pt.dmatrix("y"), pt.bscalar("first")
    one, other = ifelse(first, [x + 1, pt.exp(y)], [pt.sin(y), 2 * x])
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(3, 4)), rng.normal(size=(3, 4))]
    program = _checked([x, y, first], one - 2 * other, [*arrays, np.array(1, "int8")])
    function = iree_runs.compiled(program)
    np.testing.assert_allclose(function(*arrays, np.array(0, "int8"))[0], np.sin(arrays[1]) - 4 * arrays[0])
    limits = [check.message for check in program.signature.checks if "IREE" in check.message]
    assert len(limits) == len(program.signature.roots)
    assert all(int(message.split(" >= ")[0]) > 10**8 for message in limits)


def test_stacks_of_factors() -> None:
    """Cholesky factors of as many static matrices as there are."""
    x = pt.tensor("x", shape=(None, 3, 3))
    half = np.random.default_rng(0).normal(size=(4, 3, 3))
    _checked([x], pt.linalg.cholesky(x), [half @ half.transpose(0, 2, 1) + np.eye(3)])


def test_several_scatters_into_zeros() -> None:
    """Each has an array of its own."""
    x, places, values = pt.dmatrix("x"), pt.lvector("places"), pt.dvector("values")
    zeros = pt.zeros_like(x)
    output = pt.inc_subtensor(zeros[places, 0], values) - 2 * pt.inc_subtensor(zeros[places, 1], values)
    _checked([x, places, values], output, [np.ones((4, 2)), np.array([0, 1, 1, 3, 0]), np.arange(1.0, 6.0)])


def test_long_sums_of_float32() -> None:
    """IREE adds one number after the other, which loses some percent of a million."""
    x = pt.fvector("x")
    data = np.random.default_rng(0).random(1_000_000, "float32")
    program = hlograph.emit_stablehlo(([x], [x.sum()])).run_passes(["for_iree"])
    np.testing.assert_allclose(iree_runs.compiled(program)(data)[0], data.astype("float64").sum(), rtol=1e-6)
