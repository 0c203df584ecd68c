"""Padding rules where they are hard: exact and padded runs agree at the sizes 0, 1, 2, bound - 1 and bound.

The common forms of ops are in random programs (`tests/property/test_padding_programs.py`), and in those of JAX.

A case is a small program with the data that is hard on its rule: NaN, infinities, zeros of both signs, duplicates,
indices out of range. Its results are several variants of the op, so that one compilation tests all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from builds import build
from padded_runs import (
    Sizes,
    check_padded,
    definite,
    integers,
    nasty,
    positive,
)

from hlograph import builder as hlo
from hlograph.builder import Tensor, dims

n, m = dims.symbol("n"), dims.symbol("m")
F32, F64, I32, I64, BOOL = "float32", "float64", "int32", "int64", "bool"


CASES: dict[str, Callable[[], object]] = {}


def case(arguments: Mapping[str, Sequence[Any]], bounds: Sizes | None = None, **options: Any) -> Callable[..., None]:
    """Registers a body under its name: on these arguments, up to these bounds, see `check_padded`."""

    def register(body: Callable[..., Any]) -> None:
        assert body.__name__ not in CASES, f"two cases {body.__name__}"
        CASES[body.__name__] = lambda: check_padded(build(arguments, body), bounds or {"n": 5}, **options)

    return register


def number(x: Tensor, value: Any) -> Tensor:
    """A constant of the dtype of `x`."""
    return x.builder.constant(np.asarray(value, x.dtype))


def total(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The sum, which sees whatever is in the padding."""
    return hlo.reduce_monoid(x, range(x.ndim) if axes is None else axes, "add")


# ---- elementwise: what is known of the padding must be true of it ----------------------------------------------------


@case({"x": ("complex64", "n", 2)})
def complex_numbers(x):
    return [
        total(x, [0]),
        hlo.reduce_monoid(x, [0], "multiply"),
        total(hlo.exponential(x)),
        total(hlo.multiply(hlo.real(x), hlo.imag(x))),
        total(hlo.abs(x)),
        hlo.dot_general(x, x, contracting=([0], [0])),
    ]


@case({"x": (ml_dtypes.bfloat16, "n", 3)}, rtol=0.05, interpret=False)
def bfloat16(x):
    return [
        total(x, [0]),
        hlo.reduce_monoid(x, [0], "maximum"),
        hlo.reduce_monoid(hlo.exponential(x), [0], "multiply"),
        hlo.sort([x], 0, lambda a, b: hlo.compare("LT", a, b))[0],
        hlo.dot_general(x, x, contracting=([0], [0])),
        hlo.cumulative(x, 0, "minimum"),
    ]


# ---- reductions ------------------------------------------------------------------------------------------------------

MONOIDS = ("add", "multiply", "maximum", "minimum")


@case(
    {"x": (F64, "n", "m"), "y": (F32, "n", 2), "i": (I64, "n", "m"), "u": ("uint8", "n", 2), "p": (BOOL, "n", "m")},
    bounds={"n": 4, "m": 5},
    data={"x": nasty, "y": nasty},
)
def monoids(x, y, i, u, p):
    results = [hlo.reduce_monoid(x, axes, name) for name in MONOIDS for axes in ([0], [1], [0, 1])]
    results += [hlo.reduce_monoid(y, [0], name) for name in MONOIDS]
    results += [hlo.reduce_monoid(z, [0], name) for z in (i, u) for name in (*MONOIDS, "and", "or", "xor")]
    names = ("and", "or", "xor", "maximum", "minimum")
    return [*results, *[hlo.reduce_monoid(p, axes, name) for name in names for axes in ([0], [0, 1])]]


@case(
    {"x": (F64, "n", "m"), "y": (I32, "n", 3), "z": (F32, "n", 2)},
    bounds={"n": 4, "m": 5},
    data={"x": nasty, "z": lambda shape, rng: np.full(shape, -np.inf)},
)
def argmax_and_argmin(x, y, z):
    """Also of nothing but minus infinity."""
    places = [hlo.arg_reduce(a, axis, kind) for a in (x, y) for axis in (0, 1) for kind in ("maximum", "minimum")]
    return [*places, hlo.arg_reduce(z, 0, "maximum"), hlo.reduce_monoid(z, [0], "maximum")]


# ---- contractions ----------------------------------------------------------------------------------------------------


