"""for_iree: static StableHLO that IREE 3.13 compiles, and computes right.

    before  %y = stablehlo.log_plus_one %x : tensor<8xf64>
    after   %u = add %x, 1;  %y = select(%u == 1, %x, log(%u) * (%x / (%u - 1)))

In: a program of known sizes. Out: the same program in forms that IREE takes: factorizations as loops, CHLO as
StableHLO, and what IREE computes wrong by other ops. Rounding: sums in another order; a few units in the last place;
float32's sines, powers and long sums go by way of float64. What IREE cannot run is refused by name: Python functions,
library calls, and dynamic sizes, with which it takes no products with vectors, reshapes, gathers, loops or branches:
`program.plain(bounds={...})` makes one program for all sizes up to bounds. docs/how-to/iree.md says what IREE takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import signature as signatures
from ..errors import PassError
from ..ir import ops
from ..ir.bindings import ir, run_pipeline, stablehlo
from ..ir.kinds import Indexing, form_of, having, reduction
from ..ir.ops import clone
from ..ir.values import attributes_of, call_target, defining, dtype_of, integers, shape_of, static_shape, walk
from .factor_loops import expand
from .report import Report
from .rewriting import LEGALIZE_CHLO, Rewrite, apply

ABSOLUTE = "hlograph.absolute"  # marks a power of what is not negative
INSIDE = "hlograph.inside"  # marks a scatter that drops nothing


def run(module: ir.Module, report: Report) -> None:
    """The pass.

    Raises:
        PassError: the program has what IREE cannot run.
    """
    signature = signatures.read(module)
    if not signature.is_static or signature.constraints:
        what = signature.constraints[0] if signature.is_static else "dynamic sizes, or sizes that it computes from data"
        raise PassError(
            f"for_iree: the program has {what}, and IREE takes known sizes: program.plain(bounds={{...}}) is one for "
            "all sizes up to these, and tells which demands hold; program.specialize({...}) is for one"
        )
    called = sorted({call_target(op) for op in walk(module)} - {"", "shape_assertion"})
    if called:
        raise PassError(
            f"for_iree: IREE has no custom call {', '.join(called)}; it runs StableHLO alone (docs/how-to/iree.md)"
        )
    run_pipeline(module, LEGALIZE_CHLO, name="for_iree")
    if any(op.name == "stablehlo.composite" for op in walk(module)):
        run_pipeline(module, "func.func(stablehlo-legalize-composite-to-call)", name="for_iree")
    expand(module, report)
    apply(module, _REWRITES, report)
    for op in walk(module):
        for mark in {ABSOLUTE, INSIDE} & attributes_of(op.attributes).keys():
            del op.attributes[mark]
        if op.name == "stablehlo.cbrt":
            raise PassError(f"for_iree: IREE has no {op.name} (at {op.location})")
        for block in (block for region in op.regions for block in region.blocks):
            _separate_reductions(block, report)
    run_pipeline(module, "cse,symbol-dce", name="for_iree")


# ---- wrong numbers --------------------------------------------------------------------------------------------------


def log_plus_one(op: ir.Operation) -> ir.Value | None:
    """`log1p` by Kahan's correction of `log(1 + x)`, which IREE takes for it in float64."""
    (x,) = op.operands
    if dtype_of(x) != np.float64:
        return None
    one = ops.filled(x, 1)
    u = stablehlo.add(x, one)
    ratio = stablehlo.divide(x, stablehlo.subtract(u, one))
    corrected = stablehlo.multiply(stablehlo.log(u), ratio)
    infinite = ops.compare("EQ", x, ops.filled(x, np.inf))
    return stablehlo.select(ops.compare("EQ", u, one), x, stablehlo.select(infinite, x, corrected))


