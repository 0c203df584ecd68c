"""Equal equations of a function as one, before JAX differentiates it: `x / y` written three times has one derivative.

In: a function that JAX traces. Out: a function that is traced as it is called, and does what its jaxpr says without the
duplicates; outside of a trace, and where NaN is looked for, it is the function itself. Equal equations give equal bits,
so the function keeps its own; a gradient adds cotangents up before it multiplies, where it would have added products.
Decision to know: equations with effects, calls of Python, foreign functions and draws with a state are never merged;
loops, branches and functions inside are gone through as the whole.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import tree_util
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun  # type: ignore[attr-defined]

from ...codegen.inputs import fresh, is_name
from ...codegen.ir.jax_compat import no_transformation, trace_state

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
        same = None if _is_apart(equation) else _find(known, equation, inputs, params)
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


def _is_apart(equation: Any) -> bool:
    name = equation.primitive.name
    return bool(equation.effects) or any(part in name for part in _APART)


def _key(equation: Any, inputs: Sequence[Any]) -> Any:
    return (equation.primitive, *map(_operand, inputs), *[x.aval for x in equation.outvars])


def _operand(x: Any) -> Any:
    if not isinstance(x, Literal):
        return x
    value = np.asarray(x.val)
    return x.aval, value.dtype, value.tobytes()


def _find(known: dict[Any, list[Any]], equation: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    for other in known.get(_key(equation, inputs), ()):
        try:
            if bool(other.params == params):
                return other
        except ValueError:  # an array among them
            continue
    return None
