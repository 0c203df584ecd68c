"""JAX functions for several platforms: what JAX lowers for one of them, where all of them can run it.

In: a function that was traced, and platforms. Out: JAX's export of it. Decision to know: JAX may lower a primitive in
another way for each platform, and all of these compute the same; so the first is taken that calls no platform's own
library. What the user's code does on one platform and not on another (`jax.lax.platform_dependent`) may be anything,
and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jax import export

from ...codegen.analysis.platforms import in_the_way, listed
from ...codegen.errors import UnsupportedGraphError
from ...codegen.ir.bindings import new_context
from ...codegen.ir.portable import deserialize_portable
from .axes import first_lines

_INDEX = "platform_index"  # the primitive that picks a branch of `jax.lax.platform_dependent`


def refuse_own_branches(equations: Iterable[Any], platforms: Sequence[str], name: str) -> None:
    """Refuses a function that does one thing on one of the platforms and something else on another.

    Raises:
        UnsupportedGraphError: it does.
    """
    for equation in equations:
        if equation.primitive.name == _INDEX:
            branches = equation.params["platforms"]
            if len({_branch(branches, platform) for platform in platforms}) > 1:
                raise UnsupportedGraphError(
                    f"{name!r} has a branch of its own for each of {listed(platforms)} (jax.lax.platform_dependent), "
                    "and a program has one for all; emit one program for each platform"
                )


def _branch(branches: Sequence[Sequence[str] | None], platform: str) -> int:
    default = len(branches)
    for number, named in enumerate(branches):
        if named is None:
            default = number
        elif platform in named:
            return number
    return default


def exported_for(export_one: Callable[[str], export.Exported], platforms: Sequence[str], name: str) -> export.Exported:
    """What JAX exports for the first of the platforms whose calls all of them have.

    Args:
        export_one: exports for a platform.
        platforms: by JAX's names, at least one.
        name: the function's, for messages.

    Raises:
        UnsupportedGraphError: there is none; it names the calls that are in the way.
        NotImplementedError, ValueError: JAX has no lowering for the only platform that it serializes.
    """
    reasons = []
    for platform in platforms:
        try:
            exported = export_one(platform)
        except (NotImplementedError, ValueError) as error:  # no lowering, or a call that JAX promises nothing of
            if len(platforms) == 1:
                raise
            reasons.append(f"for {platform} it has none ({first_lines(error)})")
            continue
        module = deserialize_portable(exported.mlir_module_serialized, new_context(), name)
        calls = in_the_way(module, platforms)
        if not calls:
            return exported
        reasons.append(f"for {platform} it calls {', '.join(calls)}")
    raise UnsupportedGraphError(
        f"JAX has no form of {name!r} that all of {listed(platforms)} run: {'; '.join(reasons)}. Name fewer platforms"
    )
