"""The forms of `cpu_forms`, against NumPy; factors and solves of one matrix each: test_triangles.py."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from rewritten_runs import as_arrays, check, cholesky, close, rewritten, solve, tensor


def lowered(function: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "f8") -> str:
    with jax.enable_x64(True):
        return jax.jit(function).lower(*[jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]).as_text()


def running(shape, axis, *, op="add", init=0.0, forward=True, window=None, stride=1) -> str:
    size = window or shape[axis]
    windows = [size if k == axis else 1 for k in range(len(shape))]
    pads = [((size - 1, 0) if forward else (0, size - 1)) if k == axis else (0, 0) for k in range(len(shape))]
    by = {"add": lax.add, "multiply": lax.mul, "maximum": lax.max}[op]
    return lowered(lambda x: lax.reduce_window(x, np.float64(init), by, windows, [stride] * len(shape), pads), shape)


RUNNING = {
    "add": (0.0, np.cumsum),
    "multiply": (1.0, np.cumprod),
    "maximum": (-np.inf, np.maximum.accumulate),
}


@settings(max_examples=25, deadline=None)
@given(
    size=st.integers(32, 60),
    behind=st.sampled_from([(16,), (20,), (4, 5)]),
    before=st.sampled_from([(), (3,)]),
    forward=st.booleans(),
    op=st.sampled_from(sorted(RUNNING)),
    seed=st.integers(0, 2**32 - 1),
)
def test_running(size, before, behind, forward, op, seed):
    rng = np.random.default_rng(seed)
    shape, axis = (*before, size, *behind), len(before)
    x = rng.normal(size=shape)
    init, numpy = RUNNING[op]
    after = rewritten(running(shape, axis, op=op, init=init, forward=forward), ["cpu_forms"])
    assert after.applied == {"running_loop": 1}
    (found,) = as_arrays(after.program.interpret(x))
    expected = numpy(x, axis=axis) if forward else np.flip(numpy(np.flip(x, axis), axis=axis), axis)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)  # NumPy's own error


@pytest.mark.parametrize("forward", [True, False])
def test_infinities_and_nan_stay_where_they_are(forward):
    x = np.ones((40, 16))
    x[3, 1], x[5, 2], x[7, 2], x[9, 4], x[11, 5], x[12, 5] = np.nan, np.inf, -np.inf, np.inf, 1e308, 1.7e308
    after = rewritten(running((40, 16), 0, forward=forward), ["cpu_forms"])
    assert after.applied == {"running_loop": 1}
    (found,) = as_arrays(after.program.compile(optimize="none", cpu="plain")(x))
    with np.errstate(invalid="ignore", over="ignore"):
        expected = np.cumsum(x, 0) if forward else np.cumsum(x[::-1], 0)[::-1]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


SHARED = [((3, 3), (6, 3, 2)), ((1, 9, 9), (4, 9, 1)), ((1, 1, 9, 9), (2, 3, 9, 3)), ((2, 9, 9), (3, 2, 9, 1))]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE"])
@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize(("a", "b"), SHARED)
def test_one_matrix_for_all_of_a_batch(a, b, lower, left, transpose):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=a) / a[-1] + 2 * np.eye(a[-1])
    right = rng.normal(size=b)
    right = right if left else np.swapaxes(right, -1, -2)
    spread = (*right.shape[:-2], *a[-2:])
    s, t = tensor(a), tensor(spread)
    places = list(range(len(spread) - len(a), len(spread)))
    head, rest = solve(spread, right.shape, left=left, lower=lower, transpose=transpose).split("{\n", 1)
    text = f"""{head.replace(f"%a: {t}", f"%m: {s}", 1)} {{
  %a = stablehlo.broadcast_in_dim %m, dims = {places} : ({s}) -> {t}
{rest}"""
    after = rewritten(text, ["cpu_forms"])
    assert after.applied.get("shared_solve", 0) == (np.prod(a[:-2]) == 1)  # of several none is shared by all
    triangle = np.tril(matrix) if lower else np.triu(matrix)
    triangle = np.swapaxes(triangle, -1, -2) if transpose == "TRANSPOSE" else triangle
    expected = np.linalg.solve(triangle, right) if left else right @ np.linalg.inv(triangle)
    (found,) = as_arrays(after.program.interpret(matrix, right))
    close(found, expected, 1e-11)


SHAPES = {
    "number": ((40,), (), ()),
    "one element": ((40,), (1,), (0,)),
    "columns": ((16, 5), (5,), (1,)),
    "rows": ((5, 16), (5,), (0,)),
}


def quotient(shape, divisor, axes, dtype="f8") -> str:
    return lowered(lambda x, s: lax.div(x, lax.broadcast_in_dim(s, shape, axes)), shape, divisor, dtype=dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("shape", "divisor", "axes"), SHAPES.values(), ids=SHAPES)
def test_quotients(shape, divisor, axes, dtype):
    rng = np.random.default_rng(0)
    x, s = rng.normal(size=shape).astype(dtype), rng.normal(size=divisor).astype(dtype)
    after = check(quotient(shape, divisor, axes, dtype), [x, s], ["cpu_forms"], exact=False, rtol=1e-6)
    assert after.applied == {"reciprocal_once": 1}
    (found,) = as_arrays(after.program.interpret(x, s))
    sizes = [shape[axis] if axis in axes and divisor != (1,) else 1 for axis in range(len(shape))]
    expected = x / s.reshape(sizes)
    assert np.all(np.abs(found - expected) <= 1.5 * np.spacing(np.abs(expected)))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_at_the_ends_of_the_range(dtype):
    """Zeros, infinities and NaN, their signs, and results of every size that are normal numbers."""
    dtype = np.dtype(dtype)
    limits = np.finfo(dtype)
    powers = dtype.type(2.0) ** np.arange(limits.minexp, limits.maxexp, 12, dtype=np.int32)
    values = np.concatenate([powers, [limits.max, limits.tiny, 0.0, np.inf, np.nan, 1.0, 3.0]]).astype(dtype)
    values = np.concatenate([values, -values])
    after = rewritten(quotient(values.shape, (), (), dtype), ["cpu_forms"])
    assert after.applied == {"reciprocal_once": 1}
    call = after.program.compile(optimize="none", cpu="plain")
    for divisor in values:
        with np.errstate(all="ignore"):
            expected = values / divisor
        (found,) = as_arrays(call(values, np.asarray(divisor)))
        tiny = np.abs(expected) < 2 * limits.tiny  # XLA's threads flush subnormal numbers
        np.testing.assert_allclose(found[~tiny], expected[~tiny], rtol=2 * limits.eps)
        assert np.all(np.abs(found[tiny]) <= 4 * limits.tiny)
        ordinary = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[ordinary]), np.signbit(expected[ordinary]))


COUNT, SIZE = 20, 3


def pads() -> str:
    def function(*xs: Any) -> Any:
        zero = np.float64(0)
        padded = [lax.pad(x, zero, [(SIZE * i, SIZE * (COUNT - 1 - i), 0)]) for i, x in enumerate(xs)]
        return functools.reduce(lax.add, padded)

    return lowered(function, *[(SIZE,)] * COUNT)


def test_pads_are_joined_in_kernels_only():
    assert not rewritten(pads(), ["simplify"]).applied
    assert not rewritten(pads(), ["cpu_forms"]).applied
    after = rewritten(pads(), ["cpu_forms{kernels=true}"])
    assert after.applied == {"pads_in_kernel": 1}
    arrays = np.random.default_rng(0).normal(size=(COUNT, SIZE))
    np.testing.assert_array_equal(as_arrays(after.program.interpret(*arrays))[0], arrays.ravel())


REFUSED = {
    "31 elements are fewer than 32": running((31, 16), 0),
    "15 elements lie next to each other, fewer than 16": running((40, 15), 0),
    "1 elements lie next to each other, fewer than 16": running((16, 40), 1),
    "it does not start from the value that stablehlo.add leaves others": running((40, 16), 0, init=1.0),
    "elements are of complex128": re.sub("f64", "complex<f64>", running((40, 16), 0)).replace(
        "0.000000e+00", "(0.0, 0.0)"
    ),
    "a matrix of 5 x 5 is for LAPACK": cholesky((5, 5), True),
    "the matrix has no elements": cholesky((0, 3, 3), True),
    "a matrix of 7 x 7 is for LAPACK": solve((5, 7, 7), (5, 7, 1)),
    "the right-hand side has no elements": solve((3, 3), (3, 0)),
    "31 elements by 1: fewer than 32": quotient((31,), (), ()),
    "35 elements by 5: fewer than 40": quotient((7, 5), (5,), (1,)),
    # Without a word:
    "other windows": running((40, 16), 0, window=20),
    "strides, and no word of dilations": re.sub(r"\w+_dilations = .*?>, ", "", running((40, 16), 0, stride=2)),
    "a constant divisor": lowered(lambda x: lax.div(x, lax.broadcast_in_dim(np.float64(3), (40,), ())), (40,)),
    "complex matrices": cholesky((2, 2), True).replace("f64", "complex<f64>"),
    "integers": quotient((40,), (), (), "i4"),
    "half precision": quotient((40,), (), (), "f2"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refusals(reason):
    after = rewritten(REFUSED[reason], ["cpu_forms"])
    assert not after.changed
    assert reason in after.text or not after.text
