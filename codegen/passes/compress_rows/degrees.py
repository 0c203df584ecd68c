"""How rows of data enter a program: as what they are, or only in linear combinations and products of two of these.

    %m = exponential %k          0   made of keys, or the same for all rows
    %r = subtract %y, %m         1   a sum of columns, each times something of degree 0; so is a number, times ones
    %q = multiply %r, %r         2   a product of two of degree 1
    %s = reduce(%q) add              a sum over rows, of the highest degree
    %w = multiply %q, %c         2   of the same degree, with the scale %c: each of its columns is multiplied by %c

In: a class of axes, which of its constants are keys, the highest degree. Out: the degree of each value, and to what
each operand is raised; or `Clash`, with the choices of constants that must be keys, too. Decisions to know: what has
degree 1 is kept by any transformation of the rows that keeps sums (the highest degree is 1), or products (it is 2), and
so are the ops here; an op that is not in the table takes operands of degree 0 only. A constant with one number a row is
ones with a scale. A scale is carried along to where values with different ones are added, or rows are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ir.bindings import ir
from ...ir.kinds import having, monoid_of
from ...ir.refused import Refused, require
from ...ir.values import constant, dtype_of, elements_of
from .classes import RowClass, Use

Keys = frozenset[ir.Value]
Scale = tuple[tuple[ir.Value, int], ...]  # constants and their powers, in the order of the class
Column = tuple[ir.Value | None, Scale]  # None stands for ones


class Clash(Exception):
    """Some constants cannot enter linearly; `choices` are sets of them of which one must be keys."""

    def __init__(self, choices: Sequence[Keys]) -> None:
        super().__init__()
        self.choices = [choice for choice in choices if choice]


@dataclass(frozen=True)
class Columns:
    """Constants that may enter linearly.

    Attributes:
        all: these.
        thin: those that are one number a row.
        divisors: those of them by which one may divide.
        same: other constants that are the same in all rows.
    """

    all: Keys = frozenset()
    thin: Keys = frozenset()
    divisors: Keys = frozenset()
    same: Keys = frozenset()


@dataclass
class Degrees:
    """The degrees of a class.

    Attributes:
        highest: 1 or 2.
        linear: the constants that enter linearly.
        of: the degree of each value that has the rows.
        scale: the scale of each.
        wanted: for each op the degree that each operand is raised to.
        merged: the ops that take the scales of their operands into the columns; others carry them along.
        keyed: values of degree 0 that differ between groups.
    """

    highest: int
    linear: Keys
    of: dict[ir.Value, int] = field(default_factory=dict)
    scale: dict[ir.Value, Scale] = field(default_factory=dict)
    wanted: dict[ir.Operation, list[int]] = field(default_factory=dict)
    merged: set[ir.Operation] = field(default_factory=set)
    keyed: set[ir.Value] = field(default_factory=set)

    def times(self, one: Scale, other: Scale, power: int = 1) -> Scale:
        """The product of two scales."""
        powers = dict(one)
        for value, own in other:
            powers[value] = powers.get(value, 0) + power * own
        return tuple((value, powers[value]) for value in self.scale if powers.get(value))

    def asked(self, use: Use, scale: Scale) -> list[list[Scale]]:
        """By which scales the columns of each operand are multiplied, where those of the result are by one."""
        op, wanted = use.op, self.wanted[use.op]
        own = [self.scale[x] if axis is not None else () for x, axis in zip(op.operands, use.operands, strict=True)]
        carries = [axis is not None and bool(degree) for axis, degree in zip(use.operands, wanted, strict=True)]
        if op.name in _PRODUCTS:
            merged = op in self.merged
            parts: list[Scale] = [own[k] if merged else () for k in (0, 1)]
            first = 0 if carries[0] else 1
            parts[first] = self.times(parts[first], scale)
            for k in (0, 1):
                if not carries[k] and merged:  # what has no columns leaves its scale to the other
                    parts[1 - k], parts[k] = self.times(parts[1 - k], parts[k]), ()
            return [[part] for part in parts]
        if _is_square(op) and carries[0]:
            squared: list[list[Scale]] = [[scale, ()], [()]]
            return squared[: len(carries)]
        merge = own if op in self.merged else [()] * len(own)
        return [[self.times(each, scale)] if carried else [()] for each, carried in zip(merge, carries, strict=True)]


def degrees(group: RowClass, columns: Columns, linear: Keys, highest: int) -> Degrees:
    """The degrees of all values, where these of the columns enter linearly.

    Raises:
        Clash: a constant that is to enter linearly cannot.
        Refused: rows cannot be replaced, whatever the keys.
    """
    found = Degrees(highest, linear, keyed=set(group.constants.keys() - linear - columns.same))
    sources: dict[ir.Value, Keys] = {}
    for value in (*group.constants, *group.spread):
        thin = value in linear & columns.thin
        found.of[value] = int(value in linear and not thin)
        found.scale[value] = ((value, 1),) if thin else ()
        sources[value] = frozenset((value,)) if value in linear else frozenset()
    for use in group.uses:
        reads = list(zip(use.op.operands, use.operands, strict=True))
        own = [found.of[x] if axis is not None else 0 for x, axis in reads]
        scales: list[Scale] = [found.scale[x] if axis is not None else () for x, axis in reads]
        behind = [sources[x] if axis is not None else frozenset() for x, axis in reads]
        if use.result is None:
            found.wanted[use.op] = _sum(use, own, scales, behind, highest)
            found.merged.add(use.op)
            continue
        degree, wanted = _row(use.op, own, scales, behind, highest)
        scale = _carried(found, use.op, scales, columns.divisors)
        if scale is None:
            found.merged.add(use.op)
            degree, wanted = max(degree, 1), [max(each, int(k in _values(use.op))) for k, each in enumerate(wanted)]
        result = use.op.results[0]
        found.wanted[use.op] = wanted
        found.of[result], found.scale[result] = degree, scale or ()
        if not degree and not found.keyed.isdisjoint(use.op.operands):
            found.keyed.add(result)
        sources[result] = frozenset().union(*behind) if degree or scale else frozenset()
    return found


def _carried(found: Degrees, op: ir.Operation, scales: list[Scale], divisors: Keys) -> Scale | None:
    """The scale of a result; None where those of the operands differ, and are taken into the columns."""
    if op.name == "stablehlo.divide":
        below = frozenset(value for value, _ in scales[1])
        if not below <= divisors:
            raise Clash([below])
        return found.times(scales[0], scales[1], -1)
    if op.name in _PRODUCTS:
        return found.times(scales[0], scales[1])
    if _is_square(op):
        return found.times(scales[0], scales[0])
    own = {scales[k] for k in _values(op)}
    return own.pop() if len(own) == 1 else None


def _values(op: ir.Operation) -> Sequence[int]:
    if op.name == "stablehlo.select":
        return 1, 2
    return range(len(op.operands)) if op.name in _ADDING else (0,)


def demands(group: RowClass, found: Degrees) -> tuple[dict[ir.Value, dict[Scale, None]], dict[Column, bool]]:
    """By which scales the columns of each value are multiplied in what is added up in the end; and all columns.

    Of each column it says whether it meets, but for ones, what differs between groups.
    """
    wanted: dict[ir.Value, dict[Scale, None]] = {}
    columns: dict[Column, bool] = {}
    meets: set[ir.Value] = set()
    for use in reversed(group.uses):
        op, degrees, result = use.op, found.wanted[use.op], None if use.result is None else use.op.results[0]
        grouped = result in meets or _meets_keys(use, found)
        for scale in [()] if result is None else list(wanted.get(result, {})):
            asked = found.asked(use, scale)
            for value, axis, own, degree in zip(op.operands, use.operands, asked, degrees, strict=True):
                if axis is None:
                    continue
                if grouped and degree:
                    meets.add(value)
                for each in own:
                    kept = each if found.of[value] and found.of[value] == degree else ()
                    wanted.setdefault(value, {})[kept] = None
                    if found.of[value] and value in found.linear:
                        columns[value, kept] = columns.get((value, kept), False) or value in meets
                    if degree and each != kept:  # what raises the degree has the scale
                        keyed = value in meets or value in found.keyed or op.name == "stablehlo.scatter"
                        columns[None, each] = columns.get((None, each), False) or keyed
    return wanted, columns


def _meets_keys(use: Use, found: Degrees) -> bool:
    """Whether an op combines columns with what differs between groups, of which it makes no columns."""
    op, degrees = use.op, found.wanted[use.op]
    if op.name == "stablehlo.scatter":  # what has raised something to the degree is all that meets the places
        return found.of.get(op.operands[2], 0) == found.highest
    pairs = zip(op.operands, use.operands, degrees, strict=True)
    return any(axis is not None and not degree and value in found.keyed for value, axis, degree in pairs)


_SAME = frozenset(
    f"stablehlo.{name}"
    for name in ("negate", "reshape", "transpose", "broadcast_in_dim", "slice", "reverse", "gather", "dynamic_slice")
)
_ADDING = frozenset(f"stablehlo.{name}" for name in ("add", "subtract", "concatenate"))
_PRODUCTS = ("stablehlo.multiply", "stablehlo.dot_general")
_AGAIN = having("again")
_FLOATS = "fd"


def _row(
    op: ir.Operation, own: list[int], scales: list[Scale], behind: list[Keys], highest: int
) -> tuple[int, list[int]]:
    """An op on each row: the result's degree, and what the operands are raised to."""
    linear = [bool(degree) or bool(scale) for degree, scale in zip(own, scales, strict=True)]
    if not any(linear):
        return 0, own
    name, most = op.name, max(own)
    if name in _ADDING:
        return most, [most] * len(own)
    if name in _SAME and not any(linear[1:]):
        return most, own
    if name == "stablehlo.convert" and dtype_of(op.results[0]).char in _FLOATS:
        return most, own
    if name == "stablehlo.select" and not linear[0]:
        return most, [0, most, most]
    if name == "stablehlo.divide" and not own[1]:
        return most, own
    if name == "stablehlo.reduce" and monoid_of(op.regions[0].blocks[0]) == "add" and _is_zero(op.operands[1]):
        return most, own
    if name in _PRODUCTS:
        _check_product(own, behind, highest)
        return sum(own), own
    if _is_square(op):
        if 2 * own[0] > highest:
            raise Clash([behind[0]])
        return 2 * own[0], own
    nonlinear = [keys for is_linear, keys in zip(linear, behind, strict=True) if is_linear]
    if name in ("stablehlo.select", "stablehlo.divide"):
        nonlinear = [behind[name == "stablehlo.divide"]]
    raise Clash([frozenset().union(*nonlinear)])


