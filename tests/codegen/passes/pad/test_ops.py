"""The padding rules, op by op: exact and padded runs agree at the sizes 0, 1, 2, bound - 1 and bound.

A case is a small program with the data that is hard on its rule: NaN, infinities, zeros of both signs, duplicates,
indices out of range. Its results are several variants of the op, so that one compilation tests all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from builds import build
from padded_runs import (
    Maker,
    Sizes,
    check_padded,
    definite,
    integers,
    nasty,
    positive,
)

from hlograph import Program
from hlograph import builder as hlo
from hlograph.builder import Tensor, dims

n, m = dims.symbol("n"), dims.symbol("m")
F32, F64, I32, I64, BOOL = "float32", "float64", "int32", "int64", "bool"


@dataclass
class Case:
    """A program, and how it is run."""

    arguments: Mapping[str, Sequence[Any]]
    body: Callable[..., Any]
    bounds: Sizes = field(default_factory=lambda: {"n": 5})
    data: Mapping[str, Maker] = field(default_factory=dict)
    sizes: Sequence[Sizes] | None = None
    compiled: bool = True
    interpret: bool = True
    rtol: float | None = None

    def program(self) -> Program:
        """The `?` program."""
        return build(self.arguments, self.body)


CASES: dict[str, Case] = {}


def case(arguments: Mapping[str, Sequence[Any]], **options: Any) -> Callable[[Callable[..., Any]], None]:
    """Registers a body under its name."""

    def register(body: Callable[..., Any]) -> None:
        assert body.__name__ not in CASES, f"two cases {body.__name__}"
        CASES[body.__name__] = Case(arguments, body, **options)

    return register


def number(x: Tensor, value: Any) -> Tensor:
    """A constant of the dtype of `x`."""
    return x.builder.constant(np.asarray(value, x.dtype))


def total(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The sum, which sees whatever is in the padding."""
    return hlo.reduce_monoid(x, range(x.ndim) if axes is None else axes, "add")


# ---- elementwise: what is known of the padding must be true of it ----------------------------------------------------


@case(
    {"x": (F32, "n", 3), "y": (F64, "n", "m"), "z": (F32, "n"), "low": (F32,), "p": (BOOL,)},
    bounds={"n": 4, "m": 5},
    data={"x": positive, "y": nasty, "z": nasty},
)
def floats(x, y, z, low, p):
    zero, above, zeros = hlo.multiply(y, 0.0), hlo.compare("GT", z, 0.0), number(z, 0.0)
    return [
        *(total(hlo.exponential(x), [0]), total(hlo.log(x)), total(hlo.cosine(x)), total(hlo.logistic(x), [0])),
        *(total(zero), total(hlo.subtract(y, y), [0]), hlo.reduce_monoid(hlo.divide(1.0, y), [1], "minimum")),
        total(hlo.convert(above, I32)),
        *[hlo.reduce_monoid(hlo.compare(*each, 0.0), [0], name) for *each, name in [("GE", z, "or"), ("LE", z, "xor")]],
        hlo.reduce_monoid(hlo.compare("EQ", z, z), [0], "and"),
        total(hlo.select(above, z, zeros)),
        hlo.reduce_monoid(hlo.select(above, z, number(z, np.inf)), [0], "minimum"),
        total(hlo.select(hlo.is_finite(z), z, number(z, 1.0))),
        *(
            total(hlo.clamp(low, z, number(z, 2.0))),
            total(hlo.select(p, z, hlo.negate(z))),
            total(hlo.clamp(low, z, low)),
        ),
    ]


@case({"x": (I32, "n"), "y": ("uint8", "n"), "p": (BOOL, "n")})
def integers_and_bits(x, y, p):
    return [
        hlo.reduce_monoid(hlo.divide(x, number(x, 3)), [0], "maximum"),
        hlo.reduce_monoid(hlo.remainder(number(x, 7), hlo.add(hlo.abs(x), 1)), [0], "minimum"),
        hlo.reduce_monoid(hlo.not_(y), [0], "and"),
        hlo.reduce_monoid(hlo.shift_left(y, number(y, 1)), [0], "or"),
        hlo.reduce_monoid(hlo.popcnt(y), [0], "add"),
        hlo.reduce_monoid(hlo.xor(p, hlo.not_(p)), [0], "and"),
        total(hlo.convert(hlo.not_(p), F32)),
        total(hlo.convert(x, F32)),
    ]


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


