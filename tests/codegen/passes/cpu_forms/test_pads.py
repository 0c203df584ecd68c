"""Sums of many small pads, which only a kernel of many ops joins."""

from __future__ import annotations

import numpy as np
from rewritten_runs import as_arrays, rewritten

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
