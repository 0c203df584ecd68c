"""A loop's counter is in range: no clamp where that is certain, one where it is not."""

from __future__ import annotations

import pytest
from padded_runs import check_padded

LOOP = """func.func @main(%x: tensor<?xf64> {{hlograph.name = "x", hlograph.dims = ["n"]}}) -> tensor<f64> {{
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
  %zero = stablehlo.constant dense<{first}> : tensor<i32>
  %one = stablehlo.constant dense<{step}> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %sum = stablehlo.constant dense<0.0> : tensor<f64>
  %r:3 = stablehlo.while(%i = %zero, %limit = %n, %total = %sum) : tensor<i32>, tensor<i32>, tensor<f64>
    cond {{
      %0 = stablehlo.compare {direction}, %i, {bound}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    }} do {{
      {index}
      %1 = stablehlo.dynamic_slice %x, %place, sizes = [1] : (tensor<?xf64>, tensor<i32>) -> tensor<1xf64>
      %2 = stablehlo.reshape %1 : (tensor<1xf64>) -> tensor<f64>
      %three = stablehlo.constant dense<3.0> : tensor<f64>
      %3 = stablehlo.multiply %total, %three : tensor<f64>
      %4 = stablehlo.add %3, %2 : tensor<f64>
      %5 = stablehlo.add %i, %one : tensor<i32>
      {update}
      stablehlo.return %5, {next}, %4 : tensor<i32>, tensor<i32>, tensor<f64>
    }}
  return %r#2 : tensor<f64>
}}"""
PLAIN = {
    "first": 0,
    "step": 1,
    "direction": "LT",
    "bound": "%n",
    "index": "%place = stablehlo.convert %i : tensor<i32>",
    "update": "",
    "next": "%limit",
}
BACKWARD = """%p = stablehlo.subtract %n, %one : tensor<i32>
      %place = stablehlo.subtract %p, %i : tensor<i32>"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("changes", "clamps"),
    [
        pytest.param({}, 0, id="forward"),
        pytest.param({"index": BACKWARD}, 0, id="backward"),
        pytest.param({"bound": "%limit"}, 0, id="a limit that is carried along"),
        pytest.param(
            {"bound": "%limit", "update": "%6 = stablehlo.minimum %limit, %n : tensor<i32>", "next": "%6"},
            1,
            id="limit moves",
        ),
        pytest.param({"step": 3}, 0, id="by threes"),
        pytest.param({"index": "%place = stablehlo.add %i, %one : tensor<i32>"}, 1, id="one past"),
        pytest.param({"index": "%place = stablehlo.multiply %i, %two : tensor<i32>"}, 1, id="twice"),
        pytest.param({"index": "%place = stablehlo.subtract %i, %one : tensor<i32>"}, 1, id="one before"),
        pytest.param({"direction": "LE"}, 1, id="up to the size"),
        pytest.param({"first": -2}, 1, id="from below"),
    ],
)
def test_clamps(changes: dict, clamps: int) -> None:
    # XLA takes a loop from 0 to 1 by threes for one without a turn (jaxlib 0.10): the interpreter alone knows better.
    compiled = changes.get("step", 1) == 1
    sizes = [{"n": n} for n in (1, 2, 7, 8)]
    padded = check_padded(LOOP.format(**(PLAIN | changes)), {"n": 8}, sizes=sizes, compiled=compiled)
    assert padded.op_counts().get("stablehlo.clamp", 0) == clamps
