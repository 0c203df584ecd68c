"""Padding rules: reductions and contractions over padded axes; sort and top-k, where padding goes last."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.types import INT32, DType
from ...dtypes import kind_of, limits
from ...ir.bindings import ir
from ...ir.kinds import direction_of, identity, monoid_of
from ...ir.op_sheet import form_of
from ...ir.values import attributes_of, dot_sides, integers
from . import facts
from .facts import Fact
from .live import Live, attributes_of_op
from .padder import Padder, pads
from .shape import integer


def neutral(monoid: str, init: Tensor, dtype: DType) -> tuple[Any, Callable[[Fact], bool] | None]:
    """The value that the padding must hold under a monoid, and which other facts do as well."""
    value = identity(monoid, dtype)[()]
    if monoid != "add" or dtype.kind not in "fc":
        return value, None
    if (
        init.literal is not None
        and init.literal.size == 1
        and init.literal.reshape(())[()].real.tobytes()
        == bytes(init.literal.dtype.itemsize // (2 if dtype.kind == "c" else 1))
    ):
        return value, facts.is_zero  # +0 plus anything that is 0 is +0: the sign of the padding's zeros is lost
    return (-value if dtype.kind == "f" else value), None


@pads("stablehlo.reduce")
def reduce(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding holds the monoid's identity; a body that is no monoid is lifted to one by a flag."""
    count = len(operands) // 2
    values, inits = padder.align(operands[:count], "reduced tensors"), operands[count:]
    axes = integers(operation, "dimensions")
    padded = [axis for axis in axes if type(values[0].dims[axis]) is not int]
    block = operation.regions[0].blocks[0]
    monoid = monoid_of(block)
    kept = [axis for axis in range(values[0].ndim) if axis not in axes]
    if monoid is not None and count == 1:
        x, init = values[0], inits[0]
        if padded:
            value, accept = neutral(monoid, init.tensor, x.dtype)
            x = padder.fill(x, padded, value, accept=accept)
        shape = tuple(x.shape[axis] for axis in kept)
        counted = padder.counted(x, axes)
        scalars = [((), x.dtype)] * 2
        (tensor,) = padder.builder.region_op(
            operation.name,
            [x.tensor, init.tensor],
            [(shape, x.dtype)],
            [(scalars, padder.scalar_region(block))],
            attributes_of_op(operation) + counted,
            key=monoid,
        )
        known = [_reduced(monoid, x.pads[axis], init.whole, x.dtype) for axis in kept]
        return [padder.make(tensor, [x.dims[axis] for axis in kept], known)]
    body = padder.scalar_region(block)
    if padded:
        tensors = _lifted(padder, values, inits, axes, padded, body)
    else:
        tensors = hlo.reduce([x.tensor for x in values], [x.tensor for x in inits], axes, body)
    dims = [values[0].dims[axis] for axis in kept]
    return [padder.live(tensor, dims) for tensor in tensors]


def _reduced(monoid: str, fact: Fact | None, init: Fact, dtype: DType) -> Fact | None:
    """The fact that holds of a reduction of elements of which `fact` holds."""
    if fact is None:
        return None
    if monoid == "add":
        return facts.ZERO if facts.is_zero(fact) and facts.is_zero(init) else facts.anything(dtype)
    if monoid in ("maximum", "minimum", "and", "or"):
        return fact if fact is init else facts.join(fact, init) if facts.is_finite(fact) else facts.anything(dtype)
    return facts.anything(dtype)


