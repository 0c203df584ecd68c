"""Patterns applied to a module until none applies; and whether a name is that of an op that one may match."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from ..errors import PassError
from .bindings import chlo, func, ir, new_context, stablehlo
from .tidy import erase, erase_unused
from .values import key_of, owner, walk

T = TypeVar("T")
_NEAR = 16  # values behind a changed op that are examined again
# What patterns remember while they are applied to a module.
_MEMORY: ContextVar[dict[str, Any] | None] = ContextVar("patterns", default=None)


def remembered(key: str, make: Callable[[], T]) -> T:
    """A thing that patterns keep from op to op of one run, such as what was found out; made when first asked for.

    Never keep ops or values: they may be dropped. Outside of a run nothing is kept.
    """
    memory = _MEMORY.get()
    if memory is None:
        return make()
    if key not in memory:
        memory[key] = make()
    found: T = memory[key]
    return found


Pattern = Callable[[ir.Operation], "list[ir.Value] | None"]


class Endless(PassError):
    """Rewrites do not terminate."""


def apply_rewrites(module: ir.Module, patterns: Sequence[tuple[str, Pattern]]) -> None:
    """Applies patterns to a module in place until none applies; drops what has no use then.

    Between rounds over all ops come rounds over what changed in the last one, or is near it.

    Args:
        module: the module.
        patterns: the name of an op, and what gives the values that take the place of its results, or None.

    Raises:
        Endless: the rewrites do not terminate.
        Exception: what a pattern raises.
    """
    by_root: dict[str, list[Pattern]] = {}
    for root, pattern in patterns:
        by_root.setdefault(root, []).append(pattern)
    token = _MEMORY.set({})
    try:
        left, before = 1000 + 20 * len(walk(module)), 0
        while left != before:
            before, todo = left, walk(module)
            while todo := [op for op in todo if op.name in by_root]:
                todo, left = _round(todo, by_root, left)
    finally:
        _MEMORY.reset(token)
    erase_unused(module)


def _round(
    ops: Sequence[ir.Operation], by_root: Mapping[str, Sequence[Pattern]], left: int
) -> tuple[list[ir.Operation], int]:
    """Applies patterns to ops, `left` times at most; what changed or is near it, and how often they still may."""
    gone: set[int] = set()  # an op that is gone must not be touched
    near: dict[int, ir.Operation] = {}
    for key, operation in [(key_of(op), op) for op in ops]:
        if key in gone:
            continue
        values = next((made for pattern in by_root[operation.name] if (made := pattern(operation)) is not None), None)
        if values is None:
            continue
        left -= 1
        if left < 0:
            raise Endless(
                f"rewrites of {operation.name} do not terminate: one makes ops that it, or another, matches again"
            )
        found = [use.owner.operation for result in operation.results for use in result.uses]
        behind = [*values, *operation.operands]
        for value in islice(behind, _NEAR):
            if (maker := owner(value)) is not None:
                found.append(maker)
                behind += maker.operands[:_NEAR]
        near.update((key_of(op), op) for op in found if len(op.results))
        for result, value in zip(operation.results, values, strict=True):
            result.replace_all_uses_with(value)
        for dead in erase([operation]):
            gone.add(dead)
            near.pop(dead, None)
    return list(near.values()), left


# ---- names of ops --------------------------------------------------------------------------------------------------


@cache
def _names() -> tuple[str, ...]:
    classes = [entry for dialect in (stablehlo, chlo, func) for entry in vars(dialect).values()]
    names = {getattr(entry, "OPERATION_NAME", None) for entry in classes if isinstance(entry, type)}
    return tuple(sorted(name for name in names if isinstance(name, str)))


def check_op(name: str) -> None:
    """Refuses what is not the full name of an op.

    Raises:
        PassError: it is none; the message has names that are like it.
    """
    if name in _names() or new_context().is_registered_operation(name):
        return
    own = name.rpartition(".")[2]
    shorts: dict[str, str] = {}
    for full in reversed(_names()):
        shorts.setdefault(full.partition(".")[2], full)
    close = [shorts[own]] if own in shorts else []
    close += sorted(difflib.get_close_matches(name, _names(), 5), key=lambda full: not full.startswith(name))
    close += [shorts[each] for each in difflib.get_close_matches(own, shorts, 1)]
    hint = f"; did you mean {close[0]!r}?" if close else ": its full name is meant, as in 'stablehlo.reduce'"
    raise PassError(f"there is no op {name!r}{hint}")
