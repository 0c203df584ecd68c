"""Functions that JAX traces: JAX's export with symbolic sizes, taken over as a `Program`.

In: a function (or a closed jaxpr) and a pytree of specs for each argument, whose shapes may hold names of dimensions.
Out: a program, and what is needed to put its flat results back into the function's. JAX traces and lowers; here names
become JAX's symbolic sizes and JAX's sizes become dimensions. Decisions to know: what JAX's export asserts of sizes in
the module is in the signature instead (equal names by the dimensions themselves, `n >= 1` as a constraint), so the
assertions go; and all calls are inlined, since shape refinement cannot follow a call in a loop.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax import export, tree_util
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun  # type: ignore[attr-defined]  # another name of Jaxpr's

from ...codegen import dims as dimension
from ...codegen import signature as signatures
from ...codegen.constraints import Constraint
from ...codegen.dims import Dim
from ...codegen.dims_text import parse
from ...codegen.errors import GraphError, UnsupportedGraphError
from ...codegen.inputs import fresh, root_base
from ...codegen.ir.attributes import attributes_of
from ...codegen.ir.bindings import ir, new_context, run_pipeline
from ...codegen.ir.inline import inline_calls
from ...codegen.ir.jax_compat import closed_over
from ...codegen.ir.modules import verify
from ...codegen.ir.portable import deserialize_portable
from ...codegen.ir.walk import main_function, symbol_of, walk
from ...codegen.program import Program
from ...codegen.signature import Argument, Result, Signature
from .numbers import Number
from .rules import rules
from .sizes import Fixed, Scope, is_size, read_size, solve, watch
from .source import TracedSource

Path = tuple[Any, ...]

DEMANDED_BY_JAX = "JAX's symbolic sizes"
DEMANDED_BY_CALLER = "constraints="


class NotWanted(Exception):
    """A trace that the caller had no use for."""


# Primitives whose results have signs, phases or an order that are open, and others where JAX differentiates them.
_NOT_UNIQUE = frozenset({"eig", "eigh", "svd", "qr", "geqrf", "geqp3", "householder_product", "schur", "hessenberg"})


class ClosesOverTracers(Exception):
    """The function uses what a transformation under way traces: it is no function of its arguments alone."""


@dataclass(frozen=True)
class Traced:
    """A program made from a function, and how its results make up the function's.

    Attributes:
        program: with flat arguments and results.
        tree: the pytree that the results are the leaves of.
        keys: for each result the implementation of the random keys that it holds as plain integers, else None.
        guards: what Python decided of the sizes of the call while the function was traced; it is the right program for
            all sizes of which the same holds. What fixes a size is in the program's shapes, the rest among its
            constraints.
        limits: those of its constraints by which numbers made of sizes fit the integers that they are computed in.
    """

    program: Program
    tree: Any
    keys: tuple[Any, ...]
    guards: tuple[Constraint, ...] = ()
    limits: tuple[Constraint, ...] = ()


def emit(
    function: Any,
    specs: Sequence[Any],
    *,
    dims: Mapping[str, Any] | None = None,
    name: str | None = None,
    constraints: Sequence[str] = (),
) -> Program:
    """Traces and lowers a function of arrays; see `emit_stablehlo`.

    Raises:
        GraphError: specs, dims or constraints do not fit the function or each other.
        UnsupportedGraphError: JAX cannot trace the function with symbolic sizes.
    """
    if isinstance(function, ClosedJaxpr):
        return _emit_jaxpr(function, specs, dims or {}, name or "main", constraints)
    try:
        arguments = bind(signature_of(function), specs, {})
    except TypeError as error:
        raise GraphError(f"the specs do not fit the function: {error}; give one per positional argument") from None
    named = name_axes(arguments, dims or {})
    wanted = name or name_of(function)
    tree = tree_util.tree_structure(tuple(specs))
    call = lambda leaves: function(*tree_util.tree_unflatten(tree, leaves))  # noqa: E731
    return trace(call, named, name=wanted, constraints=constraints).program


_THREAD = threading.local()


def is_tracing() -> bool:
    """Whether a function is traced into a program in this thread."""
    return getattr(_THREAD, "tracing", False)


def equations(jaxpr: Any) -> Iterator[Any]:
    """The equations of a jaxpr (closed or not) and of those inside."""
    stack = [getattr(jaxpr, "jaxpr", jaxpr)]
    while stack:
        for equation in stack.pop().eqns:
            yield equation
            for value in equation.params.values():
                inner = [getattr(item, "jaxpr", item) for item in (value if isinstance(value, tuple) else (value,))]
                stack.extend(item for item in inner if hasattr(item, "eqns"))


def _has_few_exponents(jaxpr: Any) -> bool:
    """Whether a jaxpr computes in floats whose gradients are kept from underflow by scaling what they are of."""
    dtypes = {getattr(x.aval, "dtype", None) for equation in equations(jaxpr) for x in equation.outvars}
    floats = [dtype for dtype in dtypes if dtype is not None and jax.numpy.issubdtype(dtype, np.floating)]
    return any(jax.numpy.finfo(dtype).maxexp < 128 for dtype in floats)


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
    """What to call a callable in messages and modules."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """A callable's signature; `(*args, **kwargs)` for one that has none."""
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return inspect.signature(lambda *args, **kwargs: None)


