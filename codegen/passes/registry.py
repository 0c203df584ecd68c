"""The passes by name; how they are written; which ones `optimize=` means; rewrites of users.

In: text, `name` or `name{option=value, ...}`. Out: a `Pass`, and its options as values. A pass of ours is one file (or
package) in this folder with a function `run`, and one line in `_ALL`. The file may also say without what there is
nothing to do (`TRIGGERS`). Decisions to know: a file is imported when its pass is first needed, so that to look up
names costs nothing; passes of `optimize=` run where sizes are known, on the static module of each executable.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias

from ..errors import PassError
from ..ir.driver import check_op
from .rewriting import LEGALIZE_CHLO, REWRITES, Pass, Rewrite, RewriteFunction, together
from .rewriting import rewrite as register_rewrite

_ALL = (
    Pass("specialize", "fix roots to sizes, specialize{n=128,m=3}, and refine all types"),
    Pass("pad", "static shapes at bounds, live sizes as arguments, pad{n=128,m=16}", other_function=True),
    Pass("batch", "a leading axis on all arguments and results, batch{size=64}", other_function=True),
    Pass("inline", "inline calls, drop functions without a use"),
    Pass("roll_loops", "straight-line code that repeats a block becomes a loop"),
    Pass("simplify", "what reaches XLA in bad shape: sums of pads, gathers with iota, powers, ..."),
    Pass("fold_constants", "what depends on constants alone is computed once, in advance"),
    Pass("compress_rows", "rows of data that are only added up become fewer rows with the same sums"),
    Pass("all_rows", "sums over fewer rows that need a branch become sums over all rows again"),
    Pass("loop_writes", "a scatter of one row in a loop becomes an update of that row", on_loops=True),
    Pass("work_into_loops", "elementwise work on what a loop reads row by row moves into the loop", on_loops=True),
    Pass(
        "recompute_saved",
        "what a loop saves for a later one is computed again there, where that is cheaper",
        on_loops=True,
    ),
    Pass("sink_reductions", "reductions of a loop's stacked outputs move into the loop", on_loops=True),
    Pass("reduce_in_blocks", "a large array that is only reduced is made block by block, in a loop"),
    Pass("device_linalg", "put the platform's library calls for factorizations, {platform=cpu}"),
    Pass("expand_linalg", "write factorizations as plain loops, for the reference interpreter"),
    Pass("portable_linalg", "calls of LAPACK and large factorizations as plain StableHLO, by blocks"),
    Pass("for_iree", "forms that IREE compiles, and runs right", other_function=True),
    Pass("merge_host_calls", "Python functions that feed each other are called at once"),
    Pass("order_host_calls", "calls of Python functions happen in the order in which they are written"),
    Pass("doubled_counters", "a loop's counter that is added to itself, which ends XLA of jaxlib 0.10", bug=True),
    Pass("cpu_forms", "forms XLA:CPU is fast at: running sums of columns as loops, small factors written out, ..."),
    Pass("cpu_math", "vectorised float64 log, log1p, lgamma, digamma for XLA:CPU"),
    Pass("cpu_sums", "long sums in blocks, where XLA:CPU's library for them is off"),
    Pass("cpu_updates", "a barrier that keeps XLA:CPU from moving a reshape over an update", bug=True),
    Pass("cpu_scatters", "a barrier that keeps XLA:CPU from passing over updates of a scatter of integers", bug=True),
    Pass("cpu_initial", "initial values that are no identity are taken in once by XLA:CPU", bug=True),
    Pass("cpu_nan", "maxima and minima of many floats keep NaN whatever XLA:CPU makes of them", bug=True),
    Pass("cpu_regions", "what XLA:CPU can compile as one kernel becomes one"),
    Pass("cpu_blas", "products, Cholesky factors and triangular solves by BLAS, for calls without PJRT"),
    Pass("canonicalize", "MLIR: fold, simplify, remove dead code", pipeline="canonicalize"),
    Pass("cse", "MLIR: common subexpression elimination", pipeline="cse"),
    Pass("sccp", "MLIR: sparse conditional constant propagation", pipeline="sccp"),
    Pass("symbol-dce", "MLIR: drop private functions without a use", pipeline="symbol-dce"),
    Pass(
        "chlo-legalize-to-stablehlo",
        "StableHLO: write CHLO ops (erf, lgamma, ...) as StableHLO ops",
        pipeline=LEGALIZE_CHLO,
    ),
    Pass(
        "stablehlo-refine-shapes",
        "StableHLO: propagate sizes from the arguments",
        pipeline="stablehlo-refine-shapes",
    ),
    Pass(
        "stablehlo-canonicalize-dynamism",
        "StableHLO: dynamic ops with constant sizes become static ones",
        pipeline="func.func(stablehlo-canonicalize-dynamism)",
    ),
)
PASSES: Mapping[str, Pass] = {each.name: each for each in _ALL}
_SEVERAL = ("default", "exact")  # names for all of `DEFAULT`


def find(name: str) -> Pass:
    """The pass of a name.

    Raises:
        PassError: there is none; the message has a name that is like it, or all there are.
    """
    if name not in PASSES:
        _load_rewrites()
    found: Pass | None = PASSES.get(name) or REWRITES.get(name)
    if found is None:
        if name in _SEVERAL:
            raise PassError(f"{name!r} stands for several passes, where a list of them is taken, without options")
        close = difflib.get_close_matches(name, [*available(), *_SEVERAL], 1)
        hint = f"did you mean {close[0]!r}?" if close else f"available: {', '.join(sorted(available()))}"
        raise PassError(f"unknown pass {name!r}; {hint}")
    return found


def available() -> dict[str, str]:
    """Pass name -> one line on what it does."""
    _load_rewrites()
    return {each.name: each.line for each in (*PASSES.values(), *REWRITES.values())}


def _load_rewrites() -> None:
    import_module(".simplify", __package__)


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Splits `name{a=1,b=2}` into the pass's name and its options.

    Raises:
        PassError: it is written in another way.
    """
    match = re.fullmatch(r"\s*([\w.-]+)\s*(?:\{(.*)\})?\s*", spec, re.DOTALL)
    if match is None:
        raise PassError(f"malformed pass {spec!r}: expected name or name{{option=value,...}}")
    options: dict[str, str] = {}
    for part in (match[2] or "").split(","):
        if not part.strip():
            continue
        key, separator, value = part.partition("=")
        if not separator or not key.strip() or not value.strip():
            raise PassError(f"malformed option {part.strip()!r} in pass {spec!r}: expected option=value")
        options[key.strip()] = value.strip()
    return match[1], options


