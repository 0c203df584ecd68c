"""Reductions: every monoid, axes, accumulators, empty axes, NaN, ties; running sums; softmax."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from support import check_lowering

import hlograph
from hlograph.errors import ArgumentShapeError

RNG = np.random.default_rng(7)
T = pt.dtensor3("T")
VALUES = RNG.normal(size=(2, 3, 4))
AXES = [None, 0, -1, (0, 2), (1,), (0, 1, 2), ()]


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_axes(name):
    check_lowering([T], [getattr(T, name)(axis=axis) for axis in AXES], VALUES)


def test_keepdims():
    check_lowering([T], [T.sum(axis=1, keepdims=True), T.max(keepdims=True), T.mean(axis=(0, 2), keepdims=True)], VALUES)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int32", "int64", "uint8", "bool"])
def test_dtypes_and_accumulators(dtype):
    x = pt.tensor("x", shape=(None, 3), dtype=dtype)
    values = RNG.integers(0, 2 if dtype == "bool" else 120, size=(5, 3)).astype(dtype)
    outputs = [x.sum(axis=0), x.prod(axis=1), x.sum(dtype="float64"), x.sum(axis=1, dtype=dtype, acc_dtype=dtype)]
    if dtype != "bool":
        outputs += [x.max(axis=0), x.min()]
    check_lowering([x], outputs, values)


def test_single_precision_sums_accumulate_in_double():
    x = pt.fvector("x")
    values = np.full(100_000, 0.1, np.float32)
    result = hlograph.function([x], x.sum())(values)
    assert result.dtype == np.float32
    assert float(result) == np.float32(values.astype(np.float64).sum())


def test_any_and_all():
    x = pt.tensor("x", shape=(None, 3), dtype="bool")
    values = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0]], bool)
    check_lowering([x], [pt.any(x), pt.all(x, axis=0), pt.any(x, axis=1), pt.all(x, axis=1)], values)


def test_bitwise_reductions():
    from pytensor.scalar import and_, or_, xor
    from pytensor.tensor.elemwise import CAReduce

    x = pt.tensor("x", shape=(None, 3), dtype="int64")
    values = np.array([[12, 7, -1], [10, 5, 6]])
    check_lowering([x], [CAReduce(op, axis=0)(x) for op in (and_, or_, xor)], values)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_empty_axes_give_the_identity(shape):
    x, b = pt.dmatrix("x"), pt.bmatrix("b")
    b = pt.tensor("b", shape=(None, None), dtype="bool")
    outputs = [x.sum(axis=0), x.prod(axis=1), x.sum(), pt.all(b, axis=0), pt.any(b)]
    check_lowering([x, b], outputs, np.ones(shape), np.ones(shape, bool))


@pytest.mark.parametrize("reduction", [pt.max, pt.min, pt.argmax, pt.argmin])
def test_no_elements_have_no_maximum(reduction):
    x = pt.dmatrix("x")
    function = hlograph.function([x], reduction(x, axis=0), rewrite=False)
    assert function(np.ones((2, 0))).shape == (0,)
    with pytest.raises(ArgumentShapeError, match="x_0 >= 1, got x_0 = 0.*argument 'x', axis 0"):
        function(np.ones((0, 2)))


def test_nan_and_infinities():
    x = pt.dmatrix("x")
    values = np.array([[1.0, np.nan, 3.0], [np.inf, 2.0, -np.inf], [np.nan, np.nan, 0.0], [-np.inf] * 3])
    check_lowering([x], [x.max(axis=1), x.min(axis=1), x.sum(axis=1), x.prod(axis=1), x.max(axis=0)], values)


@pytest.mark.parametrize(
    "values",
    [
        [[3.0, 3.0, 1.0], [1.0, 2.0, 2.0]],
        [[1.0, np.nan, 3.0], [np.nan, np.nan, 0.0]],
        [[-np.inf, -np.inf, -np.inf], [np.inf, -np.inf, np.inf]],
        [[0.0, -0.0, 0.0], [-0.0, 0.0, -0.0]],
    ],
)
def test_argmax_takes_the_first_of_equals_and_the_first_nan(values):
    x = pt.dmatrix("x")
    outputs = [pt.argmax(x, axis=1), pt.argmax(x, axis=0), pt.argmax(x), pt.argmin(x, axis=1)]
    check_lowering([x], outputs, np.array(values))


def test_argmax_over_several_axes_and_integers():
    check_lowering([T], [pt.argmax(T, axis=(0, 2)), pt.argmax(T, axis=(1, 2)), pt.argmax(T, axis=-1)], VALUES)
    x = pt.lmatrix("x")
    lowest = np.iinfo(np.int64).min
    check_lowering([x], [pt.argmax(x, axis=1), pt.max(x, axis=1)], np.array([[lowest, lowest], [5, 7]]))


@pytest.mark.parametrize("size", [0, 1, 2, 17])
@pytest.mark.parametrize("static", [True, False])
def test_running_sums_and_products(size, static):
    x = pt.dmatrix("x")
    values = RNG.normal(size=(size, 3))
    outputs = [pt.cumsum(x, axis=0), pt.cumprod(x, axis=0), pt.cumsum(x, axis=1), pt.cumsum(x), pt.cumprod(x)]
    check_lowering([x], outputs, values, static=static, interpret=size < 17)


def test_running_sum_of_integers_and_its_gradient():
    k, x = pt.lvector("k"), pt.dvector("x")
    gradient = pytensor.grad((pt.cumsum(x) ** 2).sum(), x)
    check_lowering([k, x], [pt.cumsum(k), gradient], np.arange(6) - 2, RNG.normal(size=6))


@pytest.mark.parametrize("axis", [None, -1, 0, (0, 2)])
def test_softmax_and_gradients(axis):
    if axis == (0, 2):
        axis = (0, 2)
    weights = pt.dtensor3("weights")
    soft, log_soft = pt.special.softmax(T, axis=axis), pt.special.log_softmax(T, axis=axis)
    outputs = [soft, log_soft, pytensor.grad((soft * weights).sum(), T), pytensor.grad((log_soft * weights).sum(), T)]
    check_lowering([T, weights], outputs, VALUES, RNG.normal(size=VALUES.shape), rtol=1e-11)


def test_softmax_of_huge_numbers():
    x = pt.dmatrix("x")
    values = np.array([[1e4, 1e4 + 1, -1e4], [-1e300, -1e300, -1e300], [700.0, -700.0, 0.0]])
    check_lowering([x], [pt.special.softmax(x, axis=1), pt.special.log_softmax(x, axis=1)], values)


def test_mean_variance_and_logsumexp():
    outputs = [T.mean(axis=0), T.var(axis=(0, 1)), T.std(), pt.logsumexp(T, axis=1), pt.logsumexp(T * 1e3)]
    check_lowering([T], outputs, VALUES, rtol=1e-11)


def test_gradients_of_reductions():
    cost = T.prod(axis=1).sum() + (T.max(axis=2) ** 2).sum() + T.mean() ** 2
    check_lowering([T], [pytensor.grad(cost, T)], VALUES, rtol=1e-11)


def test_product_gradient_with_zeros():
    x = pt.dmatrix("x")
    values = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 4.0], [1.0, 2.0, 3.0]])
    check_lowering([x], [pytensor.grad(x.prod(axis=1).sum(), x)], values)
