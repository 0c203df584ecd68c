"""loop_writes: a scatter that writes one row at a step's place is written as the `dynamic_update_slice` that it is.

    %k = broadcast_in_dim %i : tensor<1xi32>                 %row = reshape %h1 : tensor<1x256xf32>
    %ys1 = scatter(%ys, %k, %h1) { return update }      ->   %ys1 = dynamic_update_slice %ys, %row, %i, %z

This is how JAX lowers `ys.at[i].set(h)` in a loop of your own. Preconditions: one index, whose place is an affine
function of the step and always inside of the array (a scatter leaves out what is not, a `dynamic_update_slice` moves
it); the row is whole along the other axes. Rounding: none.
"""

from __future__ import annotations

from ..analysis.loops import Loop
from ..ir import ops
from ..ir.bindings import ir, run_pipeline
from ..ir.kinds import Indexing
from ..ir.refused import Refused, needed, require
from ..ir.values import loops_by_depth, returned_by, shape_of, static_shape, unspread
from .report import Report

# Without a loop there is nothing to do.
TRIGGERS = frozenset({"stablehlo.while"})


def run(module: ir.Module, report: Report) -> None:
    """Rewrites the scatters of all loops; says about the others why they stay."""
    for op in loops_by_depth(module):
        body = op.regions[1].blocks[0]
        scatters = [inner.operation for inner in body.operations if inner.operation.name == "stablehlo.scatter"]
        if not scatters:
            continue
        try:
            loop = Loop.of(op)
        except Refused:
            continue
        for scatter in scatters:
            try:
                axis, index = _row(scatter, loop)
            except Refused as refusal:
                report.refused(scatter, str(refusal))
                continue
            report.applied(scatter, result="an update of a row")
            operand, _, updates = scatter.operands
            shape = list(static_shape(operand))
            shape[axis] = 1
            with ir.InsertionPoint(scatter), scatter.location:
                row, zero = ops.reshape(updates, shape), ops.scalar(0, index)
                places = [index if number == axis else zero for number in range(len(shape))]
                scatter.results[0].replace_all_uses_with(ops.dynamic_update_slice(operand, row, places))
    if report.rewritten:
        run_pipeline(module, "canonicalize")


def _row(scatter: ir.Operation, loop: Loop) -> tuple[int, ir.Value]:
    """The axis along which a scatter writes one element's place, and that place.

    Raises:
        Refused: it does something else.
    """
    require(len(scatter.results) == 1, "it writes several arrays")
    block = scatter.regions[0].blocks[0]
    require(returned_by(block) == [block.arguments[1]], "it combines what it writes with what is there")
    operand, indices, updates = scatter.operands
    shape = static_shape(operand)
    numbers = Indexing.of(scatter)
    axes = numbers.mapped
    require(
        len(axes) == 1
        and numbers.collapsed == axes
        and numbers.offsets == list(range(len(shape) - 1))
        and shape_of(indices) == (1,)
        and static_shape(updates) == (*shape[: axes[0]], *shape[axes[0] + 1 :]),
        "it writes another window than one row",
    )
    index = unspread(indices)
    place = loop.affine(index) if shape_of(index) == () else None
    place = needed(place, "its place is not an affine function of the step")
    low, high = place.bounds(loop.trip_count)
    inside = loop.sizes.at_most(0, low) and loop.sizes.at_most(high, shape[axes[0]] - 1)
    require(inside, "its place may be outside of the array")
    return axes[0], index
