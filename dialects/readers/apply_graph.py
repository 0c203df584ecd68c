"""Reader for the graphs of PyTensor and Aesara: variables, apply nodes, function graphs.

In: a `FunctionGraph`, an `(inputs, outputs)` pair, a compiled function, an output variable, or a list of output
variables. Out: a `Graph`. The two libraries differ in the name of the package only; it is
imported when a graph of it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...codegen.errors import GraphError, MissingInputError, UnsupportedGraphError
from ...codegen.graph import Graph, Input
from ...codegen.parameters import Parameter
from .. import registry
from ..library import Library
from ..random import keys
from ..releases import inner_graphs
from ..rewrites.rebuilding import replaced
from ..rewrites.selection import Rewrite
from ..sparse import lower as sparse
from ..transforms import Transforms, looked_up
from . import xtensors

_LOOKED_AT = 1 << 20  # bytes at once


def read(
    library: Library,
    graph: Any,
    *,
    rewrite: Rewrite = False,
    rng_inputs: bool = False,
    parameter_limit: int | None = None,
) -> Graph:
    """Reads a graph object.

    Args:
        library: the graph library's classes.
        graph: what the user gave.
        rewrite: which of the library's rewrites to apply to a graph that is not compiled yet; see `rewrites`.
        rng_inputs: whether random generators are inputs as any other, and may be outputs, as the data of keys.
            Otherwise one key for all random variables is the first input; see `keys`.
        parameter_limit: constants of floating-point numbers of this many bytes are inputs behind all others, with their
            values as containers; None leaves all constants where they are.

    Shared variables come after the inputs, with their containers; one that a pair lists among its inputs is an input
    as any other.
    """
    containers: dict[Any, Any] = {}
    if isinstance(graph, library.function):
        inputs, outputs, containers = _compiled(library, graph, rng_inputs)
        rewrite = False
    elif isinstance(graph, library.fgraph):
        inputs, outputs = _found(library, graph.inputs, rng_inputs), list(graph.outputs)
    elif isinstance(graph, library.variable) or (
        isinstance(graph, list) and graph and all(isinstance(x, library.variable) for x in graph)
    ):
        outputs = list(graph) if isinstance(graph, list) else [graph]
        inputs = _found(library, _roots(library, outputs), rng_inputs)
    elif isinstance(graph, list | tuple) and len(graph) == 2:
        inputs, outputs = _pair(library, *graph)
    else:
        raise GraphError(
            f"cannot read a graph from {type(graph).__name__}: expected a FunctionGraph, an (inputs, outputs) pair, a "
            "compiled function, an output variable, or a list of them"
        )
    names: list[str | None] = [getattr(output, "name", None) for output in outputs]
    twice = [x for x, count in Counter(inputs).items() if count > 1]
    if twice:
        raise GraphError(f"input {twice[0]} is listed twice")
    asked = xtensors.lower(library, inputs, outputs)
    plain = sparse.lower(library, asked.inputs, asked.outputs, names, containers)
    inputs, outputs, names = plain.inputs, plain.outputs, plain.names
    given, axes = {**asked.given, **plain.given}, {**asked.axes, **plain.axes}
    containers.update(plain.containers)
    key = None
    if not rng_inputs:
        key, inputs, outputs = keys.assign(library, inputs, outputs)
    listed = set(inputs)
    unlisted = [v for v in _roots(library, outputs, stop=listed) if v not in listed]
    shared = [v for v in unlisted if isinstance(given.get(v, v), library.shared)]
    missing = [given.get(v, v) for v in unlisted if v not in set(shared)]
    if missing:
        lines = "\n".join(f"  {_name(variable)}: {variable.type}" for variable in missing)
        needed = ", ".join(_name(output) for output in asked.outputs)
        raise MissingInputError(
            f"the outputs ({needed}) depend on variables that are not inputs; add them to the inputs:\n{lines}"
        )
    containers.update((given.get(variable, variable), given.get(variable, variable)) for variable in shared)
    outputs, large = _large_constants(library, outputs, parameter_limit)
    containers.update(large)
    everything = [*inputs, *shared, *large]
    described = [
        _key_input(variable, given.get(variable, variable), containers)
        if variable is key or (rng_inputs and library.is_generator(variable))
        else _input(library, variable, given.get(variable, variable), number, containers, axes.get(variable, ()))
        for number, variable in enumerate(everything)
    ]
    for item in described[len(inputs) + len(shared) :]:
        item.parameter = True
    for item, variable in zip(described, everything, strict=True):
        item.sparse = plain.parts.get(variable, ())
    # What all of the library's rewrites leave need not have derivatives any more.
    source = (list(everything), list(outputs)) if rewrite == "full" else None
    if rewrite:
        with looked_up(library.module):
            everything, outputs = library.rewrites.apply(everything, outputs, rewrite)
        for item, variable in zip(described, everything, strict=True):
            item.variable = variable
    return Graph(
        described,
        list(zip(outputs, names, strict=True)),
        lambda v: _constant(library, v),
        _describe,
        _inner_nodes,
        Transforms(library),
        rewrite,
        source,
        plain.results,
    )


def _compiled(library: Library, function: Any, rng_inputs: bool) -> tuple[list[Any], list[Any], dict[Any, Any]]:
    """Inputs and outputs of a compiled function's (rewritten) graph; implicit inputs keep their containers."""
    maker = function.maker
    fgraph = maker.fgraph
    explicit, implicit, containers = [], [], {}
    for spec, variable, container in zip(maker.inputs, fgraph.inputs, function.input_storage, strict=True):
        if spec.implicit:
            if library.is_generator(variable) and not rng_inputs:
                continue
            implicit.append(variable)
            containers[variable] = _Storage(container)
        else:
            explicit.append(variable)
    updates = getattr(fgraph, "update_mapping", None)
    if updates:
        raise UnsupportedGraphError(
            "the compiled function updates shared variables; give hlograph its outputs and the updates' expressions as "
            "an (inputs, outputs) pair instead"
        )
    return [*explicit, *implicit], list(fgraph.outputs), containers


