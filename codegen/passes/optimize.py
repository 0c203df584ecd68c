"""Which passes a program goes through before it is compiled.

In: what `optimize=` says: "default", "none", or a list of passes. Out: the passes as `--pass` writes them, and a module
that has gone through those that may find something in it. Decision to know: passes run where sizes are known, on the
static module of each executable; one that cannot apply to any op that the module holds is not even started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from ..errors import PassError
from ..ir.bindings import ir
from ..ir.walk import has_operations, walk
from . import available, close_name, parse_spec, run, takes_reassociate, triggers
from .report import Report
from .rewriting import REWRITES

Optimize: TypeAlias = 'Literal["default", "none"] | Sequence[str]'

# In this order: rolled loops have stacks to sink into, and what simplify finds is found in the loops' bodies too.
DEFAULT = ("roll_loops", "simplify", "sink_reductions")


def resolve(optimize: Optimize, reassociate: bool = True) -> tuple[str, ...]:
    """The passes that `optimize=` means, in order, with options.

    Args:
        optimize: "default", "none", or passes as `Program.run_passes` takes them.
        reassociate: False keeps results bit for bit: what cannot is left out, or told to leave it.

    Raises:
        PassError: an unknown pass, or malformed options.
    """
    if isinstance(optimize, str):
        if optimize not in ("default", "none"):
            hint = f"; did you mean [{optimize!r}]?" if parse_spec(optimize)[0] in available() else ""
            raise PassError(f'optimize must be "default", "none", or a list of passes, got {optimize!r}{hint}')
        names = [*DEFAULT, *_users()] if optimize == "default" else []
    else:
        names = list(optimize)
    specs = []
    for spec in names:
        name, options = parse_spec(spec)
        if name not in available():
            raise PassError(f"unknown pass {name!r}; {close_name(name)}")
        if not reassociate and takes_reassociate(name):
            options.setdefault("reassociate", "false")
        specs.append(written(name, options))
    return tuple(specs)


def _users() -> list[str]:
    """Users' rewrites that ask to be among the default ones."""
    return [name for name, rewrite in REWRITES.items() if rewrite.default]


def written(name: str, options: Mapping[str, str]) -> str:
    """The inverse of `parse_spec`."""
    return f"{name}{{{','.join(f'{key}={value}' for key, value in options.items())}}}" if options else name


def run_promising(module: ir.Module, specs: Sequence[str]) -> list[Report]:
    """Runs those of the passes that may find something in a module, in place.

    Raises:
        PassError: one fails; the module may be half changed.
    """
    return [run(module, spec) for spec in specs if may_apply(module, spec)]


def may_apply(module: ir.Module, spec: str) -> bool:
    """Whether a pass may find something in a module: a look at what ops there are."""
    wanted = triggers(parse_spec(spec)[0])
    if wanted is None:
        return True
    if isinstance(wanted, int):
        return has_operations(module, wanted)
    return any(operation.name in wanted for operation in walk(module))
