"""Lowering rules that take the place of JAX's own while a function is exported with symbolic sizes.

In: a JAX primitive that JAX would lower to a library's call, or one for a size, or a number made of sizes. Out: plain
StableHLO, made with the builder as for a graph's op, in a private function of JAX's module. Decompositions keep their
names, have padding rules and run where there is no library; `device_linalg` puts the library's call in their place when
platform and sizes are known. Decision to know: JAX's names for ways of computing (`algorithm`, `implementation`) are
not looked at; the library's own choice comes with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir

from ...codegen import builder as hlo
from ...codegen import dims as dimension
from ...codegen.builder import Builder, Tensor, matrices
from ...codegen.builder.core import SizeSource
from ...codegen.builder.places import INT32, Dims, DType
from ...codegen.dims import Dim, minimum
from ...codegen.errors import UnsupportedGraphError
from ...codegen.ir.bindings import new_context
from ...codegen.ir.functions import adopt
from ...codegen.ir.jax_compat import geqrf_primitive
from ...codegen.ir.jax_tracing import size_primitive
from ...codegen.ir.modules import from_bytecode, to_bytecode
from ...codegen.ir.values import main_function, numpy_dtype
from .scope import read_size

Build = Callable[..., "Tensor | Sequence[Tensor]"]


@functools.cache
def rules() -> tuple[tuple[Any, Any], ...]:
    """(primitive, lowering rule), as `jax.export.export` takes them."""
    linalg = jax.lax.linalg
    table: list[tuple[Any, str, Build]] = [
        (linalg.cholesky_p, "cholesky", _cholesky),
        (linalg.triangular_solve_p, "triangular_solve", _triangular_solve),
        (linalg.lu_p, "lu", _lu),
        (linalg.qr_p, "qr", _qr),
        (geqrf_primitive(), "geqrf", lambda a, **_: hlo.householder_qr(a)),
        (linalg.householder_product_p, "householder_product", lambda a, taus, **_: hlo.householder_product(a, taus)),
        (linalg.eigh_p, "eigh", _eigh),
        (linalg.svd_p, "svd", _svd),
        (jax.lax.approx_top_k_p, "approx_top_k", _approximate_top_k),
    ]
    own = ((size_primitive(), lower_size), (jax.lax.fft_p, lower_fft))
    return *((primitive, _rule(name, build)) for primitive, name, build in table), *own


def _approximate_top_k(
    a: Tensor, *, k: int, reduction_dimension: int, is_max_k: bool, aggregate_to_topk: bool, **options: Any
) -> list[Tensor]:
    """All of the largest or smallest, whatever share is asked for; NaN after numbers."""
    axis = reduction_dimension % a.ndim
    count = k if aggregate_to_topk else _approximate_count(a.dims[axis], k, is_max_k, options)

    def precedes(x: Tensor, y: Tensor, *_: Tensor) -> Tensor:
        wanted = hlo.ordered("GT" if is_max_k else "LT", x, y)
        return hlo.or_(wanted, hlo.and_(hlo.is_number(x), hlo.is_nan(y)))

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
    """A JAX lowering rule that calls a function made with the builder; equal symbolic sizes are one root there."""

    def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
        roots: dict[str, Dim] = {}

        def dim(size: Any) -> Dim:
            if isinstance(size, int):
                return size
            return roots.setdefault(str(size), dimension.symbol(f"d{len(roots)}"))

        specs = tuple((tuple(dim(size) for size in aval.shape), np.dtype(aval.dtype)) for aval in ctx.avals_in)
        return call_module(ctx, name, _module(name, build, specs, tuple(params.items())), operands)

    return lower


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


# ---- calls in the module that JAX lowers to -------------------------------------------------------------------------


def call_module(ctx: Any, name: str, bytecode: bytes, operands: Sequence[Any]) -> Any:
    """Calls the one function of a module, which becomes a private one of JAX's."""
    target = ctx.module_context.module
    source = from_bytecode(bytecode, target.context)
    results = ir.FunctionType(ir.TypeAttr(main_function(source).attributes["function_type"]).value).results
    symbol = adopt(target, source, f"hlograph_{name}", insert=ctx.module_context.symbol_table.insert)
    callee = ir.FlatSymbolRefAttr.get(symbol, target.context)
    call = ir.Operation.create("func.call", results=results, operands=operands, attributes={"callee": callee})
    return call.results


# ---- sizes, and numbers made of sizes, as data ----------------------------------------------------------------------


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
    return _call_scalar(ctx, "number", lambda builder: _float(tree, builder), dtype)


