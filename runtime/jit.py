"""`jit`: a drop-in for `jax.jit` for functions of arrays of many lengths.

In: a function that JAX can trace, and names for the axes that vary. Out: a callable that traces it once with symbolic
sizes and runs the program for all of them under a policy. Whatever a program cannot take (a size 0, which JAX's
symbolic sizes exclude; a function that JAX cannot trace so) plain `jax.jit` runs, counted in `stats`, and with a
warning where a reason is to be given. Arguments are recognized by their exact shapes and dtypes: a repeated call is one
lookup (about 2 us for two arrays); what is to be done for a new shape is found once.
"""

from __future__ import annotations

import functools
import re
import time
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ..codegen import dims as dimension
from ..codegen import forks
from ..codegen.constraints import Constraint
from ..codegen.errors import (
    ArgumentError,
    ArgumentShapeError,
    GraphError,
    HlographError,
    OptionError,
    PolicyError,
)
from ..codegen.ir.jax_compat import is_checkified, no_transformation, trace_state, vmapped
from ..codegen.ir.jax_tracing import is_staging
from ..codegen.ir.tidy import tidy
from ..codegen.passes import parse_spec
from ..codegen.program import Program
from ..dialects.jax.axes import read_constraint
from ..dialects.jax.source import merging
from ..dialects.jax.trace import ClosesOverTracers, Traced, is_key, is_tracing
from . import jitted as calls
from .calls.arguments import shape_and_dtype
from .calls.path import ARRAY, Written
from .executables.devices import find_device, platform_of
from .executables.policy import no_size, warn
from .executables.stats import Stats
from .function import Function
from .jitted import DISABLED, Found, Programs, context, kind_of
from .lowered.ahead import AheadFunction, wanted_sharding
from .lowered.stages import Lowered, Stages
from .options import DEFAULTS, CompileOptions, taking_options
from .ragged.values import is_ragged
from .warming import Sizes, sets_of

# Calls with this many different shapes are recognized; then recognition starts again (programs are kept).
_KNOWN_CALLS = 1 << 14
# Options of `jax.jit` that are about the whole call: with them it runs the function, but for the first with `dims`.
_DONATED = frozenset({"donate_argnums", "donate_argnames"})
_SHARDINGS = frozenset({"in_shardings", "out_shardings"})
_WHOLE_CALLS = _DONATED | _SHARDINGS | {"compiler_options"}
JIT_OPTIONS = _WHOLE_CALLS | {"keep_unused", "inline"}
# Of this many calls with arrays, one makes calls like it quickly recognized; a power of two.
_OFTEN = 8


