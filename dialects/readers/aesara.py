"""Aesara's graphs. Imports aesara, and only when such a graph is read."""

from __future__ import annotations

from typing import Any

from ...codegen.graph import Graph
from . import apply_graph


def read(graph: Any, *, rewrite: bool = False) -> Graph:
    """Reads an Aesara graph; see `apply_graph.read`."""
    return apply_graph.read(apply_graph.library("aesara"), graph, rewrite=rewrite)
