"""Dead code elimination."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .bindings import forget_operations, ir
from .kinds import EFFECTS, is_removable
from .values import owner


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
                if used or not op.results or _has_effects(op, pure):
                    erased |= bool(len(op.regions)) and _erase_unused(op, pure)
                    continue
                owners = [x.owner.operation for x in op.operands if not isinstance(x.owner, ir.Block)]
                makers = [(hash(owner), owner) for owner in owners]
                op.erase()
                left.remove(address)
                erased = True
                operations += [(address, owner) for address, owner in makers if address in left]
    return erased


def _has_effects(op: ir.Operation, pure: Collection[str]) -> bool:
    if op.name == "func.call":
        return ir.FlatSymbolRefAttr(op.attributes["callee"]).value not in pure
    return op.name in EFFECTS


def erase_chains(ops: Sequence[ir.Operation]) -> None:
    """Erases ops of one block of which no result is used, and what only they needed in the same block."""
    dead: list[ir.Operation] = []
    left: dict[ir.Value, int] = {}
    pending = list(ops)
    while pending:
        current = pending.pop()
        dead.append(current)
        for operand in current.operands:
            source = owner(operand)
            if source is None or source.block != current.block or not is_removable(source):
                continue
            left[operand] = left.get(operand, sum(1 for _ in operand.uses)) - 1
            if all(left.get(result, 1) == 0 for result in source.results):
                pending.append(source)
    for current in dead:
        current.erase()