def _lifted(
    padder: Padder,
    values: list[Live],
    inits: list[Live],
    axes: Sequence[int],
    padded: list[int],
    body: Callable[..., list[Tensor]],
) -> list[Tensor]:
    """Any associative body: a further operand says which elements are live, and those that are not are passed over.

    The initial values are not live either, so that they are a neutral element of what is reduced: XLA takes them in any
    number of times, and not at all where there is one element. They may be no neutral element of the body, so the body
    takes them in once, behind the reduction. They are the result where nothing is live.
    """
    count = len(values)
    for axis in padded:
        padder.note("flag", values[0].dims[axis], "live elements only")
    live = padder.box(values[0], padded)

    def guarded(*scalars: Tensor) -> list[Tensor]:
        old, first, new, second = scalars[:count], scalars[count], scalars[count + 1 : -1], scalars[-1]
        combined = body(*old, *new)
        both = hlo.and_(first, second)
        chosen = [hlo.select(both, c, hlo.select(first, a, b)) for a, b, c in zip(old, new, combined, strict=True)]
        return [*chosen, hlo.or_(first, second)]

    tensors = hlo.reduce(
        [*[x.tensor for x in values], live],
        [*[x.tensor for x in inits], padder.builder.constant(False)],
        axes,
        guarded,
        attributes=padder.counted(values[0], sorted(axes)),
    )
    some, shape = tensors[count], tensors[count].dims
    spread = [hlo.broadcast_in_dim(init.tensor, shape, ()) for init in inits]
    operands = [*spread, *tensors[:count]]
    taken_in = [
        hlo.map_elements(operands, init.dtype, lambda *scalars, i=i: body(*scalars)[i]) for i, init in enumerate(inits)
    ]
    return [hlo.select(some, tensor, init) for tensor, init in zip(taken_in, spread, strict=True)]


# ---- contractions ----------------------------------------------------------------------------------------------------


