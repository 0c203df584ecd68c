"""A jitted function's calls, and the programs that run them: traced when they are first needed, and found again.

In: what a call is given. Out: the same without static arguments, as flat arguments with the place of each
(`Parameters.describe`), and the sizes of the axes that have names; the program of the trace that holds for these sizes,
compiled, or why there is none (`Programs.find`); a plan for calls that look alike: how flat arguments become the
program's, and its results the function's. Decision to know: where no size has a name, a program is made only if the
passes find something to do in it; `jax.jit` is as good otherwise, and only a trace is lost.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ..codegen import dims as dimension
from ..codegen import forks
from ..codegen.constraints import Constraint
from ..codegen.errors import DeviceError, GraphError, HlographError, RecompilationWarning
from ..codegen.ir.jax_tracing import tracing_context
from ..codegen.passes import compress_rows, reduce_in_blocks
from ..codegen.passes.registry import is_default
from ..codegen.passes.xla_bugs import LIBRARY, bugs_of
from ..codegen.program import Program
from ..codegen.signature import Signature, find_roots
from ..dialects.jax.axes import describe_arguments, name_axes
from ..dialects.jax.callbacks import calls_python
from ..dialects.jax.module import bind, name_of, signature_of
from ..dialects.jax.trace import NotWanted, Traced, equations, is_key, largest, most_rows, trace
from .calls.arguments import MISSING, find_sizes
from .calls.path import ARRAY, given_arguments, write
from .executables import cpu_plan
from .executables.devices import compile_options, platform_of
from .executables.policy import warn
from .function import Function
from .options import CompileOptions

Key = Hashable
# What else than the arguments decides what is traced.
context, DISABLED = tracing_context()
Static = tuple[tuple[str, type, Any], ...]  # name, type (1 == 1.0 == True) and value, by name

# With this many traces for arguments of one kind the user is told which lines decide by sizes.
_MANY_TRACES = 8
# After this many traces that are for few sizes each, traces at several sizes are no longer compared.
_MAY_BE_GENERAL = 6
# Policies under which a function that JAX cannot trace with symbolic sizes may as well be run by jax.jit.
_MAY_COMPILE_PER_SIZE = ("auto", "exact")

# A program, why there is none, or None where `jax.jit` is as good.
Found = tuple[Traced, Any] | HlographError | None
Specs = dict[str, Any]
Sizes = Mapping[str, int]
Names = Collection[str]
Make = Callable[[Traced], Any]


@dataclass(frozen=True)
class Call:
    """A call's arguments by name, as pytrees of numbers: each leaf's place among the call's flat arguments."""

    places: dict[str, Any]
    static: Static
    function: Callable[[Sequence[Any]], Any]


