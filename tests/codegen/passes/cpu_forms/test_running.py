"""Running sums of columns as loops, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten_runs import as_arrays, check, rewritten


def tensor(shape, kind: str = "f64") -> str:
    return f"tensor<{'x'.join([*map(str, shape), kind])}>"


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


@pytest.mark.parametrize(("shape", "axis"), [((40, 16), 0), ((3, 40, 17), 1)])
def test_running_on_the_device(shape, axis):
    x = np.random.default_rng(0).normal(size=shape)
    for forward in (True, False):
        check(running(shape, axis, forward=forward), [x], ["cpu_forms"], exact=False, rtol=1e-12)


def test_running_integers():
    x = np.arange(-320, 320, dtype=np.int32).reshape(40, 16)
    after = check(running((40, 16), 0, kind="i32", init="0"), [x], ["cpu_forms"])
    assert after.applied == {"running_loop": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (running((31, 16), 0), "31 elements are fewer than 32"),
        (running((40, 15), 0), "15 elements lie next to each other, fewer than 16"),
        (running((16, 40), 1), "1 elements lie next to each other, fewer than 16"),
        (
            running((40, 16), 0, init="1.0"),
            "it does not start from the value that stablehlo.add leaves others unchanged",
        ),
    ],
)
def test_running_refusals(text, reason):
    after = rewritten(text, ["cpu_forms"])
    assert not after.applied
    assert reason in after.text


def test_other_windows():
    text = running((40, 16), 0).replace("array<i64: 40, 1>", "array<i64: 20, 1>").replace("39", "19")
    assert not rewritten(text, ["cpu_forms"]).changed


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
