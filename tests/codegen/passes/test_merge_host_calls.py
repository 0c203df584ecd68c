"""The pass `merge_host_calls`: random programs of Python functions and compiled ops, also crosswise.

What it leaves alone, and how a module looks, is in lit_tests/passes/merge_host_calls.mlir.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

import hlograph
from hlograph.builder import HostCall

CALL = """%{0}:3 = stablehlo.custom_call @hlograph.host(%zero, {1}, {2}) {{api_version = 4 : i32,
  backend_config = {{name = "{0}"}}, has_side_effect = true}}
  : (tensor<i32>, tensor<f64>, tensor<f64>) -> (tensor<i32>, tensor<f64>, tensor<f64>)"""
MODULE = """func.func @main(%x: tensor<f64>, %y: tensor<f64>) -> ({types}) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  {lines}
  return {names} : {types}
}}"""


def turned(values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A function with two results, which writes to what it gets."""
    x, y = (np.array(value) for value in values)
    for value in values:
        value[...] = np.nan
    return [x - 0.5 * y, np.asarray(0.5 * x + y)]


@pytest.mark.parametrize("seed", range(5))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    known = {"%x": 0.75, "%y": -1.25}
    lines: list[str] = []
    calls = {}
    for number in range(12):
        left, right = (rng.choice(list(known)[-5:]) for _ in range(2))
        if rng.random() < 0.6:
            lines.append(CALL.format(f"h{number}", left, right))
            calls[f"h{number}"] = HostCall("turned", turned)
            found = turned([np.array(known[left]), np.array(known[right])])
            known |= {f"%h{number}#{place}": float(value) for place, value in enumerate(found, 1)}
        else:
            lines.append(f"%c{number} = stablehlo.sine {left} : tensor<f64>")
            known[f"%c{number}"] = math.sin(known[left])
    text = MODULE.format(
        lines="\n  ".join(lines), names=", ".join(known), types=", ".join(["tensor<f64>"] * len(known))
    )
    program = hlograph.Program.parse(text, allow=["*"])
    program.host_calls.update(calls)
    merged = program.optimize(["merge_host_calls"])
    assert 1 <= merged.text.count("custom_call") <= len(calls)
    for each in (program, merged):
        np.testing.assert_allclose(each.compile()(0.75, -1.25), list(known.values()), rtol=1e-12)
