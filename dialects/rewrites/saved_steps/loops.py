"""A Scan, part by part.

In: its node. Out: which outer variable is which inner one, in a copy of the inner graph in which ops that
are inner graphs themselves (logsumexp) are spelled out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...registry import find
from ...releases import inner_graph, untraced_count
from ...walk import order
from ..rebuilding import Rebuilding, replaced

_DERIVATIVES = ("pullback", "pushforward", "lop", "grad", "rop")


def is_scan(node: Any) -> bool:
    """Whether a node is a Scan."""
    return type(node.op).__name__ == "Scan" and hasattr(node.op, "info")


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
    own = any(getattr(op, f"{name}_overrides", None) not in (None, "default") for name in _DERIVATIVES)
    return [] if own or lowering is None or lowering.name != "OpFromGraph" else [_Inline]


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
        sequences, constants: outer and inner variable of each.
        states: states with traces.
        stacks: length, inner and outer output of each trace without a state.
    """

    def __init__(self, node: Any) -> None:
        self.node, self.info = node, node.op.info
        info = self.info
        self.inputs, outputs = inner_graph(node.op)
        self.outputs = Rebuilding(_inlining, order(outputs, set(self.inputs))).outputs(outputs)
        outer, inner = iter(node.inputs[1:]), iter(self.inputs)
        results, traces = iter(self.outputs), iter(node.outputs)

        def take(source: Iterator[Any], count: int) -> list[Any]:
            return [next(source) for _ in range(count)]

        self.sequences = list(zip(take(outer, info.n_seqs), take(inner, info.n_seqs), strict=True))
        mit_mots = info.mit_mot_in_slices
        take(outer, len(mit_mots)), take(inner, sum(map(len, mit_mots)))
        take(results, sum(map(len, info.mit_mot_out_slices))), take(traces, len(mit_mots))
        taps = [*info.mit_sot_in_slices, *info.sit_sot_in_slices]
        buffers = take(outer, len(taps))
        self.states = [
            State(each, buffer, take(inner, len(each)), next(results), next(traces))
            for each, buffer in zip(taps, buffers, strict=True)
        ]
        untraced = untraced_count(info)
        take(outer, untraced), take(inner, untraced)
        self.stacks = [(length, next(results), next(traces)) for length in take(outer, info.n_nit_sot)]
        self.constants = list(zip(outer, inner, strict=True))

    @property
    def steps(self) -> Any:
        """How many steps."""
        return self.node.inputs[0]

    @cached_property
    def nodes(self) -> list[Any]:
        """The inner graph's."""
        return order(self.outputs, set(self.inputs))
