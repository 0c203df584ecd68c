"""`jit`: a drop-in for `jax.jit` for functions of arrays of many lengths.

In: a function that JAX can trace, and names for the axes that vary. Out: a callable that traces it once with symbolic
sizes and runs the program for all of them under a policy. Whatever a program cannot take (a size 0, which JAX's
symbolic sizes exclude; a function that JAX cannot trace so) plain `jax.jit` runs, counted in `stats`, and with a
warning where a reason is to be given. Arguments are recognized by their exact shapes and dtypes: a repeated call is one
lookup (about 2 us for two arrays); what is to be done for a new shape is found once.
"""

from __future__ import annotations

import functools
import inspect
import math
import threading
import types
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ..codegen import dims as dimension
from ..codegen.constraints import Constraint
from ..codegen.errors import ArgumentShapeError, GraphError, HlographError, OptionError
from ..codegen.ir.jax_compat import no_transformation, short_calls, trace_state, x64_flag
from ..codegen.passes import parse_spec
from ..codegen.passes.optimize import DEFAULT, Optimize, resolve
from ..codegen.program import Program
from ..dialects.jax.module import (
    ClosesOverTracers,
    NotWanted,
    Traced,
    bind,
    equations,
    is_key,
    is_tracing,
    name_axes,
    name_of,
    open_signature,
    read_constraint,
    signature_of,
    trace,
)
from .calls.arguments import find_sizes
from .calls.path import recognizing_call
from .executables import cpu_plan
from .executables.cpu_plan import CpuArgument, CpuOptions
from .executables.devices import LIBRARY_REDUCTION, compile_options, find_device, platform_of
from .executables.policy import PolicyArgument, RecompilationWarning
from .executables.stats import Stats
from .function import DEFAULT_CACHE_SIZE, Function, Outputs, check_outputs
from .lowered.ahead import AheadFunction
from .lowered.jit_lower import lower
from .lowered.recorder import Stages
from .lowered.stages import Lowered

# Calls with this many different shapes are recognized; then recognition starts again (programs are kept).
_KNOWN_CALLS = 1 << 14

# A function without loops is lowered to see what passes find in it where it has so many equations, of which some
# (`cpu_plan.STARTS`) XLA does not put into one kernel with others; or so many that blocks which repeat cost it time.
_MANY_EQUATIONS = 50
_LONG_CODE = 200
_STARTING = (
    *("dot_general", "concatenate", "gather", "sort", "scatter", "conv_general", "reduce", "cum", "arg", "fft", "lu"),
    *("cholesky", "triangular_solve", "custom_linear_solve", "dynamic_update_slice", "eig", "svd", "qr"),
)

# With so many traces for arguments of one kind the user is told which lines decide by sizes.
_MANY_TRACES = 8

# Options of `jax.jit` that are about the whole call: with them it runs the function.
_WHOLE_CALLS = frozenset({"donate_argnums", "donate_argnames", "in_shardings", "out_shardings", "compiler_options"})
_OPTIONS = _WHOLE_CALLS | {"keep_unused", "inline"}

# Policies under which a function that JAX cannot trace with symbolic sizes may as well be run by jax.jit.
_MAY_COMPILE_PER_SIZE = ("auto", "exact")

# Of so many calls with arrays, one makes calls like it recognized at a glance; a power of two.
_OFTEN = 8

_X64 = x64_flag()
_QUESTIONS = short_calls()
_ARRAY = None if _QUESTIONS is None else _QUESTIONS.array
_Key = Hashable
_Static = tuple[tuple[str, type, Any], ...]  # name, type (1 == 1.0 == True) and value, by name