def write_spec(name: str, options: Mapping[str, str]) -> str:
    """The inverse of `parse_spec`."""
    return f"{name}{{{','.join(f'{key}={value}' for key, value in options.items())}}}" if options else name


def keeps_function(specs: Sequence[str]) -> bool:
    """Whether a program after these passes takes and returns what it did, for the sizes that are left to it."""
    return not any(find(parse_spec(spec)[0]).other_function for spec in specs)


def for_pullback(specs: Sequence[str], sizes: Collection[str]) -> list[str]:
    """The passes for a pullback of a program that goes through some.

    Args:
        specs: the program's passes.
        sizes: those of the pullback, which need not have all of the program's.

    Raises:
        PassError: after one of them it would be no pullback of the program.
    """
    found = []
    for spec in specs:
        name, options = parse_spec(spec)
        if find(name).other_function:
            raise PassError(
                f"{name}: the program has its pullback (it was saved with derivatives=1), which does not fit what "
                f"{name} makes of the program; leave it out: program.with_derivatives(0), or hlograph opt "
                "--without-derivatives"
            )
        if name == "specialize":
            options = {size: value for size, value in options.items() if size in sizes}
        found.append(write_spec(name, options))
    return found


# ---- which passes a program goes through before it is compiled ------------------------------------------------------

Optimize: TypeAlias = 'Literal["default", "exact", "none"] | Sequence[str]'

# What loops save is decided before reductions of it sink.
ON_LOOPS = ("loop_writes", "work_into_loops", "recompute_saved", "sink_reductions")

# In this order: rolled loops have stacks to sink into, and what simplify finds is found in the loops' bodies too.
DEFAULT = ("roll_loops", "simplify", "compress_rows", "fold_constants", *ON_LOOPS, "reduce_in_blocks")


