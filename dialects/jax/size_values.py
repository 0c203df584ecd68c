"""Sizes, and numbers made of sizes, as data of the module that JAX lowers to.

In: JAX's primitives for them, with the sizes' names and values in the lowering rule's context. Out: arithmetic made
with the builder: of sizes in integers wide enough for all parts, of numbers in 64-bit integers and floats, rounded
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen import dims as dimension
from ...codegen.builder import Tensor
from ...codegen.dims import Dim
from .calls import call_scalar
from .scope import LARGEST, read_size

# An expression: a size, a float as text, or a function of such.
Tree = Any


def lower_number(ctx: Any, *, tree: Tree, dtype: Any, weak: bool) -> Any:
    names, values = _sizes_of(ctx)

    def build(*sizes: Tensor) -> Tensor:
        return hlo.convert(_float(tree, dict(zip(names, sizes, strict=True)), sizes[0]), dtype)

    return call_scalar(ctx, "number", build, values)


def lower_size(ctx: Any, *, dim: Any) -> Any:
    """A size of JAX's as data, computed in 64 bits where it, or what it is made of, may not fit 32."""
    names, values = _sizes_of(ctx)
    size, (aval,) = read_size(str(dim)), ctx.avals_out
    if str(size) in names:
        return [values[names.index(str(size))]]
    dtype = np.dtype(np.int32 if all(map(_fits, (size, *dimension.operands(size)))) else np.int64)

    def build(*sizes: Tensor) -> Tensor:
        return hlo.convert(_integer(size, dict(zip(names, sizes, strict=True)), dtype), aval.dtype)

    return call_scalar(ctx, "size", build, values)


def _fits(dim: Dim) -> bool:
    low, high = dimension.bounds(dim, dict.fromkeys(dimension.roots(dim), (1, LARGEST[32])))
    return low is not None and high is not None and low >= -LARGEST[32] and high <= LARGEST[32]


def _sizes_of(ctx: Any) -> tuple[Sequence[str], Sequence[Any]]:
    """Names and values of the sizes in a lowering rule's context; without JAX's index of the platform."""
    names = map(str, ctx.module_context.shape_poly_state.dim_vars)
    found = {name: x for name, x in zip(names, ctx.dim_var_values, strict=True) if name != "_platform_index"}
    return list(found), list(found.values())


def _float(tree: Tree, sizes: dict[str, Tensor], like: Tensor) -> Tensor:
    if not isinstance(tree, tuple):
        if isinstance(tree, int):
            return like.builder.constant(np.float64(tree))
        return hlo.convert(_integer(tree, sizes, np.dtype(np.int64)), np.float64)
    if tree[0] == "float":
        return like.builder.constant(np.float64(float.fromhex(tree[1])))
    parts = [_float(part, sizes, like) for part in tree[1:]]
    if tree[0] == "**" and tree[2] == ("float", (0.5).hex()):
        return hlo.sqrt(parts[0])
    build: dict[str, Callable[..., Tensor]] = {
        "+": hlo.add,
        "-": hlo.subtract,
        "*": hlo.multiply,
        "/": hlo.divide,
        "**": hlo.power,
        "sqrt": hlo.sqrt,
        "neg": hlo.negate,
    }
    return build[tree[0]](*parts)


def _integer(dim: Dim, sizes: dict[str, Tensor], dtype: np.dtype[Any]) -> Tensor:
    """A size, computed in integers of this type."""
    builder = next(iter(sizes.values())).builder

    def divided(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """Quotient and remainder as Python's; XLA's are rounded to 0."""
        quotient, rest = hlo.divide(a, b), hlo.remainder(a, b)
        zero, one = builder.constant(dtype.type(0)), builder.constant(dtype.type(1))
        differ = hlo.compare("NE", hlo.compare("LT", rest, zero), hlo.compare("LT", b, zero))
        below = hlo.and_(differ, hlo.compare("NE", rest, zero))
        return hlo.select(below, hlo.subtract(quotient, one), quotient), hlo.select(below, hlo.add(rest, b), rest)

    return dimension.rebuild(
        dim,
        lambda name: hlo.convert(sizes[name], dtype),
        const=lambda value: builder.constant(dtype.type(value)),
        add=hlo.add,
        mul=hlo.multiply,
        floordiv=lambda a, b: divided(a, b)[0],
        mod=lambda a, b: divided(a, b)[1],
        minimum=hlo.minimum_,
        maximum=hlo.maximum_,
    )
