"""Programs compiled once by IREE, for all sizes: the models, and ops of each kind, at five sizes.

The models are those of benchmarks/models.py; PyTensor's own evaluation says what they should give.
"""

from __future__ import annotations

import sys
from pathlib import Path

import iree_runs
import numpy as np
import pytest
from op_cases import CASES
from support import reference

import hlograph

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
from models import MODELS

pytestmark = pytest.mark.skipif(not iree_runs.installed(), reason="IREE is not installed: pip install 'hlograph[iree]'")

SIZES = (1, 2, 5, 8, 17)
OPS = (
    *("Softmax", "Gemv", "Einsum", "AdvancedSubtensor", "AdvancedIncSubtensor", "IncSubtensor", "Subtensor", "Pad"),
    *("Cholesky", "SolveTriangular", "CholeskySolve", "Scan", "Argmax", "SortOp", "ArgSortOp", "Join", "Split"),
    *("Reshape", "IfElse", "Pow", "Log1p", "Expm1"),
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
