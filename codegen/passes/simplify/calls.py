"""duplicate_calls: the same function of the same values is called once.

    before  %0 = call @f(%x)        after   %0 = call @f(%x)
            %1 = call @f(%x)                (%1 is %0)

In: two `func.call`s of one function, with the same operands, in one block. Precondition: the function, and what it
calls, has no side effects. MLIR's `cse` leaves calls alone, and XLA merges what is in them only after it has inlined
all: what is saved is compile time. Rounding: none.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.attributes import attributes_of, call_target, text_attribute
from ...ir.bindings import ir
from ...ir.kinds import EFFECTS
from ...ir.refused import require
from ..rewriting import rewrite

# Of the uses of a call's operands, so many are looked at: a value may have thousands.
_USES = 128


@rewrite("func.call", exact=True)
def duplicate_calls(op: ir.Operation) -> ir.Operation | None:
    """A call that repeats an earlier one, of a function without side effects, is dropped."""
    if not len(op.operands) or not len(op.results):
        return None
    same = next((other for other in _candidates(op) if _equal(op, other)), None)
    if same is None:
        return None
    impure = _side_effect(op, set())
    require(not impure, f"@{_callee(op)} has side effects: {impure}")
    return same


def _candidates(op: ir.Operation) -> Iterator[ir.Operation]:
    """Earlier calls in the same block that share the operand with the fewest uses."""
    for _, uses in zip(range(_USES), zip(*(operand.uses for operand in op.operands), strict=False), strict=False):
        # The shortest list of uses ends this; a duplicate is in all of them.
        for use in uses:
            other = use.owner.operation
            if other != op and other.name == "func.call" and other.block == op.block and other.is_before_in_block(op):
                yield other


def _equal(one: ir.Operation, other: ir.Operation) -> bool:
    return (
        _callee(one) == _callee(other)
        and list(one.operands) == list(other.operands)
        and attributes_of(one.attributes) == attributes_of(other.attributes)
    )


def _callee(op: ir.Operation) -> str:
    return str(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)


def _side_effect(op: ir.Operation, seen: set[str]) -> str:
    """What an op does beyond giving its results; "" for nothing."""
    if op.name in ("func.call", "stablehlo.composite"):
        reference = op.attributes["callee" if op.name == "func.call" else "decomposition"]
        name = str(ir.FlatSymbolRefAttr(reference).value)
        if name in seen:
            return ""
        seen.add(name)
        return _in_regions(_function(op, name), seen)
    if op.name == "stablehlo.custom_call":
        if text_attribute(op, "has_side_effect") == "true":
            return f"custom_call @{call_target(op)}"
        return ""
    if op.name in EFFECTS or not op.name.startswith(("stablehlo.", "chlo.", "func.return")):
        return op.name
    return _in_regions(op, seen)


def _in_regions(op: ir.Operation, seen: set[str]) -> str:
    found = (
        _side_effect(inner.operation, seen)
        for region in op.regions
        for block in region.blocks
        for inner in block.operations
    )
    return next(filter(None, found), "")


def _function(op: ir.Operation, name: str) -> ir.Operation:
    """The function that a name means at an op's place."""
    top = op
    while top.parent is not None:
        top = top.parent.operation
    return ir.SymbolTable(top)[name].operation
