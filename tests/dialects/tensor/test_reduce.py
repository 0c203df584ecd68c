"""Reductions: CAReduce with every monoid, Argmax, cumulative ops, Softmax."""

from __future__ import annotations

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
from support import check_lowering

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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sum_prod_max_min_any_all(dtype: str) -> None:
    """All axes; the dtypes are PyTensor's: integers and booleans are added up in 64 bits."""
    x = cube(dtype)
    names = ("sum", "prod", "mean", "any", "all", "max") + (() if dtype == "complex128" else ("min",))
    outputs = [getattr(pt, name)(x, axis=axis) for name in names for axis in AXES]
    check_lowering([x], outputs, values(dtype, 2, 3, 4), rtol=5e-3 if dtype == "float16" else None)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", [ps.and_, ps.or_, ps.xor], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64"])
def test_bitwise_monoids(op: ps.ScalarOp, dtype: str) -> None:
    x = cube(dtype)
    ufunc = {ps.and_: np.bitwise_and, ps.or_: np.bitwise_or, ps.xor: np.bitwise_xor}[op]
    array = values(dtype, 2, 3, 4)
    expected = [ufunc.reduce(array, axis=axis) for axis in (None, 1, (0, 2))]
    outputs = [CAReduce(op, axis=axis)(x) for axis in (None, (1,), (0, 2))]
    check_lowering([x], outputs, array, expected=expected)
    empty = np.zeros((0, 2, 0), dtype)  # the identity: 0, and of `and` all bits
    check_lowering([x], outputs[1:2], empty, expected=[ufunc.reduce(empty, axis=1)])
    check_lowering([x], outputs[:1], empty, expected=[ufunc.reduce(empty, axis=None)])


@pytest.mark.parametrize("op", [ps.add, ps.mul, ps.maximum, ps.minimum], ids=str)
def test_plain_careduce(op: ps.ScalarOp) -> None:
    """The base class: the result has the input's dtype, and int8 wraps around."""
    x, i = cube(), cube("int8").clone(name="i")
    ufunc = {ps.add: np.add, ps.mul: np.multiply, ps.maximum: np.maximum, ps.minimum: np.minimum}[op]
    arrays = values("float64", 2, 3, 4), values("int8", 2, 3, 4)
    outputs = [CAReduce(op, axis=(0, 2))(x), CAReduce(op, axis=(0, 2))(i)]
    axes = {"axis": (0, 2)}
    expected = [ufunc.reduce(arrays[0], **axes), ufunc.reduce(arrays[1], dtype="int8", **axes)]
    check_lowering([x, i], outputs, *arrays, expected=expected)


def test_float32_is_accumulated_in_float64() -> None:
    """2 ** 24 + 1 - 2 ** 24, repeated: float32 alone loses every 1."""
    x = pt.vector("x", dtype="float32")
    array = np.array([2.0**24, 1.0, -(2.0**24)] * 100, "float32")
    program = check_lowering([x], [pt.sum(x), pt.sum(x, acc_dtype="float64", dtype="float64")], array)
    assert "f64" in program.text
    single = hlograph.emit_stablehlo(([x], [pt.sum(x, acc_dtype="float32")]))
    assert "f64" not in single.text
    check_lowering([x], [pt.sum(x, dtype="float64"), pt.prod(x, acc_dtype="float64")], np.array([0.1, 0.7], "float32"))


def test_the_last_axis_of_a_number() -> None:
    """NumPy and PyTensor let a number have one."""
    x = pt.dscalar("x")
    check_lowering([x], [x.sum(axis=-1), x.prod(axis=-1)], 3.0, expected=[3.0, 3.0])
    np.testing.assert_allclose(hlograph.function([x], pt.log(x).sum(axis=-1))(3.0), np.log(3.0))


