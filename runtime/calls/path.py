"""The way of a call whose sizes are known, written out for one function as Python code and compiled once.

In: a program's signature, and what to do with calls that are not of that kind. Out: the function's `__call__`. For
arguments `x: float64[n]` and `k: int64[]`, where k decides a size, it reads

    def call(a0=MISSING, a1=MISSING, *more):
        try:
            if type(a0) in tracers or type(a1) in tracers: return traced(given(a0, a1, *more))
            if type(a1) is int: check_fits(argument_1, a1)
            entry = entries[a0.shape[0], index(a1),]
        except unknown: return slow(given(a0, a1, *more))
        if a1 is MISSING or more or not entry.ready: return slow(given(a0, a1, *more))
        entry.used = count()
        try: outputs = entry.call(a0, a1) if x64.value else in_x64(entry.call, widened((a0, a1,)))
        except failing as error: return failed(entry, (a0, a1,), error)
        return checked(entry.checks, outputs) if entry.checks else outputs

Callers give `a0` by the name `x` too, and `a1` by the name `k` (see `writer.write`).

Where no value decides a size, and nothing is checked, calls with JAX arrays are tried in a shorter way first, see
`short.py`, which writes what stands before that, and before the results are returned.

What a call costs beyond JAX's own is spent here, so nothing stands here that could be done once. A call through a
second Python function, or a loop over the arguments in place of the written-out expressions, would cost as much again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax

from ...codegen.dtypes import kind_of
from ...codegen.ir.jax_checks import is_checkified, trace_mode
from ...codegen.ir.jax_compat import x64_caller, x64_flag
from ...codegen.signature import Root, Signature
from .arguments import MISSING, check_fits
from .short import ShortCall
from .writer import write

Call = Callable[[Sequence[Any]], Any]

X64 = x64_flag()
_INLINE = 5  # up to so many arguments are asked one by one whether they are tracers
_UNKNOWN = (KeyError, AttributeError, IndexError, TypeError)


def _subclasses(class_: type) -> set[type]:
    return {class_}.union(*map(_subclasses, class_.__subclasses__()))


# Those that exist now: `jax.jit` takes care of any others.
TRACERS = frozenset(_subclasses(jax.core.Tracer))


def _key_text(roots: Sequence[Root], argument: str) -> str:
    """The sizes and values that decide on the executable, as an expression in the arguments."""
    parts = []
    for root in roots:
        value = argument.format(root.argument)
        if root.axis is not None:
            parts.append(f"{value}.shape[{root.axis:d}],")
        else:
            element = "" if root.element is None else f"[{root.element:d}]"
            parts.append(f"index({value}{element}),")
    return f"({''.join(parts)})"


def given_arguments(*args: Any) -> tuple[Any, ...]:
    """The arguments that a call has, `MISSING` for those that are left out before another one."""
    count = len(args)
    while count and args[count - 1] is MISSING:
        count -= 1
    return args[:count]


def call_function(
    signature: Signature,
    *,
    name: str,
    entries: dict[Any, Any],
    count: Callable[[], int],
    slow: Call,
    traced: Call,
    failed: Callable[[Any, Sequence[Any], Any], Any],
    checked: Callable[[Any, Any], Any],
    widened: Call | None,
    shorter: ShortCall | None,
    returns_jax: bool,
) -> Callable[..., Any]:
    """What a function's calls run.

    Args:
        signature: the program's.
        name: the program's.
        entries: key to what runs calls with such sizes (with `ready`, `used`, `call` and `checks`).
        count: the number of this call.
        slow: for calls whose sizes are not known yet, or with something wrong about them.
        traced: for calls with JAX's tracers.
        failed: for calls that JAX refuses, as it does while something else is traced, and for what is no array for it;
            and those in which JAX, asked to look for them, has found NaN or infinity.
        checked: raises for checks that failed; from checks and the outputs to the results.
        widened: for programs with 64-bit types, called where JAX has none: arguments in the program's types.
        shorter: writes the shorter way for JAX arrays, if there is one.
        returns_jax: whether all results are JAX's. Others can be made while `checkify` looks, which sees nothing of it:
            such a call is traced, too.
    """
    number = len(signature.arguments)
    values = [f"a{i:d}" for i in range(number)]
    passed = "".join(f"{value}, " for value in values)
    if number > _INLINE:
        test = f"not no_tracers(map(type, ({passed})))"
    else:
        test = " or ".join(f"type({value}) in tracers" for value in values)
    given = f"given({passed}*more)"
    names: dict[str, Any] = {
        "MISSING": MISSING,
        "given": given_arguments,
        "tracers": TRACERS,
        "no_tracers": TRACERS.isdisjoint,
        "traced": traced,
        "failed": failed,
        "failing": (ValueError, TypeError, FloatingPointError),
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
    lines = [] if shorter is None else shorter.before(names)
    if not returns_jax:
        # One question for all arguments, which are no tracers where nothing is traced.
        mode, attribute, names["untraced"] = trace_mode()
        names |= {"trace": mode, "is_checkified": is_checkified}
        test = f"trace.{attribute} is not untraced and ({f'{test} or ' if test else ''}is_checkified())"
    # Outside of `try`: what a Python function in the program raises is no unknown size.
    lines += [f"if {test}: return traced({given})"] if test else []
    lines += ["try:"]
    for i, argument in enumerate(signature.arguments):
        # A Python int has no dtype that could be checked; JAX would wrap it around.
        if kind_of(argument.dtype) in "iu" and not argument.dims:
            names[f"argument_{i:d}"] = argument
            lines += [f"    if type(a{i:d}) is int: check_fits(argument_{i:d}, a{i:d})"]
    lines += [f"    entry = entries[{_key_text(signature.roots, 'a{}')}]", f"except unknown: return slow({given})"]
    missing = f"{values[-1]} is MISSING or " if values else ""
    lines += [f"if {missing}more or not entry.ready: return slow({given})", "entry.used = count()"]
    run = f"entry.call({passed})"
    if widened is not None:
        run += f" if x64.value else in_x64(entry.call, widened(({passed})))"
    fails = f"except failing as error: return failed(entry, ({passed}), error)"
    if signature.checks:
        lines += [
            f"try: outputs = {run}",
            fails,
            "return checked(entry.checks, outputs) if entry.checks else outputs",
        ]
    elif shorter is None:
        lines += [f"try: return {run}", fails]
    else:
        lines += [f"try: outputs = {run}", fails, shorter.after(names, passed), "return outputs"]
    parameters = ", ".join([*(f"{value}=MISSING" for value in values), "*more"])
    keywords = dict(zip(values, [argument.name for argument in signature.arguments], strict=True))
    return write(parameters, lines, names, name=name, keywords=keywords)
