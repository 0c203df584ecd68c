"""Functions that JAX traces: JAX's export with symbolic sizes, taken over as a `Program`.

In: a function of arrays and specs of its arguments, whose shapes hold names of dimensions. Out: a program, and what is
needed to put its flat results back into the function's. Decisions to know: where Python's decisions fix a size, the
function is traced again with the fixed size; what else they decide are guards. What JAX's export asserts of sizes is in
the signature (equal names by the dimensions themselves, `n >= 1` as a constraint), so its assertions go. JAX may lower
a primitive in another way for each platform, and all of these compute the same; so for several platforms the first form
is taken that calls no platform's own library. What the user's code does on one platform and not on another
(`jax.lax.platform_dependent`) may be anything, and is refused.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import linecache
import os
import re
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export, tree_util
from jax.extend.core import jaxpr_as_fun
from jax.extend.source_info_util import register_exclusion

from ...codegen import dims as dimension
from ...codegen import forks
from ...codegen import signature as signatures
from ...codegen.analysis.platforms import in_the_way, listed
from ...codegen.constraints import Constraint
from ...codegen.errors import HlographError, UnsupportedGraphError
from ...codegen.graph import named_parameters
from ...codegen.ir.bindings import ir, new_context, run_pipeline
from ...codegen.ir.functions import FFT, inline_calls
from ...codegen.ir.host_calls import TARGET as HOST
from ...codegen.ir.host_calls import HostCall
from ...codegen.ir.jax_compat import inconclusive_error
from ...codegen.ir.jax_tracing import closed_over
from ...codegen.ir.modules import deserialize_portable, verify
from ...codegen.ir.tidy import drop_identities, sizes_first
from ...codegen.ir.values import attributes_of, call_target, has_operations, main_function, symbol_of, walk
from ...codegen.passes import reduce_in_blocks, roll_loops
from ...codegen.program import Program
from ...codegen.signature import Argument, Result, Signature
from .adapted import adapt_functions
from .axes import (
    DEMANDED_BY_JAX,
    constraint_on,
    constraints_of,
    describe_arguments,
    dim_of,
    first_lines,
    path_text,
    symbolic_specs,
)
from .callbacks import callback_rules, calls_python, unordered
from .generalize import Special, generalize
from .rules import rules
from .scope import Fixed, Scope, is_size, solve
from .sizes import Number, watch
from .source import TracedSource, merging

# With this many equations XLA compiles derivatives for longer than computing the function again takes.
_LONG = 500
# Primitives whose results have signs, phases or an order that are open, and others where JAX differentiates them.
_NOT_UNIQUE = frozenset({"eig", "eigh", "svd", "qr", "geqrf", "geqp3", "householder_product", "schur", "hessenberg"})

# The lines that JAX shows, in errors and in jaxprs, are the user's and none of these.
_FOLDERS = [f"{Path(__file__).parents[2] / folder}{os.sep}" for folder in ("codegen", "dialects", "runtime")]
for _folder in _FOLDERS:
    register_exclusion(_folder)
# Nor of these packages and modules: of a frame that JAX keeps it keeps the file alone.
_PACKAGES = [f"{os.path.dirname(str(package.__file__))}{os.sep}" for package in (jax, np)]
_NOT_USERS = (*_FOLDERS, *_PACKAGES, contextlib.__file__, functools.__file__, "<frozen")


class NotWanted(Exception):
    """A trace that the caller had no use for."""


class ClosesOverTracers(Exception):
    """The function uses what a transformation under way traces: it is no function of its arguments alone."""


@dataclass(frozen=True)
class Traced:
    """A program made from a function, and how its results make up the function's.

    Attributes:
        program: with flat arguments and results.
        tree: the pytree that the results are the leaves of.
        keys: for each result the implementation of the random keys that it holds as plain integers, float0 for the
            booleans that stand for such, else None.
        guards: what Python decided of the sizes of the call while the function was traced; it is the right program for
            all sizes of which the same holds. What fixes a size is in the program's shapes, the rest among its
            constraints.
        limits: those of its constraints by which numbers made of sizes fit the integers that they are computed in.
        agrees: of one that is made of traces at a few sizes, whether it is the right one at these; else None.
    """

    program: Program
    tree: Any
    keys: tuple[Any, ...]
    guards: tuple[Constraint, ...] = ()
    limits: tuple[Constraint, ...] = ()
    agrees: Callable[[Mapping[str, int]], bool] | None = None


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


def largest(equations: Iterable[Any]) -> int:
    """The number of elements of the largest array that equations make, of those without symbolic sizes."""
    sizes = [getattr(value.aval, "size", 0) for equation in equations for value in equation.outvars]
    return max((size for size in sizes if isinstance(size, int)), default=0)


def most_rows(jaxpr: Any) -> int:
    """The longest axis of the arrays that a closed jaxpr, or one inside of it, has as constants."""
    found = list(getattr(jaxpr, "consts", ()))
    for equation in equations(jaxpr):
        found += [x.val for x in equation.invars if hasattr(x, "val")]
        for value in equation.params.values():
            for item in value if isinstance(value, tuple) else (value,):
                found += getattr(item, "consts", ())
    sizes = [size for each in found for size in np.shape(each)]
    return max((size for size in sizes if isinstance(size, int)), default=0)


def _has_few_exponents(equations: Iterable[Any]) -> bool:
    dtypes = {getattr(x.aval, "dtype", None) for equation in equations for x in equation.outvars}
    floats = [dtype for dtype in dtypes if dtype is not None and jax.numpy.issubdtype(dtype, np.floating)]
    return any(jax.numpy.finfo(dtype).maxexp < 128 for dtype in floats)


def is_key(value: Any) -> bool:
    """Whether an array (or a spec) is of typed random keys."""
    dtype = getattr(value, "dtype", None)
    return dtype is not None and bool(jax.numpy.issubdtype(dtype, jax.dtypes.prng_key))


def trace(
    function: Callable[[Sequence[Any]], Any],
    arguments: Mapping[str, Any],
    *,
    name: str,
    constraints: Sequence[str] = (),
    platform: str | None = None,
    platforms: Sequence[str] = (),
    kept: Sequence[Any] | None = None,
    wanted: Callable[[Any], bool] | None = None,
    sizes: Mapping[str, int] | None = None,
    general: bool = False,
) -> Traced:
    """Traces and lowers a function by JAX, with symbolic sizes for the axes that have names.

    What Python decides of sizes meanwhile is decided for those of the call, and is a guard of the trace.

    Args:
        function: takes the leaves of the arguments, in order.
        arguments: name to a pytree of specs, as `name_axes` gives them.
        name: the module's name.
        constraints: what else may be taken for granted of the sizes, such as `"n >= 2"`.
        platform: the platform to lower for ("cpu", "cuda", ...), JAX's default when None.
        platforms: in place of it those that the program is for, all of which run it; the program says so.
        kept: JAX's own avals of the arguments, where they are not to be made anew.
        wanted: asked whether the closed jaxpr is to be lowered at all.
        sizes: those of the call, by name; without a call what they decide is refused.
        general: traces at several sizes may be compared (`generalize.py`); the caller asks `agrees` for all others.

    Raises:
        GraphError: sizes or constraints that make no sense.
        UnsupportedGraphError: JAX cannot trace the function with symbolic sizes, or cannot export it; its `guards` say
            for which sizes that is known.
        NotWanted: `wanted` says no.
        ClosesOverTracers: its values are not known.
        DeviceError: in a process that was forked from one in which JAX had started.
    """
    forks.refuse_forked(f"{name} cannot be traced")
    watch()
    adapt_functions()
    leaves = tree_util.tree_flatten_with_path(list(arguments.values()))[0]
    described = describe_arguments(arguments)
    roots = sorted({root for argument in described for dim in argument.dims for root in dimension.roots(dim)})
    demands = [constraint_on(text, roots) for text in constraints]
    attempt = _Attempt(function, name, platform, platforms, wanted, [leaf for _, leaf in leaves], arguments)
    if kept is not None:
        return attempt.run(described, list(kept), constraints_of([aval.shape for aval in kept]), roots)
    strict = False
    fixed: tuple[Constraint, ...] = ()
    while True:
        left = sorted({root for argument in described for dim in argument.dims for root in dimension.roots(dim)})
        scope, specs = symbolic_specs(described, [leaf for _, leaf in leaves], demands, sizes, strict)
        error: Exception | None = None
        traced: Traced | None = None
        try:
            traced = attempt.run(described, specs, demands, left, scope)
        except Fixed:
            pass
        except Exception as failure:
            about_sizes = bool(roots) and not isinstance(failure, ClosesOverTracers | NotWanted)
            if not (about_sizes or isinstance(failure, UnsupportedGraphError)):
                raise
            error = failure
        guards = tuple(scope.guards.values())
        if general and sizes and (scope.fixed or (error is not None and (strict or not scope.open))):
            general = False
            rest = {"name": name, "constraints": constraints, "platform": platform, "platforms": platforms}
            try:
                if found := _generalized(attempt, arguments, demands, sizes, rest):
                    return found
            except Special as special:
                fixed = tuple(Constraint(dimension.symbol(x), "==", sizes[x], str(special)) for x in roots)
                described = [replace(x, dims=tuple(dimension.evaluate(d, sizes) for d in x.dims)) for x in described]
                demands = []
                continue
        solutions = [(c, solve(c.lhs - c.rhs, scope.sizes or {})) for c in guards if c.relation == "=="]
        fixing, solution = next(((c, found) for c, found in solutions if found is not None), (None, None))
        if fixing is not None and solution is not None:
            fixed = (*fixed, fixing)
            root, value = solution
            fix = functools.partial(dimension.substitute, mapping={root: value})
            described = [replace(x, dims=tuple(map(fix, x.dims))) for x in described]
            demands = [replace(c, lhs=fix(c.lhs), rhs=fix(c.rhs)) for c in demands]
            demands = [c for c in demands if dimension.roots(c.lhs) | dimension.roots(c.rhs)]
        elif error is None:
            assert traced is not None  # what ends a trace fixes a size
            again = functools.partial(
                trace, constraints=constraints, platform=platform, platforms=platforms, sizes=sizes
            )
            traced.program.source = attempt.source(again, (*fixed, *guards))
            return replace(traced, guards=(*fixed, *guards))
        elif scope.open and not strict:
            strict = True
        else:
            refused = error
            if not isinstance(refused, UnsupportedGraphError):
                refused = UnsupportedGraphError(_reason(name, roots, error, sizes is not None))
            refused.guards = (*fixed, *guards)
            raise refused from (None if refused is error else error)


def _generalized(
    attempt: _Attempt, arguments: Any, demands: Sequence[Constraint], sizes: Mapping[str, int], rest: Any
) -> Traced | None:
    """The trace that is made of traces at several sizes, if it fixes none of them."""

    def function(leaves: Sequence[Any]) -> Any:
        was_tracing, _THREAD.tracing = is_tracing(), True
        try:
            return attempt.function(leaves)
        finally:
            _THREAD.tracing = was_tracing

    try:
        found = generalize(function, describe_arguments(arguments), attempt.leaves, demands, sizes)
        functools.update_wrapper(found.function, attempt.function, assigned=(), updated=())
        traced = trace(found.function, arguments, sizes=sizes, **rest)
    except Special:
        raise
    except Exception:  # it may not even be a function of other sizes
        return None
    if any(c.relation == "==" and solve(c.lhs - c.rhs, sizes) is not None for c in traced.guards):
        return None
    if not found.differentiable:  # its derivatives are those of the function itself, where JAX can trace them
        attempt.facts = {"shares": False, "repeats": False, "scales": False}
        again = functools.partial(trace, sizes=sizes, **{key: value for key, value in rest.items() if key != "name"})
        traced.program.source = attempt.source(again, traced.guards)
    return replace(traced, agrees=found.agrees)


@dataclass
class _Attempt:
    """A function that is traced with some specs: see `trace`, which begins again where a decision fixes a size.

    Attributes:
        arguments: what the leaves are of, by name.
        facts: what the source knows of its derivatives (`shares`, `repeats`, `scales`).
        keys: for each of its arguments the implementation of the random keys that it holds, or None.
    """

    function: Callable[[Sequence[Any]], Any]
    name: str
    platform: str | None
    platforms: Sequence[str]
    wanted: Callable[[Any], bool] | None
    leaves: Sequence[Any]
    arguments: Mapping[str, Any]
    facts: Mapping[str, bool] = field(default_factory=dict)
    keys: Sequence[Any] = ()

    def source(self, again: Callable[..., Any], guards: tuple[Constraint, ...]) -> TracedSource:
        """The source of the program that `run` made: `again` traces what is made of it."""
        keys = self.keys
        weak = tuple(leaf.weak_type for leaf in self.leaves)

        def function(arrays: Sequence[Any]) -> list[Any]:
            values = [
                x if key is None else jax.random.wrap_key_data(x, impl=key) for x, key in zip(arrays, keys, strict=True)
            ]
            return _flat(self.function(values))[0]

        function.__dict__["__wrapped__"] = inspect.unwrap(self.function)
        once = merging(function)
        wide = bool(jax.config.jax_enable_x64)
        return TracedSource(once, jax.jit(once), again, weak, guards, wide, **self.facts)

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

        def flat(*arguments: Any) -> list[Any]:
            nonlocal result_tree, keys
            values = tree_util.tree_leaves(arguments)
            self.keys = [jax.random.key_impl(x) if is_key(x) else None for x in values]
            results, result_tree, keys = _flat(self.function(values))
            return results

        was_tracing, _THREAD.tracing = is_tracing(), True
        flat.__name__ = flat.__qualname__ = symbol = re.sub(r"\W", "_", self.name)
        # JAX's errors name the caller's function and arguments, with paths into them.
        flat.__dict__.update(
            __wrapped__=inspect.unwrap(self.function), __signature__=named_parameters(list(self.arguments))
        )
        trees = tree_util.tree_unflatten(tree_util.tree_structure(list(self.arguments.values())), specs)
        jitted = jax.jit(flat, keep_unused=True)
        try:
            first = jitted.trace(*trees)  # kept for the export
            jaxpr = first.jaxpr
            found = list(equations(jaxpr))
            names = [equation.primitive.name for equation in found]
            own_rules = any("custom_vjp" in name for name in names)
            self.facts = {
                "shares": len(names) < _LONG and largest(found) < reduce_in_blocks.ELEMENTS,
                "repeats": not own_rules and _NOT_UNIQUE.isdisjoint(names) and not calls_python(found),
                "scales": not own_rules and not _has_few_exponents(found),
            }
            if any(isinstance(x, jax.core.Tracer) for x in closed_over(first)):
                raise ClosesOverTracers
            if self.wanted is not None and not self.wanted(jaxpr):
                raise NotWanted
            if scope is not None:
                scope.traced = True
            _refuse_own_branches(found, self.platforms, self.name)
            if jaxpr.effects and not jaxpr.out_avals:  # what has no results JAX leaves out of what it compiles
                raise UnsupportedGraphError(f"{self.name!r} calls Python and returns nothing; let it return an array")
            if (without := unordered(jaxpr)) is not jaxpr:
                evaluated = jaxpr_as_fun(without)
                jitted = jax.jit(
                    functools.wraps(flat)(lambda *arguments: evaluated(*tree_util.tree_leaves(arguments))),
                    keep_unused=True,
                )
            functions: dict[str, HostCall] = {}

            def export_for(platform: str | None) -> export.Exported:
                functions.clear()
                return export.export(
                    jitted,
                    platforms=None if platform is None else [platform],
                    disabled_checks=[export.DisabledSafetyCheck.custom_call(name) for name in (FFT, HOST)],
                    _override_lowering_rules=(*rules(), *callback_rules(functions)),
                )(*trees)

            if self.platforms:
                exported = _exported_for(export_for, self.platforms, self.name)
            else:
                exported = export_for(self.platform)
        except (NotWanted, ClosesOverTracers):
            raise
        except Exception as error:
            if roots or result_tree is None or isinstance(error, HlographError):
                raise
            # The function could be traced: it is the export that refuses.
            raise UnsupportedGraphError(f"JAX cannot export {self.name!r}: {first_lines(error)}") from error
        finally:
            _THREAD.tracing = was_tracing
        # First, so that no other divides by a size of 0.
        known = [Constraint(dimension.symbol(root), ">=", 1, DEMANDED_BY_JAX) for root in roots] + list(demands)
        limits = () if scope is None else tuple(scope.limits.values())
        known += [] if scope is None else [*scope.guards.values(), *limits]
        module = _take_over(exported, symbol, described, result_tree, known, tuple(self.platforms))
        program = Program(module, filename=f"<{symbol}>", host_calls=functions)
        return Traced(program, result_tree, keys, limits=limits)


def _flat(results: Any) -> tuple[list[Any], Any, tuple[Any, ...]]:
    """Results as arrays, their pytree, and for each what it was: the implementation of random keys, float0, or None."""
    leaves, tree = tree_util.tree_flatten(results)
    leaves = [x.__jax_array__() if isinstance(x, Number) or is_size(x) else x for x in leaves]
    float0 = jax.dtypes.float0
    keys = tuple(
        jax.random.key_impl(x) if is_key(x) else float0 if getattr(x, "dtype", None) == float0 else None for x in leaves
    )
    plain: dict[Any, Any] = {None: lambda x: x, float0: lambda x: jax.numpy.zeros(x.shape, bool)}
    return [plain.get(key, jax.random.key_data)(x) for x, key in zip(leaves, keys, strict=True)], tree, keys


def _reason(name: str, roots: Sequence[str], error: Exception, called: bool) -> str:
    """What JAX says, at which line of the user's, and what may help: an answer of JAX's `called` for is known."""
    text, sizes = first_lines(error), ", ".join(roots)
    if found := re.search(r"custom_call @(\w+)", str(error)):
        text = f"a program cannot hold the call of a foreign function, {found[1]}"
    text = text.replace("'_DimExpr' object", f"a size that is not known yet ({sizes})")
    place = _line_of(error)
    reason = f"JAX cannot trace {name!r} with symbolic sizes ({sizes}){place}: {type(error).__name__}: {text}"
    if called or isinstance(error, jax.errors.JAXTypeError | jax.errors.JAXIndexError):
        return reason
    if isinstance(error, inconclusive_error()) and "constant" not in text:
        return f'{reason}. A constraint such as constraints=("{roots[0]} >= 2",) may decide it; else fix the size'
    return f"{reason}. Give the axis a fixed size, or call the function: hlograph.jit lets jax.jit run it"


def _line_of(error: BaseException) -> str:
    """The last line of the user's on the way to an error of JAX's, which keeps that of what it lowers as a cause."""
    found = None
    for each in (error, error.__cause__):
        for frame, line in traceback.walk_tb(None if each is None else each.__traceback__):
            if not frame.f_code.co_filename.startswith(_NOT_USERS):
                found = frame.f_code, line
    if found is None:
        return ""
    code, line = found
    written = linecache.getline(code.co_filename, line).strip()
    return f", at {os.path.basename(code.co_filename)}:{line} in {code.co_name}" + (written and f" ({written})")


# ---- the module that JAX exports ------------------------------------------------------------------------------------


def _take_over(
    exported: export.Exported,
    name: str,
    arguments: Sequence[Argument],
    tree: Any,
    constraints: Sequence[Constraint],
    platforms: tuple[str, ...],
) -> ir.Module:
    """The exported module in its own context: signed, calls inlined but those of functions that say what they
    implement, without JAX's attributes and assertions. A key's data axes are in the function's type alone."""
    if exported.nr_devices != 1:
        raise UnsupportedGraphError(f"{name!r} is sharded over {exported.nr_devices} devices; a program runs on one")
    module = deserialize_portable(exported.mlir_module_serialized, new_context(), name)
    for operation in walk(module):
        if call_target(operation) == "shape_assertion":
            operation.erase()
        elif operation.name == "sdy.sharding_constraint":  # on one device it says nothing
            operation.result.replace_all_uses_with(operation.operands[0])
            operation.erase()
    inline_calls(module, fixed=True)
    if not jax.config.jax_enable_x64:
        _widen_sizes(module)
    for item in [item.operation for item in module.body.operations]:
        if item.name == "sdy.mesh":
            item.erase()
        elif symbol_of(item) != "main":
            item.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
    # In a long module a factor of 1 may be one step's of many that are to be a loop again.
    if not has_operations(module, roll_loops.TRIGGERS):
        drop_identities(module)
    run_pipeline(module, "canonicalize,cse,symbol-dce", name="canonicalize")
    sizes_first(module)
    attributes = module.operation.attributes
    for attribute in attributes_of(attributes):
        if attribute.startswith(("jax.", "mhlo.")):
            del attributes[attribute]
    attributes["sym_name"] = ir.StringAttr.get(name, module.context)
    main = main_function(module)
    for attribute in {"arg_attrs", "res_attrs"} & attributes_of(main.attributes).keys():
        del main.attributes[attribute]  # JAX's notes
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).inputs
    complete = []
    for argument, type_ in zip(arguments, types, strict=True):
        tensor = ir.RankedTensorType(type_)
        behind = tuple(tensor.get_dim_size(axis) for axis in range(len(argument.dims), tensor.rank))
        complete.append(Argument(argument.name, argument.dtype, (*argument.dims, *behind)))
    paths = tree_util.tree_flatten_with_path(tree_util.tree_unflatten(tree, exported.out_avals))[0]
    results = tuple(
        Result(f"out{path_text(path)}", aval.dtype, tuple(map(dim_of, aval.shape)), weak=bool(aval.weak_type))
        for path, aval in paths
    )
    signatures.write(main, Signature(tuple(complete), results, (), tuple(constraints), platforms=platforms))
    verify(module, "the module that JAX exported")
    return module


