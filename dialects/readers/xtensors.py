"""Graphs with named dimensions (`pytensor.xtensor`) as graphs of plain tensors.

In: inputs and outputs of a graph, some of which are xtensor variables. Out: the same graph without xtensor ops, made by
the library's own rewrites (`lower_xtensor`) on new nodes; for each new input the variable that it stands for, and what
its axes are called. The library's xtensor modules are imported only for a graph that holds something of theirs.

Decision to know: the same name on two inputs is the same size, checked at the call. Names of dimensions that the graph
itself changes the size of (`concat`, a slice, `rename`) are an exception: there two inputs may differ, and only the
first of them has the name. Where the graph needs them to agree it says so itself.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ...codegen.dims import NAME, RESERVED
from ...codegen.errors import UnsupportedGraphError
from ...codegen.graph import fresh, order
from ..library import Library
from ..releases import inner_graph, inner_graphs
from ..rewrites.rebuilding import Rebuilding, has_own_derivatives
from ..transforms import Plain, looked_up

_DEPTH = 32  # how often what a rewrite gives is rewritten again


def is_xtensor(variable: Any) -> bool:
    """Whether a variable has named dimensions."""
    return type(variable.type).__name__ == "XTensorType"


def lower(library: Library, inputs: Sequence[Any], outputs: Sequence[Any]) -> Plain:
    """The graph without xtensor ops, as it is where it has none.

    Raises:
        UnsupportedGraphError: the release of the library has no such rewrites, or an inner graph with gradients of its
            own holds xtensor ops.
    """
    nodes = order(outputs, set(inputs)) if f"{library.package}.xtensor" in sys.modules else []
    if not any(_belongs(x) for x in (*inputs, *outputs)) and not any(_holds(node.op) for node in nodes):
        return Plain(list(inputs), list(outputs))
    given: dict[Any, Any] = {}
    seeds: dict[Any, Any] = {}
    roots = dict.fromkeys([*inputs, *(x for node in nodes for x in node.inputs if x.owner is None), *outputs])
    for x in (x for x in roots if _belongs(x) and (x in set(inputs) or x.owner is None)):
        plain, seeds[x] = _plain(library, x)
        given[plain] = x
    with looked_up(library.module):
        asked = [_as_plain(library, x) for x in outputs]
        found = Rebuilding(_tracker(library), order(asked, set(inputs)), seeds, _DEPTH).outputs(asked)
    stands = {old: new for new, old in given.items()}
    axes = _names(
        [(stands[x], x.type.dims) for x in roots if x in stands and is_xtensor(x)],
        {name for node in nodes if _of_xtensor(node.op) for name in _resized_by(node)},
    )
    return Plain([stands.get(x, x) for x in inputs], found, given=given, axes=axes)


def own_dims(variables: Sequence[Any]) -> dict[Any, tuple[str | None, ...]]:
    """Names for the axes of xtensor variables, no two the same: sizes agree where the graph needs it, nowhere else."""
    taken: set[str] = set()
    return {
        x: tuple(
            fresh(_root(name), taken) if size is None else None
            for name, size in zip(x.type.dims, x.type.shape, strict=True)
        )
        for x in variables
        if is_xtensor(x)
    }


# ---- what is an xtensor ---------------------------------------------------------------------------------------------


def _of_xtensor(thing: Any) -> bool:
    return any(base.__module__.split(".")[1:2] == ["xtensor"] for base in type(thing).__mro__)


def _belongs(variable: Any) -> bool:
    return _of_xtensor(variable.type)


def _holds(op: Any) -> bool:
    """Whether an op is one of xtensors, or has an inner graph with such."""
    pending = [op]
    while pending:
        op = pending.pop()
        if _of_xtensor(op):
            return True
        graphs = inner_graphs(getattr(op, "core_op", op))
        if any(_belongs(x) for fgraph in graphs for x in fgraph.inputs):
            return True
        pending.extend(node.op for fgraph in graphs for node in fgraph.apply_nodes)
    return False


# ---- plain variables ------------------------------------------------------------------------------------------------


def _plain(library: Library, x: Any) -> tuple[Any, Any]:
    """A plain variable, and the xtensor expression of it that stands for x."""
    basic = library.module("xtensor.basic")
    if not is_xtensor(x):
        generator = library.module("tensor.random.type").random_generator_type(name=x.name)
        return generator, library.module("xtensor.random.type").rng_to_xrng(generator)
    kind = library.module("tensor.type").TensorType(x.type.dtype, x.type.shape)
    if isinstance(x, library.constant):
        plain = library.module("tensor.variable").TensorConstant(kind, x.data, name=x.name)
    else:
        plain = kind(name=x.name)
    return plain, basic.xtensor_from_tensor(plain, dims=x.type.dims)


def _as_plain(library: Library, x: Any) -> Any:
    if is_xtensor(x):
        return library.module("xtensor.basic").tensor_from_xtensor(x)
    return library.module("xtensor.random.type").xrng_to_rng(x) if _belongs(x) else x


# ---- the library's rewrites -----------------------------------------------------------------------------------------


@functools.cache
def _tracker(library: Library) -> Any:
    """A table of the library's rewrites that lower an op, and ours for inner graphs."""
    library.module("xtensor.rewriting")
    try:
        database = library.module("compile.mode").optdb["lower_xtensor"]
    except KeyError:
        raise UnsupportedGraphError(
            f"this release of {library.package} has no rewrites of xtensor ops to tensor ops; upgrade it, or write the "
            "graph with plain tensors"
        ) from None
    query = library.module("graph.rewriting.db").RewriteDatabaseQuery(include=["fast_run"])
    tracker = library.module("graph.rewriting.basic").OpToRewriterTracker()
    for rewriter in database.query(query).get_node_rewriters():
        tracker.add_tracker(rewriter)
    inner = library.module("compile.builders").OpFromGraph
    tracker.add_tracker(library.module("graph.rewriting.basic").node_rewriter([inner])(_inlined(library)))
    return functools.cache(tracker.get_trackers)