@pads("stablehlo.dot_general")
def dot_general(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """A product with the cheapest masks that make one operand 0 and the other finite along contracted padded axes."""
    lhs, rhs = operands
    dtype = padder.type_of(operation.results[0])[1]
    contracting, batching = dot_sides(operation)
    lhs, rhs = padder.equal(lhs, rhs, (*zip(*batching, strict=True), *zip(*contracting, strict=True)), "dot")
    for left, right in zip(*contracting, strict=True):
        if type(lhs.dims[left]) is not int:
            lhs, rhs = _annihilate(padder, lhs, left, rhs, right)
    form = form_of(operation)
    assert form is not None
    places = map(form.places, range(len(padder.type_of(operation.results[0])[0])))
    pairs = [(lhs, left, rhs) if left is not None else (rhs, right or 0, lhs) for left, right in places]
    known: list[Fact | None] = []
    for x, axis, y in pairs:
        zero = x.pads[axis] is not None and facts.is_zero(x.pad(axis)) and facts.is_finite(y.whole)
        known.append(facts.ZERO if zero else facts.anything(dtype))
    shape = tuple(x.shape[axis] for x, axis, _ in pairs)
    attributes = attributes_of_op(operation) + padder.counted(lhs, contracting[0])
    tensor = padder.builder.op(operation.name, [lhs.tensor, rhs.tensor], shape, dtype, attributes)
    return [padder.make(tensor, [x.dims[axis] for x, axis, _ in pairs], known)]


def _annihilate(padder: Padder, lhs: Live, left: int, rhs: Live, right: int) -> tuple[Live, Live]:
    """Masks such that products of padding are 0: none, the smaller one that does, or both."""
    a, b = lhs.pad(left), rhs.pad(right)
    if (facts.is_zero(a) and facts.is_finite(b)) or (facts.is_zero(b) and facts.is_finite(a)):
        padder.asked(lhs, left)
        padder.asked(rhs, right)
        return lhs, rhs
    of_left = facts.is_zero(b) or facts.is_finite(b)  # then 0 on the left is enough
    of_right = facts.is_zero(a) or facts.is_finite(a)
    if of_left and of_right:
        of_left = (lhs.ndim, math.prod(lhs.shape)) <= (rhs.ndim, math.prod(rhs.shape))
        of_right = not of_left
    both = not (of_left or of_right)
    if of_left or both:
        lhs = padder.zeros(lhs, [left])
    if of_right or both:
        rhs = padder.zeros(rhs, [right])
    return lhs, rhs


# ---- order: padding goes last ----------------------------------------------------------------------------------------


@pads("stablehlo.sort")
def sort(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Where the order is known, padding holds what comes last in it; else a leading key tells it from live elements."""
    axis = integer(operation, "dimension")
    values = padder.align(operands, "sorted tensors")
    dim = values[0].dims[axis]
    block = operation.regions[0].blocks[0]
    region = padder.scalar_region(block)
    stable = ir.BoolAttr(operation.attributes["is_stable"]).value if "is_stable" in operation.attributes else False

    def compare(*scalars: Tensor) -> Tensor:
        return region(*scalars)[0]

    def keyed(first: Tensor, second: Tensor, *scalars: Tensor) -> Tensor:
        inner = compare(*scalars)
        return hlo.select(hlo.compare("EQ", first, second), inner, hlo.compare("LT", first, second))

    if type(dim) is int:
        tensors = hlo.sort([x.tensor for x in values], axis, compare, stable=stable)
    elif (last := _last(block, values[0].dtype)) is not None:
        # Live elements that compare equal to the padding stand before it, and a stable sort keeps them there.
        values[0] = padder.fill(values[0], [axis], last)
        tensors = hlo.sort([x.tensor for x in values], axis, compare, stable=stable or len(values) > 1)
    else:
        padder.note("key", dim, "padding last")
        shape = values[0].shape
        behind = hlo.not_(hlo.broadcast_in_dim(padder.mask(dim, shape[axis]), shape, (axis,)))
        keys = [hlo.convert(behind, INT32), *[x.tensor for x in values]]
        tensors = hlo.sort(keys, axis, keyed, stable=stable)[1:]
    return [padder.live(tensor, x.dims) for tensor, x in zip(tensors, values, strict=True)]


# Floats in order with NaN last: as the builder writes it, and JAX's total order, in which all NaN are one and 0 is -0.
_ONE_NAN = "stablehlo.select(NE({0}, {0}), nan, stablehlo.select(EQ({0}, 0), 0, {0}))"
_NAN_LAST = {
    "stablehlo.or(LT(a, b), stablehlo.and(EQ(a, a), NE(b, b)))",
    f"LT total({_ONE_NAN.format('a')}, {_ONE_NAN.format('b')})",
}


def _last(block: ir.Block, dtype: DType) -> Any:
    """The element that no other comes after, for the orders known here; None for others.

    They compare the first operand alone: `a < b` and `a > b` of integers and booleans; floats with NaN last.
    """
    texts: dict[ir.Value, str] = dict(zip(block.arguments, "ab", strict=False))
    for view in block.operations:
        operation = view.operation
        operands = ", ".join(texts.get(value, "?") for value in operation.operands)
        if operation.name == "stablehlo.return":
            break
        if operation.name == "stablehlo.compare":
            total = " total" if "TOTALORDER" in str(attributes_of(operation.attributes).get("compare_type")) else ""
            text = f"{direction_of(operation)}{total}({operands})"
        elif operation.name == "stablehlo.constant":
            value = str(operation.attributes["value"]).lower()
            is_nan = value.startswith(("dense<0x7f", "dense<0x7e", "dense<0x7c"))  # without its sign
            text = "nan" if is_nan else "0" if value.startswith("dense<0.0") else "?"
        else:
            text = f"{operation.name}({operands})"
        texts[operation.results[0]] = text
    kind = kind_of(dtype)
    if kind in "biu":
        least, greatest = limits(dtype)
        return {"LT(a, b)": greatest, "GT(a, b)": least}.get(operands)
    if kind == "f" and operands in _NAN_LAST:
        nan = np.array(np.nan).astype(dtype)
        return nan[()] if np.isnan(nan) else None
    return None


@pads("chlo.top_k")
def top_k(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Along a padded last axis the padding holds the least value, which is behind live ones that equal it."""
    x = operands[0]
    k = ir.IntegerAttr(operation.attributes["k"]).value
    axis = x.ndim - 1
    padder.demand(x.dims[axis], k, "the number of elements that are wanted")
    if type(x.dims[axis]) is not int:
        # Of floats the NaN all of whose bits are set, the first of the total order by bits.
        nan = np.full(x.dtype.itemsize, 0xFF, np.uint8).view(x.dtype)[0]
        x = padder.fill(x, [axis], limits(x.dtype)[0] if kind_of(x.dtype) in "biu" else nan)
    if x.shape[axis] < k:
        padder.refuse(f"{k} elements are wanted of at most {x.shape[axis]}", x.dims[axis])
    shape = (*x.shape[:axis], k)
    tensors = padder.builder.again(operation, [x.tensor], [(shape, x.dtype), (shape, INT32)])
    return [padder.live(tensor, (*x.dims[:axis], k)) for tensor in tensors]
