"""Large arrays that a JAX function closes over, as its last arguments.

In: a function of leaves, and its closed jaxpr. Out: the arrays; and a function that takes them besides, as its last
leaves. Decision to know: nothing says which array of another trace is which, so they are told by their memory, and
where that is another by their bytes. What a function under `jax.jit` closes over leaves with it; what such a function
in a loop or a branch closes over stays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import tree_util
from jax.extend.core import ClosedJaxpr, Literal  # type: ignore[attr-defined]

from ...codegen.ir.jax_compat import evaluate_equation
from ...codegen.parameters import Array, digest_of

Leaves = Sequence[Any]
_INLINED = ("jit", "pjit")


def find(closed: ClosedJaxpr, limit: int, fits: Callable[[np.dtype[Any]], bool]) -> list[Array]:
    """The constants of a jaxpr that have at least so many bytes and a dtype that fits, each once."""
    found: dict[Any, Array] = {}
    for constant in [*closed.consts, *_inside(closed)]:
        array = _as_array(constant)
        if array is not None and array.nbytes >= max(limit, 1) and fits(array.dtype):
            found.setdefault(_memory(array), array)
    return list(found.values())


def _inside(closed: ClosedJaxpr) -> list[Any]:
    """What functions called in a jaxpr close over."""
    called = [equation.params["jaxpr"] for equation in closed.jaxpr.eqns if equation.primitive.name in _INLINED]
    return [constant for inner in called for constant in [*inner.consts, *_inside(inner)]]


def taking(function: Callable[[Leaves], Any], arrays: Sequence[Array]) -> Callable[[Leaves], Any]:
    """A function that takes arrays it closes over as its last leaves."""
    table = _Table(arrays)

    @functools.wraps(function, assigned=(), updated=())
    def call(leaves: Leaves) -> Any:
        given, values = leaves[: -len(arrays)], leaves[-len(arrays) :]
        tree: Any = None

        def flat(*arguments: Any) -> list[Any]:
            nonlocal tree
            results, tree = tree_util.tree_flatten(function(arguments))
            return results

        results = _evaluate(jax.make_jaxpr(flat)(*given), given, lambda constant: table.find(constant, values))
        return tree_util.tree_unflatten(tree, results)

    return call


class _Table:
    """Arrays that are found again."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = list(arrays)  # as long as they are kept, their memory is no other's
        self._types = {(array.dtype, array.shape) for array in arrays}
        self._by_memory = {_memory(array): place for place, array in enumerate(arrays)}
        self._by_bytes: dict[Any, int] = {}

    def find(self, constant: Any, values: Sequence[Any]) -> Any:
        """The value that stands for a constant; itself where none does."""
        array = _as_array(constant)
        if array is None or (array.dtype, array.shape) not in self._types:
            return constant
        place = self._by_memory.get(_memory(array))
        if place is None:
            if not self._by_bytes:
                self._by_bytes = {(x.dtype, x.shape, digest_of(x)): i for i, x in enumerate(self._arrays)}
            place = self._by_bytes.get((array.dtype, array.shape, digest_of(array)))
        return constant if place is None else values[place]


def _evaluate(closed: ClosedJaxpr, arguments: Sequence[Any], replaced: Callable[[Any], Any]) -> list[Any]:
    """What a jaxpr computes with other values for its constants."""
    jaxpr = closed.jaxpr
    known = dict(zip(jaxpr.constvars, map(replaced, closed.consts), strict=True))
    known.update(zip(jaxpr.invars, arguments, strict=True))

    def read(x: Any) -> Any:
        return x.val if isinstance(x, Literal) else known[x]

    for equation in jaxpr.eqns:
        operands = [read(x) for x in equation.invars]
        inner = equation.params.get("jaxpr") if equation.primitive.name in _INLINED else None
        if inner is not None and any(replaced(x) is not x for x in [*inner.consts, *_inside(inner)]):
            results: Sequence[Any] = _evaluate(inner, operands, replaced)
        else:
            results = evaluate_equation(equation, operands)
        known.update(zip(equation.outvars, results, strict=True))
    return [read(x) for x in jaxpr.outvars]


def _as_array(constant: Any) -> Array | None:
    """A constant as an array on its own memory; None for random keys and what is traced."""
    dtype = getattr(constant, "dtype", None)
    if isinstance(constant, jax.core.Tracer) or not isinstance(dtype, np.dtype):
        return None
    if isinstance(constant, jax.Array) and not constant.is_fully_addressable:
        return None
    return np.asarray(constant)


def _memory(array: Array) -> Any:
    return array.ctypes.data, array.dtype, array.shape, array.strides
