"""saved_steps: what the gradient of a Scan computes again of each step is kept by the Scan, where that is cheaper.

    h, _ = scan(h1 = tanh(w @ h))                            h, _, t = scan(h1 = t = tanh(w @ h))
    ..   = scan(g1 = g * (1 - tanh(w @ h)**2) @ w,     ->    ..      = scan(g1 = g * (1 - t**2) @ w,
                sequences h[:-1][::-1])                                     sequences t[::-1])

In: the nodes of a graph. Out: the same graph, in which Scans have further outputs, and their gradients read these. The
inner graph of a gradient begins with a copy of the step itself, whose operands are rows of the Scan's sequences and
traces, read backwards: step `j` of it stands for step `n - 1 - j`. So what is equal in the two inner graphs, operands
included, is the same number. Which values are kept is a minimum cut (`codegen/analysis/cut.py`) between what is read
anyway and what is needed: cheap work is done again, and no value is kept that a cheaper set gives.

Decision to know: rows are counted from the end of a trace or sequence, so nothing need be known of sizes, but that a
trace ends with the last step's row and a sequence with the row that the last step reads. Where that is not plain from
how the library writes a Scan, the gradient is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...releases import inner_graph, untraced_count, with_inner_graph
from ...walk import order
from ..rebuilding import Rebuilding, replaced
from .loops import Loop, is_scan
from .pairs import Pair, pairs
from .prices import kept_for

_MOST = 32  # pairs of loops for which something is kept


def save_steps(inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The graph's outputs, with values of Scans' steps read in place of computed again.

    Args:
        inputs: the graph's inputs.
        outputs: its outputs.
    """
    outputs = list(outputs)
    if not any(map(is_scan, order(outputs, set(inputs)))):
        return outputs
    for _ in range(_MOST):
        found = ((pair, kept_for(pair)) for pair in pairs(order(outputs, set(inputs))))
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
    node = _with_stacks(forward, added)
    first = len(forward.node.outputs) - untraced_count(forward.info)
    old = [*node.outputs[:first], *node.outputs[first + len(added) :]]
    new = dict(zip(forward.node.outputs, old, strict=True))
    traces = {x: node.outputs[first + number] for number, x in enumerate(added)}
    for x in kept:
        traces.setdefault(x, new.get(pair.traced.get(x)))
    *outputs, last = replaced([*outputs, backward.node.outputs[0]], new, inputs)
    backward_node = last.owner
    read = {x: pair.same[x] for x in (*backward.inputs, *_results(backward)) if pair.same.get(x) in traces}
    result = _with_sequences(backward, backward_node, read, traces)
    return replaced(outputs, dict(zip(backward_node.outputs, result.outputs, strict=True)), inputs)


def _results(loop: Loop) -> list[Any]:
    return [x for node in loop.nodes for x in node.outputs]


def _with_stacks(loop: Loop, added: Sequence[Any]) -> Any:
    """The node of a loop with further traces, of variables of its inner graph."""
    info = replace(loop.info, n_nit_sot=loop.info.n_nit_sot + len(added))
    place = len(loop.outputs) - untraced_count(loop.info)
    results = [*loop.outputs[:place], *added, *loop.outputs[place:]]
    lengths = len(loop.node.inputs) - len(loop.constants)
    outer = [*loop.node.inputs[:lengths], *([loop.steps] * len(added)), *loop.node.inputs[lengths:]]
    return with_inner_graph(loop.node.op, loop.inputs, results, info).make_node(*outer)


def _with_sequences(loop: Loop, node: Any, read: Mapping[Any, Any], traces: Mapping[Any, Any]) -> Any:
    """The node of a loop that reads traces from their ends in place of variables of its inner graph."""
    given = {value: value.type() for value in traces}
    outputs = replaced(loop.outputs, {x: given[value] for x, value in read.items()})
    used = {x for node in order(outputs) for x in node.inputs} | set(outputs)
    old = list(zip(node.inputs[1:], loop.inputs, strict=False))[: loop.info.n_seqs]
    stay = [(outer, inner) for outer, inner in old if inner in used]
    sequences = [*stay, *((trace[::-1], given[value]) for value, trace in traces.items())]
    info = replace(loop.info, n_seqs=len(sequences))
    inner = [*(x for _, x in sequences), *loop.inputs[loop.info.n_seqs :]]
    outer = [node.inputs[0], *(x for x, _ in sequences), *node.inputs[1 + loop.info.n_seqs :]]
    return with_inner_graph(node.op, inner, outputs, info).make_node(*outer)