def _check_product(own: list[int], behind: list[Keys], highest: int) -> None:
    if sum(own) > highest:
        raise Clash([keys for degree, keys in zip(own, behind, strict=True) if degree])


def _sum(use: Use, own: list[int], scales: list[Scale], behind: list[Keys], highest: int) -> list[int]:
    """An op that combines rows: what the operands are raised to."""
    op = use.op
    if op.name == "stablehlo.dot_general":
        _check_product(own, behind, highest)
        _check_numbers(op)
        require(None not in use.operands, "a sum of rows with others")
        missing = highest - sum(own)
        # The one of which there is less is multiplied with the weights.
        smaller = [elements_of(value.type) for value in op.operands]
        raised = [own[0], own[1] + missing] if smaller[1] <= smaller[0] else [own[0] + missing, own[1]]
        return raised
    monoid = monoid_of(op.regions[0].blocks[0])
    if op.name == "stablehlo.scatter":
        require(use.operands[0] is None and use.operands[2] is not None, "a scatter into rows")
        require(monoid == "add", "a scatter that does not add up")
        if own[1] or scales[1]:
            raise Clash([behind[1]])
        _check_numbers(op)
        return [0, 0, highest]
    if monoid == "add":
        _check_numbers(op)
        return [highest, 0]
    require(f"stablehlo.{monoid}" in _AGAIN, f"rows are combined by {monoid or 'more than one op'}")
    if own[0] or scales[0]:
        raise Clash([behind[0]])
    return [0, 0]


