"""Ops that are Python: the program calls it, and goes on with what it gives.

In: a node whose op has no StableHLO: a print, a wrapped function, a decomposition that only SciPy has, an op of the
user's own; with `on_unsupported="host"` any that has no rule. Out: a host call of the op's own `perform`, and of those
of the nodes before it whose values do not enter a program. Decisions to know: XLA must know the shapes of what comes
back before it does, so the op has to say them, by the types of its outputs, its `infer_shape` or its signature, or it
is known here that they are an operand's; what cannot come back (a sparse matrix, what has a size that nobody knows
before) waits, and is computed in the call that needs it.
"""

from __future__ import annotations

import copy
import inspect
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import DataDependentSizeError, UnsupportedGraphError, UnsupportedOpError
from ...codegen.graph import Deferred, Lowering, order
from .. import registry
from ..registry import lowers, lowers_python
from ..rewrites.rebuilding import replaced

Lower = Callable[[Sequence[Any]], list[Tensor]]

_REMEDY = "give it an infer_shape, or static shapes to the types of its outputs"


def _refusal(node: Any, deferring: bool = False) -> str:
    """Why a node cannot be a call of Python; "" where it can.

    Args:
        node: the node.
        deferring: whether another call may need what cannot be given to the program.
    """
    for x in node.inputs:
        if not is_tensor(x) and not is_constant(x) and (x.owner is None or not deferring):
            return f"it runs Python, which gets dense tensors here, not a {x.type}"
    for x in node.outputs:
        if not is_tensor(x) and not deferring:
            return f"it runs Python, which gives dense tensors here, not a {x.type}"
    if deferring or _known(node.op) or hasattr(node.op, "infer_shape") or hasattr(node.op, "gufunc_signature"):
        return ""
    for place, x in enumerate(node.outputs):
        for axis, size in enumerate(getattr(x.type, "shape", ())):
            if size is None:
                return f"it runs Python, and the size of axis {axis} of result {place} is known only then: {_REMEDY}"
    return ""


@lowers(
    *("Print", "FromFunctionOp", "PdbBreakpoint"),
    *("MinimizeOp", "MinimizeScalarOp", "RootOp", "RootScalarOp", "QZ"),
    loops=True,
    refuses=_refusal,
)
def host(ctx: Context, node: Any, *operands: Any) -> Sequence[Any]:
    """The op's own `perform`, called on the host."""
    if all(isinstance(x, Tensor) or is_constant(v) for v, x in zip(node.inputs, operands, strict=True)):
        group, tensors = _alone(node, operands)
        dims = _result_dims(ctx, group, lambda sizes: ctx.lower_inner(group.inputs, sizes, tensors))
    else:
        group = group_of(node, lambda x: isinstance(ctx.value(x), Tensor))
        tensors = [ctx.value(x) for x in group.inputs]
        dims = _result_dims(ctx, group, ctx.lower_more)
    types = [(own, np.dtype(x.type.dtype)) for own, x in zip(dims, group.outputs, strict=True)]
    call = hlo.HostCall(group.name, Performed(group), _why(node, operands))
    return hlo.host_call(ctx.builder, call, tensors, types)


def _why(node: Any, operands: Sequence[Any]) -> str:
    """Why an op is called and not compiled."""
    waiting = next((x for x in operands if isinstance(x, Deferred)), None)
    if waiting is not None:
        return f"it needs what stays in Python: {waiting.reason}"
    found = registry.find(node.op)
    if found is None:
        return "it has no lowering rule"
    if not runs_python(node.op):
        return "it wraps what has no lowering rule"
    return "it is Python" if found.name != registry.OF_USERS else "it is an op of the user's own"


def _host_or_deferred(ctx: Context, node: Any, *operands: Any) -> Sequence[Any]:
    """The same; what cannot come back into the program waits for who needs it."""
    other = next((x for x in node.outputs if not is_tensor(x)), None)
    if other is not None:
        return (Deferred(f"{node.op} gives a {other.type}, which is no dense tensor"),) * len(node.outputs)
    try:
        return host(ctx, node, *operands)
    except (UnsupportedOpError, UnsupportedGraphError) as error:
        return (Deferred(str(error)),) * len(node.outputs)


