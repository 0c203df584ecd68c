"""Passes: StableHLO to StableHLO, by name.

In: a module and a pass written as `name` or `name{option=value, ...}`. Out: the module, changed in place and verified
(callers pass a copy; `Program.run_passes` does). A pass of ours is one file here and an entry in `_PASSES`; MLIR's and
StableHLO's own passes are listed in `_PIPELINES` and run by MLIR.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from importlib import import_module

from .. import mlir
from ..errors import PassError
from ..mlir import ir

PassFunction = Callable[[ir.Module, Mapping[str, str]], None]

# name -> (module below this package, function, one line)
_PASSES: dict[str, tuple[str, str, str]] = {
    "specialize": ("specialize", "run", "fix roots to sizes, specialize{n=128,m=3}, and refine all types"),
    "pad": ("padding", "run", "static shapes at bounds, live sizes as arguments, pad{n=128,m=16}"),
    "device-linalg": ("device_linalg", "run", "put the platform's library calls for factorizations, {platform=cpu}"),
    "expand-linalg": ("expand_linalg", "run", "write factorizations as plain loops, for the reference interpreter"),
}

# name -> (pipeline, one line)
_PIPELINES: dict[str, tuple[str, str]] = {
    "canonicalize": ("canonicalize", "MLIR: fold, simplify, remove dead code"),
    "cse": ("cse", "MLIR: common subexpression elimination"),
    "inline": ("inline,symbol-dce", "MLIR: inline calls, drop functions without a use"),
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
    ours = {name: line for name, (_, _, line) in _PASSES.items()}
    return ours | {name: line for name, (_, line) in _PIPELINES.items()}


def run(module: ir.Module, spec: str) -> None:
    """Runs one pass, `name` or `name{option=value,...}`, on the module in place, and verifies the result.

    Raises:
        PassError: for an unknown name, malformed options, or a failing pass. The module may be half changed then.
    """
    name, options = parse_spec(spec)
    if name in _PIPELINES:
        if options:
            raise PassError(f"pass {name!r} takes no options")
        mlir.run_pipeline(module, _PIPELINES[name][0], name=name)
    elif name in _PASSES:
        file, function, _ = _PASSES[name]
        pass_function: PassFunction = getattr(import_module(f".{file}", __name__), function)
        pass_function(module, options)
    else:
        close = difflib.get_close_matches(name, available(), 1)
        hint = f"did you mean {close[0]!r}?" if close else f"available: {', '.join(sorted(available()))}"
        raise PassError(f"unknown pass {name!r}; {hint}")
    mlir.verify(module, f"the result of pass {name!r}")


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
