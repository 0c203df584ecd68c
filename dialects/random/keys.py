"""One key for all random variables of a graph.

In: a graph whose random variables read generators. Out: the same graph as a function of one key, without generators.

The order, which docs/random.md promises: walk depth first from the outputs, in order, operands from left to right;
inner graphs (`OpFromGraph`) are walked where they stand. Each state of a generator that a random variable reads gets
the next subkey when the walk is first done with such a variable. `jax.random.split(key, number of states)` gives the
subkeys.

A Scan whose steps hand a generator on reads it as a random variable does, when the walk is done with its step. Step `i`
has the key `jax.random.fold_in(subkey, i)`, and where it reads several states of the generator, `split` of that. A
generator that steps only read is the same in each of them, and so are their draws.

Decision to know: a subkey belongs to the state of a generator, not to the node. As a rule that is the same, for every
random variable has a generator of its own, or the one that another has left behind. Where two nodes read one state,
they see the same random numbers in PyTensor; a gradient through an inner graph relies on it, since it holds the random
variables a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from ...codegen.errors import UnsupportedGraphError
from ..library import Library
from ..releases import draw_parts, inner_graph
from ..scan_parts import ScanParts, is_scan
from ..walk import order

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


# The states of generators that random variables read, and the places of their subkeys.
_Places = dict[_State, int]


@dataclass(frozen=True)
class _Loop:
    """A Scan whose steps have generators.

    Attributes:
        parts: its parts.
        inner: the scope of its step.
        starts: the states in which the first step gets the generators that steps hand on, in order of their first use.
        of_step: the states of each of these that a step reads.
        same: the states that are the same in all steps.
    """

    parts: ScanParts
    inner: _Scope
    starts: list[_State]
    of_step: dict[_State, list[_State]]
    same: list[_State]


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
    assignment.number(outputs, _Scope(), assignment.places)
    if not assignment.places:
        return None, list(inputs), list(outputs)
    key, results = assignment.build(outputs)
    return key, [key, *inputs], results


class _Assignment:
    def __init__(self, library: Library, inputs: Sequence[Any]) -> None:
        self._random_variable = library.module("tensor.random.op").RandomVariable
        self._generator = library.module("tensor.random.type").RandomType
        self._inner_graph = library.module("compile.builders").OpFromGraph
        self._range = library.module("tensor.basic").arange
        self._key_type = library.module("tensor.type").TensorType("uint32", (2,))
        self._package = library.package
        self._inputs = set(inputs)
        self._holds: dict[Any, bool] = {}
        self._parts: dict[Any, ScanParts] = {}
        self.places: _Places = {}

    @property
    def _ops(self) -> Any:
        """The ops on keys."""
        return import_module(f".{self._package}_ops", __package__)

    def _key_variable(self, name: str) -> Any:
        return self._key_type(name=name)

    def is_generator(self, variable: Any) -> bool:
        """Whether a variable is a generator."""
        return isinstance(variable.type, self._generator)

    # ---- the order --------------------------------------------------------------------------------------------------

    def number(self, outputs: Sequence[Any], scope: _Scope, places: _Places) -> None:
        """Gives every state that a random variable reads its place."""
        for node in order(outputs, self._inputs):
            if isinstance(node.op, self._random_variable):
                state = self._read(node, scope)
                places.setdefault(state, len(places))
            elif self._is_inlined(node.op):
                inputs, results = inner_graph(node.op)
                inner = self._inner_scope(node, scope, inputs)
                self.number(results, inner, places)
                self._leave(node, scope, inner, results)
            elif self._is_loop(node):
                loop = self._loop(node, scope)
                for state in [*loop.starts, *loop.same]:
                    places.setdefault(state, len(places))
                self._leave_loop(loop, scope)
            else:
                self._refuse_reading(node)

    def _read(self, node: Any, scope: _Scope) -> _State:
        """The state that a random variable reads; what it leaves behind is one draw further."""
        state = scope.state(node.inputs[0])
        scope.states[node.outputs[0]] = state.following
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
        return isinstance(op, self._inner_graph) and self._holds_generators(op)

    def _holds_generators(self, op: Any) -> bool:
        if op not in self._holds:
            fgraph = op.fgraph
            self._holds[op] = any(map(self.is_generator, [*fgraph.inputs, *fgraph.outputs])) or any(
                isinstance(node.op, self._random_variable) or self._is_inlined(node.op) or self._is_loop(node)
                for node in fgraph.apply_nodes
            )
        return self._holds[op]

    def _refuse_reading(self, node: Any) -> None:
        if any(map(self.is_generator, node.inputs)):
            raise UnsupportedGraphError(
                f"{type(node.op).__name__} reads a random generator; only random variables can: draw outside of it"
            )

    # ---- loops ------------------------------------------------------------------------------------------------------

    def _is_loop(self, node: Any) -> bool:
        return is_scan(node) and self._holds_generators(node.op)

    def _loop(self, node: Any, scope: _Scope) -> _Loop:
        """What a Scan's steps read.

        Raises:
            UnsupportedGraphError: a step hands on another generator than the one that it got.
        """
        if node not in self._parts:
            self._parts[node] = ScanParts.of(node)
        parts = self._parts[node]
        inner = _Scope()
        for outer, variable in parts.constants:
            if self.is_generator(outer):
                inner.states[variable] = scope.state(outer)
        handed_on = [x for x in parts.untraced if self.is_generator(x.first)]
        for x in handed_on:
            inner.states[x.inner] = _State((_STEP, scope.state(x.first)))
        read: _Places = {}
        self.number(parts.inner_outputs, inner, read)
        of_step: dict[_State, list[_State]] = {}
        for x in handed_on:
            got, left = inner.states[x.inner], inner.state(x.result)
            if left.generator != got.generator or left == got:
                what = "the generator as it got it" if left == got else "another generator than it got"
                raise UnsupportedGraphError(
                    f"a step of scan {node.op.name!r} hands on {what}; pass it as a non-sequence if all steps are to "
                    "draw the same numbers"
                )
            of_step[got.generator[1]] = [state for state in read if state.generator == got.generator]
        own = [state.generator for states in of_step.values() for state in states]
        starts = list(dict.fromkeys(state.generator[1] for state in read if state.generator in own))
        return _Loop(parts, inner, starts, of_step, [state for state in read if state.generator not in own])

    def _leave_loop(self, loop: _Loop, scope: _Scope) -> None:
        for x in loop.parts.untraced:
            if self.is_generator(x.first):
                scope.states[x.last] = scope.state(x.first).following

    def _rebuild_loop(self, node: Any, scope: _Scope, keys: Mapping[_State, Any]) -> dict[int, Any]:
        """The outputs of a Scan whose steps get keys in the place of generators, by their places."""
        ops = self._ops
        loop = self._loop(node, scope)
        values = scope.values
        new = replace(loop.parts)
        new.steps = values.get(new.steps, new.steps)
        new.buffers = [values.get(x, x) for x in new.buffers]
        new.stacks = [(values.get(length, length), x) for length, x in new.stacks]
        new.sequences = [(values.get(x, x), row) for x, row in new.sequences]
        new.constants = [(values.get(x, x), y) for x, y in new.constants if not self.is_generator(x)]
        kept = [x for x in new.untraced if not self.is_generator(x.first)]
        new.untraced = [replace(x, first=values.get(x.first, x.first)) for x in kept]
        inside: dict[_State, Any] = {}
        for start in loop.starts:
            row, states = self._key_variable("key"), loop.of_step[start]
            new.sequences.append((ops.FoldIn()(keys[start], self._range(new.steps)), row))
            parts = [row] if len(states) == 1 else ops.SplitKey(len(states))(row)
            inside.update({state: parts[number] for number, state in enumerate(states)})
        for state in loop.same:
            inside[state] = self._key_variable("key")
            new.constants.append((keys[state], inside[state]))
        self._rebuild(new.inner_outputs, loop.inner, inside)
        new.set_inner_outputs([loop.inner.values.get(x, x) for x in new.inner_outputs])
        self._leave_loop(loop, scope)
        places = [place for place, x in enumerate(node.outputs) if not self.is_generator(x)]
        return dict(zip(places, new.make().outputs, strict=True))

    # ---- the graph --------------------------------------------------------------------------------------------------

    def build(self, outputs: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The key and the outputs that are computed with it."""
        ops = self._ops
        key = self._key_variable(NAME)
        subkeys = ops.SplitKey(len(self.places))(key)
        scope = _Scope()
        self._rebuild(outputs, scope, {state: subkeys[place] for state, place in self.places.items()})
        return key, [scope.values.get(output, output) for output in outputs]

    def _rebuild(self, outputs: Sequence[Any], scope: _Scope, keys: Mapping[_State, Any]) -> None:
        values = scope.values
        for node in order(outputs, self._inputs):
            operands = [values.get(x, x) for x in node.inputs]
            if isinstance(node.op, self._random_variable):
                key, type_ = keys[self._read(node, scope)], node.outputs[1].type
                op, size, parameters = draw_parts(node.op, operands)
                results = {1: self._ops.Draw(op, dtype=type_.dtype).as_type(type_, key, size, *parameters)}
            elif self._is_inlined(node.op):
                inputs, inside = inner_graph(node.op)
                inner = self._inner_scope(node, scope, inputs)
                inner.values = dict(zip(inputs, operands, strict=True))
                self._rebuild(inside, inner, keys)
                self._leave(node, scope, inner, inside)
                results = {i: inner.values.get(x, x) for i, x in enumerate(inside) if not self.is_generator(x)}
            elif self._is_loop(node):
                results = self._rebuild_loop(node, scope, keys)
            elif all(new is old for new, old in zip(operands, node.inputs, strict=True)):
                continue
            else:
                results = dict(enumerate(node.clone_with_new_inputs(operands, strict=False).outputs))
            for place, result in results.items():
                result.name = result.name or node.outputs[place].name
                values[node.outputs[place]] = result