@case({"x": (F64, "n", "m"), "w": (F64, "m", 3)}, bounds={"n": 4, "m": 5}, data={"x": nasty, "w": nasty})
def dots_of_nasty_data(x, w):
    square = hlo.dot_general(x, x, contracting=([0], [0]))
    return [
        hlo.dot_general(x, w, contracting=([1], [0])),
        square,
        hlo.dot_general(hlo.exponential(x), w, contracting=([1], [0])),
        total(hlo.dot_general(x, w, contracting=([1], [0]))),
        hlo.dot_general(x, x, contracting=([0, 1], [0, 1])),
    ]


# ---- shape -----------------------------------------------------------------------------------------------------------


@case(
    {"x": (F32, "n", "m"), "v": (F32,)},
    bounds={"n": 4, "m": 5},
    sizes=[{"n": a, "m": b} for a, b in [(1, 1), (2, 3), (3, 5), (4, 4), (4, 5)]],
)
def pads_of_every_kind(x, v):
    zero, one = number(x, 0.0), number(x, 1.0)
    amounts = [
        *((zero, [1, 0], [2, 0]), (one, [2, 1], [0, 3]), (v, [1, 0], [1, 1], [2, 1]), (one, [-1, 0], [0, 0])),
        *((v, [0, 1], [-1, -1]), (v, [n, 0], [0, m]), (one, [1 - n, 0], [n, 0])),
    ]
    return [
        *[hlo.pad(x, *each) for each in amounts],
        total(hlo.pad(x, one, [1, 0], [-1, 2], [1, 0]), [0]),
        hlo.reduce_monoid(hlo.pad(x, one, [n, 0], [-1, 0]), [0], "multiply"),
    ]


@case({"x": (F32, "n", 2)})
def pads_of_nothing(x):
    return [hlo.pad(x, number(x, 7.0), [1, 0], [2, 0], [2, 0]), total(hlo.pad(x, number(x, 7.0), [0, 1], [n, 1]))]


@case({"x": (F64, "n", "m", 2)}, bounds={"n": 3, "m": 4})
def reshapes_that_merge(x):
    flat = hlo.reshape(x, (2 * n * m,))
    shapes = [(n * m, 2), (n, 2 * m), (n, 1, m, 2, 1)]
    turned = hlo.reshape(hlo.transpose(x, [2, 0, 1]), (2 * n, m))
    return [flat, *[hlo.reshape(x, shape) for shape in shapes], turned, total(flat), hlo.reverse(flat, [0])]


@case({"x": (F64, "2*n", 3), "y": (F64, "n*m"), "z": (F64, "n", "m")}, bounds={"n": 3, "m": 4})
def reshapes_that_split(x, y, z):
    shapes = [(x, (2, n, 3)), (x, (n, 2, 3)), (x, (n, 6)), (x, (6 * n,)), (y, (n, m)), (y, (m, n)), (z, (m, n))]
    return [
        *[hlo.reshape(a, shape) for a, shape in shapes],
        hlo.reshape(hlo.transpose(x, [1, 0]), (6 * n,)),
        hlo.add(hlo.reshape(y, (n, m)), z),
        total(hlo.reshape(x, (2, n, 3)), [1]),
        total(hlo.reshape(hlo.exponential(x), (n, 6)), [0]),
    ]


@case(
    {"x": (F64, "n", "m"), "y": (F64, "n*m"), "z": (I32, 2, "n", "m", 3)},
    bounds={"n": 30, "m": 40},
    sizes=[{"n": a, "m": b} for a, b in ((0, 3), (1, 1), (2, 40), (30, 1), (29, 39), (30, 40), (7, 0))],
    cpu=True,
)
def reshapes_row_by_row(x, y, z):
    """Long enough for loops over rows, which a padded program for a CPU has."""
    flat, square = hlo.reshape(x, (n * m,)), hlo.reshape(y, (n, m))
    whole, turned = hlo.reshape(z, (2, n * m, 3)), hlo.reshape(hlo.transpose(x, [1, 0]), (n * m,))
    return [flat, total(flat), square, total(square, [1]), total(square, [0]), whole, total(whole, [1]), turned]


# ---- indexing --------------------------------------------------------------------------------------------------------


def _take(x, i, axis=0):
    return hlo.take(x, i, axis)


@case(
    {"x": (F64, "n + 2", 3), "i": (I32, "k", 1), "y": (F64, "n")},
    bounds={"n": 4, "k": 3},
    data={"i": integers(-3, 9)},
    interpret=False,
)
def gathers_of_windows(x, i, y):
    numbers = {"offset_dims": [1, 2], "collapsed_slice_dims": [], "start_index_map": [0], "index_vector_dim": 1}
    return [hlo.gather(x, i, slice_sizes=sizes, **numbers) for sizes in ((2, 3), (2, 1), (n, 3), (n + 2, 2))]