class Jit(Written):
    """A function traced once for arrays of all lengths; see `jit`.

    A call raises `ArgumentShapeError` for arguments whose sizes contradict `dims`, `UnsupportedGraphError` where JAX
    cannot trace the function with symbolic sizes and the policy needs that, and what the function raises when it is
    traced. What takes a call is `_call`, a function that recognizes certain arrays, or `jax.jit` itself.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        dims: Mapping[str, Any],
        static_argnames: Any,
        static_argnums: Any,
        constraints: Sequence[str],
        how: CompileOptions,
        options: Mapping[str, Any],
        data: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, function)
        self._parameters = calls.Parameters(function, static_argnames, static_argnums, dims, data)
        self._static = self._parameters.static
        self._device = how.device
        texts = [text for text in tree_util.tree_leaves(dims) if isinstance(text, str)]
        known = {name for text in texts for name in re.findall(r"[^\W\d]\w*", text)}
        if unknown := [x for x in how.policy if x not in known] if isinstance(how.policy, Mapping) else []:
            raise PolicyError(no_size("policy", unknown[0], sorted(known)))
        dropped = weakref.WeakMethod(self._drop_plans)
        self._programs = Programs(self._parameters.name, tuple(constraints), how, dropped)
        self._programs.data = self._parameters.data
        self._demands = [read_constraint(text) for text in constraints]
        self._options = dict(options)
        self._whole = [name for name in options if name in _WHOLE_CALLS and not (name in _DONATED and dims)]
        if whole := [name for name in options if name in self._whole or (name in _DONATED and self._programs.numpy)]:
            ours = {"dims": bool(dims), "device": self._device is not None, 'outputs="numpy"': self._programs.numpy}
            if other := next((name for name, is_given in ours.items() if is_given), ""):
                raise OptionError(
                    f"hlograph.jit takes {whole[0]} only where jax.jit runs the function as it is, not with {other}; "
                    "leave one of the two out"
                )
        self._jax: Any = jax.jit(_watched(self), static_argnames=sorted(self._static) or None, **self._options)
        if dims:
            named = (options.get(f"donate_arg{x}", ()) for x in ("names", "nums"))
            self._programs.donated = self._parameters.named("donate", *named)
        self._handed: set[calls.Key] = set()
        self._strays: set[calls.Key] = set()
        self._lock = forks.lock()
        self._plans: dict[calls.Key, calls.Plan] = {}
        self._warned: set[str] = set()
        self._jax_calls = 0
        self._calls_of_programs = 0
        self.__call__ = self._call
        forks.watch(self)

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _call(self, /, *args: Any, **kwargs: Any) -> Any:
        if DISABLED.value:  # who looks for a mistake wants the Python function
            return self._run_by_jax(args, kwargs)
        dynamic, static = self._parameters.split(args, kwargs) if self._static else ((args, kwargs), ())
        leaves, tree = tree_util.tree_flatten(dynamic)
        key = (tree, static, context(), *[kind_of(leaf) for leaf in leaves])
        try:
            plan = self._plans.get(key)
        except TypeError:  # a static argument without a hash: JAX says so
            return self._run_by_jax(args, kwargs)
        if plan is None:
            if trace_state() != no_transformation() and self._stays_jaxs(leaves):
                return self._jax(*args, **kwargs)
            try:
                plan = self._plan(self._parameters.describe(tree, static), leaves, given=(args, kwargs))
            except ClosesOverTracers:
                return self._jax(*args, **kwargs)
            if len(self._plans) >= _KNOWN_CALLS:
                self._drop_plans()
            self._plans[key] = plan
        if plan.function is None:
            try:
                outputs = self._run_by_jax(args, kwargs)
            except OverflowError as error:
                if plan.note:
                    error.add_note(plan.note)
                raise
            self._hand_over(leaves)
            return outputs
        if plan.calls_python and is_staging():
            return self._jax(*args, **kwargs)
        outputs = plan.function(*(leaves if plan.prepare is None else plan.prepare(leaves)))
        self._calls_of_programs += 1
        if not self._calls_of_programs & (_OFTEN - 1):
            self._recognize(plan, leaves, tree, args, kwargs)
        return outputs if plan.restore is None else plan.restore(outputs)

    def _recognize(self, plan: calls.Plan, leaves: Sequence[Any], tree: Any, args: Any, kwargs: Any) -> None:
        """Recognizes calls with arrays like these, which have been run, quickly from now on."""
        if plan.recognizing is None:
            assert plan.function is not None
            if self._static or plan.calls_python or any(type(x) is not ARRAY for x in leaves):
                return
            plain = not kwargs and len(leaves) == len(args) and all(x is y for x, y in zip(leaves, args, strict=True))
            avals = [x.aval for x in leaves]
            plan.recognizing = calls.recognizing_call(
                avals, None if plain else tree, plan.function.__call__, plan.prepare, plan.restore, self._call
            )
        self.__call__ = plan.recognizing

    def after_fork(self) -> None:
        """Takes back what was handed over to `jax.jit`, which would wait for threads that are not here."""
        self._handed.clear()
        self.__call__ = self._call

    def _drop_plans(self) -> None:
        self._plans.clear()
        if self.__call__ is not self._jax:
            self.__call__ = self._call

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The bound method: `self` is the first argument, a pytree or static."""
        return self if instance is None else types.MethodType(self, instance)

    def _stays_jaxs(self, leaves: Sequence[Any]) -> bool:
        """Whether a call in a transformation is one of the Python function: in a trace of ours, whose passes see all of
        it; for symbolic sizes of another export; for another platform than the function's; and for `checkify`."""
        symbolic = any(type(size) is not int for leaf in leaves for size in np.shape(leaf))
        elsewhere = self._device is not None and platform_of(self._device) != platform_of(None)
        return symbolic or elsewhere or is_tracing() or is_checkified()

    def _run_by_jax(self, args: Any, kwargs: Any) -> Any:
        forks.refuse_forked(f"{self._parameters.name} cannot run")
        with self._lock:
            self._jax_calls += 1
        with nullcontext() if self._device is None else jax.default_device(self._device):
            outputs = self._jax(*args, **kwargs)
        if not self._programs.numpy:
            return outputs
        # Random keys, and what is traced, stay what they are.
        return tree_util.tree_map(
            lambda x: x if is_key(x) or isinstance(x, jax.core.Tracer) else np.asarray(x), outputs
        )

    def _hand_over(self, leaves: Sequence[Any]) -> None:
        """Makes the calls those of `jax.jit`, if it runs all kinds of arguments that there were."""
        if self._parameters.dims or self._programs.numpy or self._device is not None:
            return
        types = calls.types_of(leaves)
        self._handed.add(types)
        self._strays.discard(types)
        if self._strays or any(plan.function for plan in self._plans.values()):
            return
        self.__call__ = self._jax

    def traced_by_jax(self, arguments: Any) -> None:
        """`jax.jit` has met arguments: if they are of a kind that is not its own, the next calls have a look."""
        types = calls.types_of([x for x in tree_util.tree_leaves(arguments) if isinstance(x, jax.core.Tracer)])
        if self.__call__ is self._jax and types not in self._handed:
            self._strays.add(types)
            self.__call__ = self._call

    # ---- plans ------------------------------------------------------------------------------------------------------

    def _plan(
        self, call: calls.Call, leaves: Sequence[Any], sizes: Mapping[str, int] | None = None, given: Any = None
    ) -> calls.Plan:
        """How to run calls with flat arguments like these (those `given`), or with other sizes."""
        programs = self._programs
        try:
            specs = self._parameters.specs(call, leaves)
        except GraphError as error:
            raise ArgumentShapeError(str(error)) from None
        except TypeError:  # what is no array for hlograph may be one for JAX, or it says what is wrong
            return calls.Plan()
        named = calls.is_named(specs)
        if self._whole or not (named or programs.options.passes or programs.planned):
            return calls.Plan()
        if any(map(calls.has_sharded_type, leaves)):  # types of results follow from those of ops, which a program lacks
            return calls.Plan()
        sizes = calls.sizes_of(call, specs, leaves) if sizes is None else sizes
        if 0 in sizes.values() or not self._taken_for_granted(sizes):
            return calls.Plan()
        found = programs.find(call, specs, sizes)
        if isinstance(found, HlographError):
            if named and given is not None:
                wrong = self._jax.trace if str(found) in self._warned else self._jax.lower
                wrong(*given[0], **given[1])  # what is wrong with known sizes, too, is the user's to see
            self._refuse(found, named)
            return calls.Plan()
        if found is None:
            return calls.Plan()
        traced, function = found
        for limit in traced.limits:
            if not limit.holds(sizes):
                dim = limit.rhs if isinstance(limit.lhs, int) else limit.lhs
                at = ", ".join(f"{name} = {sizes[name]}" for name in sorted(dimension.roots(dim)))
                return calls.Plan(note=f"{dim} is {dimension.evaluate(dim, sizes)} for {at}, {limit.where}")
        prepare = calls.preparation(calls.leaves_of(call.places), leaves, calls.leaves_of(specs))
        return calls.Plan(function, prepare, calls.restoration(traced))

    def _taken_for_granted(self, sizes: Mapping[str, int]) -> bool:
        return all(c.holds(sizes) for c in self._demands if dimension.roots(c.lhs - c.rhs) <= sizes.keys())

    def _refuse(self, error: HlographError, named: bool) -> None:
        """Raises where the policy needs a program; else says once why `jax.jit` runs the function."""
        if named and self._programs.needed:
            remedy = 'policy="auto" and "exact" let jax.jit run it, one compile per size; or leave the axis out of dims'
            raise type(error)(f"{error}. {remedy}") from error.__cause__
        if str(error) not in self._warned:
            self._warned.add(str(error))
            how = "one compile per size" if named else "as it is"
            message = f"hlograph.jit: jax.jit runs {self._parameters.name!r}, {how}, because {error}"
            warn(message, RuntimeWarning)

    # ---- looking ----------------------------------------------------------------------------------------------------

    def _look_up(self, args: Any, kwargs: Any) -> tuple[tuple[Any, Any], calls.Call, dict[str, Any], Found]:
        dynamic, leaves, call, specs = self._parameters.read(args, kwargs)
        return dynamic, call, specs, self._programs.find(call, specs, calls.sizes_of(call, specs, leaves))

    @property
    def trace(self) -> Any:
        """As `jax.jit(f).trace`, of the function as it is: what `jax.export.export` of this object takes."""
        return self._jax.trace

    @property
    def eval_shape(self) -> Any:
        """As `jax.jit(f).eval_shape`."""
        return self._jax.eval_shape

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program that calls with such arguments run, traced now if it is the first time.

        Of a function whose traces at several sizes were compared, it is for the sizes of the arguments alone: without
        the function nothing would say for which others it is right.

        Raises:
            UnsupportedGraphError: JAX cannot trace the function with symbolic sizes.
        """
        _, leaves, call, specs = self._parameters.read(args, kwargs)
        traced = self.traced(*args, **kwargs)
        if traced.agrees is None:
            return traced.program
        fixed = tree_util.tree_map(lambda spec, place: spec.update(shape=np.shape(leaves[place])), specs, call.places)
        return self._programs.trace(call, fixed).program

    def traced(self, *args: Any, **kwargs: Any) -> Traced:
        """The trace that calls with such arguments run; raises as `program` does."""
        _, call, specs, found = self._look_up(args, kwargs)
        if isinstance(found, HlographError):
            raise found
        return self._programs.trace(call, specs) if found is None else found[0]

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Lowers such a call ahead of time, as `jax.jit(f).lower`, with the stages of `Function.lower`.

        Where `jax.jit` runs the function as it is, what it lowers is the only stage.

        Args:
            args, kwargs: as in a call; in place of an array also a `jax.ShapeDtypeStruct`.
        """
        dynamic, call, specs, found = self._look_up(args, kwargs)
        if found is None or isinstance(found, HlographError):
            unchanged = [parse_spec(spec)[0] for spec in self._programs.options.passes]
            lowered = self._jax.lower(*args, **kwargs)
            tidy(lowered.compiler_ir("stablehlo"))  # JAX's own, of which it makes the text and the executable
            return Lowered.of(lowered, lambda: Stages([], unchanged))
        traced, _ = found
        if traced.program.optimized:
            traced = self._programs.trace(call, specs)
        sizes = calls.sizes_of(call, specs, tree_util.tree_leaves(dynamic))
        ahead = AheadFunction(traced.program, None, self._programs.options.without(sizes, traced.program))
        return _lowered(ahead, traced, self._parameters, call, dynamic)

    def warm(
        self, *args: Any, sizes: Sizes | None = None, up_to: Mapping[str, int] | None = None, **kwargs: Any
    ) -> dict[str, float]:
        """Compiles what such calls will run on, so that they compile nothing; nothing is run. See `Function.warm`.

        Args:
            args, kwargs: as in a call; in place of an array also a `jax.ShapeDtypeStruct`.
            sizes: sets of sizes by name, where the arguments are to have others than these; a size that is left out is
                that of the arguments.
            up_to: name to the largest size: every bucket is compiled that calls with sizes from 1 on can meet. Calls
                with a size 0 are `jax.jit`'s, which compiles for each of them.

        Raises:
            ArgumentError: a name that is not one of the sizes; or `up_to` where Python code decides by sizes.
            HlographError: as a call does.
        """
        _, leaves, call, specs = self._parameters.read(args, kwargs)
        own, largest = calls.sizes_of(call, specs, leaves), dict(up_to or {})
        if unknown := largest.keys() - own.keys():
            raise ArgumentError(f"up_to: there is no size {min(unknown)!r}; the sizes: {', '.join(own) or 'none'}")
        by_function: dict[Function, list[Mapping[str, int]]] = {}
        seconds: dict[str, float] = {}
        for given in sets_of({} if sizes is None else sizes):
            chosen = {name: size for name, size in {**own, **given}.items() if name in given or name not in largest}
            plan = self._plan(call, leaves, {**largest, **chosen})
            if plan.function is None and (largest or (given and chosen != own)):
                raise ArgumentError(
                    f"{self._parameters.name}: jax.jit runs calls with sizes {given or largest}, for which warm "
                    "needs arguments of these shapes, and no sizes"
                )
            if plan.function is None:
                start = time.perf_counter()
                self._jax.lower(*args, **kwargs).compile()
                seconds["by jax.jit"] = time.perf_counter() - start
                continue
            if largest and (guards := self.guards(plan.function.program)):
                raise ArgumentError(
                    f"{self._parameters.name}: Python code decides by sizes ({guards[0]}, at {guards[0].where}), so "
                    f"that those up to {largest} have several traces; give the sizes that are used: sizes=[...]"
                )
            by_function.setdefault(plan.function, []).append(
                {name: size for name, size in chosen.items() if name in given or name in plan.function.sizes}
            )
        for function, sets in by_function.items():
            seconds |= function.warm(sets, up_to=largest)
        return seconds

    @property
    def functions(self) -> list[Function]:
        """The compiled functions held now, one for each trace."""
        return self._programs.functions

    def guards(self, program: Program) -> tuple[Constraint, ...]:
        """Decisions by sizes of the function's Python code while one of its programs was traced."""
        return self._programs.guards(program)

    @property
    def stats(self) -> Stats:
        """Calls, compiles and cache hits of all programs so far; traces; calls that `jax.jit` ran."""
        parts = [function.stats for function in self.functions]
        return Stats.total(parts, traces=self._programs.traces, jax_calls=self._jax_calls)

    def clear_cache(self) -> None:
        """Drops all programs and executables, and what they counted."""
        self.__call__ = self._call
        self._programs.clear()
        with self._lock:
            self._plans.clear()
            self._handed.clear()
            self._strays.clear()
        self._jax.clear_cache()

    def __repr__(self) -> str:
        return f"<hlograph.jit {self._parameters.name}{self._parameters.signature}>"


