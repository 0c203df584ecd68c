"""The rewrites of simplify: sums of pads, gathers and scatters at known places, reductions, powers, dots.

Random programs of them: tests/property/test_simplify.py.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from builds import module_of
from jax import lax
from rewritten_runs import as_arrays, check, rewritten

from hlograph import Program
from hlograph.codegen.analysis.known import known

F32 = np.float32
Shape = tuple[int, ...]
RAW = lax.GatherScatterMode.PROMISE_IN_BOUNDS  # the op alone


def lowered(function: Callable[..., Any], *shapes: Shape, dtype: Any = F32) -> str:
    """What JAX makes of a function of arrays of these shapes."""
    return jax.jit(function, keep_unused=True).lower(*[jax.ShapeDtypeStruct(x, dtype) for x in shapes]).as_text()


# ---- sum_of_pads -----------------------------------------------------------------------------------------------------


def pads(pieces: list[tuple[int, int]], total: int, terms: int = 0, fill: float = 0.0, interior: int = 0) -> str:
    """A sum of pads of arguments, which begin and end there, and behind them of arguments as they are."""

    def function(*xs: Any) -> Any:
        config = [(start, total - stop, interior) for start, stop in pieces]
        padded = [lax.pad(x, F32(fill), [each]) for x, each in zip(xs, config, strict=False)]
        return functools.reduce(lax.add, [*padded, *xs[len(pieces) :]])

    return lowered(function, *[(stop - start,) for start, stop in pieces], *[(total,)] * terms)


@pytest.mark.parametrize(
    ("pieces", "terms"), [([(0, 2), (2, 4)], 2), ([(0, 2), (0, 2), (0, 2), (3, 4)], 0), ([(0, 2), (0, 2), (3, 4)], 1)]
)
def test_what_changes_the_order_of_a_sum(pieces, terms):
    text = pads(pieces, 5, terms)
    rng = np.random.default_rng(0)
    sizes = [stop - start for start, stop in pieces] + [5] * terms
    values = [rng.normal(size=size).astype(np.float32) for size in sizes]
    found = check(text, values, exact=False)
    assert found.applied == {"sum_of_pads": 1}
    kept = rewritten(text, ["simplify{reassociate=false}"])
    assert not kept.changed
    assert "to add them in another order changes rounding" in kept.text


def grid(*places: list[tuple[int, int, int]]) -> str:
    """A sum of pads of integers along two axes."""
    zero = np.int32(0)
    return lowered(
        lambda *xs: functools.reduce(lax.add, [lax.pad(x, zero, place) for x, place in zip(xs, places, strict=True)]),
        *GRID,
        dtype=np.int32,
    )


GRID = ((2, 3), (2, 1), (1, 4))
FIRST, SECOND, THIRD = [(1, 1, 0), (0, 2, 0)], [(1, 1, 0), (4, 0, 0)], [(3, 0, 0), (1, 0, 0)]


def test_a_grid():
    rng = np.random.default_rng(0)
    found = check(grid(FIRST, SECOND, THIRD), [rng.integers(-9, 9, shape).astype(np.int32) for shape in GRID])
    assert found.applied == {"sum_of_pads": 1}
    assert "stablehlo.compare" not in found.program.text  # integers have no -0


LEFT_ALONE = {
    pads([(0, 3), (2, 5)], 5): "the pads' supports overlap: [0:3] and [2:5]",
    pads([(0, 3), (3, 5)], 5, fill=1.0): "a pad is filled with something else than 0",
    grid(FIRST, SECOND, [(2, 1, 0), (1, 0, 0)]): "the pads' supports overlap",
    grid(FIRST, [(0, 2, 0), (4, 0, 0)], THIRD): "overlap along axis 0 but are not the same there",
    pads([(0, 3), (0, 3)], 3, interior=1): "padding between its elements (interior)",
    pads([(-1, 2), (-1, 2)], 5): "a pad cuts off elements (negative padding)",
    pads([(i, i + 1) for i in range(8)], 8): "a sum of 8 pads of only 8 elements, which XLA computes in one kernel",
}


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


# ---- gathers and scatters at known places: every form of their dimension numbers -------------------------------------


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
    shape = Program.parse(text).signature.arguments[0].dims
    found = check(text, [np.arange(np.prod(shape), dtype=F32).reshape(shape)], run=name in ("columns in front",))
    assert found.applied == {"gather_to_slice": 1}
    assert "gather" not in found.program.text


def scatter(
    shape: Shape,
    indices: Any,
    updates: Shape,
    window: Shape = (),
    inserted: Shape = (),
    mapped: Shape = (0,),
    by: Any = lax.scatter_add,
    into: float | None = None,
) -> str:
    """A scatter of an argument into another, or into a constant."""
    numbers = lax.ScatterDimensionNumbers(window, inserted, mapped)

    def function(x: Any, u: Any) -> Any:
        target = x if into is None else np.full(shape, into, F32)
        return by(target, np.asarray(indices, np.int32), u, numbers, mode=RAW)

    return lowered(function, shape, updates)


SCATTERS = {
    "rows into zeros": scatter((5, 3), [[1], [2], [3]], (3, 3), (1,), (0,), into=0.0),
    "rows into negative zeros": scatter((5, 3), [[1], [2], [3]], (3, 3), (1,), (0,), into=-0.0),
    "rows into ones": scatter((5, 3), [[1], [2], [3]], (3, 3), (1,), (0,), by=lax.scatter, into=1.0),
    "backwards, with a stride": scatter((7, 2), [[6], [4], [2]], (3, 2), (1,), (0,), into=0.0),
    "columns": scatter((3, 5), [[1], [2]], (3, 2), (0,), (1,), (1,), into=0.0),
    "columns in front": scatter((3, 5), [[1], [2]], (2, 3), (1,), (1,), (1,), into=0.0),
    "the middle axis": scatter((2, 5, 3), [[1], [3]], (2, 2, 3), (0, 2), (1,), (1,), into=0.0),
    "an axis that stays": scatter((5, 3), [[1], [2]], (2, 1, 3), (1, 2), (), into=0.0),
    "a part of the other axis": scatter((5, 3), [[1], [2]], (2, 2), (1,), (0,), into=0.0),
    "indices in a matrix": scatter((9, 2), np.arange(6).reshape(2, 3, 1), (2, 3, 2), (2,), (0,), (0,), into=0.0),
    "one window": scatter((9, 2), [4], (3, 2), (0, 1), (), (0,), into=0.0),
    "one row": scatter((9, 2), [4], (2,), (0,), (0,), (0,), into=0.0),
    "a row of one column": scatter((5, 4), [[1, 2], [2, 2], [3, 2]], (3,), (), (0, 1), (0, 1), into=0.0),
    "all, overwritten": scatter((3, 2), [[0], [1], [2]], (3, 2), (1,), (0,), by=lax.scatter),
    "all, backwards": scatter((3, 2), [[2], [1], [0]], (3, 2), (1,), (0,), by=lax.scatter),
    "all into zeros": scatter((3, 2), [[0], [1], [2]], (3, 2), (1,), (0,), into=0.0),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SCATTERS)
def test_scatters(name):
    text = SCATTERS[name]
    rng = np.random.default_rng(0)
    arguments = []
    for argument in Program.parse(text).signature.arguments:
        values = rng.normal(size=argument.dims).astype(F32)
        values[rng.random(argument.dims) < 0.4] = -0.0
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
LEFT_ALONE |= {
    gather((5, 3), [[1], [2]], (2, 3), (2, 2, 3), (1, 2), ()): "windows are 2 wide along the axis 0 they move on",
    gather((5, 3), [[[1], [2]]], (1, 3), (1, 3, 2), (1,), (0,), (0,), 2): "are not next to each other",
    gather((5, 3), [[0], [1], [3]], (1, 3), (3, 3), (1,), (0,)): "the indices for axis 0 are not evenly spaced",
    VARIABLE.replace("%i = stablehlo.constant", "%j = stablehlo.constant", 1): "the indices are not constant",
    gather((5, 4), [[0, 0], [1, 1]], (1, 1), (2,), (), (0, 1), (0, 1)): "move along several axes at once ([0, 1])",
    gather((5, 3), [[1], [1]], (1, 3), (2, 3), (1,), (0,)): "all indices are the same",
    scatter((5, 3), [[1], [1]], (2, 3), (1,), (0,), into=0.0): "all indices are the same",
    scatter(*ROWS): "it adds to an array that is not constant, which XLA does in place",
    scatter(*ROWS, by=lax.scatter): "it overwrites a part of an array that is not constant, which XLA does in place",
    scatter((5, 3), [[4], [5]], (2, 3), (1,), (0,), into=0.0): "an index for axis 0 is out of bounds, and is left out",
    scatter(*ROWS, by=lax.scatter_mul, into=0.0): "it combines by another op",
    scatter(*ROWS, into=1.0): "it adds to a constant that is not 0",
}


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


# ---- reductions of broadcasts, powers, transposes into dots ----------------------------------------------------------


NUMBERS = [-0.0, 0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5, -3.5, 1e-30, -1e-30, 1e30, 7e-9]


def power(exponent: str, kind: str = "f32") -> str:
    return f"""func.func @main(%x: tensor<13x{kind}>) -> tensor<13x{kind}> {{
  %c = stablehlo.constant dense<{exponent}> : tensor<13x{kind}>
  %p = stablehlo.power %x, %c : tensor<13x{kind}>
  return %p : tensor<13x{kind}>
}}
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("exponent", [*range(-8, 9), -0.5, -1.5, -3.5, 1.5, 2.5, 3.5])
def test_powers(exponent):
    """NumPy's float32 power is the libm's; infinities, zeros and their signs are as it has them."""
    x = np.array(NUMBERS, np.float32)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), float(exponent)).astype(np.float32)
    found = rewritten(power(f"{float(exponent)}"))
    assert found.applied == {"power_to_multiply": 1}
    evaluations = [found.program.interpret(x)[0]]
    if exponent in (-0.5, -1.5, 2.5, -3, 7):
        evaluations += as_arrays(found.program.compile(optimize="none")(x))
    for result in evaluations:
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-38)
        infinite = np.isinf(expected)
        np.testing.assert_array_equal(np.signbit(result[infinite]), np.signbit(expected[infinite]))
        if exponent > 0:  # below, XLA and NumPy may flush what is denormal
            zero = x == 0
            np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("exponent", [0, 1, 5, 8])