def _widen_sizes(module: ir.Module) -> None:
    """Makes floats of sizes as they were computed: JAX has 32 bits for them, which a number of elements may not fit."""
    wide, narrow = (ir.Type.parse(f"tensor<{name}>", module.context) for name in ("i64", "i32"))
    for operation in walk(module):
        if operation.name == "stablehlo.convert" and operation.operands[0].type == wide:
            for use in list(operation.result.uses) if operation.result.type == narrow else ():
                if use.owner.name == "stablehlo.convert" and "f" in str(use.owner.results[0].type).split("<")[1]:
                    use.owner.operands[0] = operation.operands[0]


# ---- for several platforms ------------------------------------------------------------------------------------------


def _refuse_own_branches(equations: Iterable[Any], platforms: Sequence[str], name: str) -> None:
    """Raises `UnsupportedGraphError` for a function that does one thing on one platform, another on another."""

    def branch(named: Sequence[Sequence[str] | None], platform: str) -> int:
        default = named.index(None) if None in named else len(named)
        return next((number for number, each in enumerate(named) if each is not None and platform in each), default)

    for equation in equations:
        if equation.primitive.name != "platform_index":  # picks a branch of `jax.lax.platform_dependent`
            continue
        if len({branch(equation.params["platforms"], platform) for platform in platforms}) > 1:
            raise UnsupportedGraphError(
                f"{name!r} has its own branch for each of {listed(platforms)} (jax.lax.platform_dependent), "
                "and a program has one for all; emit one program for each platform"
            )


def _exported_for(export_one: Callable[[str], export.Exported], platforms: Sequence[str], name: str) -> export.Exported:
    """What JAX exports for the first of the platforms whose calls all of them have."""
    reasons = []
    for platform in platforms:
        try:
            exported = export_one(platform)
        except (NotImplementedError, ValueError) as error:  # no lowering, or a call that JAX promises nothing of
            if len(platforms) == 1:
                raise
            reasons.append(f"for {platform} it has none ({first_lines(error)})")
            continue
        module = deserialize_portable(exported.mlir_module_serialized, new_context(), name)
        calls = in_the_way(module, platforms)
        if not calls:
            return exported
        reasons.append(f"for {platform} it calls {', '.join(calls)}")
    raise UnsupportedGraphError(
        f"JAX has no form of {name!r} that all of {listed(platforms)} run: {'; '.join(reasons)}. Name fewer platforms"
    )
