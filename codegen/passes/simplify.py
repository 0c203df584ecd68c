"""simplify: what reaches XLA in bad shape, and XLA does not put right itself.

    before  %p = stablehlo.pad %a, %zero, low = [0], high = [2]    after  %s = stablehlo.concatenate %a, %b, dim = 0
            %q = stablehlo.pad %b, %zero, low = [2], high = [0]
            %s = stablehlo.add %p, %q

In: a module, best with static shapes and with calls inlined. Out: the module with this file's rewrites applied until
none applies; each is also a pass of the same name, and its docstring shows what it does, its preconditions and what it
does to rounding. Decision to know: a rewrite is here because `benchmarks/simplify.py` shows that it pays; what XLA does
as well by itself is listed in docs/reference/passes.md. Rounding: with `reassociate=false` every bit is kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np

from ..analysis.known import Even, even, known, zero_splat
from ..ir import ops
from ..ir.bindings import ir, stablehlo
from ..ir.kinds import Indexing, having, identity, reduction
from ..ir.ops import (
    broadcast_in_dim,
    clone,
    elementwise,
    full_like,
    pad,
    positive_zeros,
    reduce,
    reshape,
    reverse,
    transpose,
)
from ..ir.refused import Refused, needed, require
from ..ir.values import (
    Array,
    constant,
    dot_sides,
    dtype_of,
    integers,
    is_constant,
    owner,
    shape_of,
    static_shape,
    walk,
)
from .pad_sums import Box, joined_pads
from .report import Report
from .rewriting import REWRITES, apply, keeps_bits, rewrite

# name -> the op without which the rewrite finds nothing: where it begins at an op that is in every module, what makes
# its pattern special.
_NEEDS: Mapping[str, str] = {
    "gather_to_slice": "stablehlo.gather",
    "known_select": "stablehlo.gather",
    "scatter_to_pad": "stablehlo.scatter",
    "abs_of_negate": "stablehlo.abs",
    "power_to_multiply": "stablehlo.power",
    "reduce_of_broadcast": "stablehlo.reduce",
    "transpose_into_dot": "stablehlo.transpose",
}
# This comes after the others, because a scatter that becomes a pad may be a term of a sum; it needs two terms.
_SUMS = ("sum_of_pads",)
_TERMS = ("stablehlo.pad", "stablehlo.dynamic_update_slice", "stablehlo.scatter")

PARTS = (*_NEEDS, *_SUMS)

TRIGGERS = frozenset((*_TERMS, *_NEEDS.values()))


def run(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
    """The pass: all rewrites of this package; without `reassociate` those that keep every bit."""
    found = Counter(op.name for op in walk(module))
    single = [name for name, op in _NEEDS.items() if op in found]
    sums = _SUMS if sum(found[name] for name in _TERMS) > 1 and found["stablehlo.add"] else ()
    for names in (single, sums):
        if names:
            apply(module, [REWRITES[name] for name in names], report, reassociate=reassociate)


# Up to this many pads, or from this many elements on (if pads of one element can share one kernel), a
# concatenate is as fast or faster: see benchmarks/simplify.py.
_FEW, _ELEMENTS, _SINGLE = 7, 4096, 256


@rewrite("stablehlo.add", exact=True)
def sum_of_pads(op: ir.Operation) -> ir.Value | None:
    """A sum of pads with disjoint support is a concatenate.

        before  %p = stablehlo.pad %a, %zero, low = [0], high = [2]
                %q = stablehlo.pad %b, %zero, low = [2], high = [0]
                %s = stablehlo.add %p, %q
        after   %s = stablehlo.concatenate %a, %b, dim = 0

    In: the last `add` of a tree of adds, each the only use of the one before; a write into zeros
    (`dynamic_update_slice` at known places) counts as a pad. Whole trees go at once, in time that is linear but for
    sorting. Gaps become zeros; two pads of the same places are added first; pads may lie in a grid (several axes) as
    long as rows of it do not interleave. A tree may hold terms that are no pads: they are added to the concatenate.

    Preconditions: static shapes, no interior or negative padding, one padding value, 0.0 or -0.0; supports are the same
    or disjoint; and the sum is large enough: XLA makes one kernel of a sum of pads, which looks at each element once
    for each pad, and one for each part of a concatenate. Rounding: each place gets the same numbers, but 0.0 is no
    longer added, so that -0.0 stays -0.0; several terms that are no pads, or several pads at the same places, are added
    in another order. With `reassociate=false`, 0.0 is written in place of -0.0, and a sum whose order would change
    stays.
    """
    return joined_pads(op, _is_faster)


def _is_faster(boxes: Collection[Box], shape: tuple[int, ...]) -> None:
    single = all(stop - start == 1 for box in boxes for start, stop in box)
    require(
        len(boxes) <= _FEW or math.prod(shape) >= (_SINGLE if single else _ELEMENTS),
        f"a sum of {len(boxes)} pads of only {math.prod(shape)} elements, which XLA computes in one kernel",
    )


@rewrite("stablehlo.gather", exact=True)
def gather_to_slice(op: ir.Operation) -> ir.Value:
    """A gather at evenly spaced indices is a slice, strided or reversed.

        before  %i = stablehlo.iota dim = 0 : tensor<4x1xi64>
                %g = "stablehlo.gather"(%x, %i + 2) <{..., start_index_map = [0], slice_sizes = [1, 3]}>
        after   %g = stablehlo.slice %x [2:6, 0:3]
        before  %m = stablehlo.compare GE, %i, %zero                    (true everywhere)
                %s = stablehlo.select %m, %g, %nan
        after   %s = %g

    In: indices that are known (`analysis/known.py`): constants, iota and arithmetic on them. Strided and backward
    ones become a slice with strides and a `reverse`. Preconditions: static shapes, no batching dimensions, indices that
    move along one axis. Rounding: none, values are only copied. Indices out of bounds are clamped, as a gather does.
    """
    x, indices = op.operands
    sizes = static_shape(x)
    shape = static_shape(op.results[0])
    numbers = Indexing.of(op)
    require(not numbers.batching, "the gather has batching dimensions")
    window = integers(op, "slice_sizes")
    found = even(indices, numbers.vector, numbers.mapped, sizes, window, clamp=True)
    axis, offset = found.axis, numbers.offsets
    batch = [place for place in range(len(shape)) if place not in offset]
    require(
        batch == list(range(batch[0], batch[0] + len(batch))) if batch else True,
        f"the result's axes {batch}, which count the indices, are not next to each other",
    )
    start, limit = list(found.starts), [first + size for first, size in zip(found.starts, window, strict=True)]
    stride = [1] * len(sizes)
    if found.count > 1:
        start[axis], limit[axis], stride[axis] = found.first, found.last + 1, abs(found.step)
    made = ops.slice(x, start, limit, stride)
    if found.count > 1 and found.step < 0:
        made = ops.reverse(made, axis)
    if found.count > 1:
        # The axis goes to where the result counts indices; the others stay in order.
        before = sum(1 for place in offset if place < batch[0])
        kept = [k for k in range(len(sizes)) if k not in set(numbers.collapsed) and k != axis]
        dropped = [k for k in range(len(sizes)) if k in set(numbers.collapsed) and k != axis]
        if axis not in set(numbers.collapsed):
            # It stays as an axis of size 1, which the reshape adds: count the offsets without it.
            place = sorted([*kept, axis]).index(axis)
            before -= place < before
        made = ops.transpose(made, [*dropped, *kept[:before], axis, *kept[before:]])
    return ops.reshape(made, shape)


@rewrite("stablehlo.select", exact=True)
def known_select(op: ir.Operation) -> ir.Value | None:
    """A `select` whose predicate is known to be the same everywhere is one of its operands."""
    predicate = op.operands[0]
    definer = owner(predicate)
    while definer is not None and definer.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        predicate = definer.operands[0]
        definer = owner(predicate)
    if definer is None or definer.name not in _TRUTH:
        return None
    found = known(predicate)
    if found is None or not found.size:
        return None
    if found.all():
        return op.operands[1]
    if not found.any():
        return op.operands[2]
    raise Refused("the predicate is known, but true in some places and false in others")


_TRUTH = frozenset({"stablehlo.constant", "stablehlo.compare", "stablehlo.and", "stablehlo.reduce", "stablehlo.not"})


@rewrite("stablehlo.scatter", exact=True)
def scatter_to_pad(op: ir.Operation) -> ir.Value | None:
    """A scatter over consecutive rows is a pad, if it is into a constant; or the updates, if it overwrites all.

        before  %z = stablehlo.constant dense<0.0> : tensor<6x3xf32>
                %s = "stablehlo.scatter"(%z, [[2], [3]], %u) ({ add })
        after   %s = stablehlo.pad %u, %zero, low = [2, 0], high = [2, 0], interior = [0, 0]
        before  %s = "stablehlo.scatter"(%x, [[0], [1], ..., [5]], %u) ({ overwrite })         (all rows of %x)
        after   %s = %u

    In: a scatter of one array that adds or overwrites, at known indices. Into a constant of one number it becomes a pad
    (evenly spaced rows: with interior padding); where it overwrites all places, the updates themselves. Preconditions:
    static shapes, indices in bounds, no batching dimensions. What adds to an array that is not constant, or overwrites
    a part of it, is left alone: XLA does that in place, as fast or faster. Rounding: none, but nothing is added to 0.0
    any more, so that -0.0 stays -0.0; with `reassociate=false`, 0.0 is written in its place.
    """
    if len(op.operands) != 3:
        return None
    x, indices, updates = op.operands
    sizes, given = static_shape(x), static_shape(updates)
    block = op.regions[0].blocks[0]
    adds = len(list(block.operations)) > 1
    kept = not adds and block.operations[0].operation.operands[0] != block.arguments[1]
    require(not kept, "it keeps what was there")
    require(not adds or reduction(op) == "stablehlo.add", "it combines by another op than stablehlo.add")
    numbers = Indexing.of(op)
    require(not numbers.batching, "the scatter has batching dimensions")
    inserted, mapped = set(numbers.collapsed), numbers.mapped
    places = numbers.offsets
    axes = [axis for axis in range(len(sizes)) if axis not in inserted]
    window = [1] * len(sizes)
    for axis, place in zip(axes, places, strict=True):
        window[axis] = given[place]
    require(all(given) and all(sizes), "the scatter has no elements")
    found = even(indices, numbers.vector, mapped, sizes, window, clamp=False)
    box = list(window)
    if found.count > 1:
        box[found.axis] = found.count
    whole = tuple(box) == sizes
    filled = constant(x)
    single = filled is not None and filled.ndim == 0
    require(
        single or (whole and not adds),
        f"it {'adds to' if adds else 'overwrites a part of'} an array that is not constant, which XLA does in place",
    )
    zero = zero_splat(x)
    require(not adds or zero is not None, "it adds to a constant that is not 0")
    drops_zero = adds and zero is not None and not np.signbit(zero)
    require(
        not (drops_zero and keeps_bits() and dtype_of(x).kind == "c"),
        "complex numbers, where 0.0 and -0.0 come in pairs",
    )
    made = _in_place(updates, found, axes, places, box)
    if drops_zero and keeps_bits():
        made = positive_zeros(made)
    if whole:
        return made
    assert filled is not None
    low, high, interior = [], [], []
    for axis, (size, count) in enumerate(zip(sizes, box, strict=True)):
        moves = found.count > 1 and axis == found.axis
        first = found.first if moves else found.starts[axis]
        step = abs(found.step) if moves else 1
        low.append(first)
        high.append(size - first - ((count - 1) * step + 1))
        interior.append(step - 1)
    return pad(made, full_like(x, filled.item(), ()), low, high, interior)


def _in_place(updates: ir.Value, found: Even, axes: list[int], places: list[int], box: list[int]) -> ir.Value:
    """The updates with the array's axes, in the order of places."""
    counting = [place for place in range(len(static_shape(updates))) if place not in places]
    made = updates
    if found.count > 1:
        # Counting axes as one, before the axis that it is; that axis, if it is a window's of size 1, goes.
        made = transpose(made, [*counting, *places])
        sizes = [static_shape(updates)[place] for axis, place in zip(axes, places, strict=True) if axis != found.axis]
        made = reshape(made, [found.count, *sizes])
        before = sum(1 for axis in axes if axis < found.axis)
        rest = list(range(1, len(sizes) + 1))
        made = transpose(made, [*rest[:before], 0, *rest[before:]])
    made = reshape(made, box)
    return reverse(made, found.axis) if found.count > 1 and found.step < 0 else made


