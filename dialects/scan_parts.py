"""A Scan's node, part by part, to make others like it.

    part           outer inputs                inner inputs              inner outputs       outer outputs
    sequences      the arrays                  their rows
    states         buffers with initial rows   a value for each tap      the new values      traces
    untraced       first values                values                    the new values      last values
    stacks         lengths                                               values              traces
    constants      values                      the same

In: a node. Out: its parts as lists, with a copy of the inner graph, and a node of changed parts. Decision to know:
`states` are the three kinds that the op tells apart (mit-mot, mit-sot, sit-sot), one behind the other, as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .releases import inner_graph, scan_op, untraced_field


@dataclass
class Untraced:
    """A state without a trace: its first value, the inner input and output, and its last value."""

    first: Any
    inner: Any
    result: Any
    last: Any


@dataclass
class ScanParts:
    """The parts of a Scan.

    Attributes:
        op: the op.
        steps: how many steps there are.
        sequences: outer and inner variable of each.
        buffers: outer inputs of the states with traces.
        states: their inner inputs, tap by tap.
        results: their inner outputs.
        untraced: states without a trace.
        stacks: length and inner output of each trace without a state.
        constants: outer and inner variable of each.
        condition: the inner output that ends the loop, if there is one.
    """

    op: Any
    steps: Any
    sequences: list[tuple[Any, Any]]
    buffers: list[Any]
    states: list[Any]
    results: list[Any]
    untraced: list[Untraced]
    stacks: list[tuple[Any, Any]]
    constants: list[tuple[Any, Any]]
    condition: list[Any]

    @staticmethod
    def of(node: Any, operands: Sequence[Any] | None = None, graph: Any = None) -> ScanParts:
        """The parts of a node.

        Args:
            node: the node.
            operands: what stands for its inputs, by default these.
            graph: its inner graph, by default a copy.
        """
        info = node.op.info
        inputs, outputs = inner_graph(node.op) if graph is None else (graph.inputs, graph.outputs)
        steps, *rest = node.inputs if operands is None else operands
        outer, inner, results, last = iter(rest), iter(inputs), iter(outputs), iter(node.outputs)
        taps = [*info.mit_mot_in_slices, *info.mit_sot_in_slices, *info.sit_sot_in_slices]
        sequences = list(zip(_take(outer, info.n_seqs), _take(inner, info.n_seqs), strict=True))
        buffers, states = _take(outer, len(taps)), _take(inner, sum(map(len, taps)))
        written = sum(map(len, info.mit_mot_out_slices)) + len(taps) - len(info.mit_mot_in_slices)
        written_states = _take(results, written)
        count = getattr(info, untraced_field(info))
        first, values = _take(outer, count), _take(inner, count)
        lengths, stacked = _take(outer, info.n_nit_sot), _take(results, info.n_nit_sot)
        new = _take(results, count)
        _take(last, len(taps) + info.n_nit_sot)
        return ScanParts(
            node.op,
            steps,
            sequences,
            buffers,
            states,
            written_states,
            [Untraced(*each) for each in zip(first, values, new, last, strict=True)],
            list(zip(lengths, stacked, strict=True)),
            list(zip(outer, inner, strict=True)),
            list(results),
        )

    @property
    def inner_inputs(self) -> list[Any]:
        """The inner graph's inputs."""
        inner = [x for _, x in self.sequences], self.states, [x.inner for x in self.untraced]
        return [*inner[0], *inner[1], *inner[2], *(x for _, x in self.constants)]

    @property
    def inner_outputs(self) -> list[Any]:
        """The inner graph's outputs."""
        stacked, new = [x for _, x in self.stacks], [x.result for x in self.untraced]
        return [*self.results, *stacked, *new, *self.condition]

    def set_inner_outputs(self, outputs: Iterable[Any]) -> None:
        """Puts others in the place of the inner graph's outputs."""
        rest = iter(outputs)
        self.results = _take(rest, len(self.results))
        self.stacks = [(length, next(rest)) for length, _ in self.stacks]
        for x in self.untraced:
            x.result = next(rest)
        self.condition = list(rest)

    def make(self) -> Any:
        """A node of these parts."""
        info = replace(
            self.op.info,
            n_seqs=len(self.sequences),
            n_nit_sot=len(self.stacks),
            n_non_seqs=len(self.constants),
            **{untraced_field(self.op.info): len(self.untraced)},
        )
        first = [x.first for x in self.untraced]
        lengths = [length for length, _ in self.stacks]
        outer = [x for x, _ in self.sequences], self.buffers, first, lengths, [x for x, _ in self.constants]
        op = scan_op(self.op, self.inner_inputs, self.inner_outputs, info)
        return op.make_node(self.steps, *(x for part in outer for x in part))


def is_scan(node: Any) -> bool:
    """Whether a node is a Scan."""
    return type(node.op).__name__ == "Scan" and hasattr(node.op, "info")


def _take(source: Iterator[Any], count: int) -> list[Any]:
    return [next(source) for _ in range(count)]
