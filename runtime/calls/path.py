"""The way of a call whose sizes are known, written out for one function as Python code and compiled once.

In: a program's signature, and what to do with calls that are not of that kind. Out: the function's `__call__`. For
arguments `x: float64[n]` and `k: int64[]`, where k decides a size, it reads

    def call(self, a0=MISSING, a1=MISSING, /, *more):
        try:
            if type(a0) in tracers or type(a1) in tracers: return traced(given(a0, a1, *more))
            if type(a1) is int: check_fits(argument_1, a1)
            entry = entries[a0.shape[0], index(a1),]
        except unknown: return slow(given(a0, a1, *more))
        if a1 is MISSING or more or not entry.ready: return slow(given(a0, a1, *more))
        entry.used = count()
        try: outputs = entry.run(a0, a1) if x64.value else in_x64(entry.run, widened((a0, a1,)))
        except ValueError as error: outputs = nested(entry, (a0, a1,), error)
        return checked(entry.checks, outputs) if entry.checks else outputs

Where no value decides a size, and nothing is checked, calls with JAX arrays are tried in a shorter way first, see
`short_call.py`. For arguments `x: float64[n]` and `y: float64[n]` the code begins with

        if type(a0) is array and type(a1) is array:
            aval0, aval1, sharding0, sharding1, committed0, committed1, device, entry, execute, handlers = latest[0]
            if (
                a0.aval is aval0 and a1.aval is aval1 and not more
                and (a0._sharding is sharding0 and a1._sharding is sharding1
                     or (a0._sharding, a1._sharding,) == (sharding0, sharding1,))
                and (a0._committed) == committed0 and (a1._committed) == committed1
                and default_device.value is device and trace.value is plain_trace and ...
            ):
                try: o0, = execute([a0, a1]).consume_with_handlers(handlers)
                except refused: pass
                else:
                    entry.used = count()
                    collect()
                    return o0

and before the results are returned there stands

        if not entry.used & 15: find(entry, (a0, a1,))

What a call costs beyond JAX's own is spent here, so nothing stands here that could be done once. A call through a
second Python function, or a loop over the arguments in place of the written-out expressions, would cost as much again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import tree_util

from ...codegen.ir.jax_compat import collect_garbage, short_calls, x64_caller, x64_flag
from ...codegen.signature import Root, Signature
from .arguments import check_fits
from .short import OFTEN, ShortCall, committed_texts

Call = Callable[[Sequence[Any]], Any]

X64 = x64_flag()
_INLINE = 5  # up to so many arguments are asked one by one whether they are tracers
_UNKNOWN = (KeyError, AttributeError, IndexError, TypeError)


def _subclasses(class_: type) -> set[type]:
    return {class_}.union(*map(_subclasses, class_.__subclasses__()))


# Those that exist now: `jax.jit` takes care of any others.
TRACERS = frozenset(_subclasses(jax.core.Tracer))


def key_text(roots: Sequence[Root], argument: str = "args[{}]") -> str:
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


def key_function(roots: Sequence[Root]) -> Callable[[Sequence[Any]], tuple[int, ...]]:
    """From a call's arguments to the sizes and values that decide on the executable."""
    found: Callable[[Sequence[Any]], tuple[int, ...]] = eval(
        f"lambda args: {key_text(roots)}", {"index": operator.index}
    )
    return found


_MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()


def _given(*args: Any) -> tuple[Any, ...]:
    """The arguments that a call has."""
    return tuple([x for x in args if x is not _MISSING])


