"""`hlograph.jit(f).lower`: a traced function ahead of time, with the arguments and results of the function.

In: a program with flat arguments, and how these lie in a call's pytrees. Out: `Lowered`, whose `compile()` takes what
the function takes, without its static arguments, as `jax.jit`'s does. Decision to know: where sizes are padded the
program's own arguments stay: arrays of the bounds' shapes with the live sizes behind them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
from jax import tree_util

from ...codegen.ir.tidy import tidy
from ...dialects.jax.trace import Traced, is_key
from ..calls.arguments import shape_and_dtype
from .ahead import AheadFunction, wanted_sharding
from .recorder import Stages
from .stages import Lowered

Restore = Callable[[Any], Any]


def lower_by_jax(jitted: Any, args: Any, kwargs: Any, stages: Callable[[], Stages]) -> Lowered:
    """Lowers a function that `jax.jit` runs as it is."""
    lowered = jitted.lower(*args, **kwargs)
    module = lowered.compiler_ir("stablehlo")  # JAX's own, of which it makes the text and the executable
    tidy(module)
    return Lowered.of(lowered, stages)


def lower(
    ahead: AheadFunction,
    traced: Traced,
    order: Sequence[int],
    dynamic: tuple[Sequence[Any], Mapping[str, Any]],
    static: tuple[Collection[int], Collection[str]],
    signature: inspect.Signature,
    restore: Restore | None,
) -> Lowered:
    """Lowers a traced function.

    Args:
        ahead: of its program.
        traced: it.
        order: for each argument of the program its place among the leaves of the call.
        dynamic: the call, with None for each static argument.
        static: places and names of the static arguments, which are no arguments of what is compiled.
        signature: the function's.
        restore: from the program's results to the function's, if they are not the same.
    """
    places, names = static
    args = [value for place, value in enumerate(dynamic[0]) if place not in places]
    kwargs = {name: value for name, value in dynamic[1].items() if name not in names}
    leaves, tree = tree_util.tree_flatten((args, kwargs))  # None has no leaf
    given = [leaves[place] for place in order]
    arguments = traced.program.signature.arguments

    def around(run: Callable[..., Any], specs: Sequence[Any]) -> tuple[Callable[..., Any], Any, Any]:
        """The function of the call's arguments, and specs of these."""

        def function(*args: Any, **kwargs: Any) -> Any:
            values = tree_util.tree_leaves((args, kwargs))
            arranged = [values[place] for place in order]
            outputs = run(*[jax.random.key_data(x) if is_key(x) else x for x in arranged])
            return outputs if restore is None else restore(outputs)

        function.__name__ = function.__qualname__ = traced.program.name
        kept = [parameter for name, parameter in signature.parameters.items() if name not in names]
        function.__dict__["__signature__"] = signature.replace(parameters=kept)
        found = list(leaves)
        for place, spec, value in zip(order, specs, given, strict=True):
            key = is_key(value)
            shape, dtype = (value.shape, value.dtype) if key else (spec.shape, spec.dtype)
            found[place] = jax.ShapeDtypeStruct(shape, dtype, sharding=spec.sharding)
        args, kwargs = tree_util.tree_unflatten(tree, found)
        return function, args, kwargs

    flat = []
    for value, argument in zip(given, arguments, strict=True):
        shape = tuple(value.shape) if is_key(value) else shape_and_dtype(argument, value)[0]
        own = tuple(argument.dims[len(shape) :])  # the integers that a key consists of
        flat.append(jax.ShapeDtypeStruct((*shape, *own), argument.dtype, sharding=wanted_sharding(value)))
    return ahead.lower_around(flat, {}, around)
