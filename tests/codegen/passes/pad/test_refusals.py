"""What has no right padding rule is refused: the op and the reason are named, and no number comes out."""

from __future__ import annotations

import numpy as np
import pytest

from hlograph import Program
from hlograph.errors import ArgumentShapeError, PaddingError

X = '%x: tensor<?xf64> {hlograph.dims = ["n"]}'
REFUSED = {
    "transform of the padded axis": (
        '%x: tensor<?xcomplex<f64>> {hlograph.dims = ["n"]}',
        "%y = stablehlo.fft %x, type = FFT, length = [4] : (tensor<?xcomplex<f64>>) -> tensor<4xcomplex<f64>>",
        "tensor<4xcomplex<f64>>",
        "stablehlo.fft .* cannot be padded: the transformed axis is padded",
    ),
    "random numbers": (
        X,
        """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
        %wide = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>
        %shape = stablehlo.reshape %wide : (tensor<i64>) -> tensor<1xi64>
        %low = stablehlo.constant dense<0.0> : tensor<f64>
        %high = stablehlo.constant dense<1.0> : tensor<f64>
        %y = stablehlo.rng %low, %high, %shape, distribution = UNIFORM :
            (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<?xf64>""",
        "tensor<?xf64>",
        "stablehlo.rng .* cannot be padded: there is no rule for this op",
    ),
    "unknown custom call": (
        X,
        "%y = stablehlo.custom_call @unheard_of(%x) : (tensor<?xf64>) -> tensor<f64>",
        "tensor<f64>",
        "there is no rule for calls of 'unheard_of'",
    ),
    "window of another rank": (
        X,
        """%zero = stablehlo.constant dense<0.0> : tensor<f64>
        %one = stablehlo.constant dense<1> : tensor<1xi64>
        %y = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %one, %one, %one, %one, %one)
            : (tensor<?xf64>, tensor<f64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>,
            tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>""",
        "tensor<?xf64>",
        "the window, its strides, dilations or padding are not those of 1 axes",
    ),
    "size without a bound": (
        f"{X}, %k: tensor<1xi64>",
        "%y = stablehlo.dynamic_iota %k, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>",
        "tensor<?xi64>",
        "stablehlo.dynamic_iota .* cannot be padded: the result's size is computed from data",
    ),
    "windows over the padded axis, scattered back": (
        '%x: tensor<?xf64> {hlograph.dims = ["n"]}, %s: tensor<?xf64> {hlograph.dims = ["n"]}',
        """%zero = stablehlo.constant dense<0.0> : tensor<f64>
        %y = "stablehlo.select_and_scatter"(%x, %s, %zero) <{
            window_dimensions = array<i64: 3>, padding = dense<1> : tensor<1x2xi64>}> ({
          ^bb0(%a: tensor<f64>, %b: tensor<f64>):
            %1 = stablehlo.compare GE, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
            stablehlo.return %1 : tensor<i1>
          }, {
          ^bb0(%a: tensor<f64>, %b: tensor<f64>):
            %1 = stablehlo.add %a, %b : tensor<f64>
            stablehlo.return %1 : tensor<f64>
          }) : (tensor<?xf64>, tensor<?xf64>, tensor<f64>) -> tensor<?xf64>""",
        "tensor<?xf64>",
        "stablehlo.select_and_scatter .* cannot be padded: windows of 3 elements move along a padded axis",
    ),
    "kernel of unknown length, reversed": (
        '%x: tensor<1x9x1xf64>, %k: tensor<?x1x1xf64> {hlograph.dims = ["n", "1", "1"]}',
        """%y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {reverse = [true]}
            {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x9x1xf64>, tensor<?x1x1xf64>) -> tensor<1x?x1xf64>""",
        "tensor<1x?x1xf64>",
        "the kernel is reversed, and its length is not static",
    ),
    "padded groups": (
        """%x: tensor<1x9x?xf64> {hlograph.dims = ["1", "9", "2*n"]},
           %k: tensor<3x?x2xf64> {hlograph.dims = ["3", "n", "2"]}""",
        """%y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
            {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
            : (tensor<1x9x?xf64>, tensor<3x?x2xf64>) -> tensor<1x7x2xf64>""",
        "tensor<1x7x2xf64>",
        "grouped features or batches are padded",
    ),
    "reshape of a square to its side": (
        '%x: tensor<?x?xf64> {hlograph.dims = ["n", "n"]}',
        """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
           %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
           %y = stablehlo.dynamic_reshape %x, %shape : (tensor<?x?xf64>, tensor<1xi32>) -> tensor<?xf64>""",
        "tensor<?xf64>",
        "stablehlo.dynamic_reshape .* are equal for sizes 0 and 1 alone",
    ),
    "windows that are set over each other": (
        """%x: tensor<?xf64> {hlograph.dims = ["n + 2"]}, %i: tensor<3x1xi64>,
           %u: tensor<3x?xf64> {hlograph.dims = ["3", "n"]}, %z: tensor<?xf64> {hlograph.dims = ["n"]}""",
        """%y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
            update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
          ^bb0(%a: tensor<f64>, %b: tensor<f64>):
            stablehlo.return %b : tensor<f64>
          }) : (tensor<?xf64>, tensor<3x1xi64>, tensor<3x?xf64>) -> tensor<?xf64>""",
        "tensor<?xf64>",
        r"stablehlo.scatter .* windows of size n are written over each other in an axis of size n \+ 2",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_op_is_refused_by_name(what):
    arguments, body, result, message = REFUSED[what]
    program = Program.parse(
        f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn %y : {result}\n}}", allow=["*"]
    )
    with pytest.raises(PaddingError, match=message):
        program.pad({"n": 8})