@case({"x": (F64, "n"), "y": (F64, "m")}, bounds={"n": 4, "m": 6}, sizes=[{"n": k, "m": k} for k in range(5)])
def sizes_that_are_equated(x, y):
    return [total(hlo.add(x, y)), hlo.dot_general(x, y, contracting=([0], [0])), hlo.multiply(y, x)]


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


@case({"x": (F64, "n", "m"), "s": (F64,)}, bounds={"n": 4, "m": 5}, data={"x": positive}, compiled=False)
def reductions_with_an_initial_value(x, s):
    """A value that is no identity counts once, where it is computed too. (XLA drops it for an axis of size 1.)"""

    def reduced(init, combine):
        return hlo.reduce([x], [init], [0], lambda a, b: [combine(a, b)])[0]

    inits = (s, number(x, 3.0), number(x, -0.0))
    return [reduced(init, combine) for init in inits for combine in (hlo.add, hlo.maximum_, hlo.multiply)]


@case(
    {"x": (F64, "n", "m"), "y": (I32, "n", 3), "z": (F32, "n", 2)},
    bounds={"n": 4, "m": 5},
    data={"x": nasty, "z": lambda shape, rng: np.full(shape, -np.inf)},
)
def argmax_and_argmin(x, y, z):
    """Also of nothing but minus infinity."""
    places = [hlo.arg_reduce(a, axis, kind) for a in (x, y) for axis in (0, 1) for kind in ("maximum", "minimum")]
    return [*places, hlo.arg_reduce(z, 0, "maximum"), hlo.reduce_monoid(z, [0], "maximum")]


@case({"x": (F64, "n", 3), "i": (I64, "n", 3)})
def reductions_that_are_no_monoids(x, i):
    """Sum and greatest at once; and log(exp(a) + exp(b)), whose neutral element is -inf, which nobody knows here."""
    zero, least = number(x, 0.0), number(i, np.iinfo(np.int64).min)

    def body(a, b):
        top = hlo.maximum_(a, b)
        found = hlo.add(top, hlo.log_plus_one(hlo.exponential(hlo.negate(hlo.abs(hlo.subtract(a, b))))))
        return [hlo.select(hlo.compare("EQ", a, b), hlo.add(a, np.log(2.0)), found)]

    both = hlo.reduce([x, i], [zero, least], [0], lambda a, b, c, d: [hlo.add(a, c), hlo.maximum_(b, d)])
    return [*both, *hlo.reduce([x], [number(x, -np.inf)], [0], body)]


@case({"x": (F64, "n", 4)}, data={"x": nasty})
def mean_and_variance(x):
    """A size that is used as data is the live one."""
    count = hlo.convert(x.builder.size(n), F64)
    mean = hlo.divide(total(x, [0]), count)
    centered = hlo.subtract(x, hlo.broadcast_in_dim(mean, x.dims, [1]))
    return [mean, hlo.divide(total(hlo.multiply(centered, centered), [0]), count)]


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


@case(
    {"x": (F32, "b", "n", 2), "y": (F32, "b", 2, "n"), "i": (I32, "n", 3), "j": (I32, "n", 2)}, bounds={"n": 4, "b": 3}
)
def batched_dots(x, y, i, j):
    """And dots of integers."""
    product = hlo.dot_general(x, y, contracting=([2], [1]), batching=([0], [0]))
    return [
        hlo.dot_general(x, y, contracting=([1], [2]), batching=([0], [0])),
        *(product, total(product)),
        hlo.dot_general(x, y, contracting=([0], [0])),
        hlo.dot_general(i, j, contracting=([0], [0])),
    ]


# ---- shape -----------------------------------------------------------------------------------------------------------