@case(
    {"x": (F64, "n + 2", 2), "i": (I32, "k", 1), "u": (F64, "k", 2, 2), "w": (F64, "k", "n", 2)},
    bounds={"n": 3, "k": 3},
    data={"i": integers(-2, 6)},
    interpret=False,
)
def scatters_of_windows(x, i, u, w):
    """A window that does not fit is dropped as a whole."""
    numbers = {
        "update_window_dims": [1, 2],
        "inserted_window_dims": [],
        "scatter_dims_to_operand_dims": [0],
        "index_vector_dim": 1,
    }
    return [
        hlo.scatter(x, i, u, "add", **numbers),
        hlo.scatter(x, i, w, "add", **numbers),
        hlo.scatter(x, i, w, "maximum", **numbers),
    ]


@case(
    {"x": (F64, "n + 2", 4), "u": (F64, "n", 2), "y": (F64, 7, 4), "v": (F64, "n", 1)},
    bounds={"n": 5},
)
def scatters_of_windows_that_begin_at_0(x, u, y, v):
    """No index says where they begin along the axis of which they cover a part."""
    numbers = {
        "update_window_dims": [0],
        "inserted_window_dims": [1],
        "scatter_dims_to_operand_dims": [1],
        "index_vector_dim": 1,
    }
    two, one = (x.builder.constant(np.array(places, np.int64)) for places in ([[3], [1]], [[2]]))
    combiners = ("add", "multiply", "maximum", "set")
    return [hlo.scatter(a, i, b, kind, **numbers) for kind in combiners for a, i, b in ((x, two, u), (y, one, v))]


@case(
    {"x": (F32, "n"), "i": ("uint8", "k"), "j": ("int8", "k")},
    bounds={"n": 300, "k": 4},
    data={"i": integers(0, 256), "j": integers(-128, 128)},
    sizes=[{"n": size, "k": 4} for size in (1, 100, 127, 128, 256, 300)],
    interpret=False,
)
def narrow_indices(x, i, j):
    ones = hlo.full(x.builder, number(x, 1.0), i.dims)
    return [_take(x, i), _take(x, j), hlo.put(x, i, ones, 0, "add"), hlo.put(x, j, ones, 0, "add")]


# ---- order -----------------------------------------------------------------------------------------------------------


@case({"x": (F64, "n", 2), "p": (BOOL, "n", 2), "u": ("uint8", "n", 2)})
def sorts_by_other_orders(x, p, u):
    """Orders of which nothing is known: by the second operand, by the magnitude, descending."""
    places = hlo.iota(x.builder, x.dims, 0, np.dtype(np.int64))
    return [
        *hlo.sort([x, places], 0, lambda a, b, i, j: hlo.compare("GT", i, j)),
        hlo.sort([x, places], 0, lambda a, b, *_: hlo.compare("LT", hlo.abs(a), hlo.abs(b)))[1],
        hlo.sort([x, places], 0, lambda a, b, *_: hlo.compare("GT", a, b))[1],
        hlo.sort([p, places], 0, lambda a, b, *_: hlo.compare("LT", a, b))[1],
        hlo.sort([p, places], 0, lambda a, b, *_: hlo.compare("GT", a, b))[1],
        hlo.sort([u, places], 0, lambda a, b, *_: hlo.compare("GT", a, b))[1],
        hlo.sort([x], 1, lambda a, b: hlo.compare("LT", a, b))[0],
    ]


# ---- control ---------------------------------------------------------------------------------------------------------


@case({"x": (F64, "n", 2)}, data={"x": positive})
def loop_that_passes_facts_on_slowly(x):
    """Each carry takes what the next one held: the last zeros are lost after as many turns as there are carries."""
    zeros = [hlo.full(x.builder, number(x, 0.0), x.dims) for _ in range(6)]

    def body(i, *carries):
        return [hlo.add(i, 1), *carries[1:], hlo.exponential(hlo.add(carries[-1], x))]

    start = x.builder.constant(0, np.int64)
    _, *found = hlo.while_loop([start, *zeros], lambda i, *_: hlo.compare("LT", i, 7), body)
    return [total(y, [0]) for y in found]


# ---- linear algebra --------------------------------------------------------------------------------------------------


