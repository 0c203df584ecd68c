"""Functions of JAX whose Python goes by the size of an axis, for sizes that are symbolic.

In: calls of JAX's functions with arrays of symbolic sizes. Out: the same results by loops whose steps are as many as
data or a size say. Decision to know: associative functions group in another order than JAX's; last digits may differ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax, tree_util
from jax import numpy as jnp

from ...codegen.ir.jax_tracing import adapt
from .scope import is_size

# Elements that are combined side by side; the steps that follow each other are this many times fewer.
_LANES = 32


@functools.cache
def adapt_functions() -> None:
    """Has JAX's functions be ours where sizes are symbolic."""
    adapt("lax.control_flow.loops", "associative_scan", _associative_scan, _has_sizes)
    adapt("lax.lax", "_reduce_jvp", _reduce_jvp, _has_sizes)
    adapt("lax.lax", "top_k", _top_k, lambda arguments: any(map(is_size, tree_util.tree_leaves(arguments))))
    adapt("numpy.hijax", "searchsorted", _searchsorted_of_axes, _has_sizes)  # since JAX 0.12
    adapt("numpy.lax_numpy", "_searchsorted_via_scan", lambda _, a, v, *how: _searchsorted(a, v, *how), _has_sizes)
    adapt("numpy.polynomial", "polydiv", _polydiv, _has_sizes)
    adapt("numpy.polynomial", "polyval", _polyval, _has_sizes)


def _has_sizes(arguments: Any) -> bool:
    return any(is_size(size) for leaf in tree_util.tree_leaves(arguments) for size in getattr(leaf, "shape", ()))


def _associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Each element first stands for the `_LANES` elements up to it, then for all: `_LANES` steps at a time."""
    flat, tree = tree_util.tree_flatten(elems)
    axis %= flat[0].ndim
    size = flat[0].shape[axis]
    if any(x.shape[axis] != size for x in flat):
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension. (saw: {[x.shape for x in flat]})"
        )

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        return tree_util.tree_leaves(fn(tree_util.tree_unflatten(tree, a), tree_util.tree_unflatten(tree, b)))

    def part(values: Sequence[Any], start: Any, stop: Any) -> list[Any]:
        return [lax.slice_in_dim(x, start, stop, axis=axis) for x in values]

    def join(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        return [lax.concatenate([x, y], axis) for x, y in zip(a, b, strict=True)]

    values = [lax.rev(x, [axis]) for x in flat] if reverse else list(flat)
    step = 1
    while step < _LANES:
        rest = jax.core.max_dim(size - step, 0)
        values = join(part(values, 0, size - rest), combine(part(values, 0, rest), part(values, size - rest, size)))
        step *= 2
    rest = jax.core.max_dim(size - _LANES, 0)
    turns = (rest + _LANES - 1) // _LANES
    last = jnp.asarray(size, np.int32) - 1
    # What is behind the last element is not used, but has its values: others might have no derivative.
    first = [jnp.take(x, lax.min(lax.iota(np.int32, _LANES), last), axis, mode="clip") for x in values]
    places = lax.min(lax.iota(np.int32, turns * _LANES) + _LANES, last)

    def in_turns(x: Any) -> Any:
        taken = jnp.take(x, places, axis, mode="clip")
        return jnp.moveaxis(taken.reshape(*x.shape[:axis], turns, _LANES, *x.shape[axis + 1 :]), axis, 0)

    def turn(before: list[Any], now: list[Any]) -> Any:
        found = combine(before, now)
        return found, found

    _, stacked = lax.scan(turn, first, [in_turns(x) for x in values])
    others = [
        jnp.moveaxis(x, 0, axis).reshape(*y.shape[:axis], turns * _LANES, *y.shape[axis + 1 :])
        for x, y in zip(stacked, values, strict=True)
    ]
    values = join(part(values, 0, size - rest), part(others, 0, rest))
    return tree_util.tree_unflatten(tree, [lax.rev(x, [axis]) for x in values] if reverse else values)


def _reduce_jvp(reducer: Any, init_values: Any, primals: Any, tangents: Any, axes: Sequence[int]) -> Any:
    """A reduction by an associative function, and its tangents."""
    kept = [axis for axis in range(primals[0].ndim) if axis not in axes]
    shape = tuple(primals[0].shape[axis] for axis in kept)

    def flat(x: Any) -> Any:
        return jnp.transpose(x, (*axes, *kept)).reshape(-1, *shape)

    for _ in range(len(kept) + 1):
        reducer = jax.vmap(reducer)

    def total(*values: Any) -> Any:
        return tuple(x[-1] for x in _associative_scan(lambda a, b: tuple(reducer(*a, *b)), values))

    return jax.jvp(total, tuple(map(flat, primals)), tuple(map(flat, tangents)))


def _top_k(operand: Any, k: Any, *, axis: int = -1, **_: Any) -> list[Any]:
    """A size's number of the largest: all are sorted, by the order of their bits as JAX does, equal ones by place."""
    values = jnp.moveaxis(jnp.asarray(operand), axis, -1)
    keys = values
    if jnp.issubdtype(values.dtype, np.floating):
        keys = lax.bitcast_convert_type(values, f"int{values.dtype.itemsize * 8}")
        keys = jnp.where(keys < 0, keys ^ jnp.iinfo(keys.dtype).max, keys)
    last = values.ndim - 1
    places = lax.broadcasted_iota(np.int32, values.shape, last)
    order = lax.rev(lax.sort([lax.rev(x, [last]) for x in (keys, places)], num_keys=1)[1], [last])
    first = lax.slice_in_dim(order, 0, k, axis=last)
    taken = jnp.take_along_axis(values, first, last)
    return [jnp.moveaxis(taken, -1, axis), jnp.moveaxis(first, -1, axis)]


