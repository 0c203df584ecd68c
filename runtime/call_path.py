"""The way of a call whose sizes are known, written out for one function as Python code and compiled once.

In: a program's signature, and what to do with calls that are not of that kind. Out: a function of a call's arguments.
For arguments `x: float64[n]` and `k: int64[]`, where k decides a size, it reads

    def call(args):
        try:
            if type(args[0]) in tracers or type(args[1]) in tracers:
                return traced(args)
            if type(args[1]) is int:
                check_fits(argument_1, args[1])
            entry = entries[args[0].shape[0], index(args[1]),]
        except unknown:
            return slow(args)
        if not entry.ready:
            return slow(args)
        entry.used = count()
        if not x64.value:
            return in_x64(entry.run, widened(args))
        return entry.run(*args)

What a call costs beyond JAX's own is spent here, so nothing stands here that could be done once. A loop over the
arguments in place of the written-out expressions would take three times as long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax

from ..codegen.jax_compat import x64_caller, x64_flag
from ..codegen.signature import Root, Signature
from .arguments import check_fits

Call = Callable[[Sequence[Any]], Any]

X64 = x64_flag()
_INLINE = 5  # up to so many arguments are asked one by one whether they are tracers
_UNKNOWN = (KeyError, AttributeError, IndexError, TypeError)


def _subclasses(class_: type) -> set[type]:
    return {class_}.union(*map(_subclasses, class_.__subclasses__()))


# Those that exist now: `jax.jit` takes care of any others.
TRACERS = frozenset(_subclasses(jax.core.Tracer))


def key_text(roots: Sequence[Root]) -> str:
    """The sizes and values that decide on the executable, as an expression in `args`."""
    parts = []
    for root in roots:
        value = f"args[{root.argument:d}]"
        if root.axis is not None:
            parts.append(f"{value}.shape[{root.axis:d}],")
        else:
            element = "" if root.element is None else f"[{root.element:d}]"
            parts.append(f"index({value}{element}),")
    return f"({''.join(parts)})"


def key_function(roots: Sequence[Root]) -> Callable[[Sequence[Any]], tuple[int, ...]]:
    """From a call's arguments to the sizes and values that decide on the executable."""
    found: Callable[[Sequence[Any]], tuple[int, ...]] = eval(
        f"lambda args: {key_text(roots)}", {"index": operator.index}
    )
    return found


def call_function(
    signature: Signature,
    *,
    entries: dict[Any, Any],
    count: Callable[[], int],
    slow: Call,
    traced: Call,
    checked: Callable[[Any, Any], Any],
    widened: Call | None,
) -> Call:
    """The function of a call's arguments.

    Args:
        signature: the program's.
        entries: key to what runs calls with such sizes (with `ready`, `used`, `run` and `checks`).
        count: the number of this call.
        slow: for calls whose sizes are not known yet, or with something wrong about them.
        traced: for calls with JAX's tracers.
        checked: raises for checks that failed; from checks and the outputs to the results.
        widened: for programs with 64-bit types, called where JAX has none: arguments in the program's types.
    """
    number = len(signature.arguments)
    if number > _INLINE:
        test = "not no_tracers(map(type, args))"
    else:
        test = " or ".join(f"type(args[{i:d}]) in tracers" for i in range(number))
    lines = ["try:"]
    if test:
        lines += [f"    if {test}:", "        return traced(args)"]
    names: dict[str, Any] = {
        "tracers": TRACERS,
        "no_tracers": TRACERS.isdisjoint,
        "traced": traced,
        "slow": slow,
        "entries": entries,
        "count": count,
        "index": operator.index,
        "unknown": _UNKNOWN,
        "check_fits": check_fits,
        "checked": checked,
        "x64": X64,
        "in_x64": x64_caller(),
        "widened": widened,
    }
    for i, argument in enumerate(signature.arguments):
        # A Python int has no dtype that could be checked; JAX would wrap it around.
        if argument.dtype.kind in "iu" and not argument.dims:
            names[f"argument_{i:d}"] = argument
            lines += [f"    if type(args[{i:d}]) is int:", f"        check_fits(argument_{i:d}, args[{i:d}])"]
    lines += [f"    entry = entries[{key_text(signature.roots)}]", "except unknown:", "    return slow(args)"]
    lines += ["if not entry.ready:", "    return slow(args)", "entry.used = count()"]
    if widened is not None:
        lines += ["outputs = entry.run(*args) if x64.value else in_x64(entry.run, widened(args))"]
    else:
        lines += ["outputs = entry.run(*args)"]
    lines += ["return checked(entry.checks, outputs) if entry.checks else outputs"]
    if not signature.checks:
        lines[-1] = "return outputs"
    parameters = ", ".join(names)
    source = f"def make({parameters}):\n    def call(args):\n" + "".join(f"        {line}\n" for line in lines)
    scope: dict[str, Any] = {}
    exec(source + "    return call\n", scope)
    made: Call = scope["make"](**names)
    return made
