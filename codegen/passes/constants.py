"""What a program computes of its constants alone, by NumPy.

    %y = constant ... : tensor<10000xi64>        known: %y, %f, %l, each as an array
    %f = convert %y : tensor<10000xf64>
    %l = chlo.lgamma %f

In: a block whose sizes are known. Out: which values follow from constants alone, and their arrays, each computed once,
when it is asked for. Decision to know: floats are rounded by NumPy and SciPy, so who puts an array in a value's place
does not keep every bit; of ops that are not in the table below nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import numpy as np

from ..ir import evaluate
from ..ir.bindings import ir
from ..ir.kinds import Indexing, monoid_of
from ..ir.values import Array, dot_sides, dtype_of, integers, is_static, owner, sizes_of

# What NumPy has under another name, of floats; integers among the operands are not rounded alike.
_FLOATS: Mapping[str, Callable[..., Array]] = {
    "stablehlo.cbrt": np.cbrt,
    "stablehlo.cosine": np.cos,
    "stablehlo.divide": np.divide,
    "stablehlo.exponential": np.exp,
    "stablehlo.exponential_minus_one": np.expm1,
    "stablehlo.log": np.log,
    "stablehlo.log_plus_one": np.log1p,
    "stablehlo.power": np.power,
    "stablehlo.rsqrt": lambda x: 1 / np.sqrt(x),
    "stablehlo.sine": np.sin,
    "stablehlo.sqrt": np.sqrt,
    "stablehlo.tanh": np.tanh,
}
_SPECIAL = {
    "chlo.digamma": "digamma",
    "chlo.erf": "erf",
    "chlo.erfc": "erfc",
    "chlo.lgamma": "gammaln",
    "stablehlo.logistic": "expit",
}
_TRUTH = {"and": np.logical_and, "or": np.logical_or}
_SUMS: Mapping[str, Callable[..., Array]] = {"add": np.sum, "maximum": np.max, "minimum": np.min}


class Constants:
    """The values of a block that follow from constants alone.

    Args:
        block: the block; of the values from outside of it only constants are known.
    """

    def __init__(self, block: ir.Block) -> None:
        self._arrays: dict[ir.Value, Array | None] = {}
        self._known: dict[ir.Value, None] = {}
        for view in block.operations:
            op = view.operation
            if len(op.results) == 1 and _in_table(op) and all(x in self._known or _is_plain(x) for x in op.operands):
                self._known[op.results[0]] = None

    def __iter__(self) -> Iterator[ir.Value]:
        return iter(self._known)

    def __contains__(self, value: ir.Value) -> bool:
        return value in self._known

    def array(self, value: ir.Value) -> Array | None:
        """The value's array; None where it is not known after all."""
        pending = [value]
        while pending:
            current = pending[-1]
            op = owner(current)
            assert op is not None, "no argument is known"
            left = [operand for operand in op.operands if operand not in self._arrays]
            if left and current not in self._arrays:
                pending += left
                continue
            pending.pop()
            if current not in self._arrays:
                self._arrays[current] = _evaluate(op, [self._arrays[operand] for operand in op.operands])
        return self._arrays[value]


def _is_plain(value: ir.Value) -> bool:
    op = owner(value)
    return op is not None and op.name == "stablehlo.constant" and _in_table(op)


def _in_table(op: ir.Operation) -> bool:
    if not all(is_static(value.type) for value in (*op.results, *op.operands)):
        return False
    if str(ir.RankedTensorType(op.results[0].type).element_type).startswith(("complex", "f8", "f4", "!")):
        return False
    known = op.name in _FLOATS or op.name in _SPECIAL or op.name in _RULES or evaluate.is_known(op)
    return known and (not op.regions or op.name == "stablehlo.reduce")


