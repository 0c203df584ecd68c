"""PyTensor's graphs. Imports pytensor, and only when such a graph is read."""

from __future__ import annotations

from typing import Any

from ...codegen.graph import Graph
from . import apply_graph


def read(graph: Any, *, rewrite: bool = False, rng_inputs: bool = False) -> Graph:
    """Reads a PyTensor graph; see `apply_graph.read`."""
    return apply_graph.read(apply_graph.library("pytensor"), graph, rewrite=rewrite, rng_inputs=rng_inputs)
