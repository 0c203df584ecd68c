"""transpose_into_dot: a dot of a transpose is a dot of what was transposed.

    before  %t = stablehlo.transpose %a, dims = [1, 0]
            %d = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0]
    after   %d = stablehlo.dot_general %a, %v, contracting_dims = [0] x [0]

In: `dot_general` with a transpose on one side or both. Precondition: the axes that are neither contracted nor batched
come in the same order without it (the result has them in the order of the operand). XLA does this itself for products
of matrices, not for a matrix by a vector, which it then copies for every call. Rounding: sums may be taken in another
order by another kernel.
"""

from __future__ import annotations

from ...ir.attributes import dot_numbers, integers
from ...ir.bindings import ir, stablehlo
from ...ir.clone import clone
from ...ir.refused import require
from ...ir.values import owner, shape_of
from ..rewriting import rewrite


@rewrite("stablehlo.dot_general", exact=False)
def transpose_into_dot(op: ir.Operation) -> ir.Operation | None:
    """Transposes of a dot's operands go into its dimension numbers."""
    transposes = [owner(operand) for operand in op.operands]
    if not any(each is not None and each.name == "stablehlo.transpose" for each in transposes):
        return None
    numbers = dot_numbers(op.attributes["dot_dimension_numbers"])
    batch = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    contracted = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    operands, kept = list(op.operands), ""
    for side, each in enumerate(transposes):
        if each is None or each.name != "stablehlo.transpose":
            continue
        order = integers(each, "permutation")
        used = {*batch[side], *contracted[side]}
        free = [order[axis] for axis in range(len(shape_of(op.operands[side]))) if axis not in used]
        if free != sorted(free):
            kept = f"the {('left', 'right')[side]} operand's axes {free} would come in another order in the result"
            continue
        operands[side] = each.operands[0]
        batch[side] = [order[axis] for axis in batch[side]]
        contracted[side] = [order[axis] for axis in contracted[side]]
    require(operands != list(op.operands), kept)
    made = clone(op, operands)
    made.attributes["dot_dimension_numbers"] = stablehlo.DotDimensionNumbers.get(
        lhs_batching_dimensions=batch[0],
        rhs_batching_dimensions=batch[1],
        lhs_contracting_dimensions=contracted[0],
        rhs_contracting_dimensions=contracted[1],
    )
    return made
