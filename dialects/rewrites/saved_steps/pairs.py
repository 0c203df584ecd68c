"""Two Scans, of which the second goes over the first one's steps backwards.

In: the nodes of a graph. Out: pairs, with the variables of their inner graphs that have the same value: those that the
same ops give of the same rows, constants and invariants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...scan_parts import is_scan
from .loops import Loop
from .sizes import Lengths, Numbers, backwards


@dataclass(frozen=True)
class Pair:
    """A loop, and one that goes over its steps backwards.

    Attributes:
        forward, backward: the loops.
        same: variables of `backward`'s inner graph to those of `forward`'s that have the same value.
        given: variables of `forward`'s inner graph that a step of `backward` has anyway.
        earlier: of these the states of steps before, read from a trace at another place than the step's own.
        traced: variables of `forward`'s inner graph to the outer traces whose last row is the last step's.
    """

    forward: Loop
    backward: Loop
    same: Mapping[Any, Any]
    given: set[Any]
    earlier: Sequence[Any]
    traced: Mapping[Any, Any]


class Search:
    """Looks for pairs in a graph, and again where some of it has changed."""

    def __init__(self) -> None:
        self._loops: dict[Any, Loop] = {}
        self._numbers = Numbers()
        self._settled: set[tuple[Any, Any]] = set()

    def pairs(self, nodes: Sequence[Any]) -> Iterator[Pair]:
        """Pairs of loops of which the second reads what the first reads or gives, from the end; each only once."""
        scans = [node for node in nodes if is_scan(node) and not node.op.info.as_while]
        numbers, earlier = self._numbers, list[Any]()  # in this order none can depend on a later one
        for node in scans:
            rows = None
            for origin in earlier:
                if (origin, node) in self._settled:
                    continue
                self._settled.add((origin, node))
                if rows is None:
                    sequences = self._loop(node).parts.sequences
                    rows = [(root, behind, inner) for outer, inner in sequences for root, behind in backwards(outer)]
                    read = {numbers.of(root) for root, _, _ in rows}
                given = [*origin.outputs, *(outer for outer, _ in self._loop(origin).parts.sequences)]
                if any(numbers.of(x) in read for x in given):
                    yield _pair(self._loop(origin), self._loop(node), rows, numbers)
            earlier.append(node)

    def _loop(self, node: Any) -> Loop:
        if node not in self._loops:
            self._loops[node] = Loop(node)
        return self._loops[node]


def _pair(forward: Loop, backward: Loop, rows: Sequence[tuple[Any, int, Any]], numbers: Numbers) -> Pair:
    """Finds out which variables of two inner graphs have the same value."""
    lengths = Lengths(numbers)
    steps = lengths.of(forward.parts.steps)
    leaves: dict[tuple[Any, int], Any] = {}  # outer variable, rows between its end and step n - 1: inner variable
    traced = {}
    for state in forward.states:
        depth = -min(state.taps)
        if lengths.of_buffer(state.buffer) == (steps[0], steps[1] + depth):
            traced[state.result] = state.trace
            leaves[state.trace, 0] = state.result
            for tap, inner in zip(state.taps, state.inner, strict=True):
                leaves[state.trace, -tap] = inner
    for (length, result), trace in zip(forward.parts.stacks, forward.traces, strict=True):
        if lengths.of(length) == steps:
            traced[result] = trace
            leaves[trace, 0] = result
    by_number = {
        numbers.of(outer): inner for outer, inner in forward.parts.sequences if steps in lengths.of_rows(outer)
    }
    inside = Numbers()
    for inner in forward.parts.inner_inputs:
        inside.name(inner)
    given, earlier = set(), []
    for root, behind, inner in rows:
        leaf = leaves.get((root, behind), by_number.get(numbers.of(root)) if behind == 0 else None)
        if leaf is not None:
            inside.name(inner, inside.of(leaf))
            given.add(leaf)
            if behind:
                earlier.append(leaf)
    shared = {numbers.of(outer): inner for outer, inner in forward.parts.constants}
    for outer, inner in backward.parts.constants:
        if numbers.of(outer) in shared:
            inside.name(inner, inside.of(shared[numbers.of(outer)]))
    first = {inside.of(x): x for node in reversed(forward.nodes) for x in node.outputs}
    first.update({inside.of(x): x for x in forward.parts.inner_inputs})
    same = {
        x: first[inside.of(x)]
        for x in (*backward.parts.inner_inputs, *(x for node in backward.nodes for x in node.outputs))
        if inside.of(x) in first
    }
    return Pair(forward, backward, same, given, earlier, traced)


# A size must stay one: no later op may take it for data.
_SIZES = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"))
# What is done again rather than kept: ops that only arrange elements, and arithmetic.
_MOVING = frozenset(("Subtensor", "Join", "Split", "Alloc", "Second"))
_RESHAPING = frozenset(("DimShuffle", "ExpandDims", "Reshape", "SpecifyShape"))  # kept as they are of what is costly
_ARITHMETIC = frozenset({
    "Add", "Sub", "Mul", "TrueDiv", "Neg", "Sqr", "Sqrt", "Reciprocal", "Abs", "Sign", "Cast", "Identity", "Switch",
    "Second", "Maximum", "Minimum", "ScalarMaximum", "ScalarMinimum", "LT", "LE", "GT", "GE", "EQ", "NEQ", "AND",
    "OR", "XOR", "Invert", "IsNan", "IsInf", "Clip", "Floor", "Ceil", "Real", "Imag", "Conj",
})  # fmt: skip


def kept_for(pair: Pair) -> list[Any]:
    """The values of the first loop's steps that the second is to read, beyond those that it reads already."""
    inner, varying = pair.backward, _varying(pair.forward)
    own = [x for node in inner.nodes if any(y not in pair.same for y in node.outputs) for x in node.inputs]
    pending = [pair.same[x] for x in (*own, *inner.parts.inner_outputs) if x in pair.same]
    read: dict[Any, bool] = {}  # whether a value is kept for it
    while pending:
        value = pending.pop()
        if value in read or value not in varying:
            continue
        arrays = type(value.type).__name__ == "TensorType" and (value.ndim > 0 or value.dtype not in _SIZES)
        read[value] = arrays and value not in pair.given and not _is_cheap(value, pair.given)
        if arrays and value not in pair.given and not read[value]:
            pending += value.owner.inputs
    # States before a step, each the only one of its trace: in a trace of their own they need no initial rows in front,
    # which would be a copy of the whole.
    states = [[x for x in pair.earlier if x in state.inner and x in read] for state in pair.forward.states]
    return [*(found[0] for found in states if len(found) == 1), *(x for x, kept in read.items() if kept)]


def _is_cheap(value: Any, given: set[Any]) -> bool:
    """Whether a value is cheap work on others."""
    op = getattr(value.owner, "op", None)
    if type(op).__name__ in _RESHAPING:
        source = value.owner.inputs[0]
        return source in given or _is_cheap(source, given)
    return type(op).__name__ in _MOVING or type(getattr(op, "scalar_op", None)).__name__ in _ARITHMETIC


def _varying(loop: Loop) -> set[Any]:
    """The inner variables that differ from step to step, as far as can be told."""
    constant = {inner for _, inner in loop.parts.constants}
    varying = {x for x in loop.parts.inner_inputs if x not in constant}
    for node in loop.nodes:
        if any(x in varying for x in node.inputs):
            varying.update(node.outputs)
    return varying
