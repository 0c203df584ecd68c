"""Calls of a jitted function: its parameters, and arguments as leaves, as the program of a trace takes them.

In: what a call is given. Out: the same without static arguments, as flat arguments with the place of each
(`Parameters.describe`), and the sizes of the axes that have names; a plan for calls that look alike: how flat arguments
become the program's, and its results the function's; and such a call lowered ahead of time.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen import dims as dimension
from ...codegen.constraints import Constraint
from ...codegen.dims import parse
from ...codegen.ir.jax_compat import short_calls, x64_flag
from ...codegen.ir.tidy import tidy
from ...codegen.signature import Signature, find_roots
from ...dialects.jax.axes import describe_arguments, name_axes
from ...dialects.jax.module import bind, name_of, signature_of
from ...dialects.jax.trace import Traced, is_key
from ..calls.arguments import MISSING, find_sizes, shape_and_dtype
from ..calls.path import given_arguments
from ..calls.writer import is_jax_array, write
from ..function import Function
from ..lowered.ahead import AheadFunction, wanted_sharding
from ..lowered.stages import Lowered, Stages

Key = Hashable
X64 = x64_flag()
Static = tuple[tuple[str, type, Any], ...]  # name, type (1 == 1.0 == True) and value, by name


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
    """

    def __init__(
        self, function: Callable[..., Any], static_argnames: Any, static_argnums: Any, dims: Mapping[str, Any]
    ) -> None:
        self.function = function
        self.name = name_of(function)
        self.signature = signature_of(function)
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.names = tuple(name for name, parameter in self.signature.parameters.items() if parameter.kind in kinds)
        self.static = self._static_parameters(static_argnames, static_argnums)
        self.dims = dict(dims)
        self._check_names("dims", dims)
        for name in dims:
            if name in self.static:
                raise ValueError(f"dims names {name!r}, which is static")

    def _static_parameters(self, names: Any, numbers: Any) -> frozenset[str]:
        found = {names} if isinstance(names, str) else set(names)
        for number in (numbers,) if isinstance(numbers, int) else numbers:
            place = number + len(self.names) if number < 0 else number
            if not 0 <= place < len(self.names):
                raise ValueError(f"static_argnums has {number}, which is no place in {self.name}{self.signature}")
            found.add(self.names[place])
        self._check_names("static_argnames", found)
        return frozenset(found)

    def _check_names(self, what: str, names: Any) -> None:
        parameters = self.signature.parameters
        if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
            return
        for name in names:
            if name not in parameters:
                raise ValueError(f"{what} names {name!r}, which is no parameter of {self.name}{self.signature}")

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

    def resized(self, args: Any, kwargs: Any, sizes: Mapping[str, int]) -> tuple[Any, Any]:
        """The call with specs of these sizes in place of its arrays."""
        dynamic, leaves, call, specs = self.read(args, kwargs)
        for place, spec in zip(leaves_of(call.places), leaves_of(specs), strict=True):
            if spec.shape:
                shape = [x if isinstance(x, int) else dimension.evaluate(parse(str(x)), sizes) for x in spec.shape]
                leaves[place] = jax.ShapeDtypeStruct(tuple(shape), spec.dtype)
        positional, keywords = tree_util.tree_unflatten(tree_util.tree_structure(dynamic), leaves)
        fixed = {name: value for name, _, value in call.static}
        places = [args[i] if name in fixed else positional[i] for i, name in enumerate(self.names[: len(args)])]
        return (*places, *positional[len(places) :]), {name: fixed.get(name, x) for name, x in keywords.items()}


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
    return (X64.value, *[(aval.shape, aval.dtype, aval.weak_type) for aval in avals])


# ---- plans ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Plan:
    """A plan for calls that look alike.

    Attributes:
        function: the program's, or None where `jax.jit` runs the call.
        prepare: puts them in the program's order and types, if they are not.
        restore: makes of the program's results the function's, if they are not the same.
        note: what an `OverflowError` of JAX's in such a call is about.
        recognizing: takes calls with such arrays at a glance, and passes on all others; made after some of them.
    """

    function: Function | None = None
    prepare: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    restore: Callable[[Any], Any] | None = None
    note: str = ""
    recognizing: Callable[..., Any] | None = None


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
            if key is not None:
                results[number] = jax.random.wrap_key_data(results[number], impl=key)
        return tree_util.tree_unflatten(tree, results)

    return restore