def test_powers_of_integers_wrap(exponent):
    x = np.array([0, 1, -1, 2, -3, 10, 100, -1000, 5, 6, 7, 8, 123456], np.int32)
    found = check(power(str(exponent), "i32"), [x])
    assert found.applied == {"power_to_multiply": 1}
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found.program.interpret(x)[0], np.power(x, np.int32(exponent)))


IDENTITY = {
    ("f32", "maximum"): "0xFF800000",
    ("f32", "minimum"): "0x7F800000",
    ("f32", "add"): "0.0",
    ("i32", "maximum"): "-2147483648",
    ("i32", "minimum"): "2147483647",
    ("i32", "add"): "0",
    ("i32", "and"): "-1",
    ("i32", "or"): "0",
    ("i1", "and"): "true",
    ("i1", "or"): "false",
    ("ui8", "minimum"): "255",
    ("ui8", "maximum"): "0",
}


def reduced(shape, to, wide, axes, name="maximum", kind="f32", init=None) -> str:
    """A reduction of a broadcast of an argument."""
    init = IDENTITY[kind, name] if init is None else init
    x, b = (f"tensor<{'x'.join([*map(str, each), kind])}>" for each in (shape, wide))
    out = f"tensor<{'x'.join([*[str(n) for axis, n in enumerate(wide) if axis not in axes], kind])}>"
    return f"""func.func @main(%x: {x}) -> {out} {{
  %i = stablehlo.constant dense<{init}> : tensor<{kind}>
  %b = stablehlo.broadcast_in_dim %x, dims = {list(to)} : ({x}) -> {b}
  %r = stablehlo.reduce(%b init: %i) applies stablehlo.{name} across dimensions = {list(axes)}
      : ({b}, tensor<{kind}>) -> {out}
  return %r : {out}
}}
"""


