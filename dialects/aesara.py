"""Aesara's graphs. Imports aesara, and only when an Aesara graph is read."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..codegen.emit import Graph
from . import apply_graph
from .pytensor import EXCLUDED


@functools.cache
def library() -> apply_graph.Library:
    """Aesara's classes."""
    from aesara.compile.function.types import Function
    from aesara.compile.sharedvalue import SharedVariable
    from aesara.graph.basic import Constant, Variable
    from aesara.graph.fg import FunctionGraph

    return apply_graph.Library(Variable, Constant, SharedVariable, FunctionGraph, Function, rewrite)


def read(graph: Any, *, rewrite: bool = False) -> Graph:
    """Reads an Aesara graph; see `apply_graph.read`."""
    return apply_graph.read(library(), graph, rewrite=rewrite)


def rewrite(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Aesara's own rewrites for a compiled function, without those for other backends, on a copy of the graph."""
    from aesara.compile.mode import optdb
    from aesara.graph.fg import FunctionGraph
    from aesara.graph.rewriting.db import RewriteDatabaseQuery

    fgraph = FunctionGraph(list(inputs), list(outputs), clone=True)
    optdb.query(RewriteDatabaseQuery(include=["fast_run"], exclude=list(EXCLUDED))).rewrite(fgraph)
    return list(fgraph.inputs), list(fgraph.outputs)