class Parameters:
    """The parameters of a jitted function, and its calls as flat arguments.

    Attributes:
        function: the Python function.
        name: what it is called.
        signature: its own.
        names: the parameters that have a place.
        static: the static ones.
        dims: the names of axes, by parameter.
        data: those that are data.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnames: Any,
        static_argnums: Any,
        dims: Mapping[str, Any],
        data: str | Sequence[str] = (),
    ) -> None:
        self.function = function
        self.name = name_of(function)
        self.signature = signature_of(function)
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.names = tuple(name for name, parameter in self.signature.parameters.items() if parameter.kind in kinds)
        self.static = self.named("static", static_argnames, static_argnums)
        self.dims = dict(dims)
        self.data = frozenset({data} if isinstance(data, str) else data)
        for what, names in (("dims", self.dims), ("data_argnames", self.data)):
            self._check_names(what, names)
            for name in self.static.intersection(names):
                raise ValueError(f"{what} names {name!r}, which is static")

    def named(self, what: str, names: Any, numbers: Any) -> frozenset[str]:
        """The parameters that two options of `jax.jit` mean, `{what}_argnames` and `{what}_argnums`."""
        found = {names} if isinstance(names, str) else set(names)
        for number in (numbers,) if isinstance(numbers, int) else numbers:
            place = number + len(self.names) if number < 0 else number
            if not 0 <= place < len(self.names):
                has_no = f"which is not the position of a parameter with a name in {self.name}{self.signature}"
                raise ValueError(f"{what}_argnums has {number}, {has_no}; give it by {what}_argnames")
            found.add(self.names[place])
        self._check_names(f"{what}_argnames", found)
        return frozenset(found)

    def _check_names(self, what: str, names: Any) -> None:
        parameters = self.signature.parameters
        if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
            return
        for name in names:
            if name not in parameters:
                raise ValueError(f"{what} names {name!r}, which is not a parameter of {self.name}{self.signature}")

    def split(self, args: Any, kwargs: Any) -> tuple[tuple[Any, Any], Static]:
        """The call with None (which has no leaf) for each static argument, and the static arguments."""
        static = {}
        dynamic = list(args)
        for place, name in enumerate(self.names[: len(args)]):
            if name in self.static:
                static[name] = args[place]
                dynamic[place] = None
        given = {name: value for name, value in kwargs.items() if name in self.static}
        values = tuple((name, type(value), value) for name, value in sorted((static | given).items()))
        return (tuple(dynamic), {**kwargs, **dict.fromkeys(given)}), values

    def describe(self, tree: Any, static: Static) -> Call:
        """A call whose arguments, without the static ones, have this structure."""
        places = tree_util.tree_unflatten(tree, range(tree.num_leaves))
        try:
            arguments = bind(self.signature, *places)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None
        fixed = {name: value for name, _, value in static}
        named = {name: value for name, value in arguments.items() if name not in fixed}
        order = leaves_of(named)

        @functools.wraps(self.function, assigned=(), updated=())  # JAX's errors say where it stands
        def function(leaves: Sequence[Any]) -> Any:
            """The function of the leaves in the order of `named`."""
            by_place = dict(zip(order, leaves, strict=True))
            positional, keyword = tree_util.tree_unflatten(tree, [by_place[i] for i in range(len(order))])
            named_places = [fixed.get(name, x) for name, x in zip(self.names, positional, strict=False)]
            rest = positional[len(self.names) :]
            return self.function(*named_places, *rest, **{name: fixed.get(name, x) for name, x in keyword.items()})

        return Call(named, static, function)

    def specs(self, call: Call, leaves: Sequence[Any]) -> dict[str, Any]:
        """Specs of the call's arguments, with the names of axes.

        Raises:
            GraphError: dims do not fit the arguments.
        """
        arguments = {name: tree_util.tree_map(leaves.__getitem__, places) for name, places in call.places.items()}
        return name_axes(arguments, {name: axes for name, axes in self.dims.items() if name in arguments})

    def read(self, args: Any, kwargs: Any) -> tuple[Any, list[Any], Call, dict[str, Any]]:
        """A call without its static arguments, the leaves of that, what it is, and its specs."""
        dynamic, static = self.split(args, kwargs)
        leaves, tree = tree_util.tree_flatten(dynamic)
        call = self.describe(tree, static)
        return dynamic, leaves, call, self.specs(call, leaves)


def is_named(specs: Mapping[str, Any]) -> bool:
    """Whether some size has a name."""
    return any(isinstance(size, str) for spec in leaves_of(specs) for size in spec.shape)


def sizes_of(call: Call, specs: Mapping[str, Any], leaves: Sequence[Any]) -> dict[str, int]:
    """The call's sizes that have names.

    Raises:
        ArgumentShapeError: they contradict each other.
    """
    if not is_named(specs):
        return {}
    described = tuple(describe_arguments(specs))
    signature = Signature(described, (), find_roots(described))
    return find_sizes(signature, [np.shape(leaves[place]) for place in leaves_of(call.places)])


def leaves_of(arguments: Mapping[str, Any]) -> list[Any]:
    """The leaves of all arguments, in the arguments' order (a dictionary's own is alphabetical)."""
    return tree_util.tree_leaves(list(arguments.values()))


def kind_of(value: Any) -> tuple[Any, ...]:
    """A key that differs where flat arguments need different programs; a Python number has its type alone."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return type(value), shape, dtype, getattr(value, "weak_type", None), has_sharded_type(value)


def has_sharded_type(value: Any) -> bool:
    """Whether an array's type says how it lies on a mesh with explicit axes."""
    aval = getattr(value, "aval", None)
    if aval is None:
        return False
    kinds: Any = getattr(getattr(getattr(aval, "sharding", None), "mesh", None), "axis_types", None)
    return bool(kinds) and any(kind.name == "Explicit" for kind in kinds)


def types_of(leaves: Sequence[Any]) -> Key:
    """A key that differs where `jax.jit` traces arguments anew."""
    avals = [jax.typeof(leaf) for leaf in leaves]
    return (context(), *[(aval.shape, aval.dtype, aval.weak_type) for aval in avals])