def resolve(optimize: Optimize) -> tuple[str, ...]:
    """The passes that `optimize=` means, in order, with options.

    Args:
        optimize: "default"; "exact", the same, told to keep results bit for bit; "none"; or passes as
            `Program.optimize` takes them, among which "default" and "exact" stand for all of their own.

    Raises:
        PassError: an unknown pass, or malformed or wrong options.
    """
    if isinstance(optimize, str):
        if optimize not in (*_SEVERAL, "none"):
            hint = f"; did you mean [{optimize!r}]?" if parse_spec(optimize)[0] in available() else ""
            raise PassError(f'optimize must be "default", "exact", "none", or a list of passes, got {optimize!r}{hint}')
        optimize = [] if optimize == "none" else [optimize]
    if "none" in optimize:
        raise PassError('"none" stands alone: optimize="none" runs no pass, and in a list it means nothing')
    specs = []
    for entry in optimize:
        if entry in _SEVERAL:
            mine = [*DEFAULT, *(name for name, rewrite in REWRITES.items() if rewrite.default)]
            specs += mine if entry == "default" else exact(mine)
            continue
        name, options = parse_spec(entry)
        find(name).parse(options)
        specs.append(write_spec(name, options))
    return tuple(specs)


def exact(specs: Sequence[str]) -> list[str]:
    """The passes, told to keep results bit for bit where they know how; a rewrite that cannot is left out then."""
    found = []
    for name, options in map(parse_spec, specs):
        if find(name).reassociates:
            options.setdefault("reassociate", "false")
        found.append(write_spec(name, options))
    return found


def is_default(specs: Sequence[str]) -> bool:
    """Whether passes are those of `optimize="default"`, with whatever options."""
    names, default = ([parse_spec(spec)[0] for spec in each] for each in (specs, DEFAULT))
    return names == default


# ---- rewrites of users: hlograph's own cannot be replaced; a user's can, by a later one of its name -----------------


@dataclass(frozen=True, kw_only=True)
class Group(Pass):
    """Rewrites that are applied together until none of them applies.

    Attributes:
        members: their names.
    """

    members: tuple[str, ...]

    @property
    def source(self) -> Any:
        """Applies them, as they are defined by then."""
        found = together([find(name) for name in self.members])  # type: ignore[misc]
        found.PARTS = self.members
        return found


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
        return register_rewrite(*roots, name=wanted, exact=exact, default=default)(function)

    return register


def group(name: str, *members: str | RewriteFunction, default: bool = False) -> None:
    """Registers rewrites, in this order, as one pass: they are applied together until none of them applies.

    Args:
        name: the pass's; one of the user's of the same name is replaced.
        members: the rewrites, or their names; hlograph's own too.
        default: whether `optimize="default"` runs it from now on.

    Raises:
        PassError: no members, one that is not a rewrite, or the name of a pass or rewrite of hlograph's.
    """
    _check_free(name)
    names = tuple(each if isinstance(each, str) else _name_of(each) for each in members)
    if not names:
        raise PassError(f"the group {name!r} needs rewrites, as in group({name!r}, 'one', 'other')")
    for each in names:
        if not isinstance(find(each), Rewrite):
            raise PassError(f"{each!r} is a pass, not a rewrite: it cannot be in a group, but beside it in optimize=")
    REWRITES[name] = Group(name, f"together: {', '.join(names)}", default=default, members=names)


def _check_free(name: str) -> None:
    """Refuses a name for a rewrite that is a pass of hlograph's already; one of the user's is replaced.

    Raises:
        PassError: it is, or it is no name that can be written in `--pass`.
    """
    if name in PASSES or name in PASSES["simplify"].parts:
        raise PassError(f"a pass {name!r} exists already; give the rewrite another name: rewrite(..., name=...)")
    if not re.fullmatch(r"[\w.-]+", name):
        raise PassError(f"a rewrite cannot be called {name!r}; use letters, digits, '_', '-' and '.'")


def _name_of(function: RewriteFunction) -> str:
    for name, found in REWRITES.items():
        if isinstance(found, Rewrite) and found.function is function:
            return name
    raise PassError(f"{function!r} is not a rewrite: register it first, with @rewrite(...)")


def forget(name: str) -> None:
    """Takes a rewrite, or a group, of your own away.

    Raises:
        PassError: there is not one of this name.
    """
    find(name)
    if name not in REWRITES or name in PASSES["simplify"].parts:
        raise PassError(f"{name!r} is a pass of hlograph's, which stays")
    del REWRITES[name]
