"""Rewrites: functions on one op, registered in a line, run until none applies.

    before  %p = stablehlo.multiply %a, %b
            %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0]
    after   %s = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]

    @rewrite("stablehlo.reduce")
    def sum_of_product(op):
        \"\"\"`sum(a * b)` becomes a dot.\"\"\"
        product = defining(op.operands[0], "stablehlo.multiply")    # raises Refused, with the reason, if it is not
        ...
        return stablehlo.dot_general(...)

In: an op with the rewrite's name. Out: the values that take the place of its results; None where the rewrite has
nothing to do with the op; `Refused` where it has, but a precondition fails. The driver is MLIR's greedy one where
jaxlib offers it to Python. Decision to know: a rewrite is called with the insertion point before the op and with its
location, and must not change or make anything before it is sure.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..errors import PassError
from ..ir.bindings import ir
from ..ir.driver import Endless, apply_rewrites
from ..ir.modules import clone_module, replace_body, verify
from ..ir.refused import Refused
from .base import Pass
from .report import Report

RewriteFunction = Callable[[ir.Operation], "ir.Value | ir.Operation | ir.OpView | Sequence[ir.Value] | None"]


@dataclass(frozen=True, kw_only=True)
class Rewrite(Pass):
    """A function on a matched op, which is a pass by its own name.

    Attributes:
        roots: full names of the ops that it is called for, e.g. `stablehlo.reduce`.
        function: see this file's head.
        exact: whether results keep every bit; one that does not is left out under `reassociate=false`.
    """

    roots: tuple[str, ...]
    function: RewriteFunction
    exact: bool = False

    @property
    def run(self) -> Callable[..., None]:
        """Applies this rewrite alone."""

        def alone(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
            apply(module, [self], report, reassociate=reassociate)

        return alone

    @property
    def triggers(self) -> tuple[str, ...]:
        """The ops that it is called for."""
        return self.roots

    @property
    def parts(self) -> tuple[str, ...]:
        """None: it is one itself."""
        return ()


# Those of hlograph's own, and of users (`users.py`); each is a pass too.
REWRITES: dict[str, Any] = {}


def rewrite(
    *roots: str, name: str | None = None, exact: bool = False, default: bool = False
) -> Callable[[RewriteFunction], RewriteFunction]:
    """Registers a function on ops as a rewrite: it is then a pass of that name; see `users.rewrite`, which checks."""

    def register(function: RewriteFunction) -> RewriteFunction:
        wanted = name or str(getattr(function, "__name__", ""))
        line = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
        REWRITES[wanted] = Rewrite(name=wanted, line=line, default=default, roots=roots, function=function, exact=exact)
        return function

    return register


_REASSOCIATE: ContextVar[bool] = ContextVar("reassociate")


def keeps_bits() -> bool:
    """Whether `reassociate=false` was asked for, for a rewrite that is exact in some cases, or can be made so."""
    return not _REASSOCIATE.get()


def apply(module: ir.Module, rewrites: Sequence[Rewrite], report: Report, *, reassociate: bool = True) -> None:
    """Applies rewrites to all ops of a module, in place, until none applies.

    Raises:
        PassError: a rewrite returns values that cannot take the place of the op's results, or they never come to rest.
        Exception: what a rewrite raises, other than `Refused`.
    """
    patterns = [
        (root, _pattern(rewrite, report))
        for rewrite in rewrites
        if rewrite.exact or reassociate
        for root in rewrite.roots
    ]
    for rewrite in rewrites:
        if not rewrite.exact and not reassociate and report.detailed:
            report.refused("every op", "it changes rounding, and reassociate=false is asked for", rewrite.name)
    if not patterns:
        return
    applied = report.rewritten.total()
    counts = report.rewritten.copy()
    # The driver also drops ops without a use: that alone is no reason to change a module.
    before = clone_module(module)
    token = _REASSOCIATE.set(reassociate)
    try:
        apply_rewrites(module, patterns)
        verify(module, f"the result of pass {report.pass_name!r}")
    except BaseException as error:
        replace_body(module, before)
        if isinstance(error, Endless):
            raise Endless(f"{error}; {_busiest(report.rewritten - counts)}") from None
        raise
    finally:
        _REASSOCIATE.reset(token)
    if report.rewritten.total() == applied:
        replace_body(module, before)


def _busiest(counts: Counter[str]) -> str:
    """The rewrites that were applied again and again."""
    most = max(counts.values(), default=0)
    names = [f"{name} ({count} times)" for name, count in counts.most_common() if count * 10 >= most]
    return f"applied until it was stopped: {', '.join(names[:5])}"


def _pattern(rewrite: Rewrite, report: Report) -> Callable[[ir.Operation], list[ir.Value] | None]:
    def match(op: ir.Operation) -> list[ir.Value] | None:
        line = report.describe(op)
        try:
            with ir.InsertionPoint(op), op.location:
                made = rewrite.function(op)
        except Refused as refusal:
            report.refused(line, str(refusal), rewrite.name)
            return None
        if made is None:
            return None
        values = _values(made)
        if set(values) & set(op.results):
            raise PassError(
                f"rewrite {rewrite.name!r} returned a result of the {op.name} itself; return None to leave it alone"
            )
        expected, given = [result.type for result in op.results], [value.type for value in values]
        if expected != given:
            raise PassError(
                f"rewrite {rewrite.name!r} returned {', '.join(map(str, given)) or 'nothing'} for the results of "
                f"{op.name}, which are {', '.join(map(str, expected))}"
            )
        report.applied(line, rewrite.name)
        return values

    return match


def _values(made: Any) -> list[ir.Value]:
    """What a rewrite returned, as values: dialect builders give a value, an op, or a list of results."""
    if isinstance(made, ir.Value):
        return [made]
    if isinstance(made, ir.OpView | ir.Operation):
        return list(made.results)
    if not hasattr(made, "__iter__"):
        raise PassError(f"a rewrite returned {made!r}; it returns values, or None to leave the op as it is")
    return [value for item in made for value in _values(item)]
