"""Convolutions of one channel as loops over the kernel's elements, against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from rewritten_runs import as_arrays, check, close, rewritten
from scipy.signal import correlate


def tensor(shape, kind: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), kind])}>"


def convolution(batch, sizes, taps, padding, *, kind="f64", channels=1, stride=1) -> str:
    space = ", ".join(str(axis) for axis in range(len(sizes)))
    places = [size + 2 * padding - tap + 1 for size, tap in zip(sizes, taps, strict=True)]
    places = [(count - 1) // stride + 1 for count in places]
    rows = ", ".join(f"[{padding}, {padding}]" for _ in sizes)
    x, k = tensor((batch, channels, *sizes), kind), tensor((1, channels, *taps), kind)
    y = tensor((batch, 1, *places), kind)
    window = f"stride = [{', '.join([str(stride)] * len(sizes))}], pad = [{rows}]"
    return f"""func.func @main(%x: {x}, %k: {k}) -> {y} {{
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, {space}]x[o, i, {space}]->[b, f, {space}],
    window = {{{window}}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({x}, {k}) -> {y}
  return %y : {y}
}}"""


@pytest.mark.parametrize(
    ("batch", "sizes", "taps", "padding"),
    [
        (1, (40,), (7,), 0),
        (3, (40,), (7,), 6),
        (1, (9,), (9,), 8),
        (2, (8, 9), (3, 2), 1),
        (1, (5, 4, 6), (2, 3, 1), 2),
    ],
)
def test_against_scipy(batch, sizes, taps, padding):
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(batch, 1, *sizes)), rng.normal(size=(1, 1, *taps))
    after = check(convolution(batch, sizes, taps, padding), [x, k], ["cpu_forms"], exact=False, rtol=1e-12)
    assert after.applied == {"shifted_products": 1}
    around = np.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * len(sizes)])
    wanted = np.stack([correlate(row[0], k[0, 0], mode="valid")[None] for row in around])
    close(as_arrays(after.program.interpret(x, k))[0], wanted, 1e-12)


def test_more_elements_in_float32():
    x, k = np.random.default_rng(0).normal(size=(1, 1, 5000)), np.ones((1, 1, 3))
    arrays = [x.astype("float32"), k.astype("float32")]
    after = check(convolution(1, (5000,), (3,), 0, kind="f32"), arrays, ["cpu_forms"], exact=False, rtol=1e-5)
    assert after.applied == {"shifted_products": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (convolution(1, (40,), (7,), 0, channels=2), "more than one channel"),
        (convolution(1, (40,), (7,), 0, stride=2), "steps, dilations, groups"),
        (convolution(1, (40,), (7,), 0, kind="i32"), "it is of int32"),
        (convolution(0, (40,), (7,), 0), "no elements"),
        (convolution(1, (40,), (39,), 0), "39 turns with 2 elements each take longer"),
        (convolution(1, (500,), (129,), 0), "129 turns"),
        (convolution(1, (5000,), (3,), 0), "4998 elements are more than 1024"),
    ],
)
def test_refusals(text, reason):
    after = rewritten(text, ["cpu_forms"])
    assert not after.applied
    assert reason in after.text
