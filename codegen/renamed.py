"""What there was once under another name: names, members and options, and what to write in their place.

In: a name that no longer exists. Out: an `AttributeError`, or a `TypeError` of an option, that says the new one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Taken = ParamSpec("Taken")
Given = TypeVar("Given")

NAMES = {
    "hlograph.Context": "hlograph.builder.Context",
    "hlograph.HlographError": "hlograph.errors.HlographError",
    "hlograph.Stats": "the type of Function.stats",
    "hlograph.deserialize_and_load": "hlograph.runtime.lowered.ahead.deserialize_and_load",
    "hlograph.lowers": "hlograph.builder.lowers",
    "hlograph.lowers_with_jax": "hlograph.builder.lowers_with_jax",
    "Program.constants": "the command `hlograph inspect FILE`",
    "Program.run_passes": "optimize",
    "Program.target_costs": "the command `hlograph emit --target`",
    "Program.with_pullback": "with_derivatives(1)",
    "Program.without_pullback": "with_derivatives(0)",
    "Program.to_portable": 'save("file.mlirbc")',
}

_BY_ITSELF = "a call that needs it has it now, without being asked"
_CHOSEN = "hlograph chooses it"
OPTIONS = {
    "backend": "it is device now",
    "backend_level": _CHOSEN,
    "direct_checks": _CHOSEN,
    "open_sizes": _BY_ITSELF,
    "own_branch_sizes": _BY_ITSELF,
    "reassociate": 'reassociate=False is optimize="exact" now',
    "rng_inputs": "one key is the first argument, for all random variables",
    "stretched_indices": _BY_ITSELF,
    "target_version": 'it is target="1.9.0" now',
    "trial": "nothing is timed in calls any more",
    "vector_width": _CHOSEN,
}
# Of the command line, of commands that do not have them under this name.
FLAGS = {"--bound": "--bounds", "--pass": "--optimize", "--size": "--sizes"}


def nearest(name: object, names: Iterable[str], otherwise: str = "", form: str = "did you mean {!r}?") -> str:
    """The hint of an error about an unknown name: the nearest of the known ones, or else something."""
    close = difflib.get_close_matches(str(name), list(names), 1)
    return form.format(close[0]) if close else otherwise


def missing(owner: str, name: str) -> AttributeError:
    """The error for a missing attribute."""
    new = NAMES.get(f"{owner.rpartition(' ')[2]}.{name}")
    return AttributeError(f"{owner} has no attribute {name!r}" + (f"; it is {new} now" if new else ""))


def renamed_options(function: Callable[Taken, Given]) -> Callable[Taken, Given]:
    """Has a function say about an option that it had once what to write now.

    Raises:
        TypeError: such an option is given.
    """
    import inspect  # which takes as long as all else that `import hlograph` imports

    old = OPTIONS.keys() - inspect.signature(function).parameters.keys()

    @wraps(function)
    def checked(*args: Taken.args, **kwargs: Taken.kwargs) -> Given:
        given: Any = kwargs.keys() & old
        if given:
            name = min(given)
            raise TypeError(f"{function.__qualname__} has no option {name!r} any more: {OPTIONS[name]}")
        return function(*args, **kwargs)

    return checked
