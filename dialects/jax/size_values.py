"""Sizes, and numbers made of sizes, as data of the module that JAX lowers to.

In: JAX's primitives for them, with the sizes' names and values in the lowering rule's context. Out: arithmetic made
with the builder: of sizes in 64-bit integers, of numbers in 64-bit floats besides, rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Builder, Tensor
from ...codegen.builder.core import SizeSource
from .calls import call_scalar
from .scope import read_size

# An expression: a size, a float as text, or a function of such.
Tree = Any

_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "+": hlo.add,
    "-": hlo.subtract,
    "*": hlo.multiply,
    "/": hlo.divide,
    "**": hlo.power,
    "sqrt": hlo.sqrt,
    "neg": hlo.negate,
}


def lower_number(ctx: Any, *, tree: Tree, dtype: Any, weak: bool) -> Any:
    """An expression of sizes as a scalar."""
    names, values = _sizes_of(ctx)

    def build(*sizes: Tensor) -> Tensor:
        return hlo.convert(_float(tree, _knowing(names, sizes)), dtype)

    return call_scalar(ctx, "number", build, values)


def lower_size(ctx: Any, *, dim: Any) -> Any:
    """A size of JAX's as data."""
    names, values = _sizes_of(ctx)
    size, (aval,) = read_size(str(dim)), ctx.avals_out
    if str(size) in names:
        return [values[names.index(str(size))]]

    def build(*sizes: Tensor) -> Tensor:
        return hlo.convert(_knowing(names, sizes).size(size), aval.dtype)

    return call_scalar(ctx, "size", build, values)


def _sizes_of(ctx: Any) -> tuple[Sequence[str], Sequence[Any]]:
    """Names and values of the sizes in a lowering rule's context; without JAX's index of the platform."""
    names = map(str, ctx.module_context.shape_poly_state.dim_vars)
    found = {name: x for name, x in zip(names, ctx.dim_var_values, strict=True) if name != "_platform_index"}
    return list(found), list(found.values())


def _knowing(names: Sequence[str], sizes: Sequence[Tensor]) -> Builder:
    """The builder, which knows from where the sizes come."""
    builder = sizes[0].builder
    for name, x in zip(names, sizes, strict=True):
        builder.add_root(SizeSource(name, x, None, data=True))
    return builder


def _float(tree: Tree, builder: Builder) -> Tensor:
    if not isinstance(tree, tuple):
        return builder.constant(np.float64(tree)) if isinstance(tree, int) else hlo.convert(builder.size(tree), float)
    if tree[0] == "float":
        return builder.constant(np.float64(float.fromhex(tree[1])))
    parts = [_float(part, builder) for part in tree[1:]]
    if tree[0] == "**" and tree[2] == ("float", (0.5).hex()):
        return hlo.sqrt(parts[0])
    return _FUNCTIONS[tree[0]](*parts)
