"""`Batcher`: walks a module op by op and makes its batched version.

In: blocks of the module, and what stands for their arguments. Out: the same ops at the current place, with the batch
axis in front where something depends on it. A rule is a function of the batcher and an op, registered by the op's name;
it is asked only where an operand has the axis. Decisions to know: a rule may return `NotImplemented`; the op then runs
row by row, in a loop, and is counted in `looped`. Sizes may be open, that of the batch too; they never get the axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from ...errors import PassError
from .. import ops
from ..bindings import DYNAMIC, ir, stablehlo
from ..kinds import EFFECTS
from ..ops import Size, captured, clone, replace_operands
from ..values import call_target, constant, dot_sides, dtype_of, flag_of, owner, shape_of, sizes_of, terminator, users
from ..while_ops import counted


@dataclass(frozen=True)
class Row:
    """What stands for a value of the module.

    Attributes:
        value: of the batched module.
        each: whether it has the batch axis in front; else it is the same for all rows.
        total: it is the sum over the rows that count, and nothing else of it is needed.
    """

    value: ir.Value
    each: bool
    total: bool = False


Rule = TypeVar("Rule", bound=Callable[..., Any])
RULES: dict[str, Callable[[Batcher, ir.Operation], Any]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for ops of StableHLO, or for ops by their full names."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name if "." in name else f"stablehlo.{name}"] = function
        return function

    return register


class Batcher:
    """The walk.

    Attributes:
        module: the batched one, for functions that calls need; None where there is no call.
        size: of the batch axis: an int, or an int64 scalar.
        may_be_empty: whether there may be no row at all, where `size` is open.
        active: which rows count at the current place, a vector of booleans; None for all. What the others hold is
            never seen, but must not keep a loop running.
        summed: the values of which only the sum over the rows is needed.
        looped: how often ops of a name run row by row.
        rows: what stands for the values so far; what comes from outside of the walk is the same for all rows.
    """

    def __init__(self, module: ir.Module | None, size: Size, summed: Collection[ir.Value] = ()) -> None:
        self.module = module
        self.size = size
        self.may_be_empty = False
        self.active: ir.Value | None = None
        self.summed = frozenset(summed)
        self.looped: Counter[str] = Counter()
        self.rows: dict[ir.Value, Row] = _Rows()
        self._given: dict[ir.Value, Row] = {}

    # ---- values -----------------------------------------------------------------------------------------------------

    def type_of(self, value: ir.Value) -> ir.RankedTensorType:
        """The type with the batch axis."""
        return ops.tensor_type(value, [self.extent, *sizes_of(value)])

    @property
    def extent(self) -> int:
        """The size of the batch axis as types have it."""
        return self.size if isinstance(self.size, int) else DYNAMIC

    def row(self, value: ir.Value) -> Row:
        """What stands for a value."""
        return self.rows[value]

    def rows_of(self, operation: ir.Operation) -> list[Row]:
        """What stands for an op's operands."""
        return [self.rows[value] for value in operation.operands]

    def is_each(self, values: Iterable[ir.Value]) -> bool:
        """Whether one of the values has the batch axis."""
        return any(self.rows[value].each for value in values)

    def full(self, row: Row) -> ir.Value:
        """A value with the batch axis."""
        assert not row.total
        if row.each:
            return row.value
        return self.repeated(row.value)

    def repeated(self, value: ir.Value) -> ir.Value:
        """A value that is the same for all rows, with the batch axis."""
        shape = ops.sizes(value)
        return ops.broadcast_in_dim(value, [self.size, *shape], range(1, len(shape) + 1))

    def each(self, values: Iterable[ir.Value]) -> list[ir.Value]:
        """What stands for values, all with the batch axis."""
        return [self.full(self.rows[value]) for value in values]

    def one_at_least(self, value: ir.Value) -> ir.Value:
        """A value with the axis, with a row of zeros where there is none: no slice can be taken of nothing."""
        if not self.may_be_empty:
            return value
        whole = ops.sizes(value)
        high: list[Size] = [0] * len(whole)
        high[0] = ops.compute("subtract", ops.compute("maximum", self.size, 1), self.size)
        none = ops.vector([0] * len(whole))
        return stablehlo.dynamic_pad(value.type, value, ops.scalar(0, value), none, ops.vector(high), none)

    def same_for_all(self, value: ir.Value) -> ir.Value:
        """What stands for a value that decides a size.

        Raises:
            PassError: it differs from row to row.
        """
        row = self.rows[value]
        if row.each:
            raise PassError("batch: a size, or what decides one, would differ from row to row")
        return row.value

    def where(self, mask: ir.Value, value: ir.Value, other: ir.Value) -> ir.Value:
        """`value` in the rows of a mask, `other` in the rest."""
        return stablehlo.select(ops.broadcast_in_dim(mask, ops.sizes(value), [0]), value, other)

    def where_active(self, value: ir.Value, other: ir.Value) -> ir.Value:
        """`value` in the rows that count, `other` in the rest."""
        return value if self.active is None else self.where(self.active, value, other)

    # ---- the walk ---------------------------------------------------------------------------------------------------

    def block(self, block: ir.Block, arguments: Sequence[Row]) -> list[Row]:
        """Makes a block's ops at the current place; what its terminator returns."""
        self.rows.update(zip(block.arguments, arguments, strict=True))
        last = terminator(block)
        for opened in block.operations:
            operation = opened.operation
            if operation == last:
                break
            with operation.location:
                found = self._operation(operation)
            self.rows.update(zip(operation.results, found, strict=True))
        return [self.rows[value] for value in last.operands]

    def apply(self, operation: ir.Operation, operands: Sequence[Row]) -> list[Row]:
        """An op at the current place, whatever stands elsewhere for its operands (of which two may be one value)."""
        holder = ir.Operation.create("builtin.module", regions=1)
        types = [value.type for value in operation.operands]
        block = holder.regions[0].blocks.append(*types, arg_locs=[operation.location] * len(types))
        copy = operation.clone(ip=ir.InsertionPoint(block))
        for place, argument in enumerate(block.arguments):
            copy.operands[place] = argument
            self.rows[argument] = operands[place]
        found = self._operation(copy)
        for argument in block.arguments:
            del self.rows[argument]
        holder.erase()
        return found

    @contextmanager
    def given(self, known: Mapping[ir.Value, Row]) -> Iterator[None]:
        """Meanwhile values that are known stand for results of ops."""
        outer, self._given = self._given, {**self._given, **known}
        yield
        self._given = outer

    def _operation(self, operation: ir.Operation) -> list[Row]:
        if self._given and len(operation.results) == 1 and operation.results[0] in self._given:
            return [self._given[operation.results[0]]]
        special = CONTROL.get(operation.name)
        if special is not None:
            found: list[Row] = special(self, operation)
            return found
        read = [*operation.operands, *captured(operation)]
        if any(self.rows[value].total for value in read):
            return linear(self, operation)
        if not self.is_each(read):
            return self.same(operation)
        if operation.name == "stablehlo.get_dimension_size":
            axis = ir.IntegerAttr(operation.attributes["dimension"]).value
            return [Row(stablehlo.get_dimension_size(self.rows[operation.operands[0]].value, axis + 1), False)]
        # What says nothing of it by its name may say itself that it does no more than to give a result.
        pure = operation.name == "stablehlo.rng" or (
            call_target(operation) not in ("", "hlograph.size") and not flag_of(operation, "has_side_effect", False)
        )
        if operation.name in EFFECTS and not pure:
            raise PassError(f"batch: {operation.name} has effects, and cannot run for many rows")
        make = None if self.is_each(captured(operation)) else RULES.get(operation.name)
        made = NotImplemented if make is None else make(self, operation)
        if made is NotImplemented:
            made = self._row_by_row(operation)
        return [Row(value, True) for value in made]

    def same(self, operation: ir.Operation) -> list[Row]:
        """An op none of whose operands has the batch axis, as it is."""
        return [Row(result, False) for result in self._copy(operation).results]

    def _copy(self, operation: ir.Operation) -> ir.Operation:
        copy = operation.clone(ip=ir.InsertionPoint.current)
        replace_operands(copy, lambda value: self.rows[value].value)
        return copy

    def like(
        self,
        operation: ir.Operation,
        operands: Sequence[ir.Value],
        shapes: Sequence[Sequence[int]] | None = None,
        **attributes: ir.Attribute,
    ) -> list[ir.Value]:
        """A copy of an op with other operands and attributes; results have the batch axis in front unless told."""
        copy = self._copy(operation)
        for place, value in enumerate(operands):
            copy.operands[place] = value
        for name, attribute in attributes.items():
            copy.attributes[name] = attribute
        for number, (old, new) in enumerate(zip(operation.results, copy.results, strict=True)):
            new.set_type(self.type_of(old) if shapes is None else ops.tensor_type(old, shapes[number]))
        return list(copy.results)

    def _row_by_row(self, operation: ir.Operation) -> list[ir.Value]:
        """An op without a rule, in a loop over the rows."""
        if not isinstance(self.size, int) or any(None in shape_of(result) for result in operation.results):
            raise PassError(f"batch: {operation.name} has no rule for a batch axis, and its sizes are dynamic")
        self.looped[operation.name] += 1
        outside = dict(self.rows)
        read = [value for value in {*operation.operands, *captured(operation)} if outside[value].each]
        buffers = [ops.filled(result, 0, [self.size, *sizes_of(result)]) for result in operation.results]

        def turn(index: ir.Value, carries: list[ir.Value]) -> list[ir.Value]:
            for value in read:
                self.rows[value] = Row(ops.row(outside[value].value, index), False)
            made = self._copy(operation).results
            return [ops.with_row(carry, x, index) for carry, x in zip(carries, made, strict=True)]

        made = counted(0, self.size, 1, buffers, turn)
        self.rows.update({value: outside[value] for value in read})
        return made


