"""What a pass is; and rewrites: functions on one op, registered in a line, run until none applies.

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
nothing to do with the op; `Refused` where it has, but a precondition fails. Decision to know: a rewrite is called with
the insertion point before the op and with its location, and must not change or make anything before it is sure.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin

from ..errors import PassError
from ..ir.bindings import ir, run_pipeline
from ..ir.driver import Endless, apply_rewrites
from ..ir.modules import clone_module, replace_body, verify
from ..ir.refused import Refused
from .report import Report

# On `?` types the first writes shape ops, the second their casts, which canonicalize folds.
LEGALIZE_CHLO = "func.func(chlo-legalize-to-stablehlo,shape-legalize-to-stablehlo),canonicalize,cse"


@dataclass(frozen=True)
class Pass:
    """StableHLO to StableHLO.

    Attributes:
        name: for `--pass`, `--explain` and `optimize=`; of a pass of ours also the name of its file or package.
        line: what it does.
        on_loops: whether it wants calls inlined and everything in MLIR's canonical form, in a copy; see `__init__.py`.
        default: whether `optimize="default"` runs it behind its own passes.
        other_function: whether what it makes takes and returns something else, of which a pullback is not the pullback.
        bug: whether it is a line of the table of `xla_bugs.py`.
        pipeline: of passes of MLIR, as its pass manager reads them.
    """

    name: str
    line: str
    _: KW_ONLY
    on_loops: bool = False
    default: bool = False
    other_function: bool = False
    bug: bool = False
    pipeline: str = ""

    @property
    def source(self) -> Any:
        """What has the function `run`, and perhaps `TRIGGERS` and `PARTS`: the pass's file, imported when needed."""
        if self.pipeline:
            return SimpleNamespace(run=lambda module, _report: run_pipeline(module, self.pipeline, name=self.name))
        if self.bug:
            return next(bug for bug in import_module(".xla_bugs", __package__).BUGS if bug.name == self.name)
        return import_module(f".{self.name}", __package__)

    @property
    def run(self) -> Callable[..., None]:
        """What changes a module in place: `run(module, report, **options)`."""
        found: Callable[..., None] = self.source.run
        return found

    @property
    def triggers(self) -> Collection[str] | int | None:
        """Without what there is nothing to do.

        Returns:
            Names of ops, one of which must be in the module; or the least number of ops; or None: nothing is needed.
        """
        found: Collection[str] | int | None = getattr(self.source, "TRIGGERS", None)
        return found

    @property
    def parts(self) -> Collection[str]:
        """The rewrites that the pass consists of, which are passes by their own names too."""
        found: Collection[str] = getattr(self.source, "PARTS", ())
        return found

    @property
    def reassociates(self) -> bool:
        """Whether it may change rounding, unless it is told not to: whether it has the option `reassociate`."""
        return any(option.name == "reassociate" for option in _options(self))

    def parse(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Options as `run` takes them.

        Raises:
            PassError: there is no such option, or it is of another type.
        """
        if not given:
            return {}
        named = {option.name: option for option in _options(self) if option.kind is option.KEYWORD_ONLY}
        others = [option for option in _options(self) if option.kind is option.VAR_KEYWORD]
        found = {}
        for name, text in given.items():
            if name not in named and not others:
                raise PassError(self._no_option(name, named))
            kind = (named.get(name) or others[0]).annotation
            value = _value(kind, text)
            if value is None:
                raise PassError(f"pass {self.name!r}: {name} is {_expected(kind)}, not {text!r}")
            found[name] = value
        return found

    def _no_option(self, name: str, named: Mapping[str, inspect.Parameter]) -> str:
        if not named:
            return f"pass {self.name!r} takes no options"
        close = difflib.get_close_matches(name, named, 1)
        hint = f" did you mean {close[0]!r}?" if close else ""
        takes = ", ".join(f"{each} ({_expected(option.annotation)})" for each, option in named.items())
        return f"pass {self.name!r} has no option {name!r};{hint} it takes {takes}"


@cache
def _options(found: Pass) -> list[inspect.Parameter]:
    parameters = inspect.signature(found.run, eval_str=True).parameters.values()
    return [each for each in parameters if each.kind in (each.KEYWORD_ONLY, each.VAR_KEYWORD)]


def _value(kind: Any, text: str) -> Any:
    """An option's value; None where the text says no such thing."""
    if get_origin(kind) is Literal:
        return text if text in get_args(kind) else None
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower())
    assert kind is int, f"an option of type {kind}"
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else None


def _expected(kind: Any) -> str:
    if get_origin(kind) is Literal:
        *names, last = get_args(kind)
        return f"{', '.join(names)} or {last}" if names else last
    return "true or false" if kind is bool else "an integer"


# ---- rewrites -------------------------------------------------------------------------------------------------------

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
    def source(self) -> Any:
        """Applies this rewrite alone."""
        return together([self])


def together(rewrites: Sequence[Rewrite]) -> Any:
    """What a pass of rewrites has (see `Pass.source`): all are applied until none of them applies."""

    def run(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
        apply(module, rewrites, report, reassociate=reassociate)

    roots = dict.fromkeys(root for each in rewrites for root in each.roots)
    return SimpleNamespace(run=run, TRIGGERS=tuple(roots))


# Those of hlograph's own, and of users (`registry.py`); each is a pass too.
REWRITES: dict[str, Any] = {}


def rewrite(
    *roots: str, name: str | None = None, exact: bool = False, default: bool = False
) -> Callable[[RewriteFunction], RewriteFunction]:
    """Registers a function on ops as a rewrite: it is a pass of that name; see `registry.rewrite`, which checks."""

    def register(function: RewriteFunction) -> RewriteFunction:
        wanted = name or str(getattr(function, "__name__", ""))
        line = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
        REWRITES[wanted] = Rewrite(wanted, line, default=default, roots=roots, function=function, exact=exact)
        return function

    return register


_REASSOCIATE: ContextVar[bool] = ContextVar("reassociate")


def keeps_bits() -> bool:
    """Whether `reassociate=false` was asked for, for a rewrite that is exact in some cases, or can be made so."""
    return not _REASSOCIATE.get()


def apply(module: ir.Module, rewrites: Sequence[Rewrite], report: Report, *, reassociate: bool = True) -> None:
    """Applies rewrites to all ops of a module, in place, until none applies.

    Raises:
        PassError: a rewrite returns values that cannot take the place of the op's results, or they never terminate.
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
        run_pipeline(module, "cse")
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
