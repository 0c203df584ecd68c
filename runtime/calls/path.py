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

Where no value decides a size, and nothing is checked, calls with JAX arrays are tried in a shorter way first: those
with arrays like those of an earlier call run the executable in `jax.jit`'s place. For `x: float64[n]`, `y: float64[n]`

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

stands before that, and before the results of others are returned `if not entry.used & 15: find(entry, (a0, a1,))`.
`device` is JAX's default device, and an array of two or more axes that is committed has its layout in place of True.
With the modes that JAX is in, which must be its ordinary ones, that is what `jax.jit` itself looks up an executable by:
whatever is new about a call takes it there. It saves 0.7 to 4 us of a call, 5 to 20% of a small one. A function has one
record, that of the latest executable: a lookup by shapes would cost more than all the other questions together.

What a call costs beyond JAX's own is spent here, so nothing stands here that could be done once. A call through a
second Python function, or a loop over the arguments in place of the written-out expressions, would cost as much again.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from ...codegen.dtypes import kind_of
from ...codegen.ir.jax_checks import is_checkified, trace_mode
from ...codegen.ir.jax_compat import (
    Execution,
    ShortCalls,
    collect_garbage,
    direct_execution,
    short_calls,
    x64_caller,
    x64_flag,
)
from ...codegen.signature import Root, Signature
from .arguments import MISSING, check_fits
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
    signature: Signature, ways: Mapping[str, Any], *, name: str, shorter: ShortCall | None, returns_jax: bool
) -> Callable[..., Any]:
    """What a function's calls run.

    Args:
        signature: the program's.
        ways: what the lines name. `entries`: key to what runs calls with such sizes (with `ready`, `used`, `call` and
            `checks`). `count` gives the number of this call. `slow` is for calls whose sizes are not known yet, or with
            something wrong about them; `traced` for calls with JAX's tracers; `failed` for calls that JAX refuses, as
            it does while something else is traced, for what is no array for it, and for those in which JAX, asked to
            look for them, has found NaN or infinity. `checked` raises for checks that failed; from checks and the
            outputs to the results. `widened` gives arguments in the program's 64-bit types where JAX has none; None for
            a program without such.
        name: the program's.
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
    names = {"MISSING": MISSING, "given": given_arguments, "tracers": TRACERS, "no_tracers": TRACERS.isdisjoint, **ways}
    names |= {"failing": (ValueError, TypeError, FloatingPointError), "index": operator.index, "unknown": _UNKNOWN}
    names |= {"check_fits": check_fits, "x64": X64, "in_x64": x64_caller()}
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
    if ways["widened"] is not None:
        run += f" if x64.value else in_x64(entry.call, widened(({passed})))"
    fails = f"except failing as error: return failed(entry, ({passed}), error)"
    if signature.checks:
        returned = "return checked(entry.checks, outputs) if entry.checks else outputs"
        lines += [f"try: outputs = {run}", fails, returned]
    elif shorter is None:
        lines += [f"try: return {run}", fails]
    else:
        lines += [f"try: outputs = {run}", fails, shorter.after(names, passed), "return outputs"]
    parameters = ", ".join([*(f"{value}=MISSING" for value in values), "*more"])
    keywords = dict(zip(values, [argument.name for argument in signature.arguments], strict=True))
    return write(parameters, lines, names, name=name, keywords=keywords)


# ---- the shorter way ------------------------------------------------------------------------------------------------


_OFTEN = 16  # of so many calls that take the long way, one looks for a shorter one; a power of two
_KINDS = 8  # of arguments, by placement and weak types, for which one executable has a record


def short_call(
    signature: Signature, lock: threading.Lock, cached: Callable[[Sequence[Any]], Any], x64: Callable[[], Any]
) -> ShortCall | None:
    """The short way of a program's calls; None where they cannot be short.

    Args:
        signature: the program's.
        lock: held by who changes the function's cache.
        cached: what the function's cache has for a call's arguments.
        x64: a context in which the function's executables are called.
    """
    questions = short_calls()
    if questions is None or not signature.arguments or signature.checks or signature.value_roots:
        return None
    return ShortCall(signature, questions, lock, cached, x64)


class ShortCall:
    """A function's record, see `short_call`.

    Attributes:
        latest: the record, alone in a list.
    """

    def __init__(self, signature: Signature, questions: ShortCalls, lock: Any, cached: Any, x64: Any) -> None:
        self._signature, self._questions, self._lock = signature, questions, lock
        self._cached, self._x64 = cached, x64
        self._none = (None,) * (3 * len(signature.arguments) + 4)
        self.latest: list[Any] = [self._none]
        # Vectors have one layout only, and so have all arrays that are not committed.
        self._committed = [
            f"a{i}._committed{f' and a{i}._pjrt_layout' if len(argument.dims) > 1 else ''}"
            for i, argument in enumerate(signature.arguments)
        ]
        parameters = ", ".join(f"a{i}" for i in range(len(signature.arguments)))
        self._are_committed = write(parameters, [f"return ({', '.join(self._committed)},)"], {})

    def before(self, names: dict[str, Any]) -> list[str]:
        """The way of calls that are like the record; adds what the lines name."""
        questions, signature = self._questions, self._signature
        numbers = range(len(signature.arguments))
        names |= {"array": questions.array, "default_device": questions.device, "latest": self.latest}
        names |= {"refused": jax.errors.JaxRuntimeError, "collect": collect_garbage()}

        def each(text: str, separator: str = ", ") -> str:
            return separator.join(text.format(i) for i in numbers)

        same = [each("a{0}.aval is aval{0}", " and "), "not more"]
        # Equal shardings are one object where arrays are results of the same executable, but not where they are copies.
        one = each("a{0}._sharding is sharding{0}", " and ")
        same += [f"({one} or ({each('a{}._sharding')},) == ({each('sharding{}')},))"]
        same += [f"({text}) == committed{i}" for i, text in enumerate(self._committed)]
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

    def after(self, names: dict[str, Any], passed: str) -> str:
        """Looks for a record, now and then."""
        names["find"] = self._find
        return f"if not entry.used & {_OFTEN - 1:d}: find(entry, ({passed}))"

    def forget(self) -> None:
        """Drops the record, which keeps an executable alive; called with the lock held."""
        self.latest[0] = self._none

    def _find(self, entry: Any, args: Sequence[Any]) -> None:
        """Takes the record of a call that has just run, if it can be short; an executable has `jitted`."""
        questions, jitted = self._questions, getattr(entry, "jitted", None)
        if jitted is None or any(type(x) is not questions.array for x in args):
            return
        if any(mode.value is not plain for mode, plain in questions.modes.values()):
            return
        placed = (*[x.aval for x in args], *[x.sharding for x in args], *self._are_committed(*args))
        key = (*placed, questions.device.value)
        if key not in entry.short and len(entry.short) < _KINDS:
            entry.short[key] = self._execution(jitted, args)
        if (found := entry.short.get(key)) is not None:
            with self._lock:
                if self._cached(args) is entry:
                    self.latest[0] = (*key, entry, found[0].execute, found[0].handlers)

    def _execution(self, jitted: Any, args: Sequence[Any]) -> tuple[Execution, Any] | None:
        """What runs arguments like these, and what that refers to; None where it is up to `jax.jit`."""
        (device, *others) = set().union(*[x.devices() for x in args])
        kind = device.default_memory().kind
        if (
            others
            or device.platform != "cpu"
            or any(x.dtype != argument.dtype for x, argument in zip(args, self._signature.arguments, strict=True))
            or any(type(x.sharding) is not jax.sharding.SingleDeviceSharding for x in args)
            or any(x.sharding.memory_kind != kind for x in args)
            or any(x.format.layout.major_to_minor != tuple(range(x.ndim)) for x in args)
        ):
            return None
        with self._x64():
            compiled = jitted.lower(*args).compile()  # it is: this finds what has run
        found = direct_execution(compiled)
        if (
            found is None
            or found.kept != tuple(range(len(args)))
            or len(found.handlers) != len(self._signature.results)
            or any(sharding.device_set != {device} for sharding in jax.tree.leaves(compiled.input_shardings))
        ):
            return None
        return found, compiled