@dataclass(frozen=True)
class JitStats(Stats):
    """What a jitted function has done so far: its programs' counts, summed, and its own.

    Attributes:
        traces: how often the function was traced into a program; more than once for arguments of one kind where its
            Python code decides by sizes.
        jax_calls: calls that plain `jax.jit` ran, which are not among `calls`; of those that were handed over to it,
            because nothing is to be gained, the first.
    """

    traces: int = 0
    jax_calls: int = 0


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to do with the flat arguments of calls that look alike.

    Attributes:
        function: the program's, or None where `jax.jit` runs the call.
        prepare: puts them in the program's order and types, if they are not.
        restore: makes of the program's results the function's, if they are not the same.
        note: what an `OverflowError` of JAX's in such a call is about.
    """

    function: Function | None = None
    prepare: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    restore: Callable[[Any], Any] | None = None
    note: str = ""


@dataclass(frozen=True)
class _Variant:
    """What was made of one trace.

    Attributes:
        guards: what holds of the sizes that it is for.
        made: the program, why there is none, or None where `jax.jit` is as good.
    """

    guards: tuple[Constraint, ...]
    made: tuple[Traced, Function] | HlographError | None

    def fits(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is for these sizes."""
        return all(guard.holds(sizes) for guard in self.guards)


@dataclass(frozen=True)
class _Call:
    """A call's arguments by name, as pytrees of numbers: each leaf's place among the call's flat arguments."""

    places: dict[str, Any]
    static: _Static
    function: Callable[[Sequence[Any]], Any]


def _kind(value: Any) -> tuple[Any, ...]:
    """What tells flat arguments apart that need different programs; a Python number has its type alone."""
    return (
        type(value),
        getattr(value, "shape", None),
        getattr(value, "dtype", None),
        getattr(value, "weak_type", None),
    )