# ---- plans ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Plan:
    """A plan for calls that look alike.

    Attributes:
        function: the program's, or None where `jax.jit` runs the call.
        prepare: puts them in the program's order and types, if they are not.
        restore: makes of the program's results the function's, if they are not the same.
        note: what an `OverflowError` of JAX's in such a call is about.
        recognizing: takes calls with such arrays quickly, and passes on all others; made after some of them.
    """

    function: Function | None = None
    prepare: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    restore: Callable[[Any], Any] | None = None
    note: str = ""
    recognizing: Callable[..., Any] | None = None

    @property
    def calls_python(self) -> bool:
        """Whether Python functions run in it."""
        return self.function is not None and bool(self.function.program.host_calls)


def preparation(
    order: Sequence[int], leaves: Sequence[Any], specs: Sequence[Any]
) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """A function from a call's flat arguments to the program's: order, random keys as integers, dtypes that JAX has.

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


def restoration(traced: Traced) -> Callable[[Any], Any] | None:
    """A function from the results of the program's `Function` to those of the traced function."""
    tree, keys = traced.tree, traced.keys
    count = len(keys)
    as_they_are = tree_util.tree_structure(0 if count == 1 else (0,) * count)
    if tree == as_they_are and not any(keys):
        return None

    def restore(outputs: Any) -> Any:
        results = [outputs] if count == 1 else list(outputs)
        for number, key in enumerate(keys):
            if key == jax.dtypes.float0:
                results[number] = np.zeros(results[number].shape, key)
            elif key is not None:
                results[number] = jax.random.wrap_key_data(results[number], impl=key)
        return tree_util.tree_unflatten(tree, results)

    return restore


def recognizing_call(
    avals: Sequence[Any],
    tree: Any,
    run: Callable[..., Any],
    prepare: Callable[[Sequence[Any]], Sequence[Any]] | None,
    restore: Callable[[Any], Any] | None,
    otherwise: Callable[..., Any],
) -> Callable[..., Any]:
    """A call that knows JAX arrays of certain types, and passes on all others. For one array:

        def call(a0=MISSING, /, *more, **keywords):
            if type(a0) is array and a0.aval is aval0 and context() == known and not disabled.value and not more and ..:
                return run(a0)
            return otherwise(*given(a0, *more), **keywords)

    Args:
        avals: the arrays' abstract ones; or an array, where it must be that very one.
        tree: the pytree of positional and keyword arguments; None where these are the arrays, by their places.
        run: takes the arrays.
        prepare: from the arrays to those that are run, if these are others.
        restore: from what comes back to the results, if these are others.
        otherwise: takes all other calls.
    """
    numbers = range(len(avals))
    names: dict[str, Any] = {f"aval{i}": aval for i, aval in enumerate(avals)}
    names |= {"array": ARRAY, "run": run, "prepare": prepare}
    names |= {"context": context, "known": context(), "disabled": DISABLED}
    free = "context() == known and not disabled.value"
    names |= {"restore": restore, "otherwise": otherwise, "MISSING": MISSING, "given": given_arguments}
    names |= {"flatten": tree_util.tree_flatten, "tree": tree}
    exact = [f"a{i} is aval{i}" if type(aval) is ARRAY else "" for i, aval in enumerate(avals)]
    same = " and ".join([exact[i] or f"type(a{i}) is array and a{i}.aval is aval{i}" for i in numbers]) or "True"
    passed = "".join(f"a{i}, " for i in numbers)
    outputs = f"run({passed})" if prepare is None else f"run(*prepare(({passed})))"
    returned = f"return {outputs}" if restore is None else f"return restore({outputs})"
    if tree is None:
        parameters = ", ".join([*(f"a{i}=MISSING" for i in numbers), *["/"] * bool(avals), "*more", "**keywords"])
        lines = [f"if {same} and {free} and not more and not keywords: {returned}"]
        rest = f"*given({passed}*more)"
    else:
        parameters, rest = "*args, **keywords", "*args"
        lines = [
            "leaves, found = flatten((args, keywords))",
            f"if found == tree and {free}:",
            f"    {passed or '_ '}= leaves",
            f"    if {same}: {returned}",
        ]
    return write(parameters, [*lines, f"return otherwise({rest}, **keywords)"], names)


