"""The full names of ops, and what is wrong with one that is none.

In: a name as a rewrite gives it. Out: nothing, or `PassError` with the name that it is like. Decision to know: which
names there are is asked of MLIR, so that ops of all dialects that jaxlib has will do.
"""

from __future__ import annotations

import difflib
import itertools
from functools import cache

from ..errors import PassError
from .bindings import chlo, func, new_context, stablehlo


@cache
def _names() -> tuple[str, ...]:
    """The ops of the dialects that modules are written in."""
    classes = [entry for dialect in (stablehlo, chlo, func) for entry in vars(dialect).values()]
    names = {getattr(entry, "OPERATION_NAME", None) for entry in classes if isinstance(entry, type)}
    return tuple(sorted(name for name in names if isinstance(name, str)))


@cache
def _is_op(name: str) -> bool:
    with new_context() as context:
        return bool(context.is_registered_operation(name))


def check_op(name: str) -> None:
    """Refuses what is not the full name of an op.

    Raises:
        PassError: it is none; the message has names that are like it.
    """
    if name in _names() or _is_op(name):
        return
    short = {full.partition(".")[2]: full for full in reversed(_names())}
    own = name.rpartition(".")[2]
    close = [short[own]] if own in short else difflib.get_close_matches(name, _names(), 5)
    close.sort(key=lambda full: _shared(name, full), reverse=True)
    close = close or [short[each] for each in difflib.get_close_matches(own, short, 1)]
    hint = f"; did you mean {close[0]!r}?" if close else ": its full name is meant, as in 'stablehlo.reduce'"
    raise PassError(f"there is no op {name!r}{hint}")


def _shared(one: str, other: str) -> int:
    """How many letters two names have in common before they differ."""
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
