"""Convolutions and windows."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.signal import convolve1d, convolve2d
from pytensor.tensor.signal.conv import Convolve1d
from scipy.signal import convolve
from support import check_lowering

import hlograph
from hlograph.errors import ArgumentShapeError

pytestmark = pytest.mark.sampled(4)

RANDOM = np.random.default_rng(0)
x, y, table, other, cube, mode = (
    *(pt.dvector("x"), pt.dvector("y"), pt.dmatrix("table"), pt.dmatrix("other"), pt.dtensor3("cube")),
    pt.TensorType("bool", ())("mode"),
)
MODES = ["full", "valid", "same"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [(7, 3), (3, 7), (4, 4), (5, 1), (1, 5), (1, 1)])
def test_convolve1d(sizes, mode):
    check_lowering([x, y], convolve1d(x, y, mode=mode), *[RANDOM.normal(size=size) for size in sizes])


SAME = [(dtype, dtype) for dtype in ("float32", "float16", "int8", "bool", "complex64")]


@pytest.mark.parametrize("dtypes", [*SAME, ("int64", "float64"), ("complex128", "float64")])
def test_dtypes(dtypes):
    variables = [pt.vector(name, dtype=dtype) for name, dtype in zip("ab", dtypes, strict=True)]
    values = [(RANDOM.normal(size=6) * 5).astype(dtype) for dtype in dtypes]
    values = [v + v[::-1] * 1j if v.dtype.kind == "c" else v for v in values]
    for name in ("full", "valid"):
        check_lowering(variables, convolve1d(*variables, mode=name), values[0], values[1][:4])


@pytest.mark.parametrize("full", [False, True])
def test_a_mode_that_comes_with_the_call(full):
    output = Convolve1d()(x, y, mode)
    check_lowering([x, y, mode], output, RANDOM.normal(size=6), RANDOM.normal(size=3), full, static=False)
    chosen = Convolve1d()(x, y, (x > 0).any())
    check_lowering(
        [x, y], chosen, np.abs(RANDOM.normal(size=6)) * (1 if full else -1), RANDOM.normal(size=3), static=False
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", [((5,), (4, 3)), ((4, 5), (3,)), ((4, 5), (4, 3)), ((4, 3), (4, 5))])
def test_batches(shapes, mode):
    variables = [pt.tensor(name, dtype="float64", shape=(None,) * len(s)) for name, s in zip("ab", shapes, strict=True)]
    check_lowering(variables, convolve1d(*variables, mode=mode), *[RANDOM.normal(size=shape) for shape in shapes])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [(7, 3), (3, 7), (4, 4)])
def test_gradients(sizes, mode):
    result = convolve1d(x, y, mode=mode)
    gradients = pytensor.grad((result**2 * pt.arange(result.shape[0])).sum(), [x, y])
    check_lowering([x, y], gradients, *[RANDOM.normal(size=size) for size in sizes])


def test_an_empty_batch():
    check_lowering(
        [table, y], convolve1d(table, y), np.ones((0, 5)), np.ones(3), expected=[np.ones((0, 7))], interpret=False
    )


def test_gradients_of_a_batch():
    gradients = pytensor.grad((convolve1d(table, y, mode="valid") ** 2).sum(), [table, y])
    check_lowering([table, y], gradients, RANDOM.normal(size=(3, 6)), RANDOM.normal(size=4))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", [((6, 5), (2, 3)), ((2, 3), (6, 5)), ((3, 3), (3, 3))])
def test_convolve2d(shapes, mode):
    values = [RANDOM.normal(size=shape) for shape in shapes]
    if mode == "same" and shapes[0] == (2, 3):
        return  # padded with zeros of the kernel's size, which is PyTensor's affair
    static = mode != "same"  # the widths of the padding are written to a matrix
    check_lowering([table, other], convolve2d(table, other, mode=mode), *values, rtol=1e-11, static=static)


@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
def test_boundaries(boundary):
    output = convolve2d(table, other, mode="same", boundary=boundary, fillvalue=2)
    check_lowering(
        [table, other], output, RANDOM.normal(size=(6, 5)), RANDOM.normal(size=(3, 2)), rtol=1e-11, static=False
    )


@pytest.mark.parametrize("mode", ["full", "valid"])
def test_gradients_and_batches_of_convolve2d(mode):
    gradients = pytensor.grad((convolve2d(table, other, mode=mode) ** 2).sum(), [table, other])
    check_lowering([table, other], gradients, RANDOM.normal(size=(5, 4)), RANDOM.normal(size=(2, 3)), rtol=1e-11)
    images, kernels = RANDOM.normal(size=(3, 5, 4)), RANDOM.normal(size=(3, 2, 2))
    second = pt.dtensor3("second")
    wanted = np.stack([convolve(a, b, mode=mode, method="direct") for a, b in zip(images, kernels, strict=True)])
    check_lowering([cube, second], convolve2d(cube, second, mode=mode), images, kernels, expected=[wanted])
    wanted = np.stack([convolve(a, kernels[0], mode=mode, method="direct") for a in images])
    check_lowering([cube, other], convolve2d(cube, other, mode=mode), images, kernels[0], expected=[wanted])


def test_what_cannot_be():
    whole = hlograph.function([table, other], convolve2d(table, other, mode="valid"))
    with pytest.raises(ArgumentShapeError, match="covers the other"):
        whole(np.ones((5, 2)), np.ones((2, 3)))
    with pytest.raises(ArgumentShapeError, match="operand of Convolve1d"):
        hlograph.function([x, y], convolve1d(x, y))(np.ones(0), np.ones(2))


@pytest.mark.parametrize("length", [-2, 0, 1, 2, 5, 8])
def test_bartlett(length):
    k = pt.lscalar("k")
    check_lowering([k], pt.bartlett(k), length)
    check_lowering([k], pt.bartlett(pt.constant(length)) * k, 1)
    check_lowering([x], pt.bartlett(pt.cast(x.sum(), "int64")), [length], static=False)
