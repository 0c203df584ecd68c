"""A graph with a batch axis in front.

In: the outputs of a graph, and for each of its inputs the variable to put in its place: one of the same type, or one
with a further leading axis. Out: the outputs; those that depend on a batched input have the axis too.

This is PyTensor's `vectorize_graph`, node by node through its `_vectorize_node`, with two differences. What does not
depend on the batch stays as it is, sizes above all: all elements of a batch have the same shape, so the shape of a
batched array is that of one element, and `zeros(x.shape[0])` needs no batch axis. And ops for which PyTensor falls back
to a `Blockwise` of the op have rules (`batching_rules.py`). A rule writes the node's outputs for the new operands, or
says what the op is in terms of others (`Batch.expression`), which are batched in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from importlib import import_module
from typing import Any

from ...codegen.errors import BatchingError
from ..library import Library
from ..registry import LIBRARIES
from ..releases import axis_property, inner_graph
from ..walk import order
from . import plain_batching

Rule = Callable[["Batch", Any, list[Any]], Sequence[Any] | None]

_RULES: dict[str, Rule] = {}


def batches(*ops: str) -> Callable[[Rule], Rule]:
    """Registers a rule for ops by class name: from the node and its new operands, at least one of which has the axis,
    to its new outputs; None leaves the node to PyTensor."""

    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(ops, rule))
        return rule

    return register


def find(op: Any) -> Rule | None:
    """The rule for an op, by the names of the library's classes that it derives from; or None."""
    import_module(".batching_rules", __package__)  # registers the rules
    classes = [c for c in type(op).__mro__ if c.__module__.partition(".")[0] in LIBRARIES]
    return next((_RULES[c.__name__] for c in classes if c.__name__ in _RULES), None)


def vectorize(library: Library, replacements: Mapping[Any, Any], outputs: Sequence[Any]) -> list[Any]:
    """The outputs of the batched graph.

    Args:
        library: the graph library's classes.
        replacements: input to the variable in its place.
        outputs: the graph's.

    Raises:
        BatchingError: the library has no `vectorize_graph`, or an op cannot take a batch axis.
    """
    return Batch(library, replacements).run(outputs)


def of_one_element(library: Library, variable: Any, rank: int) -> Any | None:
    """A variable for one element of a batch, if it is plain to see that it is the same for all.

    PyTensor's gradient of a `Blockwise` gives shapes a batch axis (`broadcast_to(x.shape, ...)`), and all that is
    computed from them.

    Args:
        library: the graph library's classes.
        variable: has the batch axes in front.
        rank: their number.

    Returns:
        A variable without these axes, or None.
    """
    found = _of_one_element(library, variable, rank)
    if found is None and all(variable.type.broadcastable[:rank]):
        return variable.dimshuffle(*range(rank, variable.type.ndim))
    return found


def _of_one_element(library: Library, variable: Any, rank: int) -> Any | None:
    """The same by what made the variable."""
    owner = variable.owner
    if owner is None:
        return None
    op, name = owner.op, type(owner.op).__name__
    if name == "Alloc":
        value, *shape = owner.inputs
        if value.type.ndim <= variable.type.ndim - rank:
            return library.module("tensor").alloc(value, *shape[rank:])
        return None
    if name == "Subtensor" and op.idx_list[:rank] == (slice(None),) * rank:
        core = of_one_element(library, owner.inputs[0], rank)
        return None if core is None else type(op)(op.idx_list[rank:])(core, *owner.inputs[1:])
    if name in ("DimShuffle", "ExpandDims"):
        given = [axis for axis in op.new_order[:rank] if axis != "x"]  # others are stretched
        if given != list(range(len(given))):
            return None
        [inner] = owner.inputs
        core = of_one_element(library, inner, len(given)) if given else inner
        order = [axis if axis == "x" else axis - len(given) for axis in op.new_order[rank:]]
        return None if core is None else core.dimshuffle(*order)
    if hasattr(op, "scalar_op") and name == "Elemwise":
        cores = [of_one_element(library, x, rank) for x in owner.inputs]
        return None if any(core is None for core in cores) else op(*cores)
    axis = axis_property(op) if name == "Join" else None
    if axis is not None and axis >= rank:
        cores = [of_one_element(library, x, rank) for x in owner.inputs]
        return None if any(core is None for core in cores) else library.module("tensor").join(axis - rank, *cores)
    if hasattr(op, "scalar_op") and op.axis is not None and min(op.axis) >= rank:
        core = of_one_element(library, owner.inputs[0], rank)
        return None if core is None else op.clone(axis=tuple(axis - rank for axis in op.axis))(core)
    return None


def unroll_blockwise(
    library: Library, node: Any, single: Container[int] = ()
) -> tuple[list[Any], list[Any], list[list[int]]]:
    """A `Blockwise` node as a graph in which the ops themselves have the batch axes.

    Args:
        library: the graph library's classes.
        node: the node; an axis stretches where the operand's type says 1.
        single: operands that come without batch axes, the same for the whole batch; not all of them.

    Returns:
        The graph's inputs, its outputs, and for each input the batch axes that the node's operand has and it has not.

    Raises:
        BatchingError: the core op cannot take a batch axis.
    """
    op = node.op
    counts = [x.type.ndim - len(core) for x, core in zip(node.inputs, op.inputs_sig, strict=True)]
    rank = max(counts)
    if is_inner_graph(op.core_op):
        inputs, outputs = inner_graph(op.core_op)
    else:
        core = op._create_dummy_core_node(node.inputs)
        inputs, outputs = [_as_given(x) for x in core.inputs], list(core.outputs)
    stretched: list[list[int]] = [[] for _ in inputs]
    for axis in reversed(range(rank)):
        flags = [place in single or x.type.broadcastable[axis] for place, x in enumerate(node.inputs)]
        mapped = [place not in single and (all(flags) or not flag) for place, flag in enumerate(flags)]
        fresh = [with_axis(x, all(flags)) if given else x for x, given in zip(inputs, mapped, strict=True)]
        batch = Batch(library, dict(zip(inputs, fresh, strict=True)))
        results = [batch.spread(new, old) for new, old in zip(batch.run(outputs), outputs, strict=True)]
        for place, given in enumerate(mapped):
            if not given and place not in single:
                stretched[place].insert(0, axis)
        inputs, outputs = fresh, results
    if any(type(x.op) is type(op) and x.op.core_op == op.core_op for x in order(outputs, set(inputs))):
        raise BatchingError(f"{type(op.core_op).__name__} has no rule for a batch axis")
    return inputs, outputs, stretched


