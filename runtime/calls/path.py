"""The way of a call whose sizes are known, written out for one function as Python code and compiled once.

This is the one writer of generated code. Names in it are the function's closure, not its globals, so that a function
holds what it uses and no dictionary; guards of arguments are written here too, one for each kind of argument.

In: a program's signature, and what to do with calls that are not of that kind. Out: the function's `__call__`. For
arguments `x: float64[n]` and `k: int64[]`, where k decides a size, it reads

    def call(a0=MISSING, a1=MISSING, *more):
        if type(a0) in tracers or type(a1) in tracers: return traced(given(a0, a1, *more))
        try:
            if type(a1) is int: check_fits(argument_1, a1)
            entry = entries[a0.shape[0], index(a1),]
        except unknown: return slow(given(a0, a1, *more))
        if a1 is MISSING or more or not entry.way.ready: return slow(given(a0, a1, *more))
        if not x64.value: a0, a1, = widened((a0, a1,))
        entry.used = count()
        try:
            if x64.value: outputs = entry.way.run(a0, a1)
            else:
                before = swap(True)
                try: outputs = entry.way.run(a0, a1)
                finally: restore(before)
        except failing as error: return failed(entry, (a0, a1,), error)
        return checked(entry.checks, outputs) if entry.checks else outputs

Callers give `a0` by the name `x` too, and `a1` by the name `k` (see `write`).

Where no value decides a size, JAX arrays of the types of an earlier call need none of these questions: for
`x: float64[n]`, `y: float64[n]`

    avals, entry = latest[0]
    if not (type(a0) is array and type(a1) is array and (a0.aval, a1.aval,) == avals and not more):

stands before that, up to where `entry` is known, and behind it `if not entry.used & 15: find(entry, (a0, a1,))`. A
function has one such record, that of the latest executable: a lookup by types would cost more than the other questions
together. What a call costs beyond JAX's own is spent here, so nothing stands here that could be done once. A call
through a second Python function, or a loop over the arguments in place of the written-out expressions, would cost as
much again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import jax
import numpy as np

from ...codegen.dtypes import kind_of
from ...codegen.ir.jax_compat import array_type, is_checkified, trace_mode, x64_flag, x64_switch
from ...codegen.signature import Root, Signature
from .arguments import MISSING, check_fits, is_misread

X64 = x64_flag()
ARRAY: Any = array_type()
_INLINE = 5  # up to this many arguments are asked one by one whether they are tracers
_OFTEN = 16  # of this many calls that are asked everything, one has its arrays' types taken note of; a power of two
_UNKNOWN = (KeyError, AttributeError, IndexError, TypeError)


def _subclasses(class_: type) -> set[type]:
    return {class_}.union(*map(_subclasses, class_.__subclasses__()))


# Those that exist now: `jax.jit` takes care of any others.
TRACERS = frozenset(_subclasses(jax.core.Tracer))


def _key_text(roots: Sequence[Root], argument: str) -> str:
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
    signature: Signature, ways: Mapping[str, Any], *, name: str, latest: list[Any] | None, returns_jax: bool
) -> Callable[..., Any]:
    """What a function's calls run.

    Args:
        signature: the program's.
        ways: what the lines name. `entries`: key to what serves calls with such sizes (with `way`, `used` and
            `checks`). `count` gives the number of this call. `slow` is for calls whose sizes are not known yet, or with
            something wrong about them; `traced` for calls with JAX's tracers; `failed` for calls that JAX refuses, as
            it does while something else is traced, for what is no array for it, and for those in which JAX, asked to
            look for them, has found NaN or infinity. `checked` raises for checks that failed; from checks and the
            outputs to the results. `widened` gives arguments in the program's 64-bit types where JAX has none; None for
            a program without such. `find` takes note of a call's arrays in `latest`, if they are such.
        name: the program's.
        latest: the record, alone in a list; None where there is none.
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
    names = {"MISSING": MISSING, "given": given_arguments, "tracers": TRACERS, "no_tracers": TRACERS.isdisjoint, **ways}
    names |= {"failing": (ValueError, TypeError, FloatingPointError), "index": operator.index, "unknown": _UNKNOWN}
    names |= {"check_fits": check_fits, "x64": X64, "array": ARRAY, "latest": latest, "misread": is_misread}
    if not returns_jax:
        # One question for all arguments, which are no tracers where nothing is traced.
        mode, attribute, names["untraced"] = trace_mode()
        names |= {"trace": mode, "is_checkified": is_checkified}
        test = f"trace.{attribute} is not untraced and ({f'{test} or ' if test else ''}is_checkified())"
    # Outside of `try`: what a Python function in the program raises is no unknown size.
    lines = [f"if {test}: return traced({given})"] if test else []
    lines += ["try:"]
    for i, argument in enumerate(signature.arguments):
        # A Python int has no dtype that could be checked; JAX would wrap it around.
        if kind_of(argument.dtype) in "iu" and not argument.dims:
            names[f"argument_{i:d}"] = argument
            lines += [f"    if type(a{i:d}) is int: check_fits(argument_{i:d}, a{i:d})"]
    lines += [f"    entry = entries[{_key_text(signature.roots, 'a{}')}]", f"except unknown: return slow({given})"]
    missing = f"{values[-1]} is MISSING or " if values else ""
    misread = "".join(f" or type({value}) is not array and misread({value})" for value in values if returns_jax)
    lines += [f"if {missing}more or not entry.way.ready{misread}: return slow({given})"]
    wide = ways["widened"] is not None
    if wide and values:
        lines += [f"if not x64.value: {passed}= widened(({passed}))"]
    if latest is not None:
        lines += [f"if not entry.used & {_OFTEN - 1:d}: find(entry, ({passed}))"]
        same = " and ".join(f"type({value}) is array" for value in values)
        same += f" and ({''.join(f'{value}.aval, ' for value in values)}) == avals"
        lines = ["avals, entry = latest[0]", f"if not ({same} and not more):", *(f"    {line}" for line in lines)]
    run = f"outputs = entry.way.run({passed})"
    tried = [f"try: {run}"]
    if wide:
        names["swap"], names["restore"] = x64_switch()
        tried = ["try:", f"    if x64.value: {run}", "    else:", "        before = swap(True)"]
        tried += [f"        try: {run}", "        finally: restore(before)"]
    lines += ["entry.used = count()", *tried, f"except failing as error: return failed(entry, ({passed}), error)"]
    lines += [f"return {'checked(entry.checks, outputs) if entry.checks else ' if signature.checks else ''}outputs"]
    parameters = ", ".join([*(f"{value}=MISSING" for value in values), "*more"])
    keywords = dict(zip(values, [argument.name for argument in signature.arguments], strict=True))
    return write(parameters, lines, names, name=name, keywords=keywords)