def _lowered(ahead: AheadFunction, traced: Traced, own: calls.Parameters, call: calls.Call, dynamic: Any) -> Lowered:
    """Lowers a call of a traced function, ahead of time: with the function's arguments and results, as `jax.jit` does.

    Where sizes are padded the program's own arguments stay: arrays of the bounds' shapes with the live sizes behind.

    Args:
        ahead: of its program.
        traced: it.
        own: the function's parameters.
        call: for each argument of the program its place among the leaves of the call.
        dynamic: the call, with None for each static argument.
    """
    static, order, restore = own.static, calls.leaves_of(call.places), calls.restoration(traced)
    places = {place for place, name in enumerate(own.names) if name in static}
    args = [value for place, value in enumerate(dynamic[0]) if place not in places]
    kwargs = {name: value for name, value in dynamic[1].items() if name not in static}
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
        signature = own.signature
        kept = [parameter for name, parameter in signature.parameters.items() if name not in static]
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
        inner = tuple(argument.dims[len(shape) :])  # the integers that a key consists of
        flat.append(jax.ShapeDtypeStruct((*shape, *inner), argument.dtype, sharding=wanted_sharding(value)))
    return ahead.lower_around(flat, {}, around)


def _watched(jitted: Jit) -> Callable[..., Any]:
    """The function for `jax.jit`: when that traces it, calls are no longer handed over without a look."""
    owner = weakref.ref(jitted)
    function = jitted.__wrapped__  # type: ignore[attr-defined]
    once = merging(function, jitted._parameters.names)

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        found = owner()
        if found is not None:
            found.traced_by_jax((args, kwargs))
        return once(*args, **kwargs)

    return traced