class _Storage:
    """A container of a compiled function, read as a shared variable is."""

    def __init__(self, container: Any) -> None:
        self.container = container

    def get_value(self, borrow: bool = True) -> Any:
        """The current value."""
        return self.container.value


def _pair(library: Library, inputs: Any, outputs: Any) -> tuple[list[Any], list[Any]]:
    sides = []
    for what, side in (("inputs", inputs), ("outputs", outputs)):
        items = [side] if isinstance(side, library.variable) else side
        if not isinstance(items, Iterable):
            raise GraphError(f"the {what} are a {type(side).__name__}, expected variables")
        items = list(items)
        for item in items:
            if not isinstance(item, library.variable):
                raise GraphError(f"the {what} hold {item!r} ({type(item).__name__}), expected variables")
        sides.append(items)
    for item in sides[0]:
        if isinstance(item, library.constant):
            raise GraphError(f"{item} is a constant and cannot be an input")
    return sides[0], sides[1]


def _found(library: Library, variables: Iterable[Any], rng_inputs: bool) -> list[Any]:
    """The inputs among a graph's roots when nobody says which are."""
    return [
        variable
        for variable in variables
        if not isinstance(variable, library.shared) and (rng_inputs or not library.is_generator(variable))
    ]


def _roots(library: Library, outputs: Sequence[Any], stop: set[Any] | None = None) -> list[Any]:
    return [variable for variable in _leaves(outputs, stop or set()) if not isinstance(variable, library.constant)]


def _leaves(outputs: Sequence[Any], stop: set[Any]) -> list[Any]:
    """Variables and constants without an owner that the outputs need, in order of first use."""
    found: dict[Any, None] = {}
    seen: set[Any] = set()
    stack = list(reversed(outputs))
    while stack:
        variable = stack.pop()
        if variable in seen:
            continue
        seen.add(variable)
        if variable in stop:
            continue
        if variable.owner is not None:
            stack.extend(reversed(variable.owner.inputs))
        else:
            found[variable] = None
    return list(found)


