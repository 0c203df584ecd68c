"""Plans for calls that look alike: how flat arguments become the program's, and its results the function's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen import dims as dimension
from ...codegen.constraints import Constraint
from ...codegen.ir.jax_compat import short_calls
from ...dialects.jax.trace import Traced, is_key
from ..calls.arguments import MISSING
from ..calls.path import X64, given_arguments
from ..calls.writer import is_jax_array, write
from ..function import Function


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
    names |= {"array": questions.array, "x64": X64, "wide": X64.value, "run": run}
    names |= {
        "prepare": prepare,
        "restore": restore,
        "otherwise": otherwise,
        "MISSING": MISSING,
        "given": given_arguments,
    }
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