def _emit_jaxpr(
    jaxpr: ClosedJaxpr, specs: Sequence[Any], dims: Mapping[str, Any], name: str, constraints: Sequence[str]
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
            size is not None and _dim(size) != _dim(kept) for size, kept in zip(asked, spec.shape, strict=True)
        ):
            raise GraphError(
                f"{argument} is {_text(asked)} by specs and dims, but the jaxpr was traced for {_text(spec.shape)}; "
                "trace the function again (jax.make_jaxpr) with jax.export.symbolic_shape, or give the function itself"
            )
    function = jaxpr_as_fun(jaxpr)
    return trace(lambda leaves: function(*leaves), own, name=name, kept=jaxpr.in_avals).program


def _text(shape: Sequence[Any]) -> str:
    return f"[{', '.join(map(str, shape))}]"


# ---- which axes are named -------------------------------------------------------------------------------------


def name_axes(arguments: Mapping[str, Any], dims: Mapping[str, Any]) -> dict[str, Any]:
    """Specs with the names that `dims` gives to axes in their shapes.

    Args:
        arguments: name to a pytree of arrays or specs.
        dims: name to the axes of a leaf (`("n", None, 4)`: named, left as it is, of this size), or to a container of
            such that matches the argument's down to some depth; the axes of an inner node count for all leaves below
            it that have as many.

    Returns:
        For each argument the pytree with a `jax.ShapeDtypeStruct` in place of each leaf.

    Raises:
        GraphError: dims do not fit the arguments.
    """
    unknown = [name for name in dims if name not in arguments]
    if unknown:
        raise GraphError(f"dims names {unknown[0]!r}, which is not an argument (arguments: {', '.join(arguments)})")
    named = {}
    for name, value in arguments.items():
        tree = tree_util.tree_structure(value)
        specs = [_spec(leaf, axes, path) for path, leaf, axes in _spread(dims.get(name), value, name)]
        named[name] = tree_util.tree_unflatten(tree, specs)
    return named


def _is_axes(entry: Any) -> bool:
    return isinstance(entry, str | int) or (
        type(entry) in (tuple, list) and all(axis is None or isinstance(axis, str | int | np.integer) for axis in entry)
    )


