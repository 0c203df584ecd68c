"""Lowering rules that take the place of JAX's own while a function is exported with symbolic sizes.

In: a JAX primitive that JAX would lower to a library's call. Out: plain StableHLO, made with the builder as for a
graph's op. On CPU, JAX calls LAPACK for Cholesky factors and triangular solves; here they stay portable, and
`device-linalg` puts the library's call in their place when platform and sizes are known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jaxlib.mlir import ir

from ...codegen import builder as hlo
from ...codegen import dims as dimension
from ...codegen.builder import Builder, Tensor
from ...codegen.builder.tensor import Root
from ...codegen.dims import Dim
from ...codegen.ir.adopt import adopt
from ...codegen.ir.bindings import new_context
from ...codegen.ir.jax_compat import size_primitive
from ...codegen.ir.modules import to_bytecode
from ...codegen.ir.types import numpy_dtype
from ...codegen.ir.walk import main_function
from .numbers import lower_size

Build = Callable[..., Tensor]


@functools.cache
def rules() -> tuple[tuple[Any, Any], ...]:
    """(primitive, lowering rule), as `jax.export.export` takes them."""
    linalg = jax.lax.linalg
    return (
        (linalg.cholesky_p, _rule("cholesky", _cholesky)),
        (linalg.triangular_solve_p, _rule("triangular_solve", _triangular_solve)),
        (size_primitive(), lower_size),
    )


def _cholesky(a: Tensor, **_: Any) -> Tensor:
    """Without zeros in the other triangle: JAX's callers write them."""
    return a.builder.op("stablehlo.cholesky", [a], a.dims, a.dtype, (("lower", "true"),))


def _triangular_solve(
    a: Tensor, b: Tensor, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Tensor:
    if conjugate_a and not transpose_a and a.dtype.kind == "c":
        a = hlo.conj(a)
    return hlo.triangular_solve(
        a,
        b,
        lower=lower,
        left_side=left_side,
        unit_diagonal=unit_diagonal,
        transpose=transpose_a and not conjugate_a,
        adjoint=transpose_a and conjugate_a,
    )


def _rule(name: str, build: Build) -> Callable[..., Any]:
    """A JAX lowering rule that calls a function made with the builder."""

    def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
        return _call(ctx, name, _built(name, build, ctx.avals_in, params), operands)

    return lower


def call_scalar(ctx: Any, name: str, build: Build, scalars: Sequence[Any]) -> Any:
    """Calls a function of scalars, made with the builder, in a lowering rule."""
    builder = Builder(new_context(), name)
    types = [((), numpy_dtype(ir.RankedTensorType(x.type).element_type)) for x in scalars]
    with builder.function("main", types) as handles:
        builder.finish([build(*handles)])
    return _call(ctx, name, to_bytecode(builder.module), scalars)


def _call(ctx: Any, name: str, bytecode: bytes, operands: Sequence[Any]) -> Any:
    target = ctx.module_context.module
    source = ir.Module.parse(bytecode, target.context)
    results = ir.FunctionType(ir.TypeAttr(main_function(source).attributes["function_type"]).value).results
    symbol = adopt(target, source, f"hlograph_{name}", insert=ctx.module_context.symbol_table.insert)
    callee = ir.FlatSymbolRefAttr.get(symbol, target.context)
    call = ir.Operation.create("func.call", results=results, operands=operands, attributes={"callee": callee})
    return call.results


def _built(name: str, build: Build, avals: Sequence[Any], params: dict[str, Any]) -> bytes:
    """The module of a function for operands of these shapes; equal symbolic sizes are one root there."""
    roots: dict[str, Dim] = {}

    def dim(size: Any) -> Dim:
        if isinstance(size, int):
            return size
        return roots.setdefault(str(size), dimension.symbol(f"d{len(roots)}"))

    shapes = [tuple(dim(size) for size in aval.shape) for aval in avals]
    builder = Builder(new_context(), name)
    with builder.function("main", [(dims, aval.dtype) for dims, aval in zip(shapes, avals, strict=True)]) as handles:
        for handle in handles:
            for axis, size in enumerate(handle.dims):
                if not isinstance(size, int):
                    builder.add_root(Root(str(size), handle, axis))
        builder.finish([build(*handles, **params)])
    return to_bytecode(builder.module)
