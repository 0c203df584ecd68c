"""The bodies of loops, as functions for a while.

    before  stablehlo.while ... do { %1 = sine %x; %2 = multiply %1, %outer; ... }
    between func.func private @body(%x, %outer) { %1 = sine %x; %2 = multiply %1, %outer; ... }
    after   stablehlo.while ... do { what has become of the function's ops }

In: a function, and what rolls up a function. Out: the function with the bodies of its loops rolled up. To know:
a body is taken out only to be read and written like any function; it is put back where it was.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.batching import captured
from ...ir.bindings import ir
from ...ir.clone import clone_block
from ...ir.functions import add_function

Roll = Callable[[ir.Operation], "ir.Operation | None"]


def roll_bodies(function: ir.Operation, roll: Roll, smallest: int) -> bool:
    """Rolls up the bodies of the loops of a function, and the loops in these.

    Args:
        function: is changed in place.
        roll: rolls up a function: gives the new one in its place, or None where it stays as it is.
        smallest: bodies of fewer ops are left alone.

    Returns:
        Whether there was anything to roll up.
    """
    changed = False
    for operation in list(function.regions[0].blocks[0].operations):
        loop = operation.operation
        if loop.name == "stablehlo.while" and len(list(loop.regions[1].blocks[0].operations)) >= smallest:
            changed |= _roll_body(function, loop, roll, smallest)
    return changed


def _roll_body(function: ir.Operation, loop: ir.Operation, roll: Roll, smallest: int) -> bool:
    body = loop.regions[1].blocks[0]
    old = [operation.operation for operation in body.operations]
    values = [*body.arguments, *captured(loop)]

    def copied(*arguments: ir.Value) -> list[ir.Value]:
        return clone_block(body, dict(zip(values, arguments, strict=True)))[0]

    with function.context, function.location:
        with ir.InsertionPoint(function):
            taken = add_function("body", [value.type for value in values], copied)
        rolled = roll(taken)
        inner = roll_bodies(rolled or taken, roll, smallest)
        changed = rolled is not None or inner
        if changed:
            made = (rolled or taken).regions[0].blocks[0]
            with ir.InsertionPoint(old[0]):
                returned, _ = clone_block(made, dict(zip(made.arguments, values, strict=True)))
            for place, value in enumerate(returned):
                old[-1].operands[place] = value
            for op in reversed(old[:-1]):
                op.erase()
        (rolled or taken).erase()
    return changed