# Rules of ops with blocks that are run, which may leave results without the axis.
CONTROL: dict[str, Callable[[Batcher, ir.Operation], list[Row]]] = {}


class _Rows(dict[ir.Value, Row]):
    def __missing__(self, value: ir.Value) -> Row:
        return Row(value, False)


# ---- sums over the rows --------------------------------------------------------------------------------------------


# The cotangents of shared arguments are sums, and are taken where they cost least: values of which nothing but the sum
# is needed (`demanded`) are made without the axis, a dot of two batches contracts over the rows too, and a loop's carry
# that only grows by an amount in each step holds the sum of all rows' amounts. Rows that do not count are zeros on both
# sides of a dot: what they hold may be infinite. Of these ops the sum over the rows is the op of the sums.
_MOVES = ("reshape", "dynamic_reshape", "transpose", "broadcast_in_dim", "dynamic_broadcast_in_dim")
_LINEAR = frozenset(f"stablehlo.{name}" for name in ("add", "subtract", "negate", *_MOVES))


def demanded(block: ir.Block, summed: Collection[int]) -> set[ir.Value]:
    """The values of a function of which only sums over the rows are needed: results, and what they are linear in."""
    last = terminator(block)
    returned = list(last.operands)
    found: set[ir.Value] = set()
    stack = [returned[number] for number in summed if dtype_of(returned[number]).kind in "fc"]
    while stack:
        value = stack.pop()
        places = {number for number, other in enumerate(returned) if other == value}
        if value in found or (not places <= set(summed) and last in users(value)):
            continue
        op = owner(value)
        others = [user for user in users(value) if user != last]
        if op is None or op.block != block or not all(len(x.results) == 1 and x.results[0] in found for x in others):
            continue
        widens = op.name == "stablehlo.convert" and all(dtype_of(x).kind == "f" for x in (op.operands[0], value))
        if op.name in _LINEAR or widens:
            found.add(value)
            stack.extend(x for x in op.operands if dtype_of(x).kind in "fc")
        elif op.name == "stablehlo.while":
            place = next(number for number, result in enumerate(op.results) if result == value)
            if only_grows(op, place):
                found.add(value)
    return found