def _spread(entry: Any, value: Any, path: str) -> Iterator[tuple[str, Any, Sequence[Any] | None]]:
    """Each leaf below `value`, in order, with its path as text and the axes that the entry means for it."""
    if entry is None or _is_axes(entry):
        axes = (entry,) if isinstance(entry, str | int) else entry
        leaves = [(path + path_text(keys), leaf) for keys, leaf in tree_util.tree_flatten_with_path(value)[0]]
        if axes is not None and leaves and all(len(axes) != len(_shape(leaf)) for _, leaf in leaves):
            ranks = ", ".join(sorted({str(len(_shape(leaf))) for _, leaf in leaves}))
            raise GraphError(f"dims of {path!r} has {len(axes)} entries, but the argument has {ranks} axes")
        for where, leaf in leaves:
            yield where, leaf, axes if axes is not None and len(axes) == len(_shape(leaf)) else None
        return
    children = tree_util.tree_flatten_with_path(value, is_leaf=lambda x: x is not value)[0]
    inner = tree_util.tree_flatten_with_path(entry, is_leaf=lambda x: x is not entry)[0]
    entries = {path_text(keys): item for keys, item in inner}
    known = [path_text(keys) for keys, _ in children]
    unknown = [key for key in entries if key not in known]
    if unknown or not inner:
        raise GraphError(f"dims of {path!r}: there is no {path}{''.join(unknown[:1])} in the argument")
    for keys, child in children:
        text = path_text(keys)
        yield from _spread(entries.get(text), child, path + text)


def path_text(path: Path) -> str:
    """The path to a leaf as Python writes it, but `.key` for a dictionary's: `.layers[0].w`."""
    parts = []
    for entry in path:
        if isinstance(entry, tree_util.GetAttrKey):
            parts.append(f".{entry.name}")
        else:
            key = entry.idx if isinstance(entry, tree_util.SequenceKey) else entry.key
            parts.append(f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]")
    return "".join(parts)


def _shape(leaf: Any) -> tuple[Any, ...]:
    return tuple(getattr(leaf, "shape", ()))


def _spec(leaf: Any, axes: Sequence[Any] | None, path: str) -> jax.ShapeDtypeStruct:
    """What is to be known of a leaf, in JAX's types: with the axes named, and 64-bit dtypes only in x64 mode."""
    if getattr(leaf, "shape", None) is None or getattr(leaf, "dtype", None) is None:
        leaf = jax.typeof(leaf)
    shape = list(_shape(leaf))
    for axis, entry in enumerate(axes or ()):
        if entry is None:
            continue
        fixed = entry if isinstance(entry, str) else operator.index(entry)
        if not isinstance(fixed, str) and isinstance(shape[axis], int) and shape[axis] != fixed:
            raise GraphError(f"dims of {path!r}, axis {axis} says {fixed}, but the argument has {shape[axis]}")
        shape[axis] = fixed
    dtype = jax.dtypes.canonicalize_dtype(leaf.dtype, allow_extended_dtype=True)
    spec: Any = jax.ShapeDtypeStruct
    return spec(tuple(shape), dtype, weak_type=bool(getattr(leaf, "weak_type", False)))


# ---- sizes, JAX's and ours ------------------------------------------------------------------------------------


def _dim(size: Any) -> Dim:
    """The dimension that an entry of a shape means: an int, one of JAX's symbolic sizes, or text."""
    if isinstance(size, str):
        try:
            return parse(size)
        except ValueError as error:
            raise GraphError(f"dims: {error}") from None
    if export.is_symbolic_dim(size):
        return read_size(str(size))
    return operator.index(size)


def _symbolic(dim: Dim, scope: Any) -> Any:
    """JAX's symbolic size for a dimension."""
    return dimension.rebuild(
        dim,
        lambda name: export.symbolic_shape(name, scope=scope)[0],
        const=int,
        add=operator.add,
        mul=operator.mul,
        floordiv=operator.floordiv,
        mod=operator.mod,
        minimum=jax.core.min_dim,
        maximum=jax.core.max_dim,
    )


def _scope(constraints: Sequence[Constraint], sizes: Mapping[str, int] | None, strict: bool) -> Scope:
    """A scope of symbolic sizes in which the constraints hold."""
    plain = export.SymbolicScope()
    texts = [
        f"{_symbolic(c.lhs, plain)} {c.relation} {_symbolic(c.rhs, plain)}" for c in constraints if c.relation != "!="
    ]
    return Scope(texts, sizes, constraints, strict=strict)