class Jit:
    """A function traced once for arrays of all lengths; see `jit`."""

    def __init__(
        self,
        function: Callable[..., Any],
        dims: Mapping[str, Any],
        policy: PolicyArgument,
        device: Any,
        static_argnames: Any,
        static_argnums: Any,
        constraints: Sequence[str],
        cache_size: int,
        optimize: Optimize,
        reassociate: bool,
        cpu: CpuArgument,
        outputs: Outputs,
        options: Mapping[str, Any],
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = name_of(function)
        self._signature = signature_of(function)
        self._policy = policy
        self._device = find_device(device)
        self._constraints = tuple(constraints)
        self._demands = [read_constraint(text) for text in self._constraints]
        self._cache_size = cache_size
        self._passes = resolve(optimize, reassociate)
        self._cpu = CpuOptions.of(cpu, reassociate)
        self._numpy = check_outputs(outputs) == "numpy"
        self._positions = _positions(self._signature)
        self._static = self._static_parameters(static_argnames, static_argnums)
        self._dims = self._check_dims(dims)
        self._options = dict(options)
        self._check_options()
        self._jax: Any = jax.jit(_watched(self), static_argnames=sorted(self._static) or None, **self._options)
        self._direct: type[Jit] | None = None
        self._handed: set[_Key] = set()
        self._strays: set[_Key] = set()
        self._lock = threading.Lock()
        self._plans: dict[_Key, _Plan] = {}
        self._programs: dict[_Key, list[_Variant]] = {}
        self._traces_of: Counter[_Key] = Counter()
        self._warned: set[str] = set()
        self._traces = 0
        self._jax_calls = 0
        self._calls_of_programs = 0
        self._recognizing: dict[int, type[Jit]] = {}

    def _static_parameters(self, names: Any, numbers: Any) -> frozenset[str]:
        """Names of the static parameters; numbers are places in the signature, as for `jax.jit`."""
        found = {names} if isinstance(names, str) else set(names)
        for number in (numbers,) if isinstance(numbers, int) else numbers:
            place = number + len(self._positions) if number < 0 else number
            if not 0 <= place < len(self._positions):
                raise ValueError(f"static_argnums has {number}, which is no place in {self._name}{self._signature}")
            found.add(self._positions[place])
        self._check_names("static_argnames", found)
        return frozenset(found)

    def _check_dims(self, dims: Mapping[str, Any]) -> dict[str, Any]:
        self._check_names("dims", dims)
        for name in dims:
            if name in self._static:
                raise ValueError(f"dims names {name!r}, which is static")
        return dict(dims)

    def _check_options(self) -> None:
        given = [name for name in self._options if name in _WHOLE_CALLS]
        others = {"dims": bool(self._dims), "device": self._device is not None, 'outputs="numpy"': self._numpy}
        for other, is_given in others.items():
            if given and is_given:
                raise OptionError(
                    f"hlograph.jit takes {given[0]} only where jax.jit runs the function as it is, not with {other}; "
                    "leave one of the two out"
                )

    def _check_names(self, what: str, names: Any) -> None:
        parameters = self._signature.parameters
        if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
            return
        for name in names:
            if name not in parameters:
                raise ValueError(f"{what} names {name!r}, which is no parameter of {self._name}{self._signature}")

    # ---- calls ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function.

        Raises:
            ArgumentShapeError: arguments whose sizes contradict `dims`.
            UnsupportedGraphError: JAX cannot trace the function with symbolic sizes, and the policy needs that.
            Exception: what the function raises when it is traced.
        """
        dynamic, static = self._split(args, kwargs) if self._static else ((args, kwargs), ())
        leaves, tree = tree_util.tree_flatten(dynamic)
        key = (tree, static, _X64.value, *[_kind(leaf) for leaf in leaves])
        try:
            plan = self._plans.get(key)
        except TypeError:  # a static argument without a hash: JAX says so
            return self._jax(*args, **kwargs)
        if plan is None:
            if trace_state() != no_transformation() and self._stays_jaxs(leaves):
                return self._jax(*args, **kwargs)
            try:
                plan = self._plan(self._describe(tree, static), leaves)
            except ClosesOverTracers:
                return self._jax(*args, **kwargs)
            if len(self._plans) >= _KNOWN_CALLS:
                self._plans.clear()
                self._forget()
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
        outputs = plan.function(*(leaves if plan.prepare is None else plan.prepare(leaves)))
        self._calls_of_programs += 1
        if not self._calls_of_programs & (_OFTEN - 1):
            self._recognize(plan, leaves, tree, args, kwargs)
        return outputs if plan.restore is None else plan.restore(outputs)

    def _recognize(self, plan: _Plan, leaves: Sequence[Any], tree: Any, args: Any, kwargs: Any) -> None:
        """From now on calls with arrays like these, which have been run, are recognized at a glance."""
        assert plan.function is not None
        made = self._recognizing.get(id(plan))
        if made is None:
            if self._static or any(type(x) is not _ARRAY for x in leaves):
                return
            settled = plan.function.settled(leaves if plan.prepare is None else plan.prepare(leaves))
            if settled is None:
                return
            plain = not kwargs and len(leaves) == len(args) and all(x is y for x, y in zip(leaves, args, strict=True))
            call = recognizing_call(
                [x.aval for x in leaves], None if plain else tree, settled, plan.prepare, plan.restore, Jit.__call__
            )
            made = self._recognizing[id(plan)] = type("Jit", (Jit,), {"__call__": call, "__doc__": Jit.__doc__})
        self.__class__ = made

    def _forget(self) -> None:
        """What runs calls has changed."""
        self._recognizing.clear()
        if type(self) is not self._direct:
            self.__class__ = Jit

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: `self` is the first argument, a pytree or static."""
        return self if instance is None else types.MethodType(self, instance)

    def _stays_jaxs(self, leaves: Sequence[Any]) -> bool:
        """Whether a call in a transformation is one of the Python function: in a trace of ours, whose passes see all of
        it; for symbolic sizes of somebody else's; and for another platform than the function's."""
        symbolic = any(type(size) is not int for leaf in leaves for size in np.shape(leaf))
        elsewhere = self._device is not None and platform_of(self._device) != platform_of(None)
        return symbolic or elsewhere or is_tracing()

    def _run_by_jax(self, args: Any, kwargs: Any) -> Any:
        with self._lock:
            self._jax_calls += 1
        with nullcontext() if self._device is None else jax.default_device(self._device):
            outputs = self._jax(*args, **kwargs)
        return tree_util.tree_map(_to_numpy, outputs) if self._numpy else outputs

    def _hand_over(self, leaves: Sequence[Any]) -> None:
        """Makes the calls those of `jax.jit`, if it runs all kinds of arguments that there were."""
        if self._dims or self._numpy or self._device is not None:
            return
        types = _types(leaves)
        self._handed.add(types)
        self._strays.discard(types)
        if self._strays or any(plan.function for plan in self._plans.values()):
            return
        if self._direct is None:
            self._direct = type("Jit", (Jit,), {"__call__": staticmethod(self._jax), "__doc__": Jit.__doc__})
        self.__class__ = self._direct

    def traced_by_jax(self, arguments: Any) -> None:
        """`jax.jit` has met arguments: if they are of a kind that is not its own, the next calls have a look."""
        types = _types([x for x in tree_util.tree_leaves(arguments) if isinstance(x, jax.core.Tracer)])
        if type(self) is self._direct and types not in self._handed:
            self._strays.add(types)
            self.__class__ = Jit

    def _split(self, args: Any, kwargs: Any) -> tuple[tuple[Any, Any], _Static]:
        """The call with None (which has no leaf) for each static argument, and the static arguments."""
        static = {}
        dynamic = list(args)
        for place, name in enumerate(self._positions[: len(args)]):
            if name in self._static:
                static[name] = args[place]
                dynamic[place] = None
        given = {name: value for name, value in kwargs.items() if name in self._static}
        values = tuple((name, type(value), value) for name, value in sorted((static | given).items()))
        return (tuple(dynamic), {**kwargs, **dict.fromkeys(given)}), values

    def _describe(self, tree: Any, static: _Static) -> _Call:
        """A call whose arguments, without the static ones, have this structure."""
        places = tree_util.tree_unflatten(tree, range(tree.num_leaves))
        arguments = bind(self._signature, *places)
        fixed = {name: value for name, _, value in static}
        named = {name: value for name, value in arguments.items() if name not in fixed}
        order = _leaves(named)

        def function(leaves: Sequence[Any]) -> Any:
            """The function of the leaves in the order of `named`."""
            by_place = dict(zip(order, leaves, strict=True))
            positional, keyword = tree_util.tree_unflatten(tree, [by_place[i] for i in range(len(order))])
            named_places = [fixed.get(name, x) for name, x in zip(self._positions, positional, strict=False)]
            rest = positional[len(self._positions) :]
            return self._function(*named_places, *rest, **{name: fixed.get(name, x) for name, x in keyword.items()})

        return _Call(named, static, function)

    # ---- plans ------------------------------------------------------------------------------------------------------

    def _plan(self, call: _Call, leaves: Sequence[Any]) -> _Plan:
        """How to run calls with flat arguments like these."""
        try:
            specs = self._specs(call, leaves)
        except GraphError as error:
            raise ArgumentShapeError(str(error)) from None
        except TypeError:  # what is no array for hlograph may be one for JAX, or it says what is wrong
            return _Plan()
        named = _is_named(specs)
        if not _WHOLE_CALLS.isdisjoint(self._options):
            return _Plan()
        if not named and not self._passes and not self._planned():
            return _Plan()
        sizes = _sizes(call, specs, leaves)
        if 0 in sizes.values() or not self._taken_for_granted(sizes):
            return _Plan()
        found = self._find(call, specs, sizes)
        if isinstance(found, HlographError):
            self._refuse(found, named)
            return _Plan()
        if found is None:
            return _Plan()
        traced, function = found
        exceeded = [limit for limit in traced.limits if not limit.holds(sizes)]
        if exceeded:
            return _Plan(note=_overflow_note(exceeded[0], sizes))
        return _Plan(function, _preparation(_leaves(call.places), leaves, _leaves(specs)), _restoration(traced))

    def _taken_for_granted(self, sizes: Mapping[str, int]) -> bool:
        """Whether the user's constraints hold; one that names no size is refused where the function is traced."""
        return all(c.holds(sizes) for c in self._demands if dimension.roots(c.lhs - c.rhs) <= sizes.keys())

    def _specs(self, call: _Call, leaves: Sequence[Any]) -> dict[str, Any]:
        arguments = {name: tree_util.tree_map(leaves.__getitem__, places) for name, places in call.places.items()}
        return name_axes(arguments, {name: axes for name, axes in self._dims.items() if name in arguments})

    def _find(
        self, call: _Call, specs: dict[str, Any], sizes: Mapping[str, int]
    ) -> tuple[Traced, Function] | HlographError | None:
        """The program for such arguments, traced now if there is none for these sizes, or why there is none.

        None where no size has a name and the passes find nothing to do: `jax.jit` is as good.
        """
        flat, tree = tree_util.tree_flatten(list(specs.values()))
        kinds = tuple((spec.shape, spec.dtype, spec.weak_type) for spec in flat)
        key = (tuple(specs), tree, call.static, _X64.value, kinds)
        with self._lock:
            variants = self._programs.setdefault(key, [])
            for number, variant in enumerate(variants):
                if variant.fits(sizes):
                    if number < len(variants) - 1:
                        variants.append(variants.pop(number))  # the one that was used last
                    return variant.made
            variant = self._variant(call, specs, sizes)
            if len(variants) >= self._cache_size:
                del variants[0]
                self._plans.clear()
                self._forget()
            variants.append(variant)
            self._traces_of[key] += 1
            if self._traces_of[key] == _MANY_TRACES:
                self._warn_of_traces(variants)
            return variant.made

    def _variant(self, call: _Call, specs: dict[str, Any], sizes: Mapping[str, int]) -> _Variant:
        try:
            if not _is_named(specs):
                return _Variant((), self._make_static(call, specs))
            self._traces += 1
            traced = self._trace(call, specs, sizes)
            return _Variant(traced.guards, (traced, self._compile(traced.program)))
        except GraphError:
            raise
        except HlographError as error:
            return _Variant(getattr(error, "guards", ()), error)

    def _warn_of_traces(self, variants: Sequence[_Variant]) -> None:
        lines = Counter(guard.where for variant in variants for guard in variant.guards)
        shown = {guard.where: guard for guard in variants[-1].guards}
        asked = [f"{shown[line]} at {line}" for line, _ in lines.most_common() if line in shown]
        warnings.warn(
            f"hlograph.jit: {self._name!r} was traced {_MANY_TRACES} times, because its Python code decides by sizes "
            f"(the last time {', '.join(asked[:3])}); sizes of which the same does not hold are another trace",
            RecompilationWarning,
            stacklevel=5,
        )

    def _make_static(self, call: _Call, specs: dict[str, Any]) -> tuple[Traced, Function] | None:
        """The program for arguments without named sizes, if the passes find something to do in it."""
        try:
            traced = trace(call.function, specs, name=self._name, platform=self._target(), wanted=self._worth_lowering)
        except NotWanted:
            return None
        program = traced.program
        changed = program.optimize_own(self._passes)
        on_cpu = platform_of(self._device) == "cpu"
        needs_options = compile_options(program, self._device) is not None  # jax.jit takes none where it is nested
        needs_passes = on_cpu and program.has_endangered_initial_value()
        if not (
            changed or needs_options or needs_passes or self._numpy or (self._planned() and cpu_plan.pays(program))
        ):
            return None
        self._traces += 1
        return traced, self._compile(program)

    def _worth_lowering(self, jaxpr: Any) -> bool:
        """Whether passes may find something in a jaxpr's module; if they hardly can, only the trace is lost."""
        if jaxpr.effects:
            return False
        if self._numpy and self._planned():
            return True
        if platform_of(self._device) == "cpu" and _may_go_wrong(jaxpr.jaxpr):
            return True
        return tuple(parse_spec(spec)[0] for spec in self._passes) != DEFAULT or _is_long(jaxpr.jaxpr)

    def _trace(self, call: _Call, specs: dict[str, Any], sizes: Mapping[str, int] | None = None) -> Traced:
        return trace(
            call.function,
            specs,
            name=self._name,
            constraints=self._constraints,
            platform=self._target(),
            sizes=sizes,
        )

    def _target(self) -> str | None:
        return None if self._device is None else platform_of(self._device)

    def _planned(self) -> bool:
        """Whether executables have a plan for CPU."""
        return not self._cpu.plain and platform_of(self._device) == "cpu"

    def _compile(self, program: Program) -> Function:
        function = program.compile(
            self._device,
            cache_size=self._cache_size,
            policy=self._policy,
            optimize=self._passes,
            cpu=self._cpu,
            outputs="numpy" if self._numpy else "jax",
        )
        function.changed = weakref.WeakMethod(self._forget)
        return function

    def _refuse(self, error: HlographError, named: bool) -> None:
        """Raises where the policy needs a program; else says once why `jax.jit` runs the function."""
        choices = self._policy.values() if isinstance(self._policy, Mapping) else [self._policy]
        if named and any(choice not in _MAY_COMPILE_PER_SIZE for choice in choices):
            raise error
        if str(error) not in self._warned:
            self._warned.add(str(error))
            how = "one compile per size" if named else "as it is"
            message = f"hlograph.jit: jax.jit runs {self._name!r}, {how}, because {error}"
            warnings.warn(message, RuntimeWarning, stacklevel=4)

    # ---- looking ----------------------------------------------------------------------------------------------------

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program that calls with such arguments run, traced now if it is the first time.

        Raises:
            UnsupportedGraphError: JAX cannot trace the function with symbolic sizes.
        """
        dynamic, static = self._split(args, kwargs) if self._static else ((args, kwargs), ())
        leaves, tree = tree_util.tree_flatten(dynamic)
        call = self._describe(tree, static)
        specs = self._specs(call, leaves)
        found = self._find(call, specs, _sizes(call, specs, leaves))
        if isinstance(found, HlographError):
            raise found
        return self._trace(call, specs).program if found is None else found[0].program

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """What runs such a call, ahead of time, as `jax.jit(f).lower`, with the stages of `Function.lower`.

        Where `jax.jit` runs the function as it is, what it lowers is the only stage.

        Args:
            args, kwargs: as in a call; in place of an array also a `jax.ShapeDtypeStruct`.
        """
        dynamic, static = self._split(args, kwargs) if self._static else ((args, kwargs), ())
        leaves, tree = tree_util.tree_flatten(dynamic)
        call = self._describe(tree, static)
        specs = self._specs(call, leaves)
        found = self._find(call, specs, _sizes(call, specs, leaves))
        if found is None or isinstance(found, HlographError):
            unchanged = [parse_spec(spec)[0] for spec in self._passes]
            return Lowered.of(self._jax.lower(*args, **kwargs), lambda: Stages([], unchanged))
        traced, _ = found
        if traced.program.optimized:
            traced = self._trace(call, specs)
        devices = None if self._device is None else [self._device]
        ahead = AheadFunction(traced.program, devices, self._policy, optimize=self._passes)
        places = [place for place, name in enumerate(self._positions) if name in self._static]
        return lower(ahead, traced, _leaves(call.places), dynamic, (places, self._static), _restoration(traced))

    @property
    def functions(self) -> list[Function]:
        """The compiled functions held now, one for each trace."""
        return [v.made[1] for found in list(self._programs.values()) for v in list(found) if isinstance(v.made, tuple)]

    def guards(self, program: Program) -> tuple[Constraint, ...]:
        """What the function's Python code decided by sizes while one of its programs was traced."""
        for variants in list(self._programs.values()):
            for variant in list(variants):
                if isinstance(variant.made, tuple) and variant.made[0].program is program:
                    return variant.guards
        return ()

    @property
    def stats(self) -> JitStats:
        """Calls, compiles and cache hits of all programs so far; traces; calls that `jax.jit` ran."""
        total = Stats.total([function.stats for function in self.functions])
        sums = {field.name: getattr(total, field.name) for field in fields(Stats)}
        return JitStats(**sums, traces=self._traces, jax_calls=self._jax_calls)

    def clear_cache(self) -> None:
        """Drops all programs and executables, and what they counted."""
        self.__class__ = Jit
        with self._lock:
            self._plans.clear()
            self._programs.clear()
            self._handed.clear()
            self._strays.clear()
            self._recognizing.clear()
        self._jax.clear_cache()

    def __copy__(self) -> Jit:
        return self

    def __deepcopy__(self, memo: Any) -> Jit:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: pickle the function and wrap it where it is loaded, or save its program "
            "(`.program(*args).save(path)`) and compile what `hlograph.load(path)` gives"
        )

    def __repr__(self) -> str:
        return f"<hlograph.jit {self._name}{self._signature}>"


