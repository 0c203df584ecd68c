"""Batching rules: from a node and its operands, some with the batch axis, to its outputs.

What has no rule here is left to PyTensor's `_vectorize_node`. What decides the result's shape must be the same for the
whole batch; rules refuse it otherwise (`BatchingError`), and the function is called in a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...codegen.errors import BatchingError
from ..releases import axis_of, axis_property, inner_graph, unflatten
from ..walk import order
from .batching import Batch, batches, find, has_own_derivatives, is_inner_graph

# ---- sizes: the same for the whole batch -----------------------------------------------------------------------------


@batches("Shape")
def _shape(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    [x] = operands
    return [node.op(x)[1:]]


@batches("Shape_i")
def _shape_i(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    [x] = operands
    return [type(node.op)(node.op.i + 1)(x)]


# ---- what decides the result's shape must be the same for the whole batch --------------------------------------------


@batches("ARange", "AllocEmpty", "MakeSlice", "Nonzero", "Unique")
def _ragged(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    raise BatchingError(f"the shape of what {type(node.op).__name__} gives would differ from element to element")


@batches("Alloc")
def _alloc(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any] | None:
    batch.refuse(node, operands, range(1, len(operands)), "the shape")
    return None


@batches("Reshape", "SplitDims")
def _reshape(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any] | None:
    batch.refuse(node, operands, [1], "the shape")
    return None


@batches("Repeat")
def _repeat(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    batch.refuse(node, operands, [1], "the counts")
    x, repeats = operands
    axis = axis_of(node.op.axis, node.inputs[0].type.ndim)
    if axis is None:  # before PyTensor 3: all elements in order
        x, axis = x.flatten(2) if x.type.ndim > 1 else x.dimshuffle(0, "x"), 0
    return [type(node.op)(axis=axis + 1)(x, repeats)]


@batches("Eye", "Tri")
def _eye(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    """Which diagonal may be each element's own."""
    batch.refuse(node, operands, [0, 1], "the shape")
    tensor = batch.tensor
    rows, columns, k = (batch.as_tensor(x) for x in node.inputs)
    moved = tensor.arange(rows).dimshuffle(0, "x") + k
    places = tensor.arange(columns)
    hit = tensor.eq(moved, places) if type(node.op).__name__ == "Eye" else tensor.ge(moved, places)
    return batch.expression(hit.astype(node.op.dtype))


# ---- an axis further on ----------------------------------------------------------------------------------------------


def _axis(batch: Batch, node: Any, operands: list[Any], place: int, ndim: int) -> int:
    """The axis that the op has as a property, or takes out of the operands, counted from the front."""
    axis = axis_property(node.op)
    if axis is None:
        batch.refuse(node, operands, [place], "the axis")
        data = getattr(node.inputs[place], "data", None)
        if data is None:
            raise BatchingError("the axis is known only at run time")
        axis = int(data)
        del operands[place]
    return axis % ndim