_AGAIN = having("again")


@rewrite("stablehlo.reduce", exact=True)
def reduce_of_broadcast(op: ir.Operation) -> ir.Value | None:
    """What is broadcast only to be reduced is not broadcast: a sum is a multiply, a maximum the value itself.

        before  %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>
                %m = stablehlo.reduce(%b init: %lowest) applies stablehlo.maximum across dimensions = [1]
                %s = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1]
        after   %m = %x
                %t = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
                %s = stablehlo.multiply %t, 64.0

    In: a reduction of one array by add, minimum, maximum, and, or, over axes that a broadcast has made (all of them, or
    with others, which are reduced first). Preconditions: static shapes, none of the broadcast's axes is empty (the
    result is then the initial value); for sums the initial value is 0 and the count of copies is a number of the dtype.
    Rounding: minimum, maximum, and, or, and sums of integers keep every bit; a sum of floats is rounded once instead of
    many times, and stays with `reassociate=false`.
    """
    if len(op.operands) != 2:
        return None
    broadcast = owner(op.operands[0])
    if broadcast is None or broadcast.name != "stablehlo.broadcast_in_dim":
        return None
    x, init = broadcast.operands[0], op.operands[1]
    sizes, shape = static_shape(x), static_shape(op.operands[0])
    to, reduced = integers(broadcast, "broadcast_dimensions"), integers(op, "dimensions")
    # Where each axis of the broadcast comes from, if it has the elements of an axis of x.
    source = {place: axis for axis, place in enumerate(to) if sizes[axis] == shape[place]}
    copied = [place for place in reduced if place not in source]
    if not copied:
        return None
    name = reduction(op)
    require(name == "stablehlo.add" or name in _AGAIN, f"a reduction by {name} is not known")
    copies = math.prod(shape[place] for place in copied)
    require(copies, f"axis {copied[0]} is empty, so that the result is the initial value")
    rest = [source[place] for place in reduced if place in source]
    if name == "stablehlo.add":
        exact = dtype_of(x).kind in "iu"  # modulo its range
        require(exact or not keeps_bits(), "a sum of floats, which is rounded otherwise as a multiply")
        require(zero_splat(init) is not None, "the sum's initial value is not 0")
        require(dtype_of(x).kind != "b", "truth values, which an add only combines")
        with np.errstate(all="ignore"):
            number = complex(np.asarray(copies).astype(dtype_of(x)))
        require(exact or number == copies, f"{copies} copies: not a number of {dtype_of(x)}")
    made = reduce(name, x, init, rest) if rest else x
    if name == "stablehlo.add":
        made = stablehlo.multiply(made, full_like(made, copies))
    elif not rest and not is_constant(init, identity(name, dtype_of(x)).item()):
        made = elementwise(name, broadcast_in_dim(init, static_shape(made)), made)
    # Axes that are left, in the order of the result.
    kept = [place for place in range(len(shape)) if place not in reduced]
    left = [axis for axis in range(len(sizes)) if axis not in rest]
    dims = [kept.index(to[axis]) for axis in left if to[axis] in kept]
    made = reshape(made, [sizes[axis] for axis in left if to[axis] in kept])
    return broadcast_in_dim(made, static_shape(op.results[0]), dims)


