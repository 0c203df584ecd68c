"""`stablehlo.while`, built again with other carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .bindings import ir
from .clone import clone_block


def rebuild_while(
    loop: ir.Operation,
    keep: Sequence[int],
    added: Sequence[ir.Value] = (),
    step: Callable[[list[ir.Value], dict[ir.Value, ir.Value], list[ir.Value]], Sequence[ir.Value]] | None = None,
    replaced: Mapping[int, Callable[[], ir.Value]] | None = None,
) -> ir.Operation:
    """A `stablehlo.while` like another, before it, with other carries. The old one stays, for the caller to replace.

    Args:
        loop: the old one.
        keep: which of its carries stay, in order.
        added: initial values of further carries, which come behind them.
        step: makes the added carries' next values at the end of the body: called with the added block arguments, with
            the new value of each value of the old body, and with the new values that the body returns for the carries
            of `keep` (which it may change in place).
        replaced: for carries that are dropped but still read in the loop: what stands for them, made at the start of
            the body and of the condition.

    Returns:
        The new loop: one result for each of `keep`, then one for each of `added`.
    """
    inits = [loop.operands[place] for place in keep] + list(added)
    types = [value.type for value in inits]
    new = ir.Operation.create("stablehlo.while", results=types, operands=inits, regions=2, loc=loop.location)
    for number, region in enumerate(new.regions):
        old = loop.regions[number].blocks[0]
        block = region.blocks.append(*types, arg_locs=[loop.location] * len(types))
        known = {old.arguments[place]: block.arguments[index] for index, place in enumerate(keep)}
        extra: list[ir.Value] = [*block.arguments][len(keep) :]
        with ir.InsertionPoint(block), loop.location:
            for place, make in (replaced or {}).items():
                known[old.arguments[place]] = make()
            returned, known = clone_block(old, known)
            if number == 1:
                returned = [returned[place] for place in keep]
                following = list(step(extra, known, returned)) if step is not None else extra
                returned = [*returned, *following]
            ir.Operation.create("stablehlo.return", operands=returned, loc=loop.location)
    return new