def _searchsorted_of_axes(
    sorted_arr: Any, query: Any, /, *, dimension: int = 0, batch_dims: int = 0, method: str = "", **options: Any
) -> Any:
    function: Callable[..., Any] = functools.partial(_searchsorted, **options)
    for _ in range(jnp.ndim(sorted_arr) - batch_dims - 1):
        function = jax.vmap(function, (0, None))
    for _ in range(batch_dims):
        function = jax.vmap(function)
    return function(jnp.moveaxis(jnp.asarray(sorted_arr), dimension, -1), jnp.asarray(query))


def _searchsorted(sorted_arr: Any, query: Any, side: str = "left", dtype: Any = "int32") -> Any:
    """As many halvings as the size has bits; of each query at once."""
    values, wanted = lax.stop_gradient(sorted_arr), lax.stop_gradient(query)

    def goes_left(x: Any, y: Any) -> Any:
        """Whether a query x belongs before y or, to the left of its equals, at it; NaN comes last."""
        number, other = (jnp.isnan(z) for z in (x, y))
        return (x <= y) | other if side == "left" else (x < y) | (~number & other)

    def halve(_: Any, state: Any) -> Any:
        low, high = state
        middle = low + (high - low) // 2
        left = goes_left(wanted, jnp.take(values, middle, mode="clip"))
        return jnp.where(left, low, middle), jnp.where(left, middle, high)

    size = jnp.asarray(values.shape[0], np.int32)
    start = lax.full(wanted.shape, 0, np.int32)
    found = lax.fori_loop(0, 32 - lax.clz(size), halve, (start, start + size))[1]
    return found.astype(dtype)


def _polyval(p: Any, x: Any, *, unroll: Any = None) -> Any:
    """Horner's rule, one coefficient after the other."""
    coefficients, points = jnp.asarray(p), jnp.asarray(x)
    dtype = jnp.promote_types(coefficients.dtype, points.dtype)
    coefficients, points = coefficients.astype(dtype), points.astype(dtype)
    shape = jnp.broadcast_shapes(coefficients.shape[1:], points.shape)
    first, rest = (lax.slice_in_dim(coefficients, *bounds) for bounds in ((0, 1), (1, None)))
    start = jnp.broadcast_to(first[0], shape)
    return lax.scan(lambda value, c: (jnp.broadcast_to(value * points + c, shape), None), start, rest)[0]


def _polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Long division, a coefficient of the quotient in each step."""
    if trim_leading_zeros:
        raise NotImplementedError("the number of zeros depends on data; leave out trim_leading_zeros")
    remainder, divisor = (jnp.asarray(x) for x in (u, v))
    dtype = jnp.promote_types(jnp.promote_types(remainder.dtype, divisor.dtype), float)
    remainder, divisor = remainder.astype(dtype), divisor.astype(dtype)
    scale, size = 1.0 / divisor[0], divisor.shape[0]
    count = jax.core.max_dim(remainder.shape[0] - size + 1, 0)

    def step(rest: Any, place: Any) -> Any:
        quotient = scale * rest[place]
        part = lax.dynamic_slice_in_dim(rest, place, size) - quotient * divisor
        return lax.dynamic_update_slice_in_dim(rest, part, place, 0), quotient

    remainder, quotients = lax.scan(step, remainder, lax.iota(np.int32, count))
    return jnp.pad(quotients, (0, jax.core.max_dim(1 - count, 0))), remainder
