"""Terms of a sum that repeat one expression become that expression with a leading axis, and its sum.

    before  t0 = f(x[0], c0), t1 = f(x[1], c1), ...            after  t = f(x[0:n], [c0, c1, ...])
            t0 + t1 + ...                                             sum(t, axis=0)
            inc(zeros, g0, 0) + inc(zeros, g1, 1) + ...               inc(zeros, g, [0, 1, ...])

In: a graph. Out: a graph in which at least `REPEATS` equal terms are one; they differ in constants, and in where they
read a vector, alone. Decision to know: two numbers stand for all that a variable is computed from, with and without the
values of its constants, so that the time is linear. Rounding: terms are added in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.graph import order

# A graph of fewer nodes than `LEAST` is as fast without; longer data than `LARGEST` is not copied.
REPEATS, LEAST, LARGEST = 8, 200, 1 << 20
_CHECKS = frozenset({"Assert", "CheckAndRaise", "CheckParameterValue"})
_OPS = _CHECKS | {"All", "Any", "CAReduce", "DimShuffle", "Elemwise", "LogSoftmax", "MakeVector", "Max", "Min", "Prod"}
_OPS |= {"Softmax", "Subtensor", "Sum"}
_SPREADING = ("Alloc", "DimShuffle")
Lanes = tuple[Any, ...]  # what stands in each of the terms for one variable of the expression


class Repeats:
    """One walk through a graph with these inputs; `module` imports a module of the library."""

    def __init__(self, module: Any, inputs: Sequence[Any]) -> None:
        self._tensor, self._constant = module("tensor"), module("graph.basic").Constant
        self._inputs, replace = set(inputs), getattr(module("graph"), "replace", None)
        self._vectorized = getattr(replace, "_vectorize_node", None)
        self._filled, self._sums = dict[Any, Any](), dict[Any, Any]()  # `second` that stretches nothing; rolled-up sums
        self._now: Any = lambda x: self._filled.get(x, x)
        self._ops: tuple[dict[int, int], dict[Any, int]] = {}, {}
        self._numbers, self._alike, self._exact = dict[Any, int](), dict[Any, int](), dict[Any, int]()
        self._counted, self._made = set[Any](), dict[tuple[int, ...], Any]()  # nodes whose results have an exact number

    def gathered(self, outputs: Sequence[Any]) -> list[Any]:
        """The graph's outputs with each sum of equal terms as one term."""
        nodes = order(outputs, self._inputs)
        if len(nodes) < LEAST or self._vectorized is None:
            return list(outputs)
        self._number(nodes, self._alike)
        left = order(outputs, self._inputs, through=self._now)
        added = Counter(self._number_of(x, self._alike) for n in left if _is(n, "Add") for x in n.inputs)
        checks = [sum(type(node.op).__name__ in _CHECKS for node in each) for each in (left, nodes)]
        if max(added.values(), default=0) < REPEATS or checks[0] < checks[1] or not self._roll(outputs, left):
            return list(outputs)  # nothing to do; or a check would be dropped
        made: dict[Any, Any] = {}
        stands = self._filled | {x: self._sums.get(y, y) for x, y in self._filled.items()} | self._sums
        for node in order(outputs, self._inputs, through=lambda x: stands.get(x, x)):
            operands = [made.get(y := stands.get(x, x), y) for x in node.inputs]
            if any(x is not y for x, y in zip(operands, node.inputs, strict=True)):
                made.update(zip(node.outputs, node.clone_with_new_inputs(operands).outputs, strict=True))
        return [made.get(y := stands.get(x, x), y) for x in outputs]

    def _number(self, nodes: Sequence[Any], table: dict[Any, int]) -> None:
        """Gives all variables of nodes, operands first, the numbers of what they are computed from."""
        (by_id, by_op), numbers = self._ops, self._numbers
        for node in nodes:
            op = by_id.get(id(node.op))
            if op is None:
                op = by_id[id(node.op)] = by_op.setdefault(node.op, len(by_op))
            key = (op, *[self._number_of(x, table) for x in node.inputs])
            for place, x in enumerate(node.outputs):
                table[x] = numbers.setdefault((place, *key), len(numbers))
            if _is(node, "Second") and table is self._alike:
                first, second = map(self._now, node.inputs)
                if None not in first.type.shape and second.type == node.outputs[0].type:
                    self._filled[node.outputs[0]] = second

    def _number_of(self, x: Any, table: dict[Any, int]) -> int:
        x = self._now(x)
        if x not in table:  # no node has made it, or none that counts here
            data = x.data if isinstance(x, self._constant) else None
            key = x
            if isinstance(data, np.ndarray | np.generic) and (table is self._alike or data.size <= 64):
                key = x.type.dtype, data.shape, b"" if table is self._alike else data.tobytes()
            table[x] = self._numbers.setdefault(("leaf", key), len(self._numbers))
        return table[x]

    def _same(self, lanes: Lanes) -> bool:
        return len({self._number_of(x, self._exact) for x in lanes}) == 1

    def _roll(self, outputs: Sequence[Any], nodes: Sequence[Any]) -> bool:
        """Whether there was a sum of equal terms."""
        uses = Counter(self._now(x) for node in nodes for x in node.inputs)
        uses.update(list(outputs) * 2)
        stack, seen = list(outputs), set(self._inputs)
        while stack:
            root = self._now(stack.pop())
            if root in seen or root.owner is None:
                continue
            seen.add(root)
            if not self._is_sum(root):
                stack += root.owner.inputs
                continue
            groups, tree = dict[Any, list[Any]](), [root]
            while tree:  # of sums, which nothing else reads inside
                x = tree.pop()
                if x is root or (uses[x] == 1 and self._is_sum(x)):
                    tree += map(self._now, reversed(x.owner.inputs))
                else:
                    groups.setdefault(self._alike.get(x, x), []).append(x)
            sums, kept = list[Any](), list[Any]()
            for group in groups.values():
                try:
                    sums.append(self._sum(tuple(group)))
                except (NotImplementedError, RecursionError):
                    kept += group
            stack += kept
            made = None if not sums else sums[0] if len(sums) + len(kept) == 1 else self._tensor.add(*sums, *kept)
            if made is not None and made.type == root.type:
                self._sums[root] = made
        return bool(self._sums)

    def _is_sum(self, x: Any) -> bool:
        if x.owner is None or not _is(x.owner, "Add") or x in self._inputs:
            return False
        return x.type.dtype.startswith(("f", "c")) and all(self._now(y).type == x.type for y in x.owner.inputs)

    def _sum(self, lanes: Lanes) -> Any:
        if len(lanes) < REPEATS:
            raise NotImplementedError
        nodes = order(lanes, self._inputs, self._counted, through=self._now)
        self._number(nodes, self._exact)
        self._counted.update(nodes)
        node, dtype = lanes[0].owner, lanes[0].type.dtype
        if self._same(lanes):
            raise NotImplementedError
        if node is None or type(node.op).__name__ != "IncSubtensor" or node.op.set_instead_of_inc:
            return self._batch(lanes).sum(axis=0, dtype=dtype, acc_dtype=dtype)
        zeros, added = (tuple(self._now(x.owner.inputs[i]) for x in lanes) for i in range(2))
        places, zero = self._places(lanes, 2), zeros[0]
        while zero.owner is not None and (_is(zero.owner, "Second") or type(zero.owner.op).__name__ in _SPREADING):
            zero = zero.owner.inputs[_is(zero.owner, "Second")]
        fits = added[0].type.broadcastable == zeros[0].type.broadcastable[1:] and isinstance(zero, self._constant)
        if places is None or not fits or self._same(added) or not self._same(zeros) or zero.data.tobytes().strip(b"\0"):
            raise NotImplementedError
        return self._tensor.inc_subtensor(_part(zeros[0], places), self._batch(added))

    def _batch(self, lanes: Lanes) -> Any:
        """The variables of all lanes with a leading axis; None where they are one and the same."""
        key = tuple([self._number_of(x, self._exact) for x in lanes])
        if key not in self._made:
            self._made[key] = None if len(set(key)) == 1 else self._batched(tuple(map(self._now, lanes)))
        return self._made[key]

    def _batched(self, lanes: Lanes) -> Any:
        first, nodes = lanes[0], [x.owner for x in lanes]
        constant = all(isinstance(x, self._constant) and isinstance(x.data, np.ndarray) for x in lanes)
        if constant and first.data.size * len(lanes) <= LARGEST:
            return self._tensor.constant(np.stack([x.data for x in lanes]), dtype=first.type.dtype)
        if None in nodes or any(x in self._inputs for x in lanes) or len(nodes[0].outputs) > 1:
            raise NotImplementedError
        name = type(nodes[0].op).__name__
        columns = [tuple(column) for column in zip(*[x.inputs for x in nodes], strict=True)]
        if name == "Subtensor" and self._same(columns[0]) and (places := self._places(lanes, 1)) is not None:
            return _part(self._now(columns[0][0]), places)
        numbers = first.type.dtype != "float64" and all(isinstance(x, self._constant) for c in columns for x in c)
        if name not in _OPS or (numbers and name != "DimShuffle"):
            raise NotImplementedError  # numbers alone are computed in more digits than float32 has
        batches = [self._batch(column) for column in columns]
        given = [self._now(c[0]) if batch is None else batch for c, batch in zip(columns, batches, strict=True)]
        made = self._vectorized(nodes[0].op, nodes[0], *given)  # type: ignore[misc]
        found = getattr(made, "outputs", made)[0]
        if found.type.ndim != first.type.ndim + 1 or type(found.owner.op).__name__ == "Blockwise":
            raise NotImplementedError
        return found

    def _places(self, lanes: Lanes, number: int) -> list[int] | None:
        """Where each lane reads or writes one element along the first axis, by the operand with this number."""
        node = lanes[0].owner
        if len(node.inputs) != number + 1 or len(node.op.idx_list) != 1 or isinstance(node.op.idx_list[0], slice):
            return None
        given = [x.owner.inputs[number] for x in lanes]
        return [int(x.data) for x in given] if all(isinstance(x, self._constant) for x in given) else None


def _part(x: Any, places: list[int]) -> Any:
    first, count, size = places[0], len(places), x.type.shape[0]
    if size is not None and 0 <= first <= size - count and places == list(range(first, first + count)):
        return x[first : first + count]
    return x[np.array(places)]


def _is(node: Any, kind: str) -> bool:
    return type(node.op).__name__ == "Elemwise" and type(node.op.scalar_op).__name__ == kind