def _as_given(variable: Any) -> Any:
    """The tensor that a node has turned into a scalar, which can have no batch axis; others as they are."""
    owner = variable.owner
    return owner.inputs[0] if owner is not None and type(owner.op).__name__ == "ScalarFromTensor" else variable


def with_axis(variable: Any, single: bool = False) -> Any:
    """A variable of a type with a further leading axis, of size 1 if `single`."""
    kind = variable.type
    if not hasattr(kind, "shape"):
        raise BatchingError(f"{variable} is a {kind}, which has no axes")
    return kind.clone(shape=(1 if single else None, *kind.shape))(name=variable.name)


class Batch:
    """The walk.

    Args:
        library: the graph library's classes.
        values: variable of the graph to the one in its place; grows as the walk goes on.
    """

    def __init__(self, library: Library, values: Mapping[Any, Any]) -> None:
        self.library = library
        self.values = dict(values)
        self._batched = [new for old, new in self.values.items() if self.is_batched(new, old)]

    @property
    def tensor(self) -> Any:
        """The library's `tensor` module."""
        return self.library.module("tensor")

    @property
    def size(self) -> Any:
        """The number of elements of the batch."""
        return self._batched[0].shape[0]

    def run(self, outputs: Sequence[Any]) -> list[Any]:
        """The outputs with what is known put in place of their inputs."""
        for node in order(outputs, self.values):
            operands = [self.values.setdefault(x, x) for x in node.inputs]
            if all(new is old for new, old in zip(operands, node.inputs, strict=True)):
                continue
            results = self._node(node, operands)
            for old, new in zip(node.outputs, results, strict=True):
                self.values.setdefault(old, new)
        return [self.values.get(output, output) for output in outputs]

    def expression(self, *outputs: Any) -> list[Any]:
        """The node in terms of other ops: its outputs in terms of its (old) inputs, which are batched in turn."""
        return self.run(outputs)

    def _node(self, node: Any, operands: list[Any]) -> Sequence[Any]:
        """The outputs of a node for new operands."""
        flags = [self.is_batched(new, old) for new, old in zip(operands, node.inputs, strict=True)]
        if not any(flags):
            made: Sequence[Any] = node.op.make_node(*operands).outputs
            return made
        name = type(node.op).__name__
        rule = find(node.op)
        try:
            results = None if rule is None else rule(self, node, operands)
            if results is None:
                results = self._default(node, operands)
        except BatchingError:
            raise
        except (NotImplementedError, TypeError, ValueError, AttributeError) as error:
            raise BatchingError(f"{name} cannot take a batch axis: {error}") from None
        for old, new in zip(node.outputs, results, strict=True):
            if new.type.ndim - old.type.ndim not in (0, 1):
                raise BatchingError(f"{name} cannot take a batch axis: {old.type} became {new.type}")
        return results

    def _default(self, node: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """The op's or the library's own batched node, or what stands in for the library's."""
        own = getattr(node.op, "batched_node", None)  # of our ops
        if own is not None:
            found: Sequence[Any] = own(node, *operands).outputs
            return found
        try:
            vectorize_node = self.library.module("graph.replace")._vectorize_node
        except (ImportError, AttributeError):
            return plain_batching.batched(self, node, operands)
        made = vectorize_node(node.op, node, *operands)
        outputs: Sequence[Any] = made.outputs if hasattr(made, "outputs") else made
        return outputs

    @staticmethod
    def is_batched(new: Any, old: Any) -> bool:
        """Whether a new operand has the batch axis."""
        return getattr(new.type, "ndim", None) != getattr(old.type, "ndim", None)

    def refuse(self, node: Any, operands: Sequence[Any], places: Sequence[int], what: str) -> None:
        """Raises `BatchingError` when one of these operands, which decide shapes, has the batch axis."""
        if any(self.is_batched(operands[place], node.inputs[place]) for place in places):
            raise BatchingError(f"{what} of {type(node.op).__name__} would differ from element to element of the batch")

    def spread(self, new: Any, old: Any) -> Any:
        """An operand with the batch axis, repeated along it if it does not have it."""
        if self.is_batched(new, old):
            return new
        return self.tensor.alloc(new, self.size, *[new.shape[axis] for axis in range(old.type.ndim)])

    def as_tensor(self, x: Any) -> Any:
        """A scalar of a scalar type as one of a tensor type; others as they are."""
        return x if hasattr(x.type, "broadcastable") else self.tensor.basic.tensor_from_scalar(x)


def is_inner_graph(op: Any) -> bool:
    """Whether an op is an inner graph of other ops."""
    return any(c.__name__ == "OpFromGraph" for c in type(op).__mro__)


def has_own_derivatives(op: Any) -> bool:
    """Whether the derivatives of an inner graph are said to be others than those of its parts."""
    names = ("pullback_overrides", "pushforward_overrides", "lop_overrides", "grad_overrides", "rop_overrides")
    return any(getattr(op, name, None) is not None for name in names)