@pytest.mark.parametrize(("kind", "name"), IDENTITY)
def test_every_reduction_keeps_its_bits(kind, name):
    dtype = {"f32": np.float32, "i32": np.int32, "i1": np.bool_, "ui8": np.uint8}[kind]
    rng = np.random.default_rng(0)
    x = rng.integers(0, 200, (3, 4)).astype(dtype)
    if kind == "f32":
        x = np.resize(NUMBERS, (3, 4)).astype(dtype)
    for axes in ([1], [0, 1], [1, 2]):
        text = reduced((3, 4), (0, 2), (3, 5, 4), axes, name, kind)
        found = check(text, [x], exact=not (kind == "f32" and name == "add"), run=False)
        assert found.applied == {"reduce_of_broadcast": 1}


def test_an_initial_value_that_counts():
    """The interpreter takes it in; it is no identity, so it stays."""
    text = reduced((3,), (0,), (3, 4), [1], init="1.5")
    found = check(text, [np.array([1, 2, np.nan], np.float32)], run=False)
    assert found.applied == {"reduce_of_broadcast": 1}
    np.testing.assert_array_equal(found.program.interpret(np.float32([1, 2, np.nan]))[0], [1.5, 2, np.nan])


@pytest.mark.parametrize("axes", [[0], [0, 2]])
def test_axes_that_are_not_broadcast_stay(axes):
    found = rewritten(reduced((3, 4), (0, 2), (3, 5, 4), axes))
    assert not found.changed
    assert not found.text


