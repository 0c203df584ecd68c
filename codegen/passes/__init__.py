"""Passes: StableHLO to StableHLO, by name.

In: a module and a pass written as `name` or `name{option=value, ...}`. Out: the module, changed in place and verified
(callers pass a copy; `Program.run_passes` does), and a `Report` of what was done and what was not. A pass of ours is
one file (or package) here and an entry in `_PASSES`; a rewrite (`rewriting.py`) is a pass of its own name, hlograph's
as well as users'; MLIR's and StableHLO's own passes are listed in `_PIPELINES` and run by MLIR.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from importlib import import_module

from ..errors import PassError
from ..ir.bindings import ir, run_pipeline
from ..ir.modules import verify
from .report import Report
from .rewriting import REWRITES, apply, reassociates

PassFunction = Callable[[ir.Module, Mapping[str, str], Report], None]

# name -> (module below this package, function, one line)
_PASSES: dict[str, tuple[str, str, str]] = {
    "specialize": ("specialize", "run", "fix roots to sizes, specialize{n=128,m=3}, and refine all types"),
    "pad": ("pad", "run", "static shapes at bounds, live sizes as arguments, pad{n=128,m=16}"),
    "device-linalg": ("device_linalg", "run", "put the platform's library calls for factorizations, {platform=cpu}"),
    "cpu-forms": ("cpu_forms", "run", "forms XLA:CPU is fast at: sums as dots, running sums as loops, ..."),
    "cpu-math": ("cpu_math", "run", "vectorised float64 log, log1p, lgamma, digamma for XLA:CPU"),
    "cpu-updates": ("cpu_updates", "run", "a barrier that keeps XLA:CPU from moving a reshape over an update"),
    "cpu-initial": ("cpu_initial", "run", "initial values that are no identity are taken in once by XLA:CPU"),
    "cpu-nan": ("cpu_nan", "run", "maxima and minima of many floats keep NaN whatever XLA:CPU makes of them"),
    "cpu-regions": ("cpu_regions", "run", "what XLA:CPU can compile as one kernel becomes one"),
    "simplify": ("simplify", "run", "what reaches XLA in bad shape: sums of pads, gathers with iota, powers, ..."),
    "sink_reductions": ("sink_reductions", "run", "reductions of a loop's stacked outputs move into the loop"),
    "roll_loops": ("roll_loops", "run", "straight-line code that repeats a block becomes a loop"),
    "inline": ("inline", "run", "inline calls, drop functions without a use"),
    "expand-linalg": ("expand_linalg", "run", "write factorizations as plain loops, for the reference interpreter"),
}

# Those that make programs faster and mean the same; each has `TRIGGERS`, see `triggers`, and the option `reassociate`.
_OPTIMIZING = ("roll_loops", "simplify", "sink_reductions")

# name -> (pipeline, one line)
_PIPELINES: dict[str, tuple[str, str]] = {
    "canonicalize": ("canonicalize", "MLIR: fold, simplify, remove dead code"),
    "cse": ("cse", "MLIR: common subexpression elimination"),
    "sccp": ("sccp", "MLIR: sparse conditional constant propagation"),
    "symbol-dce": ("symbol-dce", "MLIR: drop private functions without a use"),
    "chlo-legalize-to-stablehlo": (
        # On `?` types the first writes shape ops, the second their casts, which canonicalize folds.
        "func.func(chlo-legalize-to-stablehlo,shape-legalize-to-stablehlo),canonicalize,cse",
        "StableHLO: write CHLO ops (erf, lgamma, ...) as StableHLO ops",
    ),
    "stablehlo-refine-shapes": ("stablehlo-refine-shapes", "StableHLO: propagate sizes from the arguments"),
    "stablehlo-canonicalize-dynamism": (
        "func.func(stablehlo-canonicalize-dynamism)",
        "StableHLO: dynamic ops with constant sizes become static ones",
    ),
}


def available() -> dict[str, str]:
    """Pass name -> one line on what it does."""
    _load_rewrites()
    ours = {name: line for name, (_, _, line) in _PASSES.items()}
    ours |= {name: rewrite.line for name, rewrite in REWRITES.items()}
    return ours | {name: line for name, (_, line) in _PIPELINES.items()}


def check_free(name: str) -> None:
    """Refuses a name for a rewrite that is a pass already.

    Raises:
        PassError: it is, or it is no name that can be written in `--pass`.
    """
    if name in _PASSES or name in _PIPELINES:
        raise PassError(f"a pass {name!r} exists already; give the rewrite another name: rewrite(..., name=...)")
    if not re.fullmatch(r"[\w.-]+", name):
        raise PassError(f"a rewrite cannot be called {name!r}; use letters, digits, '_', '-' and '.'")


def _load_rewrites() -> None:
    """hlograph's own rewrites are registered where they are defined."""
    import_module(".simplify", __name__)


def close_name(name: str) -> str:
    """What to say of an unknown pass: a name that is like it, or all there are."""
    close = difflib.get_close_matches(name, available(), 1)
    return f"did you mean {close[0]!r}?" if close else f"available: {', '.join(sorted(available()))}"


def takes_reassociate(name: str) -> bool:
    """Whether a pass has the option `reassociate`."""
    return name in _OPTIMIZING or name in REWRITES


def parts(name: str) -> Collection[str]:
    """The rewrites that a pass consists of, which are passes by their own names too."""
    return tuple(import_module(".simplify", __name__).NAMES) if name == "simplify" else ()


def triggers(name: str) -> Collection[str] | int | None:
    """Without what there is nothing for a pass to do.

    Returns:
        Names of ops, one of which must be in the module; or the least number of ops; or None: nothing is needed.
    """
    if name in _OPTIMIZING:
        found: Collection[str] | int = import_module(f".{name}", __name__).TRIGGERS
        return found
    return REWRITES[name].roots if name in REWRITES else None


def run(module: ir.Module, spec: str, *, detailed: bool = False) -> Report:
    """Runs one pass, `name` or `name{option=value,...}`, on the module in place, and verifies the result.

    Args:
        module: the module; where the pass fails it may be half changed, so callers give a copy.
        spec: the pass.
        detailed: whether the report says of each op what was done, or why not.

    Raises:
        PassError: for an unknown name, malformed options, or a failing pass.
    """
    name, options = parse_spec(spec)
    report = Report(name, detailed, silent=not takes_reassociate(name))
    if name in _PIPELINES:
        if options:
            raise PassError(f"pass {name!r} takes no options")
        run_pipeline(module, _PIPELINES[name][0], name=name)
    elif name in _PASSES:
        file, function, _ = _PASSES[name]
        pass_function: PassFunction = getattr(import_module(f".{file}", __name__), function)
        pass_function(module, options, report)
    else:
        _load_rewrites()
        if name not in REWRITES:
            raise PassError(f"unknown pass {name!r}; {close_name(name)}")
        apply(module, [REWRITES[name]], report, reassociate=reassociates(options, name))
    if report.changed:
        verify(module, f"the result of pass {name!r}")
    return report


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Splits `name{a=1,b=2}` into the name and its options."""
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