def test_accumulators_of_integers() -> None:
    x, b = pt.vector("x", dtype="int8"), pt.vector("b", dtype="bool")
    outputs = [
        pt.sum(x),
        pt.sum(x, dtype="int8"),
        pt.sum(x, acc_dtype="int8", dtype="int64"),
        pt.prod(x, dtype="float64"),
    ]
    outputs += [pt.sum(b), pt.prod(b), pt.sum(b, dtype="int8"), pt.mean(b), pt.sum(b, dtype="bool", acc_dtype="bool")]
    array, flags = np.array([100, 100, 27], "int8"), np.array([True, False, True])
    expected = [
        np.int64(227),
        np.int8(-29),
        np.int64(-29),
        270000.0,
        np.int64(2),
        np.int64(0),
        np.int8(2),
        2 / 3,
        np.True_,
    ]
    check_lowering([x, b], outputs, array, flags, expected=expected)


def test_reductions_of_constants_and_short_vectors_wrap_around() -> None:
    """A short vector of integers is known as sizes, which do not wrap; its reductions must all the same."""
    x = pt.tensor("x", dtype="int64", shape=(3,))
    constant = pt.constant(np.array([2**40, 2**40, 3]))
    outputs = [f(v) for f in (pt.sum, pt.prod, pt.max, pt.min) for v in (x, constant)]
    outputs += [pt.sum(pt.cast(x, "int32"), dtype="int32", acc_dtype="int32")]
    check_lowering(
        [x],
        outputs,
        np.array([2**62, 2**62, 5]),
        expected=[
            np.int64(-(2**63) + 5),
            np.int64(2**41 + 3),
            np.int64(0),
            np.int64(0),
            np.int64(2**62),
            np.int64(2**40),
            np.int64(5),
            np.int64(3),
            np.int32(5),
        ],
    )


@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 2, 3), (2, 3, 0), (0, 0, 0)])
def test_reductions_over_nothing(shape: tuple[int, ...]) -> None:
    x = cube()
    functions = (pt.sum, pt.prod, lambda v, axis: pt.all(v > 0, axis=axis), lambda v, axis: pt.any(v > 0, axis=axis))
    outputs = [f(x, axis=axis) for f in functions for axis in (None, 0, 1, (1, 2))]
    check_lowering([x], outputs, np.zeros(shape))
    total, product, every, some = (f(x, axis=None) for f in functions)
    check_lowering([x], [total, product, every, some], np.zeros(shape), expected=[0.0, 1.0, np.True_, np.False_])


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


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extremes_with_nan_and_infinity(dtype: str) -> None:
    x = cube(dtype)
    array = values(dtype, 2, 3, 4)
    array[0, 1, 2], array[1, 0, 0], array[1, 1, 1], array[0, 0] = np.nan, np.inf, -np.inf, -np.inf
    outputs = [f(x, axis=axis) for f in (pt.max, pt.min, pt.sum, pt.prod, pt.mean) for axis in AXES[:-1]]
    check_lowering([x], outputs, array)


def test_prod_without_zeros() -> None:
    x = cube()
    array = values("float64", 2, 3, 4)
    array[0, 1], array[1, 2, 3] = 0, 0
    kept = np.where(array == 0, 1, array)
    axes = (None, (0,), (1, 2))
    outputs = [ProdWithoutZeros(axis=axis)(x) for axis in axes]
    check_lowering([x], outputs, array, expected=[kept.prod(axis=axis) for axis in axes])


def test_order_of_complex_numbers() -> None:
    """Ties of the real parts; an element with NaN in either part wins, and all of them are NaN."""
    z = pt.matrix("z", dtype="complex128")
    least = CAReduce(ps.minimum, axis=(1,))(z)  # `pt.min` refuses complex numbers
    outputs = [f(z, axis=axis) for f in (pt.max, pt.argmax) for axis in (None, 0, 1)] + [least]
    array = np.round(values("complex128", 5, 6))
    check_lowering([z], outputs, array)
    check_lowering([z], outputs, np.full((2, 3), complex(-np.inf, -np.inf)))
    for nan in (complex(np.nan, 1), complex(1, np.nan)):
        array[1, 2] = array[3, 4] = nan
        check_lowering([z], [pt.argmax(z), pt.argmax(z, axis=0), pt.isnan(pt.max(z, axis=1))], array)


