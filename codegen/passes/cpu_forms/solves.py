"""shared_solve: many triangular systems with one matrix are one system with many columns.

    before  %l = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<30x30xf64>) -> tensor<50x30x30xf64>
            %x = stablehlo.triangular_solve %l, %b : (..., tensor<50x30x1xf64>) -> tensor<50x30x1xf64>
    after   %t = stablehlo.transpose %b, dims = [1, 0, 2], as a tensor<30x50xf64>
            %y = stablehlo.triangular_solve %a, %t : (tensor<30x30xf64>, tensor<30x50xf64>) -> tensor<30x50xf64>
            %x = stablehlo.transpose %y, as it was

In: `stablehlo.triangular_solve` with static shapes whose matrices are all the same, by a broadcast: a vectorised
multivariate normal distribution. LAPACK is called once in place of once for each, and the matrix is not copied.
Rounding: LAPACK takes columns together, in another order of additions.
"""

from __future__ import annotations

import math

from ...ir import ops
from ...ir.attributes import attributes_of, flag_of, integers
from ...ir.bindings import ir
from ...ir.types import REAL_FLOATS
from ...ir.values import dtype_of, owner, static_shape


def shared_solve(op: ir.Operation) -> ir.Value | None:
    """Systems with one matrix for all of a batch are solved together."""
    a, b = op.operands
    shape, given = static_shape(a), static_shape(b)
    if dtype_of(a) not in REAL_FLOATS or math.prod(shape[:-2]) < 2 or not all(given):
        return None
    source = _matrix(a)
    if source is None:
        return None
    n, rank = shape[-1], len(given)
    matrix = ops.reshape(source, (n, n))
    # The unknowns' axis goes to the side that the matrix is on.
    order = [rank - 2, *range(rank - 2), rank - 1] if flag_of(op, "left_side", True) else list(range(rank))
    moved = ops.transpose(b, order)
    columns = math.prod(given) // n
    flat = ops.reshape(moved, (n, columns) if order[0] else (columns, n))
    solved = ir.Operation.create(
        op.name, results=[flat.type], operands=[matrix, flat], attributes=attributes_of(op.attributes)
    ).results[0]
    back = ops.reshape(solved, static_shape(moved))
    return ops.transpose(back, [order.index(axis) for axis in range(rank)])


def _matrix(a: ir.Value) -> ir.Value | None:
    """What was broadcast to a batch; None where the matrices were more than one."""
    definer = owner(a)
    if definer is None or definer.name != "stablehlo.broadcast_in_dim":
        return None
    source, places, rank = definer.operands[0], integers(definer, "broadcast_dimensions"), len(static_shape(a))
    sizes = static_shape(source)
    of_matrix = list(places[-2:]) == [rank - 2, rank - 1] and sizes[-2:] == static_shape(a)[-2:]
    return source if of_matrix and math.prod(sizes[:-2]) == 1 else None