def _large_constants(library: Library, outputs: list[Any], limit: int | None) -> tuple[list[Any], dict[Any, Parameter]]:
    """Variables in place of a graph's large constants of floating-point numbers, and their values.

    Integers stay, since sizes and checks of indices follow from them; so do arrays of one number.
    """
    if limit is None:
        return outputs, {}
    found: dict[Any, Any] = {}
    values: dict[Any, Parameter] = {}
    for constant in _leaves(outputs, set()):
        data = constant.data if isinstance(constant, library.constant) else None
        if not isinstance(data, np.ndarray) or data.dtype.kind not in "fc":
            continue
        if data.nbytes >= limit and not _is_one_number(data):
            variable = found[constant] = constant.type()
            variable.name = constant.name or f"parameter_{len(values)}"
            values[variable] = Parameter(data, variable.name)
    return replaced(outputs, found), values


def _is_one_number(data: Any) -> bool:
    """Whether all elements of an array are equal; looks no further than to the first that differs."""
    if not data.size:
        return True
    parts = np.array_split(data.reshape(-1), 1 + data.nbytes // _LOOKED_AT) if data.flags.c_contiguous else [data]
    return all(bool((part == data.flat[0]).all()) for part in parts)


def _input(
    library: Library, variable: Any, given: Any, number: int, containers: dict[Any, Any], axes: tuple[str | None, ...]
) -> Input:
    name = variable.name or f"arg{number}"
    dtype = getattr(variable.type, "dtype", None)
    shape = getattr(variable.type, "shape", None)
    dense = type(variable.type).__name__ in ("TensorType", "ScalarType") or hasattr(variable.type, "broadcastable")
    if dtype is None or shape is None or not dense or "Sparse" in type(variable.type).__name__:
        raise UnsupportedGraphError(
            f"input {name} is a {variable.type}; only tensors and scalars are supported so far (no random "
            "generators or lists): pass what it yields as an input"
        )
    sizes = tuple(None if size is None else int(size) for size in shape)
    return Input(given, variable, name, np.dtype(dtype), sizes, containers.get(given), axes=axes)


def _key_input(variable: Any, given: Any, containers: dict[Any, Any]) -> Input:
    name = variable.name or keys.NAME
    container = containers.get(given)
    return Input(given, variable, name, np.dtype(np.uint32), (2,), container, key=keys.IMPLEMENTATION)


def _constant(library: Library, variable: Any) -> Any:
    if not isinstance(variable, library.constant):
        return None
    if isinstance(variable.data, bool | int | float | complex):
        return np.asarray(variable.data)
    return NONE if variable.data is None else variable.data


class _NoneConst:
    """Stands for PyTensor's `NoneConst`, so that a constant is never `None`."""

    def __repr__(self) -> str:
        return "NoneConst"


NONE = _NoneConst()


def _describe(node: Any) -> str:
    op = str(node.op)
    op = op if len(op) < 80 else op[:77] + "..."
    inputs = ", ".join(f"{_name(v)}: {v.type}" for v in node.inputs)
    outputs = ", ".join(_name(v) for v in node.outputs)
    return f"{outputs} = {op}({inputs if len(inputs) < 160 else inputs[:157] + '...'})"


def _name(variable: Any) -> str:
    if variable.name:
        return str(variable.name)
    if variable.owner is not None:
        return f"{type(variable.owner.op).__name__} output"
    text = str(variable)
    return text if len(text) < 30 else text[:27] + "..."


def _inner_nodes(op: Any) -> Sequence[Any] | None:
    core = getattr(op, "core_op", op)  # a Blockwise carries its core op's
    lowering = registry.find(core)
    if lowering is not None and not lowering.inner:
        return None  # its rule does not read them
    graphs = inner_graphs(core)
    return [node for fgraph in graphs for node in fgraph.toposort()] if graphs else None
