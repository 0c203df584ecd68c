"""Reductions: CAReduce with every monoid, Argmax, cumulative ops, Softmax; sorting."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
import scipy.special
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.math import ProdWithoutZeros
from pytensor.tensor.special import log_softmax, softmax
from support import Case, cases, check_lowering

import hlograph
from hlograph.errors import ArgumentShapeError, UnsupportedOpError

RNG = np.random.default_rng(5)
AXES: tuple[Any, ...] = (None, 0, 1, -1, (0, 2), (1, 2), (2, 0, 1), ())
DTYPES = ("float64", "float32", "float16", "int8", "uint8", "int64", "bool", "complex128")


def values(dtype: str, *shape: int) -> np.ndarray:
    """Small values: products stay finite, sums of int8 do not fit int8."""
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    if dtype in ("int8", "uint8", "int64"):
        return RNG.choice([-100, -3, 1, 2, 100] if dtype != "uint8" else [1, 2, 3, 200], shape).astype(dtype)
    real = RNG.normal(size=shape)
    return (real + 1j * RNG.normal(size=shape) if dtype == "complex128" else real).astype(dtype)


def cube(dtype: str = "float64") -> Any:
    return pt.tensor("x", dtype=dtype, shape=(None, None, None))


# ---- monoids, axes, dtypes ----------------------------------------


@cases(sampled=3)
def test_reductions() -> Iterator[Case]:
    x, i, matrix, scalar = cube(), cube("int8").clone(name="i"), pt.matrix("matrix"), pt.scalar("s")
    for dtype in DTYPES:  # all axes; the dtypes are PyTensor's: integers and booleans are added up in 64 bits
        own = cube(dtype)
        names = ("sum", "prod", "mean", "any", "all", "max") + (() if dtype == "complex128" else ("min",))
        outputs = [getattr(pt, name)(own, axis=axis) for name in names for axis in AXES]
        options = {"rtol": 5e-3 if dtype == "float16" else None}
        yield dtype, [own], outputs, [values(dtype, 2, 3, 4)], options
    for op, ufunc in ((ps.and_, np.bitwise_and), (ps.or_, np.bitwise_or), (ps.xor, np.bitwise_xor)):
        for dtype in ("bool", "int8", "uint8", "int64"):
            own, array, empty = cube(dtype), values(dtype, 2, 3, 4), np.zeros((0, 2, 0), dtype)
            outputs = [CAReduce(op, axis=axis)(own) for axis in (None, (1,), (0, 2))]
            expected = [ufunc.reduce(array, axis=axis) for axis in (None, 1, (0, 2))]
            yield f"{op} {dtype}", [own], outputs, [array], {"expected": expected}
            # The identity: 0, and of `and` all bits.
            expected = [ufunc.reduce(empty, axis=axis) for axis in (None, 1)]
            yield f"{op} {dtype} of nothing", [own], outputs[:2], [empty], {"expected": expected}
    plain = {ps.add: np.add, ps.mul: np.multiply, ps.maximum: np.maximum, ps.minimum: np.minimum}
    for op, ufunc in plain.items():  # the base class: the result has the input's dtype, and int8 wraps around
        arrays = [values("float64", 2, 3, 4), values("int8", 2, 3, 4)]
        expected = [ufunc.reduce(arrays[0], axis=(0, 2)), ufunc.reduce(arrays[1], axis=(0, 2), dtype="int8")]
        outputs = [CAReduce(op, axis=(0, 2))(own) for own in (x, i)]
        yield f"plain {op}", [x, i], outputs, arrays, {"expected": expected}
    functions = (pt.sum, pt.prod, lambda v, axis: pt.all(v > 0, axis=axis), lambda v, axis: pt.any(v > 0, axis=axis))
    for shape in ((2, 0, 3), (0, 2, 3), (2, 3, 0), (0, 0, 0)):
        outputs = [f(x, axis=axis) for f in functions for axis in (None, 0, 1, (1, 2))]
        yield f"nothing {shape}", [x], outputs, [np.zeros(shape)]
        expected = [0.0, 1.0, np.True_, np.False_]
        yield f"all of nothing {shape}", [x], outputs[::4], [np.zeros(shape)], {"expected": expected}
    for dtype in ("float64", "float32"):
        own, array = cube(dtype), values(dtype, 2, 3, 4)
        array[0, 1, 2], array[1, 0, 0], array[1, 1, 1], array[0, 0] = np.nan, np.inf, -np.inf, -np.inf
        outputs = [f(own, axis=axis) for f in (pt.max, pt.min, pt.sum, pt.prod, pt.mean) for axis in AXES[:-1]]
        yield f"nan and infinity {dtype}", [own], outputs, [array]
    array, axes = values("float64", 2, 3, 4), (None, (0,), (1, 2))
    array[0, 1], array[1, 2, 3] = 0, 0
    expected = [np.where(array == 0, 1, array).prod(axis=axis) for axis in axes]
    yield "without zeros", [x], [ProdWithoutZeros(axis=axis)(x) for axis in axes], [array], {"expected": expected}
    # As NumPy, PyTensor takes axis 0 and -1 of a number.
    outputs = [pt.sum(scalar, axis=-1), pt.max(scalar, axis=()), CAReduce(ps.add, axis=(-1,))(scalar), pt.prod(scalar)]
    outputs += [pt.max(scalar, axis=0), pt.min(scalar, axis=-1), pt.prod(scalar, axis=-1)]
    yield "a number", [scalar], outputs, [5.0], {"expected": [np.array(5.0)] * len(outputs)}
    array = np.array([[1.5, 0.0, 2.0], [0.0, 0.0, 3.0], [1.0, -2.0, 0.5]])
    outputs = [
        pytensor.grad(pt.prod(matrix, axis=1).sum(), matrix),
        pytensor.grad(pt.max(matrix, axis=0).sum(), matrix),
    ]
    outputs += [pytensor.grad(pt.mean(matrix**2), matrix), pytensor.grad(pt.var(matrix, axis=0).sum(), matrix)]
    yield "gradients, of a product with zeros too", [matrix], [*outputs, pt.std(matrix, axis=1)], [array]


@cases(sampled=3)
def test_argmax_and_order() -> Iterator[Case]:
    z, x = pt.matrix("z", dtype="complex128"), pt.matrix("x")
    # Ties of the real parts; an element with NaN in either part wins, and all of them are NaN.
    least = CAReduce(ps.minimum, axis=(1,))(z)  # `pt.min` refuses complex numbers
    outputs = [f(z, axis=axis) for f in (pt.max, pt.argmax) for axis in (None, 0, 1)] + [least]
    array = np.round(values("complex128", 5, 6))
    yield "complex", [z], outputs, [array]
    yield "complex, infinite", [z], outputs, [np.full((2, 3), complex(-np.inf, -np.inf))]
    outputs = [pt.argmax(z), pt.argmax(z, axis=0), pt.isnan(pt.max(z, axis=1))]
    for nan in (complex(np.nan, 1), complex(1, np.nan)):
        array = array.copy()
        array[1, 2] = array[3, 4] = nan
        yield f"complex, {nan}", [z], outputs, [array]
    for dtype in ("float64", "float32", "int8", "uint8", "bool"):
        own = cube(dtype)
        outputs = [pt.argmax(own, axis=axis) for axis in AXES[:-1]]
        if dtype not in ("bool", "uint8"):  # argmin negates
            outputs += [pt.argmin(own, axis=axis) for axis in (None, 1, -1)]
        yield f"argmax {dtype}", [own], outputs, [values(dtype, 2, 3, 4)]
        yield f"argmax of one {dtype}", [own], outputs, [values(dtype, 1, 1, 1)], {"static": False, "interpret": False}
    rows = [[1.0, 3, 3], [3, 3, 1], [-np.inf, -np.inf, -np.inf], [np.nan, 1, np.nan], [np.inf, np.nan, 0], [0, -0.0, 0]]
    outputs = [pt.argmax(x, axis=axis) for axis in (None, 0, (0, 1), (1, 0))] + [pt.argmin(x, axis=1)]
    yield "the first of equals and the first NaN", [x], outputs, [rows]
    yield "by row", [x], [pt.argmax(x, axis=1)], [rows], {"expected": [np.array([1, 0, 0, 0, 1, 0])]}
    array = RNG.integers(0, 50, (3, 1000)).astype(float)
    yield "a long axis", [x], [*pt.max_and_argmax(x, axis=1), *pt.max_and_argmax(x, axis=(0, 1))], [array]


@cases(sampled=3)
def test_cumulative_ops() -> Iterator[Case]:
    x, v, weights = pt.matrix("x"), pt.vector("v"), np.array([1.0, -2.0, 0.5, 3.0])
    tall = [pt.cumsum(x, axis=0), pt.cumprod(x, axis=0), pt.cumsum(x), pt.cumprod(x)]
    for size in (0, 1, 2, 17):  # static axes take a window, symbolic ones a loop; both start from the first element
        yield f"{size} rows", [x], tall, [RNG.normal(size=(size, 3))]
        yield f"{size} columns", [x], [pt.cumsum(x, axis=1), pt.cumprod(x, axis=-1)], [RNG.normal(size=(3, size))]
    for dtype in ("float32", "complex128", "int8", "bool"):
        # The type says that the dtype stays (PyTensor's Python breaks that promise for small integers).
        own, array = pt.matrix("x", dtype=dtype), values(dtype, 3, 4)
        expected = [np.cumsum(array, axis=1).astype(dtype), np.cumprod(array, axis=0).astype(dtype)]
        yield dtype, [own], [pt.cumsum(own, axis=1), pt.cumprod(own, axis=0)], [array], {"expected": expected}
    yield "behind NaN", [v], [pt.cumsum(v), pt.cumprod(v)], [[1.0, 2.0, np.nan, 3.0, np.inf]]
    gradients = [pytensor.grad((f(v) * weights).sum(), v) for f in (pt.cumsum, pt.cumprod)]
    yield "gradients", [v], gradients, [[0.5, 2.0, -1.0, 3.0]]


@cases(sampled=3)
def test_softmax() -> Iterator[Case]:
    x, weights, matrix = cube(), cube().clone(name="weights"), pt.matrix("m")
    several = () if pytensor.__version__.startswith("2.") else ((0, 2), (1, 2))  # PyTensor 2 takes one axis or all
    for axis in (None, 0, 1, -1, *several):
        outputs, array = [softmax(x, axis=axis), log_softmax(x, axis=axis)], values("float64", 2, 3, 4)
        expected = [scipy.special.softmax(array, axis=axis), scipy.special.log_softmax(array, axis=axis)]
        yield f"{axis}", [x], outputs, [array], {"expected": expected}
        gradients = [pytensor.grad((y * weights).sum(), x) for y in outputs]
        yield f"gradient {axis}", [x, weights], gradients, [array, values("float64", 2, 3, 4)]
    rows = [[1000.0, -1000, 0], [1e30, -1e30, 0], [-np.inf, 0, 1], [-1000, -1000, -1001], [np.nan, 0, 1], [-np.inf] * 3]
    for dtype in ("float64", "float32"):
        own = pt.matrix("x", dtype=dtype)
        yield f"huge {dtype}", [own], [softmax(own, axis=1), log_softmax(own, axis=1), softmax(own, axis=0)], [rows]
    outputs = [softmax(matrix, axis=1), log_softmax(matrix, axis=1)]
    for shape in ((0, 3), (3, 0), (3, 1), (1, 1)):
        expected = [np.ones(shape), np.zeros(shape)] if shape[1] < 2 else [np.zeros(shape)] * 2
        yield f"{shape}", [matrix], outputs, [values("float64", *shape)], {"expected": expected}
    nothing = {"expected": [np.zeros((0, 3))] * 2}
    yield "over nothing", [matrix], [softmax(matrix, axis=0), softmax(matrix, axis=None)], [np.zeros((0, 3))], nothing


@cases()
def test_sorting() -> Iterator[Case]:
    x, z, v = pt.matrix("x"), pt.zmatrix("z"), pt.lvector("v")
    outputs = [f(x, axis=axis) for f in (pt.sort, pt.argsort) for axis in (0, 1, -1, None)]
    for shape in ((5, 4), (1, 3), (0, 3), (3, 0)):
        yield f"{shape}", [x], outputs, [RNG.normal(size=shape)]
    last = np.array([[3.0, np.nan, -np.inf, 0.0], [np.inf, np.nan, np.nan, 1.0]])
    yield "NaN is last", [x], [pt.sort(x, axis=1), pt.argsort(x, axis=1, kind="stable")], [last]
    for dtype in ("float16", "float32", "float64"):  # sorted by their bits
        own, most = pt.vector("own", dtype=dtype), np.finfo(dtype)
        array = np.array([np.nan, -0.0, most.max, -np.nan, most.smallest_subnormal, np.inf, -most.tiny, -np.inf, 0.0])
        yield f"extremes in {dtype}", [own], pt.sort(own), [np.concatenate([array, -array]).astype(dtype)]
    yield "equal elements keep their order", [v], [pt.argsort(v, kind="stable")], [RNG.integers(0, 4, size=50)]
    for dtype in ("bool", "int8", "uint64", "float32"):
        own = pt.vector("own", dtype=dtype)
        array = RNG.integers(0, 100, size=9).astype(dtype)
        yield dtype, [own], [pt.sort(own), pt.argsort(own, kind="stable")], [array]
    # Real parts first, then imaginary ones; what has a NaN is last, in NumPy's order of such.
    parts = [0.0, -1.0, np.inf, -np.inf, np.nan, 2.0]
    array = RNG.permutation([complex(x, y) for x in parts for y in parts] * 2).reshape(8, 9)
    yield "complex", [z], [pt.sort(z, axis=1), pt.argsort(z, axis=0, kind="stable")], [array]
    gradient = pytensor.grad((pt.sort(x, axis=0) * np.arange(12.0).reshape(4, 3)).sum(), x)
    yield "gradient", [x], [gradient, pt.sort(x, axis=0)[x.shape[0] // 2]], [RNG.normal(size=(4, 3))]


def test_float32_is_accumulated_in_float64() -> None:
    """2 ** 24 + 1 - 2 ** 24, repeated: float32 alone loses every 1."""
    x = pt.vector("x", dtype="float32")
    array = np.array([2.0**24, 1.0, -(2.0**24)] * 100, "float32")
    program = check_lowering([x], [pt.sum(x), pt.sum(x, acc_dtype="float64", dtype="float64")], array)
    assert "f64" in program.text
    single = hlograph.emit_stablehlo(([x], [pt.sum(x, acc_dtype="float32")]))
    assert "f64" not in single.text
    check_lowering([x], [pt.sum(x, dtype="float64"), pt.prod(x, acc_dtype="float64")], np.array([0.1, 0.7], "float32"))


def test_accumulators_of_integers() -> None:
    x, b = pt.vector("x", dtype="int8"), pt.vector("b", dtype="bool")
    outputs = [pt.sum(x), pt.sum(x, dtype="int8"), pt.sum(x, acc_dtype="int8", dtype="int64")]
    outputs += [pt.prod(x, dtype="float64")]
    outputs += [pt.sum(b), pt.prod(b), pt.sum(b, dtype="int8"), pt.mean(b), pt.sum(b, dtype="bool", acc_dtype="bool")]
    array, flags = np.array([100, 100, 27], "int8"), np.array([True, False, True])
    expected = [np.int64(227), np.int8(-29), np.int64(-29), 270000.0, np.int64(2), np.int64(0), np.int8(2), 2 / 3]
    expected += [np.True_]
    check_lowering([x, b], outputs, array, flags, expected=expected)


def test_reductions_of_constants_and_short_vectors_wrap_around() -> None:
    """A short vector of integers is known as sizes, which do not wrap; its reductions must all the same."""
    x = pt.tensor("x", dtype="int64", shape=(3,))
    constant = pt.constant(np.array([2**40, 2**40, 3]))
    outputs = [f(v) for f in (pt.sum, pt.prod, pt.max, pt.min) for v in (x, constant)]
    outputs += [pt.sum(pt.cast(x, "int32"), dtype="int32", acc_dtype="int32")]
    expected = [-(2**63) + 5, 2**41 + 3, 0, 0, 2**62, 2**40, 5, 3]
    wanted = [*map(np.int64, expected), np.int32(5)]
    check_lowering([x], outputs, np.array([2**62, 2**62, 5]), expected=wanted)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_extremes_of_nothing_are_refused(name: str) -> None:
    x = cube()
    output = getattr(pt, name)(x, axis=1)
    program = hlograph.emit_stablehlo(([x], [output]))
    assert [(str(c.lhs), c.relation, str(c.rhs)) for c in program.signature.constraints] == [("x_1", ">=", "1")]
    with pytest.raises(ArgumentShapeError, match=r"x_1 >= 1, got x_1 = 0 .*'x', axis 1"):
        program.compile()(np.zeros((2, 0, 3)))
    with pytest.raises(ArgumentShapeError, match=r"axis 1 of no elements"):
        hlograph.emit_stablehlo(([x], [output]), dims={"x": (2, 0, 3)})
    found = program.compile()(np.zeros((0, 2, 3)))  # axes that are kept may be empty
    assert np.asarray(found).shape == (0, 3)


def test_what_is_refused() -> None:
    class Hypot(ps.BinaryScalarOp):
        """An op that CAReduce takes and the table lacks."""

        identity, commutative, associative = 0.0, True, True

    x = pt.vector("x")
    with pytest.raises(UnsupportedOpError, match="reduction with"):
        hlograph.emit_stablehlo(([x], [CAReduce(Hypot(ps.upcast_out, name="hypot"))(x)]))


def test_common_reductions_are_made_once() -> None:
    x = pt.matrix("x")
    text = hlograph.emit_stablehlo(([x], [x / pt.sum(x), pt.sum(x) + 1, pt.max(x) - pt.sum(x)])).text
    assert text.count("stablehlo.reduce(") == 2