def call_function(
    signature: Signature,
    *,
    entries: dict[Any, Any],
    count: Callable[[], int],
    slow: Call,
    traced: Call,
    nested: Callable[[Any, Sequence[Any], ValueError], Any],
    checked: Callable[[Any, Any], Any],
    widened: Call | None,
    short: ShortCall | None,
) -> Callable[..., Any]:
    """A function's `__call__`; what it is called on is not used.

    Args:
        signature: the program's.
        entries: key to what runs calls with such sizes (with `ready`, `used`, `run` and `checks`).
        count: the number of this call.
        slow: for calls whose sizes are not known yet, or with something wrong about them.
        traced: for calls with JAX's tracers.
        nested: for calls that JAX refuses, as it does while something else is traced.
        checked: raises for checks that failed; from checks and the outputs to the results.
        widened: for programs with 64-bit types, called where JAX has none: arguments in the program's types.
        short: the shorter way for JAX arrays, if there is one.
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
        "MISSING": _MISSING,
        "given": _given,
        "tracers": TRACERS,
        "no_tracers": TRACERS.isdisjoint,
        "traced": traced,
        "nested": nested,
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
    lines = [] if short is None else _short_lines(signature, short, names)
    lines += ["try:"]
    if test:
        lines += [f"    if {test}: return traced({given})"]
    for i, argument in enumerate(signature.arguments):
        # A Python int has no dtype that could be checked; JAX would wrap it around.
        if argument.dtype.kind in "iu" and not argument.dims:
            names[f"argument_{i:d}"] = argument
            lines += [f"    if type(a{i:d}) is int: check_fits(argument_{i:d}, a{i:d})"]
    lines += [f"    entry = entries[{key_text(signature.roots, 'a{}')}]", f"except unknown: return slow({given})"]
    missing = f"{values[-1]} is MISSING or " if values else ""
    lines += [f"if {missing}more or not entry.ready: return slow({given})", "entry.used = count()"]
    run = f"entry.run({passed})"
    if widened is not None:
        run += f" if x64.value else in_x64(entry.run, widened(({passed})))"
    refused = f"except ValueError as error: outputs = nested(entry, ({passed}), error)"
    if signature.checks:
        lines += [
            f"try: outputs = {run}",
            refused,
            "return checked(entry.checks, outputs) if entry.checks else outputs",
        ]
    elif short is None:
        lines += [f"try: return {run}", refused, "return outputs"]
    else:
        find = f"if not entry.used & {OFTEN - 1:d}: find(entry, ({passed}))"
        lines += [f"try: outputs = {run}", refused, find, "return outputs"]
    parameters = ", ".join(["self", *(f"{value}=MISSING" for value in values), "/", "*more"])
    return _made(names, parameters, lines)


def recognizing_call(
    avals: Sequence[Any],
    tree: Any,
    settled: tuple[Any, Callable[[], int], Callable[..., Any]],
    prepare: Callable[[Sequence[Any]], Sequence[Any]] | None,
    restore: Callable[[Any], Any] | None,
    otherwise: Callable[..., Any],
) -> Callable[..., Any]:
    """A `__call__` that knows calls with JAX arrays of certain types, and passes on all others. For one array:

        def call(self, a0=MISSING, /, *more, **keywords):
            if type(a0) is array and a0.aval is aval0 and x64.value is wide and not more and not keywords:
                try: outputs = run(a0)
                except ValueError: pass  # as JAX raises where something else is being traced
                else:
                    entry.used = count()
                    return outputs
            return otherwise(self, *given(a0, *more), **keywords)

    Args:
        avals: the arrays' abstract ones.
        tree: the pytree of positional and keyword arguments; None where these are the arrays, by their places.
        settled: see `Function.settled`.
        prepare: from the arrays to those that are run, if these are others.
        restore: from what comes back to the results, if these are others.
        otherwise: takes all other calls.
    """
    questions = short_calls()
    assert questions is not None
    entry, count, run = settled
    numbers = range(len(avals))
    names: dict[str, Any] = {f"aval{i}": aval for i, aval in enumerate(avals)}
    names |= {"array": questions.array, "x64": X64, "wide": X64.value, "entry": entry, "count": count, "run": run}
    names |= {"prepare": prepare, "restore": restore, "otherwise": otherwise, "MISSING": _MISSING, "given": _given}
    names |= {"flatten": tree_util.tree_flatten, "tree": tree}
    same = " and ".join([f"type(a{i}) is array and a{i}.aval is aval{i}" for i in numbers]) or "True"
    passed = "".join(f"a{i}, " for i in numbers)
    run_text = f"run({passed})" if prepare is None else f"run(*prepare(({passed})))"
    lines = [
        f"try: outputs = {run_text}",
        "except ValueError: pass",
        "else:",
        "    entry.used = count()",
        "    return outputs" if restore is None else "    return restore(outputs)",
    ]
    if tree is None:
        parameters = ", ".join(["self", *(f"a{i}=MISSING" for i in numbers), "/", "*more", "**keywords"])
        lines = [f"if {same} and x64.value is wide and not more and not keywords:", *(f"    {x}" for x in lines)]
        rest = f"*given({passed}*more)"
    else:
        parameters, rest = "self, /, *args, **keywords", "*args"
        lines = [
            "leaves, found = flatten((args, keywords))",
            "if found == tree and x64.value is wide:",
            f"    {passed or '_ '}= leaves",
            f"    if {same}:",
            *(f"        {x}" for x in lines),
        ]
    return _made(names, parameters, [*lines, f"return otherwise(self, {rest}, **keywords)"])


def _made(names: dict[str, Any], parameters: str, lines: Sequence[str]) -> Callable[..., Any]:
    """A function of these lines."""
    source = f"def make({', '.join(names)}):\n    def call({parameters}):\n"
    source += "".join(f"        {line}\n" for line in lines)
    scope: dict[str, Any] = {}
    exec(source + "    return call\n", scope)
    made: Callable[..., Any] = scope["make"](**names)
    return made


def _short_lines(signature: Signature, short: ShortCall, names: dict[str, Any]) -> list[str]:
    """The way of calls that are like the record; what they name is added to the names."""
    questions = short.questions
    numbers = range(len(signature.arguments))
    names |= {"array": questions.array, "default_device": questions.device, "latest": short.latest, "find": short.find}
    names |= {"refused": jax.errors.JaxRuntimeError, "collect": collect_garbage()}

    def each(text: str, separator: str = ", ") -> str:
        return separator.join(text.format(i) for i in numbers)

    same = [each("a{0}.aval is aval{0}", " and "), "not more"]
    # Equal shardings are one object where arrays are results of the same executable, but not where they are copies.
    one, equal = (
        each("a{0}._sharding is sharding{0}", " and "),
        f"({each('a{}._sharding')},) == ({each('sharding{}')},)",
    )
    same += [f"({one} or {equal})"]
    same += [f"({text}) == committed{i}" for i, text in enumerate(committed_texts(signature))]
    same += ["default_device.value is device"]
    for name, (mode, plain) in questions.modes.items():
        names |= {name: mode, f"plain_{name}": plain}
        same += [f"{name}.value is plain_{name}"]
    record = f"{each('aval{}')}, {each('sharding{}')}, {each('committed{}')}, device, entry, execute, handlers"
    outputs = "".join(f"o{i}, " for i in range(len(signature.results))) or "()"
    returned = "o0" if len(signature.results) == 1 else f"({outputs})"
    return [
        f"if {each('type(a{}) is array', ' and ')}:",
        f"    {record} = latest[0]",
        f"    if {' and '.join(same)}:",
        f"        try: {outputs} = execute([{each('a{}')}]).consume_with_handlers(handlers)",
        "        except refused: pass  # such as a deleted array: JAX's own call says what is wrong",
        "        else:",
        "            entry.used = count()",
        "            collect()",
        f"            return {returned}",
    ]