def overflow_note(limit: Constraint, sizes: Mapping[str, int]) -> str:
    """A number that does not fit, and at which size."""
    dim = limit.rhs if isinstance(limit.lhs, int) else limit.lhs
    at = ", ".join(f"{name} = {sizes[name]}" for name in sorted(dimension.roots(dim)))
    return f"{dim} is {dimension.evaluate(dim, sizes)} for {at}, {limit.where}"


def to_numpy(x: Any) -> Any:
    """A result as a NumPy array; random keys, and what is traced, stay what they are."""
    return x if is_key(x) or isinstance(x, jax.core.Tracer) else np.asarray(x)


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
            if type(a0) is array and a0.aval is aval0 and x64.value is wide and not more and not keywords:
                return run(a0)
            return otherwise(*given(a0, *more), **keywords)

    Args:
        avals: the arrays' abstract ones.
        tree: the pytree of positional and keyword arguments; None where these are the arrays, by their places.
        run: takes the arrays.
        prepare: from the arrays to those that are run, if these are others.
        restore: from what comes back to the results, if these are others.
        otherwise: takes all other calls.
    """
    questions = short_calls()
    assert questions is not None
    numbers = range(len(avals))
    names: dict[str, Any] = {f"aval{i}": aval for i, aval in enumerate(avals)}
    names |= {"array": questions.array, "x64": X64, "wide": X64.value, "run": run, "prepare": prepare}
    names |= {"restore": restore, "otherwise": otherwise, "MISSING": MISSING, "given": given_arguments}
    names |= {"flatten": tree_util.tree_flatten, "tree": tree}
    same = " and ".join([is_jax_array(f"a{i}", i) for i in numbers]) or "True"
    passed = "".join(f"a{i}, " for i in numbers)
    outputs = f"run({passed})" if prepare is None else f"run(*prepare(({passed})))"
    returned = f"return {outputs}" if restore is None else f"return restore({outputs})"
    if tree is None:
        parameters = ", ".join([*(f"a{i}=MISSING" for i in numbers), *["/"] * bool(avals), "*more", "**keywords"])
        lines = [f"if {same} and x64.value is wide and not more and not keywords: {returned}"]
        rest = f"*given({passed}*more)"
    else:
        parameters, rest = "*args, **keywords", "*args"
        lines = [
            "leaves, found = flatten((args, keywords))",
            "if found == tree and x64.value is wide:",
            f"    {passed or '_ '}= leaves",
            f"    if {same}: {returned}",
        ]
    return write(parameters, [*lines, f"return otherwise({rest}, **keywords)"], names)


# ---- lowering -------------------------------------------------------------------------------------------------------


def lower_by_jax(jitted: Any, args: Any, kwargs: Any, stages: Callable[[], Stages]) -> Lowered:
    """Lowers a function that `jax.jit` runs as it is."""
    lowered = jitted.lower(*args, **kwargs)
    module = lowered.compiler_ir("stablehlo")  # JAX's own, of which it makes the text and the executable
    tidy(module)
    return Lowered.of(lowered, stages)


def lower(ahead: AheadFunction, traced: Traced, parameters: Parameters, call: Call, dynamic: Any) -> Lowered:
    """Lowers a call of a traced function, ahead of time: with the function's arguments and results, as `jax.jit` does.

    Where sizes are padded the program's own arguments stay: arrays of the bounds' shapes with the live sizes behind.

    Args:
        ahead: of its program.
        traced: it.
        parameters: the function's.
        call: for each argument of the program its place among the leaves of the call.
        dynamic: the call, with None for each static argument.
    """
    static, order, restore = parameters.static, leaves_of(call.places), restoration(traced)
    places = {place for place, name in enumerate(parameters.names) if name in static}
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
        signature = parameters.signature
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
        own = tuple(argument.dims[len(shape) :])  # the integers that a key consists of
        flat.append(jax.ShapeDtypeStruct((*shape, *own), argument.dtype, sharding=wanted_sharding(value)))
    return ahead.lower_around(flat, {}, around)
