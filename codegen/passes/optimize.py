"""Which passes a program goes through before it is compiled.

In: what `optimize=` says: "default", "exact", "none", or a list of passes, in which the first two may stand too. Out:
the passes as `--pass` writes them. Decision to know: passes run where sizes are known, on the static module of each
executable; one that cannot apply to any op that the module holds is not even started.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ..errors import PassError
from .registry import available, find, parse_spec, write_spec
from .rewriting import REWRITES

Optimize: TypeAlias = 'Literal["default", "exact", "none"] | Sequence[str]'

# What loops save is decided before reductions of it sink, and once more where some have sunk.
ON_LOOPS = (
    "loop_writes",
    "work_into_loops",
    "recompute_saved",
    "sink_reductions",
    "recompute_saved{after=sink_reductions}",
)

# In this order: rolled loops have stacks to sink into, and what simplify finds is found in the loops' bodies too.
DEFAULT = ("roll_loops", "simplify", *ON_LOOPS, "reduce_in_blocks")


def resolve(optimize: Optimize) -> tuple[str, ...]:
    """The passes that `optimize=` means, in order, with options.

    Args:
        optimize: "default"; "exact", the same, told to keep results bit for bit; "none"; or passes as
            `Program.run_passes` takes them, among which "default" and "exact" stand for all of their own.

    Raises:
        PassError: an unknown pass, or malformed or wrong options.
    """
    if isinstance(optimize, str):
        if optimize not in ("default", "exact", "none"):
            hint = f"; did you mean [{optimize!r}]?" if parse_spec(optimize)[0] in available() else ""
            raise PassError(f'optimize must be "default", "exact", "none", or a list of passes, got {optimize!r}{hint}')
        optimize = [] if optimize == "none" else [optimize]
    if "none" in optimize:
        raise PassError('"none" stands alone: optimize="none" runs no pass, and in a list it means nothing')
    specs = []
    for entry in optimize:
        if entry in ("default", "exact"):
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