@case({"x": (F64, "n", "m", 2), "v": (F64, "n"), "s": (F64,)}, bounds={"n": 3, "m": 4})
def places_and_orders(x, v, s):
    columns, rows = hlo.broadcast_in_dim(v, (n, 3), [0]), hlo.broadcast_in_dim(v, (n, n), [1])
    filled, one = hlo.full(v.builder, s, (n, 2)), hlo.broadcast_in_dim(hlo.reshape(s, (1,)), (n,), [0])
    broadcasts = [columns, rows, filled, one, total(rows), total(filled), total(hlo.exponential(columns), [0])]
    turned = hlo.transpose(x, [2, 1, 0])
    orders = [turned, *[hlo.reverse(x, axes) for axes in ([0], [0, 1, 2], [2])], total(hlo.reverse(turned, [1]), [2])]
    places = hlo.iota(x.builder, (n, 3), 0, np.dtype(np.int64))
    others = [hlo.iota(x.builder, (2, n), 1, np.dtype(np.float32)), total(hlo.iota(x.builder, (n,), 0, x.dtype))]
    return [*broadcasts, *orders, places, total(places, [0]), *others]


@case({"x": (F32, "n", "m"), "y": (F32, "k", "m")}, bounds={"n": 4, "m": 3, "k": 5})
def concatenations(x, y):
    both = hlo.concatenate([x, y, x], 0)
    ones = hlo.full(x.builder, number(x, 1.0), (2, m))
    beside = hlo.concatenate([x, x], 1)
    return [
        both,
        total(both, [0]),
        hlo.concatenate([ones, x], 0),
        hlo.concatenate([x, ones, y], 0),
        beside,
        total(beside, [1]),
        total(hlo.concatenate([hlo.exponential(x), hlo.exponential(y)], 0), [0]),
        hlo.reduce_monoid(hlo.concatenate([hlo.exponential(x), ones], 0), [0], "multiply"),
    ]


