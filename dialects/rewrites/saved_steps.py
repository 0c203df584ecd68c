"""saved_steps: what the gradient of a Scan computes again of each step is kept by the Scan, where that is cheaper.

    h, _ = scan(h1 = tanh(w @ h))                            h, _, t = scan(h1 = t = tanh(w @ h))
    ..   = scan(g1 = g * (1 - tanh(w @ h)**2) @ w,     ->    ..      = scan(g1 = g * (1 - t**2) @ w,
                sequences h[:-1][::-1])                                     sequences t[::-1])

In: the nodes of a graph. Out: the same graph, in which Scans have further outputs, and their gradients read these. The
inner graph of a gradient begins with a copy of the step itself, whose operands are rows of the Scan's sequences and
traces, read backwards: step `j` of it stands for step `n - 1 - j`. So what is equal in the two inner graphs, operands
included, is the same number. What is costly is kept, and what arithmetic makes of it is done again. Which of these stay
kept is for the pass `recompute_saved` to decide, where sizes are known.

Decision to know: rows are counted from the end of a trace or sequence, so nothing need be known of sizes, but that a
trace ends with the last step's row and a sequence with the row that the last step reads. Where that is not plain from
how the library writes a Scan, the gradient is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from ...codegen.dims import Dim, symbol
from ...codegen.graph import order
from ..registry import find
from ..releases import inner_graph, unflatten
from ..scan_parts import ScanParts, is_scan
from .rebuilding import Rebuilding, has_own_derivatives, kind_of, replaced, rewritten_inside

_MOST = 32  # pairs of loops for which something is kept


def save_steps(inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The graph's outputs, with values of Scans' steps read in place of computed again.

    Args:
        inputs: the graph's inputs.
        outputs: its outputs.
    """
    outputs = list(outputs)
    loop_of, numbers, settled = cache(Loop), Numbers(), set[tuple[Any, Any]]()
    for _ in range(_MOST):
        found = ((pair, kept_for(pair)) for pair in _pairs(order(outputs, set(inputs)), loop_of, numbers, settled))
        pair, kept = next((each for each in found if each[1]), (None, []))
        if pair is None:
            break
        outputs = _kept_in(pair, kept, outputs, inputs)
    nodes = order(outputs, set(inputs))
    scans = [node.op for node in nodes if is_scan(node) and sum(map(is_scan, order(inner_graph(node.op)[1]))) > 1]
    inside = {id(op): new for op in scans if (new := rewritten_inside(op, save_steps)) is not None}
    return Rebuilding(lambda op: [], nodes, ops=inside).outputs(outputs) if inside else outputs


def _kept_in(pair: Pair, kept: Sequence[Any], outputs: list[Any], inputs: Sequence[Any]) -> list[Any]:
    """The graph's outputs with a further trace for each kept value, which the second loop reads."""
    forward, backward = pair.forward, pair.backward
    added = [x for x in kept if x not in pair.traced]
    stacks = [*forward.parts.stacks, *((forward.parts.steps, x) for x in added)]
    node = replace(forward.parts, stacks=stacks).make()
    first = len(forward.node.outputs) - len(forward.parts.untraced)
    old = [*node.outputs[:first], *node.outputs[first + len(added) :]]
    new = dict(zip(forward.node.outputs, old, strict=True))
    traces = {x: node.outputs[first + number] for number, x in enumerate(added)}
    for x in kept:
        traces.setdefault(x, new.get(pair.traced.get(x)))
    *outputs, last = replaced([*outputs, backward.node.outputs[0]], new, inputs)
    # The second loop reads traces from their ends in place of variables of its inner graph.
    outer, inner = ScanParts.of(last.owner), backward.parts
    values = [*inner.inner_inputs, *(x for node in backward.nodes for x in node.outputs)]
    given = {value: value.type() for value in traces}
    read = {x: given[pair.same[x]] for x in values if pair.same.get(x) in traces}
    inner_outputs = replaced(inner.inner_outputs, read)
    used = {x for node in order(inner_outputs) for x in node.inputs} | set(inner_outputs)
    rows = [(x, row) for (x, _), (_, row) in zip(outer.sequences, inner.sequences, strict=True) if row in used]
    rows += [(trace[::-1], given[value]) for value, trace in traces.items()]
    constants = [(x, value) for (x, _), (_, value) in zip(outer.constants, inner.constants, strict=True)]
    untraced = [replace(x, inner=y.inner) for x, y in zip(outer.untraced, inner.untraced, strict=True)]
    parts = replace(outer, sequences=rows, states=inner.states, untraced=untraced, constants=constants)
    parts.set_inner_outputs(inner_outputs)
    return replaced(outputs, dict(zip(last.owner.outputs, parts.make().outputs, strict=True)), inputs)


# ---- two Scans, of which the second goes over the first one's steps backwards ---------------------------------------


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