def lower_fft(ctx: Any, x: Any, *, fft_type: Any, fft_lengths: Sequence[Any]) -> Any:
    """A Fourier transform; its lengths may be sizes."""
    (aval,), sizes = ctx.avals_in, sizes_of(ctx)
    dims, lengths = (tuple(read_size(str(size)) for size in found) for found in (aval.shape, fft_lengths))
    builder = Builder(new_context(), "fft")
    types = [((), numpy_dtype(ir.RankedTensorType(size.type).element_type)) for size in sizes.values()]
    with builder.function("main", [*types, (dims, np.dtype(aval.dtype))]) as handles:
        for root, size in zip(sizes, handles, strict=False):
            builder.add_root(SizeSource(root, size, None, data=True))
        builder.finish([hlo.fft(handles[-1], fft_type.name, lengths)])
    return call_module(ctx, "fft", to_bytecode(builder.module), [*sizes.values(), x])


def lower_size(ctx: Any, *, dim: Any) -> Any:
    """A size of JAX's as data."""
    size, (aval,) = read_size(str(dim)), ctx.avals_out
    known = sizes_of(ctx).get(str(size))
    return _call_scalar(ctx, "size", lambda builder: builder.size(size), aval.dtype) if known is None else [known]


def sizes_of(ctx: Any) -> dict[str, Any]:
    """The values of the named sizes."""
    names = map(str, ctx.module_context.shape_poly_state.dim_vars)
    return {name: x for name, x in zip(names, ctx.dim_var_values, strict=True) if name != "_platform_index"}


def _call_scalar(ctx: Any, name: str, build: Callable[[Builder], Tensor], dtype: Any) -> Any:
    """A scalar that is made of the sizes, by a builder that knows them."""
    sizes, builder = sizes_of(ctx), Builder(new_context(), name)
    types = [((), numpy_dtype(ir.RankedTensorType(x.type).element_type)) for x in sizes.values()]
    with builder.function("main", types) as handles:
        for root, x in zip(sizes, handles, strict=True):
            builder.add_root(SizeSource(root, x, None, data=True))
        builder.finish([hlo.convert(build(builder), dtype)])
    return call_module(ctx, name, to_bytecode(builder.module), list(sizes.values()))


def _float(tree: Tree, builder: Builder) -> Tensor:
    if not isinstance(tree, tuple):
        return builder.constant(np.float64(tree)) if isinstance(tree, int) else hlo.convert(builder.size(tree), float)
    if tree[0] == "float":
        return builder.constant(np.float64(float.fromhex(tree[1])))
    parts = [_float(part, builder) for part in tree[1:]]
    if tree[0] == "**" and tree[2] == ("float", (0.5).hex()):
        return hlo.sqrt(parts[0])
    return _FUNCTIONS[tree[0]](*parts)


# ---- JAX's decompositions -------------------------------------------------------------------------------------------


def _cholesky(a: Tensor, **_: Any) -> Tensor:
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


def _lu(a: Tensor, **_: Any) -> list[Tensor]:
    factors, pivots = hlo.lu_factor(a)
    order = hlo.pivots_to_permutation(pivots, inverse=True, rows=a.dims[-2])
    return [factors, pivots, hlo.convert(order, INT32)]


def _qr(a: Tensor, *, pivoting: bool, full_matrices: bool, **_: Any) -> list[Tensor]:
    packed, taus, *order = (hlo.pivoted_qr if pivoting else hlo.householder_qr)(a)
    q = hlo.householder_product(hlo.reflectors(packed, complete=full_matrices), taus)
    rows = a.dims[-2] if full_matrices else minimum(a.dims[-2], a.dims[-1])
    return [q, hlo.slice_axis(hlo.triangle(packed, lower=False), a.ndim - 2, 0, rows), *order]


def _eigh(a: Tensor, *, lower: bool, subset_by_index: Any = None, **_: Any) -> tuple[Tensor, Tensor]:
    _refuse_some("eigh", subset_by_index, a.dims[-1])
    return hlo.eigh(a if lower else matrices.adjoint(a))


def _svd(
    a: Tensor, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any = None, **_: Any
) -> Tensor | list[Tensor]:
    _refuse_some("svd", subset_by_index, minimum(a.dims[-2], a.dims[-1]))
    if not compute_uv:
        return hlo.singular_values(a)
    left, values, right = hlo.svd(a, complete=full_matrices)
    return [values, left, right]


def _refuse_some(name: str, subset_by_index: Any, count: Any) -> None:
    if subset_by_index not in (None, (0, count)):
        raise UnsupportedGraphError(f"{name} of some of the values (subset_by_index); take all of them, and slice")
