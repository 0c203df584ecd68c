"""What random programs found, as small as it can be."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from property.evaluation import check

from hlograph import Program
from hlograph.errors import PassError


def agree(text: str, bounds: Mapping[str, int], *calls: tuple[Mapping[str, int], Sequence[Any]]) -> None:
    """All evaluations of the program, for arguments given by size."""
    program = Program.parse(text)
    dtypes = [argument.dtype for argument in program.signature.arguments]
    arrays = [[np.array(x, d) for x, d in zip(values, dtypes, strict=True)] for _, values in calls]
    check(program, bounds, [(sizes, a) for (sizes, _), a in zip(calls, arrays, strict=True)])


def test_a_reduction_of_no_live_element_in_one_place():
    """XLA takes a reduction of one element for that element, and leaves the initial value out."""
    agree(
        """
        func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> (tensor<f64>, tensor<f64>) {
          %zero = stablehlo.constant dense<0.0> : tensor<f64>
          %least = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
          %0:2 = stablehlo.reduce(%x init: %zero), (%x init: %least) across dimensions = [0]
            : (tensor<?xf64>, tensor<?xf64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
            reducer(%a: tensor<f64>, %b: tensor<f64>) (%c: tensor<f64>, %d: tensor<f64>) {
              %1 = stablehlo.add %a, %b : tensor<f64>
              %2 = stablehlo.maximum %c, %d : tensor<f64>
              stablehlo.return %1, %2 : tensor<f64>, tensor<f64>
            }
          return %0#0, %0#1 : tensor<f64>, tensor<f64>
        }
        """,
        {"n": 1},
        ({"n": 0}, [[]]),
        ({"n": 1}, [[-2.0]]),
    )


def test_a_sort_is_built():
    """The comparator of a sort is one value, and a region gives a list."""
    agree(
        """
        func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<?xf64> {
          %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
          ^bb0(%a: tensor<f64>, %b: tensor<f64>):
            %1 = stablehlo.compare GT, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
            stablehlo.return %1 : tensor<i1>
          }) : (tensor<?xf64>) -> tensor<?xf64>
          return %0 : tensor<?xf64>
        }
        """,
        {"n": 4},
        ({"n": 3}, [[1.0, 3.0, 2.0]]),
        ({"n": 0}, [[]]),
    )


def test_a_window_of_a_padded_index_is_nowhere():
    """An update that is dropped goes to no element: one place before the first is within reach of a longer window."""
    agree(
        """
        func.func @main(%x: tensor<2x2xi32> {hlograph.dims = ["2", "2"]}, %at: tensor<?xi64> {hlograph.dims = ["n"]},
            %new: tensor<?x2x2xi32> {hlograph.dims = ["n", "2", "2"]}) -> tensor<2x2xi32> {
          %0 = "stablehlo.scatter"(%x, %at, %new) <{scatter_dimension_numbers = #stablehlo.scatter<
              update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
          ^bb0(%a: tensor<i32>, %b: tensor<i32>):
            %1 = stablehlo.add %a, %b : tensor<i32>
            stablehlo.return %1 : tensor<i32>
          }) : (tensor<2x2xi32>, tensor<?xi64>, tensor<?x2x2xi32>) -> tensor<2x2xi32>
          return %0 : tensor<2x2xi32>
        }
        """,
        {"n": 3},
        ({"n": 1}, [[[1, 2], [3, 4]], [0], [[[10, 20], [30, 40]]]]),
        ({"n": 0}, [[[1, 2], [3, 4]], [], np.zeros((0, 2, 2))]),
    )


def test_bounds_that_no_size_can_fulfil():
    """An axis of size n//2 - 1 where n is at most 1: there is no such program, and it is said."""
    program = Program.parse(
        """
        func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<f64>
            attributes {hlograph.constraints = [["n//2 >= 1", "index"]]} {
          %two = stablehlo.constant dense<2> : tensor<i64>
          %minus = stablehlo.constant dense<-1> : tensor<i64>
          %one = stablehlo.constant dense<1.0> : tensor<f64>
          %zero = stablehlo.constant dense<0.0> : tensor<f64>
          %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
          %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
          %2 = stablehlo.divide %1, %two : tensor<i64>
          %3 = stablehlo.add %2, %minus : tensor<i64>
          %4 = stablehlo.reshape %3 : (tensor<i64>) -> tensor<1xi64>
          %5 = stablehlo.dynamic_broadcast_in_dim %one, %4, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
          %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0]
            : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
          return %6 : tensor<f64>
        }
        """
    )
    with pytest.raises(PassError, match="no size within the bounds satisfies n//2 >= 1"):
        program.pad({"n": 1})
    check(program, {"n": 6}, [({"n": size}, [np.zeros(size)]) for size in (2, 3, 6)])
