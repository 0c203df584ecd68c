"""Derivatives and batches of functions that JAX traced, as programs: the transformed function is traced in its turn.

In: a program that `dialects/jax/trace.py` made, and what is wanted of it. Out: a program of `jax.jvp`, `jax.vjp` or
`jax.vmap` of the Python function, with the same symbolic sizes. Decisions to know: it is traced for the sizes of the
call that its origin was traced for, so Python decides the same by them; a decision that its origin did not ask for is
no program's (`UnsupportedGraphError`), since nothing would check it. A batch has its own size, of which nothing is
decided. A pullback computes the function again, which for arrays inside `jax.jit` costs more than JAX's own, so that is
used there unless the function is so long that JAX would compile for minutes, or JAX would keep a large array for it.

Equal equations of a function are one before JAX differentiates it: `x / y` written three times has one derivative
(`merging`). They give equal bits, so the function keeps its own; a gradient adds cotangents up before it multiplies,
where it would have added products. Equations with effects, calls of Python, foreign functions and draws with a state
are never merged; loops, branches and functions inside are gone through as the whole.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import tree_util
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun  # type: ignore[attr-defined]

from ...codegen.constraints import Constraint
from ...codegen.dtypes import kind_of
from ...codegen.errors import UnsupportedGraphError
from ...codegen.graph import fresh, is_name, unique
from ...codegen.ir.jax_compat import enable_x64, no_transformation, trace_state
from ...codegen.program import Made, Program
from ...codegen.signature import Argument, Result
from ...codegen.source import axes, restricted

Arrays = Sequence[Any]


@dataclass(frozen=True)
class TracedSource:
    """A function of arrays that JAX can trace.

    Attributes:
        function: the function, of the program's arguments; random keys are integers.
        inline: the same under `jax.jit`.
        trace: `dialects.jax.trace.trace` with the options of the first trace.
        weak: for each argument, whether its type gives way to others.
        guards: what was decided of the sizes.
        wide: whether JAX had 64-bit types.
        shares: whether it is so short, and its arrays so small, that JAX may keep them for its derivatives.
        repeats: whether JAX's rules for derivatives compute the same results.
        scales: whether its derivatives are JAX's own rules, which are linear, in floats that do not soon underflow.
    """

    function: Callable[[Arrays], list[Any]]
    inline: Callable[[Arrays], list[Any]]
    trace: Callable[..., Any]
    weak: tuple[bool, ...]
    guards: tuple[Constraint, ...]
    wide: bool
    shares: bool
    repeats: bool
    scales: bool

    def pushforward(self, program: Program, active: tuple[int, ...]) -> Made | None:
        """The program of `jax.jvp`."""
        count = len(program.signature.arguments)
        smooth = tuple(j for j, result in enumerate(program.signature.results) if kind_of(result.dtype) in "fc")
        if not smooth:
            return None

        def pushed(arrays: Arrays) -> list[Any]:
            primals, tangents = arrays[:count], arrays[count:]
            function = restricted(self.function, primals, active, smooth)
            return list(jax.jvp(function, [primals[i] for i in active], list(tangents))[1])

        arguments = self._arguments(program)
        tangents = [(f"{program.signature.arguments[i].name}_tangent", arguments[i][1]) for i in active]
        return Made(self._trace(pushed, [*arguments, *tangents], program, "jvp"), smooth)

    def pullback(self, program: Program, active: tuple[int, ...], seeded: tuple[int, ...]) -> Made | None:
        """The program of `jax.vjp`."""
        count = len(program.signature.arguments)

        def pulled(arrays: Arrays) -> list[Any]:
            primals, cotangents = arrays[:count], arrays[count:]
            function = restricted(self.function, primals, active, seeded)
            return list(jax.vjp(function, *[primals[i] for i in active])[1](list(cotangents)))

        results = [program.signature.results[j] for j in seeded]
        cotangents = [(f"{result.name}_cotangent", self._spec(program, result, False)) for result in results]
        return Made(self._trace(pulled, [*self._arguments(program), *cotangents], program, "vjp"), active)

    def gradient(self, program: Program, active: tuple[int, ...], of: int) -> Made | None:
        """The program of `jax.vjp`, at 1."""

        def with_gradient(arrays: Arrays) -> list[Any]:
            every = restricted(self.function, arrays, active)

            def function(*values: Any) -> tuple[Any, list[Any]]:
                results = every(*values)
                return results[of], results

            number, pull, results = jax.vjp(function, *[arrays[i] for i in active], has_aux=True)
            return [*results, *pull(jax.numpy.ones_like(number))]

        return Made(self._trace(with_gradient, self._arguments(program), program, "grad"), active)

    def batched(self, program: Program, mapped: tuple[bool, ...]) -> Made:
        """The program of `jax.vmap`; every result has the batch axis."""
        axis = fresh("batch", {root.name for root in program.signature.roots})
        in_axes = ([0 if flag else None for flag in mapped],)
        arguments = self._arguments(program, mapped, axis)
        made = self._trace(lambda arrays: jax.vmap(self.function, in_axes)(list(arrays)), arguments, program, "batched")
        count = len(program.signature.results)
        return Made(made, tuple(range(count)))

    # ---- tracing ------------------------------------------------------------------------------------------------

    def _arguments(
        self, program: Program, mapped: Sequence[bool] = (), axis: str | None = None
    ) -> list[tuple[str, jax.ShapeDtypeStruct]]:
        flags = mapped if axis else [False] * len(self.weak)
        return [
            (argument.name, self._spec(program, argument, weak, axis if flag else None))
            for argument, weak, flag in zip(program.signature.arguments, self.weak, flags, strict=True)
        ]

    def _spec(
        self, program: Program, item: Argument | Result, weak: bool, axis: str | None = None
    ) -> jax.ShapeDtypeStruct:
        shape = (*(() if axis is None else (axis,)), *axes(item, program.signature))
        if None in shape:
            raise UnsupportedGraphError(f"{item} has a size that its arguments do not have")
        spec: Any = jax.ShapeDtypeStruct
        return spec(shape, item.dtype, weak_type=weak)

    def _trace(
        self,
        function: Callable[[Arrays], list[Any]],
        arguments: Sequence[tuple[str, jax.ShapeDtypeStruct]],
        program: Program,
        what: str,
    ) -> Program:
        names = unique([name for name, _ in arguments])
        specs: Mapping[str, Any] = dict(zip(names, [spec for _, spec in arguments], strict=True))
        function.__dict__["__wrapped__"] = inspect.unwrap(self.function)
        with enable_x64(self.wide):
            traced = self.trace(function, specs, name=f"{program.name}_{what}")
        asked = {(guard.relation, guard.lhs - guard.rhs) for guard in self.guards}
        for guard in traced.guards:
            if (guard.relation, guard.lhs - guard.rhs) not in asked:
                raise UnsupportedGraphError(f"it asks whether {guard}, at {guard.where}, which the function does not")
        return traced.program


# ---- equal equations as one -----------------------------------------------------------------------------------------


# Parts of names of primitives whose equations stay apart.
_APART = ("callback", "custom_call", "ffi", "infeed", "outfeed", "rng_uniform", "run_state", "stablehlo_call")
# Those whose jaxprs are gone through.
_INSIDE = frozenset({"cond", "jit", "pjit", "scan", "while"})


def merging(function: Callable[..., Any], names: Sequence[str] = ()) -> Callable[..., Any]:
    """A function without duplicates; JAX's errors name the one that it was made of.

    Args:
        function: of pytrees of arrays, and of anything that is known.
        names: what JAX's errors call its arguments by place.
    """

    @functools.wraps(function)
    def merged(*args: Any, **kwargs: Any) -> Any:
        debugged: Any = jax.config
        if trace_state() == no_transformation() or debugged.jax_debug_nans or debugged.jax_debug_infs:
            return function(*args, **kwargs)  # each op runs on its own, and JAX looks at what it gives
        traced = {place: value for place, value in enumerate(args) if _is_traced(value)}
        named = {name: value for name, value in kwargs.items() if _is_traced(value)}
        shown = dict(enumerate(names))
        tree: Any = None

        @functools.wraps(function, assigned=(), updated=())
        def inner(*arrays: Any, **keywords: Any) -> list[Any]:
            nonlocal tree
            every = list(args)
            for place, value in zip(traced, arrays, strict=True):
                every[place] = value
            results, tree = tree_util.tree_flatten(function(*every, **{**kwargs, **keywords}))
            return results

        kind = inspect.Parameter
        placed = [kind(shown.get(place, f"arg{place}"), kind.POSITIONAL_ONLY) for place in traced]
        plain = [kind(name, kind.KEYWORD_ONLY) for name in named if is_name(name)]
        others = [kind(fresh("others", set(named)), kind.VAR_KEYWORD)] if len(plain) < len(named) else []
        inner.__dict__["__signature__"] = inspect.Signature([*placed, *plain, *others])
        made = without_duplicates(jax.make_jaxpr(inner)(*traced.values(), **named), {})
        results = jaxpr_as_fun(made)(*tree_util.tree_leaves((list(traced.values()), named)))
        return tree_util.tree_unflatten(tree, results)

    return merged


def _is_traced(value: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in tree_util.tree_leaves(value))


def without_duplicates(closed: ClosedJaxpr, done: dict[int, ClosedJaxpr]) -> ClosedJaxpr:
    """A jaxpr in which equal equations are one.

    Args:
        closed: it.
        done: those that were made of others, by the others' identity; JAX knows a function by its jaxpr.
    """
    if id(closed) in done:
        return done[id(closed)]
    new: dict[Any, Any] = {}
    known: dict[Any, list[Any]] = {}
    equations = []
    for equation in closed.jaxpr.eqns:
        inputs = [x if isinstance(x, Literal) else new.get(x, x) for x in equation.invars]
        params = {name: _inside(equation, value, done) for name, value in equation.params.items()}
        apart = equation.effects or any(part in equation.primitive.name for part in _APART)
        same = None if apart else _find(known, equation, inputs, params)
        if same is not None:
            new.update(zip(equation.outvars, same.outvars, strict=True))
            continue
        made = equation.replace(invars=inputs, params=params)
        known.setdefault(_key(equation, inputs), []).append(made)
        equations.append(made)
    outputs = [x if isinstance(x, Literal) else new.get(x, x) for x in closed.jaxpr.outvars]
    found = closed.replace(jaxpr=closed.jaxpr.replace(eqns=equations, outvars=outputs))
    done[id(closed)] = found
    return found


def _inside(equation: Any, value: Any, done: dict[int, ClosedJaxpr]) -> Any:
    if equation.primitive.name not in _INSIDE:
        return value
    if isinstance(value, ClosedJaxpr):
        return without_duplicates(value, done)
    if isinstance(value, tuple) and value and all(isinstance(item, ClosedJaxpr) for item in value):
        return tuple(without_duplicates(item, done) for item in value)
    return value


def _key(equation: Any, inputs: Sequence[Any]) -> Any:
    values = []
    for x in inputs:
        data = np.asarray(x.val) if isinstance(x, Literal) else None
        values.append(x if data is None else (x.aval, data.dtype, data.tobytes()))
    return (equation.primitive, *values, *[x.aval for x in equation.outvars])


def _find(known: dict[Any, list[Any]], equation: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    for other in known.get(_key(equation, inputs), ()):
        try:
            if bool(other.params == params):
                return other
        except ValueError:  # an array among them
            continue
    return None