def _types(leaves: Sequence[Any]) -> _Key:
    """What tells arguments apart that `jax.jit` traces anew."""
    avals = [jax.typeof(leaf) for leaf in leaves]
    return (_X64.value, *[(aval.shape, aval.dtype, aval.weak_type) for aval in avals])


def _watched(jitted: Jit) -> Callable[..., Any]:
    """The function for `jax.jit`: when that traces it, calls are no longer handed over without a look."""
    owner = weakref.ref(jitted)
    function = jitted.__wrapped__  # type: ignore[attr-defined]

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        found = owner()
        if found is not None:
            found.traced_by_jax((args, kwargs))
        return function(*args, **kwargs)

    return traced


def _to_numpy(x: Any) -> Any:
    """A result as a NumPy array; random keys, and what is traced, stay what they are."""
    return x if is_key(x) or isinstance(x, jax.core.Tracer) else np.asarray(x)


def _positions(signature: inspect.Signature) -> tuple[str, ...]:
    """Names of the parameters that have a place."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(name for name, parameter in signature.parameters.items() if parameter.kind in kinds)


def _overflow_note(limit: Constraint, sizes: Mapping[str, int]) -> str:
    """What does not fit, and at which size."""
    dim = limit.rhs if isinstance(limit.lhs, int) else limit.lhs
    at = ", ".join(f"{name} = {sizes[name]}" for name in sorted(dimension.roots(dim)))
    return f"{dim} is {dimension.evaluate(dim, sizes)} for {at}, {limit.where}"


def _is_named(specs: Mapping[str, Any]) -> bool:
    """Whether some size has a name."""
    return any(isinstance(size, str) for spec in _leaves(specs) for size in spec.shape)


def _sizes(call: _Call, specs: Mapping[str, Any], leaves: Sequence[Any]) -> dict[str, int]:
    """The call's sizes that have names.

    Raises:
        ArgumentShapeError: they contradict each other.
    """
    if not _is_named(specs):
        return {}
    return find_sizes(open_signature(specs), [np.shape(leaves[place]) for place in _leaves(call.places)])


def _leaves(arguments: Mapping[str, Any]) -> list[Any]:
    """The leaves of all arguments, in the arguments' order (a dictionary's own is alphabetical)."""
    return tree_util.tree_leaves(list(arguments.values()))


def _is_long(jaxpr: Any) -> bool:
    """Whether a jaxpr has a loop, or many equations, those of jaxprs inside counted."""
    starts = 0
    for count, equation in enumerate(equations(jaxpr), start=1):
        name = equation.primitive.name
        starts += name.startswith(_STARTING)
        if name in ("scan", "while") or count >= _LONG_CODE or (count >= _MANY_EQUATIONS and starts >= cpu_plan.STARTS):
            return True
    return False


def _may_go_wrong(jaxpr: Any) -> bool:
    """Whether XLA:CPU may pass NaN over in a jaxpr's maxima or minima, or take initial values in twice."""
    return any(
        equation.primitive.name == "reduce"
        or (
            equation.primitive.name in ("reduce_max", "reduce_min")
            and any(math.prod(x.aval.shape) >= LIBRARY_REDUCTION for x in equation.invars)
        )
        for equation in equations(jaxpr)
    )