@case({"x": (F64, "n + 3", 2), "y": (F64, "n")})
def slices(x, y):
    starts_and_lengths = [(1, n + 2), (0, n), (n, 3), (n + 2, 1), (0, 2)]
    strided = [(0, (n + 4) // 2, 2), (1, (n + 3) // 2, 2), (n + 2, n + 3, -1), (n + 2, (n + 5) // 3, -3)]
    return [
        *[hlo.slice_axis(x, 0, *part) for part in (*starts_and_lengths, *strided)],
        total(hlo.slice_axis(x, 0, 1, n + 1), [0]),
        hlo.slice_axis(y, 0, 0, dims.minimum(n, 2)),
        total(hlo.slice_axis(y, 0, 0, n // 2)),
    ]


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


# ---- indexing --------------------------------------------------------------------------------------------------------


@case({"x": (F64, "n + 3", 2), "i": (I32,), "y": (F64, "n")}, data={"i": integers(-9, 12)})
def dynamic_slices(x, i, y):
    """Starts clamp at the live size."""
    zero = number(i, 0)
    update = hlo.full(x.builder, number(x, 5.0), (2, 1))
    return [
        hlo.dynamic_slice(x, [i, zero], (3, 2)),
        hlo.dynamic_slice(x, [i, i], (1, 1)),
        hlo.dynamic_update_slice(x, update, [i, zero]),
        total(hlo.dynamic_update_slice(x, update, [i, i]), [0]),
    ]


@case(
    {"x": (F64, "n", "m"), "u": (F64, 1, "m"), "i": (I32,), "y": (F64, 2, "n + m")},
    bounds={"n": 4, "m": 3},
    data={"i": integers(-5, 8)},
    sizes=[{"n": a, "m": b} for a, b in [(1, 0), (1, 3), (2, 2), (3, 3), (4, 1), (4, 3)]],
)
def updates_with_padding(x, u, i, y):
    zero = number(i, 0)
    part = hlo.full(x.builder, number(x, 7.0), (1, n))
    return [
        hlo.dynamic_update_slice(x, u, [i, zero]),
        hlo.dynamic_update_slice(y, part, [zero, i]),
        total(hlo.dynamic_update_slice(y, part, [i, i])),
        hlo.dynamic_slice(y, [zero, i], (2, n)),
    ]


def _take(x, i, axis=0):
    return hlo.take(x, i, axis)


@case(
    {"x": (F64, "n", "m"), "i": (I64, "k")},
    bounds={"n": 4, "m": 3, "k": 5},
    data={"i": integers(-3, 7)},
    sizes=[{"n": a, "m": b, "k": c} for a, b, c in [(1, 1, 0), (1, 2, 5), (3, 3, 4), (4, 3, 5), (2, 1, 1)]],
    interpret=False,
)
def gathers(x, i):
    pairs = hlo.concatenate([hlo.expand_dims(i, [1]), hlo.expand_dims(i, [1])], 1)
    numbers = {"collapsed_slice_dims": [0, 1], "start_index_map": [0, 1], "index_vector_dim": 1}
    sizes = (dims.minimum(n, 1), dims.minimum(m, 1))
    return [
        _take(x, i),
        total(_take(x, i), [0]),
        _take(hlo.transpose(x, [1, 0]), i, 1),
        _take(x, hlo.broadcast_in_dim(i, (2, dims.symbol("k")), [1])),
        hlo.gather(x, pairs, offset_dims=[], slice_sizes=sizes, **numbers),
    ]


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
    {"x": (F64, "n", "m"), "i": (I64, "k"), "u": (F64, "k", "m")},
    bounds={"n": 4, "m": 3, "k": 5},
    data={"i": integers(-3, 7)},
)
def scatters(x, i, u):
    ones = hlo.full(x.builder, number(x, 1.0), u.dims)
    combined = [hlo.put(x, i, u, 0, combiner) for combiner in ("add", "multiply", "maximum", "minimum")]
    added = hlo.put(x, i, u, 0, "add")
    return [
        *combined,
        hlo.put(x, i, ones, 0, "set"),
        total(added),
        hlo.put(hlo.full(x.builder, number(x, 0.0), (6, m)), i, u, 0, "add"),
    ]


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
    {"x": (F64, "n + 2", 2), "i": (I32, 1), "w": (F64, "n", 2)},
    bounds={"n": 4},
    data={"i": integers(-2, 5)},
    interpret=False,
)
def scatter_of_one_window(x, i, w):
    numbers = {
        "update_window_dims": [0, 1],
        "inserted_window_dims": [],
        "scatter_dims_to_operand_dims": [0],
        "index_vector_dim": 0,
    }
    return [hlo.scatter(x, i, w, "set", **numbers), total(hlo.scatter(x, i, w, "set", **numbers), [1])]


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


@case({"x": (F64, "n", "m"), "i": (I32, "n", 2)}, bounds={"n": 5, "m": 4}, data={"x": nasty})
def sorts(x, i):
    def less(a, b, *_):
        return hlo.less_nan_last(a, b)

    def plain(direction):
        return lambda a, b, *_: hlo.compare(direction, a, b)

    places = [hlo.iota(x.builder, x.dims, axis, np.dtype(np.int64)) for axis in (0, 1)]
    keys = hlo.iota(i.builder, i.dims, 0, np.dtype(np.int64))
    return [
        hlo.sort([x], 0, less)[0],
        hlo.sort([x], 1, less)[0],
        hlo.sort([x, places[0]], 0, less)[1],
        hlo.sort([x, places[1]], 1, less)[1],
        *hlo.sort([i, keys], 0, plain("LT")),
        *hlo.sort([i, keys], 0, plain("GT")),
        hlo.sort([i], 0, plain("LT"), stable=False)[0],
    ]


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


@case({"x": (F64, "n", "m"), "i": (I32, "n", 2)}, bounds={"n": 6, "m": 3}, data={"x": nasty})
def cumulative_ops(x, i):
    names = ("add", "multiply", "maximum", "minimum")
    results = [hlo.cumulative(x, axis, name) for axis in (0, 1) for name in names]
    return [*results, *[hlo.cumulative(i, axis, "add") for axis in (0, 1)], total(hlo.cumulative(x, 0, "add"), [0])]


# ---- control ---------------------------------------------------------------------------------------------------------


@case({"x": (F64, "n", 2)}, data={"x": positive})
def loop_whose_carry_loses_its_zeros(x):
    """exp puts 1 into the padding, then e, ...: what held at the first turn does not at the second."""
    zero = number(x, 0.0)
    start = x.builder.constant(0, np.int64)
    _, found, kept = hlo.while_loop(
        [start, x, hlo.full(x.builder, zero, x.dims)],
        lambda i, a, b: hlo.compare("LT", i, 3),
        lambda i, a, b: [hlo.add(i, 1), hlo.exponential(hlo.negate(a)), hlo.add(b, a)],
    )
    return [total(found), total(kept, [0])]


@case({"x": (F64, "n", 2)}, data={"x": positive})
def loop_that_passes_facts_on_slowly(x):
    """Each carry takes what the next one held: the last zeros are lost after as many turns as there are carries."""
    zeros = [hlo.full(x.builder, number(x, 0.0), x.dims) for _ in range(6)]

    def body(i, *carries):
        return [hlo.add(i, 1), *carries[1:], hlo.exponential(hlo.add(carries[-1], x))]

    start = x.builder.constant(0, np.int64)
    _, *found = hlo.while_loop([start, *zeros], lambda i, *_: hlo.compare("LT", i, 7), body)
    return [total(y, [0]) for y in found]


@case({"x": (F64, "n", "m"), "k": (I64,)}, bounds={"n": 4, "m": 3}, data={"k": integers(0, 6)})
def loops_in_loops(x, k):
    """Runtime trip counts; the inner loop's carry is the outer one's."""
    zero = x.builder.constant(0, np.int64)

    def inner(j, acc):
        return [hlo.add(j, 1), hlo.add(hlo.multiply(acc, 0.5), x)]

    def outer(i, acc):
        acc = hlo.while_loop([zero, acc], lambda j, _: hlo.compare("LT", j, i), inner)[1]
        return [hlo.add(i, 1), hlo.exponential(hlo.negate(hlo.abs(acc)))]

    found = hlo.while_loop([zero, x], lambda i, _: hlo.compare("LT", i, k), outer)[1]
    return [found, total(found, [0]), total(found)]


@case({"x": (F64, "n"), "p": (BOOL,), "k": (I32,)}, data={"x": nasty, "k": integers(-1, 4)})
def branches(x, p, k):
    """The padding of a result depends on the branch taken."""
    (first,) = hlo.if_(p, lambda: [hlo.exponential(x)], lambda: [hlo.multiply(x, 2.0)])
    empty = hlo.full(x.builder, number(x, 0.0), x.dims)
    many = hlo.case(
        k, [lambda: [x, total(x)], lambda: [hlo.cosine(x), number(x, 1.0)], lambda: [empty, number(x, 2.0)]]
    )
    nested = hlo.if_(p, lambda: hlo.if_(hlo.not_(p), lambda: [x], lambda: [hlo.reverse(x, [0])]), lambda: [empty])
    return [first, total(first), *many, total(many[0]), hlo.reduce_monoid(nested[0], [0], "maximum")]


@case({"x": (F64, "n", 2), "y": (F64, "m", 2)}, bounds={"n": 4, "m": 3})
def calls(x, y):
    """One function for two sizes and two kinds of padding."""

    def body(a):
        return [hlo.exponential(a), total(hlo.add(a, 1.0), [0])]

    return [*hlo.call("f", [x], body), *hlo.call("f", [y], body), *hlo.call("f", [hlo.cosine(x)], body)]


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
    {"a": (F32, "b", "n", "n"), "y": (F32, "b", "n", 2)},
    bounds={"n": 4, "b": 3},
    data={"a": definite},
    rtol=1e-4,
    sizes=[{"n": n, "b": b} for n, b in [(0, 1), (1, 3), (3, 2), (4, 3)]],
)
def batches_of_systems(a, y):
    return [hlo.cholesky(a), hlo.triangular_solve(hlo.cholesky(a), y, lower=True), hlo.lu_solve(*hlo.lu(a), y)]


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


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", CASES)
def test_padded_runs_agree_with_exact_ones(name):
    each = CASES[name]
    check_padded(
        each.program(),
        each.bounds,
        data=each.data,
        sizes=each.sizes,
        compiled=each.compiled,
        interpret=each.interpret,
        rtol=each.rtol,
    )
