"""The ops of a block in an order in which repeated blocks lie one behind the other.

In: a `Snapshot`. Out: a `Sequence`: ops without constants, in the module's order or depth first from the results, with
each operand as a code that says where it comes from. Decision to know: `code = position * stride + result number`, so
that equal distances in code mean the same result of the same op of another repetition; what has no position (arguments
and constants) has a negative code, and is there from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .snapshot import Snapshot

Array = np.ndarray[Any, Any]

_LEAVES = frozenset({"stablehlo.constant", "stablehlo.iota"})


def distinct(values: Array) -> Array:
    """The different ones among integers, sorted. (`np.unique` loads half of NumPy when it is first called.)"""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


@dataclass
class Sequence:
    """Ops in an order that respects what they read.

    Attributes:
        snapshot: what it is an order of.
        ops: the op at each position.
        kinds: its kind.
        first: where its operands start in `codes`; one more than there are ops.
        codes: where each operand comes from.
        stride: what a position counts in a code.
        leaves: ops without a position, in the block's order.
        positions: the position of each op; -1 for leaves.
    """

    snapshot: Snapshot
    ops: Array
    kinds: Array
    first: Array
    codes: Array
    stride: int
    leaves: Array
    positions: Array

    def value_of(self, code: int) -> int:
        """The value that a code stands for."""
        if code < 0:
            return -1 - code
        return int(self.snapshot.results[self.ops[code // self.stride]]) + code % self.stride


def in_order(snapshot: Snapshot) -> Sequence:
    """The ops in the block's order."""
    is_leaf = np.array([name in _LEAVES for name in snapshot.names])
    return _arrange(snapshot, np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf))


def depth_first(snapshot: Snapshot) -> Sequence:
    """The ops that the results need, each as late as it can be, the deepest operand first.

    Ops that are never part of a run keep their order.
    """
    is_leaf = np.array([name in _LEAVES for name in snapshot.names])
    first, owners = snapshot.first.tolist(), snapshot.owners.tolist()
    operands = snapshot.operands.tolist()
    count = len(snapshot.names)
    reads: list[list[int]] = [[]] * count
    depth = [0] * count
    for op in range(count):
        if first[op] == first[op + 1]:
            continue
        found = {owners[value] for value in operands[first[op] : first[op + 1]]}
        found.discard(-1)
        depth[op] = 1 + max([depth[other] for other in found], default=0)
        # The deepest is popped first; among equals the earlier.
        reads[op] = sorted(found, key=lambda other: (depth[other], -other)) if len(found) > 1 else list(found)
    done = is_leaf.tolist()
    order: list[int] = []
    roots = [op for op in range(count) if snapshot.kinds[op] < 0]
    for root in roots:
        stack = [root]
        while stack:
            op = stack[-1]
            if done[op]:
                stack.pop()
                continue
            waiting = [other for other in reads[op] if not done[other]]
            if waiting:
                stack.extend(waiting)
            else:
                done[op] = True
                order.append(op)
                stack.pop()
    return _arrange(snapshot, np.array(order, np.int64), np.flatnonzero(is_leaf))


def _arrange(snapshot: Snapshot, ops: Array, leaves: Array) -> Sequence:
    positions = np.full(len(snapshot.names), -1, np.int64)
    positions[ops] = np.arange(len(ops))
    counts = np.diff(snapshot.first)
    stride = int(snapshot.numbers[snapshot.owners >= 0].max(initial=0)) + 1
    first = np.zeros(len(ops) + 1, np.int64)
    np.cumsum(counts[ops], out=first[1:])
    places = np.repeat(snapshot.first[ops] - first[:-1], counts[ops]) + np.arange(first[-1])
    values = snapshot.operands[places]
    owners = snapshot.owners[values]
    made = (owners >= 0) & (positions[owners] >= 0)
    codes = np.where(made, positions[owners] * stride + snapshot.numbers[values], -1 - values)
    return Sequence(snapshot, ops, snapshot.kinds[ops], first, codes, stride, leaves, positions)
