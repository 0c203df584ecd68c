"""What a program demands of its sizes, at its entry: IREE's runtime knows nothing of names of sizes.

A demand that fails means that some op reads past an array's end, so that a program that runs on arrays of others should
have assertions (`asserts=true`): the runtime then refuses the call before anything is read. They are no StableHLO, so
that such a module is text, for IREE alone.
"""

from __future__ import annotations

from ... import dims as dimension
from ... import signature as signatures
from ...constraints import Constraint
from ...ir.bindings import ir
from ...signature import CheckSpec
from .. import size_checks


def guard(module: ir.Module, *, asserts: bool, limit: int | None) -> None:
    """Makes a module test its constraints, that sizes are what their names say, and that none is above a limit."""
    signature = signatures.read(module)
    sources = {(root.argument, root.axis) for root in signature.roots}
    demands = [
        Constraint(dimension.symbol(size_checks.own_name(number, axis)), "==", dim, f"axis {axis} of {argument.name}")
        for number, argument in enumerate(signature.arguments)
        for axis, dim in enumerate(argument.dims)
        if not isinstance(dim, int) and (number, axis) not in sources
    ]
    demands += signature.constraints
    for root in signature.roots if limit is not None else ():
        demands.append(Constraint(limit or 0, ">=", dimension.symbol(root.name), "offsets in IREE's buffers"))
    places = {root.name: (root.argument, root.axis, root.element) for root in signature.roots}
    if asserts and demands:
        size_checks.insist(module, demands, places)
    elif demands:
        size_checks.report(module, demands, places, lambda x: CheckSpec("ValueError", size_checks.message_of(x)))
