"""What a reader of a module need not see: ops that give one of their operands, equal ops, ops that nothing uses.

    before  %0 = stablehlo.divide %x, %y       after   %0 = stablehlo.divide %x, %y
            %1 = stablehlo.divide %x, %y               %1 = stablehlo.multiply %0, %0
            %2 = stablehlo.multiply %1, %one
            %3 = stablehlo.multiply %0, %2

In: a module as tracing leaves it. Out: the same module without them. Decision to know: only what keeps every bit is
here. A product with 1, a quotient by 1, a sum with -0.0 and a difference with 0.0 are the other operand for every real
number: -0.0, infinities and subnormal numbers come out as they went in, and a NaN with its payload (by IEEE 754 the
payload goes through, and a signaling NaN becomes quiet, which no op can tell; XLA drops the same products). A sum with
0.0 stays, since -0.0 + 0.0 is 0.0; so do all of complex numbers, where (inf + 0i) * (1 + 0i) has a NaN.

Equal ops have equal operands and attributes, and no effects: MLIR keeps draws with a state, calls of Python and custom
calls with side effects apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np

from .bindings import forget_operations, ir, run_pipeline, stablehlo
from .kinds import EFFECTS, is_removable
from .ops import integer_list
from .values import constant, integers, is_static, owner, unspread, walk


def tidy(module: ir.Module) -> None:
    """Leaves out of a module, in place, what says nothing."""
    drop_identities(module)
    run_pipeline(module, "canonicalize,cse", name="tidy")


def drop_identities(module: ir.Module) -> None:
    """Puts an operand in the place of each op that gives it as it is; the ops stay, unused."""
    for op in walk(module):
        find = _IDENTITIES.get(op.name)
        same = None if find is None else find(op)
        if same is not None and same.type == op.results[0].type:
            op.results[0].replace_all_uses_with(same)


def _is_number(value: ir.Value, number: float) -> bool:
    """Whether all elements of a value are this real number, with its sign where that is 0."""
    if str(ir.RankedTensorType(value.type).element_type).startswith("complex"):
        return False
    spread = owner(unspread(value))
    if spread is not None and spread.name == "stablehlo.dynamic_broadcast_in_dim":
        value = spread.operands[0]
    found = constant(value)
    if found is None or found.ndim or found != number:
        return False
    return number != 0 or found.dtype.kind in "biu" or bool(np.signbit(found)) == bool(np.signbit(number))


def _other(op: ir.Operation, number: float) -> ir.Value | None:
    """The operand beside one that is this number everywhere."""
    for one, other in ((0, 1), (1, 0)):
        if _is_number(op.operands[one], number):
            return op.operands[other]
    return None


def _first(op: ir.Operation, keeps: bool) -> ir.Value | None:
    return op.operands[0] if keeps else None


def _of_negation(op: ir.Operation) -> ir.Value | None:
    inner = owner(op.operands[0])
    return inner.operands[0] if inner is not None and inner.name == op.name else None


def _of_broadcast(op: ir.Operation) -> ir.Value | None:
    """What is spread to its own shape; of something spread before, one broadcast in place of two."""
    axes, inner = integers(op, "broadcast_dimensions"), owner(op.operands[0])
    if op.operands[0].type == op.results[0].type and axes == tuple(range(len(axes))):
        return op.operands[0]
    if inner is None or inner.name != "stablehlo.broadcast_in_dim":
        return None
    through = [axes[axis] for axis in integers(inner, "broadcast_dimensions")]
    with op.context, op.location, ir.InsertionPoint(op):
        return stablehlo.broadcast_in_dim(op.results[0].type, inner.operands[0], integer_list(through))


_IDENTITIES: dict[str, Callable[[ir.Operation], ir.Value | None]] = {
    "stablehlo.multiply": lambda op: _other(op, 1),
    "stablehlo.divide": lambda op: _first(op, _is_number(op.operands[1], 1)),
    "stablehlo.add": lambda op: _other(op, -0.0),
    "stablehlo.subtract": lambda op: _first(op, _is_number(op.operands[1], 0.0)),
    "stablehlo.negate": _of_negation,
    "stablehlo.select": lambda op: op.operands[1] if op.operands[1] == op.operands[2] else None,
    "stablehlo.convert": lambda op: op.operands[0],
    # A reshape, a conversion or a slice to the type that is there.
    "stablehlo.reshape": lambda op: _first(op, is_static(op.operands[0].type)),
    "stablehlo.slice": lambda op: _first(op, is_static(op.operands[0].type)),
    "stablehlo.transpose": lambda op: _first(op, list(axes := integers(op, "permutation")) == sorted(axes)),
    "stablehlo.broadcast_in_dim": _of_broadcast,
    "stablehlo.concatenate": lambda op: _first(op, len(op.operands) == 1),
}


# ---- ops that nothing uses -----------------------------------------------------------------------------------------


def erase_unused(module: ir.Module, pure: Collection[str] = ()) -> None:
    """Erases ops that nothing uses, in functions and in the blocks of their ops.

    MLIR's `cse` erases only those that are the last of a chain.

    Args:
        module: the module.
        pure: functions without side effects; other calls stay, and so do custom calls.
    """
    erased = True
    while erased:  # an op may stand before what it uses: the passes that call this move ops and leave dead ones behind
        forget_operations(module)
        found = [_erase_unused(function.operation, pure) for function in module.body.operations]
        erased = any(found)


def _erase_unused(parent: ir.Operation, pure: Collection[str]) -> bool:
    erased = False
    for region in parent.regions:
        for block in region.blocks:
            # No handle of what an op holds may be there when it is erased; of the ops themselves there is one each.
            operations = [(hash(item.operation), item.operation) for item in block.operations][:-1]
            left = {address for address, _ in operations}
            while operations:
                address, op = operations.pop()
                if address not in left:
                    continue
                used = any(next(iter(result.uses), None) is not None for result in op.results)
                effect = op.name in EFFECTS
                if op.name == "func.call":
                    effect = ir.FlatSymbolRefAttr(op.attributes["callee"]).value not in pure
                if used or not op.results or effect:
                    erased |= bool(len(op.regions)) and _erase_unused(op, pure)
                    continue
                owners = [x.owner.operation for x in op.operands if not isinstance(x.owner, ir.Block)]
                makers = [(hash(owner), owner) for owner in owners]
                op.erase()
                left.remove(address)
                erased = True
                operations += [(address, owner) for address, owner in makers if address in left]
    return erased


def erase(ops: Iterable[ir.Operation], removable: Callable[[ir.Operation], bool] = is_removable) -> set[int]:
    """Erases those ops of which no result is used, with what they hold, and what only they needed and is removable.

    Returns:
        The hashes of all that is gone, which are all that may still be asked of it.
    """
    gone: set[int] = set()
    pending = [(hash(op), op) for op in ops]
    while pending:
        key, op = pending.pop()
        if key in gone or any(next(iter(result.uses), None) is not None for result in op.results):
            continue
        makers = dict.fromkeys(maker for operand in op.operands if (maker := owner(operand)) is not None)
        pending += [(hash(maker), maker) for maker in makers if removable(maker)]
        gone.update(map(hash, walk(op)))
        op.erase()
    return gone