@rewrite("stablehlo.abs", exact=True)
def abs_of_negate(op: ir.Operation) -> ir.Value:
    """The absolute value of a negation, or of a difference to 0, is that of the value.

        before  %n = stablehlo.negate %x                           after  %a = stablehlo.abs %x
                %a = stablehlo.abs %n

    So `log(sigmoid(x))` and `log(sigmoid(-x))`, the two sides of a Bernoulli likelihood, have `exp(-|x|)` and the
    logarithm of it in common, which XLA then computes once. Every bit is kept.
    """
    x = op.operands[0]
    while (source := owner(x)) is not None and (
        source.name == "stablehlo.negate"
        or (source.name == "stablehlo.subtract" and zero_splat(source.operands[1]) is not None)
    ):
        x = source.operands[0]
    require(x != op.operands[0], "the operand is not a negation")
    return stablehlo.abs(x)


_GREATEST = 8
_HALVES = 7


@rewrite("stablehlo.power", exact=False)
def power_to_multiply(op: ir.Operation) -> ir.Value | None:
    """A power with a small whole exponent is a product; with half of an odd one a product of square roots.

        before  %c = stablehlo.constant dense<4.0> : tensor<8xf32>
                %p = stablehlo.power %x, %c
        after   %q = stablehlo.multiply %x, %x
                %p = stablehlo.multiply %q, %q

    In: `power` with a constant exponent, the same for all elements: whole, up to 8, or down to -8 (of the reciprocal),
    or half of an odd number from -7/2 to 7/2 (of the square root or its reciprocal, with what `power` has at -0.0 and
    -inf), but for 1/2, which XLA does. Integers: exponents from 0 to 8. Precondition: real numbers. Rounding: a product
    is rounded at each step (at most seven times, each half a unit in the last place), `power` once or twice; inf, NaN
    and signed zeros are as `power` has them.
    """
    x = op.operands[0]
    exponent = needed(constant(op.operands[1]), "the exponent is not one constant number")
    require(exponent.ndim == 0, "the exponent is not one constant number")
    require(dtype_of(x).kind != "c", "a power of complex numbers")
    shape = static_shape(x)
    count = _whole(exponent)
    if count is None:
        halves = _whole(exponent * 2)
        wanted = halves is not None and abs(halves) <= _HALVES and halves != 1
        require(wanted, f"the exponent {exponent} is not an integer")
        assert halves is not None
        return _power_of_root(x, halves, shape)
    if dtype_of(x).kind in "iu":
        require(count >= 0, f"integers with the exponent {count}")
    require(abs(count) <= _GREATEST, f"the exponent {count} is beyond {_GREATEST}")
    if count == 0:
        return full_like(x, 1, shape)
    # Powers of the reciprocal, not the reciprocal of powers: those may overflow where the result is a small number.
    return _power(x if count > 0 else stablehlo.divide(full_like(x, 1, shape), x), abs(count))


