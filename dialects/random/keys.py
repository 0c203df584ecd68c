"""One key for all random variables of a graph.

In: a graph whose random variables read generators. Out: the same graph as a function of one key, without generators.

The order, which docs/reference/random.md promises: walk depth first from the outputs, in order, operands from left to
right; inner graphs (`OpFromGraph`) are walked where they stand. Each state of a generator that a random variable reads
gets the next subkey when the walk is first done with such a variable. `jax.random.split(key, number of states)` gives
the subkeys.

A Scan whose steps hand a generator on reads it as a random variable does, when the walk is done with its step. Step `i`
has the key `jax.random.fold_in(subkey, i)`, and where it reads several states of the generator, `split` of that. A
generator that steps only read is the same in each of them, and so are their draws.

Decision to know: a subkey belongs to the state of a generator, not to the node. As a rule that is the same, for every
random variable has its own generator, or the one that another has left behind. Where two nodes read one state,
they see the same random numbers in PyTensor; a gradient through an inner graph relies on it, since it holds the random
variables a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from ...codegen.errors import UnsupportedGraphError
from ...codegen.graph import order
from ..library import Library
from ..releases import draw_parts, inner_graph
from ..rewrites.rebuilding import replaced
from ..scan_parts import ScanParts, is_scan

NAME = "key"
IMPLEMENTATION = "threefry2x32"


_STEP = "step of"


@dataclass(frozen=True)
class _State:
    """A generator's state: after `draws` draws, counted from what it comes from.

    That is a variable, or `(_STEP, state)`, the generator that each step of a Scan gets where the first one gets this
    state. The Scan itself is one draw.
    """

    generator: Any
    draws: int = 0

    @property
    def following(self) -> _State:
        """The state after another draw."""
        return _State(self.generator, self.draws + 1)


@dataclass
class _Scope:
    """The graph, or an inner graph where it is used: what stands for its variables, and for its generators."""

    values: dict[Any, Any] = field(default_factory=dict)
    states: dict[Any, _State] = field(default_factory=dict)

    def state(self, variable: Any) -> _State:
        """A generator's state; that of one without a history is its first."""
        return self.states.get(variable) or _State(variable)


class _Keys(dict[_State, Any]):
    """The keys of states that are read, variables that the graph is made with, in the order of the first questions."""

    def __init__(self, type_: Any) -> None:
        super().__init__()
        self._type = type_

    def __missing__(self, state: _State) -> Any:
        key = self[state] = self._type(name=NAME)
        return key


