"""Calls with arrays like those of an earlier call: the executable is run in `jax.jit`'s place.

In: executables, and arguments that they have just run. Out: what `call_path.py` asks of the next call's arguments, and
what it runs where they are like those: the executable's own call (`jax_compat.Execution`), which asks nothing.

    record = (aval0, aval1, sharding0, sharding1, committed0, committed1, device, entry, execute, handlers)

`device` is JAX's default device, and an array of two or more axes that is committed has its layout in place of True.
With the modes that JAX is in, which must be its ordinary ones, that is what `jax.jit` itself looks up an executable by:
whatever is new about a call takes it there.

The decision to know: there is one record for a function, that of the latest executable, in place of a table of them. A
lookup by the arguments' shapes would cost more than all the other questions together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax

from ...codegen.ir.jax_compat import Execution, ShortCalls, direct_execution, short_calls
from ...codegen.signature import Signature

OFTEN = 16  # of so many calls that take the long way, one looks for a shorter one; a power of two
_KINDS = 8  # of arguments, by placement and weak types, for which one executable has a record


def asked(signature: Signature) -> ShortCalls | None:
    """What calls of such a program have to be asked; None where they cannot be short."""
    if not signature.arguments or signature.checks or any(root.axis is None for root in signature.roots):
        return None
    return short_calls()


def committed_texts(signature: Signature) -> list[str]:
    """Whether each argument is committed, and how its elements lie, as an expression in it."""
    # Vectors have one layout only, and so have all arrays that are not committed.
    layouts = [
        "" if len(argument.dims) < 2 else f" and a{i}._pjrt_layout" for i, argument in enumerate(signature.arguments)
    ]
    return [f"a{i}._committed{layout}" for i, layout in enumerate(layouts)]


class ShortCall:
    """A function's record.

    Args:
        signature: the program's.
        questions: of `asked`.
        lock: held by who changes the function's cache.
        cached: what the function's cache has for a call's arguments.
        x64: a context in which the function's executables are called.

    Attributes:
        latest: the record, alone in a list.
    """

    def __init__(
        self,
        signature: Signature,
        questions: ShortCalls,
        lock: threading.Lock,
        cached: Callable[[Sequence[Any]], Any],
        x64: Callable[[], Any],
    ) -> None:
        self._arguments = signature.arguments
        self._results = len(signature.results)
        self.questions = questions
        self._lock = lock
        self._cached = cached
        self._x64 = x64
        count = len(signature.arguments)
        self._none = (None,) * (3 * count + 4)
        self.latest: list[Any] = [self._none]
        parameters = ", ".join(f"a{i}" for i in range(count))
        committed = ", ".join(committed_texts(signature))
        self._committed: Callable[..., tuple[Any, ...]] = eval(f"lambda {parameters}: ({committed},)")

    def forget(self) -> None:
        """Drops the record, which keeps an executable alive; called with the lock held."""
        self.latest[0] = self._none

    def find(self, entry: Any, args: Sequence[Any]) -> None:
        """Makes the record from a call that has just run, if it can be short.

        Args:
            entry: an entry of the function's cache; those of exact executables have a `runner` and `records`.
            args: of the call.
        """
        runner = getattr(entry, "runner", None)
        if runner is None or runner.jitted is None or any(type(x) is not self.questions.array for x in args):
            return
        if any(mode.value is not plain for mode, plain in self.questions.modes.values()):
            return
        avals = tuple(x.aval for x in args)
        key = (*avals, *[x.sharding for x in args], *self._committed(*args), self.questions.device.value)
        if key not in entry.records:
            if len(entry.records) >= _KINDS:
                return
            entry.records[key] = self._execution(entry.runner, avals, args)
        found = entry.records[key]
        if found is not None:
            with self._lock:
                if self._cached(args) is entry:
                    self.latest[0] = (*key, entry, found.execute, found.handlers)

    def _execution(self, runner: Any, avals: Sequence[Any], args: Sequence[Any]) -> Execution | None:
        """What runs arguments like these; None where that is up to `jax.jit`."""
        (device, *others) = set().union(*[x.devices() for x in args])
        kind = device.default_memory().kind
        single = jax.sharding.SingleDeviceSharding
        if (
            others
            or device.platform != "cpu"
            or any(aval.dtype != argument.dtype for aval, argument in zip(avals, self._arguments, strict=True))
            or any(type(x.sharding) is not single or x.sharding.memory_kind != kind for x in args)
            or any(x.format.layout.major_to_minor != tuple(range(x.ndim)) for x in args)
        ):
            return None
        with self._x64():
            compiled = runner.jitted.lower(*args).compile()  # it is: this finds what has run
        found = direct_execution(compiled)
        if (
            found is None
            or found.kept != tuple(range(len(args)))
            or len(found.handlers) != self._results
            or any(sharding.device_set != {device} for sharding in jax.tree.leaves(compiled.input_shardings))
        ):
            return None
        runner.compiled.append(compiled)  # what the executable refers to lives as long
        return found
