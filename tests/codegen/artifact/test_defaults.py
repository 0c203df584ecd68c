"""What StableHLO lets modules leave out: they mean the same as those that write it, exact, padded and by rows."""

from __future__ import annotations

import numpy as np
import pytest

from hlograph import Program

TEXT = """
func.func @main(%x: tensor<?x?xf32> {{hlograph.name = "x", hlograph.dims = ["n", "m"]}}) -> tensor<?x?xf32> {{
  %0 = "stablehlo.sort"(%x) {properties} ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }}) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}}
"""


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize(
    ("properties", "axis"),
    [("", -1), ("<{dimension = -1 : i64}>", -1), ("<{dimension = -2 : i64}>", 0), ("<{dimension = 0 : i64}>", 0)],
)
def test_a_sort_is_along_its_last_axis_and_may_count_from_the_end(properties: str, axis: int, policy: str) -> None:
    program = Program.parse(TEXT.format(properties=properties))
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    np.testing.assert_array_equal(program.compile(policy=policy)(x), np.sort(x, axis))
    np.testing.assert_array_equal(program.interpret(x)[0], np.sort(x, axis))