def only_grows(loop: ir.Operation, place: int) -> bool:
    """Whether a carry begins with zeros, and all that a loop does with it is to add to it in each step."""
    condition, body = (region.blocks[0] for region in loop.regions)
    start, last, value = constant(loop.operands[place]), terminator(body), body.arguments[place]
    if start is None or start.ndim or start != 0 or users(condition.arguments[place]):
        return False
    while len(found := users(value)) == 1 and found[0].name == "stablehlo.add" and found[0].block == body:
        value = found[0].results[0]
    return found == [last] and last.operands[place] == value


def total(batcher: Batcher, row: Row) -> ir.Value:
    """The sum over the rows that count."""
    if row.total:
        return row.value
    if not row.each:
        return stablehlo.multiply(row.value, _count(batcher, row.value))
    made = owner(row.value)
    if made is not None and made.name == "stablehlo.dot_general":
        first = [axes[:1] for axes in dot_sides(made)[1]]
        if first == [[0], [0]] and all(sizes_of(x)[0] == batcher.extent for x in made.operands):
            # A dot of two batches contracts over the rows as well.
            contracting, batching = dot_sides(made)
            attribute = ops.dot_numbers([[0, *axes] for axes in contracting], [axes[1:] for axes in batching])
            sides = [batcher.where_active(x, ops.filled(x, 0)) for x in made.operands]
            return clone(made, sides, sizes_of(made.results[0])[1:], dot_dimension_numbers=attribute).results[0]
    value = batcher.where_active(row.value, ops.filled(row.value, 0))
    return ops.reduce("stablehlo.add", value, ops.scalar(0, value), [0])


def _count(batcher: Batcher, like: ir.Value) -> ir.Value:
    shape, kind = ops.sizes(like), ops.tensor_type(like, [])
    if batcher.active is None:
        return ops.broadcast_in_dim(ops.convert(ops.number(batcher.size), kind), shape, [])
    ones = ops.convert(batcher.active, kind.element_type)
    return ops.broadcast_in_dim(ops.reduce("stablehlo.add", ones, ops.scalar(0, ones), [0]), shape, [])


def worst(batcher: Batcher, flags: Row) -> ir.Value:
    """The flags of checks: of each the least, which says that it failed (false, or minus the step) if it did."""
    if not flags.each:
        return flags.value
    combine = "and" if dtype_of(flags.value).kind == "b" else "minimum"
    value = batcher.where_active(flags.value, ops.filled(flags.value, 1))
    return ops.reduce(f"stablehlo.{combine}", value, ops.scalar(1, value), [0])


def linear(batcher: Batcher, op: ir.Operation) -> list[Row]:
    """An op of sums is the sum of the op's results."""
    rows = [batcher.row(value) for value in op.operands]
    operands = [total(batcher, row) if dtype_of(row.value).kind in "fc" else row.value for row in rows]
    shapes = [sizes_of(result) for result in op.results]
    return [Row(value, False, total=True) for value in batcher.like(op, operands, shapes)]
