"""work_into_loops: elementwise work on an array that a loop reads step by step moves into the loop.

    %y = subtract %ys, %data                                        while(%i, %g)
    %ct = multiply %two, %y : tensor<512x64x256xf32>                  do: %a = dynamic_slice %ys, %i1, ...
    while(%i, %g, %c = %ct)                                   ->          %b = dynamic_slice %data, %i1, ...
      do: %s = dynamic_slice %c, %i1, ... : tensor<1x64x256xf32>          %y = subtract %a, %b : tensor<1x64x256xf32>
          %g1 = add %g, %s                                                %s = multiply %two_row, %y

In a gradient this is the cotangent of what a loop has stacked: `ct` is not stored any more, and where it is one value
broadcast along time, it is an invariant.

Preconditions: the array is only read by slices, in the bodies of loops with a known number of steps, and by
elementwise work and reductions, into which XLA fuses what makes it; it is made by elementwise work, broadcasts,
transposes, constants and iotas; what that work reads is there anyway (arguments, results of loops) or takes less
memory than the array; no expensive work is done more often than before (as it would where its results are used
elsewhere too, or are read twice), nor work that costs more than storing its result. Slices need not be at affine
places: a slice of elementwise work is elementwise work on slices.

Rounding: none changes. Each element comes from the same operations on the same operands.
"""

from __future__ import annotations

from collections.abc import Container

from ..analysis.costs import cost, store
from ..analysis.loops import Loop, slices_of
from ..ir.bindings import ir
from ..ir.kinds import STABLEHLO
from ..ir.ops import Rows, separable
from ..ir.refused import Refused, require
from ..ir.values import elements_of, loops_by_depth, owner, static_bytes, static_shape
from ..ir.while_ops import argument_number, drop_dead_carries, invariants
from .report import Report
from .stepwise import apart, used_elsewhere

_MOST = 64  # ops that are moved for one array
_THERE_ANYWAY = ("stablehlo.constant", "stablehlo.while")  # in memory whatever becomes of the array

# Without a loop there is nothing to do.
TRIGGERS = frozenset({"stablehlo.while"})


def run(module: ir.Module, report: Report) -> None:
    """Moves elementwise work into the loops that read its results step by step.

    Args:
        module: is changed, in place; calls in loops should have been inlined.
        report: takes note of each array.
    """
    loops = loops_by_depth(module)
    seen: set[ir.Value] = set()
    changed: list[ir.Operation] = []
    for loop in loops:
        for source in _sources(loop):
            definer = owner(source)
            if source in seen or definer is None:
                continue
            seen.add(source)
            try:
                if definer.name == "stablehlo.constant" or not separable(definer):
                    continue
                moved, slices = _plan(definer)
            except Refused as refusal:
                report.refused(definer, str(refusal))
                continue
            report.applied(definer, result="computed step by step in the loop that reads it")
            for _, reader in slices:
                with ir.InsertionPoint(reader), reader.location:
                    row = Rows(moved).take(source, list(reader.operands)[1:], static_shape(reader.results[0]))
                reader.results[0].replace_all_uses_with(row)
                reader.erase()
            changed += [loop for loop, _ in slices if loop not in changed]
    for loop in [loop for loop in loops if loop in changed]:
        drop_dead_carries(loop)


def _sources(loop: ir.Operation) -> list[ir.Value]:
    """The values from outside that a loop's body takes slices of."""
    body, same = loop.regions[1].blocks[0], invariants(loop)
    found: dict[ir.Value, None] = {}
    for op in (view.operation for view in body.operations):
        if op.name == "stablehlo.dynamic_slice":
            carry, source = argument_number(body, op.operands[0]), owner(op.operands[0])
            if carry in same:
                found[loop.operands[carry]] = None
            elif source is not None and source.block != body:
                found[op.operands[0]] = None
    return list(found)


def _plan(definer: ir.Operation) -> tuple[list[ir.Operation], list[tuple[ir.Operation, ir.Operation]]]:
    """The ops that make an array, and are taken apart, and its slices, each behind its loop.

    Raises:
        Refused: one fails.
    """
    source = definer.results[0]
    static_shape(source)
    found, used = slices_of(source)
    loops, others = list(dict.fromkeys(loop for loop, _ in found)), bool(used)
    fused = STABLEHLO | {"stablehlo.reduce"}  # XLA fuses cheap work into these: they do not need it in memory
    whole = [op for op in used if op.block != definer.block or op.name not in fused]
    whole += [loop for loop in loops if loop.block != definer.block]
    require(
        not whole, f"the whole array is used by {whole[0].name if whole else ''}, so that it has to be stored anyway"
    )
    require(not any(len(loop.attributes) for loop in loops), "the loop has attributes, which fit its carries")
    reads = sum(Loop.of(loop).most * elements_of(op.results[0].type) for loop, op in found)
    size = elements_of(source.type)
    require(size > 0, "it has no elements")
    often = reads / size
    found_apart = apart(definer.operands, definer.block, [definer], _worth)
    moved, leaves = [definer, *found_apart[0]], found_apart[1]
    require(len(moved) <= _MOST, f"it is made by more than {_MOST} ops")
    once, again = 0.0, 0.0
    for op in moved:
        price = cost(op) or 0
        shared = others if op is definer else used_elsewhere(op, moved)
        once += price
        again += price * (often if shared else max(often - 1.0, 0.0))
    bytes_ = static_bytes(source.type) or 0
    require(once <= store(bytes_), "what makes it costs more than storing it, and is better done for all steps at once")
    require(
        again <= 0.5 * store(bytes_),
        "what makes it is used elsewhere too, or is read more than once, and is expensive to do again",
    )
    made = [leaf for leaf in leaves if (by := owner(leaf)) is not None and by.name not in _THERE_ANYWAY]
    kept = sum(static_bytes(leaf.type) or 0 for leaf in made)
    require(
        kept < (1 if others else bytes_),
        f"what it is made from is not kept otherwise and takes as much memory ({kept} bytes)",
    )
    return moved, found


def _worth(op: ir.Operation, inside: Container[ir.Operation]) -> bool:
    """Whether an op on the way is done in the loop; an expensive one whose result is also used elsewhere is not."""
    if op.name == "stablehlo.constant":
        return True
    size = static_bytes(op.results[0].type)
    price = cost(op)
    if price is None or size is None:
        return False
    return price <= 0.2 * store(size) or not used_elsewhere(op, inside)