@batches("DeepCopyOp", "ViewOp", "TypeCastingOp", "CpuContiguous")
def _same(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    made: Sequence[Any] = node.op.make_node(*operands).outputs
    return made


@batches("Unbroadcast")
def _unbroadcast(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    return [type(node.op)(*[axis + 1 for axis in node.op.axes])(*operands)]


@batches("Join")
def _join(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    axis = _axis(batch, node, operands, 0, node.outputs[0].type.ndim)
    parts = [batch.spread(new, old) for new, old in zip(operands, node.inputs[-len(operands) :], strict=True)]
    return [batch.tensor.join(axis + 1, *parts)]


@batches("Split")
def _split(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    batch.refuse(node, operands, range(1, len(operands)), "the pieces")
    axis = _axis(batch, node, operands, 1, node.inputs[0].type.ndim)
    made: Sequence[Any] = batch.tensor.split(*operands, n_splits=node.op.len_splits, axis=axis + 1)
    return made


@batches("SortOp", "ArgSortOp")
def _sort(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    axis = _axis(batch, node, operands, 1, node.inputs[0].type.ndim)
    function = batch.tensor.sort if type(node.op).__name__ == "SortOp" else batch.tensor.argsort
    return [function(*operands, axis=axis + 1, kind=node.op.kind)]


@batches("Softmax", "LogSoftmax")
def _softmax(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any] | None:
    """Over one axis or all; several are PyTensor 3's, which knows what to do."""
    [x] = node.inputs
    axis, ndim = node.op.axis, x.type.ndim
    if isinstance(axis, tuple):
        return None
    if axis is None and ndim > 1:
        return batch.expression(type(node.op)(axis=0)(x.flatten()).reshape(x.shape, ndim=ndim))
    return [type(node.op)(axis=(axis or 0) % ndim + 1)(*operands)]


@batches("SoftmaxGrad")
def _softmax_grad(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    spread = [batch.spread(new, old) for new, old in zip(operands, node.inputs, strict=True)]
    ndim = node.outputs[0].type.ndim
    if node.op.axis is None and ndim > 1:
        raise BatchingError("SoftmaxGrad over several axes")
    return [type(node.op)(axis=(node.op.axis or 0) % ndim + 1)(*spread)]


# ---- scalars ---------------------------------------------------------------------------------------------------------


@batches("ScalarFromTensor", "TensorFromScalar")
def _scalar(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    """A batch of scalars is a vector, whichever type a scalar has."""
    return operands


@batches("ScalarOp")
def _scalar_op(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    made: Sequence[Any] = batch.tensor.elemwise.Elemwise(node.op).make_node(*operands).outputs
    return made


@batches("MakeVector")
def _make_vector(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    columns = [
        (x.dimshuffle(0, "x") if batch.is_batched(x, old) else batch.spread(batch.as_tensor(x), old).dimshuffle(0, "x"))
        for x, old in zip(operands, node.inputs, strict=True)
    ]
    return [batch.tensor.join(1, *[x.astype(node.op.dtype) for x in columns])]


# ---- indices ---------------------------------------------------------------------------------------------------------


class _Index:
    """An index for all elements at once that selects what an index selects of each.

    An integer index with the batch axis is paired with the number of the element, as NumPy pairs index arrays: `x[i]`
    becomes `x[arange(size), i]`. NumPy says where the axes of index arrays stand in the result: at the first of them
    if all are neighbours, in front if they are not.

    Args:
        batch: the walk.
        entries: the index of one element: integers, masks, slices, new axes, with their new variables.
        old: the same with the variables before.
        batched: whether what is indexed has the batch axis.

    Attributes:
        entries: the index of all elements.
        layout: the axes of what it selects: "batch", index axes (0, k), others (1, k).
        wanted: the same axes with the batch axis in front, as one element's index has them.
    """

    def __init__(self, batch: Batch, entries: Sequence[Any], old: Sequence[Any], *, batched: bool, ndim: int) -> None:
        arrays = [place for place, entry in enumerate(old) if _is_array(entry)]
        own = [place for place in arrays if batch.is_batched(entries[place], old[place])]
        for place, (new, before) in enumerate(zip(entries, old, strict=True)):
            if place in own and before.type.dtype == "bool":
                raise BatchingError("a mask selects another number of elements for each element of the batch")
            if isinstance(new, slice) and any(map(batch.is_batched, _ends(new), _ends(before))):
                raise BatchingError("a slice would have another length for each element of the batch")
        # A mask that is true in k places of several axes is one index array over them.
        rank = max([1 if old[p].type.dtype == "bool" else old[p].type.ndim for p in arrays], default=0)
        taken = sum(old[p].type.ndim if old[p].type.dtype == "bool" else 1 for p in arrays)
        news = sum(_is_new_axis(entry) for entry in old)
        rest = [(1, k) for k in range(ndim - taken + news)]
        together = not arrays or arrays[-1] - arrays[0] + 1 == len(arrays)
        place = arrays[0] if arrays and together else 0
        axes = [(0, k) for k in range(rank)]
        self.wanted: list[Any] = ["batch", *rest[:place], *axes, *rest[place:]]

        def widened(entry: Any, before: Any) -> Any:
            if not _is_array(before):
                return entry
            entry = batch.as_tensor(entry)
            count = before.type.ndim
            if batch.is_batched(entry, before):
                return entry.dimshuffle(0, *["x"] * (rank - count), *range(1, count + 1))
            return entry.dimshuffle(*["x"] * (rank + 1)) if own and not count else entry

        wide = [widened(new, before) for new, before in zip(entries, old, strict=True)]
        if batched and own:
            number = batch.tensor.arange(batch.size).dimshuffle(0, *["x"] * rank)
            self.entries = (number, *wide)
            self.layout: list[Any] = ["batch", *axes, *rest]
        elif batched:
            self.entries = (slice(None), *wide)
            before = [*rest[:place], *axes, *rest[place:]]
            self.layout = ["batch", *before] if together or not rank else [*axes, "batch", *rest]
        else:
            self.entries = tuple(wide)
            self.layout = [*rest[:place], "batch", *axes, *rest[place:]]

    def selected(self, x: Any) -> Any:
        """The selected places, one element's after the other."""
        found = x[self.entries]
        order = [self.layout.index(axis) for axis in self.wanted]
        return found if order == sorted(order) else found.dimshuffle(*order)

    def written(self, x: Any, y: Any, given: int, op: Any) -> Any:
        """`x` with `y`, which has `given` axes and maybe the batch axis, written to what is selected."""
        count = len(self.wanted) - 1
        first = [0] if y.type.ndim > given else ["x"]
        y = y.dimshuffle(*first, *["x"] * (count - given), *range(y.type.ndim - given, y.type.ndim))
        order = [self.wanted.index(axis) for axis in self.layout]
        flags = {"set_instead_of_inc": op.set_instead_of_inc}
        if getattr(op, "ignore_duplicates", False):
            flags["ignore_duplicates"] = True
        module = __import__(type(op).__module__, fromlist=["inc_subtensor"])
        return module.inc_subtensor(x[self.entries], y.dimshuffle(*order), **flags)


def _is_array(entry: Any) -> bool:
    """Whether an index entry is an integer, an index array or a mask."""
    return hasattr(entry, "type") and hasattr(entry.type, "dtype")


def _is_new_axis(entry: Any) -> bool:
    return not _is_array(entry) and not isinstance(entry, slice)


def _ends(entry: slice) -> list[Any]:
    return [part for part in (entry.start, entry.stop, entry.step) if hasattr(part, "type")]


def _entries(op: Any, operands: Sequence[Any]) -> list[Any]:
    """An index as it is written: its operands in their places, slices as slices."""
    idx_list = getattr(op, "idx_list", None)
    entries = list(operands) if idx_list is None else unflatten(idx_list, operands)
    return [_as_slice(entry) for entry in entries]


def _as_slice(entry: Any) -> Any:
    """A slice that is a variable, as before PyTensor 3, as one of Python's."""
    if isinstance(getattr(entry, "data", None), slice):
        return entry.data
    owner = getattr(entry, "owner", None)
    if owner is not None and type(owner.op).__name__ == "MakeSlice":
        return slice(*[None if "None" in type(x.type).__name__ else x for x in owner.inputs])
    return entry


@batches("Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1")
def _subtensor(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    x, old = operands[0], node.inputs[0]
    entries = _entries(node.op, operands[1:]), _entries(node.op, node.inputs[1:])
    index = _Index(batch, *entries, batched=batch.is_batched(x, old), ndim=old.type.ndim)
    return [index.selected(x)]


@batches("IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1")
def _inc_subtensor(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    (x, y), old = operands[:2], node.inputs[0]
    entries, before = _entries(node.op, operands[2:]), _entries(node.op, node.inputs[2:])
    masked = _masked_write(batch, node, entries, before)
    if masked is not None:
        return masked
    index = _Index(batch, entries, before, batched=True, ndim=old.type.ndim)
    return [index.written(batch.spread(x, old), y, node.inputs[1].type.ndim, node.op)]


def _masked_write(batch: Batch, node: Any, entries: Sequence[Any], before: Sequence[Any]) -> Sequence[Any] | None:
    """`x[mask] = y` selects, where the mask is each element's own and `y` is the same wherever the mask is true."""
    x, y = node.inputs[:2]
    if len(before) != 1 or not _is_array(before[0]) or before[0].type.dtype != "bool":
        return None
    [mask] = before
    around = x.type.ndim - mask.type.ndim
    if not batch.is_batched(entries[0], mask) or (y.type.ndim > around and not y.type.broadcastable[0]):
        return None
    value = y.dimshuffle(*range(1, y.type.ndim)) if y.type.ndim > around else y
    value = value.astype(x.type.dtype)
    place = mask.dimshuffle(*range(mask.type.ndim), *["x"] * around)
    return batch.expression(batch.tensor.switch(place, value if node.op.set_instead_of_inc else x + value, x))


# ---- linear algebra --------------------------------------------------------------------------------------------------


@batches("Blockwise")
def _blockwise(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any] | None:
    """The batched core op, where the node has no batch axes yet."""
    op = node.op
    rule = find(op.core_op)
    if rule is None or any(x.type.ndim > len(core) for x, core in zip(node.inputs, op.inputs_sig, strict=True)):
        return None
    return rule(batch, op.core_op.make_node(*node.inputs), operands)


@batches("Dot", "Dot22")
def _dot(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any] | None:
    """A matrix that is the same for the whole batch is multiplied once, by all rows or columns of the batch."""
    (x, y), (left, right) = operands, node.inputs
    if left.type.ndim != 2 or right.type.ndim != 2:
        return None
    if not batch.is_batched(y, right):
        if left.type.broadcastable[0]:
            return [node.op(x.dimshuffle(0, 2), y).dimshuffle(0, "x", 1)]
        count, rows, inner = (x.shape[axis] for axis in range(3))
        return [node.op(x.reshape((count * rows, inner)), y).reshape((count, rows, y.shape[1]))]
    if not batch.is_batched(x, left):
        if right.type.broadcastable[1]:
            return [node.op(x, y.dimshuffle(1, 0)).dimshuffle(1, 0, "x")]
        count, inner, columns = (y.shape[axis] for axis in range(3))
        product = node.op(x, y.dimshuffle(1, 0, 2).reshape((inner, count * columns)))
        return [product.reshape((x.shape[0], count, columns)).dimshuffle(1, 0, 2)]
    return None


def _scaled(factor: Any, x: Any) -> Any:
    """factor * x; nothing where the factor is the constant 0, as BLAS reads nothing then."""
    data = getattr(factor, "data", None)
    return None if data is not None and not data.any() else factor * x


@batches("Gemv", "Gemm")
def _gemm(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    z, alpha, x, y, beta = node.inputs
    product, rest = alpha * batch.tensor.dot(x, y), _scaled(beta, z)
    return batch.expression(product if rest is None else rest + product)


@batches("Ger")
def _ger(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    a, alpha, x, y = node.inputs
    return batch.expression(a + alpha * batch.tensor.outer(x, y))


@batches("Dot22Scalar")
def _dot22_scalar(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    x, y, alpha = node.inputs
    return batch.expression(alpha * batch.tensor.dot(x, y))


@batches("BatchedDot")
def _batched_dot(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    return batch.expression(batch.tensor.matmul(*node.inputs))


@batches("SearchsortedOp")
def _searchsorted(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    """A search in one sorted vector as it is; in each element's own by counting what comes before."""
    if not any(batch.is_batched(operands[p], node.inputs[p]) for p in range(len(operands)) if p != 1):
        made: Sequence[Any] = node.op.make_node(*operands).outputs
        return made
    tensor = batch.tensor
    x, v, *sorter = node.inputs
    if sorter:
        x = x[sorter[0]]
    v = v.dimshuffle(*range(v.type.ndim), "x")

    def less(a: Any, b: Any) -> Any:  # NaN is last
        return tensor.or_(tensor.lt(a, b), tensor.and_(tensor.isnan(b), tensor.invert(tensor.isnan(a))))

    before = less(x, v) if node.op.side == "left" else tensor.invert(less(v, x))
    return batch.expression(before.sum(axis=-1, dtype=node.outputs[0].type.dtype))


# ---- control ---------------------------------------------------------------------------------------------------------


@batches("CheckAndRaise")
def _check_and_raise(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    """Raises when a condition is false for any element."""
    value, *conditions = operands
    every = [c.all() if batch.is_batched(c, old) else c for c, old in zip(conditions, node.inputs[1:], strict=True)]
    made: Sequence[Any] = node.op.make_node(value, *every).outputs
    return made


# Ops that check their operands when they run, or may.
_CHECKING = frozenset({"ARange", "CheckAndRaise", "Cholesky", "Repeat", "Split"})


def _may_raise(outputs: Sequence[Any]) -> bool:
    """Whether computing this may raise: there is a check, or an index that is computed."""
    for node in order(outputs):
        op = getattr(node.op, "core_op", node.op)
        names = {c.__name__ for c in type(op).__mro__}
        if names & _CHECKING or (is_inner_graph(op) and _may_raise(op.inner_outputs)):
            return True
        if "Subtensor" in type(op).__name__:
            skipped = 2 if "Inc" in type(op).__name__ else 1
            indices = _entries(op, node.inputs[skipped:])
            if any(_is_array(entry) and getattr(entry, "data", None) is None for entry in indices):
                return True
    return False


@batches("IfElse")
def _if_else(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    """Both branches get the axis; a condition of each element's own selects, which is no way to treat a check."""
    condition, *values = operands
    own = batch.is_batched(condition, node.inputs[0])
    if own and _may_raise(node.inputs[1:]):
        raise BatchingError("a branch of IfElse holds a check, which counts for the elements that take the branch")
    spread = [batch.spread(new, old) for new, old in zip(values, node.inputs[1:], strict=True)]
    if not own:
        made: Sequence[Any] = node.op.make_node(condition, *spread).outputs
        return made
    half = len(spread) // 2
    pick = condition if condition.type.dtype == "bool" else batch.tensor.neq(condition, 0)
    return [
        batch.tensor.switch(pick.dimshuffle(0, *["x"] * (a.type.ndim - 1)), a, b)
        for a, b in zip(spread[:half], spread[half:], strict=True)
    ]


@batches("LazyIfElse")
def _lazy_if_else(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any]:
    """A compiled `IfElse` as the one that it was compiled from."""
    condition, *given = node.inputs
    branches = [branch(*given, return_list=True) for branch in (node.op.true_branch, node.op.false_branch)]
    return batch.expression(*batch.library.module("ifelse").ifelse(condition, *branches))


@batches("OpFromGraph")
def _inner_graph(batch: Batch, node: Any, operands: list[Any]) -> Sequence[Any] | None:
    """The inner graph is walked in place, unless its derivatives are not those of its parts."""
    op = node.op
    if has_own_derivatives(op):
        return None
    inputs, outputs = inner_graph(op)
    return Batch(batch.library, dict(zip(inputs, operands, strict=True))).run(outputs)