def _check_numbers(op: ir.Operation) -> None:
    dtype = dtype_of(op.results[0])
    if dtype.char not in _FLOATS and dtype.kind not in "iu":
        raise Refused(f"a sum of {dtype}")


def _is_square(op: ir.Operation) -> bool:
    return op.name == "chlo.square" or (op.name == "stablehlo.power" and _is_two(op.operands[1]))


def _is_zero(value: ir.Value) -> bool:
    found = constant(value)
    return found is not None and not found.any()


def _is_two(value: ir.Value) -> bool:
    found = constant(value)
    return found is not None and bool((found == 2).all())


def possible(group: RowClass, columns: Columns, highest: int, most: int = 12) -> list[Degrees]:
    """Choices of the constants that enter linearly, the largest first; one constant may stand against another.

    Raises:
        Refused: rows cannot be replaced, whatever the keys.
    """
    found: dict[Keys, Degrees] = {}
    pending, seen = [columns.all], {columns.all}
    while pending and len(found) < most and len(seen) < 8 * most:
        linear = pending.pop(0)
        try:
            found[linear] = degrees(group, columns, linear, highest)
        except Clash as clash:
            for choice in clash.choices:
                fewer = linear - choice
                if fewer not in seen:
                    seen.add(fewer)
                    pending.append(fewer)
    return list(found.values())
