"""Passes that are here because XLA is wrong: with another release of it they may go.

In: a static module that XLA is about to compile. Out: the same function, without what XLA makes wrong numbers of, or
ends the process on. Each fault is a pass: a function by the pass's name mends one op, and a line of `BUGS` says which
ops have the fault. Decision to know: the line also says which releases of jaxlib have it, and which have not.
tests/codegen/passes/test_xla_bugs.py shows it to the installed release, without hlograph, and fails where a release is
free of it that is not listed: when none that we support has it, the pass goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..dtypes import kind_of
from ..ir import ops
from ..ir.bindings import ir, stablehlo
from ..ir.kinds import Indexing, having, identity, monoid_of
from ..ir.ops import clone_block
from ..ir.values import (
    constant,
    defining,
    dtype_of,
    elements_of,
    integers,
    main_function,
    owner,
    reached,
    shape_of,
    static_shape,
    walk,
)
from .report import Report


@dataclass(frozen=True)
class Bug:
    """A fault of XLA, and the pass against it.

    Attributes:
        mend: changes one op that has the fault.
        ops: the ops that may have it.
        has_it: whether one of them has it.
        has, free: releases of jaxlib, by how they begin, that are known to have it, and to be free of it.
        needs: ops without one of which no module has it, if they are others.
        on_cpu: whether XLA for CPUs alone has it.
        guests: whether only modules that others compile have it: ours get a compile option.
        in_main: whether ops of the main function have it that lie in no loop or branch.
    """

    mend: Callable[[ir.Operation], object]
    ops: tuple[str, ...]
    has_it: Callable[[ir.Operation], bool]
    has: tuple[str, ...]
    free: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    on_cpu: bool = True
    guests: bool = False
    in_main: bool = True

    @property
    def name(self) -> str:
        """Of the pass."""
        return self.mend.__name__

    @property
    def TRIGGERS(self) -> frozenset[str]:
        """Ops without which no module has it."""
        return frozenset(self.needs or self.ops)

    def endangered(self, module: ir.Module) -> list[ir.Operation]:
        """The ops that XLA does wrong."""
        operations = walk(module)
        if self.TRIGGERS.isdisjoint(op.name for op in operations):
            return []
        main = main_function(module)
        found = [op for op in operations if op.name in self.ops and (self.in_main or op.parent != main)]
        return [op for op in found if self.has_it(op)]

    def run(self, module: ir.Module, report: Report) -> None:
        """The pass."""
        for op in self.endangered(module):
            report.applied(op)
            with op.context, op.location, ir.InsertionPoint(op):
                self.mend(op)


def _instead(op: ir.Operation, make: Callable[[ir.Value], ir.Value]) -> None:
    with ir.InsertionPoint.after(op):
        made = make(op.results[0])
    op.results[0].replace_all_uses_except(made, [defining(made)])


# ---- a counter that is added to itself ------------------------------------------------------------------------------

_FARTHEST = 64  # ops that are examined for one sum; what is computed of more is taken for a counter


def _is_doubled(op: ir.Operation) -> bool:
    value = op.results[0]
    if dtype_of(value).kind not in "iu" or math.prod(static_shape(value)) != 1:
        return False
    leaves = [_leaves(operand) for operand in op.operands]
    own = all(found is None or len(found) == 1 for found in leaves)
    return own and len(set().union(*(found or () for found in leaves))) <= 1


def _leaves(value: ir.Value) -> set[ir.Value] | None:
    read = reached([value], lambda x: () if (maker := owner(x)) is None else list(maker.operands))
    found = list(islice(read, _FARTHEST + 1))
    return None if len(found) > _FARTHEST else {x for x in found if owner(x) is None}


def doubled_counters(op: ir.Operation) -> None:
    """Counters of loops that are added to themselves.

        before  while (%i = %one) { %n = stablehlo.add %i, %i : tensor<i64> }
        after   while (%i = %one) { %m = stablehlo.negate %i
                                    %n = stablehlo.subtract %i, %m }

    Up to jaxlib 0.10, XLA's analysis of trip counts takes what is added to a counter for a constant, and ends the
    process where it is the counter again; also where XLA itself makes `i + i` of what was written, such as `i + i * 1`.
    So each sum of two integers that are computed of one argument of a block, and of no other value, becomes a
    difference. Preconditions: none; integers of one element, in a module with a loop. Rounding: none, integers wrap
    either way.
    """
    left, right = op.operands
    negative = ops.elementwise("stablehlo.negate", right)
    op.results[0].replace_all_uses_with(ops.elementwise("stablehlo.subtract", left, negative))
    op.erase()


# ---- barriers before an operand -------------------------------------------------------------------------------------

_UPDATES = ("stablehlo.dynamic_update_slice", "stablehlo.scatter")


def _put_barrier(op: ir.Operation) -> None:
    (op.operands[0],) = ops.optimization_barrier([op.operands[0]])


def _is_of_an_update(op: ir.Operation) -> bool:
    return getattr(owner(op.operands[0]), "name", "") in _UPDATES


def cpu_updates(op: ir.Operation) -> None:
    """A barrier between an update of a part of an array and a reshape of the result.

        before  %u = stablehlo.dynamic_update_slice %x, %part, %i, %j : ... -> tensor<8x16xf64>
                %r = stablehlo.reshape %u : (tensor<8x16xf64>) -> tensor<1x8x16xf64>
        after   %u = stablehlo.dynamic_update_slice %x, %part, %i, %j : ... -> tensor<8x16xf64>
                %b = stablehlo.optimization_barrier %u : tensor<8x16xf64>
                %r = stablehlo.reshape %b : (tensor<8x16xf64>) -> tensor<1x8x16xf64>

    XLA moves such a reshape over the update, and XLA:CPU then writes the update in place while it still reads the
    operand: where the update is made of it, as in `x[1:] = x[:-1]`, results are wrong (openxla/xla#49176; every jaxlib
    from 0.7.1 to 0.12.0.1). XLA drops the barrier after that. Scatters become updates in XLA. Preconditions: none.
    Rounding: none.
    """
    _put_barrier(op)


def _has_one_place(op: ir.Operation) -> bool:
    shape = shape_of(op.operands[0])
    one = len(op.results) == 1 and any(shape[axis] == 1 for axis in Indexing.of(op).mapped)
    return one and dtype_of(op.operands[0]).kind in "iub"


def cpu_scatters(op: ir.Operation) -> None:
    """A barrier before the operand of a scatter of integers along an axis of one element.

        before  %s = stablehlo.scatter %zeros, %places, %updates : tensor<4x1xi32>, ... (adds)
        after   %b = stablehlo.optimization_barrier %zeros : tensor<4x1xi32>
                %s = stablehlo.scatter %b, %places, %updates : tensor<4x1xi32>, ... (adds)

    Along such an axis all places are the same. Where XLA:CPU knows them, and the operand to be zero, it takes in one of
    the updates, whatever the scatter makes of several (every jaxlib from 0.10 to 0.12). Preconditions: none. Rounding:
    none.
    """
    _put_barrier(op)


# ---- reductions -----------------------------------------------------------------------------------------------------

DIVIDED = 32  # elements of an axis, from which XLA:CPU divides its reduction
_AGAIN = having("again")


def _begins_twice(op: ir.Operation) -> bool:
    """Whether the initial value is no identity, and XLA:CPU would not take it in once."""
    if len(op.results) != 1 or not elements_of(op.operands[0].type):
        return False
    sizes = [static_shape(op.operands[0])[axis] for axis in integers(op, "dimensions")]
    name = monoid_of(op.regions[0].blocks[0])
    if math.prod(sizes) > 1 and (f"stablehlo.{name}" in _AGAIN or max(sizes) < DIVIDED):
        return False
    value = constant(op.operands[1])
    return value is None or name is None or bool(value != identity(name, value.dtype))


def cpu_initial(op: ir.Operation) -> None:
    """Initial values of reductions that XLA:CPU takes in once.

        before  %r = stablehlo.reduce(%x init: %three) applies stablehlo.add across dimensions = [0] : tensor<100xf32>
        after   %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
                %r = stablehlo.add %three, %s

    XLA:CPU divides a reduction of 32 elements and more into parts, and begins each of them, and what puts them
    together, with the initial value: `%r` is 12 too large (jaxlib 0.10.2 to 0.12.0.1). That does no harm where the
    value is the monoid's identity, or the body takes it in twice as once (`maximum`, `and`). Of a single element XLA
    passes the value over. A body that is no monoid gets a flag beside each element, which says that there is one; the
    body takes in the initial value behind the reduction. Preconditions: static sizes, one operand. Rounding: the
    initial value is added last.
    """
    (x, initial), result = list(op.operands), op.results[0]
    block = op.regions[0].blocks[0]
    name = monoid_of(block)

    def spread() -> ir.Value:
        return ops.broadcast_in_dim(initial, static_shape(result))

    if name is not None:
        op.operands[1] = ops.constant(identity(name, dtype_of(initial)))
        _instead(op, lambda value: ops.elementwise(f"stablehlo.{name}", spread(), value))
        return

    def combined(*arguments: ir.Value) -> list[ir.Value]:
        return clone_block(block, dict(zip(block.arguments, arguments, strict=True)))[0]

    def pairs(old: ir.Value, is_old: ir.Value, new: ir.Value, is_new: ir.Value) -> list[ir.Value]:
        together, both = combined(old, new)[0], stablehlo.and_(is_old, is_new)
        kept = stablehlo.select(both, together, stablehlo.select(is_old, old, new))
        return [kept, stablehlo.or_(is_old, is_new)]

    flags, none = ops.constant(np.ones(static_shape(x), bool)), ops.constant(np.False_)
    reduced = ops.reduce_by(pairs, [x, flags], [initial, none], integers(op, "dimensions"))[0]
    taken_in = ops.map_elements(combined, [spread(), reduced])
    result.replace_all_uses_with(taken_in)  # XLA erases what nothing uses


LIBRARY = 4096  # elements from which XLA:CPU leaves a reduction to a library


def _loses_nan(op: ir.Operation) -> bool:
    extreme = len(op.results) == 1 and monoid_of(op.regions[0].blocks[0]) in ("maximum", "minimum")
    return extreme and elements_of(op.operands[0].type) >= LIBRARY and kind_of(dtype_of(op.results[0])) == "f"


def cpu_nan(op: ir.Operation) -> None:
    """Maxima and minima of many floats that keep NaN whatever XLA:CPU makes of them.

        before  %m = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [1] : <8x4096xf64>
        after   %m = ...                                             // as before
                %n = stablehlo.compare NE, %x, %x                    // where NaN is
                %a = stablehlo.reduce(%n init: false) applies stablehlo.or across dimensions = [1]
                %r = stablehlo.select %a, NaN, %m                    // in the place of %m

    XLA:CPU leaves reductions of 4,096 elements and more to a library whose maximum and minimum ignore NaN.
    Executables of our own have a compile option against it; a module that goes into another one has this.
    Preconditions: static sizes. Rounding: none.
    """
    x = op.operands[0]

    def kept(value: ir.Value) -> ir.Value:
        is_nan = ops.compare("NE", x, x)
        any_nan = ops.reduce("stablehlo.or", is_nan, ops.constant(np.False_), integers(op, "dimensions"))
        return stablehlo.select(any_nan, ops.full_like(value, np.nan), value)

    _instead(op, kept)


BUGS = (
    Bug(
        doubled_counters,
        ("stablehlo.add",),
        _is_doubled,
        has=("0.7.", "0.8.", "0.9.", "0.10."),
        free=("0.11.2", "0.12."),
        needs=("stablehlo.while",),
        on_cpu=False,
        in_main=False,
    ),
    Bug(
        cpu_updates,
        ("stablehlo.reshape", "stablehlo.broadcast_in_dim"),
        _is_of_an_update,
        has=("0.7.", "0.8.", "0.9.", "0.10.", "0.11.", "0.12."),
        needs=_UPDATES,
    ),
    Bug(cpu_scatters, ("stablehlo.scatter",), _has_one_place, has=("0.10.", "0.11.", "0.12."), free=("0.7.",)),
    Bug(cpu_initial, ("stablehlo.reduce",), _begins_twice, has=("0.10.", "0.11.", "0.12.")),
    Bug(cpu_nan, ("stablehlo.reduce",), _loses_nan, has=("0.10.", "0.11.", "0.12."), guests=True),
)


def bugs_of(platform: str, *, guest: bool = False) -> Iterator[Bug]:
    """The faults that a module for a platform meets.

    Args:
        platform: by JAX's name.
        guest: whether it is compiled as part of another module.
    """
    return (bug for bug in BUGS if (platform == "cpu" or not bug.on_cpu) and (guest or not bug.guests))