def _alone(node: Any, operands: Sequence[Any]) -> tuple[Group, list[Tensor]]:
    """A node as its op sees it, and what it takes of the program; constants it has.

    One of a batch has more axes than what is computed for one element.
    """
    inputs = []
    for variable, x in zip(node.inputs, operands, strict=True):
        if has_value(variable) and (not isinstance(x, Tensor) or x.dims == np.shape(variable.data)):
            inputs.append(variable)
        elif hasattr(variable.type, "broadcastable"):
            shape = tuple(dim if type(dim) is int else None for dim in x.dims)
            inputs.append(variable.type.clone(shape=shape)())
        else:
            inputs.append(variable.type())
    batched = getattr(node, "batch_ndim", None) is not None
    outputs = node.op.make_node(*inputs).outputs if batched else node.outputs
    tensors = [x for variable, x in zip(inputs, operands, strict=True) if not has_value(variable)]
    made = _apply(node.op)(node.op, inputs, [x.type() for x in outputs])
    return Group((made,), tuple(x for x in inputs if not has_value(x))), tensors


def _result_dims(ctx: Context, group: Group, lower: Lower) -> list[tuple[Dim, ...]]:
    """The sizes of the results.

    Args:
        ctx: the context.
        group: what is run.
        lower: lowers expressions of its inputs' sizes.

    Raises:
        UnsupportedOpError: an op does not say a size.
        DataDependentSizeError: it is computed from data.
    """
    try:
        found = shapes(group)
    except UnsaidError as error:
        raise UnsupportedOpError(
            f"{error} runs Python, and the sizes of its results are known only then: {_REMEDY}"
        ) from None
    return [tuple(_dim(ctx, group, size, lower) for size in own) for own in found]


def _dim(ctx: Context, group: Group, size: Any, lower: Lower) -> Dim:
    """A size of a result."""
    if not hasattr(size, "type"):
        return int(size)
    (found,) = lower([size])
    try:
        return ctx.dim(found, f"a size of {group.name}")
    except DataDependentSizeError as error:
        raise DataDependentSizeError(f"{group.name}: a size of its results depends on data: {error}") from None


lowers_python(host, _refusal)


def runs_python(op: Any) -> bool:
    """Whether an op is called on the host."""
    found = registry.find(op)
    if found is None or found.rule is host:
        return found is not None
    drawn = getattr(op, "rv_op", op)
    if not hasattr(drawn, "rng_fn"):
        return False
    from ..random import sampling

    return sampling.is_python(drawn)


# ---- any op ----------------------------------------------------------------------------------------------------------


def find(op: Any) -> Lowering:
    """The lowering of an op: its own, or a call of the graph library's Python where it has none."""
    found = registry.find(op)
    if found is None or found.rule is host or (found.unsupported is not None and found.unsupported(op)):
        return _ANY
    return _with_deferred(found)


_ANY = Lowering("any op", _host_or_deferred, refuses=partial(_refusal, deferring=True))


@cache
def _with_deferred(lowering: Lowering) -> Lowering:
    """The same, for operands that do not enter the program, of which the rule knows nothing."""

    def rule(ctx: Context, node: Any, *operands: Any) -> Any:
        if any(isinstance(x, Deferred) for x in operands):
            return _host_or_deferred(ctx, node, *operands)
        return lowering.rule(ctx, node, *operands)

    return replace(lowering, rule=rule)


# ---- ops as functions ------------------------------------------------------------------------------------------------

Sizes = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Group:
    """Nodes that are run together.

    Attributes:
        nodes: in the order in which they are run; the last one gives the results.
        inputs: the variables that they take.
    """

    nodes: tuple[Any, ...]
    inputs: tuple[Any, ...]

    @property
    def outputs(self) -> list[Any]:
        """The results."""
        return list(self.nodes[-1].outputs)

    @property
    def name(self) -> str:
        """The ops, without what says where a function of theirs is in memory."""
        return ", ".join(re.sub(r"(, )?\w+=<[^<>]*>", "", str(node.op)) for node in self.nodes)


def group_of(node: Any, is_given: Callable[[Any], bool]) -> Group:
    """A node, and those before it up to the variables that are given."""
    nodes: list[Any] = []
    inputs: dict[Any, None] = {}
    seen = {node}
    stack = [(node, False)]
    while stack:
        current, ready = stack.pop()
        if ready:
            nodes.append(current)
            continue
        stack.append((current, True))
        for x in current.inputs:
            if has_value(x):
                continue
            if x.owner is None or is_given(x):
                inputs.setdefault(x)
            elif x.owner not in seen:
                seen.add(x.owner)
                stack.append((x.owner, False))
    return Group(tuple(nodes), tuple(inputs))