def _whole(exponent: Array) -> int | None:
    if exponent.dtype.kind in "iu":
        return int(exponent)
    number = float(exponent)
    if not math.isfinite(number):
        raise Refused(f"the exponent {number} is not an integer")
    return int(number) if number == int(number) else None


def _power(x: ir.Value, count: int) -> ir.Value:
    """By repeated squaring."""
    result: ir.Value | None = None
    square = x
    while True:
        if count % 2:
            result = square if result is None else stablehlo.multiply(result, square)
        count //= 2
        if not count:
            assert result is not None
            return result
        square = stablehlo.multiply(square, square)


def _power_of_root(x: ir.Value, halves: int, shape: tuple[int, ...]) -> ir.Value:
    """x^(halves/2); `power` has 0 or inf for -0.0 and for -inf, where a square root has -0.0 and NaN."""
    root = stablehlo.abs(stablehlo.sqrt(x))
    if halves < 0:
        root = stablehlo.divide(full_like(x, 1, shape), root)
    lowest = ops.compare("EQ", x, full_like(x, -math.inf, shape))
    at_lowest = full_like(x, 0 if halves < 0 else math.inf, shape)
    return stablehlo.select(lowest, at_lowest, _power(root, abs(halves)))


@rewrite("stablehlo.dot_general", exact=False)
def transpose_into_dot(op: ir.Operation) -> ir.Operation | None:
    """Transposes of a dot's operands go into its dimension numbers.

        before  %t = stablehlo.transpose %a, dims = [1, 0]
                %d = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0]
        after   %d = stablehlo.dot_general %a, %v, contracting_dims = [0] x [0]

    In: `dot_general` with a transpose on one side or both. Precondition: the axes that are neither contracted nor
    batched come in the same order without it (the result has them in the order of the operand). XLA does this itself
    for products of matrices, not for a matrix by a vector, which it then copies for every call. Rounding: sums may be
    taken in another order by another kernel.
    """
    transposes = [owner(operand) for operand in op.operands]
    if not any(each is not None and each.name == "stablehlo.transpose" for each in transposes):
        return None
    contracted, batch = dot_sides(op)
    operands, kept = list(op.operands), ""
    for side, each in enumerate(transposes):
        if each is None or each.name != "stablehlo.transpose":
            continue
        order = integers(each, "permutation")
        used = {*batch[side], *contracted[side]}
        free = [order[axis] for axis in range(len(shape_of(op.operands[side]))) if axis not in used]
        if free != sorted(free):
            kept = f"the {('left', 'right')[side]} operand's axes {free} would come in another order in the result"
            continue
        operands[side] = each.operands[0]
        batch[side] = [order[axis] for axis in batch[side]]
        contracted[side] = [order[axis] for axis in contracted[side]]
    require(operands != list(op.operands), kept)
    return clone(op, operands, dot_dimension_numbers=ops.dot_numbers(contracted, batch))
