"""JAX functions and jaxprs as programs.

In: a function (or a closed jaxpr) and a pytree of specs for each argument. Out: a `Program`, whose arguments are the
leaves; JAX traces and lowers (`trace.py`), for sizes that are named (`axes.py`). Large arrays that a function closes
over may be its last arguments. Decision to know: nothing says which array of another trace is which, so they are told
by their memory, and where that is another by their bytes. What a function under `jax.jit` closes over leaves with it;
what such a function in a loop or a branch closes over stays.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import tree_util
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun  # type: ignore[attr-defined]

from ...codegen.artifact.parameters import fits
from ...codegen.errors import GraphError
from ...codegen.graph import fresh
from ...codegen.ir.jax_tracing import evaluate_equation
from ...codegen.parameters import Array, Parameter, digest_of
from ...codegen.program import Program
from .axes import constraints_of, dim_of, name_axes
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
    options: dict[str, Any] = {"name": name or name_of(function), "constraints": constraints, "platforms": platforms}
    if isinstance(function, ClosedJaxpr):
        if constraints:
            raise GraphError("constraints of a jaxpr are those of the scope that it was traced in")
        arguments = _as_traced(function, specs, dims or {})
        options |= {"name": name or "main", "kept": function.in_avals}
        evaluated = jaxpr_as_fun(function)
        return _traced(lambda leaves: evaluated(*leaves), arguments, parameter_limit, options)
    try:
        arguments = bind(signature_of(function), specs, {})
    except TypeError as error:
        raise GraphError(f"the specs do not fit the function: {error}; give one per positional argument") from None
    tree = tree_util.tree_structure(tuple(specs))
    shapes = [getattr(leaf, "shape", ()) for leaf in tree_util.tree_leaves(tuple(specs))]
    options["constraints"] = [*constraints, *map(str, constraints_of(shapes))]

    @functools.wraps(function, assigned=(), updated=())
    def call(leaves: Sequence[Any]) -> Any:
        return function(*tree_util.tree_unflatten(tree, leaves))

    return _traced(call, name_axes(arguments, dims or {}), parameter_limit, options)


def _traced(
    call: Callable[[Sequence[Any]], Any], arguments: Mapping[str, Any], limit: int | None, options: dict[str, Any]
) -> Program:
    if limit is None:
        return trace(call, arguments, **options).program
    found: list[Array] = []

    def wanted(closed: ClosedJaxpr) -> bool:
        found[:] = _find(closed, limit, fits)
        return not found

    try:
        return trace(call, arguments, wanted=wanted, **options).program
    except NotWanted:
        pass
    taken = set(arguments)
    values = {fresh(f"parameter_{number}", taken): array for number, array in enumerate(found)}
    specs = {name: jax.ShapeDtypeStruct(array.shape, array.dtype) for name, array in values.items()}
    if "kept" in options:
        options["kept"] = [*options["kept"], *[jax.core.ShapedArray(x.shape, x.dtype) for x in found]]
    program = trace(_taking(call, found), {**arguments, **specs}, **options).program
    return program.with_parameters({name: Parameter(array, name) for name, array in values.items()})


def _as_traced(jaxpr: ClosedJaxpr, specs: Sequence[Any], dims: Mapping[str, Any]) -> dict[str, Any]:
    """A jaxpr's arguments with the sizes that it was traced for, which it holds in its constants too: they stay."""
    own = {f"arg{i}": jax.ShapeDtypeStruct(aval.shape, aval.dtype) for i, aval in enumerate(jaxpr.in_avals)}
    if specs and len(specs) != len(own):
        raise GraphError(f"{len(specs)} specs are given, but the jaxpr has {len(own)} arguments")
    wanted = name_axes(dict(zip(own, specs, strict=True)) if specs else own, dims)
    for argument, spec in own.items():
        asked = wanted[argument].shape
        if len(asked) != len(spec.shape) or any(
            size is not None and dim_of(size) != dim_of(kept) for size, kept in zip(asked, spec.shape, strict=True)
        ):
            raise GraphError(
                f"{argument} is {_text(asked)} by specs and dims, but the jaxpr was traced for {_text(spec.shape)}; "
                "trace the function again (jax.make_jaxpr) with jax.export.symbolic_shape, or give the function itself"
            )
    return own


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


