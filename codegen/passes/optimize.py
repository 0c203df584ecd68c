"""Which passes a program goes through before it is compiled.

In: what `optimize=` says: "default", "none", or a list of passes, in which "default" may stand too. Out: the passes as
`--pass` writes them. Decision to know: passes run where sizes are known, on the static module of each executable; one
that cannot apply to any op that the module holds is not even started.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ..errors import PassError
from .registry import available, find, parse_spec, write_spec
from .rewriting import REWRITES

Optimize: TypeAlias = 'Literal["default", "none"] | Sequence[str]'

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


def resolve(optimize: Optimize, reassociate: bool = True) -> tuple[str, ...]:
    """The passes that `optimize=` means, in order, with options.

    Args:
        optimize: "default", "none", or passes as `Program.run_passes` takes them; "default" among these stands for all
            of its own.
        reassociate: False keeps results bit for bit: what cannot is left out, or told to leave it.

    Raises:
        PassError: an unknown pass, or malformed or wrong options.
    """
    if isinstance(optimize, str):
        if optimize not in ("default", "none"):
            hint = f"; did you mean [{optimize!r}]?" if parse_spec(optimize)[0] in available() else ""
            raise PassError(f'optimize must be "default", "none", or a list of passes, got {optimize!r}{hint}')
        optimize = [optimize] if optimize == "default" else []
    if "none" in optimize:
        raise PassError('"none" stands alone: optimize="none" runs no pass, and in a list it means nothing')
    specs = []
    for spec in [each for entry in optimize for each in (_default() if entry == "default" else [entry])]:
        name, options = parse_spec(spec)
        found = find(name)
        if not reassociate and found.reassociates:
            options.setdefault("reassociate", "false")
        if options and spec not in DEFAULT:
            found.parse(options)
        specs.append(write_spec(name, options))
    return tuple(specs)


def _default() -> list[str]:
    """The passes of `optimize="default"`, and users' rewrites that ask to be among them."""
    return [*DEFAULT, *(name for name, rewrite in REWRITES.items() if rewrite.default)]


def is_default(specs: Sequence[str]) -> bool:
    """Whether passes are those of `optimize="default"`, with whatever options."""
    names, default = ([parse_spec(spec)[0] for spec in each] for each in (specs, DEFAULT))
    return names == default
