"""rank_sort: a short sort counts for each element how many come before it.

    before  %s = "stablehlo.sort"(%x) ({ compare LT })                            : tensor<16xf64>
    after   %b = compare LT of all pairs;  %rank = reduce(add) of %b              : tensor<16xi32>
            %s = stablehlo.while(%i, %s)    do: %s[%rank[%i]] = %x[%i]

In: a `stablehlo.sort` of one array or several (an argsort) along a short axis. XLA:CPU calls a comparator through a
function pointer, 30 to 140 ns an element. Preconditions: static shapes, and a comparator that puts its values in a
strict weak order: it is evaluated on values that include NaN, infinities and both zeros, since counts are a permutation
only then. Equal elements stay in order, whether or not the sort must be stable. Rounding: none, elements are copied.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...ir import evaluate, ops, while_ops
from ...ir.attributes import Array, text_attribute
from ...ir.bindings import ir, stablehlo
from ...ir.clone import clone
from ...ir.kinds import direction_of
from ...ir.refused import Refused, require
from ...ir.values import constant, dtype_of, static_shape

_LONGEST = 32  # axis
_UNROLL = 8  # elements that a turn of the loop puts in their places
# Pairs that are compared in all.
_MOST_PAIRS = 1 << 20


def rank_sort(op: ir.Operation) -> list[ir.Value] | None:
    """A sort of few elements puts each at the place that is the number of those before it."""
    operands = list(op.operands)
    shape, axis = static_shape(operands[0]), ir.IntegerAttr(op.attributes["dimension"]).value
    size, count = shape[axis], math.prod(shape)
    if size < 2 or not count:
        return None
    require(size <= _LONGEST, f"{size} elements are more than {_LONGEST}")
    require(count * size <= _MOST_PAIRS, f"{count // size} times {size} elements are too many pairs")
    block = op.regions[0].blocks[0]
    require(all(dtype_of(each).kind in "fiub" for each in operands), "elements are neither numbers nor truth values")
    _check_order(block)
    order = [*(k for k in range(len(shape)) if k != axis), axis]
    batch = count // size
    flat = [ops.reshape(ops.transpose(each, order), (batch, size)) for each in operands]
    places = _places(block, flat, batch, size)
    rows = [ops.reshape(each, (count,)) for each in flat]
    sorted_rows = _put(rows, places)
    moved, back = [shape[k] for k in order], [int(k) for k in np.argsort(order)]
    return [ops.transpose(ops.reshape(each, moved), back) for each in sorted_rows]


def _places(block: ir.Block, flat: Sequence[ir.Value], batch: int, size: int) -> ir.Value:
    """For each element, in one row of all batches, where it goes: int32."""
    pairs = (batch, size, size)
    # Element [b, i, j] says whether j comes before i: the comparator of j and i, or, for j < i, not that of i and j.
    this, other = ([ops.broadcast_in_dim(each, pairs, (0, axis)) for each in flat] for axis in (1, 2))
    before = _on_arrays(block, [value for pair in zip(other, this, strict=True) for value in pair], pairs)
    behind = _on_arrays(block, [value for pair in zip(this, other, strict=True) for value in pair], pairs)
    places = ops.iota([size], 0)
    first = ops.compare("LT", ops.broadcast_in_dim(places, pairs, (2,)), ops.broadcast_in_dim(places, pairs, (1,)))
    chosen = stablehlo.select(first, stablehlo.not_(behind), before)
    rank = ops.reduce("stablehlo.add", ops.convert(chosen, np.int32), ops.index(0), [2])
    offsets = ops.constant((np.arange(batch, dtype=np.int32) * size)[:, None] + np.zeros(size, np.int32))
    return ops.reshape(stablehlo.add(rank, offsets) if batch > 1 else rank, (batch * size,))


def _put(arrays: Sequence[ir.Value], places: ir.Value) -> list[ir.Value]:
    """Each element of each array at its place, one after the other."""
    count = static_shape(places)[0]

    def turn(unroll: int) -> Callable[[ir.Value, list[ir.Value]], list[ir.Value]]:
        def body(index: ir.Value, carries: list[ir.Value]) -> list[ir.Value]:
            # Several places and elements are read at once, which XLA:CPU checks against the bounds once.
            several, *taken = (ops.dynamic_slice(each, [index], (unroll,)) for each in (places, *arrays))
            for offset in range(unroll):
                place = ops.reshape(ops.slice(several, (offset,), (offset + 1,)), ())
                new = [ops.slice(each, (offset,), (offset + 1,)) for each in taken]
                carries = [ops.dynamic_update_slice(a, each, [place]) for a, each in zip(carries, new, strict=True)]
            return carries

        return body

    whole = count // _UNROLL * _UNROLL
    made = while_ops.counted(0, whole, _UNROLL, arrays, turn(_UNROLL))
    return while_ops.counted(whole, count, 1, made, turn(1))


def _on_arrays(block: ir.Block, arguments: Sequence[ir.Value], shape: Sequence[int]) -> ir.Value:
    """What a region of elementwise ops on scalars gives for each element of arrays of one shape."""
    known: dict[ir.Value, ir.Value] = dict(zip(block.arguments, arguments, strict=True))
    *body, last = (inner.operation for inner in block.operations)
    for inner in body:
        if inner.name == "stablehlo.constant":
            known[inner.results[0]] = ops.broadcast_in_dim(clone(inner).results[0], shape)
            continue
        for value in inner.operands:
            if value not in known:  # a constant from outside
                known[value] = ops.broadcast_in_dim(value, shape, ())
        made = clone(inner, [known[value] for value in inner.operands], shape)
        known[inner.results[0]] = made.results[0]
    return known[last.operands[0]]


# ---- whether a comparator is an order -------------------------------------------------------------------------------

_FLOATS = (-np.inf, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, np.inf, np.nan, -np.nan)
_MOST_OPS = 64
# Of arithmetic only what keeps or turns the order round: else a few values would not stand for all.
_COMPARING = frozenset(f"stablehlo.{name}" for name in ("and", "compare", "negate", "not", "or", "select", "xor"))


def _check_order(block: ir.Block) -> None:
    """Refuses a comparator that is no strict weak order on special and ordinary values.

    Comparisons tell values apart only by their order among each other and by what constants they are compared with, so
    that two ordinary values of each sign, and those around the constants, stand for all.
    """
    body = [inner.operation for inner in block.operations]
    require(len(body) <= _MOST_OPS, f"the comparator has {len(body)} ops")
    arguments = list(block.arguments)
    used = {value for inner in body for value in inner.operands}
    keys = [k for k in range(0, len(arguments), 2) if arguments[k] in used or arguments[k + 1] in used]
    require(len(keys) in (1, 2), f"the comparator looks at {len(keys)} arrays")
    constants = [constant(value) for value in used]
    tables = [_values(dtype_of(arguments[k]), constants) for k in keys]
    rows = list(itertools.product(*(range(len(table)) for table in tables)))
    picked = [table[[row[k] for row in rows]] for k, table in enumerate(tables)]
    known: dict[ir.Value, Array] = {}
    for k, column in zip(keys, picked, strict=True):
        known[arguments[k]], known[arguments[k + 1]] = column[:, None], column[None, :]
    with np.errstate(all="ignore"):
        less = np.broadcast_to(_evaluated(body, known), (len(rows), len(rows)))
    same = ~less & ~less.T
    counts = less.astype(np.int64), same.astype(np.int64)
    require(not less.diagonal().any() and not (less & less.T).any(), "the comparator puts two values before each other")
    chained = all(not ((each @ each > 0) & (each == 0)).any() for each in counts)
    require(chained, "the comparator is no order, for NaN or for other values (it must say where NaN comes)")


def _values(dtype: np.dtype[Any], constants: Sequence[Array | None]) -> Array:
    """What a comparator is tried on: special and ordinary values, and those around its own constants."""
    own = [found.item() for found in constants if found is not None and found.dtype == dtype]
    if dtype.kind == "f":
        finite = [value for value in own if np.isfinite(value) and value != 0]
        around = [each for value in finite for each in (value - abs(value) / 2, value, value + abs(value) / 2)]
        return np.array([*_FLOATS, *around], dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    least, greatest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    around = [each for value in own for each in (value - 1, value, value + 1) if least <= each <= greatest]
    return np.array(sorted({least, greatest, *range(max(least, -2), 4), *around}), dtype)


def _evaluated(body: Sequence[ir.Operation], known: dict[ir.Value, Array]) -> Array:
    for inner in body[:-1]:
        if inner.name == "stablehlo.constant":
            continue
        require(inner.name in _COMPARING, f"the comparator has {inner.name}")
        values = [_known(value, known) for value in inner.operands]
        is_compare = inner.name == "stablehlo.compare"
        made = _compared(inner, *values) if is_compare else evaluate.ELEMENTWISE[inner.name](*values)
        known[inner.results[0]] = np.asarray(made)
    return _known(body[-1].operands[0], known)


def _known(value: ir.Value, known: Mapping[ir.Value, Array]) -> Array:
    found = known.get(value)
    if found is None:
        found = constant(value)
    if found is None:
        raise Refused("the comparator reads a value from outside that is not constant")
    return found


def _compared(op: ir.Operation, lhs: Array, rhs: Array) -> Array:
    if "TOTALORDER" in text_attribute(op, "compare_type"):
        lhs, rhs = _total(lhs), _total(rhs)
    found: Array = evaluate.COMPARISONS[direction_of(op)](lhs, rhs)
    return found


def _total(values: Array) -> Array:
    """Integers in IEEE's total order: -NaN, -inf, ..., -0.0, 0.0, ..., inf, NaN."""
    if values.dtype.kind != "f":
        return values
    kind = np.dtype(f"i{values.dtype.itemsize}")
    bits = np.ascontiguousarray(values).reshape(values.shape).view(kind)
    found: Array = np.where(bits < 0, bits ^ np.iinfo(kind).max, bits)
    return found
