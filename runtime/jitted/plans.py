"""Plans for calls that look alike: how flat arguments become the program's, and its results the function's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen import dims as dimension
from ...codegen.constraints import Constraint
from ...dialects.jax.trace import Traced, is_key
from ..function import Function


@dataclass(slots=True)
class Plan:
    """A plan for calls that look alike.

    Attributes:
        function: the program's, or None where `jax.jit` runs the call.
        prepare: puts them in the program's order and types, if they are not.
        restore: makes of the program's results the function's, if they are not the same.
        note: what an `OverflowError` of JAX's in such a call is about.
        recognizing: takes calls with such arrays at a glance, and passes on all others; made after some of them.
    """

    function: Function | None = None
    prepare: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    restore: Callable[[Any], Any] | None = None
    note: str = ""
    recognizing: Callable[..., Any] | None = None


def preparation(
    order: Sequence[int], leaves: Sequence[Any], specs: Sequence[Any]
) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """A function from a call's flat arguments to the program's: order, random keys as integers, dtypes that JAX has.

    Args:
        order: for each argument of the program its place among the call's.
        leaves: the call's.
        specs: the program's.
    """
    changes: list[tuple[int, Callable[[Any], Any]]] = []
    for number, (place, spec) in enumerate(zip(order, specs, strict=True)):
        if is_key(spec):
            changes.append((number, jax.random.key_data))
        elif isinstance(leaves[place], np.ndarray | np.generic) and leaves[place].dtype != spec.dtype:
            changes.append((number, functools.partial(np.asarray, dtype=spec.dtype)))
    if not changes and list(order) == list(range(len(leaves))):
        return None

    def prepare(values: Sequence[Any]) -> Sequence[Any]:
        arranged = [values[place] for place in order]
        for number, change in changes:
            arranged[number] = change(arranged[number])
        return arranged

    return prepare


def restoration(traced: Traced) -> Callable[[Any], Any] | None:
    """A function from the results of the program's `Function` to those of the traced function."""
    tree, keys = traced.tree, traced.keys
    count = len(keys)
    as_they_are = tree_util.tree_structure(0 if count == 1 else (0,) * count)
    if tree == as_they_are and not any(keys):
        return None

    def restore(outputs: Any) -> Any:
        results = [outputs] if count == 1 else list(outputs)
        for number, key in enumerate(keys):
            if key is not None:
                results[number] = jax.random.wrap_key_data(results[number], impl=key)
        return tree_util.tree_unflatten(tree, results)

    return restore


def overflow_note(limit: Constraint, sizes: Mapping[str, int]) -> str:
    """A number that does not fit, and at which size."""
    dim = limit.rhs if isinstance(limit.lhs, int) else limit.lhs
    at = ", ".join(f"{name} = {sizes[name]}" for name in sorted(dimension.roots(dim)))
    return f"{dim} is {dimension.evaluate(dim, sizes)} for {at}, {limit.where}"


def to_numpy(x: Any) -> Any:
    """A result as a NumPy array; random keys, and what is traced, stay what they are."""
    return x if is_key(x) or isinstance(x, jax.core.Tracer) else np.asarray(x)
