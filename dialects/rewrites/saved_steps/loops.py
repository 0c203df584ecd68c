"""A Scan, part by part.

In: its node. Out: which outer variable is which inner one, in a copy of the inner graph in which ops that
are inner graphs themselves (logsumexp) are spelled out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...registry import find
from ...releases import inner_graph
from ...scan_parts import ScanParts
from ...walk import order
from ..rebuilding import Rebuilding, replaced

_DERIVATIVES = ("pullback", "pushforward", "lop", "grad", "rop")


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
        columns = zip(taps, parts.buffers[several:], inner, results, traces, strict=True)
        self.states = [State(*column) for column in columns]

    @property
    def traces(self) -> list[Any]:
        """The traces without a state."""
        count = len(self.parts.buffers)
        return list(self.node.outputs[count : count + len(self.parts.stacks)])

    @cached_property
    def nodes(self) -> list[Any]:
        """The inner graph's."""
        return order(self.parts.inner_outputs, set(self.parts.inner_inputs))
