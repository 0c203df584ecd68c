"""sum_of_pads: what it makes, that it keeps every bit, and that it is linear."""

from __future__ import annotations

import numpy as np
import pytest
from rewritten_runs import check, rewritten

SPECIAL = np.array([-0.0, 0.0, np.nan, np.inf, -np.inf, -1.5], np.float32)


def pads(pieces: list[tuple[int, int]], total: int, terms: int = 0, order: list[int] | None = None) -> str:
    """A sum of pads of arguments, and then of other terms, in an order.

    Args:
        pieces: where each begins and ends.
        total: size of the sum.
        terms: how many arguments are added as they are.
        order: of all terms; the pads first by default.
    """
    sizes = [stop - start for start, stop in pieces] + [total] * terms
    arguments = ", ".join(f"%a{i}: tensor<{size}xf32>" for i, size in enumerate(sizes))
    lines = ["%z = stablehlo.constant dense<0.0> : tensor<f32>"]
    names = []
    for i, (start, stop) in enumerate(pieces):
        lines.append(
            f"%p{i} = stablehlo.pad %a{i}, %z, low = [{start}], high = [{total - stop}], interior = [0] : "
            f"(tensor<{stop - start}xf32>, tensor<f32>) -> tensor<{total}xf32>"
        )
        names.append(f"%p{i}")
    names += [f"%a{len(pieces) + i}" for i in range(terms)]
    names = [names[i] for i in order or range(len(names))]
    last = names[0]
    for i, name in enumerate(names[1:]):
        lines.append(f"%s{i} = stablehlo.add {last}, {name} : tensor<{total}xf32>")
        last = f"%s{i}"
    body = "\n  ".join(lines)
    kind = f"tensor<{total}xf32>"
    return f"func.func @main({arguments}) -> {kind} {{\n  {body}\n  return {last} : {kind}\n}}\n"


def arguments(text: str) -> list[np.ndarray]:
    """Arguments of all kinds of numbers, for a module that `pads` made."""
    from hlograph import Program

    shapes = [argument.dims for argument in Program.parse(text).signature.arguments]
    return [np.resize(np.roll(SPECIAL, index), shape) for index, shape in enumerate(shapes)]


@pytest.mark.parametrize(
    ("pieces", "terms"), [([(0, 2), (2, 4)], 2), ([(0, 2), (0, 2), (0, 2), (3, 4)], 0), ([(0, 2), (0, 2), (3, 4)], 1)]
)
def test_what_changes_the_order_of_a_sum(pieces, terms):
    text = pads(pieces, 5, terms)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=a.shape).astype(np.float32) for a in arguments(text)]
    found = check(text, values, exact=False)
    assert found.applied == {"sum_of_pads": 1}
    kept = rewritten(text, ["simplify{reassociate=false}"])
    assert not kept.changed
    assert "to add them in another order changes rounding" in kept.text


GRID = """
func.func @main(%a: tensor<2x3xi32>, %b: tensor<2x1xi32>, %c: tensor<1x4xi32>) -> tensor<4x5xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.pad %a, %z, low = [1, 0], high = [1, 2], interior = [0, 0]
      : (tensor<2x3xi32>, tensor<i32>) -> tensor<4x5xi32>
  %q = stablehlo.pad %b, %z, low = [1, 4], high = [1, 0], interior = [0, 0]
      : (tensor<2x1xi32>, tensor<i32>) -> tensor<4x5xi32>
  %r = stablehlo.pad %c, %z, low = [3, 1], high = [0, 0], interior = [0, 0]
      : (tensor<1x4xi32>, tensor<i32>) -> tensor<4x5xi32>
  %s = stablehlo.add %p, %q : tensor<4x5xi32>
  %t = stablehlo.add %r, %s : tensor<4x5xi32>
  return %t : tensor<4x5xi32>
}
"""


WITHIN = """
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<5xf32> {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %a, %z, {0} : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  %q = stablehlo.pad %b, %z, {0} : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  %s = stablehlo.add %p, %q : tensor<5xf32>
  return %s : tensor<5xf32>
}}
"""


def test_a_grid():
    rng = np.random.default_rng(0)
    found = check(GRID, [rng.integers(-9, 9, shape).astype(np.int32) for shape in ((2, 3), (2, 1), (1, 4))])
    assert found.applied == {"sum_of_pads": 1}
    assert "stablehlo.compare" not in found.program.text  # integers have no -0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (pads([(0, 3), (2, 5)], 5), "the pads' supports overlap: [0:3] and [2:5]"),
        (pads([(0, 3), (3, 5)], 5).replace("dense<0.0>", "dense<1.0>"), "a pad is filled with something else than 0"),
        (GRID.replace("low = [3, 1], high = [0, 0]", "low = [2, 1], high = [1, 0]"), "the pads' supports overlap"),
        (
            GRID.replace("%b, %z, low = [1, 4], high = [1, 0]", "%b, %z, low = [0, 4], high = [2, 0]"),
            "overlap along axis 0 but are not the same there",
        ),
        (WITHIN.format("low = [0], high = [0], interior = [1]"), "padding between its elements (interior)"),
        (WITHIN.format("low = [-1], high = [3], interior = [0]"), "a pad cuts off elements (negative padding)"),
        (
            pads([(i, i + 1) for i in range(8)], 8),
            "a sum of 8 pads of only 8 elements, which XLA computes in one kernel",
        ),
    ],
    ids=["overlap", "padding", "overlap of two axes", "no grid", "interior", "negative", "small"],
)
def test_refusals(text, reason):
    found = rewritten(text)
    assert not found.changed
    assert reason in found.text


def test_writes_into_zeros():
    """What hlograph emits for the gradient of an element."""
    text = """
    func.func @main(%a: tensor<2xf64>, %b: tensor<1xf64>) -> tensor<4xf64> {
      %z = stablehlo.constant dense<0.0> : tensor<f64>
      %0 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f64>) -> tensor<4xf64>
      %i = stablehlo.constant dense<7> : tensor<i64>
      %j = stablehlo.constant dense<-3> : tensor<i64>
      %p = stablehlo.dynamic_update_slice %0, %a, %i : (tensor<4xf64>, tensor<2xf64>, tensor<i64>) -> tensor<4xf64>
      %q = stablehlo.dynamic_update_slice %0, %b, %j : (tensor<4xf64>, tensor<1xf64>, tensor<i64>) -> tensor<4xf64>
      %s = stablehlo.add %p, %q : tensor<4xf64>
      return %s : tensor<4xf64>
    }
    """
    found = check(text, [np.array([1.0, -0.0]), np.array([3.0])], ["simplify{reassociate=false}"])
    assert found.applied == {"sum_of_pads": 1}
    unknown = text.replace("%b: tensor<1xf64>", "%b: tensor<1xf64>, %i: tensor<i64>").replace(
        "%i = stablehlo.constant dense<7> : tensor<i64>", ""
    )
    assert "the place of a dynamic_update_slice is not a constant" in rewritten(unknown).text


def test_many_pads_are_one_concatenate():
    count = 500
    found = rewritten(pads([(i, i + 1) for i in range(count)], count))
    assert found.applied == {"sum_of_pads": 1}
    assert found.program.op_counts()["stablehlo.concatenate"] == 1
    values = np.random.default_rng(0).normal(size=count).astype(np.float32)
    np.testing.assert_array_equal(found.program.interpret(*values[:, None])[0], values)
