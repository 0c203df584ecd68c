"""The pass itself: options, and what it leaves alone."""

from __future__ import annotations

import pytest
from rewritten_runs import rewritten

from hlograph.codegen.errors import PassError
from hlograph.codegen.program import Program

TEXT = """func.func @main(%a: tensor<5x5xf64>, %i: tensor<4x1xi32>) -> tensor<5xf64> {
  %l = stablehlo.cholesky %a, lower = true : tensor<5x5xf64>
  %r = stablehlo.slice %l [4:5, 0:4] : (tensor<5x5xf64>) -> tensor<1x4xf64>
  %u = stablehlo.reshape %r : (tensor<1x4xf64>) -> tensor<4xf64>
  %z = stablehlo.constant dense<0.0> : tensor<5xf64>
  %s = "stablehlo.scatter"(%z, %i, %u) <{indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
    index_vector_dim = 1>}> ({
  ^bb0(%b: tensor<f64>, %c: tensor<f64>):
    %n = stablehlo.add %b, %c : tensor<f64>
    stablehlo.return %n : tensor<f64>
  }) : (tensor<5xf64>, tensor<4x1xi32>, tensor<4xf64>) -> tensor<5xf64>
  return %s : tensor<5xf64>
}"""


def test_what_libraries_are_better_at_stays():
    assert rewritten(TEXT, ["cpu_forms"]).applied == {}


def test_options():
    with pytest.raises(PassError, match=r"cpu_forms.*size"):
        Program.parse(TEXT).run_passes(["cpu_forms{size=3}"])


def test_dynamic_dimensions_are_refused():
    text = """func.func @main(%a: tensor<?xf64>, %b: tensor<f64>) -> tensor<?xf64> {
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf64>) -> tensor<i32>
  %m = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %c = stablehlo.dynamic_broadcast_in_dim %b, %m, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
  %s = stablehlo.divide %a, %c : tensor<?xf64>
  return %s : tensor<?xf64>
}"""
    assert not rewritten(text, ["cpu_forms"]).applied