def test_random_numbers_of_a_static_shape_are_two_draws():
    """Ops that are not pure are not merged, though their operands agree."""
    types = "(tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<4xf64>"
    rng = f"stablehlo.rng %low, %high, %shape, distribution = UNIFORM : {types}"
    program = Program.parse(
        f"""func.func @main({X}) -> (tensor<4xf64>, tensor<4xf64>, tensor<?xf64>) {{
            %low = stablehlo.constant dense<0.0> : tensor<f64>
            %high = stablehlo.constant dense<1.0> : tensor<f64>
            %shape = stablehlo.constant dense<4> : tensor<1xi64>
            %0 = {rng}
            %1 = {rng}
            return %0, %1, %x : tensor<4xf64>, tensor<4xf64>, tensor<?xf64>
        }}"""
    )
    assert program.pad({"n": 8}).op_counts()["stablehlo.rng"] == 2


def test_negative_size() -> None:
    """A negative size of a module that demands nothing of it is refused, and nothing is cut from padding."""
    program = Program.parse(
        """func.func @main(%x: tensor<f64>, %n: tensor<i64> {hlograph.name = "n", hlograph.values = ["n"]})
            -> tensor<?xf64> {
          %shape = stablehlo.reshape %n : (tensor<i64>) -> tensor<1xi64>
          %y = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
          return %y : tensor<?xf64>
        }"""
    )
    function = program.compile(policy="padded")
    np.testing.assert_array_equal(function(np.array(2.0), np.array(3)), [2.0, 2.0, 2.0])
    with pytest.raises(ArgumentShapeError, match="n >= 0"):
        function(np.array(2.0), np.array(-2))


@pytest.mark.parametrize(
    ("body", "result", "demand"),
    [
        (
            """%z = stablehlo.constant dense<0.0> : tensor<f64>
               %y = stablehlo.pad %x, %z, low = [-5], high = [1], interior = [0]
                 : (tensor<?xf64>, tensor<f64>) -> tensor<?xf64>""",
            "tensor<?xf64>",
            "n - 4 >= 0",
        ),
        ("%y, %i = chlo.top_k(%x, k = 4) : tensor<?xf64> -> (tensor<4xf64>, tensor<4xi32>)", "tensor<4xf64>", "n >= 4"),
    ],
)
def test_what_the_op_demands_of_a_size_is_checked(body: str, result: str, demand: str) -> None:
    """The static module would be valid at sizes at which the op itself is not."""
    function = Program.parse(f"func.func @main({X}) -> {result} {{\n{body}\nreturn %y : {result}\n}}").compile(policy=8)
    function(np.arange(4.0))
    with pytest.raises(ArgumentShapeError, match=f"expected {demand}, got n = 3"):
        function(np.arange(3.0))
