"""What of a step is kept for the gradient: the cheapest set of values from which it can do the rest.

In: a pair of loops. Out: values of the first one's steps. Prices are those of `codegen/analysis/cost.py`, for arrays
whose unknown sizes are small; where sizes are known, the pass `recompute_saved` decides once more.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ....codegen.analysis.cost import elementwise, load, store
from ....codegen.analysis.cut import FOREVER, Value, cheapest
from .loops import Loop
from .pairs import Pair

_ROW = 2_000  # picoseconds for a row of its own in each step, whatever its size
_TYPICAL = 16  # elements of an axis of unknown size


def kept_for(pair: Pair) -> list[Any]:
    """The values of the first loop's steps that the second is to read, beyond those that it reads already."""
    varying = _varying(pair.forward)
    inner = pair.backward
    needed = [
        pair.same[x]
        for node in inner.nodes
        if any(x not in pair.same for x in node.outputs)
        for x in node.inputs
        if x in pair.same
    ]
    needed += [pair.same[x] for x in inner.parts.inner_outputs if x in pair.same]
    needed = [x for x in dict.fromkeys(needed) if x in varying]
    values: dict[Any, Value[Any]] = {}
    pending = list(needed)
    while pending:
        value = pending.pop()
        if value in values:
            continue
        if value in pair.given or not _is_array(value) or (value.ndim == 0 and value.dtype in _SIZES):
            values[value] = Value([], 0, FOREVER)
            continue
        keep = _ROW + (load if value in pair.traced else store)(_elements(value) * _itemsize(value))
        if value.owner is None:
            values[value] = Value([], FOREVER, keep)
            continue
        sources = [x for x in dict.fromkeys(value.owner.inputs) if x in varying]
        values[value] = Value(sources, _price(value), keep)
        pending += sources
    choice = cheapest(values, needed)
    if choice.price >= FOREVER:
        return []
    read = {*needed, *(source for x in choice.again for source in values[x].sources)}
    return [*_earlier_alone(pair, read), *(x for x in values if x in choice.kept)]


def _earlier_alone(pair: Pair, read: set[Any]) -> list[Any]:
    """States before a step, among those to be read, that are read from their traces, each the only one of its trace.

    In a trace of their own they need no initial rows in front, which would be a copy of the whole.
    """
    states = [[x for x in pair.earlier if x in state.inner and x in read] for state in pair.forward.states]
    return [found[0] for found in states if len(found) == 1]


def _varying(loop: Loop) -> set[Any]:
    """The inner variables that differ from step to step, as far as can be told."""
    constant = {inner for _, inner in loop.parts.constants}
    varying = {x for x in loop.parts.inner_inputs if x not in constant}
    for node in loop.nodes:
        if any(x in varying for x in node.inputs):
            varying.update(node.outputs)
    return varying


# A size must stay one: no later op may take it for data.
_SIZES = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"))


def _is_array(value: Any) -> bool:
    return type(value.type).__name__ == "TensorType"


def _elements(value: Any) -> int:
    return prod(_TYPICAL if size is None else size for size in value.type.shape)


def _itemsize(value: Any) -> int:
    return np.dtype(value.type.dtype).itemsize


# Ops that only arrange elements, or read few of them.
_MOVING = frozenset(
    ("DimShuffle", "ExpandDims", "Reshape", "Subtensor", "Join", "Split", "Alloc", "Second", "SpecifyShape")
)
_SCALARS = {
    "Exp": "exponential", "Tanh": "tanh", "Sigmoid": "logistic", "Log": "log", "Log1p": "log_plus_one",
    "Expm1": "exponential_minus_one", "Sin": "sine", "Cos": "cosine", "Pow": "power", "Tan": "tan", "Mod": "remainder",
    "ArcTan2": "atan2", "Softplus": "log_plus_one",
}  # fmt: skip
_CHEAP = frozenset(
    (
        *(
            "Add",
            "Sub",
            "Mul",
            "TrueDiv",
            "Neg",
            "Sqr",
            "Sqrt",
            "Reciprocal",
            "Abs",
            "Sign",
            "Cast",
            "Identity",
            "Switch",
        ),
        *("Second", "Maximum", "Minimum", "ScalarMaximum", "ScalarMinimum", "LT", "LE", "GT", "GE", "EQ", "NEQ", "AND"),
        *("OR", "XOR", "Invert", "IsNan", "IsInf", "Clip", "Floor", "Ceil", "Real", "Imag", "Conj"),
    )
)
_OTHER = 25_000  # of any other elementwise op, for each element
_ANY = 1_000_000_000  # of an op that is not elementwise: it is not done twice


def _price(value: Any) -> int:
    """What it costs to compute a value from its operands, in picoseconds."""
    node = value.owner
    kind = type(node.op).__name__
    elements, itemsize = _elements(value), _itemsize(value)
    if kind in _MOVING:
        return elementwise("", elements, itemsize)
    if kind == "Elemwise":
        scalar = type(node.op.scalar_op).__name__
        if scalar in _SCALARS or scalar in _CHEAP:
            return elementwise(_SCALARS.get(scalar, ""), elements, itemsize)
        return _OTHER * elements
    if kind in ("Sum", "Prod", "Max", "Min", "Any", "All"):
        return elementwise("", 2 * _elements(node.inputs[0]), itemsize)
    return _ANY