# ---- programs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """One trace.

    Attributes:
        guards: what holds of the sizes that it is for.
        made: what was made of it.
    """

    guards: tuple[Constraint, ...]
    made: Found

    def fits(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is for these sizes."""
        return all(guard.holds(sizes) for guard in self.guards) and (self.agrees is None or self.agrees(sizes))

    @property
    def agrees(self) -> Callable[[Sizes], bool] | None:
        """Of one made of traces at several sizes, whether it is for these."""
        return self.made[0].agrees if isinstance(self.made, tuple) else None


@dataclass
class Programs:
    """The programs of a jitted function, by kinds of arguments and what Python decides of sizes.

    Attributes:
        name: the function's.
        constraints: what may be taken for granted of the sizes.
        options: how programs are compiled.
        dropped: gives who is told when a program is held no longer (a `weakref.WeakMethod`).
        donated: names of parameters whose memory results may take.
        data: names of parameters that are data.
        traces: how often the function was traced into a program.
    """

    name: str
    constraints: tuple[str, ...]
    options: CompileOptions
    dropped: Callable[[], Callable[[], None] | None] = lambda: None
    donated: Names = frozenset()
    data: Names = frozenset()
    traces: int = 0

    def __post_init__(self) -> None:
        self._lock = forks.lock()
        self._variants: dict[Key, list[Variant]] = {}
        self._tracing: dict[Key, Any] = {}  # locks, each for arguments of one kind
        self._traces_of: Counter[Key] = Counter()

    @property
    def target(self) -> str | None:
        """The platform that they are for; None for JAX's default device's."""
        return None if self.options.device is None else platform_of(self.options.device)

    @property
    def numpy(self) -> bool:
        """Whether calls return NumPy arrays."""
        return self.options.numpy is not None

    @property
    def planned(self) -> bool:
        """Whether executables have a plan for CPU."""
        return not self.options.cpu.plain and platform_of(self.options.device) == "cpu"

    @property
    def needed(self) -> bool:
        """Whether the policy needs a program where sizes have names: `jax.jit` compiles for each."""
        choices = self.options.policy.values() if isinstance(self.options.policy, Mapping) else [self.options.policy]
        return any(choice not in _MAY_COMPILE_PER_SIZE for choice in choices)

    def find(self, call: Call, specs: Specs, sizes: Sizes, make: Make | None = None, empty: Names = ()) -> Found:
        """The program for such arguments, traced now if there is none for these sizes, or why there is none.

        None where no size has a name and the passes find nothing to do: `jax.jit` is as good.

        Args:
            call, specs, sizes: the arguments'.
            make: of a row that is traced, makes what runs it; all are kept. By default, a `Function`.
            empty: names of sizes that are 0 in `specs`, for which no constraint counts.
        """
        flat, tree = tree_util.tree_flatten(list(specs.values()))
        kinds = tuple((spec.shape, spec.dtype, spec.weak_type) for spec in flat)
        key = (tuple(specs), tree, call.static, context(), kinds)
        with self._lock:
            tracing = self._tracing.setdefault(key, forks.lock())
        with tracing:
            variants = self._variants.setdefault(key, [])
            for number, variant in enumerate(variants):
                if variant.fits(sizes):
                    if number < len(variants) - 1:
                        variants.append(variants.pop(number))  # the one that was used last
                    return variant.made
            general = make is None and sum(variant.agrees is None for variant in variants) < _MAY_BE_GENERAL
            variant = self._variant(call, specs, sizes, make, empty, general=general)
            if make is not None:
                variants.append(variant)
                return variant.made
            if len(variants) >= self.options.cache_size:
                del variants[0]
                if (tell := self.dropped()) is not None:
                    tell()
            variants.append(variant)
            self._traces_of[key] += 1
            if self._traces_of[key] == _MANY_TRACES:
                self._warn_of_traces(variants)
            return variant.made

    def _variant(self, call: Call, specs: Specs, sizes: Sizes, make: Make | None, empty: Names, **how: Any) -> Variant:
        try:
            if make is None and not is_named(specs):
                return Variant((), self._make_static(call, specs))
            with self._lock:
                self.traces += 1
            traced = self.trace(call, specs, sizes, empty, **how)
            donated = frozenset(self._numbers(call, self.donated))
            options = replace(self.options.without(sizes, traced.program), donated=donated)
            made = make(traced) if make else self._function(call, traced.program, options)
            return Variant(traced.guards, (traced, made))
        except (GraphError, DeviceError):
            raise
        except HlographError as error:  # of which nothing else is known, it is for these sizes alone
            these = tuple(Constraint(dimension.symbol(name), "==", size) for name, size in sizes.items())
            return Variant(getattr(error, "guards", these), error)

    def _numbers(self, call: Call, parameters: Names) -> list[int]:
        names = [name for name, places in call.places.items() for _ in tree_util.tree_leaves(places)]
        return [number for number, name in enumerate(names) if name in parameters]

    def _function(self, call: Call, program: Program, options: CompileOptions) -> Function:
        if not self.data:
            return Function(program, options)
        from .data import DataFunction  # with the passes that prepare them

        arguments = program.signature.arguments
        return DataFunction(program, options, [arguments[n].name for n in self._numbers(call, self.data)])

    def _warn_of_traces(self, variants: Sequence[Variant]) -> None:
        lines = Counter(guard.where for variant in variants for guard in variant.guards)
        shown = {guard.where: guard for guard in variants[-1].guards}
        asked = [f"{shown[line]} at {line}" for line, _ in lines.most_common() if line in shown]
        warn(
            f"hlograph.jit: {self.name!r} was traced {_MANY_TRACES} times, because its Python code decides by sizes "
            f"(the last time {', '.join(asked[:3])}); sizes of which the same does not hold are another trace",
            RecompilationWarning,
        )

    def _make_static(self, call: Call, specs: dict[str, Any]) -> tuple[Traced, Function] | None:
        try:
            wanted = None if self.data else self._worth_lowering
            traced = trace(call.function, specs, name=self.name, platform=self.target, wanted=wanted)
        except NotWanted:
            return None
        if not self.data and not self._pays(traced.program):
            return None
        with self._lock:
            self.traces += 1
        return traced, self._function(call, traced.program, self.options)

    def _pays(self, program: Program) -> bool:
        changed = program.optimize_own(self.options.passes)
        # jax.jit takes none where it is nested.
        needs_options = compile_options(program, self.options.device) is not None
        needs_passes = any(program.find(bug.endangered) for bug in bugs_of(platform_of(self.options.device)))
        return changed or needs_options or needs_passes or self.numpy or (self.planned and cpu_plan.pays(program))

    def _worth_lowering(self, jaxpr: Any) -> bool:
        """Whether passes may find something in a jaxpr's module; if they hardly can, only the trace is lost."""
        if jaxpr.effects or calls_python(equations(jaxpr)):
            return False
        if self.numpy and self.planned:
            return True
        if platform_of(self.options.device) == "cpu" and _may_go_wrong(jaxpr.jaxpr):
            return True
        if largest(equations(jaxpr)) >= reduce_in_blocks.ELEMENTS:
            return True
        if most_rows(jaxpr) >= compress_rows.ROWS:
            return True
        return not is_default(self.options.passes) or cpu_plan.may_pay(jaxpr.jaxpr)

    def trace(self, call: Call, specs: Specs, sizes: Sizes | None = None, empty: Names = (), **how: Any) -> Traced:
        """The program of such arguments, traced now; a `general` one is to be asked for each set of sizes.

        Raises `UnsupportedGraphError` where JAX cannot trace the function with symbolic sizes.
        """
        kept = [text for text in self.constraints if not any(re.search(rf"\b{name}\b", text) for name in empty)]
        how |= {"constraints": kept, "platform": self.target, "sizes": sizes}
        return trace(call.function, specs, name=self.name, **how)

    @property
    def functions(self) -> list[Any]:
        """The compiled functions held now, one for each trace; of rows what was made of it."""
        return [variant.made[1] for variant in self._held]

    @property
    def _held(self) -> list[Any]:
        return [v for found in list(self._variants.values()) for v in list(found) if isinstance(v.made, tuple)]

    def guards(self, program: Program) -> tuple[Constraint, ...]:
        """Decisions by sizes of the function's Python code while one of its programs was traced."""
        return next((v.guards for v in self._held if v.made[0].program is program), ())

    def clear(self) -> None:
        """Drops all of them."""
        with self._lock:
            self._variants.clear()


def _may_go_wrong(jaxpr: Any) -> bool:
    """Whether XLA:CPU may ignore NaN in a jaxpr's maxima or minima, or take initial values in twice."""
    return any(
        equation.primitive.name == "reduce"
        or (
            equation.primitive.name in ("reduce_max", "reduce_min")
            and any(math.prod(x.aval.shape) >= LIBRARY for x in equation.invars)
        )
        for equation in equations(jaxpr)
    )
