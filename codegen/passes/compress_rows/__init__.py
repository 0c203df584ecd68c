"""compress_rows: rows of constant data that are only added up become fewer rows with the same sums.

    %m = dot_general %X, %b                 (X: 100000x10)       %m = dot_general %R, %b            (R: 12x10)
    %r = subtract %y, %m : tensor<100000xf64>              ->    %r = subtract %z, %m : tensor<12xf64>
    %q = multiply %r, %r                                         %q = multiply %r, %r
    %s = reduce(%q) applies add                                  %s = reduce(%q) applies add

In: a module in which constants lie along an axis that is summed up in the end, value and gradients alike. Out: the same
ops on fewer rows. Constants that meet an op that is not linear are keys; rows with equal keys are a group. In a group
the columns that only enter linearly, and ones, are replaced by their sums, or, where products of them are summed up, by
the triangular factor of their QR: it has the same products, and so have all linear combinations of its columns. A
number that is the same for all rows is multiplied by what became of the ones.

Preconditions: static shapes; what has the rows is made of constants and of what is the same for all rows (gathers at
constant places included), and nothing needs them one by one; linear columns are finite. Where there are such columns
and a sum is not finite, the rows as they were are summed up (`stablehlo.if`), so that NaN and infinities are theirs.
Rounding: sums are taken in another order; with `reassociate=false` the pass does nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from ...ir import ops
from ...ir.bindings import ir, run_pipeline, stablehlo
from ...ir.functions import inline_calls
from ...ir.kinds import Indexing, shortened
from ...ir.modules import clone_module, replace_body
from ...ir.refused import Refused, needed, require
from ...ir.tidy import erase_unused
from ...ir.values import (
    Array,
    dot_sides,
    dtype_of,
    elements_of,
    integers,
    main_function,
    owner,
    reached,
    shape_of,
    sizes_of,
    walk,
)
from ..constants import Constants
from ..report import Report, shown
from ..stepwise import hoist, reads
from .classes import FEWEST, RowClass, Use, row_classes
from .degrees import Column, Columns, Degrees, Scale, demands, possible
from .numbers import Grouping, Groups, Rows, products, sums
from .one_hot import use_masks

# Without one of these nothing is summed up.
TRIGGERS = frozenset({"stablehlo.dot_general", "stablehlo.reduce", "stablehlo.scatter"})

ROWS = 256  # that are examined, at least
_SHARE = 0.5  # of them that may be left
_MARGIN = 2.0**40  # to the largest float, within which a sum of fewer rows is taken to overflow
_LONG = 1 << 20  # numbers whose preparation may take a second


def run(module: ir.Module, report: Report, *, rows: int = ROWS, reassociate: bool = True) -> None:
    """The pass.

    Args:
        module: is changed, in place.
        report: takes note of each axis of data.
        rows: how many there are, at least.
        reassociate: whether floats may be added in another order; otherwise nothing is done.
    """
    if not reassociate or not any(_has_rows(op, rows) for op in walk(module)):
        return
    copy = clone_module(module)
    inline_calls(copy)
    run_pipeline(copy, "cse,symbol-dce")
    # A block is a handle, which is invalid once ops were erased.
    erase_unused(copy)
    block = _body(copy)
    use_masks(block, Constants(block), rows)
    erase_unused(copy)
    while _next(_body(copy), report, rows):
        erase_unused(copy)
    if report.rewritten:
        replace_body(module, copy)


def _body(module: ir.Module) -> ir.Block:
    return main_function(module).regions[0].blocks[0]


def _has_rows(op: ir.Operation, rows: int) -> bool:
    if op.name != "stablehlo.constant":
        return False
    return any((size or 0) >= rows for size in shape_of(op.results[0]))


def _next(block: ir.Block, report: Report, rows: int) -> bool:
    """Replaces the rows of one class; whether there was one."""
    constants = Constants(block)
    for found in row_classes(block, constants):
        if found.size < max(rows, FEWEST) or not found.uses:
            continue
        op = found.uses[0].op
        try:
            elements = sum(math.prod(sizes_of(value)) for value in found.constants)
            with shown(f"preparing {found.size:,} rows of data") if elements > _LONG else nullcontext():
                plan = _plan(found, constants)
        except Refused as refusal:
            report.refused(op, f"{found.size:,} rows: {refusal}")
            continue
        report.applied(op, result=str(plan))
        _Emission(plan).emit()
        return True
    return False


# ---- what to do -----------------------------------------------------------------------------------------------------


@dataclass
class Plan:
    """What becomes of a class.

    Attributes:
        group: the class.
        degrees: of its values.
        groups: how many groups there are.
        rows: what is left.
        columns: what becomes of each column, with the rows in front; of ones under None.
        keys: what becomes of the other constants.
        read: the constants as they were.
    """

    group: RowClass
    degrees: Degrees
    groups: int
    rows: Rows
    columns: dict[Column, Array]
    keys: dict[ir.Value, Array]
    read: Sequence[Array]

    @property
    def size(self) -> int:
        """The number of rows that are left."""
        return len(self.rows.ones)

    @property
    def guarded(self) -> bool:
        """Whether sums that are not finite may be others."""
        return bool(self.degrees.linear) or self.degrees.highest == 2

    def __str__(self) -> str:
        columns = self.rows.columns.shape[1]
        how = "counted" if not columns else ("summed up" if self.degrees.highest == 1 else "by QR")
        before, after = self.group.size, self.size
        groups = f"{self.groups:,} group{'s' * (self.groups > 1)}"
        work = sum(_operations(use.op) for use in self.group.uses)
        tables = (self.read, [*self.columns.values(), *self.keys.values()])
        read = [sum(array.nbytes for array in arrays if any(array.strides)) for arrays in tables]
        return (
            f"{before:,} rows become {after:,}: {groups}, {columns} linear columns, {how}; a call reads {read[0]:,} "
            f"bytes of data and does {work:,} operations on them; {read[1]:,} and {work * after // before:,} are left"
        )


def _operations(op: ir.Operation) -> int:
    sizes = [elements_of(value.type) for value in (*op.operands, *op.results)]
    if op.name != "stablehlo.dot_general":
        return max(sizes)
    contracting, _ = dot_sides(op)
    shape = sizes_of(op.operands[0])
    return 2 * sizes[-1] * math.prod(shape[axis] for axis in contracting[0])


def _plan(found: RowClass, constants: Constants) -> Plan:
    """How to replace the rows of a class.

    Raises:
        Refused: they cannot be replaced, or there are not enough that are alike.
    """
    require(not found.reason, found.reason)
    sinks = found.sums
    require(sinks, "nothing adds them up")
    arrays = {value: _rows_of(constants, value, axis, found.size) for value, axis in found.constants.items()}
    columns = Columns() if _is_staged(found) else _columns(arrays, found.size)
    most = int(found.size * _SHARE)
    grouping = Grouping(arrays, found.size)
    known: dict[frozenset[ir.Value], Groups | None] = {}
    best: tuple[int, Degrees, Groups] | None = None
    for degrees in [*possible(found, columns, 1), *possible(found, columns, 2)]:
        keys = frozenset(arrays.keys() - degrees.linear)
        groups = known[keys] = known[keys] if keys in known else grouping.by(keys, most)
        if groups is not None:
            size = groups.kept(*_widths(_wanted(found, degrees), found.size), degrees.highest)
            if size <= most and (best is None or (size, len(degrees.linear)) < (best[0], len(best[1].linear))):
                best = size, degrees, groups
    _, degrees, groups = needed(best, "too few of them are alike")
    return _filled(found, degrees, groups, arrays)


def _columns(arrays: dict[ir.Value, Array], size: int) -> Columns:
    linear = frozenset(value for value, array in arrays.items() if _may_be_linear(array))
    thin = frozenset(value for value in linear if arrays[value].size == size)
    with np.errstate(all="ignore"):
        divisors = frozenset(value for value in thin if np.isfinite(1 / arrays[value]).all())
    same = frozenset(value for value, array in arrays.items() if _is_same(array))
    return Columns(linear, thin, divisors, same)


def _wanted(found: RowClass, degrees: Degrees) -> dict[Column, bool]:
    _, columns = demands(found, degrees)
    return dict(sorted(columns.items(), key=lambda column: (not column[1], _is_outcome(column[0], found))))


def _widths(columns: Mapping[Column, bool], size: int) -> tuple[int, int]:
    widths = [0, 0]
    for (value, _), meets in columns.items():
        widths[not meets] += 1 if value is None else elements_of(value.type) // size
    return widths[0], widths[1]


def _is_staged(found: RowClass) -> bool:
    """Whether a sum over the rows is needed to compute what is summed up."""
    sinks = {use.op for use in found.sums}
    own = {use.op for use in found.uses}

    spread = [x for value in found.spread for x in _source(value).operands]
    starts = _makers([*spread, *(x for use in found.uses for x in use.op.operands)])
    outside = reached([op for op in starts if op not in own], lambda op: _makers(reads(op)))
    return any(op in sinks for op in outside)


def _rows_of(constants: Constants, value: ir.Value, axis: int, size: int) -> Array:
    array = needed(constants.array(value), "a constant cannot be computed in advance")
    return np.moveaxis(array, axis, 0)


def _may_be_linear(array: Array) -> bool:
    return array.dtype.char in "fd" and bool(np.isfinite(array).all()) and not _is_same(array)


def _is_same(array: Array) -> bool:
    return bool((array == array[:1]).all())


def _filled(found: RowClass, degrees: Degrees, groups: Groups, arrays: dict[ir.Value, Array]) -> Plan:
    wanted, size = _wanted(found, degrees), found.size
    tables = []
    for value, scale in wanted:
        table = np.ones((size, 1)) if value is None else arrays[value].reshape(size, -1).astype(np.float64)
        for factor, power in scale:
            table = table * arrays[factor].reshape(size, 1).astype(np.float64) ** power
        tables.append(table)
    columns = np.concatenate(tables, axis=1) if tables else np.zeros((size, 0))
    require(np.isfinite(columns).all(), "products of columns are not finite")
    keyed, _ = _widths(wanted, size)
    rows = sums(groups, columns) if degrees.highest == 1 else products(groups, columns, keyed)
    parts = np.split(rows.columns, np.cumsum([table.shape[1] for table in tables])[:-1], axis=1) if tables else []
    made: dict[Column, Array] = {}
    for column, part in zip(wanted, parts, strict=True):
        like = None if column[0] is None else arrays[column[0]]
        made[column] = part[:, 0] if like is None else part.reshape(-1, *like.shape[1:]).astype(like.dtype)
    keys = {
        value: np.ones_like(array[rows.source]) if degrees.scale[value] else array[rows.source]
        for value, array in arrays.items()
        if not degrees.of[value]
    }
    return Plan(found, degrees, len(groups.counts), rows, made, keys, list(arrays.values()))


def _is_outcome(column: Column, found: RowClass) -> bool:
    values = {column[0], *(value for value, _ in column[1])}
    used = [use.op.name for use in found.uses if values.intersection(use.op.operands)]
    return all(name in ("stablehlo.add", "stablehlo.subtract") for name in used)


# ---- the same ops on fewer rows -------------------------------------------------------------------------------------


class _Emission:
    """Writes out a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._wanted, _ = demands(plan.group, plan.degrees)
        self._made: dict[tuple[ir.Value, int, Scale], ir.Value] = {}  # by value, degree and scale

    def emit(self) -> None:
        """Puts sums over fewer rows in the place of those over all."""
        plan, sinks = self._plan, self._plan.group.sums
        first = sinks[0].op  # they are in order
        if plan.guarded:
            self._hoist(first)
        made = {}
        for use in plan.group.uses:
            with ir.InsertionPoint(first if plan.guarded else use.op), use.op.location:
                for scale in self._wanted.get(use.op.results[0], {}) if use.result is not None else [()]:
                    made[use.op] = self._use(use, scale)
        results = [made[use.op] for use in sinks]
        if plan.guarded:
            with ir.InsertionPoint(first), first.location:
                results = self._guarded(sinks, results)
        for use, result in zip(sinks, results, strict=True):
            use.op.results[0].replace_all_uses_with(result)

    def _hoist(self, place: ir.Operation) -> None:
        group = self._plan.group
        own = {use.op for use in group.uses}
        read = [x for use in group.uses for x in use.op.operands if owner(x) not in own and x not in group.constants]
        hoist([*read, *(x for value in group.spread for x in _source(value).operands)], place)

    def _use(self, use: Use, scale: Scale) -> ir.Value:
        op, plan, degrees = use.op, self._plan, self._plan.degrees
        operands = [
            [value] if axis is None else [self._raised(value, axis, wanted, each) for each in own]
            for value, axis, wanted, own in zip(
                op.operands, use.operands, degrees.wanted[op], degrees.asked(use, scale), strict=True
            )
        ]
        if use.result is None:
            plain = [own[0] for own in operands]
            return self._segments(op, plain) or ops.clone(op, plain).results[0]
        ones = [k for k, value in enumerate(op.operands) if degrees.scale.get(value) == ((value, 1),)]
        if op.name == "stablehlo.multiply" and ones and op not in degrees.merged:
            (made,) = operands[1 - ones[-1]]
        elif op.name == "stablehlo.divide" and 1 in ones:
            (made,) = operands[0]
        elif len(operands[0]) > 1 and scale:  # a square, one of whose factors has the scale
            made = stablehlo.multiply(*operands[0])
        else:
            shape = sizes_of(op.results[0])
            shape[use.result] = plan.size
            attributes, plain = shortened(op, use.result, plan.size), [own[0] for own in operands]
            made = self._segments(op, plain) or ops.clone(op, plain, shape, **attributes).results[0]
        self._made[op.results[0], degrees.of[op.results[0]], scale] = made
        return made

    def _segments(self, op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value | None:
        """A gather, or a scatter that adds, at places of which each comes equally often, in turn."""
        if op.name not in ("stablehlo.gather", "stablehlo.scatter"):
            return None
        numbers, array, count = Indexing.of(op), operands[0], sizes_of(operands[0])[0]
        places, rest = self._plan.keys.get(op.operands[1]), sizes_of(operands[0])[1:]
        if places is None or places.size != len(places) or numbers.batching or not count:
            return None
        tail = self._plan.rows.shared
        times = (len(places) - tail) // count
        rows = numbers.collapsed == numbers.mapped == [0] and numbers.offsets == list(range(1, 1 + len(rest)))
        expected = [*np.tile(np.arange(count), times), *[0] * tail]
        if not rows or not np.array_equal(places.reshape(-1), expected):
            return None
        if op.name == "stablehlo.scatter":
            zero, none = ops.scalar(0, array), [0] * len(rest)
            parts = ops.slice(operands[2], [0, *none], [times * count, *rest])
            summed = ops.reduce("stablehlo.add", ops.reshape(parts, [times, count, *rest]), zero, [0])
            if tail:  # of no group: 0, or not finite
                last = ops.slice(operands[2], [times * count, *none], [len(places), *rest])
                left = ops.reduce("stablehlo.add", last, zero, [0])
                summed = stablehlo.add(summed, ops.broadcast_in_dim(left, [count, *rest], range(1, 1 + len(rest))))
            return stablehlo.add(array, summed)
        if list(integers(op, "slice_sizes")) != [1, *rest]:
            return None
        copies = ops.broadcast_in_dim(array, [times, count, *rest], range(1, 2 + len(rest)))
        made = array if times == 1 else ops.reshape(copies, [times * count, *rest])
        if not tail:
            return made
        first = ops.slice(array, [0] * (1 + len(rest)), [1, *rest])
        first = ops.broadcast_in_dim(first, [tail, *rest], range(1 + len(rest)))
        return ops.concatenate([made, first], 0)

    def _raised(self, value: ir.Value, axis: int, wanted: int, scale: Scale) -> ir.Value:
        """What became of a value, as one of a higher degree."""
        plan, own = self._plan, self._plan.degrees.of[value]
        key = value, wanted, scale if wanted else ()
        if key in self._made:
            return self._made[key]
        if value in plan.group.constants and (wanted == own or not own):
            array = plan.columns[value, scale] if own else self._times(plan.keys[value], wanted, scale)
            made = ops.constant(np.ascontiguousarray(np.moveaxis(array, 0, axis)))
        elif wanted == own:  # the same for all rows
            source = _source(value)
            shape = sizes_of(value)
            shape[axis] = plan.size
            made = ops.clone(source, list(source.operands), shape).results[0]
        else:
            lower = self._raised(value, axis, own, ())
            factor = ops.constant(self._factor(own, wanted, scale).astype(dtype_of(value)))
            made = stablehlo.multiply(lower, ops.broadcast_in_dim(factor, sizes_of(lower), [axis]))
        self._made[key] = made
        return made

    def _factor(self, own: int, wanted: int, scale: Scale) -> Array:
        rows, highest = self._plan.rows, self._plan.degrees.highest
        if not scale:
            return rows.weights if not own and wanted == highest else rows.ones
        column = self._plan.columns[None, scale]
        return column * rows.ones if wanted == 2 and not own else column

    def _times(self, array: Array, wanted: int, scale: Scale) -> Array:
        if not wanted:
            return array
        factor = self._factor(0, wanted, scale).astype(array.dtype).reshape(-1, *[1] * (array.ndim - 1))
        with np.errstate(all="ignore"):
            return np.where(factor == 0, np.zeros((), array.dtype), array * factor).astype(array.dtype)

    def _guarded(self, sinks: Sequence[Use], made: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums, where they are finite; the rows as they were, where one is not."""
        floats = [value for value in made if dtype_of(value).kind == "f"]
        finite = None
        for value in floats:
            limit = np.finfo(dtype_of(value)).max / _MARGIN
            each = ops.compare("LT", stablehlo.abs(value), ops.full_like(value, limit))
            whole = ops.reduce("stablehlo.and", each, ops.constant(np.array(True)), range(len(sizes_of(value))))
            finite = whole if finite is None else stablehlo.and_(finite, whole)
        if finite is None:
            return list(made)
        return ops.usually(finite, made, lambda: _copied(self._plan.group, sinks))


def _copied(group: RowClass, sinks: Sequence[Use]) -> list[ir.Value]:
    """The sums over the rows as they were."""
    made_of = reached(_makers(group.constants), lambda op: _makers(op.operands))
    wanted = {*made_of, *map(_source, group.spread), *(use.op for use in group.uses)}
    copies: dict[ir.Value, ir.Value] = {}
    for op in [view.operation for view in sinks[0].op.block.operations]:
        if op in wanted:
            made = ops.clone(op, [copies.get(operand, operand) for operand in op.operands])
            copies.update(zip(op.results, made.results, strict=True))
    return [copies[use.op.results[0]] for use in sinks]


def _makers(values: Iterable[ir.Value]) -> list[ir.Operation]:
    return [op for value in values if (op := owner(value)) is not None]


def _source(value: ir.Value) -> ir.Operation:
    op = owner(value)
    assert op is not None, "a broadcast"
    return op
