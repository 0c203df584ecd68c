"""The pass `order_host_calls`: what it refuses. What it does is in lit_tests/passes/order_host_calls.mlir."""

from __future__ import annotations

import re

import pytest

import hlograph
from hlograph.errors import PassError

CALL = """%a:2 = stablehlo.custom_call @hlograph.host(%zero, %x) {api_version = 4 : i32,
  backend_config = {name = "host_0"}, has_side_effect = true} : (tensor<i32>, tensor<f64>) -> (tensor<i32>, tensor<f64>)
"""
PRIVATE = f"""
func.func @main(%x: tensor<f64>) -> tensor<f64> {{
  %0 = call @inner(%x) : (tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}}
func.func private @inner(%x: tensor<f64>) -> tensor<f64> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  {CALL}
  return %a#1 : tensor<f64>
}}
"""
REDUCTION = f"""
func.func @main(%v: tensor<3xf64>, %one: tensor<f64>) -> tensor<f64> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%v init: %one) across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
  reducer(%x: tensor<f64>, %y: tensor<f64>) {{
    {CALL}
    stablehlo.return %a#1 : tensor<f64>
  }}
  return %0 : tensor<f64>
}}
"""


@pytest.mark.parametrize(
    ("module", "reason"),
    [(PRIVATE, "a private function"), (REDUCTION, "a stablehlo.reduce runs its block in no order")],
)
def test_calls_without_an_order_are_refused(module: str, reason: str) -> None:
    with pytest.raises(PassError, match=re.escape(reason)):
        hlograph.Program.parse(module, allow=["*"]).optimize(["order_host_calls"])
