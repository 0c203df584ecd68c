"""cpu_forms: forms of an op that XLA:CPU is fast at.

    before  %y = stablehlo.divide %x, %b : tensor<1000xf64>             // %b is a number, broadcast
    after   %y = stablehlo.multiply %x, %r : tensor<1000xf64>           // %r is its reciprocal, broadcast

In: a module with static shapes that is about to be compiled for the CPU; never one that is stored, or for another
device. Runs before `device_linalg`, which takes the factorizations that are left. Out: the module with the rewrites
below applied; each one's docstring says what it does, its preconditions and what it does to rounding. Decision to know:
a rewrite, and each number in it, is here because `benchmarks/cpu_forms.py` shows that it pays. Some pay only within the
kernels that `cpu_regions` makes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from ..ir import ops, while_ops
from ..ir.bindings import ir, stablehlo
from ..ir.kinds import identity, reduction
from ..ir.refused import require
from ..ir.values import (
    REAL_FLOATS,
    attributes_of,
    constant,
    dtype_of,
    flag_of,
    integers,
    owner,
    static_shape,
    text_attribute,
)
from .pad_sums import joined_pads
from .report import Report
from .rewriting import Rewrite, RewriteFunction, apply

# ---- running sums ----------------------------------------------------------------------------------------------------

# Along fewer elements, or with fewer behind each, XLA's form is as fast.
_LEAST = 32
_LEAST_COLUMNS = 16

_MONOIDS = ("add", "multiply", "maximum", "minimum", "and", "or")


def running_loop(op: ir.Operation) -> ir.Value | None:
    """A `reduce_window` over all that comes before is a loop with a running value.

    before  %c = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = [1000, 1], padding = [[999, 0], [0, 0]]}>
    after   %acc, %err, %c = stablehlo.while(%i, %acc, %err, %out)
              do: %row = dynamic_slice %x, %i, 0;  %acc1 = add %acc, %row;  %err1 = add %err, (what rounding took)
                  %sum = add %acc1, %err1;  %out1 = dynamic_update_slice %out, %sum, %i, 0

    Preconditions: a window as long as the one axis that it runs along, forwards (what `cumsum` is) or backwards (its
    gradient); one array, an init that leaves values as they are, and enough elements that lie next to each other in a
    step; where there are fewer, XLA's form is as fast. Rounding: XLA's form adds in blocks. In order, errors would add
    up with the steps. Hence floats are accumulated in float64, and what rounding takes from a float64 sum is added up
    beside it, and added to each result.
    """
    if len(op.operands) != 2:
        return None
    x, init = op.operands
    shape, window = static_shape(x), integers(op, "window_dimensions")
    along = [axis for axis, size in enumerate(window) if size != 1]
    if len(along) != 1:
        return None
    axis = along[0]
    size = shape[axis]
    steps = [each for name in ("window_strides", "base_dilations", "window_dilations") for each in integers(op, name)]
    if window[axis] != size or "padding" not in op.attributes or set(steps) - {1}:
        return None
    amounts = np.array(ir.DenseElementsAttr(op.attributes["padding"])).reshape(len(shape), 2)
    forward = amounts[axis, 0] == size - 1
    if np.count_nonzero(amounts) != 1 or size - 1 not in amounts[axis]:
        return None
    name = reduction(op)
    monoid = name.partition(".")[2]
    require(monoid in _MONOIDS, f"it combines elements by {name}")
    found, dtype = constant(init), dtype_of(x)
    require(dtype.kind in "fiub" and dtype.itemsize <= 8, f"elements are of {dtype}")
    require(
        found is not None and found.ndim == 0 and found == identity(monoid, dtype),
        f"it does not start from the value that {name} leaves others unchanged by",
    )
    require(size >= _LEAST, f"{size} elements are fewer than {_LEAST}, for which XLA's form is as fast")
    columns = math.prod(shape[axis + 1 :])
    require(
        columns >= _LEAST_COLUMNS,
        f"{columns} elements lie next to each other, fewer than {_LEAST_COLUMNS}, for which XLA's form is as fast",
    )
    require(np.prod(shape, dtype=np.int64) < 2**31 and all(shape), "it has no elements, or more than an int32 counts")
    line = [1 if k == axis else each for k, each in enumerate(shape)]
    zero = ops.index(0)

    summed = monoid == "add" and dtype.kind == "f"
    like = ops.full_like(x, 0, line)

    def step(index: ir.Value, carries: list[ir.Value]) -> list[ir.Value]:
        *running, out = carries
        place = index if forward else stablehlo.subtract(ops.index(size - 1), index)
        starts = [place if k == axis else zero for k in range(len(shape))]
        element = ops.dynamic_slice(x, starts, line)
        if summed:
            running = while_ops.add_to_sum(running, element)
        else:
            running = [ops.elementwise(name, running[0], ops.convert(element, running[0]))]
        value = while_ops.end_sum(running, like)
        return [*running, ops.dynamic_update_slice(out, value, starts)]

    kind = while_ops.wider(dtype) if monoid == "multiply" else dtype
    first = ops.broadcast_in_dim(ops.convert(ops.reshape(init, []), kind), line, [])
    carries = while_ops.start_sum(like) if summed else [first]
    return while_ops.counted(0, size, 1, [*carries, ops.full_like(x, 0, shape)], step)[-1]


# ---- small matrices --------------------------------------------------------------------------------------------------

# Written out up to this size, one matrix and a batch of at least _BATCH.
_UNROLLED, _UNROLLED_BATCH = 4, 6
_BATCH = 8


def _written_out(n: int, batch: int) -> bool:
    return n <= (_UNROLLED_BATCH if batch >= _BATCH else _UNROLLED)


def small_cholesky(op: ir.Operation) -> ir.Value | None:
    """The Cholesky factor of a small matrix, element by element.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
    after   %0 = sqrt(a00);  %1 = a10 / %0;  %2 = sqrt(a11 - %1 * %1)
            %l = select(a00 > 0 and a11 - %1 * %1 > 0, [[%0, 0], [%1, %2]], NaN)

    What is larger is left for `device_linalg`, which calls LAPACK. Matrices of a batch go side by side. Rounding: the
    sums of LAPACK's unblocked algorithm, in their order. A matrix with a pivot of zero or less gives NaN in the whole
    triangle, as the LAPACK call does; a NaN spreads as it does there. Of the matrix only the triangle that is asked for
    is read, and the other one of the factor is zero.
    """
    a = op.operands[0]
    if dtype_of(a) not in REAL_FLOATS:
        return None
    shape = static_shape(a)
    n, batch, lower = shape[-1], math.prod(shape[:-2]), flag_of(op, "lower", False)
    require(n and batch, "the matrix has no elements")
    require(_written_out(n, batch), f"a matrix of {n} x {n} is for LAPACK")
    factor: list[list[ir.Value]] = [[] for _ in range(n)]
    zero, failed = ops.full_like(a, 0, shape[:-2]), []
    for j in range(n):
        for i in range(j, n):
            start = _element(a, i, j) if lower else _element(a, j, i)
            rest = _dot_of(start, list(zip(factor[i][:j], factor[j][:j], strict=True)))
            if i == j:
                failed.append(ops.compare("LE", rest, zero))
            factor[i].append(stablehlo.sqrt(rest) if i == j else stablehlo.divide(rest, factor[j][j]))
    rows, rank = [row + [zero] * (n - len(row)) for row in factor], len(shape)
    elements = [rows[i][j] if lower else rows[j][i] for i in range(n) for j in range(n)]
    joined = ops.concatenate([ops.reshape(each, (*shape[:-2], 1)) for each in elements], rank - 2)
    triangle = np.tri(n) if lower else np.tri(n).T
    nan = ops.constant(np.where(triangle, np.nan, 0.0).astype(dtype_of(a)))
    anywhere = ops.broadcast_in_dim(reduce(stablehlo.or_, failed), shape, range(rank - 2))
    whole = ops.broadcast_in_dim(nan, shape, (rank - 2, rank - 1))
    return stablehlo.select(anywhere, whole, ops.reshape(joined, shape))


def _element(a: ir.Value, i: int, j: int) -> ir.Value:
    shape = static_shape(a)
    first = [0] * (len(shape) - 2)
    return ops.reshape(ops.slice(a, [*first, i, j], [*shape[:-2], i + 1, j + 1]), shape[:-2])


def _dot_of(minuend: ir.Value, pairs: Sequence[tuple[ir.Value, ir.Value]]) -> ir.Value:
    for left, right in pairs:
        minuend = stablehlo.subtract(minuend, stablehlo.multiply(left, right))
    return minuend


def small_triangular_solve(op: ir.Operation) -> ir.Value | None:
    """Substitution, row by row of the unknowns, for a small matrix.

    Matrices of a batch, and columns of a right-hand side, go side by side. Rounding: as for `small_cholesky`.
    """
    a, b = op.operands
    if dtype_of(a) not in REAL_FLOATS:
        return None
    shape, given = static_shape(a), static_shape(b)
    n, batch = shape[-1], math.prod(shape[:-2])
    require(all(given), "the right-hand side has no elements")
    left = flag_of(op, "left_side", True)
    transposed = ("NO_TRANSPOSE" not in text_attribute(op, "transpose_a")) != (not left)
    lower = flag_of(op, "lower", False) != transposed
    unit = flag_of(op, "unit_diagonal", False)
    require(_written_out(n, batch), f"a matrix of {n} x {n} is for LAPACK")
    rank = len(given)
    along = rank - 2 if left else rank - 1
    line = [size for axis, size in enumerate(given) if axis != along]
    unknowns: dict[int, ir.Value] = {}

    def coefficient(i: int, j: int) -> ir.Value:
        return ops.broadcast_in_dim(_element(a, j, i) if transposed else _element(a, i, j), line, range(rank - 2))

    for i in range(n) if lower else reversed(range(n)):
        starts = [i if axis == along else 0 for axis in range(rank)]
        limits = [i + 1 if axis == along else size for axis, size in enumerate(given)]
        rest = _dot_of(
            ops.reshape(ops.slice(b, starts, limits), line), [(coefficient(i, j), x) for j, x in unknowns.items()]
        )
        unknowns[i] = rest if unit else stablehlo.divide(rest, coefficient(i, i))
    slab = [1 if axis == along else size for axis, size in enumerate(given)]
    return ops.concatenate([ops.reshape(unknowns[i], slab) for i in range(n)], along)


def shared_solve(op: ir.Operation) -> ir.Value | None:
    """Systems with one matrix for all of a batch are solved together.

    before  %l = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<30x30xf64>) -> tensor<50x30x30xf64>
            %x = stablehlo.triangular_solve %l, %b : (..., tensor<50x30x1xf64>) -> tensor<50x30x1xf64>
    after   %t = stablehlo.transpose %b, dims = [1, 0, 2], as a tensor<30x50xf64>
            %y = stablehlo.triangular_solve %a, %t : (tensor<30x30xf64>, tensor<30x50xf64>) -> tensor<30x50xf64>
            %x = stablehlo.transpose %y, as it was

    A vectorised multivariate normal distribution: LAPACK is called once in place of once for each, and the matrix is
    not copied. Rounding: LAPACK takes columns together, in another order of additions.
    """
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


# ---- quotients -------------------------------------------------------------------------------------------------------

_SHARED = 8  # elements for each of the divisor
# From where on a divisor is scaled, and by what: exponents of two. What is lost of a dividend that is scaled is below
# the least number when it is divided.
_SCALED = {np.dtype(np.float64): (1000, -100), np.dtype(np.float32): (100, -60)}


def reciprocal_once(op: ir.Operation) -> ir.Value | None:
    """A quotient by a broadcast divisor is a product with its reciprocal, which is taken before the broadcast.

    before  %b = stablehlo.broadcast_in_dim %s, dims = [] : tensor<f64> -> tensor<919xf64>
            %q = stablehlo.divide %x, %b
    after   %large = compare GE, abs(%s), 2^1000
            %c = select %large, 2^-100, 1                    // so that the reciprocal is a normal number
            %r = divide 1, multiply(%s, %c)
            %q = multiply(multiply(%x, broadcast(%c)), broadcast(%r))

    Preconditions: a divisor that is no constant (XLA takes the reciprocal of those itself), enough elements, and eight
    for each of the divisor. A division of a vector takes eight times as long as a product. Rounding: twice instead of
    once, which is 1.5 units in the last place at most; the quotient is inf, NaN or zero, signs included, where the
    division's is.
    """
    spread = owner(op.operands[1])
    if spread is None or spread.name != "stablehlo.broadcast_in_dim" or dtype_of(op.results[0]) not in _SCALED:
        return None
    divisor, shape = spread.operands[0], static_shape(op.results[0])
    if constant(divisor) is not None:
        return None
    count, of_divisor = math.prod(shape), math.prod(static_shape(divisor))
    require(
        count >= max(_LEAST, _SHARED * of_divisor),
        f"{count} elements by {of_divisor}: fewer than {max(_LEAST, _SHARED * of_divisor)}",
    )
    threshold, exponent = _SCALED[dtype_of(divisor)]
    one = ops.full_like(divisor, 1.0)
    large = ops.compare("GE", stablehlo.abs(divisor), ops.full_like(divisor, 2.0**threshold))
    scale = stablehlo.select(large, ops.full_like(divisor, 2.0**exponent), one)
    reciprocal = stablehlo.divide(one, stablehlo.multiply(divisor, scale))
    axes = integers(spread, "broadcast_dimensions")
    scaled = stablehlo.multiply(op.operands[0], ops.broadcast_in_dim(scale, shape, axes))
    return stablehlo.multiply(scaled, ops.broadcast_in_dim(reciprocal, shape, axes))


# ---- sums of pads ----------------------------------------------------------------------------------------------------

PADS = ("stablehlo.pad", "stablehlo.dynamic_update_slice")


def pads_in_kernel(op: ir.Operation) -> ir.Value | None:
    """A sum of pads with disjoint support is a concatenate, whatever its size.

    `simplify`'s `sum_of_pads` leaves sums of many pads and few elements alone: as kernels of their own the parts of a
    concatenate take longer to start than a sum of pads to look at each element once for each pad. Within a kernel they
    are loops, one behind the other: the gradient of a model with 93 parameters and 984 elements takes 8 us, 53 as a
    sum. Preconditions and rounding: as there.
    """
    return joined_pads(op, lambda boxes, shape: None)


# ---- the pass --------------------------------------------------------------------------------------------------------


def _rewrite(root: str, function: RewriteFunction) -> Rewrite:
    line = (function.__doc__ or "").split("\n")[0]
    return Rewrite(name=str(function.__name__), line=line, roots=(f"stablehlo.{root}",), function=function)


_REWRITES = (
    _rewrite("reduce_window", running_loop),
    _rewrite("cholesky", small_cholesky),
    _rewrite("triangular_solve", shared_solve),
    _rewrite("triangular_solve", small_triangular_solve),
    _rewrite("divide", reciprocal_once),
)
_IN_KERNELS = (_rewrite("add", pads_in_kernel),)

NAMES = tuple(rewrite.name for rewrite in (*_REWRITES, *_IN_KERNELS))

# Without one of these ops there is nothing to do.
TRIGGERS = frozenset(PADS).union(*(rewrite.roots for rewrite in _REWRITES))


def run(module: ir.Module, report: Report, *, kernels: bool = False) -> None:
    """The pass.

    Args:
        module: is changed in place.
        report: takes note of each op.
        kernels: whether it will consist of kernels of many ops.
    """
    apply(module, (*_REWRITES, *(_IN_KERNELS if kernels else ())), report)