def _constraints_of(shapes: Sequence[Sequence[Any]]) -> list[Constraint]:
    """The constraints of the scope that JAX's symbolic sizes come from."""
    sizes = [size for shape in shapes for size in shape if export.is_symbolic_dim(size)]
    if not sizes:
        return []
    # The scope has no public list of them.
    return [
        Constraint(_dim(c.e1), "==" if c.cmp.name == "EQ" else ">=", _dim(c.e2), DEMANDED_BY_JAX)
        for c in sizes[0].scope._explicit_constraints
    ]


# ---- tracing --------------------------------------------------------------------------------------------------


def trace(
    function: Callable[[Sequence[Any]], Any],
    arguments: Mapping[str, Any],
    *,
    name: str,
    constraints: Sequence[str] = (),
    platform: str | None = None,
    kept: Sequence[Any] | None = None,
    wanted: Callable[[Any], bool] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Traced:
    """Has JAX trace and lower a function, with symbolic sizes for the axes that have names.

    What Python decides of sizes meanwhile is decided for those of the call, and is a guard of the trace.

    Args:
        function: takes the leaves of the arguments, in order.
        arguments: name to a pytree of specs, as `name_axes` gives them.
        name: the module's name.
        constraints: what else may be taken for granted of the sizes, such as `"n >= 2"`.
        platform: the platform to lower for ("cpu", "cuda", ...), JAX's default when None.
        kept: JAX's own avals of the arguments, where they are not to be made anew.
        wanted: asked, for static sizes, whether the closed jaxpr is to be lowered at all.
        sizes: those of the call, by name; without a call what they decide is refused.

    Raises:
        GraphError: sizes or constraints that make no sense.
        UnsupportedGraphError: JAX cannot trace the function with symbolic sizes, or cannot export it; its `guards` say
            for which sizes that is known.
        NotWanted: `wanted` says no.
        ClosesOverTracers: its values are not known.
    """
    watch()
    leaves = tree_util.tree_flatten_with_path(list(arguments.values()))[0]
    described = describe_arguments(arguments)
    roots = sorted({root for argument in described for dim in argument.dims for root in dimension.roots(dim)})
    demands = [_constraint(text, roots) for text in constraints]
    attempt = _Attempt(function, name, platform, wanted, [leaf for _, leaf in leaves])
    if kept is not None:
        return attempt.run(described, list(kept), _constraints_of([aval.shape for aval in kept]), roots)
    strict = False
    fixed: tuple[Constraint, ...] = ()
    while True:
        left = sorted({root for argument in described for dim in argument.dims for root in dimension.roots(dim)})
        scope, specs = _specs(described, [leaf for _, leaf in leaves], demands, sizes, strict)
        error: Exception | None = None
        traced: Traced | None = None
        try:
            traced = attempt.run(described, specs, demands, left, scope)
        except Fixed:
            pass
        except UnsupportedGraphError as failure:
            error = failure
        except Exception as failure:
            if not roots or isinstance(failure, ClosesOverTracers):
                raise
            error = failure
        guards = tuple(scope.guards.values())
        solutions = [(c, solve(c.lhs - c.rhs, scope.sizes or {})) for c in guards if c.relation == "=="]
        fixing, solution = next(((c, found) for c, found in solutions if found is not None), (None, None))
        if fixing is not None and solution is not None:
            fixed = (*fixed, fixing)
            described = [_with(argument, *solution) for argument in described]
            demands = _demands_with(demands, *solution)
        elif error is None:
            assert traced is not None  # what ends a trace fixes a size
            again = functools.partial(trace, constraints=constraints, platform=platform, sizes=sizes)
            traced.program.source = attempt.source(again, (*fixed, *guards))
            return replace(traced, guards=(*fixed, *guards))
        elif scope.open and not strict:
            strict = True
        else:
            refused = error
            if not isinstance(refused, UnsupportedGraphError):
                refused = UnsupportedGraphError(_reason(name, roots, error))
            refused.guards = (*fixed, *guards)
            raise refused from (None if refused is error else error)


@dataclass
class _Attempt:
    """A function that is traced with some specs: see `trace`, which begins again where a decision fixes a size.

    Attributes:
        equations: how many it was traced to.
        repeats: whether JAX's rules for derivatives compute the same results.
        scales: whether its derivatives are JAX's own rules, which are linear, in floats that do not soon underflow.
        keys: for each of its arguments the implementation of the random keys that it holds, or None.
    """

    function: Callable[[Sequence[Any]], Any]
    name: str
    platform: str | None
    wanted: Callable[[Any], bool] | None
    leaves: Sequence[Any]
    equations: int = 0
    repeats: bool = True
    scales: bool = True
    keys: Sequence[Any] = ()

    def source(self, again: Callable[..., Any], guards: tuple[Constraint, ...]) -> TracedSource:
        """Of the program that `run` made: `again` traces what is made of it."""
        keys = self.keys
        weak = tuple(leaf.weak_type for leaf in self.leaves)

        def function(arrays: Sequence[Any]) -> list[Any]:
            values = [
                x if key is None else jax.random.wrap_key_data(x, impl=key) for x, key in zip(arrays, keys, strict=True)
            ]
            return _flat(self.function(values))[0]

        wide = bool(jax.config.jax_enable_x64)
        return TracedSource(
            function, jax.jit(function), again, weak, guards, wide, self.equations, self.repeats, self.scales
        )

    def run(
        self,
        described: Sequence[Argument],
        specs: Sequence[Any],
        demands: Sequence[Constraint],
        roots: Sequence[str],
        scope: Scope | None = None,
    ) -> Traced:
        """Traces, exports and signs."""
        result_tree: Any = None
        keys: tuple[Any, ...] = ()

        def flat(*values: Any) -> list[Any]:
            nonlocal result_tree, keys
            self.keys = [jax.random.key_impl(x) if is_key(x) else None for x in values]
            results, result_tree, keys = _flat(self.function(values))
            return results

        was_tracing, _THREAD.tracing = is_tracing(), True
        flat.__name__ = flat.__qualname__ = symbol = re.sub(r"\W", "_", self.name)
        platforms = None if self.platform is None else [self.platform]
        jitted = jax.jit(flat, keep_unused=True)
        try:
            first = jitted.trace(*specs)  # kept for the export
            jaxpr = first.jaxpr
            names = [equation.primitive.name for equation in equations(jaxpr)]
            own_rules = any("custom_vjp" in name for name in names)
            self.equations, self.repeats = len(names), not own_rules and _NOT_UNIQUE.isdisjoint(names)
            self.scales = not own_rules and not _has_few_exponents(jaxpr)
            if any(isinstance(x, jax.core.Tracer) for x in closed_over(first)):
                raise ClosesOverTracers
            if self.wanted is not None and not self.wanted(jaxpr):
                raise NotWanted
            exported = export.export(jitted, platforms=platforms, _override_lowering_rules=rules())(*specs)
        except (NotWanted, ClosesOverTracers):
            raise
        except Exception as error:
            if roots or result_tree is None or self.wanted is None:
                raise
            # The function could be traced: it is the export that refuses.
            raise UnsupportedGraphError(f"JAX cannot export {self.name!r}: {_first_lines(error)}") from error
        finally:
            _THREAD.tracing = was_tracing
        module = _module(exported, symbol)
        # First, so that no other divides by a size of 0.
        known = [Constraint(dimension.symbol(root), ">=", 1, DEMANDED_BY_JAX) for root in roots] + list(demands)
        limits = () if scope is None else tuple(scope.limits.values())
        known += [] if scope is None else [*scope.guards.values(), *limits]
        _sign(module, described, _results(result_tree, exported.out_avals), known)
        return Traced(Program(module, filename=f"<{symbol}>"), result_tree, keys, limits=limits)


def _flat(results: Any) -> tuple[list[Any], Any, tuple[Any, ...]]:
    """Results as arrays, their pytree, and for each the implementation of the random keys that it was, or None."""
    leaves, tree = tree_util.tree_flatten(results)
    leaves = [x.__jax_array__() if isinstance(x, Number) or is_size(x) else x for x in leaves]
    keys = tuple(jax.random.key_impl(x) if is_key(x) else None for x in leaves)
    return [jax.random.key_data(x) if is_key(x) else x for x in leaves], tree, keys


def _with(argument: Argument, root: str, value: Dim) -> Argument:
    """An argument with a size fixed."""
    return replace(argument, dims=tuple(dimension.substitute(dim, {root: value}) for dim in argument.dims))


def _demands_with(demands: Sequence[Constraint], root: str, value: Dim) -> list[Constraint]:
    """Constraints with a size fixed, without those that are true then."""
    found = [
        replace(c, lhs=dimension.substitute(c.lhs, {root: value}), rhs=dimension.substitute(c.rhs, {root: value}))
        for c in demands
    ]
    return [c for c in found if dimension.roots(c.lhs) | dimension.roots(c.rhs)]


def is_key(value: Any) -> bool:
    """Whether an array (or a spec) is of typed random keys."""
    dtype = getattr(value, "dtype", None)
    return dtype is not None and bool(jax.numpy.issubdtype(dtype, jax.dtypes.prng_key))


def open_signature(arguments: Mapping[str, Any]) -> Signature:
    """Where the sizes of arguments come from, for specs as `name_axes` gives them."""
    described = tuple(describe_arguments(arguments))
    return Signature(described, (), signatures.find_roots(described))


def describe_arguments(specs: Mapping[str, Any]) -> list[Argument]:
    """The leaves of the arguments; random keys have the axes of their data behind their own."""
    names = list(specs)
    flat = tree_util.tree_flatten_with_path(list(specs.values()))[0]
    leaves = [(names[path[0].idx] + path_text(path[1:]), leaf) for path, leaf in flat]
    given = [(name, leaf, [None if size is None else _dim(size) for size in leaf.shape]) for name, leaf in leaves]
    taken = {root for _, _, sizes in given for size in sizes if size is not None for root in dimension.roots(size)}
    arguments = []
    for number, (name, leaf, sizes) in enumerate(given):
        base = root_base(name, number)
        dims = tuple(
            dimension.symbol(fresh(f"{base}_{axis}", taken)) if size is None else size
            for axis, size in enumerate(sizes)
        )
        arguments.append(Argument(name, leaf.dtype, dims))
    found = {root.name for root in signatures.find_roots(arguments)}
    for argument in arguments:
        for root in frozenset().union(*map(dimension.roots, argument.dims)) - found:
            raise GraphError(f"argument {argument}: no axis of an argument is {root} itself, so its size is not known")
    return arguments


def read_constraint(text: str) -> Constraint:
    """A constraint of the caller's; raises GraphError where the text is none."""
    try:
        return Constraint.parse(text, where=DEMANDED_BY_CALLER)
    except ValueError as error:
        raise GraphError(f"constraints: {error}") from None


def _constraint(text: str, roots: Sequence[str]) -> Constraint:
    constraint = read_constraint(text)
    for root in sorted((dimension.roots(constraint.lhs) | dimension.roots(constraint.rhs)) - set(roots)):
        raise GraphError(f"constraint {text!r}: no axis is named {root} (sizes: {', '.join(roots) or 'none'})")
    return constraint


def _specs(
    arguments: Sequence[Argument],
    leaves: Sequence[Any],
    demands: Sequence[Constraint],
    sizes: Mapping[str, int] | None,
    strict: bool,
) -> tuple[Scope, list[Any]]:
    """JAX's specs, with symbolic sizes of one scope."""
    try:
        scope = _scope(demands, sizes, strict)
        shapes = [tuple(_symbolic(dim, scope) for dim in argument.dims) for argument in arguments]
    except (ValueError, NotImplementedError) as error:
        raise GraphError(f"JAX refuses the sizes or constraints: {_first_lines(error)}") from None
    spec: Any = jax.ShapeDtypeStruct
    return scope, [spec(shape, x.dtype, weak_type=x.weak_type) for shape, x in zip(shapes, leaves, strict=True)]


def _first_lines(error: Exception) -> str:
    """JAX's message without the advice that follows it."""
    return re.split(r"\n\s*\n|\nThis error arises", str(error).strip())[0].strip().rstrip(".")


def _reason(name: str, roots: Sequence[str], error: Exception) -> str:
    return (
        f"JAX cannot trace {name!r} with symbolic sizes ({', '.join(roots)}): {type(error).__name__}: "
        f'{_first_lines(error)}. A constraint such as constraints=("{roots[0]} >= 2",) may decide what is open; else '
        "leave the axis out of dims, or use jax.jit, which traces each size on its own"
    )


# ---- the module -----------------------------------------------------------------------------------------------


def _module(exported: export.Exported, name: str) -> ir.Module:
    """The exported module in a context of its own: all calls inlined, without JAX's attributes and assertions.

    Raises:
        UnsupportedGraphError: it spans several devices.
    """
    if exported.nr_devices != 1:
        raise UnsupportedGraphError(f"{name!r} is sharded over {exported.nr_devices} devices; a program runs on one")
    module = deserialize_portable(exported.mlir_module_serialized, new_context(), name)
    for operation in walk(module):
        if operation.name == "stablehlo.custom_call":
            target = ir.StringAttr(operation.attributes["call_target_name"]).value
            if target == "shape_assertion":
                operation.erase()
        elif operation.name == "sdy.sharding_constraint":  # on one device it says nothing
            operation.result.replace_all_uses_with(operation.operands[0])
            operation.erase()
    run_pipeline(module, "inline", name="inline")
    inline_calls(module)
    if not jax.config.jax_enable_x64:
        _widen_sizes(module)
    for item in [item.operation for item in module.body.operations]:
        if item.name == "sdy.mesh":
            item.erase()
        elif symbol_of(item) != "main":
            item.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
    run_pipeline(module, "canonicalize,cse,symbol-dce", name="canonicalize")
    attributes = module.operation.attributes
    for attribute in attributes_of(attributes):
        if attribute.startswith(("jax.", "mhlo.")):
            del attributes[attribute]
    attributes["sym_name"] = ir.StringAttr.get(name, module.context)
    return module


def _widen_sizes(module: ir.Module) -> None:
    """Makes floats of sizes as they were computed: JAX has 32 bits for them, which a number of elements may not fit."""
    for operation in list(walk(module)):
        if operation.name == "stablehlo.convert":
            (result,), (operand,) = operation.results, operation.operands
            source, target = (ir.RankedTensorType(x.type) for x in (operand, result))
            if source.rank == 0 and str(source.element_type) == "i64" and str(target.element_type) == "i32":
                for use in list(result.uses):
                    if use.owner.name == "stablehlo.convert" and "f" in str(use.owner.results[0].type).split("<")[1]:
                        use.owner.operands[0] = operand


def _results(tree: Any, avals: Sequence[Any]) -> list[Result]:
    paths = [path for path, _ in tree_util.tree_flatten_with_path(tree_util.tree_unflatten(tree, avals))[0]]
    return [
        Result(f"out{path_text(path)}", aval.dtype, tuple(map(_dim, aval.shape)), weak=bool(aval.weak_type))
        for path, aval in zip(paths, avals, strict=True)
    ]


def _sign(
    module: ir.Module, arguments: Sequence[Argument], results: Sequence[Result], constraints: Sequence[Constraint]
) -> None:
    """Writes the signature; the keys' data axes are in the function's type alone."""
    function = main_function(module)
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    complete = []
    for argument, type_ in zip(arguments, types, strict=True):
        tensor = ir.RankedTensorType(type_)
        behind = tuple(tensor.get_dim_size(axis) for axis in range(len(argument.dims), tensor.rank))
        complete.append(Argument(argument.name, argument.dtype, (*argument.dims, *behind)))
    signatures.write(function, Signature(tuple(complete), tuple(results), (), tuple(constraints)))
    verify(module, "the module that JAX exported")
