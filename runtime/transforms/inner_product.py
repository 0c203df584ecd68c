"""The sum of products of two arrays, as a JAX primitive: how a gradient becomes a tangent.

In: a gradient and a tangent of one shape. Out: a number, linear in both. Reverse mode asks for the transpose, the
gradient times a cotangent; for a cotangent of 1, which `jax.grad` gives, that is the gradient as it is. So nothing is
compiled for a new shape outside of `jax.jit`, as `jax.numpy` would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching
from jax.interpreters import mlir as jax_mlir

from ...codegen.ir.jax_compat import result_avals, with_equal_axes

inner_product_p = Primitive("inner_product")


def inner_product(gradient: Any, tangent: Any) -> Any:
    """The sum of products of two arrays of one shape and dtype."""
    return inner_product_p.bind(*with_equal_axes([gradient, tangent]))


def _sum(a: Any, b: Any) -> Any:
    return jax.numpy.sum(a * b)


def _abstract(a: Any, b: Any) -> Any:
    return result_avals([a, b], [((), a.dtype)], frozenset())[0]


def _transpose(cotangent: Any, other: Any) -> Any:
    if not isinstance(cotangent, jax.core.Tracer) and np.all(np.asarray(cotangent) == 1):
        return other
    return cotangent * other


def _batch(operands: Sequence[Any], axes: Sequence[Any]) -> tuple[Any, int]:
    (a, b), count = operands, next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    a, b = (
        jax.numpy.moveaxis(x, axis, 0) if axis is not None else jax.numpy.broadcast_to(x, (count, *x.shape))
        for x, axis in zip((a, b), axes, strict=True)
    )
    return jax.numpy.sum(a * b, axis=tuple(range(1, a.ndim))), 0


inner_product_p.def_impl(_sum)
inner_product_p.def_abstract_eval(_abstract)
jax_mlir.register_lowering(inner_product_p, jax_mlir.lower_fun(_sum, multiple_results=False))
ad.defbilinear(inner_product_p, lambda ct, a, b: _transpose(ct, b), lambda ct, a, b: _transpose(ct, a))
batching.primitive_batchers[inner_product_p] = _batch