def test_a_scalar_has_no_axis_to_reduce() -> None:
    x = pt.scalar("x")
    outputs = [pt.sum(x, axis=-1), pt.max(x, axis=()), CAReduce(ps.add, axis=(-1,))(x), pt.prod(x, axis=None)]
    check_lowering([x], outputs, 5.0, expected=[np.array(5.0)] * 4)


def test_gradient_of_a_product_with_zeros() -> None:
    """PyTensor's own graph of it: products without zeros, counts of zeros, selections."""
    x = pt.matrix("x")
    array = np.array([[1.5, 0.0, 2.0], [0.0, 0.0, 3.0], [1.0, -2.0, 0.5]])
    outputs = [pytensor.grad(pt.prod(x, axis=1).sum(), x), pytensor.grad(pt.max(x, axis=0).sum(), x)]
    outputs += [pytensor.grad(pt.mean(x**2), x), pytensor.grad(pt.var(x, axis=0).sum(), x), pt.std(x, axis=1)]
    check_lowering([x], outputs, array)


def test_what_is_refused() -> None:
    x = pt.vector("x")
    associative = ps.ScalarOp  # an op that CAReduce takes and the table lacks

    class Hypot(ps.BinaryScalarOp):
        identity, commutative = 0.0, True
        associative = True

        def impl(self, a: float, b: float) -> float:
            return np.hypot(a, b)

    assert issubclass(Hypot, associative)
    with pytest.raises(UnsupportedOpError, match="reduction with"):
        hlograph.emit_stablehlo(([x], [CAReduce(Hypot(ps.upcast_out, name="hypot"))(x)]))


# ---- argmax ----------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint8", "bool"])
def test_argmax_over_axes(dtype: str) -> None:
    x = cube(dtype)
    outputs = [pt.argmax(x, axis=axis) for axis in AXES[:-1]]
    if dtype not in ("bool", "uint8"):  # argmin negates
        outputs += [pt.argmin(x, axis=axis) for axis in (None, 1, -1)]
    check_lowering([x], outputs, values(dtype, 2, 3, 4))
    check_lowering([x], outputs, values(dtype, 1, 1, 1), static=False, interpret=False)


def test_argmax_takes_the_first_of_equals_and_the_first_nan() -> None:
    x = pt.matrix("x")
    rows = [[1.0, 3, 3], [3, 3, 1], [-np.inf, -np.inf, -np.inf], [np.nan, 1, np.nan], [np.inf, np.nan, 0], [0, -0.0, 0]]
    array = np.array(rows)
    outputs = [pt.argmax(x, axis=axis) for axis in (None, 0, 1, (0, 1), (1, 0))] + [pt.argmin(x, axis=1)]
    check_lowering([x], outputs, array)
    check_lowering([x], [pt.argmax(x, axis=1)], array, expected=[np.array([1, 0, 0, 0, 1, 0])])


def test_max_and_argmax_of_a_long_axis() -> None:
    x = pt.matrix("x")
    array = RNG.integers(0, 50, (3, 1000)).astype(float)
    check_lowering([x], [*pt.max_and_argmax(x, axis=1), *pt.max_and_argmax(x, axis=(0, 1))], array)


# ---- cumulative ops ----------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 17])
def test_cumulative_ops(size: int) -> None:
    """Static axes take a window, symbolic ones a loop; both start from the first element."""
    x = pt.matrix("x")
    tall, wide = RNG.normal(size=(size, 3)), RNG.normal(size=(3, size))
    check_lowering([x], [pt.cumsum(x, axis=0), pt.cumprod(x, axis=0), pt.cumsum(x), pt.cumprod(x)], tall)
    check_lowering([x], [pt.cumsum(x, axis=1), pt.cumprod(x, axis=-1)], wide)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int8", "bool"])
