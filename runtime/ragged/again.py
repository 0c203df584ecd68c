"""Calls with the lengths of the call before, as each step of a fit to one set of rows is: recognized quickly.

In: a call that has run, whose lengths are JAX arrays. Out: what takes calls with arrays of the same types and those
very lengths: what is made of them is on the device already, and nothing of it is examined again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import tree_util

from ..function import ARRAY
from ..jitted import context
from .rows import Rows, Variant
from .values import Ragged


def lengths_of(args: Any, kwargs: Any) -> list[Any]:
    """The vectors of lengths of a call's arguments, where all leaves are JAX arrays; else none."""
    rows = [x for x in tree_util.tree_leaves((args, kwargs), is_leaf=_is_ragged) if _is_ragged(x)]
    leaves = tree_util.tree_leaves((args, kwargs))
    return [own for x in rows for own in x.lengths] if all(type(x) is ARRAY for x in leaves) else []


def _is_ragged(x: Any) -> bool:
    return isinstance(x, Ragged)


def call_again(args: Any, kwargs: Any, call: Rows, variant: Variant) -> Callable[[Any, Any], Any] | None:
    """A function of arguments, which returns `NotImplemented` for others than it is for; None if there is none."""
    tree: Any
    leaves, tree = tree_util.tree_flatten((args, kwargs))
    arrays, lengths, sizes = variant.given(call)
    (_, function), given = variant.rows.prepared(arrays, lengths, sizes)
    places = [next((i for i, x in enumerate(leaves) if x is y), -1) for y in given[: len(arrays)]]
    if -1 in places:  # one is converted, moved or padded
        return None
    tail, state, run = jax.device_put(given[len(arrays) :]), context(), function.run
    own = {id(x) for x in lengths_of(args, kwargs)}
    known = [x if id(x) in own else x.aval for x in leaves]  # data are not held

    def again(args: Any, kwargs: Any) -> Any:
        found, structure = tree_util.tree_flatten((args, kwargs))
        if structure != tree or context() != state:
            return NotImplemented
        for x, was in zip(found, known, strict=True):
            if x is not was and (type(x) is not ARRAY or type(was) is ARRAY or x.aval != was):
                return NotImplemented
        results = variant.rows.cut(function, run([*[found[i] for i in places], *tail]), lengths, sizes)
        outputs = results[0] if len(results) == 1 else tuple(results)
        return outputs if variant.restore is None else variant.restore(outputs)

    return again
