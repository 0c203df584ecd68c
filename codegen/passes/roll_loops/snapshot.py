"""A block of straight-line code as arrays, and an order of its ops.

In: a function. Out: a `Snapshot`: for each op of its block a number that stands for everything that must be equal in
two ops of the same kind (name, types, attributes, regions; not where a slice starts, nor where a pad puts its operand),
and the ops that its operands come from. Decision to know: it is read from one print in the generic form, which is
several times faster than asking MLIR's bindings op by op.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir import kinds
from ...ir.bindings import ir
from ...ir.values import Array, walk

# Elements of a constant that are printed; a longer one equals only itself.
_ELEMENTS = 64

_LINE = re.compile(r'^  (?:(%\w+)(?::(\d+))? = )?"([^"]+)"\(([^)]*)\)(.*)$', re.MULTILINE)
_NAME = re.compile(r"(%\w+)(#\d+)?")
_PLACED = frozenset({"stablehlo.slice", "stablehlo.pad"})

_LIST = r" = array<i64: ([-\d, ]+)>"
_SLICE = re.compile(rf" <{{limit_indices{_LIST}, start_indices{_LIST}, strides{_LIST}}}>(.*)")
_PAD = re.compile(rf" <{{edge_padding_high{_LIST}, edge_padding_low{_LIST}, interior_padding{_LIST}}}>(.*)")

# Ops that do something, or that depend on where they run; a `custom_call` does where it says so.
EFFECTS = re.compile(
    'has_side_effect = true|"(?:' + "|".join(map(re.escape, sorted(kinds.EFFECTS - {"stablehlo.custom_call"}))) + ')"'
)
# Ops whose kind cannot be told from their text.
_UNTOLD = re.compile(r'__elided__|dense_resource|[=\[,{] ?"[^"%]*%')
_SHARDING = re.compile(r"mhlo\.sharding = |sdy\.sharding(?:_per_value)? = ")
_FOREIGN = re.compile(
    r"!\w+\.|tensor<(?![?\dx]*(?:i1|u?i(?:8|16|32|64)|bf16|f(?:16|32|64)|complex<f(?:32|64)>)[>,])|tuple<"
)
_DYNAMIC = re.compile(r"tensor<[\dx]*\?")


@dataclass
class Snapshot:
    """A block's ops, in order.

    Values are numbered: first the function's arguments, then the ops' results, in order.

    Attributes:
        ops: the ops themselves.
        names: the ops' names.
        kinds: a number for each op; equal for ops that differ in nothing but operands and places.
        first: where each op's operands start in `operands`; one more than there are ops.
        operands: values, by number; behind an op's own operands come those that its regions read from outside.
        owners: the op that each value is a result of; -1 for an argument.
        numbers: which of its owner's results a value is, or which argument.
        results: the first result of each op, as a value.
        places: start indices of a slice, low padding of a pad.
        alone: ops that are never part of a run, and why.
        arguments: the block's arguments.
    """

    ops: list[ir.Operation]
    names: list[str]
    kinds: Array
    first: Array
    operands: Array
    owners: Array
    numbers: Array
    results: Array
    places: dict[int, tuple[int, ...]]
    alone: dict[int, str]
    arguments: list[ir.Value]

    def value(self, number: int) -> ir.Value:
        """A value of the block."""
        owner = int(self.owners[number])
        if owner < 0:
            return self.arguments[int(self.numbers[number])]
        return self.ops[owner].results[int(self.numbers[number])]


def take_snapshot(function: ir.Operation, pure_calls: bool = True) -> Snapshot:
    """Reads a function of one block.

    Args:
        function: the function.
        pure_calls: whether what it calls does nothing but compute.
    """
    block = function.regions[0].blocks[0]
    text = str(
        function.get_asm(
            print_generic_op_form=True, assume_verified=True, use_local_scope=True, large_elements_limit=_ELEMENTS
        )
    )
    # A walk is twice as fast as a block's iterator, where nothing but the function has a region.
    flat = text.count("({\n") == 1
    ops = walk(function)[1:] if flat else [op.operation for op in block.operations]
    return _Reader(text, ops, list(block.arguments), pure_calls).read()


class _Reader:
    """Takes the print apart, all lines at a time."""

    def __init__(self, text: str, ops: list[ir.Operation], arguments: list[ir.Value], pure_calls: bool):
        self.text, self.ops, self.arguments, self.pure_calls = text, ops, arguments, pure_calls
        # The first line is the function's, the second names its arguments, if there are any.
        self.start = text.index("\n") + 1
        names: list[str] = []
        if arguments:
            begin, self.start = self.start, text.index("\n", self.start) + 1
            names = re.findall(r"(%\w+): ", text[begin : self.start])
        self.values: dict[str, int] = {name: number for number, name in enumerate(names)}
        self.places: dict[int, tuple[int, ...]] = {}
        self.alone: dict[int, str] = {}

    def read(self) -> Snapshot:
        rows = _LINE.findall(self.text, self.start)
        if len(rows) != len(self.ops):
            raise AssertionError(f"{len(rows)} ops are printed in the form that is known, of {len(self.ops)}")
        made, several, names, reads, rests = (list(column) for column in zip(*rows, strict=True))
        counts = np.array([bool(name) for name in made], np.int64)
        for op in [op for op, number in enumerate(several) if number]:
            counts[op] = int(several[op])
        results = len(self.arguments) + np.cumsum(counts) - counts
        owners = np.concatenate([np.full(len(self.arguments), -1), np.repeat(np.arange(len(rows)), counts)])
        numbers = np.arange(len(owners))
        numbers[len(self.arguments) :] -= np.repeat(results, counts)
        self.values.update(zip(made, results.tolist(), strict=True))
        for op in np.flatnonzero(counts > 1).tolist():
            self.values.update((f"{made[op]}#{number}", int(results[op]) + number) for number in range(counts[op]))
        keys: list[Any] = list(zip(names, rests, strict=True))
        for op in [op for op, name in enumerate(names) if name in _PLACED]:
            keys[op] = (names[op], self.without_place(op, names[op], rests[op]))
        position = self.start
        for op in [op for op, rest in enumerate(rests) if rest.endswith("({")]:
            begin = self.text.index("({\n", position)
            position = self.text.index("\n", self.text.index("\n  })", begin) + 1)
            region, captured = self.regions(self.text[begin:position])
            rests[op] += region
            keys[op] = (names[op], rests[op])
            reads[op] = ", ".join(filter(None, [reads[op], *captured]))
        flat = ", ".join(filter(None, reads))
        operands = list(map(self.values.__getitem__, flat.split(", "))) if flat else []
        first = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([read.count("%") for read in reads], out=first[1:])
        kinds = self.kinds(keys, names, rests)
        return Snapshot(
            self.ops,
            names,
            kinds,
            first,
            np.array(operands, np.int64),
            owners,
            numbers,
            results,
            self.places,
            self.alone,
            self.arguments,
        )

    def kinds(self, keys: list[Any], names: list[str], rests: list[str]) -> Array:
        """Numbers for keys; numbers of their own for ops that are never part of a run."""
        known = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        found = np.fromiter(map(known.__getitem__, keys), np.int64, len(keys))
        # Numbers are given in the order of their first use.
        examples = np.flatnonzero(found > np.append(-1, np.maximum.accumulate(found)[:-1]))
        reasons = {kind: self.apart(names[op], rests[op]) for kind, op in enumerate(examples.tolist())}
        for op in np.flatnonzero(np.array([bool(reason) for reason in reasons.values()])[found]).tolist():
            self.alone[op] = reasons[int(found[op])]
            found[op] = -len(self.alone)
        return found

    def apart(self, name: str, rest: str) -> str:
        """Why an op is never part of a run; "" if it may be."""
        line = f'"{name}"{rest}'
        if name == "func.return":
            return "it ends the function"
        if EFFECTS.search(line) or (name == "func.call" and not self.pure_calls):
            return "it does something besides computing"
        if _SHARDING.search(line):
            return "it says how it is spread over devices"
        if _FOREIGN.search(line):
            return "it works on a type that NumPy does not have"
        if _DYNAMIC.search(line):
            return "a size is not known (specialize the program first)"
        return "it holds a long constant, or a text with a name in it" if _UNTOLD.search(line) else ""

    def without_place(self, index: int, name: str, rest: str) -> Any:
        """What must be equal in two slices, or two pads, that differ in their places."""
        match = _SLICE.match(rest) if name == "stablehlo.slice" else _PAD.match(rest)
        if match is None:
            return rest
        if name == "stablehlo.slice":
            limits, starts = _integers(match[1]), _integers(match[2])
            self.places[index] = starts
            return (*[limit - start for start, limit in zip(starts, limits, strict=True)], match[3], match[4])
        high, low, interior = (_integers(match[group]) for group in (1, 2, 3))
        if any(interior) or min(low + high) < 0:
            return rest
        self.places[index] = low
        return match[4]

    def regions(self, text: str) -> tuple[str, list[str]]:
        """Regions with the values that they make numbered anew; and those from outside, which become operands."""
        inside: dict[str, str] = {}
        captured: dict[str, str] = {}

        def rename(match: re.Match[str]) -> str:
            if match[0] in self.values:
                return captured.setdefault(match[0], f"%outer{len(captured)}")
            return inside.setdefault(match[1], f"%inner{len(inside)}") + (match[2] or "")

        return _NAME.sub(rename, text), list(captured)


def _integers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


# ---- an order in which repeated blocks lie one behind the other -----------------------------------------------------
# Ops without constants, in the module's order or depth first from the results. Each operand is a code that says where
# it comes from: `code = position * stride + result number`, so that equal distances in code mean the same result of the
# same op of another repetition; what has no position (arguments and constants) has a negative code, and is there from
# the start.

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
    """

    snapshot: Snapshot
    ops: Array
    kinds: Array
    first: Array
    codes: Array
    stride: int

    def value_of(self, code: int) -> int:
        """The value that a code stands for."""
        if code < 0:
            return -1 - code
        return int(self.snapshot.results[self.ops[code // self.stride]]) + code % self.stride


def in_order(snapshot: Snapshot) -> Sequence:
    """The ops in the block's order."""
    return _arrange(snapshot, np.flatnonzero([name not in _LEAVES for name in snapshot.names]))


def depth_first(snapshot: Snapshot) -> Sequence:
    """The ops that the results need, each as late as it can be, the deepest operand first.

    Ops that are never part of a run keep their order.
    """
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
    done = [name in _LEAVES for name in snapshot.names]
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
    return _arrange(snapshot, np.array(order, np.int64))


def _arrange(snapshot: Snapshot, ops: Array) -> Sequence:
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
    return Sequence(snapshot, ops, snapshot.kinds[ops], first, codes, stride)