def test_cumulative_dtypes(dtype: str) -> None:
    """The type says that the dtype stays (PyTensor's Python implementation breaks that promise for small integers)."""
    x = pt.matrix("x", dtype=dtype)
    array = values(dtype, 3, 4)
    expected = [np.cumsum(array, axis=1).astype(dtype), np.cumprod(array, axis=0).astype(dtype)]
    check_lowering([x], [pt.cumsum(x, axis=1), pt.cumprod(x, axis=0)], array, expected=expected)


def test_cumulative_ops_keep_nan_behind_it_and_have_gradients() -> None:
    x = pt.vector("x")
    check_lowering([x], [pt.cumsum(x), pt.cumprod(x)], np.array([1.0, 2.0, np.nan, 3.0, np.inf]))
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    check_lowering([x], [pytensor.grad((pt.cumsum(x) * weights).sum(), x)], np.array([0.5, 2.0, -1.0, 3.0]))
    check_lowering([x], [pytensor.grad((pt.cumprod(x) * weights).sum(), x)], np.array([0.5, 2.0, -1.0, 3.0]))


# ---- softmax ----------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (1, 2)])
def test_softmax_and_its_gradient(axis: Any) -> None:
    if isinstance(axis, tuple) and pytensor.__version__.startswith("2."):
        pytest.skip("PyTensor 2's softmax takes one axis or all")
    x, weights = cube(), cube().clone(name="weights")
    outputs = [softmax(x, axis=axis), log_softmax(x, axis=axis)]
    gradients = [pytensor.grad((y * weights).sum(), x) for y in outputs]
    array = values("float64", 2, 3, 4)
    expected = [scipy.special.softmax(array, axis=axis), scipy.special.log_softmax(array, axis=axis)]
    check_lowering([x], outputs, array, expected=expected)
    check_lowering([x, weights], gradients, array, values("float64", 2, 3, 4))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_softmax_of_huge_and_infinite_values(dtype: str) -> None:
    x = pt.matrix("x", dtype=dtype)
    rows = [[1000.0, -1000, 0], [1e30, -1e30, 0], [-np.inf, 0, 1], [-1000, -1000, -1001], [np.nan, 0, 1], [-np.inf] * 3]
    outputs = [softmax(x, axis=1), log_softmax(x, axis=1), softmax(x, axis=0)]
    check_lowering([x], outputs, np.array(rows))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3, 1), (1, 1)])
def test_softmax_of_axes_of_size_0_and_1(shape: tuple[int, int]) -> None:
    x = pt.matrix("x")
    array = values("float64", *shape)
    expected = [np.ones(shape), np.zeros(shape)] if shape[1] < 2 else [np.zeros(shape)] * 2
    check_lowering([x], [softmax(x, axis=1), log_softmax(x, axis=1)], array, expected=expected)
    if shape == (0, 3):
        check_lowering([x], [softmax(x, axis=0), softmax(x, axis=None)], array, expected=[array, array])


def test_reductions_of_an_axis_of_a_number() -> None:
    """As NumPy, PyTensor takes axis 0 and -1 of it."""
    x = pt.dscalar("x")
    outputs = [pt.sum(x, axis=-1), pt.max(x, axis=0), pt.prod(x, axis=-1), pt.all(x > 0, axis=0), pt.min(x, axis=-1)]
    check_lowering([x], outputs, np.array(3.0), expected=[np.array(3.0)] * 3 + [np.array(True), np.array(3.0)])


# ---- builder functions that no rule uses so ----------------------------------------


def test_common_reductions_are_made_once() -> None:
    x = pt.matrix("x")
    text = hlograph.emit_stablehlo(([x], [x / pt.sum(x), pt.sum(x) + 1, pt.max(x) - pt.sum(x)])).text
    assert text.count("stablehlo.reduce(") == 2
