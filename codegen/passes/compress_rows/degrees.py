"""How rows of data enter a program: as what they are, or only in linear combinations and products of two of these.

    %m = exponential %k          0   made of keys, or the same for all rows
    %r = subtract %y, %m         1   a sum of columns, each times something of degree 0; so is a number, times ones
    %q = multiply %r, %r         2   a product of two of degree 1
    %s = reduce(%q) add              a sum over rows, of the highest degree

In: a class of axes, which of its constants are keys, the highest degree. Out: the degree of each value, and to what
each operand is raised; or `Clash`, with the choices of constants that must be keys, too. Decision to know: what has
degree 1 is kept by any transformation of the rows that keeps sums (the highest degree is 1), or products (it is 2), and
so are the ops here; an op that is not in the table takes operands of degree 0 only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ir.bindings import ir
from ...ir.kinds import having, monoid_of
from ...ir.refused import Refused, require
from ...ir.values import constant, dtype_of
from .classes import RowClass, Use

Keys = frozenset[ir.Value]


class Clash(Exception):
    """Some constants cannot enter linearly; `choices` are sets of them of which one must be keys."""

    def __init__(self, choices: Sequence[Keys]) -> None:
        super().__init__()
        self.choices = choices


@dataclass
class Degrees:
    """The degrees of a class.

    Attributes:
        highest: 1 or 2.
        linear: the constants that enter linearly.
        of: the degree of each value that has the rows.
        wanted: for each op the degree that each operand is raised to.
    """

    highest: int
    linear: Keys
    of: dict[ir.Value, int] = field(default_factory=dict)
    wanted: dict[ir.Operation, list[int]] = field(default_factory=dict)


def degrees(group: RowClass, linear: Keys, highest: int) -> Degrees:
    """The degrees of all values.

    Raises:
        Clash: a constant that is to enter linearly cannot.
        Refused: rows cannot be replaced, whatever the keys.
    """
    found = Degrees(highest, linear)
    sources: dict[ir.Value, Keys] = {}
    for value in (*group.constants, *group.spread):
        found.of[value] = int(value in linear)
        sources[value] = frozenset((value,)) if value in linear else frozenset()
    for use in group.uses:
        values = list(use.op.operands)
        own = [found.of[x] if axis is not None else 0 for x, axis in zip(values, use.operands, strict=True)]
        behind = [sources[x] if axis is not None else frozenset() for x, axis in zip(values, use.operands, strict=True)]
        degree, wanted = _sum(use, own, behind, highest) if use.result is None else _row(use.op, own, behind, highest)
        found.wanted[use.op] = wanted
        if use.result is not None:
            result = use.op.results[0]
            found.of[result] = degree
            sources[result] = frozenset().union(*behind) if degree else frozenset()
    return found


_SAME = frozenset(
    f"stablehlo.{name}"
    for name in ("negate", "reshape", "transpose", "broadcast_in_dim", "slice", "reverse", "gather", "dynamic_slice")
)
_ADDING = frozenset(f"stablehlo.{name}" for name in ("add", "subtract", "concatenate"))
_PRODUCTS = ("stablehlo.multiply", "stablehlo.dot_general")
_AGAIN = having("again")
_FLOATS = "fd"


def _row(op: ir.Operation, own: list[int], behind: list[Keys], highest: int) -> tuple[int, list[int]]:
    """An op on each row: the result's degree, and what the operands are raised to."""
    if not any(own):
        return 0, own
    name, most = op.name, max(own)
    if name in _ADDING:
        return most, [most] * len(own)
    if name in _SAME and not any(own[1:]):
        return most, own
    if name == "stablehlo.convert" and dtype_of(op.results[0]).char in _FLOATS:
        return most, own
    if name == "stablehlo.select" and not own[0]:
        return most, [0, most, most]
    if name == "stablehlo.divide" and not own[1]:
        return most, own
    if name == "stablehlo.reduce" and monoid_of(op.regions[0].blocks[0]) == "add" and _is_zero(op.operands[1]):
        return most, own
    if name in _PRODUCTS:
        _check_product(own, behind, highest)
        return sum(own), own
    if name == "chlo.square" or (name == "stablehlo.power" and _is_two(op.operands[1])):
        if 2 * own[0] > highest:
            raise Clash([behind[0]])
        return 2 * own[0], own
    nonlinear = [keys for degree, keys in zip(own, behind, strict=True) if degree]
    if name == "stablehlo.select" or name == "stablehlo.divide":
        nonlinear = [behind[name == "stablehlo.divide"]]
    raise Clash([frozenset().union(*nonlinear)])


def _check_product(own: list[int], behind: list[Keys], highest: int) -> None:
    if sum(own) <= highest:
        return
    raise Clash([keys for degree, keys in zip(own, behind, strict=True) if degree])


def _sum(use: Use, own: list[int], behind: list[Keys], highest: int) -> tuple[int, list[int]]:
    """An op that combines rows."""
    op = use.op
    if op.name == "stablehlo.dot_general":
        if sum(own) > highest:
            raise Clash([keys for degree, keys in zip(own, behind, strict=True) if degree])
        _check_numbers(op)
        left, right = own
        both = None not in use.operands
        require(both, "a sum of rows with others")
        missing = highest - left - right
        # The one of which there is less is multiplied with the weights.
        smaller = [_elements(value) for value in op.operands]
        raised = [left, right + missing] if smaller[1] <= smaller[0] else [left + missing, right]
        return 0, raised
    monoid = monoid_of(op.regions[0].blocks[0])
    if op.name == "stablehlo.scatter":
        require(use.operands[0] is None and use.operands[2] is not None, "a scatter into rows")
        require(monoid == "add", "a scatter that does not add up")
        if own[1]:
            raise Clash([behind[1]])
        _check_numbers(op)
        return 0, [0, 0, highest]
    if monoid == "add":
        _check_numbers(op)
        return 0, [highest, 0]
    require(f"stablehlo.{monoid}" in _AGAIN, f"rows are combined by {monoid or 'more than one op'}")
    if own[0]:
        raise Clash([behind[0]])
    return 0, [0, 0]


def _check_numbers(op: ir.Operation) -> None:
    dtype = dtype_of(op.results[0])
    if dtype.char not in _FLOATS and dtype.kind not in "iu":
        raise Refused(f"a sum of {dtype}")


def _elements(value: ir.Value) -> int:
    size = 1
    for each in ir.RankedTensorType(value.type).shape:
        size *= each
    return size


def _is_zero(value: ir.Value) -> bool:
    found = constant(value)
    return found is not None and not found.any()


def _is_two(value: ir.Value) -> bool:
    found = constant(value)
    return found is not None and bool((found == 2).all())


def possible(group: RowClass, candidates: Keys, highest: int, most: int = 12) -> list[Degrees]:
    """Choices of the constants that enter linearly, the largest first; one constant may stand against another.

    Raises:
        Refused: rows cannot be replaced, whatever the keys.
    """
    found: dict[Keys, Degrees] = {}
    pending, seen = [candidates], {candidates}
    while pending and len(found) < most and len(seen) < 8 * most:
        linear = pending.pop(0)
        try:
            found[linear] = degrees(group, linear, highest)
        except Clash as clash:
            for choice in clash.choices:
                fewer = linear - choice
                if fewer not in seen:
                    seen.add(fewer)
                    pending.append(fewer)
    return list(found.values())