def exponential_minus_one(op: ir.Operation) -> ir.Value | None:
    """`expm1` by Kahan's correction of `exp(x) - 1`, which needs none far from zero."""
    (x,) = op.operands
    if dtype_of(x) != np.float64:
        return None
    one = ops.filled(x, 1)
    u = stablehlo.exponential(x)
    less = stablehlo.subtract(u, one)
    corrected = stablehlo.multiply(less, stablehlo.divide(x, stablehlo.log(u)))
    near = ops.compare("LT", stablehlo.abs(x), one)
    return stablehlo.select(ops.compare("EQ", u, one), x, stablehlo.select(near, corrected, less))


def power(op: ir.Operation) -> ir.Value | None:
    """A power of the absolute value, with its sign; NaN where the base is negative and the exponent no integer."""
    x, y = op.operands
    kind = dtype_of(x)
    if kind.kind not in "fV" or ABSOLUTE in op.attributes:
        return None
    x, y = ops.convert(x, np.float64), ops.convert(y, np.float64)
    one, two, zero = (ops.filled(x, number) for number in (1, 2, 0))
    size = ops.elementwise("stablehlo.power", stablehlo.abs(x), y)  # which IREE has right
    defining(size).attributes[ABSOLUTE] = ir.UnitAttr.get()
    odd = ops.compare("EQ", stablehlo.abs(stablehlo.remainder(y, two)), one)
    whole = stablehlo.or_(ops.compare("EQ", stablehlo.floor(y), y), ops.compare("EQ", x, ops.filled(x, -np.inf)))
    signed = stablehlo.select(odd, stablehlo.negate(size), size)
    negative = stablehlo.select(whole, signed, ops.filled(x, np.nan))
    # The sign of -0.0 is that of its reciprocal.
    is_zero = ops.compare("EQ", x, zero)
    minus_zero = stablehlo.and_(is_zero, ops.compare("LT", stablehlo.divide(one, x), zero))
    found = stablehlo.select(ops.compare("LT", x, zero), negative, stablehlo.select(minus_zero, signed, size))
    trivial = stablehlo.or_(ops.compare("EQ", x, one), ops.compare("EQ", y, zero))
    return ops.convert(stablehlo.select(trivial, one, found), kind)


def in_double(op: ir.Operation) -> ir.Value | None:
    """An op of less precision by way of float64."""
    kind = dtype_of(op.operands[0])
    if kind.kind not in "fV" or kind == np.float64:
        return None
    wide = ops.elementwise(op.name, *[ops.convert(operand, np.float64) for operand in op.operands])
    return ops.convert(wide, kind)


_SHORT = 256  # elements that are added one after the other without many roundings


def sum_in_double(op: ir.Operation) -> ir.Value | None:
    """A long sum of less precision by way of float64: IREE adds one element after the other."""
    if len(op.operands) != 2 or reduction(op) != "stablehlo.add":
        return None
    value, start = op.operands
    kind = dtype_of(value)
    if kind.kind not in "fV" or kind == np.float64:
        return None
    axes = integers(op, "dimensions")
    if math.prod(ir.RankedTensorType(value.type).shape[axis] for axis in axes) <= _SHORT:
        return None
    wide = ops.reduce("stablehlo.add", ops.convert(value, np.float64), ops.convert(start, np.float64), axes)
    return ops.convert(wide, kind)


