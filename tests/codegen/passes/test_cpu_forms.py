"""The forms of `cpu_forms`, against NumPy; factors and solves of one matrix each: test_triangles.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten_runs import as_arrays, check, cholesky, close, rewritten, solve, tensor


def running(shape, axis, *, op="add", init="0.0", kind="f64", forward=True, low=None) -> str:
    size = shape[axis]
    window = [size if k == axis else 1 for k in range(len(shape))]
    before = size - 1 if low is None else low
    pads = [
        [before if k == axis and forward else 0, before if k == axis and not forward else 0] for k in range(len(shape))
    ]
    t, scalar = tensor(shape, kind), tensor((), kind)
    return f"""func.func @main(%x: {t}) -> {t} {{
  %z = stablehlo.constant dense<{init}> : {scalar}
  %s = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: {", ".join(map(str, window))}>,
    padding = dense<{pads}> : tensor<{len(shape)}x2xi64>}}> ({{
  ^bb0(%a: {scalar}, %b: {scalar}):
    %n = stablehlo.{op} %a, %b : {scalar}
    stablehlo.return %n : {scalar}
  }}) : ({t}, {scalar}) -> {t}
  return %s : {t}
}}"""  # fmt: skip


RUNNING = {
    "add": ("0.0", np.cumsum),
    "multiply": ("1.0", np.cumprod),
    "maximum": ("0xFFF0000000000000", np.maximum.accumulate),
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


SHARED = [((3, 3), (6, 3, 2)), ((1, 9, 9), (4, 9, 1)), ((1, 1, 9, 9), (2, 3, 9, 3))]


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
    assert after.applied["shared_solve"] == 1
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


def quotient(shape, divisor, axes, kind="f64") -> str:
    x, s = tensor(shape, kind), tensor(divisor, kind)
    return f"""func.func @main(%x: {x}, %s: {s}) -> {x} {{
  %b = stablehlo.broadcast_in_dim %s, dims = {list(axes)} : ({s}) -> {x}
  %q = stablehlo.divide %x, %b : {x}
  return %q : {x}
}}"""


@pytest.mark.parametrize("kind", ["f64", "f32"])
@pytest.mark.parametrize(("shape", "divisor", "axes"), SHAPES.values(), ids=SHAPES)
def test_quotients(shape, divisor, axes, kind):
    rng = np.random.default_rng(0)
    dtype = np.dtype(f"f{int(kind[1:]) // 8}")
    x, s = rng.normal(size=shape).astype(dtype), rng.normal(size=divisor).astype(dtype)
    after = check(quotient(shape, divisor, axes, kind), [x, s], ["cpu_forms"], exact=False, rtol=1e-6)
    assert after.applied == {"reciprocal_once": 1}
    (found,) = as_arrays(after.program.interpret(x, s))
    sizes = [shape[axis] if axis in axes and divisor != (1,) else 1 for axis in range(len(shape))]
    expected = x / s.reshape(sizes)
    assert np.all(np.abs(found - expected) <= 1.5 * np.spacing(np.abs(expected)))


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_at_the_ends_of_the_range(kind):
    """Zeros, infinities and NaN, their signs, and results of every size that are normal numbers."""
    dtype = np.dtype(f"f{int(kind[1:]) // 8}")
    limits = np.finfo(dtype)
    powers = dtype.type(2.0) ** np.arange(limits.minexp, limits.maxexp, 12, dtype=np.int32)
    values = np.concatenate([powers, [limits.max, limits.tiny, 0.0, np.inf, np.nan, 1.0, 3.0]]).astype(dtype)
    values = np.concatenate([values, -values])
    after = rewritten(quotient(values.shape, (), (), kind), ["cpu_forms"])
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
    t, whole = f"tensor<{SIZE}xf64>", f"tensor<{COUNT * SIZE}xf64>"
    lines = [f"%z = stablehlo.constant dense<0.0> : tensor<f64>\n  %s0 = stablehlo.constant dense<0.0> : {whole}"]
    for i in range(COUNT):
        low, high = SIZE * i, SIZE * (COUNT - 1 - i)
        lines += [
            f"%p{i} = stablehlo.pad %x{i}, %z, low = [{low}], high = [{high}], interior = [0] : "
            f"({t}, tensor<f64>) -> {whole}",
            f"%s{i + 1} = stablehlo.add %s{i}, %p{i} : {whole}",
        ]
    arguments = ", ".join(f"%x{i}: {t}" for i in range(COUNT))
    body = "\n  ".join(lines)
    return f"func.func @main({arguments}) -> {whole} {{\n  {body}\n  return %s{COUNT} : {whole}\n}}"


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
    "it does not start from the value that stablehlo.add leaves others": running((40, 16), 0, init="1.0"),
    "a matrix of 5 x 5 is for LAPACK": cholesky((5, 5), True),
    "the matrix has no elements": cholesky((0, 3, 3), True),
    "a matrix of 7 x 7 is for LAPACK": solve((5, 7, 7), (5, 7, 1)),
    "the right-hand side has no elements": solve((3, 3), (3, 0)),
    "31 elements by 1: fewer than 32": quotient((31,), (), ()),
    "35 elements by 5: fewer than 40": quotient((7, 5), (5,), (1,)),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refusals(reason):
    after = rewritten(REFUSED[reason], ["cpu_forms"])
    assert not after.applied
    assert reason in after.text


LEFT_ALONE = {
    "other windows": running((40, 16), 0).replace("array<i64: 40, 1>", "array<i64: 20, 1>").replace("39", "19"),
    "complex matrices": cholesky((2, 2), True).replace("f64", "complex<f64>"),
    "matrices that differ": solve((5, 9, 9), (5, 9, 1)),
    "integers": quotient((40,), (), (), "i32"),
    "half precision": quotient((40,), (), (), "f16"),
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_left_alone(case):
    assert not rewritten(LEFT_ALONE[case], ["cpu_forms"]).changed
