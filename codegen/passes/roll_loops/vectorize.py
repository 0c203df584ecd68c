"""One op in place of one op per repetition: the same op with a leading axis, by the rules of `codegen/ir/batching/`.

In: an op of the block, its operands with a leading axis of repetitions (those that move) or without (those that are the
same in all). Out: its result for all repetitions, with a leading axis. Decision to know: every element is computed by
the same op on the same numbers; only dots and sums may be added up in another order than the smaller ones were, so they
are left in the loop where bits must stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.batching import Batcher, Row, captured
from ...ir.bindings import ir
from ...ir.kinds import STABLEHLO, having
from ...ir.ops import broadcast_in_dim
from ...ir.values import dtype_of, sizes_of

# A leading axis could be taken for the one that a bitcast makes or joins.
ELEMENTWISE = STABLEHLO - {"stablehlo.bitcast_convert"}
_MOVING = frozenset(
    f"stablehlo.{name}" for name in ("broadcast_in_dim", "reshape", "transpose", "concatenate", "reverse", "slice")
)


def can(op: ir.Operation, moving: Sequence[bool], exact: bool) -> bool:
    """Whether an op may have the axis, with these of its operands different in each repetition."""
    if op.name.startswith("chlo."):
        same = {tuple(sizes_of(value)) for value in [*op.operands, *op.results]}
        return not op.regions and len(same) == 1 and not op.name.startswith("chlo.constant")
    if op.name == "stablehlo.pad":
        return not moving[1]
    if op.name == "stablehlo.reduce":
        return not moving[1] and not captured(op) and not (exact and _rounds(op))
    return op.name in ELEMENTWISE | _MOVING or (op.name == "stablehlo.dot_general" and not exact)


def vectorize(op: ir.Operation, operands: Sequence[ir.Value], moving: Sequence[bool], count: int) -> ir.Value:
    """The result of an op for all repetitions, (count, ...)."""
    batcher = Batcher(None, count)
    [row] = batcher.apply(op, [Row(value, flag) for value, flag in zip(operands, moving, strict=True)])
    return batcher.full(row)


def repeat(value: ir.Value, count: int) -> ir.Value:
    """A value that is the same in all repetitions, with a leading axis."""
    inner = sizes_of(value)
    return broadcast_in_dim(value, [count, *inner], range(1, len(inner) + 1))


def _rounds(op: ir.Operation) -> bool:
    """Whether a reduction gives other bits in another order."""
    whole = dtype_of(op.results[0]).kind in "biu"
    names = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return not whole and not (len(names) == 2 and names[0] in having("ordered"))
