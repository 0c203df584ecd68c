"""Python that a traced function calls: `jax.pure_callback`, `io_callback`, `jax.debug.callback`, `jax.debug.print`.

In: JAX's equations of these. Out: calls of Python as a graph's program has them (`ir/host_calls.py`), which are run in
the order in which they are written, and get the live part of what is padded. Decision to know: an order that JAX
demands (`ordered=True`) is that of the program anyway, so the trace goes without JAX's tokens, which no pass knows.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir

from ...codegen import builder as hlo
from ...codegen.builder import Builder
from ...codegen.builder.core import SizeSource
from ...codegen.dims import Dim
from ...codegen.ir.bindings import new_context
from ...codegen.ir.host_calls import HostCall
from ...codegen.ir.jax_compat import enable_x64
from ...codegen.ir.jax_tracing import callbacks, without_order
from ...codegen.ir.modules import to_bytecode
from ...codegen.ir.values import numpy_dtype, place_text
from .rules import call_module, sizes_of
from .scope import read_size


def calls_python(equations: Iterable[Any]) -> bool:
    """Whether an equation calls a Python function."""
    return any(
        "callback" in equation.primitive.name or equation.primitive.name == "debug_print" for equation in equations
    )


def callback_rules(functions: dict[str, HostCall]) -> tuple[tuple[Any, Any], ...]:
    """(primitive, lowering rule), as `jax.export.export` takes them.

    Args:
        functions: takes the functions that the module calls, by name.
    """
    return tuple((p, functools.partial(_lower, p.name, run, functions)) for p, run in callbacks().items())


def _lower(
    primitive: str, run: Callable[..., Any], functions: dict[str, HostCall], ctx: Any, *operands: Any, **params: Any
) -> Any:
    """A lowering rule: a private function of the operands and the sizes."""
    wide = bool(jax.config.jax_enable_x64)

    def call(arrays: Sequence[np.ndarray[Any, Any]]) -> Sequence[Any]:
        (cpu, *_) = jax.local_devices(backend="cpu")
        with enable_x64(wide), jax.default_device(cpu):  # XLA's threads know nothing of the one that calls
            return [np.asarray(x) for x in jax.tree.leaves(run(*jax.device_put(list(arrays), cpu), **params))]

    sizes, builder = sizes_of(ctx), Builder(new_context(), primitive)
    builder.host_calls = functions
    types = [(_dims(aval), np.dtype(aval.dtype)) for aval in ctx.avals_in]
    given = [((), numpy_dtype(ir.RankedTensorType(x.type).element_type)) for x in sizes.values()]
    with builder.function("main", [*types, *given]) as handles:
        for root, x in zip(sizes, handles[len(types) :], strict=True):
            builder.add_root(SizeSource(root, x, None, data=True))
        host = HostCall(_name(primitive, params), call, "it is Python")
        results = [(_dims(aval), np.dtype(aval.dtype)) for aval in ctx.avals_out]
        builder.finish(hlo.host_call(builder, host, handles[: len(types)], results))
    if without_order(params) != params:
        ctx.set_tokens_out(ctx.tokens_in)
    return call_module(ctx, primitive, to_bytecode(builder.module), [*operands, *sizes.values()])


def _dims(aval: Any) -> tuple[Dim, ...]:
    return tuple(size if isinstance(size, int) else read_size(str(size)) for size in aval.shape)


def _name(primitive: str, params: dict[str, Any]) -> str:
    """What messages call a function: JAX's function with the user's in it, and the line."""
    own = params.get("callback")
    own = getattr(own, "callback_func", own)
    if inspect.isfunction(own) and "callback" in (names := inspect.getclosurevars(own).nonlocals):
        own = names["callback"]  # of `jax.debug.callback`, which flattens it
    while isinstance(own, functools.partial):
        own = own.func
    inside = repr(params["fmt"]) if own is None else getattr(own, "__name__", type(own).__name__)
    place = place_text(ir.Location.current)
    return f"jax.{primitive.replace('debug_', 'debug.')}({inside}){place and f' at {place}'}"


def unordered(jaxpr: Any) -> Any:
    """A jaxpr whose calls of Python have no order that JAX knows of; itself where they have none."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    if inner is not jaxpr:
        return jaxpr.replace(jaxpr=unordered(inner))
    effects = without_order(jaxpr.effects)
    if effects == jaxpr.effects:
        return jaxpr
    equations = [
        equation.replace(
            params=without_order({name: _inside(value) for name, value in equation.params.items()}),
            effects=without_order(equation.effects),
        )
        for equation in jaxpr.eqns
    ]
    return jaxpr.replace(eqns=equations, effects=effects)


def _inside(value: Any) -> Any:
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(map(_inside, value))
    return unordered(value) if hasattr(getattr(value, "jaxpr", value), "eqns") else value
