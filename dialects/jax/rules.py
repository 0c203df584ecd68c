"""Lowering rules that take the place of JAX's own while a function is exported with symbolic sizes.

In: a JAX primitive that JAX would lower to a library's call. Out: plain StableHLO, made with the builder as for a
graph's op. Decompositions (`factorizations.py`) keep their names, and `device_linalg` puts the library's call in their
place when platform and sizes are known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ...codegen import builder as hlo
from ...codegen import dims as dimension
from ...codegen.builder import Builder, Tensor, order
from ...codegen.builder.core import SizeSource
from ...codegen.builder.types import Dims, DType
from ...codegen.dims import Dim
from ...codegen.ir.bindings import new_context
from ...codegen.ir.jax_compat import size_primitive
from ...codegen.ir.modules import to_bytecode
from . import factorizations
from .calls import call
from .size_values import lower_size

Build = Callable[..., "Tensor | Sequence[Tensor]"]


@functools.cache
def rules() -> tuple[tuple[Any, Any], ...]:
    """(primitive, lowering rule), as `jax.export.export` takes them."""
    return (
        *((primitive, _rule(name, build)) for primitive, name, build in factorizations.builds()),
        (jax.lax.approx_top_k_p, _rule("approx_top_k", _approximate_top_k)),
        (size_primitive(), lower_size),
    )


def _approximate_top_k(
    a: Tensor, *, k: int, reduction_dimension: int, is_max_k: bool, aggregate_to_topk: bool, **options: Any
) -> list[Tensor]:
    """All of the largest or smallest, whatever share is asked for; NaN after numbers."""
    axis = reduction_dimension % a.ndim
    count = k if aggregate_to_topk else _approximate_count(a.dims[axis], k, is_max_k, options)

    def precedes(x: Tensor, y: Tensor, *_: Tensor) -> Tensor:
        wanted = order.ordered("GT" if is_max_k else "LT", x, y)
        return hlo.or_(wanted, hlo.and_(order.is_number(x), order.is_nan(y)))

    ordered = hlo.sort([a, hlo.iota(a.builder, a.dims, axis, np.dtype("int32"))], axis, precedes)
    return [hlo.slice_axis(x, axis, 0, count) for x in ordered]


def _approximate_count(size: Dim, k: int, is_max_k: bool, options: dict[str, Any]) -> int:
    """How many JAX wants that are not brought together to k; it takes known sizes alone."""
    assert isinstance(size, int)
    function = jax.lax.approx_max_k if is_max_k else jax.lax.approx_min_k
    told = {name: options[name] for name in ("recall_target", "reduction_input_size_override")}
    shape = jax.ShapeDtypeStruct((size,), "float32")
    return int(jax.eval_shape(lambda x: function(x, k, aggregate_to_topk=False, **told), shape)[0].shape[0])


def _rule(name: str, build: Build) -> Callable[..., Any]:
    """A JAX lowering rule that calls a function made with the builder."""

    def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
        return call(ctx, name, _built(name, build, ctx.avals_in, params), operands)

    return lower


def _built(name: str, build: Build, avals: Sequence[Any], params: dict[str, Any]) -> bytes:
    """The module of a function for operands of these shapes; equal symbolic sizes are one root there."""
    roots: dict[str, Dim] = {}

    def dim(size: Any) -> Dim:
        if isinstance(size, int):
            return size
        return roots.setdefault(str(size), dimension.symbol(f"d{len(roots)}"))

    specs = tuple((tuple(dim(size) for size in aval.shape), np.dtype(aval.dtype)) for aval in avals)
    return _module(name, build, specs, tuple(params.items()))


@functools.lru_cache(maxsize=256)
def _module(
    name: str, build: Build, specs: tuple[tuple[Dims, DType], ...], params: tuple[tuple[str, Any], ...]
) -> bytes:
    builder = Builder(new_context(), name)
    with builder.function("main", specs) as handles:
        for handle in handles:
            for axis, size in enumerate(handle.dims):
                if not isinstance(size, int):
                    builder.add_root(SizeSource(str(size), handle, axis))
        built = build(*handles, **dict(params))
        builder.finish([built] if isinstance(built, Tensor) else list(built))
    return to_bytecode(builder.module)
