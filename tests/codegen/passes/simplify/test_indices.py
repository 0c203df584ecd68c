"""Gathers and scatters at known places: every form of their dimension numbers, in the interpreter and on PJRT."""

from __future__ import annotations

import numpy as np
import pytest
from builds import module_of
from rewritten_runs import check, rewritten

from hlograph.codegen.analysis.integers import known


def gather(shape, indices, sizes, result, offset=(), collapsed=(), mapped=(0,), vector=1, rank=None) -> str:
    """A gather from an array of this shape at constant indices."""
    kind = f"tensor<{'x'.join(map(str, np.shape(indices)))}xi32>" if np.ndim(indices) else "tensor<i32>"
    array = f"tensor<{'x'.join(map(str, shape))}xf32>"
    out = f"tensor<{'x'.join([*map(str, result), 'f32'])}>"
    return f"""func.func @main(%x: {array}) -> {out} {{
  %i = stablehlo.constant dense<{np.asarray(indices).tolist()}> : {kind}
  %g = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = {list(offset)},
    collapsed_slice_dims = {list(collapsed)}, start_index_map = {list(mapped)}, index_vector_dim = {vector}>,
    slice_sizes = array<i64: {", ".join(map(str, sizes))}>}}> : ({array}, {kind}) -> {out}
  return %g : {out}
}}
"""