def _pairs(
    nodes: Sequence[Any], loop_of: Callable[[Any], Loop], numbers: Numbers, settled: set[tuple[Any, Any]]
) -> Iterator[Pair]:
    """Pairs of loops of which the second reads what the first reads or gives, from the end; each only once."""
    earlier = list[Any]()  # in this order none can depend on a later one
    for node in nodes:
        if not is_scan(node) or node.op.info.as_while:
            continue
        rows = [(root, at, inner) for outer, inner in loop_of(node).parts.sequences for root, at in backwards(outer)]
        read = {numbers.of(root) for root, _, _ in rows}
        for origin in earlier:
            given = [*origin.outputs, *(outer for outer, _ in loop_of(origin).parts.sequences)]
            if (origin, node) not in settled and any(numbers.of(x) in read for x in given):
                settled.add((origin, node))
                yield _pair(loop_of(origin), loop_of(node), rows, numbers)
        earlier.append(node)


def _pair(forward: Loop, backward: Loop, rows: Sequence[tuple[Any, int, Any]], numbers: Numbers) -> Pair:
    """Finds out which variables of two inner graphs have the same value."""
    lengths = Lengths(numbers)
    steps = lengths.of(forward.parts.steps)
    leaves: dict[tuple[Any, int], Any] = {}  # outer variable, rows between its end and step n - 1: inner variable
    traced = {}
    for state in forward.states:
        depth = -min(state.taps)
        if lengths.of_buffer(state.buffer) == steps + depth:
            traced[state.result] = state.trace
            leaves[state.trace, 0] = state.result
            for tap, inner in zip(state.taps, state.inner, strict=True):
                leaves[state.trace, -tap] = inner
    traces = forward.node.outputs[len(forward.parts.buffers) :]
    for (length, result), trace in zip(forward.parts.stacks, traces, strict=False):
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
    inner, forward = pair.backward, pair.forward
    constant = {inner for _, inner in forward.parts.constants}
    varying = {x for x in forward.parts.inner_inputs if x not in constant}  # from step to step, as far as can be told
    for node in forward.nodes:
        if any(x in varying for x in node.inputs):
            varying.update(node.outputs)
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
    states = [[x for x in pair.earlier if x in state.inner and x in read] for state in forward.states]
    return [*(found[0] for found in states if len(found) == 1), *(x for x, kept in read.items() if kept)]


def _is_cheap(value: Any, given: set[Any]) -> bool:
    """Whether a value is cheap work on others."""
    op = getattr(value.owner, "op", None)
    if type(op).__name__ in _RESHAPING:
        source = value.owner.inputs[0]
        return source in given or _is_cheap(source, given)
    return type(op).__name__ in _MOVING or type(getattr(op, "scalar_op", None)).__name__ in _ARITHMETIC


# ---- a Scan, part by part, with inner graphs of its step (logsumexp) spelled out ------------------------------------


class _Inline:
    """Puts an op's inner graph in its place."""

    @staticmethod
    def transform(_graph: Any, node: Any) -> list[Any]:
        """What the node's outputs are."""
        inputs, outputs = inner_graph(node.op)
        return replaced(outputs, dict(zip(inputs, node.inputs, strict=True)))


def _inlining(op: Any) -> list[Any]:
    """Ops that are inner graphs are; those of users may have derivatives of their own, which stay."""
    lowering = find(op)
    return [] if has_own_derivatives(op) or lowering is None or lowering.name != "OpFromGraph" else [_Inline]


@dataclass(frozen=True)
class State:
    """A traced state: taps, the buffer with its initial rows, inner inputs by tap, the inner and the outer output."""

    taps: Sequence[int]
    buffer: Any
    inner: Sequence[Any]
    result: Any
    trace: Any


class Loop:
    """A Scan's node, part by part, with a copy of its inner graph.

    Attributes:
        node: the node.
        parts: its parts.
        states: states with traces, of which a step adds one row.
    """

    def __init__(self, node: Any) -> None:
        self.node, self.parts = node, ScanParts.of(node)
        outputs = self.parts.inner_outputs
        nodes = order(outputs, set(self.parts.inner_inputs))
        self.parts.set_inner_outputs(Rebuilding(_inlining, nodes).outputs(outputs))
        info, parts = node.op.info, self.parts
        several = len(info.mit_mot_in_slices)  # buffers of which a step writes several rows
        values = iter(parts.states[sum(map(len, info.mit_mot_in_slices)) :])
        results = parts.results[sum(map(len, info.mit_mot_out_slices)) :]
        taps = [*info.mit_sot_in_slices, *info.sit_sot_in_slices]
        inner = [[next(values) for _ in each] for each in taps]
        traces = node.outputs[several : len(parts.buffers)]
        self.states = list(map(State, taps, parts.buffers[several:], inner, results, traces))

    @cached_property
    def nodes(self) -> list[Any]:
        """The inner graph's."""
        return order(self.parts.inner_outputs, set(self.parts.inner_inputs))


# ---- which values are the same; numbers of steps and rows; which row a sequence reads -------------------------------


