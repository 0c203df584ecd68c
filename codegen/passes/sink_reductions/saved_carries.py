"""Loops with more carries, or without those that nothing needs.

    %r:3 = while(%i, %h, %a = %array)                     %r:2 = while(%i, %h)
      do: ... (%a is not used)                      ->      do: ...
          return %i1, %h1, %a                                   return %i1, %h1

In: a `stablehlo.while`. Out: another one in its place, with the same blocks: nothing is copied, so that it costs what
the carries cost, however long the body is. No number changes. Decision to know: a carry is dropped if it is passed on
as it is, or is a chain of `dynamic_update_slice` that nothing else reads; what only other dead carries need is
simplify's to find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...analysis.loop_steps import terminator
from ...ir.bindings import ir
from ...ir.values import owner, users
from ...ir.walk import walk

# Ops of StableHLO that do more than give results.
_EFFECTS = frozenset(
    f"stablehlo.{name}"
    for name in ("custom_call", "infeed", "outfeed", "send", "recv", "rng", "create_token", "after_all", "return")
)


def removable(op: ir.Operation) -> bool:
    """Whether an op may go when nothing uses its results."""
    return op.name.startswith("stablehlo.") and op.name not in _EFFECTS and not op.regions


def erase_unused(ops: Sequence[ir.Operation]) -> None:
    """Erases ops of one block of which no result is used, and what only they needed in the same block."""
    dead: list[ir.Operation] = []
    left: dict[ir.Value, int] = {}
    pending = list(ops)
    while pending:
        current = pending.pop()
        dead.append(current)
        for operand in current.operands:
            source = owner(operand)
            if source is None or source.block != current.block or not removable(source):
                continue
            left[operand] = left.get(operand, sum(1 for _ in operand.uses)) - 1
            if all(left.get(result, 1) == 0 for result in source.results):
                pending.append(source)
    for current in dead:
        current.erase()


def with_carries(
    loop: ir.Operation, added: Sequence[ir.Value], step: Callable[[list[ir.Value]], Sequence[ir.Value]]
) -> ir.Operation:
    """A loop with more carries.

    Args:
        loop: the loop. It is left empty, for the caller to erase once nothing holds values of its blocks any more; its
            results are replaced.
        added: initial values of the carries, which come behind those there are.
        step: makes their next values at the end of the body, from their block arguments.

    Returns:
        The new loop.
    """
    condition, body = loop.regions[0].blocks[0], loop.regions[1].blocks[0]
    for value in added:
        condition.add_argument(value.type, loop.location)
    arguments = [body.add_argument(value.type, loop.location) for value in added]
    last = terminator(body)
    with ir.InsertionPoint(last), loop.location:
        following = list(step(arguments))
        ir.Operation.create(last.name, operands=[*last.operands, *following], loc=last.location)
    last.erase()
    return _moved(loop, [*loop.operands, *added], range(len(loop.results)))


def drop_dead_carries(loop: ir.Operation) -> ir.Operation:
    """Takes the carries off a loop that nothing needs, in place.

    Returns:
        The loop that now stands there: another one, or the same if it needs all its carries.
    """
    condition, body = loop.regions[0].blocks[0], loop.regions[1].blocks[0]
    last = terminator(body)
    following = list(last.operands)
    writes: dict[int, ir.Operation] = {}
    keep = []
    for place, result in enumerate(loop.results):
        if users(result) or users(condition.arguments[place]):
            keep.append(place)
            continue
        argument, value = body.arguments[place], following[place]
        chain = []
        while (op := owner(value)) is not None and op.name == "stablehlo.dynamic_update_slice" and op.block == body:
            if len(users(value)) != 1:
                break
            chain.append(op)
            value = op.operands[0]
        if value != argument or len(users(argument)) != 1:
            keep.append(place)
        elif chain:
            writes[place] = chain[0]
    if len(keep) == len(following):
        return loop
    with ir.InsertionPoint(last), loop.location:
        ir.Operation.create(last.name, operands=[following[place] for place in keep], loc=last.location)
    last.erase()
    erase_unused(list(writes.values()))
    for place in reversed(range(len(following))):
        if place not in set(keep):
            condition.erase_argument(place)
            body.erase_argument(place)
    new = _moved(loop, [loop.operands[place] for place in keep], keep)
    loop.erase()
    return new


def _moved(loop: ir.Operation, inits: Sequence[ir.Value], keep: Sequence[int]) -> ir.Operation:
    """A loop before another one, with its blocks, and its results in place of the other one's."""
    with ir.InsertionPoint(loop), loop.location:
        new = ir.Operation.create(
            loop.name, results=[value.type for value in inits], operands=list(inits), regions=2, loc=loop.location
        )
    for region, old in zip(new.regions, list(loop.regions), strict=True):
        old.blocks[0].append_to(region)
    for number, place in enumerate(keep):
        loop.results[place].replace_all_uses_with(new.results[number])
    return new


def loops_by_depth(module: ir.Module) -> list[ir.Operation]:
    """All loops of a module, those that lie deepest first, otherwise in order."""
    found: list[tuple[int, int, ir.Operation]] = []
    for number, op in enumerate(walk(module)):
        if op.name == "stablehlo.while":
            depth, parent = 0, op.parent
            while parent is not None and parent.operation.name != "builtin.module":  # jaxlib 0.7: it has no parent
                depth, parent = depth + 1, parent.operation.parent
            found.append((-depth, number, op))
    return [op for _, _, op in sorted(found, key=lambda entry: entry[:2])]