def assign(library: Library, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, list[Any], list[Any]]:
    """Puts draws from one key in place of the random variables.

    Args:
        library: the graph library's classes.
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
    keys, scope = _Keys(assignment.key_type), _Scope()
    if assignment.holds_draws(outputs):
        assignment.rebuild(outputs, scope, keys)
    if not keys:
        return None, list(inputs), list(outputs)
    key = assignment.key_type(name=NAME)
    subkeys = assignment.ops.Keys(len(keys))(key)
    drawn = [scope.values.get(x, x) for x in outputs]
    return key, [key, *inputs], replaced(drawn, {x: subkeys[place] for place, x in enumerate(keys.values())})


class _Assignment:
    def __init__(self, library: Library, inputs: Sequence[Any]) -> None:
        self._random_variable = library.module("tensor.random.op").RandomVariable
        self._generator = library.module("tensor.random.type").RandomType
        self._inner_graph = library.module("compile.builders").OpFromGraph
        self._range = library.module("tensor.basic").arange
        self.key_type = library.module("tensor.type").TensorType("uint32", (2,))
        self._package = library.package
        self._inputs = set(inputs)
        self._holds: dict[Any, bool] = {}

    @property
    def ops(self) -> Any:
        """The ops on keys, which are imported for a graph that needs them."""
        return import_module(f".{self._package}_ops", __package__)

    def is_generator(self, variable: Any) -> bool:
        """Whether a variable is a generator."""
        return isinstance(variable.type, self._generator)

    def holds_draws(self, outputs: Sequence[Any]) -> bool:
        """Whether a node that the outputs need reads a generator, or has an inner graph that does."""
        nodes = order(outputs, self._inputs)
        types = {type(x.type) for node in nodes for x in node.inputs}
        ops = {id(node.op): node.op for node in nodes}.values()
        return any(issubclass(type_, self._generator) for type_ in types) or any(
            isinstance(op, self._inner_graph) or type(getattr(op, "core_op", op)).__name__ == "Scan" for op in ops
        )

    def rebuild(self, outputs: Sequence[Any], scope: _Scope, keys: _Keys) -> None:
        """Finds what stands for the variables that the outputs need, with draws from keys."""
        values = scope.values
        for node in order(outputs, self._inputs):
            operands = [values.get(x, x) for x in node.inputs] if values else node.inputs
            if isinstance(node.op, self._random_variable):
                state = scope.state(node.inputs[0])
                scope.states[node.outputs[0]] = state.following
                op, size, parameters = draw_parts(node.op, operands)
                type_ = node.outputs[1].type
                results = {1: self.ops.Draw(op, dtype=type_.dtype).as_type(type_, keys[state], size, *parameters)}
            elif self._is_inlined(node.op):
                results = self._inline(node, operands, scope, keys)
            elif is_scan(node) and self._holds_generators(node.op):
                results = self._rebuild_loop(node, scope, keys)
            elif any(map(self.is_generator, node.inputs)):
                raise UnsupportedGraphError(
                    f"{type(node.op).__name__} reads a random generator; only random variables can: draw outside of it"
                )
            elif not values or all(new is old for new, old in zip(operands, node.inputs, strict=True)):
                continue
            else:
                results = dict(enumerate(node.clone_with_new_inputs(operands, strict=False).outputs))
            for place, result in results.items():
                result.name = result.name or node.outputs[place].name
                values[node.outputs[place]] = result

    # ---- inner graphs -----------------------------------------------------------------------------------------------

    def _is_inlined(self, op: Any) -> bool:
        return isinstance(op, self._inner_graph) and self._holds_generators(op)

    def _holds_generators(self, op: Any) -> bool:
        if op not in self._holds:
            fgraph = op.fgraph
            self._holds[op] = any(map(self.is_generator, [*fgraph.inputs, *fgraph.outputs])) or any(
                isinstance(node.op, self._random_variable)
                or self._is_inlined(node.op)
                or (is_scan(node) and self._holds_generators(node.op))
                for node in fgraph.apply_nodes
            )
        return self._holds[op]

    def _inline(self, node: Any, operands: Sequence[Any], scope: _Scope, keys: _Keys) -> dict[int, Any]:
        inputs, inside = inner_graph(node.op)
        states = {x: scope.state(y) for x, y in zip(inputs, node.inputs, strict=True) if self.is_generator(y)}
        inner = _Scope(dict(zip(inputs, operands, strict=True)), states)
        self.rebuild(inside, inner, keys)
        for outer, result in zip(node.outputs, inside, strict=True):
            if self.is_generator(outer):
                scope.states[outer] = inner.state(result)
        return {i: inner.values.get(x, x) for i, x in enumerate(inside) if not self.is_generator(x)}

    def _rebuild_loop(self, node: Any, scope: _Scope, keys: _Keys) -> dict[int, Any]:
        """The outputs of a Scan whose steps get keys in the place of generators, by their places.

        Raises:
            UnsupportedGraphError: a step hands on another generator than the one that it got.
        """
        parts, values = ScanParts.of(node), scope.values
        inner, inside = _Scope(), _Keys(self.key_type)
        handed_on = [x for x in parts.untraced if self.is_generator(x.first)]
        for outer, variable in parts.constants:
            if self.is_generator(outer):
                inner.states[variable] = scope.state(outer)
        for x in handed_on:
            inner.states[x.inner] = _State((_STEP, scope.state(x.first)))
        self.rebuild(parts.inner_outputs, inner, inside)
        of_step: dict[Any, list[_State]] = {}  # what each generator that steps hand on is in a step: its states there
        for x in handed_on:
            got, left = inner.states[x.inner], inner.state(x.result)
            if left.generator != got.generator or left == got:
                what = "the generator as it got it" if left == got else "another generator than it got"
                raise UnsupportedGraphError(
                    f"a step of scan {node.op.name!r} hands on {what}; pass it as a non-sequence if all steps are to "
                    "draw the same numbers"
                )
            of_step[got.generator] = [state for state in inside if state.generator == got.generator]
            scope.states[x.last] = scope.state(x.first).following
        parts.steps = values.get(parts.steps, parts.steps)
        parts.buffers = [values.get(x, x) for x in parts.buffers]
        parts.stacks = [(values.get(length, length), x) for length, x in parts.stacks]
        parts.sequences = [(values.get(x, x), row) for x, row in parts.sequences]
        parts.constants = [(values.get(x, x), y) for x, y in parts.constants if not self.is_generator(x)]
        kept = [x for x in parts.untraced if not self.is_generator(x.first)]
        parts.untraced = [replace(x, first=values.get(x.first, x.first)) for x in kept]
        rows: dict[Any, Any] = {}
        for generator in dict.fromkeys(state.generator for state in inside if state.generator in of_step):
            states, row = of_step[generator], self.key_type(name=NAME)
            parts.sequences.append((self.ops.Keys()(keys[generator[1]], self._range(parts.steps)), row))
            split = [row] if len(states) == 1 else self.ops.Keys(len(states))(row)
            rows.update({inside[state]: split[number] for number, state in enumerate(states)})
        for state, key in inside.items():
            if state.generator not in of_step:
                parts.constants.append((keys[state], key))
        drawn = [inner.values.get(x, x) for x in parts.inner_outputs]
        parts.set_inner_outputs(replaced(drawn, rows))
        places = [place for place, x in enumerate(node.outputs) if not self.is_generator(x)]
        return dict(zip(places, parts.make().outputs, strict=True))