class Numbers:
    """A number for each value: variables computed in the same way from the same ones have the same."""

    def __init__(self) -> None:
        self._of: dict[Any, int] = {}
        self._known: dict[Any, int] = {}

    def of(self, variable: Any) -> int:
        """The number of a variable."""
        variable = unspecified(variable)
        for node in order([variable], self._of):
            operands = tuple(self._leaf(x) for x in node.inputs)
            for place, output in enumerate(node.outputs):
                key = (node.op, operands, place)
                self._of[output] = self._known.setdefault(key, len(self._known))
        return self._leaf(variable)

    def name(self, variable: Any, number: int | None = None) -> None:
        """Says which number an input has; a new one, if none is given."""
        self._of[variable] = self._known.setdefault(object(), len(self._known)) if number is None else number

    def _leaf(self, variable: Any) -> int:
        variable = unspecified(variable)
        if variable not in self._of:
            key = variable.signature() if hasattr(variable, "data") else object()
            self._of[variable] = self._known.setdefault(key, len(self._known))
        return self._of[variable]


class Lengths:
    """Sizes: of integer scalars, and of first sizes of arrays that are known by their number only."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def of(self, scalar: Any) -> Dim:
        """An integer scalar's value."""
        value, node, kind = constant(scalar), scalar.owner, kind_of(scalar)
        if value is not None:
            return value
        if kind in ("TensorFromScalar", "ScalarFromTensor", "Cast"):
            return self.of(node.inputs[0])
        if kind in ("Add", "Sub"):
            first, *others = map(self.of, node.inputs)
            for other in others:
                first = first - other if kind == "Sub" else first + other
            return first
        if kind == "Shape_i" and node.op.i == 0:
            return self._rows(node.inputs[0])
        if kind == "Subtensor" and kind_of(node.inputs[0]) == "Shape":
            entries = unflatten(node.op.idx_list, node.inputs[1:])
            if [constant(entry) for entry in entries] == [0]:
                return self._rows(node.inputs[0].owner.inputs[0])
        return symbol(f"value{self._numbers.of(scalar)}", signed=True)

    def of_buffer(self, buffer: Any) -> Dim | None:
        """The rows of a state's buffer: as many as were allocated before the initial rows were set."""
        while kind_of(buffer) in ("IncSubtensor", "Unbroadcast", "SpecifyShape"):
            buffer = buffer.owner.inputs[0]
        kind = kind_of(buffer)
        if kind in ("AllocEmpty", "Alloc"):
            return self.of(buffer.owner.inputs[kind == "Alloc"])
        rows: int | None = buffer.type.shape[0]
        return rows

    def of_rows(self, sequence: Any) -> list[Dim]:
        """Lengths that a sequence has, if it has no fewer rows than that."""
        sequence = unspecified(sequence)
        cut = _slice_of(sequence)
        cuts = cut is not None and cut.start is None and cut.step is None and cut.stop is not None
        return [self._rows(sequence), *([self.of(cut.stop)] if cut is not None and cuts else [])]

    def _rows(self, array: Any) -> Dim:
        rows: int | None = array.type.shape[0]
        if rows is not None:
            return rows
        cut = _slice_of(array)
        if cut is not None and cut.stop is None and cut.step is None and constant(cut.start) == 0:
            return self._rows(array.owner.inputs[0])
        return symbol(f"rows{self._numbers.of(array)}")


def constant(scalar: Any) -> int | None:
    """The value of a constant integer scalar."""
    while scalar is not None and scalar.owner is not None and type(scalar.owner.op).__name__ == "ScalarFromTensor":
        scalar = scalar.owner.inputs[0]
    data = getattr(scalar, "data", None)
    return None if data is None or np.ndim(data) else int(data)


def unspecified(variable: Any) -> Any:
    """What a variable is, below shapes that it is said to have."""
    while variable.owner is not None and type(variable.owner.op).__name__ == "SpecifyShape":
        variable = variable.owner.inputs[0]
    return variable


def _slice_of(array: Any) -> slice | None:
    """The slice of the first axis, where an array is one of another and nothing else."""
    if array.owner is None or type(array.owner.op).__name__ != "Subtensor":
        return None
    entries = unflatten(array.owner.op.idx_list, array.owner.inputs[1:])
    return entries[0] if len(entries) == 1 and isinstance(entries[0], slice) else None


def backwards(sequence: Any) -> Iterator[tuple[Any, int]]:
    """Arrays that a sequence goes through from their end: row `j` is row `length - 1 - behind - j` of the array."""
    turned, dropped = False, 0  # `dropped`: rows left out of the array's end
    array = unspecified(sequence)
    while (cut := _slice_of(array)) is not None:
        step = 1 if cut.step is None else constant(cut.step)
        start = 0 if cut.start is None else constant(cut.start)
        stop = None if cut.stop is None else constant(cut.stop)
        if step == -1 and not turned and (cut.start is None or (start is not None and start < 0)):
            # What was left out after turning counts from here: rows in front of a turned array are rows at the end.
            turned, dropped = True, dropped + (0 if cut.start is None else -1 - (start or 0))
        elif step == 1 and turned:
            # Not turned yet, seen from the array: the end is the end.
            if cut.stop is not None:
                if stop is None or stop >= 0:
                    return
                dropped -= stop
            if start is None or start < 0:
                return
        elif step == 1 and start is not None and start >= 0:
            dropped += start
        else:
            return
        array = unspecified(array.owner.inputs[0])
        if turned:
            yield array, dropped