def scatter(op: ir.Operation) -> list[ir.Value] | None:
    """What a scatter drops goes to rows behind its array, which are cut off: IREE writes wherever an index leads."""
    count, numbers = len(op.results), Indexing.of(op)
    arrays, places, updates = op.operands[:count], op.operands[count], op.operands[count + 1 :]
    sizes, given = static_shape(arrays[0]), static_shape(updates[0])
    if INSIDE in op.attributes or 0 in (*sizes, *given) or not numbers.mapped:
        return None
    window = [1] * len(sizes)
    axes = [axis for axis in range(len(sizes)) if axis not in (*numbers.collapsed, *numbers.batching)]
    for axis, place in zip(axes, numbers.offsets, strict=True):
        window[axis] = given[place]
    places = ops.convert(places, np.int64)
    if numbers.vector == len(shape_of(places)):  # each place is a number
        places = ops.reshape(places, (*static_shape(places), 1))
    shape = static_shape(places)

    def each(components: Sequence[int]) -> ir.Value:
        return ops.broadcast_in_dim(ops.constant(np.array(components, np.int64)), shape, (numbers.vector,))

    first = numbers.mapped[0]
    least, greatest = ops.filled(places, 0), each([sizes[axis] - window[axis] for axis in numbers.mapped])
    inside = stablehlo.and_(ops.compare("GE", places, least), ops.compare("LE", places, greatest))
    inside = ops.reduce("stablehlo.and", inside, ops.constant(np.True_), [numbers.vector])
    inside = ops.broadcast_in_dim(inside, shape, [axis for axis in range(len(shape)) if axis != numbers.vector])
    behind = each([sizes[axis] if axis == first else 0 for axis in numbers.mapped])
    room = [window[axis] if axis == first else 0 for axis in range(len(sizes))]
    wide = [ops.pad(array, ops.scalar(0, array), [0] * len(sizes), room) for array in arrays]
    places = ops.reshape(stablehlo.select(inside, places, behind), static_shape(op.operands[count]))
    whole = [size + more for size, more in zip(sizes, room, strict=True)]
    made = clone(op, [*wide, places, *updates], whole, **{INSIDE: ir.UnitAttr.get()})
    return [ops.slice(result, [0] * len(sizes), sizes) for result in made.results]


_FORMS: Mapping[str, Callable[..., Any]] = {
    "stablehlo.atan2": in_double,
    "stablehlo.cosine": in_double,
    "stablehlo.exponential_minus_one": exponential_minus_one,
    "stablehlo.log_plus_one": log_plus_one,
    "stablehlo.power": power,
    "stablehlo.reduce": sum_in_double,
    "stablehlo.scatter": scatter,
    "stablehlo.sine": in_double,
    "stablehlo.tan": in_double,
}
_REWRITES = [
    Rewrite(name=form.__name__, line=(form.__doc__ or "").partition("\n")[0], roots=(root,), function=form)
    for root, form in _FORMS.items()
]


# ---- reductions whose results meet themselves along another axis ----------------------------------------------------

_Axes = tuple[int | None, ...]
_FUSED = having("elementwise") | {"stablehlo.transpose", "stablehlo.reduce"}


def _separate_reductions(block: ir.Block, report: Report) -> None:
    """Puts a copy between a reduction and what reads it in two ways, in place.

    Of `v[:, None] * v[None, :]`, where v is a reduction, IREE gives zeros for some elements: element (i, j) needs rows
    i and j. With two reverses between the reduction and the product it is right.
    """
    # Of each value the reductions that it is computed of, and the ways in which their axes lie along its own.
    ways: dict[ir.Value, dict[ir.Value, set[_Axes]]] = {}
    found: dict[ir.Value, None] = {}
    for view in block.operations:
        op = view.operation
        merged: dict[ir.Value, set[_Axes]] = {}
        for operand, axes in zip(op.operands, _lies_along(op), strict=False):
            for source, own in ways.get(operand, {}).items():
                moved = {tuple(None if axis is None or not axes else axes[axis] for axis in way) for way in own}
                merged.setdefault(source, set()).update(moved)
        found |= dict.fromkeys(source for source, own in merged.items() if len(own) > 1)
        for result in op.results:
            ways[result] = {source: own for source, own in merged.items() if len(own) == 1}
            if op.name == "stablehlo.reduce" and shape_of(result):
                ways[result][result] = {tuple(range(len(shape_of(result))))}
    for value in found:
        made = defining(value)
        report.applied(made, "separate_reductions")
        with ir.InsertionPoint.after(made), made.location:
            turned = ops.reverse(value, 0)
            value.replace_all_uses_except(ops.reverse(turned, 0), [defining(turned)])


def _lies_along(op: ir.Operation) -> Sequence[Sequence[int | None]]:
    """For each operand the results' axes that its own lie along; of an op that starts its own kernel none."""
    if op.name == "stablehlo.broadcast_in_dim":
        return [integers(op, "broadcast_dimensions")]
    form = form_of(op) if op.name in _FUSED else None
    return () if form is None else form.operands
