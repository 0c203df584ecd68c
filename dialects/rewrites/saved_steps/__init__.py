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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...releases import inner_graph, with_inner_graph
from ...scan_parts import ScanParts, is_scan
from ...walk import order
from ..rebuilding import Rebuilding, replaced
from .pairs import Pair, Search, kept_for

_MOST = 32  # pairs of loops for which something is kept


def save_steps(inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The graph's outputs, with values of Scans' steps read in place of computed again.

    Args:
        inputs: the graph's inputs.
        outputs: its outputs.
    """
    outputs = list(outputs)
    search = Search()
    for _ in range(_MOST):
        found = ((pair, kept_for(pair)) for pair in search.pairs(order(outputs, set(inputs))))
        pair, kept = next((each for each in found if each[1]), (None, []))
        if pair is None:
            break
        outputs = _kept_in(pair, kept, outputs, inputs)
    nodes = order(outputs, set(inputs))
    inside = {id(node.op): new for node in nodes if is_scan(node) and (new := _inside(node.op)) is not None}
    return Rebuilding(lambda op: [], nodes, ops=inside).outputs(outputs) if inside else outputs


def _inside(op: Any) -> Any:
    """A Scan with the same done for those in its steps; None where there is nothing to do."""
    inputs, outputs = inner_graph(op)
    if sum(map(is_scan, order(outputs))) < 2:
        return None
    found = save_steps(inputs, outputs)
    return None if all(x is y for x, y in zip(outputs, found, strict=True)) else with_inner_graph(op, inputs, found)


def _kept_in(pair: Pair, kept: Sequence[Any], outputs: list[Any], inputs: Sequence[Any]) -> list[Any]:
    """The graph's outputs with a further trace for each kept value, which the second loop reads."""
    forward, backward = pair.forward, pair.backward
    added = [x for x in kept if x not in pair.traced]
    node = _with_stacks(forward.parts, added)
    first = len(forward.node.outputs) - len(forward.parts.untraced)
    old = [*node.outputs[:first], *node.outputs[first + len(added) :]]
    new = dict(zip(forward.node.outputs, old, strict=True))
    traces = {x: node.outputs[first + number] for number, x in enumerate(added)}
    for x in kept:
        traces.setdefault(x, new.get(pair.traced.get(x)))
    *outputs, last = replaced([*outputs, backward.node.outputs[0]], new, inputs)
    values = [*backward.parts.inner_inputs, *(x for node in backward.nodes for x in node.outputs)]
    read = {x: pair.same[x] for x in values if pair.same.get(x) in traces}
    result = _with_sequences(ScanParts.of(last.owner), backward.parts, read, traces)
    return replaced(outputs, dict(zip(last.owner.outputs, result.outputs, strict=True)), inputs)


def _with_stacks(parts: ScanParts, added: Sequence[Any]) -> Any:
    """The node of a loop with further traces, of variables of its inner graph."""
    return replace(parts, stacks=[*parts.stacks, *((parts.steps, x) for x in added)]).make()


def _with_sequences(outer: ScanParts, inner: ScanParts, read: Mapping[Any, Any], traces: Mapping[Any, Any]) -> Any:
    """The node of a loop that reads traces from their ends in place of variables of its inner graph.

    Args:
        outer: parts with the outer inputs.
        inner: parts with the inner graph.
        read: variables of the inner graph and what they are in the loop that has the traces.
        traces: of these.
    """
    given = {value: value.type() for value in traces}
    outputs = replaced(inner.inner_outputs, {x: given[value] for x, value in read.items()})
    used = {x for node in order(outputs) for x in node.inputs} | set(outputs)
    rows = [(x, row) for (x, _), (_, row) in zip(outer.sequences, inner.sequences, strict=True) if row in used]
    rows += [(trace[::-1], given[value]) for value, trace in traces.items()]
    constants = [(x, value) for (x, _), (_, value) in zip(outer.constants, inner.constants, strict=True)]
    untraced = [replace(x, inner=y.inner) for x, y in zip(outer.untraced, inner.untraced, strict=True)]
    new = replace(outer, sequences=rows, states=inner.states, untraced=untraced, constants=constants)
    new.set_inner_outputs(outputs)
    return new.make()
