"""Integers that are known before the run: iota, constants, and arithmetic on them.

In: a value of integers or truth values. Out: its array, or None. Indices that a library computes (`arange(a, b)`, with
wrapping of negative ones, conversion, a check against the size) come out as the numbers that they are. Decision to
know: work is bounded, in ops and in elements, so that asking is cheap where the answer is no.
"""

from __future__ import annotations

import numpy as np

from ..ir import evaluate
from ..ir.attributes import Array
from ..ir.bindings import ir
from ..ir.driver import remembered
from ..ir.values import constant, owner, shape_of

_OPS, _ELEMENTS = 48, 1 << 21


def known(value: ir.Value) -> Array | None:
    """The array of a value that no argument has a part in; None where it is not known, or not cheaply."""
    unknown: set[int] = remembered("unknown integers", set)
    return _Evaluation(unknown).value(value)


class _Evaluation:
    """One question: how many ops are still looked at, and what is known of those that were.

    What is found to be unknown is remembered (as hashes, not as values) for the questions to come in the same run.
    """

    def __init__(self, unknown: set[int]) -> None:
        self._left = _OPS
        self._unknown = unknown
        self._found: dict[ir.Value, Array] = {}

    def value(self, value: ir.Value) -> Array | None:
        if value in self._found:
            return self._found[value]
        if hash(value) in self._unknown:
            return None
        self._left -= 1
        op = owner(value)
        result = None
        if op is not None and self._left >= 0 and _is_small(value):
            result = self._op(op)
        if result is None:
            self._unknown.add(hash(value))
        else:
            self._found[value] = result
        return result

    def _op(self, op: ir.Operation) -> Array | None:
        operands = []
        for operand in op.operands if evaluate.is_known(op) else ():
            found = self.value(operand)
            if found is None:
                return None
            operands.append(found)
        return evaluate.result_of(op, operands)


def _is_small(value: ir.Value) -> bool:
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    tensor = ir.RankedTensorType(value.type)
    element = tensor.element_type
    if not isinstance(element, ir.IntegerType) or element.width not in (1, 8, 16, 32, 64):
        return False
    shape = shape_of(value)
    return None not in shape and int(np.prod([size or 0 for size in shape], dtype=np.int64)) <= _ELEMENTS


def zero_splat(value: ir.Value) -> float | int | None:
    """0 or -0.0 where all elements of a value are known to be it, else None."""
    found = constant(value)
    if found is None or found.ndim or found != 0:
        return None
    return -0.0 if found.dtype.kind not in "iubc" and np.signbit(found) else 0
