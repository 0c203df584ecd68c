"""Batches of the ops that PyTensor's own dispatch knows, for a library without one: Aesara.

In: a node and its operands, at least one of which has the batch axis in front. Out: the node's outputs for the batch.
What has a rule in `batching_rules.py` does not come here, and what has none here is refused: the batch is a loop then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeAlias

from ...codegen.errors import BatchingError
from ..registry import LIBRARIES

Batch: TypeAlias = Any  # the walk, of `batching.py`
Rule = Callable[[Batch, Any, list[Any]], Sequence[Any]]

_RULES: dict[str, Rule] = {}


def _plain(*ops: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(ops, rule))
        return rule

    return register


def batched(batch: Batch, node: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """The outputs of a node for operands of which some have the batch axis.

    Raises:
        BatchingError: there is no rule for the op.
    """
    for base in type(node.op).__mro__:
        if base.__module__.partition(".")[0] in LIBRARIES and base.__name__ in _RULES:
            return _RULES[base.__name__](batch, node, list(operands))
    raise BatchingError(f"{type(node.op).__name__} has no rule for a batch axis")


def _outputs(op: Any, *operands: Any) -> Sequence[Any]:
    made: Sequence[Any] = op.make_node(*operands).outputs
    return made


def _further(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes one place further on; all of them where none is named."""
    axes = range(ndim) if axis is None else axis if isinstance(axis, Sequence) else (axis,)
    return tuple(a % ndim + 1 for a in axes)


def _of_rank(x: Any, ndim: int) -> Any:
    """A batch of arrays as one of arrays of a higher rank, with axes of size 1 in front."""
    return x.dimshuffle(0, *["x"] * (ndim + 1 - x.type.ndim), *range(1, x.type.ndim))


@_plain("Elemwise")
def _elemwise(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    """Operands without the axis get one of size 1, as all of a node's have one rank."""
    return _outputs(node.op, *operands)


@_plain("DimShuffle")
def _dimshuffle(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    [x] = operands
    return [x.dimshuffle(0, *[axis if axis == "x" else axis + 1 for axis in node.op.new_order])]


@_plain("CAReduce", "Argmax", "MaxAndArgmax")
def _reduction(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    op = copy(node.op)
    op.axis = _further(op.axis, node.inputs[0].type.ndim)
    return _outputs(op, operands[0])


@_plain("CumOp")
def _cumulative(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    [x] = operands
    axis = node.op.axis
    if axis is None:
        x, axis = _of_rank(x.flatten(2) if x.type.ndim > 1 else x, 1), 0
    return [type(node.op)(axis=axis % max(node.inputs[0].type.ndim, 1) + 1, mode=node.op.mode)(x)]


@_plain("Alloc")
def _alloc(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    value, *shape = operands
    return [batch.tensor.alloc(_of_rank(value, len(shape)), batch.size, *shape)]


@_plain("BroadcastTo")
def _broadcast_to(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    x, *shape = operands
    batch.refuse(node, operands, range(1, len(operands)), "the shape")
    return [node.op(_of_rank(x, len(shape)), [batch.size, *shape])]


@_plain("Reshape")
def _reshape(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    x, shape = operands
    ndim = node.outputs[0].type.ndim
    known = getattr(shape, "data", None)
    sizes = [shape[axis] for axis in range(ndim)] if known is None else [int(size) for size in known]
    return [x.reshape([batch.size, *sizes], ndim=ndim + 1)]


@_plain("SpecifyShape")
def _specify_shape(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    x, *shape = operands
    batch.refuse(node, operands, range(1, len(operands)), "the shape")
    sizes = [None if "None" in type(size.type).__name__ else size for size in shape]
    return [batch.tensor.specify_shape(x, [None, *sizes])]


@_plain("ExtractDiag", "AllocDiag")
def _diagonal(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    rank = node.inputs[0].type.ndim + (type(node.op).__name__ == "AllocDiag")
    op = copy(node.op)
    op.axis1, op.axis2 = (axis % rank + 1 for axis in (op.axis1, op.axis2))
    return _outputs(op, *operands)


@_plain("MatMul")
def _matmul(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    if any(x.type.ndim > 2 for x in node.inputs):
        raise BatchingError("MatMul of more than two axes")
    product = batch.tensor.dot(*node.inputs)
    return batch.expression(product.astype(node.outputs[0].type.dtype))


@_plain("Dot", "Dot22")
def _dot(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    """What `batching_rules.py` leaves: products with vectors, and of two batches."""
    (x, y), (left, right) = operands, node.inputs
    if batch.is_batched(x, left) and batch.is_batched(y, right):
        return [_dot_of_batches(batch, x, y)]
    if batch.is_batched(x, left):
        return [x.dot(y) if left.type.ndim == 1 else _of_rows(batch, x, y)]
    if right.type.ndim == 1:
        return [y.dot(x.T)]
    return [_of_rows(batch, y.dimshuffle(0, 2, 1), x)]


def _of_rows(batch: Batch, matrices: Any, vector: Any) -> Any:
    """The products of the rows of each matrix of a batch with one vector."""
    rows, columns = matrices.shape[1], matrices.shape[2]
    return matrices.reshape((batch.size * rows, columns)).dot(vector).reshape((batch.size, rows))


def _dot_of_batches(batch: Batch, x: Any, y: Any) -> Any:
    left = x.dimshuffle(0, "x", 1) if x.type.ndim == 2 else x
    right = y.dimshuffle(0, 1, "x") if y.type.ndim == 2 else y
    product = batch.library.module("tensor.blas").batched_dot(left, right)
    product = product[:, 0] if x.type.ndim == 2 else product
    return product[..., 0] if y.type.ndim == 2 else product
