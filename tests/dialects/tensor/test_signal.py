"""Convolutions and windows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.signal import convolve1d, convolve2d
from pytensor.tensor.signal.conv import Convolve1d
from scipy.signal import convolve
from support import Case, check_case, each

import hlograph
from hlograph.errors import ArgumentShapeError

RANDOM = np.random.default_rng(0)
x, y, table, other, cube, mode = (
    *(pt.dvector("x"), pt.dvector("y"), pt.dmatrix("table"), pt.dmatrix("other"), pt.dtensor3("cube")),
    pt.TensorType("bool", ())("mode"),
)
MODES = ["full", "valid", "same"]
SAME = [(dtype, dtype) for dtype in ("float32", "float16", "int8", "bool", "complex64")]


def normal(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RANDOM.normal(size=shape) for shape in shapes]


def of_vectors() -> Iterator[Case]:
    for mode_ in MODES:
        result = convolve1d(x, y, mode=mode_)
        gradients = pytensor.grad((result**2 * pt.arange(result.shape[0])).sum(), [x, y])
        for sizes in ((7, 3), (3, 7), (4, 4), (5, 1), (1, 5), (1, 1)):
            yield f"{mode_} {sizes}", [x, y], result, normal(*[(n,) for n in sizes])
        for sizes in ((7, 3), (3, 7), (4, 4)):
            yield f"gradient {mode_} {sizes}", [x, y], gradients, normal(*[(n,) for n in sizes])
        for shapes in (((5,), (4, 3)), ((4, 5), (3,)), ((4, 5), (4, 3)), ((4, 3), (4, 5))):
            xs = [
                pt.tensor(name, dtype="float64", shape=(None,) * len(s)) for name, s in zip("ab", shapes, strict=True)
            ]
            yield f"batch {mode_} {shapes}", xs, convolve1d(*xs, mode=mode_), normal(*shapes)
    for dtypes in [*SAME, ("int64", "float64"), ("complex128", "float64")]:
        xs = [pt.vector(name, dtype=dtype) for name, dtype in zip("ab", dtypes, strict=True)]
        values = [(RANDOM.normal(size=6) * 5).astype(dtype) for dtype in dtypes]
        values = [v + v[::-1] * 1j if v.dtype.kind == "c" else v for v in values]
        for mode_ in ("full", "valid"):
            yield f"{dtypes} {mode_}", xs, convolve1d(*xs, mode=mode_), [values[0], values[1][:4]]
    known, chosen = Convolve1d()(x, y, mode), Convolve1d()(x, y, (x > 0).any())
    for full in (False, True):  # a mode that comes with the call
        yield f"mode {full}", [x, y, mode], known, [*normal((6,), (3,)), full], {"static": False}
        values = [np.abs(RANDOM.normal(size=6)) * (1 if full else -1), *normal((3,))]
        yield f"computed mode {full}", [x, y], chosen, values, {"static": False}
    options = {"expected": [np.ones((0, 7))], "interpret": False}
    yield "an empty batch", [table, y], convolve1d(table, y), [np.ones((0, 5)), np.ones(3)], options
    gradients = pytensor.grad((convolve1d(table, y, mode="valid") ** 2).sum(), [table, y])
    yield "gradient of a batch", [table, y], gradients, normal((3, 6), (4,))


def of_matrices() -> Iterator[Case]:
    for mode_ in MODES:
        for shapes in (((6, 5), (2, 3)), ((2, 3), (6, 5)), ((3, 3), (3, 3))):
            if mode_ != "same" or shapes[0] != (2, 3):  # padded with zeros of the kernel's size: PyTensor's affair
                static = mode_ != "same"  # the widths of the padding are written to a matrix
                graph = convolve2d(table, other, mode=mode_)
                yield f"{mode_} {shapes}", [table, other], graph, normal(*shapes), {"static": static}
    for boundary in ("fill", "wrap", "symm"):
        graph = convolve2d(table, other, mode="same", boundary=boundary, fillvalue=2)
        yield boundary, [table, other], graph, normal((6, 5), (3, 2)), {"static": False}
    second = pt.dtensor3("second")
    for mode_ in ("full", "valid"):
        gradients = pytensor.grad((convolve2d(table, other, mode=mode_) ** 2).sum(), [table, other])
        yield f"gradient {mode_}", [table, other], gradients, normal((5, 4), (2, 3))
        images, kernels = normal((3, 5, 4), (3, 2, 2))
        pairs = {second: (kernels, kernels), other: (kernels[0], [kernels[0]] * 3)}
        for by, (value, each_one) in pairs.items():
            wanted = [convolve(a, b, mode=mode_, method="direct") for a, b in zip(images, each_one, strict=True)]
            graph = convolve2d(cube, by, mode=mode_)
            yield f"batch {mode_} {by}", [cube, by], graph, [images, value], {"expected": [np.stack(wanted)]}


def windows() -> Iterator[Case]:
    k = pt.lscalar("k")
    for length in (-2, 0, 1, 2, 5, 8):
        yield f"{length}", [k], pt.bartlett(k), [length]
        yield f"constant {length}", [k], pt.bartlett(pt.constant(length)) * k, [1]
        yield f"computed {length}", [x], pt.bartlett(pt.cast(x.sum(), "int64")), [[length]], {"static": False}


@pytest.mark.sampled(4)
@each(of_vectors())
def test_convolve1d(case: Case) -> None:
    check_case(case)


@pytest.mark.sampled(3)
@each(of_matrices())
def test_convolve2d(case: Case) -> None:
    check_case(case, rtol=1e-11)


@pytest.mark.sampled(4)
@each(windows())
def test_bartlett(case: Case) -> None:
    check_case(case)


def test_what_cannot_be() -> None:
    whole = hlograph.function([table, other], convolve2d(table, other, mode="valid"))
    with pytest.raises(ArgumentShapeError, match="covers the other"):
        whole(np.ones((5, 2)), np.ones((2, 3)))
    with pytest.raises(ArgumentShapeError, match="operand of Convolve1d"):
        hlograph.function([x, y], convolve1d(x, y))(np.ones(0), np.ones(2))
