"""Rewrites of users: registered, grouped, and taken away again. See docs/passes.md.

In: functions on ops. Out: passes by their names, beside hlograph's own. Decision to know: hlograph's own
cannot be replaced; a user's can, by a later one of its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import PassError
from ..ir.bindings import ir
from ..ir.driver import check_op
from . import rewriting
from .base import Pass
from .registry import PASSES, find
from .report import Report
from .rewriting import REWRITES, Rewrite, RewriteFunction, apply


@dataclass(frozen=True, kw_only=True)
class Group(Pass):
    """Rewrites that are applied together until none of them applies.

    Attributes:
        members: their names.
    """

    members: tuple[str, ...]

    @property
    def run(self) -> Callable[..., None]:
        """Applies them, as they are defined by then."""

        def together(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
            apply(module, self._rewrites, report, reassociate=reassociate)

        return together

    @property
    def triggers(self) -> tuple[str, ...]:
        """The ops that one of them is called for."""
        return tuple(dict.fromkeys(root for member in self._rewrites for root in member.roots))

    @property
    def parts(self) -> tuple[str, ...]:
        """Their names."""
        return self.members

    @property
    def _rewrites(self) -> list[Rewrite]:
        return [find(name) for name in self.members]  # type: ignore[misc]


def rewrite(
    *roots: str, name: str | None = None, exact: bool = False, default: bool = False
) -> Callable[[RewriteFunction], RewriteFunction]:
    """Registers a function on ops as a rewrite: it is then a pass of that name.

    Args:
        roots: full names of the ops that it is called for.
        name: the function's name by default. One of the user's of that name is replaced.
        exact: whether it keeps every bit of the results; if not, `optimize="exact"` leaves it out.
        default: whether `optimize="default"` runs it from now on.

    Raises:
        PassError: no roots, one that is no op, or the name of a pass or rewrite of hlograph's.
    """
    if not roots or not all(isinstance(root, str) for root in roots):
        raise PassError('rewrite() needs the names of the ops to match, as in @rewrite("stablehlo.reduce")')
    for root in roots:
        check_op(root)

    def register(function: RewriteFunction) -> RewriteFunction:
        wanted = name or str(getattr(function, "__name__", ""))
        _check_free(wanted)
        return rewriting.rewrite(*roots, name=wanted, exact=exact, default=default)(function)

    return register


def group(name: str, *members: str | RewriteFunction, default: bool = False) -> None:
    """Registers rewrites, in this order, as one pass: they are applied together until none of them applies.

    Args:
        name: the pass's; one of the user's of the same name is replaced.
        members: the rewrites, or their names; hlograph's own too.
        default: whether `optimize="default"` runs it from now on.

    Raises:
        PassError: no members, one that is no rewrite, or the name of a pass or rewrite of hlograph's.
    """
    _check_free(name)
    names = tuple(each if isinstance(each, str) else _name_of(each) for each in members)
    if not names:
        raise PassError(f"the group {name!r} needs rewrites, as in group({name!r}, 'one', 'other')")
    for each in names:
        if not isinstance(find(each), Rewrite):
            raise PassError(f"{each!r} is a pass, not a rewrite: it cannot be in a group, but beside it in optimize=")
    REWRITES[name] = Group(name=name, line=f"together: {', '.join(names)}", default=default, members=names)


def _check_free(name: str) -> None:
    """Refuses a name for a rewrite that is a pass of hlograph's already; one of the user's is replaced.

    Raises:
        PassError: it is, or it is no name that can be written in `--pass`.
    """
    if name in PASSES or _is_ours(name):
        raise PassError(f"a pass {name!r} exists already; give the rewrite another name: rewrite(..., name=...)")
    if not re.fullmatch(r"[\w.-]+", name):
        raise PassError(f"a rewrite cannot be called {name!r}; use letters, digits, '_', '-' and '.'")


def _is_ours(name: str) -> bool:
    """Whether it is a rewrite that hlograph has itself."""
    return name in PASSES["simplify"].parts


def _name_of(function: RewriteFunction) -> str:
    for name, found in REWRITES.items():
        if isinstance(found, Rewrite) and found.function is function:
            return name
    raise PassError(f"{function!r} is no rewrite: register it first, with @rewrite(...)")


def forget(name: str) -> None:
    """Takes a rewrite, or a group, of one's own away.

    Raises:
        PassError: there is none of this name.
    """
    find(name)
    if name not in REWRITES or _is_ours(name):
        raise PassError(f"{name!r} is a pass of hlograph's, which stays")
    del REWRITES[name]
