"""Sums along an axis as dots, and running sums as loops, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten_runs import as_arrays, check, close, rewritten


def tensor(shape, kind: str = "f64") -> str:
    return f"tensor<{'x'.join([*map(str, shape), kind])}>"


def total(shape, axes, *, kind="f64", factor=None, op="add", init="0.0", extra="") -> str:
    """A reduction; with `factor`, of the product with a second argument that is broadcast from these axes."""
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    x, out, scalar = tensor(shape, kind), tensor(kept, kind), tensor((), kind)
    other, lines, value = "", "", "%x"
    if factor is not None:
        w = tensor([shape[axis] for axis in factor], kind)
        other, value = f", %w: {w}", "%p"
        lines = f"""%b = stablehlo.broadcast_in_dim %w, dims = {list(factor)} : ({w}) -> {x}
  %p = stablehlo.multiply %x, %b : {x}"""
    return f"""func.func @main(%x: {x}{other}) -> {out} {{
  %z = stablehlo.constant dense<{init}> : {scalar}
  {lines}{extra}
  %s = stablehlo.reduce({value} init: %z) applies stablehlo.{op} across dimensions = {list(axes)} :
    ({x}, {scalar}) -> {out}
  return %s : {out}
}}"""


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((40, 6), (0,)), ((40, 6), (1,)), ((5, 8, 6), (0, 1)), ((5, 8, 6), (2,)), ((5, 8, 6), (1, 2)), ((2, 64), (1,))],
)
def test_sums(shape, axes):
    x = np.random.default_rng(0).normal(size=shape)
    after = check(total(shape, axes), [x], ["cpu_forms"], exact=False, rtol=1e-12)
    assert after.applied == {"sum_to_dot": 1}
    close(as_arrays(after.program.interpret(x))[0], x.sum(axes), 1e-12)


@pytest.mark.parametrize(
    ("shape", "axes", "factor"),
    [
        ((40, 6), (1,), (1,)),
        ((40, 6), (0,), (0,)),
        ((40, 6), (0,), (1,)),  # the factor has no part in the sum: a dot with ones
        ((40, 6), (1,), (0, 1)),
        ((4, 5, 20), (2,), (2,)),
        ((4, 5, 20), (2,), (1, 2)),
        ((20, 4, 5), (0,), (0, 2)),
        ((20, 4, 5), (0, 1), (0, 1)),
    ],
)
def test_sums_of_products(shape, axes, factor):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=shape), rng.normal(size=[shape[axis] for axis in factor])
    after = check(total(shape, axes, factor=factor), [x, w], ["cpu_forms"], exact=False, rtol=1e-12)
    assert after.applied == {"sum_to_dot": 1}
    spread = w.reshape([size if axis in factor else 1 for axis, size in enumerate(shape)])
    close(as_arrays(after.program.interpret(x, w))[0], (x * spread).sum(axes), 1e-12)


def test_both_factors_are_broadcast():
    text = """func.func @main(%x: tensor<8x30xf64>, %y: tensor<30x1x5xf64>) -> tensor<8x5xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %a = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<8x30xf64>) -> tensor<30x8x5xf64>
  %b = stablehlo.broadcast_in_dim %y, dims = [0, 1, 2] : (tensor<30x1x5xf64>) -> tensor<30x8x5xf64>
  %p = stablehlo.multiply %b, %a : tensor<30x8x5xf64>
  %s = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<30x8x5xf64>, tensor<f64>) -> tensor<8x5xf64>
  return %s : tensor<8x5xf64>
}"""  # noqa: E501
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 30)), rng.normal(size=(30, 1, 5))
    after = check(text, [x, y], ["cpu_forms"], exact=False, rtol=1e-12)
    assert after.program.op_counts() == {"stablehlo.reshape": 1, "stablehlo.dot_general": 1, "stablehlo.transpose": 1}
    close(as_arrays(after.program.interpret(x, y))[0], x @ y[:, 0], 1e-12)


def test_nan_and_infinities_stay_in_their_sums():
    x = np.ones((40, 6))
    x[3, 1], x[5, 2], x[7, 2], x[9, 4] = np.nan, np.inf, -np.inf, np.inf
    after = rewritten(total((40, 6), (0,)), ["cpu_forms"])
    (found,) = as_arrays(after.program.compile(optimize="none", cpu="plain")(x))
    with np.errstate(invalid="ignore"):
        expected = x.sum(0)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (total((8, 8), (0,)), "it adds up 64 elements, fewer than 128"),
        (total((8, 8, 8), (1,)), "the axes [1] of 3 are neither the leading nor the trailing ones"),
        (total((40, 6), (0,), init="1.0"), "the sum does not start from a constant 0"),
    ],
)
def test_refusals(text, reason):
    after = rewritten(text, ["cpu_forms"])
    assert not after.applied
    assert reason in after.text


def test_what_is_computed_on_the_way_stays_fused():
    def text(rows):
        shape = tensor((rows, 64))
        exp = f"\n  %e = stablehlo.exponential %x : {shape}"
        return total((rows, 64), (0,), extra=exp).replace("reduce(%x", "reduce(%e")

    assert rewritten(text(16), ["cpu_forms"]).applied
    after = rewritten(text(17), ["cpu_forms"])
    assert "1088 elements are computed where they are added up, by stablehlo.exponential" in after.text
    assert not after.applied


@pytest.mark.parametrize("text", [total((40, 6), (0, 1)), total((40, 6), (0,), op="maximum"),
                                  total((40, 6), (0,), kind="i32", init="0")])  # fmt: skip
def test_other_reductions(text):
    assert not rewritten(text, ["cpu_forms"]).changed


# ---- running sums ---------------------------------------------------------------------------------------------------


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
    other=st.sampled_from([None, 1, 3]),
    forward=st.booleans(),
    op=st.sampled_from(sorted(RUNNING)),
    seed=st.integers(0, 2**32 - 1),
)
def test_running(size, other, forward, op, seed):
    rng = np.random.default_rng(seed)
    shape = (size,) if other is None else (size, other) if seed % 2 else (other, size)
    axis = 0 if other is None or seed % 2 else 1
    x = rng.normal(size=shape)
    init, numpy = RUNNING[op]
    after = rewritten(running(shape, axis, op=op, init=init, forward=forward), ["cpu_forms"])
    assert after.applied == {"running_loop": 1}
    (found,) = as_arrays(after.program.interpret(x))
    expected = numpy(x, axis=axis) if forward else np.flip(numpy(np.flip(x, axis), axis=axis), axis)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("shape", "axis"), [((100,), 0), ((103,), 0), ((40, 3), 0), ((3, 40), 1)])
def test_running_on_the_device(shape, axis):
    x = np.random.default_rng(0).normal(size=shape)
    for forward in (True, False):
        check(running(shape, axis, forward=forward), [x], ["cpu_forms"], exact=False, rtol=1e-12)


def test_running_integers():
    x = np.arange(-20, 20, dtype=np.int32)
    after = check(running((40,), 0, kind="i32", init="0"), [x], ["cpu_forms"])
    assert after.applied == {"running_loop": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (running((31,), 0), "31 elements are fewer than 32"),
        (running((40,), 0, init="1.0"), "it does not start from the value that stablehlo.add leaves others unchanged"),
    ],
)
def test_running_refusals(text, reason):
    after = rewritten(text, ["cpu_forms"])
    assert not after.applied
    assert reason in after.text


def test_other_windows():
    text = running((40,), 0).replace("array<i64: 40>", "array<i64: 20>").replace("39", "19")
    assert not rewritten(text, ["cpu_forms"]).changed
