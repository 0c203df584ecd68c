"""Short sorts by ranks, against NumPy's stable sorts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten_runs import as_arrays, check, rewritten, same_bits

LESS = "%r = stablehlo.compare LT, %a, %b, {kind} : (tensor<{t}>, tensor<{t}>) -> tensor<i1>"
GREATER = "%r = stablehlo.compare GT, %a, %b, {kind} : (tensor<{t}>, tensor<{t}>) -> tensor<i1>"
NAN_LAST = """%l = stablehlo.compare LT, %a, %b : (tensor<{t}>, tensor<{t}>) -> tensor<i1>
    %e = stablehlo.compare EQ, %a, %a : (tensor<{t}>, tensor<{t}>) -> tensor<i1>
    %n = stablehlo.compare NE, %b, %b : (tensor<{t}>, tensor<{t}>) -> tensor<i1>
    %f = stablehlo.and %e, %n : tensor<i1>
    %r = stablehlo.or %l, %f : tensor<i1>"""


def module(shape, comparator, kind="f64", axis=0, places=False) -> str:
    """A sort, with the sorted places too if asked for."""
    dims = "".join(f"{size}x" for size in shape)
    array, count = f"tensor<{dims}{kind}>", f"tensor<{dims}i64>"
    body = f"""^bb0(%a: tensor<{kind}>, %b: tensor<{kind}>{", %c: tensor<i64>, %d: tensor<i64>" if places else ""}):
    {comparator}
    stablehlo.return %r : tensor<i1>"""
    results = f"{array}, {count}" if places else array
    operands = "%x, %p" if places else "%x"
    returned = "%s#0, %s#1" if places else "%s"
    return f"""func.func @main(%x: {array}) -> ({results}) {{
  %p = stablehlo.iota dim = {axis} : {count}
  %s{":2" if places else ""} = "stablehlo.sort"({operands}) <{{dimension = {axis}, is_stable = true}}> ({{
  {body}
  }}) : ({results}) -> ({results})
  return {returned} : {results}
}}"""


@settings(max_examples=30, deadline=None)
@given(
    size=st.integers(2, 20),
    other=st.sampled_from([None, 1, 4]),
    places=st.booleans(),
    kind=st.sampled_from(["f64", "f32", "i32", "ui8"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_as_numpy_sorts(size, other, places, kind, seed):
    rng = np.random.default_rng(seed)
    shape = (size,) if other is None else (size, other) if seed % 2 else (other, size)
    axis = 0 if other is None or seed % 2 else 1
    x = rng.integers(0, 6, shape).astype({"f64": "f8", "f32": "f4", "i32": "i4", "ui8": "u1"}[kind])
    if kind[0] == "f":
        x[rng.random(shape) < 0.2] = np.nan
        x[rng.random(shape) < 0.2] = -0.0
        x[rng.random(shape) < 0.1] = -np.inf
    after = rewritten(module(shape, NAN_LAST.format(t=kind), kind, axis, places), ["cpu_forms"])
    assert after.applied == {"rank_sort": 1}
    found = as_arrays(after.program.interpret(x))
    order = np.argsort(x, axis=axis, kind="stable")
    same_bits(found[0], np.take_along_axis(x, order, axis))
    if places:
        same_bits(found[1], order)


@pytest.mark.parametrize(
    ("comparator", "kind"),
    [
        (LESS.format(kind="TOTALORDER", t="f64"), "f64"),
        (GREATER.format(kind="TOTALORDER", t="f32"), "f32"),
        (LESS.format(kind="SIGNED", t="i32"), "i32"),
        (GREATER.format(kind="UNSIGNED", t="ui8"), "ui8"),
    ],
)
def test_orders(comparator, kind):
    x = np.array([3, 0, 2, 2, 5, 1, 0, 4]).astype({"f64": "f8", "f32": "f4", "i32": "i4", "ui8": "u1"}[kind])
    after = check(module((8,), comparator, kind), [x], ["cpu_forms"])
    assert after.applied == {"rank_sort": 1}
    assert "stablehlo.sort" not in after.program.text


def on_device(text, x) -> list[np.ndarray]:
    """What XLA makes of a module, as it is. The interpreter does not know the total order."""
    return as_arrays(rewritten(text, ()).program.compile(optimize="none", cpu="plain")(x))


def test_the_total_order():
    x = np.array([1.0, np.nan, 0.0, -np.inf, -0.0, np.inf, -np.nan, -1.0])
    after = rewritten(module((8,), LESS.format(kind="TOTALORDER", t="f64")), ["cpu_forms"])
    assert after.applied == {"rank_sort": 1}
    same_bits(on_device(after.program.text, x)[0], x[[6, 3, 7, 4, 2, 0, 5, 1]])


def test_what_jax_sorts_with():
    import jax

    x = np.array([0.5, np.nan, -0.0, 0.0, -np.inf, 0.5, -1.0], np.float32)
    text = jax.jit(lambda x: jax.numpy.argsort(x)).lower(x).as_text()
    after = rewritten(text, ["inline", "canonicalize", "cpu_forms"])
    assert after.applied == {"rank_sort": 1}
    np.testing.assert_array_equal(on_device(after.program.text, x)[0], np.argsort(x, stable=True))


OUTSIDE = """func.func @main(%x: tensor<8xi32>, %q: tensor<i1>) -> tensor<8xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %l = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = stablehlo.and %l, %q : tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<8xi32>) -> tensor<8xi32>
  return %s : tensor<8xi32>
}"""
# 3 and 4 are the same as each other and as nothing else's neighbour: 3 ~ 4, but 2.5 < 4 and not 2.5 < 3.
NEAR = """%c = stablehlo.constant dense<3.0> : tensor<f64>
    %l = stablehlo.compare LT, %a, %c : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %m = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %n = stablehlo.compare GT, %b, %c : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %r = stablehlo.and %m, %n : tensor<i1>"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (module((8,), LESS.format(kind="FLOAT", t="f64")), "the comparator is no order, for NaN or for other values"),
        (module((8,), LESS.format(kind="FLOAT", t="f64").replace("LT", "LE")), "puts two values before each other"),
        (module((8,), NEAR), "the comparator is no order"),
        (module((33,), LESS.format(kind="TOTALORDER", t="f64")), "33 elements are more than 32"),
        (OUTSIDE, "reads a value from outside that is not constant"),
    ],
)
def test_refusals(text, reason):
    after = rewritten(text, ["cpu_forms"])
    assert not after.applied
    assert reason in after.text
