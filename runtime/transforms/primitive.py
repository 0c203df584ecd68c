"""One JAX primitive under every compiled function: a call of a StableHLO program as a JAX operation.

In: a callee and arrays or tracers. Out: what the callee returns. Lowering puts the program's module, as a private
function, into the module that JAX is building, so that XLA inlines it and optimizes across the border; JAX's own
machinery compiles, caches (also on disk), partitions and dispatches. Derivatives and batches are other callees, which
the callee itself provides: JAX traces nothing of ours.

    forward mode    out = call(f, x),  tangents out = call(f.pushforward, x, tangents)
    reverse mode    the second call is linear in the tangents; its transpose is call(f.pullback, x, cotangents)
                    of a number: out, gradients = call(f.gradient, x),  tangent out = inner products with tangents
    batching        call(f.batched, x), or a loop over the batch

Of a function that came from JAX, JAX itself makes what no program could be made of (`Callee.inline`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching
from jax.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir

from ...codegen import forks
from ...codegen.analysis.platforms import refuse_others
from ...codegen.dtypes import kind_of
from ...codegen.errors import UnsupportedGraphError
from ...codegen.ir import ops
from ...codegen.ir.bindings import stablehlo
from ...codegen.ir.functions import adopt, return_values
from ...codegen.ir.jax_compat import (
    enable_x64,
    platforms_of,
    register_checks,
    result_avals,
    with_equal_axes,
    without_nan_checks,
)
from ...codegen.ir.jax_tracing import is_staging
from ...codegen.ir.modules import from_bytecode
from ...codegen.ir.values import location_text, main_function, numpy_dtype, terminator
from ...codegen.program import Program
from ...codegen.signature import flags_type
from ...codegen.source import restricted
from ..calls.arguments import key_of, raise_failed
from ..host import install, raising
from .callee import Callee, Derivative, Inline, StaticModule

stablehlo_call = Primitive("stablehlo_call")
stablehlo_call.multiple_results = True


def call(callee: Callee, arrays: Sequence[Any]) -> list[Any]:
    """Applies a callee to JAX arrays or tracers of exactly its arguments' dtypes; returns all of its results.

    Where JAX stages its own function that calls Python, that is an equation of JAX's: with effects, which this
    primitive has not.
    """
    if callee.calls_python and callee.inline is not None and is_staging():
        return list(callee.inline(arrays))
    return stablehlo_call.bind(*with_equal_axes(arrays), callee=callee)


def _impl(*arrays: Any, callee: Callee) -> Sequence[Any]:
    found = callee.run(arrays)
    if found is not None:
        return found
    forks.refuse_forked(f"{callee.name} cannot be compiled")

    def alone(*operands: Any) -> Any:
        return call(callee, operands)

    alone.__name__ = alone.__qualname__ = callee.name
    # Under `jax.debug_nans` JAX looks for the operation that made a NaN; this is one, there is nothing inside.
    alone._apply_primitive = True  # type: ignore[attr-defined]
    with jax.disable_jit(False):  # a module has no other way to run
        outputs: Sequence[Any] = jax.jit(alone)(*arrays)
    return outputs


# ---- lowering --------------------------------------------------------------------------------------------------------


def _lower_inline(inline: Inline, ctx: Any, *operands: Any) -> Any:
    return jax_mlir.lower_fun(lambda *arrays: inline(arrays), multiple_results=True)(ctx, *operands)


def _lower(ctx: Any, *operands: Any, callee: Callee) -> Any:
    forks.refuse_forked(f"{callee.name} cannot be compiled")
    module_context = ctx.module_context
    context = module_context.module.context
    module = callee.module([aval.shape for aval in ctx.avals_in])
    platforms = platforms_of(ctx)
    refuse_others(callee.name, module.program.signature.platforms, platforms)
    source = from_bytecode(module.bytecode(platforms[0] if len(platforms) == 1 else "", callee.guest), context)
    install(ctx, source, module.program.host_calls)
    function_type = ir.FunctionType(ir.TypeAttr(main_function(source).attributes["function_type"]).value)
    name = adopt(module_context.module, source, f"hlograph_{callee.name}", insert=module_context.symbol_table.insert)
    given = [
        _shaped(ops.convert(x, type_), ir.RankedTensorType(type_).shape)
        for x, type_ in zip(operands, function_type.inputs, strict=False)
    ]
    given += [ops.index(value) for value in module.sizes]
    call_op = ir.Operation.create(
        "func.call",
        results=function_type.results,
        operands=given,
        attributes={"callee": ir.FlatSymbolRefAttr.get(name, context)},
    )
    results = [call_op.results[place] for place in module.places[: len(ctx.avals_out)]]
    cut = [_cut(x, aval.shape) for x, aval in zip(results, ctx.avals_out, strict=True)]
    converted = [ops.convert(x, a.dtype) for x, a in zip(cut, ctx.avals_out, strict=True)]
    dynamic = ir.ShapedType.get_dynamic_size()
    shapes = [[size if type(size) is int else dynamic for size in aval.shape] for aval in ctx.avals_out]
    return [_shaped(x, shape) for x, shape in zip(converted, shapes, strict=True)]


def _shaped(value: Any, shape: Sequence[int]) -> Any:
    """A value of this shape by a type that has it, with other sizes open than its own: in symbolic shapes only."""
    type_ = ir.RankedTensorType(value.type)
    if type_.shape == list(shape):
        return value
    sizes = [ops.reshape(stablehlo.get_dimension_size(value, axis), [1]) for axis in range(type_.rank)]
    return stablehlo.dynamic_reshape(ops.tensor_type(type_, shape), value, stablehlo.concatenate(sizes, 0))


def _cut(value: Any, shape: Sequence[int]) -> Any:
    type_ = ir.RankedTensorType(value.type)
    if not type_.has_static_shape or list(shape) == type_.shape:
        return value
    return ops.slice(value, [0] * len(shape), shape)


# ---- derivatives -----------------------------------------------------------------------------------------------------


def _active(tangents: Sequence[Any]) -> tuple[int, ...]:
    return tuple(i for i, t in enumerate(tangents) if type(t) is not ad.Zero and t.dtype != jax.dtypes.float0)


def _zero(output: Any) -> Any:
    return ad.Zero(jax.typeof(output).to_tangent_aval())


def _jvp_of_inline(inline: Inline, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    active = _active(tangents)
    outputs, found = jax.jvp(
        restricted(inline, primals, active), [primals[i] for i in active], [tangents[i] for i in active]
    )
    return outputs, [t if _is_float(x) else _zero(x) for x, t in zip(outputs, found, strict=True)]


def _is_float(x: Any) -> bool:
    return bool(jax.numpy.issubdtype(x.dtype, np.inexact))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, callee: Callee) -> tuple[list[Any], list[Any]]:
    active = _active(tangents)
    if not active:
        outputs = call(callee, primals)
        return outputs, [_zero(output) for output in outputs]
    gradient = callee.gradient(active)
    if gradient is not None:
        return _jvp_by_gradient(gradient, primals, tangents)
    if callee.inline is not None and callee.is_for_jax(any(isinstance(x, jax.core.Tracer) for x in primals)):
        return _jvp_of_inline(callee.inline, primals, tangents)
    pushforward = callee.pushforward(active)
    outputs = call(callee, primals)
    results: list[Any] = [_zero(output) for output in outputs]
    if pushforward is not None:
        found = call(pushforward.callee, [*primals, *[tangents[i] for i in active]])
        for place, tangent in zip(pushforward.places, found, strict=False):
            results[place] = tangent
    return outputs, results


def _jvp_by_gradient(
    gradient: Derivative, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """A number's tangent is the sum of the inner products of gradients and tangents.

    The function has no checks where there is such a program; those of the gradients are reported.
    """
    found = report(gradient.callee, primals, call(gradient.callee, primals))
    count = len(found) - len(gradient.places)
    outputs, gradients = list(found[:count]), found[count:]
    results: list[Any] = [_zero(output) for output in outputs]
    of = next(number for number, output in enumerate(outputs) if _is_float(output))
    pairs = [(g, tangents[place]) for g, place in zip(gradients, gradient.places, strict=True)]
    parts = [inner_product.bind(*with_equal_axes(pair)) for pair in pairs]
    if parts:
        dtype = outputs[of].dtype
        same = [x if x.dtype == dtype else jax.lax.convert_element_type(x, dtype) for x in parts]
        results[of] = functools.reduce(operator.add, same)
    return outputs, results


def _transpose_of_inline(inline: Inline, cotangents: Sequence[Any], *operands: Any) -> list[Any]:
    linear = [i for i, x in enumerate(operands) if ad.is_undefined_primal(x)]
    specs = [jax.ShapeDtypeStruct(operands[i].aval.shape, operands[i].aval.dtype) for i in linear]
    transposed = jax.linear_transpose(restricted(inline, operands, linear), *specs)
    found = dict(zip(linear, transposed([ad.instantiate_zeros(ct) for ct in cotangents]), strict=True))
    return [found.get(i) for i in range(len(operands))]


def _transpose(cotangents: Sequence[Any], *operands: Any, callee: Callee) -> list[Any]:
    linear = tuple(i for i, x in enumerate(operands) if ad.is_undefined_primal(x))
    seeded = tuple(j for j, ct in enumerate(cotangents) if type(ct) is not ad.Zero)
    results: list[Any] = [ad.Zero(x.aval) if ad.is_undefined_primal(x) else None for x in operands]
    if not seeded:
        return results
    pullback = callee.transpose(linear, seeded)
    if pullback is not None:
        given = [
            jax.numpy.zeros(x.aval.shape, x.aval.dtype) if ad.is_undefined_primal(x) else x
            for x in operands[: pullback.operands]
        ]
        seeds = [ad.instantiate_zeros(cotangents[j]) for j in pullback.seeds]
        found = call(pullback.callee, [*given, *seeds])
        for place, cotangent in zip(pullback.places, found, strict=False):
            if place >= 0:
                results[place] = cotangent
    return results


# ---- batching --------------------------------------------------------------------------------------------------------


def _batch_of_inline(inline: Inline, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[Sequence[Any], list[int]]:
    results = jax.vmap(inline, in_axes=(list(axes),))(list(operands))
    return results, [0] * len(results)


def _batch(operands: Sequence[Any], axes: Sequence[Any], *, callee: Callee) -> tuple[Sequence[Any], Sequence[Any]]:
    mapped = tuple(axis is not None for axis in axes)
    fronted = [x if not axis else jax.numpy.moveaxis(x, axis, 0) for x, axis in zip(operands, axes, strict=True)]
    pairs = list(zip(fronted, mapped, strict=True))
    shapes = [np.shape(x)[flag:] for x, flag in pairs]
    empty = any(flag and np.shape(x)[0] == 0 for x, flag in pairs)  # which JAX's symbolic sizes exclude
    batched = None if empty else callee.batched(mapped)
    if batched is None:
        if callee.inline is not None:
            return _batch_of_inline(callee.inline, operands, axes)
        if empty:
            found = [jax.numpy.zeros((0, *shape), dtype) for shape, dtype in callee.result_types(shapes)]
        else:
            found = _loop(callee, pairs)
        return found, [0] * len(found)
    results = report(batched, fronted, call(batched, fronted))
    # The batch's checks have just been reported; those of the single call hold.
    flags = callee.flags(shapes)
    places: list[Any] = [0] * len(results)
    if flags:
        return [*results, np.ones(*flags_type(flags))], [*places, None]
    return results, places


def _loop(callee: Callee, pairs: Sequence[tuple[Any, bool]]) -> list[Any]:
    """One call after the other; the operands of which each has its own are flagged."""

    def one(slices: Sequence[Any]) -> list[Any]:
        rest = iter(slices)
        return call(callee, [next(rest) if flag else x for x, flag in pairs])

    looped: list[Any] = raising(jax.lax.map)(one, [x for x, flag in pairs if flag])
    return looped


def report(callee: Callee, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
    """The results without the flags of checks, which raise: now, or when the traced program runs."""
    if len(results) == callee.result_count:
        return results
    flags = callee.flags([np.shape(x) for x in operands])
    *others, values = results
    if isinstance(values, jax.core.Tracer):
        jax.debug.callback(lambda found: raise_failed(flags, found), values)
    else:
        raise_failed(flags, values)
    return others


def _rule(rule: Callable[..., Any], by_jax: Callable[..., Any]) -> Callable[..., Any]:
    """A rule of the primitive. Of a function that came from JAX, JAX itself makes what no program could be made of.

    Args:
        rule: raises `UnsupportedGraphError` there.
        by_jax: makes it of the function (`Callee.inline`), and of what the rule is given.
    """

    def run(*given: Any, callee: Callee) -> Any:
        try:
            return rule(*given, callee=callee)
        except UnsupportedGraphError:
            if callee.inline is None:
                raise
            return by_jax(callee.inline, *given)

    return run


stablehlo_call.def_impl(_rule(_impl, lambda inline, *arrays: inline(arrays)))
stablehlo_call.def_abstract_eval(
    lambda *avals, callee: result_avals(avals, callee.result_types([x.shape for x in avals]), callee.weak)
)
jax_mlir.register_lowering(stablehlo_call, _rule(_lower, _lower_inline))
ad.primitive_jvps[stablehlo_call] = _rule(_jvp, _jvp_of_inline)
ad.primitive_transposes[stablehlo_call] = _rule(_transpose, _transpose_of_inline)
batching.primitive_batchers[stablehlo_call] = _rule(_batch, _batch_of_inline)
register_checks(
    stablehlo_call,
    lambda callee: callee.inline,
    lambda callee: [f"{callee.name} (its result {name!r})" for name in callee.result_names],
)


# ---- inner products --------------------------------------------------------------------------------------------------
# The sum of products of two arrays of one shape and dtype. Its transpose is one of them times a cotangent; for a
# cotangent of 1, which `jax.grad` gives, that is the array as it is, for which nothing is compiled.

inner_product = Primitive("inner_product")


def _scaled(cotangent: Any, other: Any) -> Any:
    if not isinstance(cotangent, jax.core.Tracer) and np.all(np.asarray(cotangent) == 1):
        return other
    return cotangent * other


def _batch_products(operands: Sequence[Any], axes: Sequence[Any]) -> tuple[Any, int]:
    (a, b), count = operands, next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    a, b = (
        jax.numpy.moveaxis(x, axis, 0) if axis is not None else jax.numpy.broadcast_to(x, (count, *x.shape))
        for x, axis in zip((a, b), axes, strict=True)
    )
    return jax.numpy.sum(a * b, axis=tuple(range(1, a.ndim))), 0


def _sum_of_products(a: Any, b: Any) -> Any:
    return jax.numpy.sum(a * b)


inner_product.def_impl(_sum_of_products)
inner_product.def_abstract_eval(lambda a, b: result_avals([a, b], [((), a.dtype)])[0])
jax_mlir.register_lowering(inner_product, jax_mlir.lower_fun(_sum_of_products, multiple_results=False))
ad.defbilinear(inner_product, lambda ct, a, b: _scaled(ct, b), lambda ct, a, b: _scaled(ct, a))
batching.primitive_batchers[inner_product] = _batch_products


# ---- NaN and infinity ------------------------------------------------------------------------------------------------
# Which op makes one first, for `jax.debug_nans` and `jax.debug_infs`. JAX runs a function that came from it op by op;
# the program of a graph is run with a flag for each value of `@main` as its result: a loop, a branch or a call is one.

_KINDS = {"nan": np.isnan, "inf": np.isinf}


def debugged(function: Any, args: Sequence[Any], error: FloatingPointError) -> Any:
    """A call of a `Function` in which JAX has found what it was asked to look for.

    Returns:
        The results, where only their padding has it.

    Raises:
        FloatingPointError: with the op that makes it first; for a function that came from JAX, with the line.
    """
    program, signature, inline = function.program, function.program.signature, function.derived.inline
    if (program.host_calls and inline is None) or any(isinstance(x, jax.Array) and x.is_deleted() for x in args):
        raise error
    with without_nan_checks():
        results = function.run(args)
    config: Any = jax.config
    asked = [(kind, find) for kind, find in _KINDS.items() if getattr(config, f"jax_debug_{kind}s")]
    floats = [np.asarray(x) for x in jax.tree.leaves(results) if kind_of(np.dtype(x.dtype)) in "fc"]
    if not any(find(x).any() for _, find in asked for x in floats):
        return results[0] if len(results) == 1 else results
    with enable_x64(True) if function.needs_x64 else nullcontext():
        arrays = [
            x if isinstance(x, jax.Array) and x.dtype == a.dtype else jax.device_put(np.asarray(x).astype(a.dtype))
            for x, a in zip(args, signature.arguments, strict=True)
        ]
        if inline is not None:
            inline(arrays)
        elif not signature.has_data_sizes:
            sizes = dict(zip([root.name for root in signature.roots], key_of(signature, arrays), strict=True))
            static = function.prepared(sizes).program
            for kind, _ in asked:
                flagged, names = _flagged(static, kind)
                found = np.asarray(call(StaticModule(flagged), arrays)[0]) if names else np.zeros(1, bool)
                if found.any():
                    first = names[int(found.argmax())]
                    raise FloatingPointError(f"invalid value ({kind}) encountered in {first}, in {program.name}")
    raise error


def _flagged(program: Program, kind: str) -> tuple[Program, list[str]]:
    """The program with a vector of flags as its only result, and what each is of."""
    module = program.copy_module()
    function = main_function(module)
    block = function.regions[0].blocks[0]
    values = [(f"argument {a.name!r}", x) for a, x in zip(program.signature.arguments, block.arguments, strict=True)]
    for op in [view.operation for view in block.operations]:
        if op.name != "stablehlo.constant":
            text = f"{op.name.removeprefix('stablehlo.')} ({location_text(op.location)})"
            values += [(text, x) for x in op.results]
    last = terminator(block)
    with module.context, ir.Location.unknown(), ir.InsertionPoint(last):
        made = [(name, flag) for name, x in values if (flag := _flag(x, kind)) is not None]
        joined = [ops.concatenate([ops.reshape(flag, [1]) for _, flag in made], 0)] if made else []
    return_values(function, joined)
    if "hlograph.checks" in function.attributes:
        del function.attributes["hlograph.checks"]
    return Program(module, filename=program.filename), [name for name, _ in made]


def _flag(value: ir.Value, kind: str) -> ir.Value | None:
    """Whether an element of a value is NaN, or infinite; None for what can be neither."""
    if not isinstance(value.type, ir.RankedTensorType):
        return None
    type_ = ir.RankedTensorType(value.type)
    dtype = kind_of(numpy_dtype(type_.element_type))
    if dtype == "c":
        real, imag = _flag(stablehlo.real(value), kind), _flag(stablehlo.imag(value), kind)
        return None if real is None or imag is None else ops.elementwise("stablehlo.or", real, imag)
    if dtype != "f":
        return None
    if kind == "nan":
        found = ops.compare("NE", value, value)
    else:
        found = ops.compare("EQ", ops.elementwise("stablehlo.abs", value), ops.full_like(value, np.inf))
    return ops.reduce("stablehlo.or", found, ops.scalar(0, found), range(type_.rank))
