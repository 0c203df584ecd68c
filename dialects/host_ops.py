"""Ops as Python functions: what their own `perform` does, and the shapes of what they give.

In: a node. Out: a function of NumPy arrays that does what the node does, with the nodes before it whose values do not
enter a program; the sizes of its results, as far as the ops say them: by the types of their outputs, by their
`infer_shape`, by their signature, or because it is known here that they are an operand's.
"""

from __future__ import annotations

import copy
import inspect
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ..codegen.graph import order
from .rewrites.rebuilding import replaced

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


def alone(op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> Group:
    """A node of its own."""
    node = _apply(op)(op, list(inputs), [variable.type() for variable in outputs])
    return Group((node,), tuple(x for x in inputs if not has_value(x)))


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
        self._steps = [(_performer(node), [place[x] for x in node.inputs]) for node in self.nodes]
        # An inner function that an op compiles has containers of its own, which no two calls may use at once.
        self._locks = [threading.RLock() for node in group.nodes if hasattr(node.op, "_fn")]
        self._prepared = False

    def __call__(self, arrays: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        """The outputs' values."""
        if not self._locks:
            return self._run(arrays)
        with ExitStack() as stack:
            for lock in self._locks:
                stack.enter_context(lock)
            return self._run(arrays)

    def _run(self, arrays: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        # A function may write to what it gets.
        values = [*arrays, *(x.copy() if isinstance(x, np.ndarray) else x for x in self._constants)]
        for place in self._scalars:
            values[place] = values[place][()]
        found: list[Any] = []
        for node, (perform, places) in zip(self.nodes, self._steps, strict=True):
            if not self._prepared:
                node.op.prepare_node(node, None, None, "py")
            found = perform([values[place] for place in places])
            values += found
        self._prepared = True
        return found


def _performer(node: Any) -> Callable[[list[Any]], list[Any]]:
    """A node's `perform` as a function of values."""
    count = len(node.outputs)
    writes = bool(getattr(node.op, "destroy_map", None))

    def run(values: list[Any]) -> list[Any]:
        storage: list[list[Any]] = [[None] for _ in range(count)]
        node.op.perform(node, copy.deepcopy(values) if writes else values, storage)  # others may need what it writes to
        return [value for (value,) in storage]

    return run


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
    """The library's class of nodes."""
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


def says_shapes(op: Any) -> bool:
    """Whether an op says what the shapes of its outputs are."""
    return _known(op) is not None or hasattr(op, "infer_shape") or hasattr(op, "gufunc_signature")


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
    """What an op says of the sizes of its outputs."""
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