@case(
    {"a": (F64, "n", "n"), "b": (F64, "n", "m")},
    bounds={"n": 5, "m": 3},
    data={"a": definite},
    sizes=[{"n": n, "m": m} for n, m in [(0, 1), (1, 0), (2, 3), (4, 2), (5, 3)]],
)
def triangular_systems(a, b):
    factor, upper = hlo.cholesky(a), hlo.cholesky(a, lower=False)
    return [
        factor,
        upper,
        hlo.triangular_solve(factor, b, lower=True),
        hlo.triangular_solve(factor, b, lower=True, transpose=True),
        hlo.triangular_solve(upper, b, lower=False),
        hlo.triangular_solve(factor, hlo.transpose(b, [1, 0]), lower=True, left_side=False),
        hlo.triangular_solve(a, b, lower=True, unit_diagonal=True),
        total(hlo.log(hlo.diagonal(factor))),
        total(hlo.triangular_solve(factor, b, lower=True)),
        hlo.triangle(a, lower=False, diagonal=1),
    ]


@case(
    {"a": (F64, "n", "n"), "singular": (F64, "n", "n"), "y": (F64, "n", 2)},
    data={"singular": lambda shape, rng: np.round(rng.standard_normal(shape)) * (rng.random(shape) < 0.4)},
    sizes=[{"n": size} for size in (0, 1, 4, 5)],
)
def lu_of_general_matrices(a, singular, y):
    factors, permutation = hlo.lu(a)
    packed, pivots = hlo.lu_factor(a)
    sign = hlo.permutation_sign(permutation, np.dtype(np.float64))
    solved = hlo.lu_solve(factors, permutation, y)
    order = hlo.pivots_to_permutation(pivots, inverse=True)
    return [factors, permutation, solved, packed, pivots, sign, order, *hlo.lu(singular)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CASES)
def test_padded_runs_agree_with_exact_ones(name: str) -> None:
    CASES[name]()


# ---- a loop counter is in range: no clamp where that is certain, one where it is not ---------------------------------

Place = Callable[[Tensor, Tensor], Any]


def loop(place: Place, first: int, step: int, direction: str, limit: str) -> Callable[[Tensor], Tensor]:
    """A sum over elements at places of a counter; the limit is n, or carried along, or is a carry that may move."""

    def body(x: Tensor) -> Tensor:
        n = x.builder.size(x.dims[0], hlo.INT32)

        def more(i: Tensor, stop: Tensor, _: Tensor) -> Tensor:
            return hlo.compare(direction, i, stop if limit else n)

        def turn(i: Tensor, stop: Tensor, total: Tensor) -> list[Tensor]:
            value = hlo.reshape(hlo.dynamic_slice(x, [place(i, n)], (1,)), ())
            return [i + step, hlo.minimum_(stop, n) if limit == "moves" else stop, total * 3.0 + value]

        start = [x.builder.constant(first, hlo.INT32), n, x.builder.constant(0, x.dtype)]
        return hlo.while_loop(start, more, turn)[2]

    return body


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("place", "changes", "clamps"),
    [
        pytest.param(lambda i, n: i, {}, 0, id="forward"),
        pytest.param(lambda i, n: n - 1 - i, {}, 0, id="backward"),
        pytest.param(lambda i, n: i, {"limit": "carried"}, 0, id="a limit that is carried along"),
        pytest.param(lambda i, n: i, {"limit": "moves"}, 1, id="a limit that moves"),
        pytest.param(lambda i, n: i, {"step": 3}, 0, id="by threes"),
        pytest.param(lambda i, n: i + 1, {}, 1, id="one past"),
        pytest.param(lambda i, n: i * 2, {}, 1, id="twice"),
        pytest.param(lambda i, n: i - 1, {}, 1, id="one before"),
        pytest.param(lambda i, n: i, {"direction": "LE"}, 1, id="up to the size"),
        pytest.param(lambda i, n: i, {"first": -2}, 1, id="from below"),
    ],
)
def test_clamps(place: Place, changes: dict[str, Any], clamps: int) -> None:
    # XLA takes a loop from 0 to 1 by threes for one without a turn (jaxlib 0.10): the interpreter alone knows better.
    options = {"first": 0, "step": 1, "direction": "LT", "limit": ""} | changes
    program = build({"x": ("float64", "n")}, loop(place, **options))
    sizes = [{"n": n} for n in (1, 2, 7, 8)]
    padded = check_padded(program, {"n": 8}, sizes=sizes, compiled=options["step"] == 1)
    assert padded.op_counts().get("stablehlo.clamp", 0) == clamps