# ---- writing ---------------------------------------------------------------------------------------------------------

# Python's numbers that NumPy and JAX convert to the same value.
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "d": (float, int),
    "f": (float,),
    "e": (float,),
    "?": (bool,),
    "D": (complex, float),
}


def write(
    parameters: str,
    lines: Sequence[str],
    names: Mapping[str, Any],
    *,
    name: str = "call",
    keywords: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """A function of these parameters and lines.

    Args:
        parameters: as they stand between the parentheses of a definition.
        lines: the body; deeper lines are indented by four spaces a level.
        names: what the names in the lines stand for.
        name: what the function is called in tracebacks.
        keywords: for parameters the names that callers give them by; any text.
    """
    body = "".join(f"        {line}\n" for line in lines)
    source = f"def make({', '.join(names)}):\n    def call({parameters}):\n{body}    return call\n"
    scope: dict[str, Any] = {}
    exec(source, scope)
    made: Any = scope["make"](**names)
    code = made.__code__
    # Arguments are bound by these names alone, and the lines find them by their places: Python itself takes
    # keywords, at no cost to calls without.
    variables = tuple((keywords or {}).get(x, x) for x in code.co_varnames)
    made.__code__ = code.replace(co_name=name, co_qualname=name, co_varnames=variables)
    made.__name__ = made.__qualname__ = name
    return made


def not_an_array(name: str, number: int, names: dict[str, Any], dtype: Any, shape: tuple[int, ...] | None) -> str:
    """Whether an argument is no NumPy array of a dtype and, if one is given, of a shape: a condition."""
    # A dtype that was unpickled is another object; None, of a sparse matrix, is that of no array.
    names |= {"ndarray": np.ndarray, f"dtype{number}": None if dtype is None else np.dtype(dtype.type)}
    text = f"type({name}) is not ndarray or {name}.dtype is not dtype{number}"
    if shape is None:
        return text
    names[f"shape{number}"] = shape
    return f"{text} or {name}.shape != shape{number}"


def not_a_scalar(name: str, number: int, names: dict[str, Any], dtype: np.dtype[Any]) -> tuple[str, str]:
    """Whether an argument is nothing that becomes a scalar of a dtype without loss: a line before, and a condition."""
    names |= {"ndarray": np.ndarray, f"dtype{number}": np.dtype(dtype.type)}
    names[f"scalars{number}"] = {dtype.type, *_PYTHON_TYPES.get(dtype.char, ())}
    test = f"t not in scalars{number}"
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        test += f" and (t is not int or not {info.min:d} <= {name} <= {info.max:d})"
    return f"t = type({name})", f"({name}.dtype is not dtype{number} or {name}.shape) if t is ndarray else {test}"


class Written:
    """A callable whose calls run what was written for their arguments.

    Python finds what stands in the slot `__call__` of the instance and calls it, with nothing in between: it may be
    replaced at any time, in one step, and costs no class and no second Python function. What it holds, executables and
    caches among it, is neither copied nor pickled.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: save its program (`.program.save(path)`, of a function of JAX's "
            "`.program(*args).save(path)`) and compile what `hlograph.load(path)` gives, or make it where it is needed"
        )
