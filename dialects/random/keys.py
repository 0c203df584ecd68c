"""One key for all random variables of a graph.

In: a graph whose random variables read generators. Out: the same graph as a function of one key, without generators.

The order, which docs/random.md promises: walk depth first from the outputs, in order, operands from left to right;
inner graphs (`OpFromGraph`) are walked where they stand. Each state of a generator that a random variable reads gets
the next subkey when the walk is first done with such a variable. `jax.random.split(key, number of states)` gives the
subkeys.

Decision to know: a subkey belongs to the state of a generator, not to the node. As a rule that is the same, for every
random variable has a generator of its own, or the one that another has left behind. Where two nodes read one state,
they see the same random numbers in PyTensor; a gradient through an inner graph relies on it, since it holds the random
variables a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ...codegen.errors import UnsupportedGraphError
from ..library import Library
from ..releases import inner_graph
from ..walk import order

NAME = "key"
IMPLEMENTATION = "threefry2x32"


@dataclass(frozen=True)
class _State:
    """A generator's state: after `draws` draws, counted from the variable that it comes from."""

    generator: Any
    draws: int = 0


@dataclass
class _Scope:
    """The graph, or an inner graph where it is used: what stands for its variables, and for its generators."""

    values: dict[Any, Any] = field(default_factory=dict)
    states: dict[Any, _State] = field(default_factory=dict)

    def state(self, variable: Any) -> _State:
        """A generator's state; that of one without a history is its first."""
        return self.states.get(variable) or _State(variable)


def assign(library: Library, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, list[Any], list[Any]]:
    """Puts draws from one key in place of the random variables.

    Args:
        library: PyTensor's classes.
        inputs: the graph's, generators left out: the walk stops there.
        outputs: the graph's.

    Returns:
        The key (uint32[2]), the inputs with the key in front, the outputs; None and the graph as it is when nothing in
        it reads a generator.

    Raises:
        UnsupportedGraphError: an input or an output is a generator, or something else than a random variable reads one.
    """
    assignment = _Assignment(library, inputs)
    for what, variables in (("input", inputs), ("output", outputs)):
        for variable in filter(assignment.is_generator, variables):
            raise UnsupportedGraphError(
                f"{what} {variable.name or variable} is a random generator; leave it out: a function with random "
                "variables takes one key, as its first argument, and splits it for all of them"
            )
    assignment.number(outputs, _Scope())
    if not assignment.places:
        return None, list(inputs), list(outputs)
    key, results = assignment.build(outputs)
    return key, [key, *inputs], results


class _Assignment:
    def __init__(self, library: Library, inputs: Sequence[Any]) -> None:
        self._random_variable = library.module("tensor.random.op").RandomVariable
        self._generator = library.module("tensor.random.type").RandomType
        self._inner_graph = library.module("compile.builders").OpFromGraph
        self._inputs = set(inputs)
        self._holds: dict[Any, bool] = {}
        self.places: dict[_State, int] = {}

    def is_generator(self, variable: Any) -> bool:
        """Whether a variable is a generator."""
        return isinstance(variable.type, self._generator)

    # ---- the order --------------------------------------------------------------------------------------------------

    def number(self, outputs: Sequence[Any], scope: _Scope) -> None:
        """Gives every state that a random variable reads its place."""
        for node in order(outputs, self._inputs):
            if isinstance(node.op, self._random_variable):
                state = self._read(node, scope)
                self.places.setdefault(state, len(self.places))
            elif self._is_inlined(node.op):
                inputs, results = inner_graph(node.op)
                inner = self._inner_scope(node, scope, inputs)
                self.number(results, inner)
                self._leave(node, scope, inner, results)
            else:
                self._refuse_reading(node)

    def _read(self, node: Any, scope: _Scope) -> _State:
        """The state that a random variable reads; what it leaves behind is one draw further."""
        state = scope.state(node.inputs[0])
        scope.states[node.outputs[0]] = _State(state.generator, state.draws + 1)
        return state

    def _inner_scope(self, node: Any, scope: _Scope, inputs: Sequence[Any]) -> _Scope:
        pairs = zip(inputs, node.inputs, strict=True)
        return _Scope(states={inner: scope.state(outer) for inner, outer in pairs if self.is_generator(outer)})

    def _leave(self, node: Any, scope: _Scope, inner: _Scope, results: Sequence[Any]) -> None:
        for outer, result in zip(node.outputs, results, strict=True):
            if self.is_generator(outer):
                scope.states[outer] = inner.state(result)

    def _is_inlined(self, op: Any) -> bool:
        """Whether an op is an inner graph that reads or passes on a generator."""
        if not isinstance(op, self._inner_graph):
            return False
        if op not in self._holds:
            fgraph = op.fgraph
            self._holds[op] = any(map(self.is_generator, [*fgraph.inputs, *fgraph.outputs])) or any(
                isinstance(node.op, self._random_variable) or self._is_inlined(node.op) for node in fgraph.apply_nodes
            )
        return self._holds[op]

    def _refuse_reading(self, node: Any) -> None:
        if any(map(self.is_generator, node.inputs)):
            raise UnsupportedGraphError(
                f"{type(node.op).__name__} reads a random generator; only random variables can: draw outside of it"
            )

    # ---- the graph --------------------------------------------------------------------------------------------------

    def build(self, outputs: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The key and the outputs that are computed with it."""
        ops = import_module(".ops", __package__)
        key = ops.key_variable(NAME)
        subkeys = ops.SplitKey(len(self.places))(key)
        keys = [subkeys[place] for place in range(len(self.places))]
        scope = _Scope()
        self._rebuild(outputs, scope, keys, ops.Draw)
        return key, [scope.values.get(output, output) for output in outputs]

    def _rebuild(self, outputs: Sequence[Any], scope: _Scope, keys: Sequence[Any], draw: Any) -> None:
        values = scope.values
        for node in order(outputs, self._inputs):
            operands = [values.get(x, x) for x in node.inputs]
            if isinstance(node.op, self._random_variable):
                key = keys[self.places[self._read(node, scope)]]
                results = {1: draw(node.op).as_type(node.outputs[1].type, key, *operands[1:])}
            elif self._is_inlined(node.op):
                inputs, inside = inner_graph(node.op)
                inner = self._inner_scope(node, scope, inputs)
                inner.values = dict(zip(inputs, operands, strict=True))
                self._rebuild(inside, inner, keys, draw)
                self._leave(node, scope, inner, inside)
                results = {i: inner.values.get(x, x) for i, x in enumerate(inside) if not self.is_generator(x)}
            elif all(new is old for new, old in zip(operands, node.inputs, strict=True)):
                continue
            else:
                results = dict(enumerate(node.clone_with_new_inputs(operands, strict=False).outputs))
            for place, result in results.items():
                result.name = result.name or node.outputs[place].name
                values[node.outputs[place]] = result