def _preparation(
    order: Sequence[int], leaves: Sequence[Any], specs: Sequence[Any]
) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """From a call's flat arguments to the program's: their order, random keys as integers, and dtypes that JAX has.

    Args:
        order: for each argument of the program its place among the call's.
        leaves: the call's.
        specs: the program's.
    """
    changes: list[tuple[int, Callable[[Any], Any]]] = []
    for number, (place, spec) in enumerate(zip(order, specs, strict=True)):
        if is_key(spec):
            changes.append((number, jax.random.key_data))
        elif isinstance(leaves[place], np.ndarray | np.generic) and leaves[place].dtype != spec.dtype:
            changes.append((number, functools.partial(np.asarray, dtype=spec.dtype)))
    if not changes and list(order) == list(range(len(leaves))):
        return None

    def prepare(values: Sequence[Any]) -> Sequence[Any]:
        arranged = [values[place] for place in order]
        for number, change in changes:
            arranged[number] = change(arranged[number])
        return arranged

    return prepare


def _restoration(traced: Traced) -> Callable[[Any], Any] | None:
    """From what the program's `Function` returns to what the traced function does."""
    tree, keys = traced.tree, traced.keys
    count = len(keys)
    as_they_are = tree_util.tree_structure(0 if count == 1 else (0,) * count)
    if tree == as_they_are and not any(keys):
        return None

    def restore(outputs: Any) -> Any:
        results = [outputs] if count == 1 else list(outputs)
        for number, key in enumerate(keys):
            if key is not None:
                results[number] = jax.random.wrap_key_data(results[number], impl=key)
        return tree_util.tree_unflatten(tree, results)

    return restore


