"""The way through a graph that makes new nodes where something changes, and leaves the others.

In: the nodes of a graph, operands first. Out: what stands for each variable after it. The graph itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...codegen.graph import order
from ..releases import inner_graph, with_inner_graph

LIMIT = 8  # how often what a rewrite gives is rewritten again


def replaced(outputs: Sequence[Any], replacements: Mapping[Any, Any], known: Iterable[Any] = ()) -> list[Any]:
    """Outputs of a graph in which variables are replaced.

    Args:
        outputs: variables.
        replacements: variables and what stands for them.
        known: variables that stay, whatever they are made of.
    """
    nodes = order(outputs, {*replacements, *known})
    return Rebuilding(lambda op: [], nodes, replacements).outputs(outputs)


class Rebuilding:
    """The way through a graph, operands first, that leaves it as it is and makes new nodes where something changes.

    To node rewriters it is the function graph: they ask it who uses a variable.

    Args:
        tracker: from an op to node rewriters.
        nodes: the graph's, operands first.
        replacements: variables of the graph and what stands for them from the start.
        limit: how often what a rewrite gives is rewritten again.
        ops: by the identity of an op, what stands for it.

    Attributes:
        clients: variable to the (node, position) that use it; those of a new variable are those of the old one.
    """

    def __init__(
        self,
        tracker: Callable[[Any], list[Any]],
        nodes: Sequence[Any],
        replacements: Mapping[Any, Any] | None = None,
        limit: int = LIMIT,
        ops: Mapping[int, Any] | None = None,
    ) -> None:
        self._tracker = tracker
        self.clients: dict[Any, list[tuple[Any, int]]] = {}
        self._ops = ops or {}
        self._new: dict[Any, Any] = dict(replacements or {})
        self._done: set[Any] = set()
        for node in nodes:
            for variable in node.outputs:
                self.clients[variable] = []
            for position, variable in enumerate(node.inputs):
                self.clients.setdefault(variable, []).append((node, position))
        for node in nodes:
            self._visit(node, limit)

    def outputs(self, outputs: Sequence[Any]) -> list[Any]:
        """The variables that stand for these now."""
        return [self._new.get(x, x) for x in outputs]

    def _visit(self, node: Any, left: int) -> None:
        """Finds what a node with finished operands becomes; `left` bounds how often its results are rewritten again."""
        self._done.add(node)
        operands = [self._new.get(x, x) for x in node.inputs]
        made, op = node, self._ops.get(id(node.op))
        if op is not None or any(x is not y for x, y in zip(operands, node.inputs, strict=True)):
            made = node.clone_with_new_inputs(operands) if op is None else op.make_node(*operands)
            self._replace(node.outputs, made.outputs)
            self._done.add(made)
        for rewriter in self._tracker(made.op) if left else ():
            results = rewriter.transform(self, made)
            if results:
                self._finish(results, made, left - 1)
                self._replace(made.outputs, [self._new.get(x, x) for x in results])
                self._replace(node.outputs, [self._new.get(x, x) for x in results])
                return

    def _finish(self, results: Sequence[Any], known: Any, left: int) -> None:
        nodes = order(results, done=self._done)
        for node in nodes:
            for variable in node.outputs:
                self.clients.setdefault(variable, [])
            for position, variable in enumerate(node.inputs):
                self.clients.setdefault(variable, []).append((node, position))
        for result, variable in zip(results, known.outputs, strict=True):
            self.clients.setdefault(result, []).extend(self.clients.get(variable, ()))
        for node in nodes:
            self._visit(node, left)

    def _replace(self, old: Sequence[Any], new: Sequence[Any]) -> None:
        for x, y in zip(old, new, strict=True):
            self._new[x] = y
            if x is not y:
                self.clients.setdefault(y, self.clients.get(x, []))


def kind_of(variable: Any) -> str:
    """The scalar op's class of what an elementwise op made, or the op's class; empty where nothing made it."""
    if variable.owner is None:
        return ""
    op = variable.owner.op
    return type(op.scalar_op if type(op).__name__ == "Elemwise" else op).__name__


def rewritten_inside(op: Any, rewrite: Callable[[list[Any], list[Any]], Sequence[Any]]) -> Any:
    """An op with other outputs of its inner graph, as `rewrite` has them; None where they stay."""
    inputs, outputs = inner_graph(op)
    found = rewrite(inputs, outputs)
    return None if all(x is y for x, y in zip(outputs, found, strict=True)) else with_inner_graph(op, inputs, found)


def has_own_derivatives(op: Any) -> bool:
    """Whether the derivatives of an inner graph are said to be others than those of its parts."""
    names = ("pullback", "pushforward", "lop", "grad", "rop")
    return any(getattr(op, f"{name}_overrides", None) not in (None, "default") for name in names)