@taking_options(*JIT_OPTIONS)
def jit(
    function: Any = None,
    /,
    *,
    dims: Mapping[str, Any] | None = None,
    static_argnames: str | Sequence[str] = (),
    static_argnums: int | Sequence[int] = (),
    data_argnames: str | Sequence[str] = (),
    constraints: Sequence[str] = (),
    **options: Any,
) -> Any:
    """`jax.jit` for functions of variable-length arrays: traced once for all sizes of the axes that have names.

        step = hlograph.jit(jax.value_and_grad(loss), dims={"params": None, "x": ("n", 4), "y": ("n",)})

    Args:
        function: what `jax.jit` takes; without it, a decorator is returned. `jax.grad`, `jax.vmap` and `jax.jit` take
            what comes back: its derivatives and batches are programs for all sizes too; see docs/how-to/jax.md.
        dims: names for axes by parameter; for a pytree by prefix: a tuple of names counts for all leaves with that many
            axes, a dictionary or tuple of such for its entries. The same name means the same size. None leaves an axis
            as it is: another size is another trace, as for `jax.jit`.
        static_argnames: parameters that are compile-time constants, as for `jax.jit`.
        static_argnums: the same by place.
        data_argnames: parameters that stay the same for many calls: what only they decide is computed when they change,
            see docs/how-to/data.md.
        constraints: what may be taken for granted of the sizes when tracing (`"n >= 2"`); calls with other sizes are
            run by `jax.jit`.
        options: those of `Options`.
        keep_unused, inline, ...: as for `jax.jit`; `donate_argnums` and `donate_argnames` (what is padded is not
            donated); `in_shardings` and `out_shardings`, with which nothing is padded; and, without `dims`,
            `compiler_options`. Where no size has a name and passes find nothing to do, `jax.jit` runs the function.

    Raises:
        OptionError: an option of `jax.jit` with one of ours that it does not go with.
        TypeError: an option that neither has.
        ValueError: dims or static arguments name something that is not a parameter.
        GraphError: a text in `constraints` is no constraint.
        PassError: `optimize` names an unknown pass.
        PolicyError: `policy` is none, or of a size that `dims` does not name.
    """
    if function is None:
        given = {name: value for name, value in locals().items() if name not in ("function", "options")}
        return lambda decorated: jit(decorated, **given, **options)
    ours = {name: value for name, value in options.items() if name in DEFAULTS}
    given = {name: value for name, value in options.items() if name not in DEFAULTS and value is not None}
    how = CompileOptions.of(**{**ours, "device": find_device(ours.get("device"))})
    if data_argnames and (given or is_ragged(dims or {})):
        raise OptionError(
            f"hlograph.jit: data_argnames does not go with {next(iter(given), 'rows of different lengths')}"
        )
    if dims and not is_ragged(dims) and not _SHARDINGS.isdisjoint(given):
        if how.policy not in ("auto", "exact"):
            raise OptionError("hlograph.jit: sharded arrays are never padded; leave out the policy or the shardings")
        traced = Jit(function, dims, static_argnames, static_argnums, constraints, how, {})
        return Jit(traced, {}, static_argnames, static_argnums, (), CompileOptions.of(device=how.device), given)
    if not is_ragged(dims or {}):
        return Jit(function, dims or {}, static_argnames, static_argnums, constraints, how, given, data_argnames)
    rows = vmapped(function)
    if rows is None:
        raise OptionError(
            "hlograph.jit: sizes of rows (`n[b]` in dims) are for what jax.vmap returns: hlograph.jit(jax.vmap(f, "
            "in_axes), dims=...), where f is a function of one row. Call what comes back from a function that does "
            "more, such as a loss, and take its gradient with jax.grad"
        )
    if given:
        raise OptionError(f"hlograph.jit: rows of different lengths do not go with {next(iter(given))}")
    from .ragged.callables import RaggedJit  # with the passes that rows go through, which take long to import

    return RaggedJit(rows, dims or {}, static_argnames, static_argnums, constraints, how)