# ---- large arrays that a function closes over -----------------------------------------------------------------------


Leaves = Sequence[Any]
_INLINED = ("jit", "pjit")


def _find(closed: ClosedJaxpr, limit: int, fits: Callable[[np.dtype[Any]], bool]) -> list[Array]:
    found: dict[Any, Array] = {}
    for constant in [*closed.consts, *_inside(closed)]:
        array = _as_array(constant)
        if array is not None and array.nbytes >= max(limit, 1) and fits(array.dtype):
            found.setdefault(_memory(array), array)
    return list(found.values())


def _inside(closed: ClosedJaxpr) -> list[Any]:
    called = [equation.params["jaxpr"] for equation in closed.jaxpr.eqns if equation.primitive.name in _INLINED]
    return [constant for inner in called for constant in [*inner.consts, *_inside(inner)]]


def _taking(function: Callable[[Leaves], Any], arrays: Sequence[Array]) -> Callable[[Leaves], Any]:
    # As long as they are kept, their memory is not reused.
    by_memory = {_memory(array): place for place, array in enumerate(arrays)}
    by_bytes = functools.cache(lambda: {(x.dtype, x.shape, digest_of(x)): i for i, x in enumerate(arrays)})
    types = {(x.dtype, x.shape) for x in arrays}

    def find(constant: Any, values: Leaves) -> Any:
        """The value that stands for a constant; itself where none does."""
        array = _as_array(constant)
        if array is None or (array.dtype, array.shape) not in types:
            return constant
        place = by_memory.get(_memory(array))
        if place is None:
            place = by_bytes().get((array.dtype, array.shape, digest_of(array)))
        return constant if place is None else values[place]

    @functools.wraps(function, assigned=(), updated=())
    def call(leaves: Leaves) -> Any:
        given, values = leaves[: -len(arrays)], leaves[-len(arrays) :]
        tree: Any = None

        def flat(*arguments: Any) -> list[Any]:
            nonlocal tree
            results, tree = tree_util.tree_flatten(function(arguments))
            return results

        results = _evaluate(jax.make_jaxpr(flat)(*given), given, lambda constant: find(constant, values))
        return tree_util.tree_unflatten(tree, results)

    return call


def _evaluate(closed: ClosedJaxpr, arguments: Sequence[Any], replaced: Callable[[Any], Any]) -> list[Any]:
    jaxpr = closed.jaxpr
    known = dict(zip(jaxpr.constvars, map(replaced, closed.consts), strict=True))
    known.update(zip(jaxpr.invars, arguments, strict=True))

    def read(x: Any) -> Any:
        return x.val if isinstance(x, Literal) else known[x]

    for equation in jaxpr.eqns:
        operands = [read(x) for x in equation.invars]
        inner = equation.params.get("jaxpr") if equation.primitive.name in _INLINED else None
        if inner is not None and any(replaced(x) is not x for x in [*inner.consts, *_inside(inner)]):
            results: Sequence[Any] = _evaluate(inner, operands, replaced)
        else:
            results = evaluate_equation(equation, operands)
        known.update(zip(equation.outvars, results, strict=True))
    return [read(x) for x in jaxpr.outvars]


def _as_array(constant: Any) -> Array | None:
    """A constant as an array on its own memory; None for random keys and what is traced."""
    dtype = getattr(constant, "dtype", None)
    if isinstance(constant, jax.core.Tracer) or not isinstance(dtype, np.dtype):
        return None
    if isinstance(constant, jax.Array) and not constant.is_fully_addressable:
        return None
    return np.asarray(constant)


def _memory(array: Array) -> Any:
    return array.ctypes.data, array.dtype, array.shape, array.strides
