"""A graph that takes floating-point numbers for some of its integers.

In: the inputs and outputs of a graph. Out: those of one whose inputs at some places are float64, and are checked to be
whole numbers: JAX takes floats where a model counts, and its own data often come so. The derivatives by them are zero.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..library import Library


def taking_floats(
    library: Library, inputs: Sequence[Any], outputs: Sequence[Any], places: Collection[int]
) -> tuple[list[Any], list[Any]]:
    """The graph with float64 inputs at these places."""
    tensor, types, checks = (library.module(path) for path in ("tensor", "tensor.type", "raise_op"))
    fresh, replacements = list(inputs), {}
    for place in places:
        x = inputs[place]
        fresh[place] = types.TensorType("float64", x.type.shape)(name=x.name)
        whole = tensor.cast(fresh[place], x.type.dtype)
        check = checks.CheckAndRaise(ValueError, f"{x.name or 'an integer argument'} must be whole numbers")
        replacements[x] = check(whole, tensor.all(tensor.eq(fresh[place], whole)))
    return fresh, library.clone_replace(list(outputs), replacements)
