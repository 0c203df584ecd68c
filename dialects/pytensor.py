"""PyTensor's graphs. Imports pytensor, and only when a PyTensor graph is read."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..codegen.emit import Graph
from . import apply_graph

# Rewrites that serve another backend's C code, BLAS calls, in-place execution or fusion. XLA does these itself.
EXCLUDED = (
    "cxx_only",
    "BlasOpt",
    "inplace",
    "fusion",
    "local_careduce_fusion",
    "scan_reduce_trace_prealloc",
    "scan_save_mem_prealloc",
    "reuse_decomposition_multiple_solves",
    "scan_split_non_sequence_decomposition_and_solve",
    "local_useless_unbatched_blockwise",
)


@functools.cache
def library() -> apply_graph.Library:
    """PyTensor's classes, whatever its version."""
    try:
        from pytensor.compile.executor import Function
    except ImportError:  # before PyTensor 3
        from pytensor.compile.function.types import Function
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.basic import Constant, Variable
    from pytensor.graph.fg import FunctionGraph

    return apply_graph.Library(Variable, Constant, SharedVariable, FunctionGraph, Function, rewrite)


def read(graph: Any, *, rewrite: bool = False) -> Graph:
    """Reads a PyTensor graph; see `apply_graph.read`."""
    return apply_graph.read(library(), graph, rewrite=rewrite)


def rewrite(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """PyTensor's own rewrites for a compiled function, without those for other backends, on a copy of the graph."""
    from pytensor.compile.mode import optdb
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.rewriting.db import RewriteDatabaseQuery

    fgraph = FunctionGraph(list(inputs), list(outputs), clone=True)
    optdb.query(RewriteDatabaseQuery(include=["fast_run"], exclude=list(EXCLUDED))).rewrite(fgraph)
    return list(fgraph.inputs), list(fgraph.outputs)