def jit(
    function: Any = None,
    /,
    *,
    dims: Mapping[str, Any] | None = None,
    policy: PolicyArgument = "auto",
    device: Any = None,
    static_argnames: str | Sequence[str] = (),
    static_argnums: int | Sequence[int] = (),
    constraints: Sequence[str] = (),
    cache_size: int = DEFAULT_CACHE_SIZE,
    optimize: Optimize = "default",
    reassociate: bool = True,
    cpu: CpuArgument = "auto",
    outputs: Outputs = "jax",
    backend: Any = None,
    **options: Any,
) -> Any:
    """`jax.jit` for functions of variable-length arrays: traced once for all sizes of the axes that have names.

        step = hlograph.jit(jax.value_and_grad(loss), dims={"params": None, "x": ("n", 4), "y": ("n",)})

    Args:
        function: what `jax.jit` takes; without it, a decorator is returned. `jax.grad`, `jax.vmap` and `jax.jit` take
            what comes back: its derivatives and batches are programs for all sizes too; see docs/jax.md.
        dims: names for axes by parameter; for a pytree by prefix: a tuple of names counts for all leaves with that many
            axes, a dictionary or tuple of such for its entries. The same name means the same size. None leaves an axis
            as it is: another size is another trace, as for `jax.jit`.
        policy: how sizes share executables: "auto", "exact", "padded", a `Bucket`, an int (a bound), or a dictionary of
            these by size name; see `hlograph.function`.
        device: "cpu", "gpu", "tpu", a `jax.Device`, or None for JAX's default device.
        static_argnames: parameters that are compile-time constants, as for `jax.jit`.
        static_argnums: the same by place.
        constraints: what may be taken for granted of the sizes when tracing (`"n >= 2"`); calls with other sizes are
            run by `jax.jit`.
        cache_size: how many executables each program keeps.
        optimize: passes over each executable's module before it is compiled: "default", "none", or a list such as
            `["sink_reductions"]`; see docs/passes.md. Where no size has a name and they find nothing to do, `jax.jit`
            runs the function.
        reassociate: False keeps every bit of the results of what `optimize` does.
        cpu: how executables for CPU are made, see `hlograph.function`.
        outputs: "jax" or "numpy", the arrays that calls return; under a transformation always JAX's.
        backend: another name of `device`.
        options: `keep_unused` and `inline` as for `jax.jit`; `donate_argnums`, `donate_argnames`, `in_shardings`,
            `out_shardings` and `compiler_options`, with which `jax.jit` runs the function, without `dims`.

    Raises:
        OptionError: an option of `jax.jit` with one of ours that it does not go with.
        TypeError: an option that neither has.
        ValueError: dims or static arguments name what is no parameter.
        GraphError: a text in `constraints` is no constraint.
        PassError: `optimize` names an unknown pass.
    """
    if function is None:
        given = {name: value for name, value in locals().items() if name not in ("function", "options")}
        return lambda decorated: jit(decorated, **given, **options)
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown:
        raise TypeError(f"hlograph.jit has no option {unknown[0]!r}, and neither has jax.jit")
    if backend is not None and device is not None:
        raise OptionError("hlograph.jit: backend is another name of device; give one of the two")
    return Jit(
        function,
        dims or {},
        policy,
        backend if device is None else device,
        static_argnames,
        static_argnums,
        constraints,
        cache_size,
        optimize,
        reassociate,
        cpu,
        outputs,
        {name: value for name, value in options.items() if value is not None},
    )