MANY = reduced((1,), (0,), (4097,), [0], "add", "f16", init="0.0")
LEFT_ALONE |= {
    power("2.25"): "the exponent 2.25 is not an integer",
    power("0.5"): "the exponent 0.5 is not an integer",
    power("9.0"): "the exponent 9 is beyond 8",
    power("-1", "i32"): "integers with the exponent -1",
    power("(2.0, 0.0)", "complex<f32>"): "a power of complex numbers",
    power("2.0").replace("power %x, %c", "power %x, %x"): "the exponent is not one constant number",
    reduced((3,), (0,), (3, 4), [1], "add", init="1.0"): "the sum's initial value is not 0",
    reduced((3,), (0,), (3, 4), [1], "multiply", init="1.0"): "a reduction by stablehlo.multiply is not known",
    reduced((3,), (0,), (3, 0), [1]): "axis 1 is empty, so that the result is the initial value",
    MANY: "4097 copies: not a number of float16",
}


@pytest.mark.parametrize("text", LEFT_ALONE, ids=LEFT_ALONE.values())
def test_what_stays_and_why(text):
    found = rewritten(text)
    assert not found.changed
    assert LEFT_ALONE[text] in found.text


def test_transposes_into_dots():
    """All orders of a batched operand's axes: the result's are kept, or the transpose stays."""
    rng = np.random.default_rng(0)
    b = rng.normal(size=(2, 5, 3)).astype(np.float32)
    applied = 0
    for order in itertools.permutations(range(4)):
        # The dot sees batch, two free axes, and the contracted one.
        seen = [2, 4, 6, 3]
        shape = [0] * 4
        for place, axis in enumerate(order):
            shape[axis] = seen[place]
        numbers = ((3,), (0,)), ((0,), (1,))
        text = lowered(
            lambda a, b: lax.dot_general(lax.transpose(a, order), lax.transpose(b, (2, 0, 1)), numbers),  # noqa: B023
            tuple(shape),
            (2, 5, 3),
        )
        found = check(text, [rng.normal(size=shape).astype(np.float32), b], exact=False, rtol=1e-5, run=False)
        transposes = found.program.op_counts().get("stablehlo.transpose", 0)
        assert transposes == (0 if order[1] < order[2] else 1), order
        applied += found.applied["transpose_into_dot"]
    assert applied == 24


FEW_BITS = {"f8E4M3FN": ("f32", "0.0", "3.0"), "i4": ("i32", "0", "3"), "bf16": ("f32", "0.0", "3.0")}


@pytest.mark.parametrize("spec", ["simplify", "simplify{reassociate=false}"])
@pytest.mark.parametrize("kind", FEW_BITS)
def test_types_of_few_bits(kind, spec):
    """NumPy may lack them; what comes out is valid, and gives the same where XLA knows the type."""
    wide, zero, three = FEW_BITS[kind]
    v2, v4, two, four = (f"tensor<{n}x{t}>" for t in (kind, wide) for n in (2, 4))
    text = f"""func.func @main(%w: {two}) -> ({four}, {two}, {two}) {{
  %x = stablehlo.convert %w : ({two}) -> {v2}
  %z = stablehlo.constant dense<{zero}> : tensor<{kind}>
  %e = stablehlo.constant dense<{three}> : {v2}
  %p = stablehlo.pad %x, %z, low = [0], high = [2], interior = [0] : ({v2}, tensor<{kind}>) -> {v4}
  %q = stablehlo.pad %x, %z, low = [2], high = [0], interior = [0] : ({v2}, tensor<{kind}>) -> {v4}
  %s = stablehlo.add %p, %q : {v4}
  %b = stablehlo.broadcast_in_dim %x, dims = [0] : ({v2}) -> tensor<2x3x{kind}>
  %r = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<2x3x{kind}>, tensor<{kind}>) -> {v2}
  %t = stablehlo.power %x, %e : {v2}
  %sw = stablehlo.convert %s : ({v4}) -> {four}
  %rw = stablehlo.convert %r : ({v2}) -> {two}
  %tw = stablehlo.convert %t : ({v2}) -> {two}
  return %sw, %rw, %tw : {four}, {two}, {two}
}}
"""
    found = rewritten(text, [spec])
    assert found.applied["sum_of_pads"] == 1
    if kind == "bf16":
        x = np.array([1.5, -0.0], np.float32)
        before, after = (as_arrays(p.compile(optimize="none")(x)) for p in (Program.parse(text), found.program))
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
