"""Programs compiled once by IREE, for all sizes up to bounds: models, examples/, ops of each kind, at five sizes.

The models are those of benchmarks/models.py; PyTensor's own evaluation, or JAX's, says what they should give.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import iree_table
import numpy as np
import pytensor.tensor as pt
import pytest
from iree_programs import PROGRAMS
from op_cases import CASES
from support import reference

import hlograph
from hlograph.builder import dims

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
from models import MODELS

Arrays = Sequence[np.ndarray[Any, Any]]

pytestmark = pytest.mark.skipif(
    not iree_table.installed(), reason="IREE is not installed: pip install 'hlograph[iree]'"
)

SIZES = (1, 2, 3, 5, 8, 17)
OPS = (
    *("Softmax", "Gemv", "AdvancedSubtensor", "AdvancedIncSubtensor", "Subtensor", "Pad", "Argmax", "SortOp", "Join"),
    *("Split", "SplitDims", "Choose", "Pow", "Log1p", "Expm1", "Cholesky", "Scan", "IfElse", "ArgSortOp", "Reshape"),
    *("IncSubtensor", "BetaInc", "QR", "Solve", "BlockDiagonal"),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    model = MODELS[name]
    inputs, outputs = model.graph()
    call = _called(hlograph.emit_stablehlo((inputs, outputs)), model.data(max(SIZES)))
    for size in SIZES:
        data = model.data(size)
        for result, wanted in zip(call(data), reference(inputs, outputs, data), strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-12, err_msg=f"{name}, {size}")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_examples(name: str) -> None:
    example = PROGRAMS[name]()
    call = _called(example.program, example.data(max(SIZES)))
    for size in SIZES[1:]:
        arrays = example.data(size)
        for result, wanted in zip(call(arrays), example.wanted(arrays), strict=True):
            rtol = 1e-9 if np.asarray(wanted).dtype.itemsize == 8 else 1e-5
            np.testing.assert_allclose(result, wanted, rtol=rtol, atol=1e-11, err_msg=f"{name}, {size}")


@pytest.mark.sampled(11)
@pytest.mark.parametrize("name", OPS)
def test_ops(name: str) -> None:
    case = CASES[name]
    call = _called(hlograph.emit_stablehlo(case.build()[:2]), case.build(max(SIZES))[2])
    for size in SIZES[1:] if name == "Split" else SIZES:  # of which two elements are split off
        inputs, outputs, arrays = case.build(size)
        for result, wanted in zip(call(arrays), reference(inputs, outputs, arrays), strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-12, err_msg=f"{name}, {size}")


def _sizes(program: hlograph.Program, arrays: Arrays) -> dict[str, int]:
    """The sizes of arguments, by name."""
    found = {}
    for root in program.signature.roots:
        array = np.asarray(arrays[root.argument])
        found[root.name] = array.shape[root.axis] if root.axis is not None else int(array.flat[root.element or 0])
    return found


def _called(program: hlograph.Program, largest: Arrays) -> Callable[[Arrays], Arrays]:
    """A program by IREE, padded to the sizes of these arguments."""
    bounds = {name: max(size, 2) for name, size in _sizes(program, largest).items()}
    plain = program.plain(bounds=bounds)
    function = iree_table.compiled(plain.optimize(["for_iree"]))

    def call(arrays: Arrays) -> Arrays:
        sizes = _sizes(program, arrays)
        given = [np.zeros(argument.dims, argument.dtype) for argument in plain.signature.arguments]
        for padded, array in zip(given, arrays, strict=False):
            padded[tuple(map(slice, np.shape(array)))] = array
        live = [sizes[argument.size] for argument in plain.signature.arguments[len(arrays) :]]
        found = function(*given[: len(arrays)], *map(np.int32, live))
        if plain.signature.checks:
            assert (found.pop() > 0).all()
        shapes = [[dims.evaluate(dim, sizes) for dim in result.dims] for result in program.signature.results]
        return [result[tuple(map(slice, shape))] for result, shape in zip(found, shapes, strict=True)]

    return call


def test_long_sums_of_float32() -> None:
    """IREE adds one number after the other, which loses some percent of a million."""
    x = pt.fvector("x")
    data = np.random.default_rng(0).random(1_000_000, "float32")
    program = hlograph.emit_stablehlo(([x], [x.sum()])).specialize({"x_0": len(data)}).optimize(["for_iree"])
    np.testing.assert_allclose(iree_table.compiled(program)(data)[0], data.astype("float64").sum(), rtol=1e-6)
