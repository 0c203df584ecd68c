"""The walk through a graph of variables and nodes, and what made a variable."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any


def order(outputs: Sequence[Any], known: Container[Any] = (), done: Container[Any] = ()) -> list[Any]:
    """The nodes that the outputs need, depth first, operands from left to right and before what uses them.

    Args:
        outputs: variables.
        known: variables that need no node.
        done: nodes to leave out, with those that only they need.
    """
    seen: set[Any] = set()
    found: list[Any] = []
    stack = [(x.owner, False) for x in reversed(outputs) if x.owner is not None and x not in known]
    while stack:
        node, ready = stack.pop()
        if ready:
            found.append(node)
        elif node not in seen and node not in done:
            seen.add(node)
            stack.append((node, True))
            stack.extend((x.owner, False) for x in reversed(node.inputs) if x.owner is not None and x not in known)
    return found


def kind_of(variable: Any) -> str:
    """The scalar op's class of what an elementwise op made, or the op's class; empty where nothing made it."""
    if variable.owner is None:
        return ""
    op = variable.owner.op
    return type(op.scalar_op if type(op).__name__ == "Elemwise" else op).__name__
