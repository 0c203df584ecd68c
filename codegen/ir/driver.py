"""Patterns applied to a module until none applies; and whether a name is that of an op that one may match."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from ..errors import PassError
from .bindings import REWRITE_DRIVER, chlo, func, ir, new_context, run_pipeline, stablehlo
from .tidy import erase
from .values import walk

T = TypeVar("T")
# What patterns remember while they are applied to a module.
_MEMORY: ContextVar[dict[str, Any] | None] = ContextVar("patterns", default=None)


def remembered(key: str, make: Callable[[], T]) -> T:
    """A thing that patterns keep from op to op of one run, such as what was found out; made when first asked for.

    Never keep ops or values: the driver may drop them. Outside of a run nothing is kept.
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
    """Rewrites do not come to rest."""


def apply_rewrites(module: ir.Module, patterns: Sequence[tuple[str, Pattern]]) -> None:
    """Applies patterns to a module in place until none applies, by MLIR's greedy driver where jaxlib has it.

    Args:
        module: the module.
        patterns: the name of an op, and what gives the values that take the place of its results, or None.

    Raises:
        Endless: the rewrites do not come to rest.
        Exception: what a pattern raises.
    """
    token = _MEMORY.set({})
    try:
        _apply(module, patterns)
    finally:
        _MEMORY.reset(token)


def _apply(module: ir.Module, patterns: Sequence[tuple[str, Pattern]]) -> None:
    driver = REWRITE_DRIVER
    limit = 1000 + 20 * len(walk(module))
    if not hasattr(driver, "RewritePatternSet") or not hasattr(driver, "GreedyRewriteConfig"):
        _apply_without_driver(module, patterns, limit)
        return
    failures: list[BaseException] = []
    applied = visited = 0

    def guarded(pattern: Pattern) -> Callable[[Any, Any], bool]:
        def match(op: Any, rewriter: Any) -> bool:
            """MLIR's convention: False for a match. An exception must not cross the driver."""
            nonlocal applied, visited
            if failures:
                return True
            try:
                visited += 1
                if visited > 10 * limit:
                    # The driver drops such ops, and begins again because it has changed something.
                    raise PassError(f"rewrites of {op.operation.name} make ops before they refuse, which they must not")
                values = pattern(op.operation)
                if values is None:
                    return True
                applied += 1
                if applied > limit:
                    raise Endless(_endless(op.operation.name))
                rewriter.replace_op(op.operation, values)
            except BaseException as error:
                failures.append(error)
                return True
            return False

        return match

    config = driver.GreedyRewriteConfig()
    config.enable_folding = False
    config.enable_constant_cse = False
    config.region_simplification_level = driver.GreedySimplifyRegionLevel.DISABLED
    config.max_iterations = -1
    with module.context:
        found = driver.RewritePatternSet()
        for root, pattern in patterns:
            found.add(root, guarded(pattern))
        try:
            driver.apply_patterns_and_fold_greedily(module, found.freeze(), config)
        except (ir.MLIRError, RuntimeError) as error:
            if not failures:
                raise PassError(f"MLIR's rewrite driver failed: {error}") from None
    if failures:
        raise failures[0]


def _endless(name: str) -> str:
    return f"rewrites of {name} do not come to rest: one makes again what it, or another, matches"


def _apply_without_driver(module: ir.Module, patterns: Sequence[tuple[str, Pattern]], limit: int) -> None:
    """Rounds over all ops, for a jaxlib without a driver for Python's patterns (0.7), or without its settings (0.8)."""
    applied, changed = 0, True
    while changed:
        changed = False
        # An op that is gone must not be touched: it is known by its hash, taken while it was there.
        gone: set[int] = set()
        for key, operation in [(hash(found), found) for found in walk(module)]:
            if key in gone:
                continue
            for root, pattern in patterns:
                if operation.name != root:
                    continue
                values = pattern(operation)
                if values is None:
                    continue
                applied += 1
                if applied > limit:
                    raise Endless(_endless(operation.name))
                for result, value in zip(operation.results, values, strict=True):
                    result.replace_all_uses_with(value)
                gone |= erase([operation])
                changed = True
                break
    run_pipeline(module, "cse")


# ---- names of ops --------------------------------------------------------------------------------------------------


@cache
def _names() -> tuple[str, ...]:
    """The ops of the dialects that modules are written in."""
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