GATHERS = {
    "rows": gather((5, 3), [[1], [2], [3]], (1, 3), (3, 3), (1,), (0,)),
    "all of them": gather((3, 3), [[0], [1], [2]], (1, 3), (3, 3), (1,), (0,)),
    "backwards, with a stride": gather((7, 2), [[6], [4], [2]], (1, 2), (3, 2), (1,), (0,)),
    "columns": gather((3, 5), [[1], [2]], (3, 1), (3, 2), (0,), (1,), (1,)),
    "columns in front": gather((3, 5), [[1], [2]], (3, 1), (2, 3), (1,), (1,), (1,)),
    "the middle axis": gather((2, 5, 3), [[1], [3]], (2, 1, 3), (2, 2, 3), (0, 2), (1,), (1,)),
    "the middle axis last": gather((2, 5, 3), [[1], [3]], (2, 1, 3), (2, 3, 2), (0, 1), (1,), (1,)),
    "an axis that stays": gather((5, 3), [[1], [2]], (1, 3), (2, 1, 3), (1, 2), ()),
    "an axis that stays, behind": gather((3, 5), [[1], [2]], (3, 1), (3, 1, 2), (0, 1), (), (1,)),
    "a part of the other axis": gather((5, 3), [[1], [2]], (1, 2), (2, 2), (1,), (0,)),
    "indices in a matrix": gather((9, 2), np.arange(6).reshape(2, 3, 1), (1, 2), (2, 3, 2), (2,), (0,), (0,), 2),
    "no index vector": gather((9, 2), [3, 4, 5], (1, 2), (3, 2), (1,), (0,)),
    "one index": gather((9, 2), [4], (1, 2), (2,), (0,), (0,), (0,), 0),
    "one window": gather((9, 2), [4], (3, 2), (3, 2), (0, 1), (), (0,), 0),
    "a window that is moved in": gather((9, 2), [8], (3, 2), (3, 2), (0, 1), (), (0,), 0),
    "a row of one column": gather((5, 4), [[1, 2], [2, 2], [3, 2]], (1, 1), (3,), (), (0, 1), (0, 1)),
    "axes in another order": gather((5, 4), [[2, 1], [2, 2], [2, 3]], (1, 1), (3,), (), (0, 1), (1, 0)),
    "a negative one, clamped": gather((5,), [[-1], [1]], (1,), (2,), (), (0,)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", GATHERS)
def test_gathers(name):
    text = GATHERS[name]
    shape = [int(n) for n in text[text.index("tensor<") + 7 : text.index("xf32>")].split("x")]
    found = check(text, [np.arange(np.prod(shape), dtype=np.float32).reshape(shape)], run=name in ("columns in front",))
    assert found.applied == {"gather_to_slice": 1}
    assert "gather" not in found.program.text


def scatter(shape, indices, updates, window=(), inserted=(), mapped=(0,), vector=1, body="add", into="%x") -> str:
    """A scatter of an argument into another, or into a constant."""
    kind = f"tensor<{'x'.join(map(str, np.shape(indices)))}xi32>"
    array, given = (f"tensor<{'x'.join(map(str, each))}xf32>" for each in (shape, updates))
    lines = "%n = stablehlo.add %p, %q : tensor<f32>" if body == "add" else ""
    if into != "%x":
        into_line, into = f"%c = stablehlo.constant dense<{into}> : {array}", "%c"
    else:
        into_line = ""
    return f"""func.func @main(%x: {array}, %u: {given}) -> {array} {{
  %i = stablehlo.constant dense<{np.asarray(indices).tolist()}> : {kind}
  {into_line}
  %s = "stablehlo.scatter"({into}, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = {list(window)}, inserted_window_dims = {list(inserted)},
      scatter_dims_to_operand_dims = {list(mapped)}, index_vector_dim = {vector}>}}> ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      {lines}
      stablehlo.return {"%n" if lines else "%q"} : tensor<f32>
  }}) : ({array}, {kind}, {given}) -> {array}
  return %s : {array}
}}
"""


SCATTERS = {
    "rows into zeros": scatter((5, 3), [[1], [2], [3]], (3, 3), (1,), (0,), into="0.0"),
    "rows into negative zeros": scatter((5, 3), [[1], [2], [3]], (3, 3), (1,), (0,), into="-0.0"),
    "rows into ones": scatter((5, 3), [[1], [2], [3]], (3, 3), (1,), (0,), body="", into="1.0"),
    "backwards, with a stride": scatter((7, 2), [[6], [4], [2]], (3, 2), (1,), (0,), into="0.0"),
    "columns": scatter((3, 5), [[1], [2]], (3, 2), (0,), (1,), (1,), into="0.0"),
    "columns in front": scatter((3, 5), [[1], [2]], (2, 3), (1,), (1,), (1,), into="0.0"),
    "the middle axis": scatter((2, 5, 3), [[1], [3]], (2, 2, 3), (0, 2), (1,), (1,), into="0.0"),
    "an axis that stays": scatter((5, 3), [[1], [2]], (2, 1, 3), (1, 2), (), into="0.0"),
    "a part of the other axis": scatter((5, 3), [[1], [2]], (2, 2), (1,), (0,), into="0.0"),
    "indices in a matrix": scatter((9, 2), np.arange(6).reshape(2, 3, 1), (2, 3, 2), (2,), (0,), (0,), 2, into="0.0"),
    "one window": scatter((9, 2), [4], (3, 2), (0, 1), (), (0,), 0, into="0.0"),
    "one row": scatter((9, 2), [4], (2,), (0,), (0,), (0,), 0, into="0.0"),
    "a row of one column": scatter((5, 4), [[1, 2], [2, 2], [3, 2]], (3,), (), (0, 1), (0, 1), into="0.0"),
    "all, overwritten": scatter((3, 2), [[0], [1], [2]], (3, 2), (1,), (0,), body=""),
    "all, backwards": scatter((3, 2), [[2], [1], [0]], (3, 2), (1,), (0,), body=""),
    "all into zeros": scatter((3, 2), [[0], [1], [2]], (3, 2), (1,), (0,), into="0.0"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SCATTERS)
def test_scatters(name):
    text = SCATTERS[name]
    rng = np.random.default_rng(0)
    arguments = []
    for part in text[: text.index("->")].split("tensor<")[1:]:
        shape = [int(n) for n in part[: part.index("xf32")].split("x")]
        values = rng.normal(size=shape).astype(np.float32)
        values[rng.random(shape) < 0.4] = -0.0
        arguments.append(values)
    found = check(text, arguments, ["simplify{reassociate=false}"], run=name in ("columns in front",))
    assert found.applied == {"scatter_to_pad": 1}
    check(text, arguments, exact=False, run=False)
    assert "scatter" not in found.program.text


def test_a_clamped_index_is_what_it_is_clamped_to():
    """3 and 9 are rows 3 and 4 of 5."""
    assert rewritten(gather((5, 3), [[3], [9]], (1, 3), (2, 3), (1,), (0,))).applied


ROWS = ((5, 3), [[1], [2]], (2, 3), (1,), (0,))
VARIABLE = gather((5, 3), [[1], [2]], (1, 3), (2, 3), (1,), (0,)).replace("(%x", "(%i: tensor<2x1xi32>, %x", 1)
LEFT_ALONE = {
    gather((5, 3), [[1], [2]], (2, 3), (2, 2, 3), (1, 2), ()): "windows are 2 wide along the axis 0 they move on",
    gather((5, 3), [[[1], [2]]], (1, 3), (1, 3, 2), (1,), (0,), (0,), 2): "are not next to each other",
    gather((5, 3), [[0], [1], [3]], (1, 3), (3, 3), (1,), (0,)): "the indices for axis 0 are not evenly spaced",
    VARIABLE.replace("%i = stablehlo.constant", "%j = stablehlo.constant", 1): "the indices are not constant",
    gather((5, 4), [[0, 0], [1, 1]], (1, 1), (2,), (), (0, 1), (0, 1)): "move along several axes at once ([0, 1])",
    gather((5, 3), [[1], [1]], (1, 3), (2, 3), (1,), (0,)): "all indices are the same",
    scatter((5, 3), [[1], [1]], (2, 3), (1,), (0,), into="0.0"): "all indices are the same",
    scatter(*ROWS): "it adds to an array that is not constant, which XLA does in place",
    scatter(*ROWS, body=""): "it overwrites a part of an array that is not constant, which XLA does in place",
    scatter(
        (5, 3), [[4], [5]], (2, 3), (1,), (0,), into="0.0"
    ): "an index for axis 0 is out of bounds, and is left out",
    scatter(*ROWS, into="0.0").replace("stablehlo.add", "stablehlo.multiply"): "it combines by another op",
    scatter(*ROWS, into="1.0"): "it adds to a constant that is not 0",
}


@pytest.mark.parametrize("text", LEFT_ALONE, ids=LEFT_ALONE.values())
def test_what_stays_and_why(text):
    found = rewritten(text)
    assert not found.changed
    assert LEFT_ALONE[text] in found.text


def evaluate(lines: str) -> np.ndarray | None:
    """What is known of `%r`."""
    text = f"func.func @main(%arg: tensor<3xi32>, %f: tensor<3xf32>) {{\n{lines}\nreturn\n}}\n"
    module = module_of(text)
    block = module.body.operations[0].regions[0].blocks[0]
    return known(list(block.operations)[-2].results[0])


KNOWN = {
    "%r = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>": [[1, -2], [3, 4]],
    "%r = stablehlo.iota dim = 1 : tensor<2x3xui8>": [[0, 1, 2], [0, 1, 2]],
    "%a = stablehlo.constant dense<200> : tensor<2xui8>\n%r = stablehlo.add %a, %a : tensor<2xui8>": [144, 144],
    "%a = stablehlo.constant dense<true> : tensor<2xi1>\n%r = stablehlo.add %a, %a : tensor<2xi1>": [True, True],
    "%a = stablehlo.constant dense<300> : tensor<2xi32>\n%r = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xi8>": [
        44,
        44,
    ],
    "%a = stablehlo.constant dense<[0, 7]> : tensor<2xi32>\n"
    "%r = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xi1>": [False, True],
    "%a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>\n"
    "%r = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<2x3xi32>) -> tensor<3x1x2xi32>": [
        [[1, 4]],
        [[2, 5]],
        [[3, 6]],
    ],
    "%a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>\n"
    "%r = stablehlo.slice %a [0:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<2x2xi32>": [[1, 3], [4, 6]],
    "%a = stablehlo.iota dim = 0 : tensor<3xi32>\n%b = stablehlo.constant dense<1> : tensor<i32>\n"
    "%c = stablehlo.constant dense<2> : tensor<i32>\n"
    "%r = stablehlo.clamp %b, %a, %c : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>": [1, 1, 2],
    "%a = stablehlo.constant dense<[-1, 1]> : tensor<2xi32>\n%b = stablehlo.constant dense<0> : tensor<2xi32>\n"
    "%r = stablehlo.compare GT, %a, %b, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>": [False, True],
    "%r = stablehlo.add %arg, %arg : tensor<3xi32>": None,
    "%r = stablehlo.convert %f : (tensor<3xf32>) -> tensor<3xi32>": None,
    "%r = stablehlo.iota dim = 0 : tensor<3000000xi32>": None,
    "%a = stablehlo.constant dense<6> : tensor<2xi32>\n%r = stablehlo.divide %a, %a : tensor<2xi32>": None,
}


@pytest.mark.parametrize("lines", KNOWN)
def test_what_is_known(lines):
    found = evaluate(lines)
    if KNOWN[lines] is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, KNOWN[lines])
