"""Inputs of a graph as arguments of a program: names, and dimensions for axes of unknown size.

In: inputs as a reader sees them, and what the user says of their axes. Out: arguments with unique names, each axis a
size, a dimension that the user named, or one named after the input and the axis (`x_0`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import dims as dimension
from .builder import Dims
from .dims import Dim
from .dims_text import parse as parse_dim
from .errors import GraphError
from .signature import Argument

DimsArgument = Mapping[Any, Sequence[str | int | None]]


@dataclass
class Input:
    """An input of a graph as a reader sees it: `given` is the caller's variable, `variable` its copy in the graph.

    `key` names the implementation of a PRNG key.
    """

    given: Any
    variable: Any
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    container: Any = None
    key: str = ""


def fresh(name: str, taken: set[str]) -> str:
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


def unique(names: Sequence[str]) -> list[str]:
    """The names, with numbers added where one occurs again; a name that occurs once stays."""
    counts = Counter(names)
    taken = {name for name, count in counts.items() if count == 1}
    return [name if counts[name] == 1 else fresh(name, taken) for name in names]


def root_base(name: str, number: int) -> str:
    """What the roots of an argument are named after: its name, or its number where that is no name for a root."""
    return name if name.isascii() and name.isidentifier() else f"arg{number}"


def name_arguments(inputs: Sequence[Input], dims: DimsArgument) -> list[Argument]:
    """Names for arguments and their open axes; `dims` may be keyed by name or by variable."""
    names = unique([x.name for x in inputs])
    by_variable = {x.given: name for x, name in zip(inputs, names, strict=True)}
    wanted: dict[str, Sequence[str | int | None]] = {}
    for key, value in dims.items():
        name = key if isinstance(key, str) else by_variable.get(key)
        if name not in names:
            raise GraphError(f"dims names {key!r}, which is not an input (inputs: {', '.join(names)})")
        if isinstance(value, str | int):
            value = (value,)
        wanted[name] = tuple(value)
    taken = {
        root
        for entries in wanted.values()
        for entry in entries
        if isinstance(entry, str)
        for root in dimension.roots(_parse(entry))
    }
    arguments: list[Argument] = []
    for x, name in zip(inputs, names, strict=True):
        entries = wanted.get(name, (None,) * len(x.shape))
        if len(entries) != len(x.shape):
            raise GraphError(f"dims of {name!r} has {len(entries)} entries, but the input has {len(x.shape)} axes")
        sizes: list[Dim] = []
        for axis, (entry, static) in enumerate(zip(entries, x.shape, strict=True)):
            if isinstance(entry, bool) or not isinstance(entry, str | int | np.integer | None):
                raise GraphError(f"dims of {name!r}, axis {axis}: expected a name or a size, got {entry!r}")
            if isinstance(entry, int | np.integer) and entry < 0:
                raise GraphError(f"dims of {name!r}, axis {axis}: size {entry} is negative")
            if static is not None:
                if isinstance(entry, int | np.integer) and int(entry) != static:
                    raise GraphError(f"dims of {name!r}, axis {axis} says {entry}, but the input's type has {static}")
                sizes.append(static)
            elif entry is None:
                sizes.append(dimension.symbol(fresh(f"{root_base(name, len(arguments))}_{axis}", taken)))
            else:
                sizes.append(_parse(entry) if isinstance(entry, str) else int(entry))
        arguments.append(Argument(name, x.dtype, _dims(sizes), (), x.container is not None, key=x.key))
    return arguments


def _dims(sizes: Sequence[Dim]) -> Dims:
    return tuple(sizes)


def _parse(text: str) -> Dim:
    try:
        return parse_dim(text)
    except ValueError as error:
        raise GraphError(f"dims: {error}") from None
