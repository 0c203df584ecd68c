"""The cheapest set of values to keep, of those that a computation passes through: a minimum cut.

    h ──▶ sin h ──▶ s·w ──▶ y = s·w + c      needed later: y, s, c.  Kept: s and c; y is computed again.
     └──▶ cos h = c ──────────▲

In: which values are needed, what each is computed from, what it costs to compute it again and what to keep it. Out:
which are kept and which are computed again, at the least cost in all. Each value is two vertices: `computed` (its edge
from the source costs what computing it again costs) and `available` (the edge between the two costs what keeping it
costs); what a value is computed from must be available. The flow is found along shortest paths (Edmonds and Karp 1972);
there are about as many as values are needed, or a few times that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)

FOREVER = 1 << 60  # a price that is never paid


@dataclass(frozen=True)
class Value(Generic[Node]):
    """A value of the computation.

    Attributes:
        sources: what it is computed from.
        again: the price of computing it again; `FOREVER` if that cannot be done.
        keep: the price of keeping it; `FOREVER` if that cannot be done.
    """

    sources: Sequence[Node]
    again: int
    keep: int


@dataclass(frozen=True)
class Choice(Generic[Node]):
    """What to do.

    Attributes:
        kept: the values to keep.
        again: those to compute again.
        price: of all.
    """

    kept: frozenset[Node]
    again: frozenset[Node]
    price: int


def cheapest(values: Mapping[Node, Value[Node]], needed: Sequence[Node]) -> Choice[Node]:
    """The cheapest way to have the needed values later.

    Args:
        values: all values that the needed ones are computed from, also indirectly, and these.
        needed: values that must be available.

    Returns:
        The choice; of several of the same price, the one that computes least again.
    """
    numbers = {node: number for number, node in enumerate(values)}
    source, sink = 2 * len(numbers), 2 * len(numbers) + 1
    network = _Network(sink + 1)
    for node, value in values.items():
        computed, available = 2 * numbers[node], 2 * numbers[node] + 1
        network.add(source, computed, value.again)
        network.add(computed, available, value.keep)
        if value.again < FOREVER:
            for other in value.sources:
                network.add(2 * numbers[other] + 1, computed, FOREVER)
    for node in needed:
        network.add(2 * numbers[node] + 1, sink, FOREVER)
    price = network.fill(source, sink)
    later = network.reached(sink, backwards=1)  # what could still go to the sink
    kept = frozenset(n for n, k in numbers.items() if 2 * k + 1 in later and 2 * k not in later)
    return Choice(kept, frozenset(n for n, k in numbers.items() if 2 * k in later), price)


class _Network:
    """Vertices, and edges with what they still let through; edge `e ^ 1` is edge `e` backwards."""

    def __init__(self, size: int):
        self.edges: list[list[int]] = [[] for _ in range(size)]
        self.heads: list[int] = []
        self.room: list[int] = []

    def add(self, tail: int, head: int, room: int) -> None:
        self.edges[tail].append(len(self.heads))
        self.edges[head].append(len(self.heads) + 1)
        self.heads += [head, tail]
        self.room += [room, 0]

    def fill(self, source: int, sink: int) -> int:
        """Lets through as much as can be; returns how much."""
        total = 0
        while sink in (came := self.reached(source, sink)):
            path, vertex = [], sink
            while vertex != source:
                path.append(came[vertex])
                vertex = self.heads[came[vertex] ^ 1]
            amount = min(self.room[edge] for edge in path)
            for edge in path:
                self.room[edge] -= amount
                self.room[edge ^ 1] += amount
            total += amount
        return total

    def reached(self, start: int, end: int | None = None, backwards: int = 0) -> dict[int, int]:
        """The vertices to which something could go from another (or from which to it), each with the last edge."""
        came, queue = {start: -1}, deque([start])
        while queue and end not in came:
            vertex = queue.popleft()
            for edge in self.edges[vertex]:
                other = self.heads[edge]
                if self.room[edge ^ backwards] and other not in came:
                    came[other] = edge
                    queue.append(other)
        return came
