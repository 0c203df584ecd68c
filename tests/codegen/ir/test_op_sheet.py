"""What the table says of axes, against the ops themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hlograph import Program
from hlograph.codegen.ir.functions import return_values
from hlograph.codegen.ir.kinds import AXES, form_of, leading, reshape_axes, shortened
from hlograph.codegen.ir.ops import tensor_type
from hlograph.codegen.ir.values import main_function, sizes_of, walk
from hlograph.passes import ir

TYPES = {
    "%x": "2x3x4x4xf64",
    "%m": "2x3x4x4xf64",
    "%z": "f64",
    "%i": "i32",
    "%part": "2x1x4x4xf64",
    "%at": "2x1xi32",
    "%parts": "4xi64",
}
ADD = "stablehlo.add %a, %b : tensor<f64>"
LESS = "stablehlo.compare LT, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>"

# For each op: operands, attributes, the result, and what its region computes.
CASES: dict[str, tuple[str, ...]] = {
    "negate": ("%x", "", "2x3x4x4xf64"),
    "broadcast_in_dim": ("%x", "broadcast_dimensions = array<i64: 3, 2, 0, 4>", "4x5x3x2x4xf64"),
    "cholesky": ("%m", "lower = true", "2x3x4x4xf64"),
    "concatenate": ("%x, %x", "dimension = 1 : i64", "2x6x4x4xf64"),
    "dot_general": (
        "%x, %m",
        "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [1], "
        "lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2]>",
        "3x2x4x2x4xf64",
    ),
    "dynamic_gather": (
        "%x, %at, %parts",
        "dimension_numbers = #stablehlo.gather<offset_dims = [0, 2, 3], collapsed_slice_dims = [1], "
        "start_index_map = [1], index_vector_dim = 1>",
        "2x2x4x2xf64",
    ),
    "dynamic_slice": ("%x, %i, %i, %i, %i", "slice_sizes = array<i64: 2, 1, 4, 4>", "2x1x4x4xf64"),
    "dynamic_update_slice": ("%x, %part, %i, %i, %i, %i", "", "2x3x4x4xf64"),
    "fft": ("%x", "fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 4>", "2x3x4x3xcomplex<f64>"),
    "gather": (
        "%x, %at",
        "dimension_numbers = #stablehlo.gather<offset_dims = [0, 2, 3], collapsed_slice_dims = [1], "
        "start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 4, 2>",
        "2x2x4x2xf64",
    ),
    "map": ("%x, %x", "dimensions = array<i64: 0, 1, 2, 3>", "2x3x4x4xf64", ADD),
    "pad": (
        "%x, %z",
        "edge_padding_low = array<i64: 0, 1, 0, 0>, edge_padding_high = array<i64: 0, -1, 2, 0>, "
        "interior_padding = array<i64: 0, 0, 0, 1>",
        "2x3x6x7xf64",
    ),
    "reduce": ("%x, %z", "dimensions = array<i64: 1, 3>", "2x4xf64", ADD),
    "reduce_window": (
        "%x, %z",
        "window_dimensions = array<i64: 1, 1, 3, 1>, "
        "padding = dense<[[0, 0], [0, 0], [1, 1], [0, 0]]> : tensor<4x2xi64>",
        "2x3x4x4xf64",
        ADD,
    ),
    "reshape": ("%x", "", "2x3x16xf64"),
    "reverse": ("%x", "dimensions = array<i64: 1, 3>", "2x3x4x4xf64"),
    "slice": (
        "%x",
        "start_indices = array<i64: 0, 1, 0, 0>, limit_indices = array<i64: 2, 3, 4, 4>, "
        "strides = array<i64: 1, 1, 1, 3>",
        "2x2x4x2xf64",
    ),
    "sort": ("%x", "dimension = 1 : i64, is_stable = true", "2x3x4x4xf64", LESS),
    "transpose": ("%x", "permutation = array<i64: 2, 0, 1, 3>", "4x2x3x4xf64"),
    "triangular_solve": (
        "%m, %x",
        "left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>",
        "2x3x4x4xf64",
    ),
}  # fmt: skip
KEPT: dict[str, tuple[list[int | None], ...]] = {
    "broadcast_in_dim": ([3, 2, 0, 4],),
    "cholesky": ([0, 1, None, None],),
    "concatenate": ([0, None, 2, 3],) * 2,
    "dot_general": ([1, 0, 2, None], [3, 0, None, 4]),
    "dynamic_gather": ([None, None, None, None], [1, None], [None]),
    "dynamic_slice": ([0, None, 2, 3], [], [], [], []),
    "dynamic_update_slice": ([0, None, 2, 3], [0, None, 2, 3], [], [], [], []),
    "fft": ([0, 1, 2, None],),
    "gather": ([0, None, 2, None], [1, None]),
    "map": ([0, 1, 2, 3],) * 2,
    "negate": ([0, 1, 2, 3],),
    "pad": ([0, None, None, None], []),
    "reduce": ([0, None, 1, None], []),
    "reduce_window": ([0, 1, None, 3], []),
    "reshape": ([0, 1, None, None],),
    "reverse": ([0, None, 2, None],),
    "slice": ([0, None, 2, None],),
    "sort": ([0, None, 2, 3],),
    "transpose": ([1, 2, 0, 3],),
    "triangular_solve": ([0, 1, None, None],) * 2,
}
X = np.random.default_rng(0).normal(size=(2, 3, 4, 4))
M = X @ np.swapaxes(X, 2, 3) + 4 * np.eye(4)


def parsed(case: str) -> tuple[ir.Module, ir.Operation]:
    """A module of an op; it takes %x and %m."""
    operands, attributes, result, *region = CASES[case]
    types = ", ".join(f"tensor<{TYPES[name]}>" for name in operands.split(", "))
    flag = "i1" if region == [LESS] else "f64"
    body = "".join(
        f"({{ ^bb0(%a: tensor<f64>, %b: tensor<f64>): %c = {text} stablehlo.return %c : tensor<{flag}> }})"
        for text in region
    )
    text = f"""func.func @main(%x: tensor<2x3x4x4xf64>, %m: tensor<2x3x4x4xf64>) -> tensor<{result}> {{
        %z = stablehlo.constant dense<0.0> : tensor<f64>
        %i = stablehlo.constant dense<0> : tensor<i32>
        %at = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
        %parts = stablehlo.constant dense<[2, 1, 4, 2]> : tensor<4xi64>
        %part = stablehlo.constant dense<0.5> : tensor<2x1x4x4xf64>
        %y = "stablehlo.{case}"({operands}) {body} {{{attributes}}} : ({types}) -> tensor<{result}>
        return %y : tensor<{result}> }}"""
    module = Program.parse(text).copy_module()
    return module, next(op for op in walk(main_function(module)) if op.name == f"stablehlo.{case}")


def run(module: ir.Module, *arrays: np.ndarray) -> np.ndarray:
    return np.asarray(compiled(module)(*arrays))


def compiled(module: ir.Module) -> Any:
    return Program(module).compile()


def test_every_line_has_a_case() -> None:
    assert {name.removeprefix("stablehlo.") for name in AXES} == CASES.keys() - {"negate"}


@pytest.mark.parametrize("case", CASES)
def test_an_element_counts_for_its_place_along_axes_that_are_kept(case: str) -> None:
    module, op = parsed(case)
    form = form_of(op)
    assert form is not None
    assert form.kept().operands == KEPT[case]
    names = CASES[case][0].split(", ")
    run = compiled(module)
    before = np.asarray(run(X, M))
    for number, axes in enumerate(form.kept().operands):
        for axis, along in enumerate(axes):
            if along is None or names[number] not in ("%x", "%m"):
                continue
            assert form.places(along)[number] == axis
            for j in range(X.shape[axis]):
                given = {"%x": X.copy(), "%m": M.copy()}
                np.moveaxis(given[names[number]], axis, 0)[j] *= 1.5
                changed = np.moveaxis(np.asarray(run(given["%x"], given["%m"])) != before, along, 0)
                assert changed[j].any()
                assert not np.delete(changed, j, 0).any()


@pytest.mark.parametrize("case", CASES)
def test_sizes_follow_where_the_table_says_so(case: str) -> None:
    module, op = parsed(case)
    assert module.operation.verify()
    form = form_of(op)
    assert form is not None
    for operand, axes in zip(op.operands, form.operands, strict=True):
        for size, axis in zip(sizes_of(operand), axes, strict=True):
            assert axis is None or axis in form.sized or sizes_of(op.results[0])[axis] == size


FLAT = {"dot_general", "dynamic_gather", "dynamic_slice", "dynamic_update_slice", "gather"}


@pytest.mark.parametrize("case", sorted(CASES.keys() - FLAT))
def test_a_leading_axis(case: str) -> None:
    module, op = parsed(case)
    own = compiled(module)
    wanted = [own(x, m) for x, m in ((X, M), (-X, 2 * M), (X / 2, M))]
    function = main_function(module)
    for value in (*function.regions[0].blocks[0].arguments, op.results[0]):
        with module.context, ir.Location.unknown():
            value.set_type(tensor_type(value, [3, *sizes_of(value)]))
    with module.context:
        for name, attribute in leading(op, 3).items():
            op.attributes[name] = attribute
    return_values(function, list(op.results))
    found = run(module, np.stack([X, -X, X / 2]), np.stack([M, 2 * M, M]))
    np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-13)


@pytest.mark.parametrize(("case", "axis"), [("slice", 0), ("slice", 2), ("dynamic_slice", 2), ("transpose", 0)])
def test_a_part_of_an_axis(case: str, axis: int) -> None:
    module, op = parsed(case)
    whole = run(module, X, M)
    form = form_of(op)
    assert form is not None
    place = form.places(axis)[0]
    assert place is not None
    function = main_function(module)
    with module.context, ir.Location.unknown():
        for value, at in ((function.regions[0].blocks[0].arguments[0], place), (op.results[0], axis)):
            value.set_type(tensor_type(value, [1 if i == at else size for i, size in enumerate(sizes_of(value))]))
        for name, attribute in shortened(op, axis, 1).items():
            op.attributes[name] = attribute
    return_values(function, list(op.results))
    np.testing.assert_array_equal(run(module, np.take(X, [1], place), M), np.take(whole, [1], axis))


def test_reshapes_keep_axes_that_they_do_not_split() -> None:
    assert reshape_axes([6, 4], [6, 2, 2]) == [0, None]
    assert reshape_axes([2, 3, 4], [6, 4]) == [None, None, 1]
    assert reshape_axes([1, 5, 1, 7], [5, 7]) == [None, 0, None, 1]
    assert reshape_axes([4, 6], [6, 4]) == [None, None]
    assert reshape_axes([None, 6], [None, 6]) == [None, None]


def test_what_is_not_in_the_table() -> None:
    module = Program.parse(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4x4xi8> {"
        "%y = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x4xi8> return %y : tensor<4x4xi8> }"
    ).copy_module()
    assert [form_of(op) for op in walk(main_function(module)) if op.results] == [None]
