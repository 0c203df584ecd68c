"""Differences between releases of PyTensor and Aesara in what an op says of itself.

In: an op or a node. Out: the same answer for all releases. A rule asks here; a name that has changed, or an operand
that has become a property, is in this file and nowhere else. Which *names* of ops and rewrites a release has is no
matter of this file: rules for names that do not exist are never asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def axis_property(op: Any) -> int | None:
    """The axis of a `Join`, `Split`, `SortOp` or `ArgSortOp` that has it as a property (PyTensor 3.3).

    None where it is an operand: the first one of `Join`, the second one of the others.
    """
    axis: int | None = getattr(op, "axis", None)
    return axis


def inner_graph(op: Any) -> tuple[list[Any], list[Any]]:
    """Inputs and outputs of an op's inner graph, to make further graphs of.

    Of a graph that the library holds frozen (PyTensor 3.3), whose nodes cannot be made again with other operands, these
    are those of a copy.
    """
    fgraph = op.fgraph
    if hasattr(fgraph, "unfreeze"):
        fgraph = fgraph.unfreeze()
    return list(fgraph.inputs), list(fgraph.outputs)


def inner_graphs(op: Any) -> list[Any]:
    """The function graphs inside of an op, of which `LazyIfElse` (PyTensor 3.3) has two."""
    fgraph = getattr(op, "fgraph", None)
    if fgraph is not None:
        return [fgraph]
    return list(op.inner_graphs.values()) if type(op).__name__ == "LazyIfElse" else []


def with_initial(op: Any) -> bool:
    """Whether a maximum or minimum of no elements is the smallest or largest number (PyTensor 3.3), and no error."""
    return bool(getattr(op, "initial", False))


def shape_arguments(arguments: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Node and shapes of the arguments of `Op.infer_shape`; before PyTensor 3.3 the function graph is in front."""
    node, shapes = arguments[-2:]
    return node, shapes
