"""Scatters as loops, against NumPy's unbuffered assignments and the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten_runs import as_arrays, check, close, rewritten

KERNEL = ("cse", "cpu-forms{kernel=true}")
BODIES = {
    "add": "%n = stablehlo.add %a, %b : tensor<f64>\n    stablehlo.return %n : tensor<f64>",
    "multiply": "%n = stablehlo.multiply %b, %a : tensor<f64>\n    stablehlo.return %n : tensor<f64>",
    "maximum": "%n = stablehlo.maximum %a, %b : tensor<f64>\n    stablehlo.return %n : tensor<f64>",
    "overwrite": "stablehlo.return %b : tensor<f64>",
}
NUMPY = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum}


def tensor(shape, kind: str = "f64") -> str:
    return f"tensor<{'x'.join([*map(str, shape), kind])}>"


def scatter_op(name, operands, shape, indices, updates, body="add", kind="i32", **numbers) -> str:
    lists = {"update_window_dims": [], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0], **numbers}
    vector = lists.pop("index_vector_dim", 1)
    text = ", ".join(f"{key} = {value}" for key, value in lists.items() if value != [])
    return f"""{name} = "stablehlo.scatter"({operands}) <{{indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<{text}, index_vector_dim = {vector}>}}> ({{
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    {BODIES[body]}
  }}) : ({tensor(shape)}, {tensor(indices, kind)}, {tensor(updates)}) -> {tensor(shape)}"""


def module(shape, indices, updates, *, known=True, kind="i32", body="add", **numbers) -> str:
    """A scatter into the first argument; indices are a constant or the last argument."""
    indices = np.asarray(indices)
    place = tensor(indices.shape, kind)
    extra = "" if known else f", %i: {place}"
    constant = f"%i = stablehlo.constant dense<{indices.tolist()}> : {place}" if known else ""
    op = scatter_op("%s", "%x, %i, %u", shape, indices.shape, updates, body, kind, **numbers)
    return f"""func.func @main(%x: {tensor(shape)}, %u: {tensor(updates)}{extra}) -> {tensor(shape)} {{
  {constant}
  {op}
  return %s : {tensor(shape)}
}}"""


def numpy_scatter(x, places, updates, body):
    """Each update in turn, at its tuple of indices; one that is out of bounds is left out."""
    x = x.copy()
    for place, update in zip(places, updates, strict=True):
        if all(0 <= k < size for k, size in zip(place, x.shape, strict=False)):
            x[tuple(place)] = update if body == "overwrite" else NUMPY[body](x[tuple(place)], update)
    return x


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(1, 12),
    rows=st.integers(1, 30),
    width=st.sampled_from([0, 1, 3]),
    known=st.booleans(),
    kind=st.sampled_from(["i32", "i64", "ui8"]),
    body=st.sampled_from(sorted(BODIES)),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_indices(size, rows, width, known, kind, body, seed):
    rng = np.random.default_rng(seed)
    indices = rng.integers(0 if kind == "ui8" else -3, size + 3, (rows, 1))
    line = (width,) if width else ()
    x, updates = rng.normal(size=(size, *line)), rng.normal(size=(rows, *line))
    numbers = {"update_window_dims": [1]} if width else {}
    text = module((size, *line), indices, (rows, *line), known=known, kind=kind, body=body, **numbers)
    after = rewritten(text, KERNEL)
    assert after.applied == {"scatter_loop": 1}
    assert "stablehlo.scatter" not in after.program.text
    dtype = {"i32": np.int32, "i64": np.int64, "ui8": np.uint8}[kind]
    arguments = [x, updates] if known else [x, updates, indices.astype(dtype)]
    (found,) = as_arrays(after.program.interpret(*arguments))
    close(found, numpy_scatter(x, indices, updates, body), 1e-12)


FORMS = {
    "elements of a matrix": ((3, 4), [[0, 1], [2, 3], [0, 1], [3, 0]], (4,), {"inserted_window_dims": [0, 1],
        "scatter_dims_to_operand_dims": [0, 1]}),
    "indices in another order": ((3, 4), [[1, 0], [3, 2], [1, 0]], (3,), {"inserted_window_dims": [0, 1],
        "scatter_dims_to_operand_dims": [1, 0]}),
    "columns": ((2, 5), [[1], [4], [1]], (2, 3), {"update_window_dims": [0], "inserted_window_dims": [1],
        "scatter_dims_to_operand_dims": [1]}),
    "the middle axis": ((2, 5, 3), [[1], [4], [1]], (3, 2, 3), {"update_window_dims": [1, 2],
        "inserted_window_dims": [1], "scatter_dims_to_operand_dims": [1]}),
    "an axis that stays": ((5, 2), [[1], [4], [1]], (3, 1, 2), {"update_window_dims": [1, 2],
        "inserted_window_dims": []}),
    "two axes of indices": ((5,), [[1, 0], [4, 1]], (2, 2), {"index_vector_dim": 2}),
    "the vector in front": ((3, 4), [[0, 2, 2], [1, 3, 3]], (3,), {"inserted_window_dims": [0, 1],
        "scatter_dims_to_operand_dims": [0, 1], "index_vector_dim": 0}),
    "more than one turn": ((5,), [[k % 4] for k in range(19)], (19,), {}),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("form", FORMS)
def test_dimension_numbers(form, known):
    shape, indices, given_shape, numbers = FORMS[form]
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape), rng.normal(size=given_shape)]
    arrays += [] if known else [np.asarray(indices, np.int32)]
    after = check(module(shape, indices, given_shape, known=known, **numbers), arrays, KERNEL, rtol=1e-12)
    assert after.applied == {"scatter_loop": 1}


def test_values_that_are_left_out_touch_nothing():
    # Clamped, they would be at the ends, where NaN and -0.0 would show it.
    x = np.array([-0.0, 1.0, -0.0])
    after = rewritten(module((3,), [[-1], [3], [2**31 - 1]], (3,), known=False), KERNEL)
    (found,) = as_arrays(after.program.interpret(x, np.full(3, np.nan), np.array([[-1], [3], [2**31 - 1]], np.int32)))
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(np.signbit(found), [True, False, True])


def pair(between: str = "") -> str:
    """Two scatters at the same indices into zeros."""
    ops = "\n  ".join(
        [
            scatter_op("%s", "%z, %i, %u", (4,), (3, 1), (3,)),
            between,
            scatter_op("%t", "%z, %i, %v", (4,), (3, 1), (3,)),
        ]
    )
    return f"""func.func @main(%u: tensor<3xf64>, %w: tensor<3xf64>, %i: tensor<3x1xi32>) -> tensor<4xf64> {{
  %z = stablehlo.constant dense<0.0> : tensor<4xf64>
  {"" if between else "%v = stablehlo.multiply %u, %w : tensor<3xf64>"}
  {ops}
  %r = stablehlo.subtract %s, %t : tensor<4xf64>
  return %r : tensor<4xf64>
}}"""


def test_two_at_the_same_indices_are_one_loop():
    arrays = [np.arange(3.0), np.array([2.0, 3.0, 5.0]), np.array([[1], [3], [1]], np.int32)]
    after = check(pair(), arrays, KERNEL, rtol=1e-12)
    assert after.program.op_counts()["stablehlo.while"] == 1


def test_one_that_the_other_reads_is_another_loop():
    between = "%v = stablehlo.slice %s [1:4] : (tensor<4xf64>) -> tensor<3xf64>"
    arrays = [np.arange(3.0), np.ones(3), np.array([[1], [3], [1]], np.int32)]
    after = check(pair(between), arrays, KERNEL, rtol=1e-12)
    assert after.program.op_counts()["stablehlo.while"] == 2


def test_outside_a_kernel_scatters_stay():
    after = rewritten(module((5,), [[1], [4]], (2,)), ["cpu-forms"])
    assert not after.changed
    assert "outside of a kernel a scatter is faster than a loop" in after.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (module((5,), [[1], [2]], (2, 2), update_window_dims=[1], inserted_window_dims=[]), "windows take 2 of axis 0"),
        (module((5, 3), [[1], [2]], (2, 2), update_window_dims=[1]), "windows take 2 of axis 1, and not 3"),
        (module((5, 2000), [[1]], (1, 2000), update_window_dims=[1]), "a row of 2000 elements is longer than 1024"),
        (module((5,), np.zeros((70_000, 1), int), (70_000,), known=False), "70000 rows are more than 65536"),
    ],
)
def test_refusals(text, reason):
    after = rewritten(text, KERNEL)
    assert not after.applied
    assert reason in after.text