class Performed:
    """Nodes as a function from values to values.

    Attributes:
        nodes: copies, so that nothing of the graph around them is kept.
    """

    def __init__(self, group: Group) -> None:
        fresh: dict[Any, Any] = {x: x.type() for x in group.inputs}
        self.nodes = []
        for node in group.nodes:
            fresh.update((x, x.type()) for x in node.outputs)
            given = [fresh.get(x, x) for x in node.inputs]
            self.nodes.append(_apply(node.op)(node.op, given, [fresh[x] for x in node.outputs]))
        inputs = [fresh[x] for x in group.inputs]
        self._scalars = [place for place, x in enumerate(inputs) if _is_scalar(x)]
        constants = list(dict.fromkeys(x for node in self.nodes for x in node.inputs if has_value(x)))
        self._constants = [x.data for x in constants]
        known = [*inputs, *constants, *(x for node in self.nodes for x in node.outputs)]
        place = {x: number for number, x in enumerate(known)}
        self._places = [[place[x] for x in node.inputs] for node in self.nodes]
        # An inner function that an op compiles has containers of its own, which no two calls may use at once.
        self._locks = [threading.RLock() for node in group.nodes if hasattr(node.op, "_fn")]
        self._prepared = False

    def __call__(self, arrays: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        """The outputs' values."""
        with ExitStack() as stack:
            for lock in self._locks:
                stack.enter_context(lock)
            # A function may write to what it gets.
            values = [*arrays, *(x.copy() if isinstance(x, np.ndarray) else x for x in self._constants)]
            for place in self._scalars:
                values[place] = values[place][()]
            found: list[Any] = []
            for node, places in zip(self.nodes, self._places, strict=True):
                if not self._prepared:
                    node.op.prepare_node(node, None, None, "py")
                given: Any = [values[place] for place in places]
                if getattr(node.op, "destroy_map", None):
                    given = copy.deepcopy(given)  # others may need what it writes to
                storage: list[list[Any]] = [[None] for _ in node.outputs]
                node.op.perform(node, given, storage)
                found = [value for (value,) in storage]
                values += found
            self._prepared = True
            return found


def is_tensor(variable: Any) -> bool:
    """Whether a variable is a dense tensor or a scalar."""
    return type(variable.type).__name__ == "TensorType" or _is_scalar(variable)


def is_generator(variable: Any) -> bool:
    """Whether a variable is a random generator."""
    return any(c.__name__ == "RandomType" for c in type(variable.type).__mro__)


def is_constant(variable: Any) -> bool:
    """Whether a variable is a constant that is no dense tensor: a slice, a sparse matrix, nothing."""
    return has_value(variable) and not is_tensor(variable)


def has_value(variable: Any) -> bool:
    """Whether a variable is a constant."""
    return any(c.__name__ == "Constant" for c in type(variable).__mro__)


def _is_scalar(variable: Any) -> bool:
    return type(variable.type).__name__ == "ScalarType"


def _apply(op: Any) -> Any:
    library = next(c.__module__.partition(".")[0] for c in type(op).__mro__ if c.__name__ == "Op")
    return import_module(f"{library}.graph.basic").Apply


# ---- shapes ---------------------------------------------------------------------------------------------------------


# From the sizes of the inputs and the outputs to the sizes of these, by the op's class.
_KNOWN: dict[str, Callable[[Sizes, Sequence[Any]], Sizes]] = {
    "Print": lambda sizes, outputs: sizes,
    "PdbBreakpoint": lambda sizes, outputs: sizes[1:],  # behind the condition
    **dict.fromkeys(
        ("MinimizeOp", "MinimizeScalarOp", "RootOp", "RootScalarOp"),  # what has as many axes as the start is like it
        lambda sizes, outputs: [sizes[0] if x.type.ndim == len(sizes[0]) else () for x in outputs],
    ),
}


def _known(op: Any) -> Callable[[Sizes, Sequence[Any]], Sizes] | None:
    return next((_KNOWN[c.__name__] for c in type(op).__mro__ if c.__name__ in _KNOWN), None)


class UnsaidError(Exception):
    """An op does not say the shapes of what it gives."""


def shapes(group: Group) -> Sizes:
    """The sizes of the outputs: integers, or expressions of the inputs' shapes.

    Raises:
        UnsaidError: the op that it names does not say them.
    """
    known: dict[Any, Sequence[Any]] = {x: _own_sizes(x) for x in group.inputs}
    unsaid = ""
    for node in group.nodes:
        taken = [x for x in node.inputs if x in known or is_constant(x) or x.owner is None]
        found = _static(node.outputs) or _of_parts(node, known)
        if found is None and len(taken) == len(node.inputs):
            found = _said(node, [known[x] if x in known else _own_sizes(x) for x in node.inputs])
        if found is None:  # whoever needs it does not know either, unless its types say all
            unsaid = unsaid or str(node.op)
            continue
        for x, own in zip(node.outputs, found, strict=True):
            static = getattr(x.type, "shape", ())
            known[x] = tuple(size if a is None else a for size, a in zip(own, static, strict=True))
    if any(x not in known for x in group.outputs):
        raise UnsaidError(unsaid)
    return [known[x] for x in group.outputs]


def with_found_shapes(
    outputs: Sequence[Any],
    values: Mapping[Any, Any],
    runs_python: Callable[[Any], bool],
    drawing: Callable[[Any, Any], tuple[Any, Any]],
) -> tuple[list[Any], tuple[Any, ...]]:
    """The outputs of a graph whose types say the shapes that ops which run Python give for some values; these shapes.

    Args:
        outputs: of the graph.
        values: of its inputs; of generators, the keys.
        runs_python: whether an op does.
        drawing: from a node that draws and a key, to the key after it and a node that draws with a key.

    Raises:
        UnsaidError: other types follow from the declared ones, or a loop or an inner graph draws.
    """
    known, made = dict(values), dict[Any, Any]()
    for node in order(outputs, set(values)):
        python, draws = runs_python(node.op), hasattr(node.op, "rng_fn") and node.inputs[0] in known
        if not draws and not (python and all(map(is_tensor, node.outputs))):
            continue
        performed, before = node, list[Any]()
        if draws:
            following, performed = drawing(node, known[node.inputs[0]])
            before = [following]
        group = group_of(performed, known.__contains__)
        if any(is_generator(x) for run in group.nodes for x in run.inputs):
            raise UnsaidError("a loop or an inner graph draws")
        found = before + Performed(group)([np.asarray(known[x]) for x in group.inputs])
        known.update(zip(node.outputs, found, strict=True))
        if not python:
            continue
        pairs = list(zip(node.outputs, found, strict=True))
        types = [x.type.clone(shape=np.shape(value)) if is_tensor(x) else x.type for x, value in pairs]
        inputs = _retyped(node.inputs, made, values)
        made.update(zip(node.outputs, _apply(node.op)(node.op, inputs, [t() for t in types]).outputs, strict=True))
    return _retyped(outputs, made, values), tuple(x.type.shape for x in made.values() if is_tensor(x))


def _retyped(variables: Sequence[Any], made: Mapping[Any, Any], known: Mapping[Any, Any]) -> list[Any]:
    try:
        return replaced(variables, made, known=known)
    except TypeError as error:
        raise UnsaidError(str(error)) from None


def _of_parts(node: Any, known: Mapping[Any, Sequence[Any]]) -> Sizes | None:
    """The sizes of a sparse matrix that is put together from parts: those of the one that they come from, or data."""
    if type(node.op).__name__ != "CSM":
        return None
    shape = node.inputs[3]
    whole = None if shape.owner is None else shape.owner.inputs[0]
    if shape not in known and type(getattr(shape.owner, "op", None)).__name__ == "CSMProperties":
        return [known[whole]] if whole in known else None
    return [(shape[0], shape[1])]


def _own_sizes(variable: Any) -> tuple[Any, ...]:
    if is_constant(variable):
        return tuple(getattr(variable.data, "shape", ()))
    shape = getattr(variable.type, "shape", ())
    return tuple(variable.shape[axis] if size is None else int(size) for axis, size in enumerate(shape))


def _static(outputs: Sequence[Any]) -> Sizes | None:
    own = [getattr(x.type, "shape", ()) for x in outputs]
    return None if any(size is None for shape in own for size in shape) else own


def _said(node: Any, sizes: Sizes) -> Sizes | None:
    """What an op says about the sizes of its outputs."""
    op = node.op
    known = _known(op)
    if known is not None:
        return known(sizes, node.outputs)
    infer = getattr(op, "infer_shape", None)
    if infer is None:
        signature = getattr(op, "gufunc_signature", None)
        return None if signature is None else _by_signature(signature, sizes)
    # Some have no parameter for the graph that the node is in.
    count = sum(p.default is p.empty for p in inspect.signature(infer).parameters.values())
    try:
        found: Sizes = infer(*((None,) if count > 2 else ()), node, list(sizes))
    except NotImplementedError:
        return None
    except Exception as error:
        if type(error).__name__ == "ShapeError":  # the library's, for an op that cannot say
            return None
        raise
    complete = all(own is not None and len(own) == x.type.ndim for own, x in zip(found, node.outputs, strict=True))
    return found if complete else None


def _by_signature(signature: str, sizes: Sizes) -> Sizes | None:
    """The sizes that a signature such as `(m,k),(k,n)->(m,n)` says; None where the outputs have other names."""
    taken, given = (re.findall(r"\(([^)]*)\)", side) for side in signature.split("->"))
    known: Mapping[str, Any] = {
        name: size
        for names, own in zip(map(_names, taken), sizes, strict=False)
        for name, size in zip(names, own, strict=True)
    }
    wanted = [_names(text) for text in given]
    return [[known[name] for name in names] for names in wanted] if known.keys() >= set().union(*wanted) else None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