def _inlined(library: Library) -> Any:
    """Puts an inner graph with xtensor ops in the place of its node."""
    clone_replace = library.module("graph.replace").clone_replace

    def inline(fgraph: Any, node: Any) -> list[Any] | None:
        if not _holds(node.op):
            return None
        if has_own_derivatives(node.op):
            raise UnsupportedGraphError(
                f"{node.op} holds xtensor ops and has gradients of its own, which would be lost; write its graph with "
                "plain tensors (`x.values`)"
            )
        inputs, outputs = inner_graph(node.op)
        found: list[Any] = clone_replace(outputs, dict(zip(inputs, node.inputs, strict=True)), rebuild_strict=False)
        return found

    return inline


# ---- names ----------------------------------------------------------------------------------------------------------


def _resized_by(node: Any) -> Iterator[str]:
    """Names of dimensions that have another size behind a node than in front of it."""
    kind, x = type(node.op).__name__, node.inputs[0]
    if kind == "Concat":
        yield node.op.dim
    elif kind == "Rename":
        yield from set(x.type.dims) ^ set(node.op.new_dims)
    elif kind in ("Index", "IndexUpdate"):
        for name, entry in zip(x.type.dims, node.inputs[1 if kind == "Index" else 2 :], strict=False):
            if name in getattr(entry.type, "dims", [name] if getattr(entry.type, "ndim", None) is None else []):
                yield name


def _root(name: str) -> str:
    if NAME.fullmatch(name) and name not in RESERVED:
        return name
    text = re.sub(r"[^0-9a-zA-Z_]", "_", name)
    return text if NAME.fullmatch(text) and text not in RESERVED else f"dim_{text}"


def _names(roots: Sequence[tuple[Any, tuple[str, ...]]], resized: set[str]) -> dict[Any, tuple[str | None, ...]]:
    """Names for the axes of each root; different dimensions get different names."""
    taken: set[str] = set()
    known = {name: "" for _, dims in roots for name in dims}
    for name in sorted(known, key=lambda name: _root(name) != name):  # those that may keep theirs come first
        known[name] = fresh(_root(name), taken)
    used: set[str] = set()
    found = {}
    for root, dims in roots:
        found[root] = tuple(None if name in resized & used else known[name] for name in dims)
        used.update(dims)
    return found
