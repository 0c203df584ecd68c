"""The pass itself: options, and what a kernel may hold."""

from __future__ import annotations

import numpy as np
import pytest
from rewritten_runs import as_arrays, rewritten

from hlograph.codegen.errors import PassError
from hlograph.codegen.passes import cpu_forms
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
  %o = "stablehlo.sort"(%s) <{dimension = 0, is_stable = true}> ({
  ^bb0(%b: tensor<f64>, %c: tensor<f64>):
    %n = stablehlo.compare LT, %b, %c, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %n : tensor<i1>
  }) : (tensor<5xf64>) -> tensor<5xf64>
  return %o : tensor<5xf64>
}"""


def test_a_kernel_has_no_scatter_sort_or_factorization():
    after = rewritten(TEXT, ["cpu-forms{kernel=true}"])
    assert after.applied == {"small_cholesky": 1, "scatter_loop": 1, "rank_sort": 1}
    assert not cpu_forms.TRIGGERS & set(after.program.op_counts()) - {"stablehlo.reduce"}
    a = np.cov(np.random.default_rng(0).normal(size=(5, 20)))
    places = np.array([[1], [3], [1], [9]], np.int32)
    expected = np.zeros(5)
    np.add.at(expected, [1, 3, 1], np.linalg.cholesky(a)[4, :3])
    for run in (after.program.interpret, after.program.compile(optimize="none", cpu="plain")):
        np.testing.assert_allclose(as_arrays(run(a, places))[0], np.sort(expected), rtol=1e-12)


def test_without_it_the_scatter_and_the_medium_matrix_stay():
    assert rewritten(TEXT, ["cpu-forms"]).applied == {"rank_sort": 1}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("cpu-forms{size=3}", "has no option 'size'; it takes kernel=true or false"),
        ("cpu-forms{kernel=1}", "kernel is true or false, not '1'"),
    ],
)
def test_options(option, message):
    with pytest.raises(PassError, match=message):
        Program.parse(TEXT).run_passes([option])


def test_dynamic_dimensions_are_refused():
    text = """func.func @main(%a: tensor<?x3xf64>) -> tensor<3xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<?x3xf64>, tensor<f64>) -> tensor<3xf64>
  return %s : tensor<3xf64>
}"""  # noqa: E501
    after = rewritten(text, ["cpu-forms"])
    assert not after.applied
    assert "tensor<?x3xf64> has a dynamic dimension" in after.text
