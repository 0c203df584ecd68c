"""A library's compiled functions under JAX's transformations: calls with tracers.

In: a function that the mode compiled, and arguments of which some are tracers. Out: what the library would return, as
tracers: one equation. Shared variables are read when the function is traced, and are constants there.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from ...codegen.errors import UnsupportedGraphError
from ...codegen.inputs import root_base, unique
from ..calls.path import TRACERS


def has_tracers(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Whether JAX is tracing a call with these arguments; they may be in lists."""
    every = [*args, *named.values()]
    if any(type(value) in (list, tuple) for value in every):
        every = jax.tree.leaves(every)
    return not TRACERS.isdisjoint(map(type, every))


def signature_of(specs: Sequence[Any]) -> inspect.Signature:
    """The signature of a function with such inputs, by which JAX names them in its errors."""
    explicit = [spec for spec in specs if not spec.implicit]
    names = unique([root_base(spec.name or "", number) for number, spec in enumerate(explicit)])
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    needed = max((number for number, spec in enumerate(explicit) if spec.value is None), default=-1)
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=empty if number <= needed else spec.value)
            for number, (name, spec) in enumerate(zip(names, explicit, strict=True))
        ]
    )


def call_traced(compiled: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A call as a part of what is traced.

    Raises:
        UnsupportedGraphError: it would update shared variables.
        TypeError: arguments are missing, or there are too many.
    """
    binding, specs = compiled.vm.binding, compiled.maker.inputs
    if binding.updates:
        names = ", ".join(str(specs[i].variable) for i in binding.updates.values())
        raise UnsupportedGraphError(
            f"the compiled function updates {names}, and an update inside a JAX transformation would be lost; compile "
            "one without updates, whose outputs are the new values"
        )
    given = _explicit(specs, args, named)
    values = [given[i] if i in given else argument.read() for i, argument in binding.arguments.items()]
    found = call_suited(binding, values)
    outputs = list(found) if isinstance(found, tuple) else [found]
    return outputs[0] if compiled.unpack_single else None if compiled.return_none else outputs


def call_suited(binding: Any, values: Sequence[Any]) -> Any:
    """The results for arguments of which some are floating-point numbers where the graph has integers."""
    arguments = list(binding.arguments.values())
    floats = frozenset(i for i, (a, x) in enumerate(zip(arguments, values, strict=True)) if _is_float_for_integer(a, x))
    if not floats:
        return binding.function(*values)
    return binding.taking_floats(floats)(
        *[jax.numpy.asarray(x, float) if i in floats else x for i, x in enumerate(values)]
    )


def _is_float_for_integer(argument: Any, value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    kind = "f" if isinstance(value, float) else getattr(dtype, "kind", "")
    return argument.dtype is not None and argument.dtype.kind in "iu" and kind == "f"


def _explicit(specs: Sequence[Any], args: Sequence[Any], named: Mapping[str, Any]) -> dict[int, Any]:
    """The values that a call gives, by the input's number; the others are defaults or shared."""
    places = [i for i, spec in enumerate(specs) if not spec.implicit]
    if len(args) > len(places):
        raise TypeError(
            f"Too many parameter passed to the compiled function: {len(args)}, at most {len(places)} expected"
        )
    given = dict(zip(places, args, strict=False))
    for name, value in named.items():
        found = [i for i in places if specs[i].name == name]
        if len(found) != 1 or found[0] in given:
            raise TypeError(f"Unknown, ambiguous or repeated input: {name}")
        given[found[0]] = value
    for i in places:
        if i not in given and specs[i].value is None:
            raise TypeError(f"Missing input: {specs[i].variable}")
    return given
