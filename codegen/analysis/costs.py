"""The cheapest set of values to keep, of those that a computation passes through: a minimum cut; and what work costs.

    h ──▶ sin h ──▶ s·w ──▶ y = s·w + c      needed later: y, s, c.  Kept: s and c; y is computed again.
     └──▶ cos h = c ──────────▲

In: which values are needed, what each is computed from, what it costs to compute it again and what to keep it. Out:
which are kept and which are computed again, at the least cost in all. Each value is two vertices: `computed` (its edge
from the source costs what computing it again costs) and `available` (the edge between the two costs what keeping it
costs); what a value is computed from must be available. The flow is found along shortest paths (Edmonds and Karp 1972);
there are about as many as values are needed, or a few times that.

Costs of elementwise work, and of keeping its result in memory, are picoseconds on one core of XLA:CPU. Decision to
know: these are measured orders of magnitude (jaxlib 0.10.2, loops of 512 steps), and only ever compared with each
other. An array of some megabytes leaves the cache, and its pages are new in each call: to store and read again an
element of 4 bytes costs as much as forty additions or five exponentials then, but less than one sine; in a smaller one
as much as six additions.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..ir.bindings import ir
from ..ir.kinds import STABLEHLO, having
from ..ir.values import dtype_of, elements_of, is_static, main_function, shape_of

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


# For each byte of an array: writing it and reading it again; reading it where it is stored anyway.
_STORE, _STORE_SMALL = 500, 80
_LOAD, _LOAD_SMALL = 80, 20
_LARGE = 6 << 20  # bytes: of larger ones little stays in the cache

# (4 bytes and less, 8 bytes)
_ARITHMETIC = (50, 100)
_MOVEMENT = (60, 120)
_EXPENSIVE = (25_000, 25_000)

# What is not arithmetic.
_COSTS: dict[str, tuple[int, int]] = {
    "exponential": (350, 1500),
    "tanh": (360, 1100),
    "logistic": (570, 1750),
    "log": (570, 5700),
    "exponential_minus_one": (1200, 3500),
    "log_plus_one": (1400, 7400),
    "sine": (4500, 10_000),
    "cosine": (4200, 10_500),
    "power": (4000, 8500),
    "cbrt": (16_000, 18_000),
    "tan": (18_000, 22_000),
    "remainder": (18_000, 18_000),
    "atan2": (21_000, 21_000),
}
# What only arranges elements, at places that are known.
MOVING = having("moving") | {"stablehlo.iota"}


def is_large(size: int) -> bool:
    """Whether little of an array of this many bytes stays in the cache."""
    return size >= _LARGE


def store(size: int) -> int:
    """The price of writing an array of this many bytes in one loop, and reading it in another."""
    return size * (_STORE if is_large(size) else _STORE_SMALL)


def load(size: int) -> int:
    """The price of reading an array of this many bytes that is stored anyway."""
    return size * (_LOAD if is_large(size) else _LOAD_SMALL)


def cost(op: ir.Operation) -> int | None:
    """What it costs to do an op again, in picoseconds; None for what is neither elementwise nor mere movement."""
    result = op.results[0] if len(op.results) == 1 else None
    if result is None or op.regions or not is_static(result.type):
        return None
    name = op.name.removeprefix("stablehlo.")
    wide = dtype_of(result).itemsize > 4
    if op.name in MOVING:
        return _MOVEMENT[wide] * elements_of(result.type)
    if op.name not in STABLEHLO:
        return None
    if op.name == "stablehlo.bitcast_convert" and shape_of(result) != shape_of(op.operands[0]):
        return None
    kind = dtype_of(op.operands[0]).kind
    costs = _COSTS.get(name, _ARITHMETIC)
    if kind == "c" and costs not in (_ARITHMETIC,):
        costs = _EXPENSIVE
    if name in ("power", "remainder") and kind in "iu":
        costs = (2000, 4000)
    return costs[wide] * elements_of(result.type)


def is_cheap(op: ir.Operation) -> bool:
    """Whether an op only arranges elements, or is arithmetic, by its name."""
    return op.name in MOVING or (op.name in STABLEHLO and op.name.removeprefix("stablehlo.") not in _COSTS)


def effort(op: ir.Operation) -> int:
    """What a static op costs, in picoseconds, whatever it is; of a loop it is not known, and much.

    A contraction of m x k with k x n counts as m k n products, and a factorization of n x n as n^3.
    """
    price = cost(op)
    if price is None:
        values = [x for x in (*op.operands, *op.results) if is_static(x.type)]
        sizes = [elements_of(x.type) for x in values]
        count = math.isqrt(math.prod(sizes)) if op.name in _CONTRACTING else max(sizes, default=0)
        if op.name in _FACTORING:
            count *= max([shape[-1] or 0 for x in values if len(shape := shape_of(x)) > 1], default=1)
        price = FOREVER >> 20 if op.name == "stablehlo.while" else _ARITHMETIC[1] * count
    return price


def work(module: ir.Module) -> int:
    """What a static module costs, in picoseconds, without its loops, of which the steps count that there are."""
    ops = [view.operation for view in main_function(module).regions[0].blocks[0].operations]
    counted = [op for op in ops if op.name != "stablehlo.while" and len(op.results)]
    return sum(effort(op) for op in counted if is_static(op.results[0].type))


_CONTRACTING = ("stablehlo.dot_general", "stablehlo.convolution", "stablehlo.triangular_solve")
_FACTORING = ("stablehlo.cholesky", "stablehlo.custom_call", "func.call")
