"""JAX functions and jaxprs as programs.

In: a function (or a closed jaxpr) and a pytree of specs for each argument. Out: a `Program`, whose arguments are the
leaves; JAX traces and lowers (`trace.py`), for sizes that are named (`axes.py`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax import tree_util
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun  # type: ignore[attr-defined]  # another name of Jaxpr's

from ...codegen.artifact import tensors
from ...codegen.errors import GraphError
from ...codegen.inputs import fresh
from ...codegen.parameters import Array, Parameter
from ...codegen.program import Program
from . import large_constants
from .axes import dim_of, name_axes
from .trace import NotWanted, trace


def emit(
    function: Any,
    specs: Sequence[Any],
    *,
    dims: Mapping[str, Any] | None = None,
    name: str | None = None,
    constraints: Sequence[str] = (),
    parameter_limit: int | None = None,
    platforms: Sequence[str] = (),
) -> Program:
    """Traces and lowers a function of arrays; see `emit_stablehlo`.

    Raises:
        GraphError: specs, dims or constraints do not fit the function or each other.
        UnsupportedGraphError: JAX cannot trace the function with symbolic sizes, or has no form for all platforms.
    """
    if isinstance(function, ClosedJaxpr):
        return _emit_jaxpr(function, specs, dims or {}, name or "main", constraints, parameter_limit, platforms)
    try:
        arguments = bind(signature_of(function), specs, {})
    except TypeError as error:
        raise GraphError(f"the specs do not fit the function: {error}; give one per positional argument") from None
    named = name_axes(arguments, dims or {})
    wanted = name or name_of(function)
    tree = tree_util.tree_structure(tuple(specs))

    @functools.wraps(function, assigned=(), updated=())
    def call(leaves: Sequence[Any]) -> Any:
        return function(*tree_util.tree_unflatten(tree, leaves))

    return _traced(call, named, parameter_limit, name=wanted, constraints=constraints, platforms=platforms)


def _traced(
    call: Callable[[Sequence[Any]], Any], arguments: Mapping[str, Any], limit: int | None, **options: Any
) -> Program:
    """The program of a function; large arrays that it closes over are parameters."""
    if limit is None:
        return trace(call, arguments, **options).program
    found: list[Array] = []

    def wanted(closed: ClosedJaxpr) -> bool:
        found[:] = large_constants.find(closed, limit, tensors.fits)
        return not found

    try:
        return trace(call, arguments, wanted=wanted, **options).program
    except NotWanted:
        pass
    taken = set(arguments)
    values = {fresh(f"parameter_{number}", taken): array for number, array in enumerate(found)}
    specs = {name: jax.ShapeDtypeStruct(array.shape, array.dtype) for name, array in values.items()}
    if options.get("kept") is not None:
        options["kept"] = [*options["kept"], *[jax.core.ShapedArray(x.shape, x.dtype) for x in found]]
    program = trace(large_constants.taking(call, found), {**arguments, **specs}, **options).program
    return program.with_parameters({name: Parameter(array, name) for name, array in values.items()})


def _emit_jaxpr(
    jaxpr: ClosedJaxpr,
    specs: Sequence[Any],
    dims: Mapping[str, Any],
    name: str,
    constraints: Sequence[str],
    limit: int | None,
    platforms: Sequence[str],
) -> Program:
    """A jaxpr holds the sizes that it was traced for, in its constants too (`mean` divides by one): they stay."""
    if constraints:
        raise GraphError("constraints of a jaxpr are those of the scope that it was traced in")
    own = {f"arg{i}": jax.ShapeDtypeStruct(aval.shape, aval.dtype) for i, aval in enumerate(jaxpr.in_avals)}
    if specs and len(specs) != len(own):
        raise GraphError(f"{len(specs)} specs are given, but the jaxpr has {len(own)} arguments")
    given = dict(zip(own, specs, strict=True)) if specs else own
    wanted = name_axes(given, dims)
    for argument, spec in own.items():
        asked = wanted[argument].shape
        if len(asked) != len(spec.shape) or any(
            size is not None and dim_of(size) != dim_of(kept) for size, kept in zip(asked, spec.shape, strict=True)
        ):
            raise GraphError(
                f"{argument} is {_text(asked)} by specs and dims, but the jaxpr was traced for {_text(spec.shape)}; "
                "trace the function again (jax.make_jaxpr) with jax.export.symbolic_shape, or give the function itself"
            )
    function = jaxpr_as_fun(jaxpr)
    return _traced(lambda leaves: function(*leaves), own, limit, name=name, platforms=platforms, kept=jaxpr.in_avals)


def _text(shape: Sequence[Any]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def bind(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """A call's arguments by name, in the order of the signature; what `*args` takes is one, keywords are their own.

    Raises:
        TypeError: they do not fit.
    """
    arguments: dict[str, Any] = {}
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= value
        else:
            arguments[name] = value
    return arguments


def name_of(function: Callable[..., Any]) -> str:
    """A callable's name in messages and modules."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """A callable's signature; `(*args, **kwargs)` for one that has none."""
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return inspect.signature(lambda *args, **kwargs: None)
