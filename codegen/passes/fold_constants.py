"""fold_constants: what depends on constants alone is computed once, in advance.

    %y = constant ... : tensor<10000xi64>                  %c = constant ... : tensor<10000xf64>
    %f = convert %y : tensor<10000xf64>             ->
    %l = chlo.lgamma %f                                    ... %c
    ... %l

In: a module. Out: constants in the place of values that follow from constants alone, also in the bodies of loops. All
that a value is made of is evaluated at once, by NumPy and SciPy. Decisions to know: what only arranges elements stays,
and so does cheap work whose result is larger than what it is made of: XLA makes it again in less time than it takes to
read it.

Preconditions: static shapes; a result has at most `bytes` bytes. Rounding: NumPy's functions may differ from the
device's in the last place; with `reassociate=false` the pass does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..ir import ops
from ..ir.bindings import ir
from ..ir.kinds import having
from ..ir.tidy import erase_unused
from ..ir.values import elements_of, owner, reached, static_bytes, users, walk
from .constants import Constants
from .report import Report

_MOVES = having("moving") | having("making")
_CHEAP = _MOVES | {
    f"stablehlo.{name}" for name in ("add", "subtract", "multiply", "convert", "compare", "select", "and", "or", "not")
}
_BLOCKS = ("func.func", "stablehlo.while", "stablehlo.if", "stablehlo.case")
_FEW = 8  # elements: XLA computes with so few as well


def run(module: ir.Module, report: Report, *, bytes: int = 64 << 20, reassociate: bool = True) -> None:
    """The pass.

    Args:
        module: is changed, in place.
        report: takes note of each value.
        bytes: how large a constant may become.
        reassociate: whether numbers may be rounded in another way; otherwise nothing is done.
    """
    if not reassociate:
        return
    for block in [block for op in walk(module) if op.name in _BLOCKS for x in op.regions for block in x.blocks]:
        constants = Constants(block)
        for value in [value for value in constants if _is_wanted(value, constants, bytes)]:
            array, op = constants.array(value), owner(value)
            if array is None or op is None:
                continue
            rewrite = "fold_flags" if array.dtype == bool else ""
            report.applied(op, rewrite, f"{array.nbytes:,} bytes, computed in advance")
            first = array.reshape(-1)[0]
            with ir.InsertionPoint(op), op.location:
                same = (array == first).all() and not np.signbit(array).any()
                value.replace_all_uses_with(ops.full(first, array.shape) if same else ops.constant(array))
    if report.rewritten:
        erase_unused(module)


def _is_wanted(value: ir.Value, constants: Constants, most: int) -> bool:
    """Whether a value is read by what is no constant, and pays."""
    size, made_by = static_bytes(value.type) or 0, list(_made_of(value))
    work = [op for op in made_by if op.name not in _MOVES]
    if not size or size > most or not any(elements_of(x.type) > _FEW for op in work for x in op.operands):
        return False
    if all(user.results and user.results[0] in constants for user in users(value)):
        return False
    read = sum(static_bytes(op.results[0].type) or 0 for op in made_by if op.name == "stablehlo.constant")
    return size <= max([read, *(static_bytes(op.results[0].type) or 0 for op in work if op.name not in _CHEAP)])


def _made_of(value: ir.Value) -> Iterator[ir.Operation]:
    first = owner(value)
    starts = [] if first is None else [first]
    return reached(starts, lambda op: [maker for x in op.operands if (maker := owner(x)) is not None])
