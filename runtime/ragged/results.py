"""Results of rows that were computed apart: put together, or chosen where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from .values import Ragged


def joined(parts: Sequence[Any], places: Sequence[np.ndarray[Any, Any]]) -> Any:
    """Rows that were computed apart, in their order."""
    order = np.argsort(np.concatenate(places))
    arrays = [x.values if isinstance(x, Ragged) else x for x in parts]
    module: Any = np if all(isinstance(x, np.ndarray) for x in arrays) else jax.numpy
    sizes = np.array([x.shape[1:] for x in arrays])
    known = {axis for x in parts if isinstance(x, Ragged) for axis in x.axes}
    known |= {axis + 1 for axis in range(sizes.shape[1]) if len(set(sizes[:, axis])) > 1}
    whole = sizes.max(0) if sizes.size else np.zeros(0, int)
    padded = [
        module.pad(x, [(0, 0), *[(0, int(n - own)) for n, own in zip(whole, x.shape[1:], strict=True)]]) for x in arrays
    ]
    values = module.concatenate(padded)[order]
    if not known:
        return values
    axes = tuple(sorted(known))
    lengths = tuple(np.concatenate([_lengths_along(x, axis) for x in parts])[order] for axis in axes)
    return Ragged(values, lengths, axes)


def _lengths_along(x: Any, axis: int) -> np.ndarray[Any, Any]:
    if isinstance(x, Ragged) and axis in x.axes:
        return np.asarray(x.lengths[x.axes.index(axis)])
    values = x.values if isinstance(x, Ragged) else x
    return np.full(values.shape[0], values.shape[axis], np.int32)


def undefined(x: Any) -> Any:
    """NaN, where there is one."""
    values = x.values if isinstance(x, Ragged) else x
    kind = jax.numpy.issubdtype(values.dtype, np.inexact)
    found = jax.numpy.full_like(values, np.nan if kind else 0)
    return Ragged(found, x.lengths, x.axes) if isinstance(x, Ragged) else found


def chosen(filled: Any, x: Any, other: Any) -> Any:
    """Rows with elements from one result, those without from another."""
    if isinstance(x, Ragged):
        values = other.values if isinstance(other, Ragged) else other
        shape = tuple(map(max, values.shape, x.values.shape))
        made = chosen(filled, _padded(x.values, shape), _padded(values, shape))
        lengths = []
        for axis, own in zip(x.axes, x.lengths, strict=True):
            there = other.lengths[x.axes.index(axis)] if isinstance(other, Ragged) else values.shape[axis]
            lengths.append(jax.numpy.where(filled, own, there).astype(np.int32))
        return Ragged(made, tuple(lengths), x.axes)
    return jax.numpy.where(filled.reshape((-1,) + (1,) * (x.ndim - 1)), x, other)


def _padded(x: Any, shape: Sequence[int]) -> Any:
    return jax.numpy.pad(x, [(0, whole - own) for own, whole in zip(x.shape, shape, strict=True)])