def _evaluate(op: ir.Operation, operands: list[Array | None]) -> Array | None:
    arrays = [array for array in operands if array is not None]
    if len(arrays) < len(operands):
        return None
    try:
        dtype = dtype_of(op.results[0])
    except Exception:  # NumPy has none for it
        return None
    with np.errstate(all="ignore"):
        if op.name in _FLOATS or op.name in _SPECIAL:
            if any(array.dtype.char not in "fd" for array in arrays):
                return None
            made = _function(op.name)(*arrays)
        elif op.name in _RULES:
            found = _RULES[op.name](op, *arrays)
            if found is None:
                return None
            made = found
        elif op.name == "stablehlo.convert" and arrays[0].dtype.kind == "f" and dtype.kind in "iu":
            return None  # what does not fit is the device's to say
        else:
            return evaluate.result_of(op, arrays)
    return np.asarray(made).astype(dtype, copy=False).reshape(sizes_of(op.results[0]))


def _function(name: str) -> Callable[..., Array]:
    if name in _FLOATS:
        return _FLOATS[name]
    import scipy.special

    return cast(Callable[..., Array], getattr(scipy.special, _SPECIAL[name]))


def _reduce(op: ir.Operation, *operands: Array) -> Array | None:
    if len(operands) != 2:
        return None
    array, init = operands
    monoid, axes = monoid_of(op.regions[0].blocks[0]) or "", integers(op, "dimensions")
    if array.dtype == bool:
        each = {"and": array.all, "or": array.any}.get(monoid)
        return None if each is None else _TRUTH[monoid](each(axis=axes), init)
    if monoid not in _SUMS or array.dtype.char not in "fdli" or not array.size:
        return None
    found = _SUMS[monoid](array, axis=axes)
    return np.asarray(getattr(np, monoid)(found, init))


def _dot(op: ir.Operation, x: Array, y: Array) -> Array | None:
    contracting, batching = dot_sides(op)
    if batching[0] or x.dtype.char not in "fd":
        return None
    return np.tensordot(x, y, (contracting[0], contracting[1]))


def _gather(op: ir.Operation, x: Array, indices: Array) -> Array | None:
    """Whole rows of an array, one for each index."""
    numbers = Indexing.of(op)
    window = list(integers(op, "slice_sizes"))
    one = numbers.vector == 1 and indices.shape[1:] in ((), (1,)) and numbers.mapped == [0]
    rows = numbers.collapsed == [0] and window == [1, *x.shape[1:]] and numbers.offsets == list(range(1, x.ndim))
    if not one or not rows or numbers.batching or not x.shape[0]:
        return None
    return x[np.clip(indices.reshape(-1), 0, x.shape[0] - 1)]


def _cholesky(op: ir.Operation, x: Array) -> Array | None:
    lower = "lower" not in op.attributes or ir.BoolAttr(op.attributes["lower"]).value
    finite = x.dtype.char in "fd" and lower and bool(np.isfinite(x).all())
    try:
        return np.linalg.cholesky(np.tril(x) + np.tril(x, -1).swapaxes(-1, -2)) if finite else None
    except np.linalg.LinAlgError:
        return None


def _solve(op: ir.Operation, a: Array, b: Array) -> Array | None:
    """A solution with a lower triangle, on the left."""
    named = {name: ir.BoolAttr(op.attributes[name]).value for name in ("left_side", "lower", "unit_diagonal")}
    plain = named == {"left_side": True, "lower": True, "unit_diagonal": False} and a.ndim == b.ndim == 2
    if not plain or "NO_TRANSPOSE" not in str(op.attributes["transpose_a"]) or a.dtype.char not in "fd":
        return None
    if not (np.isfinite(a).all() and np.isfinite(b).all() and np.diagonal(a).all()):
        return None
    import scipy.linalg

    return cast(Array, scipy.linalg.solve_triangular(a, b, lower=True))


_RULES: Mapping[str, Callable[..., Array | None]] = {
    "stablehlo.cholesky": _cholesky,
    "stablehlo.triangular_solve": _solve,
    "stablehlo.dot_general": _dot,
    "stablehlo.gather": _gather,
    "stablehlo.reduce": _reduce,
}
