"""Inputs of a graph as arguments of a program: names, and dimensions for axes of unknown size.

In: inputs as a reader sees them, and what the user says of their axes. Out: arguments with unique names, each axis a
size, a dimension that the user named, or one named after the input and the axis (`x_0`).
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import dims as dimension
from .dims import Dim
from .dims import parse as parse_dim
from .errors import GraphError
from .ir.values import free_name
from .signature import Argument

DimsArgument = Mapping[Any, Sequence[Any]]  # of names, sizes, None, and one `...`


@dataclass
class Input:
    """An input of a graph as a reader sees it: `given` is the caller's variable, `variable` its copy in the graph.

    `key` names the implementation of a PRNG key. `axes` are names for sizes: the same name is the same size.
    `sparse` says which part of which sparse matrix it is; see `signature.Argument`. `parameter` says that it stands
    for a large constant.
    """

    given: Any
    variable: Any
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    container: Any = None
    key: str = ""
    axes: tuple[str | None, ...] = ()
    sparse: tuple[str, ...] = ()
    parameter: bool = False


def fresh(name: str, taken: set[str]) -> str:
    taken.add(found := free_name(name, taken))
    return found


def unique(names: Sequence[str]) -> list[str]:
    """The names, with numbers added where one occurs again; a name that occurs once stays."""
    counts = Counter(names)
    taken = {name for name, count in counts.items() if count == 1}
    return [name if counts[name] == 1 else fresh(name, taken) for name in names]


def is_name(name: str) -> bool:
    """Whether Python takes a text for a parameter's name: "lambda" and "a b" are none."""
    return name.isidentifier() and not keyword.iskeyword(name)


def root_base(name: str, number: int) -> str:
    """What the roots of an argument are named after: its name, or its number where that is no name in Python."""
    return name if name.isascii() and is_name(name) else f"arg{number}"


def unfolded(axes: Sequence[Any], rank: int) -> tuple[Any, ...]:
    """Axes in which `...` stands for any number of axes that nothing is said of, as those of an array of this rank.

    Raises:
        ValueError: it is there twice, or the array has fewer axes than the rest needs.
    """
    if ... not in axes:
        return tuple(axes)
    place, rest = list(axes).index(...), len(axes) - 1
    if ... in axes[place + 1 :]:
        raise ValueError("`...` may stand once")
    if rest > rank:
        raise ValueError(f"{rest} entries beside `...`, but there are {rank} axes")
    return (*axes[:place], *[None] * (rank - rest), *axes[place + 1 :])


def named_parameters(names: Sequence[str]) -> inspect.Signature:
    """A signature of parameters by place that have these names, as far as Python has such: JAX shows them."""
    plain = [re.sub(r"\W", "_", name) for name in names]
    shown = unique([name if is_name(name) else f"_{name}" for name in plain])
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in shown])


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
        rank = len(next(x for x, own in zip(inputs, names, strict=True) if own == name).shape)
        try:
            wanted[name] = unfolded(value, rank)
        except ValueError as error:
            raise GraphError(f"dims of {name!r}: {error}") from None
    taken = {
        root
        for entries in wanted.values()
        for entry in entries
        if isinstance(entry, str)
        for root in dimension.roots(_parse(entry))
    }
    taken.update(axis for x in inputs for axis in x.axes if axis is not None)
    known = _known_sizes(inputs, names, wanted)
    arguments: list[Argument] = []
    for x, name in zip(inputs, names, strict=True):
        entries = wanted.get(name, (None,) * len(x.shape))
        if len(entries) != len(x.shape):
            raise GraphError(f"dims of {name!r} has {len(entries)} entries, but the input has {len(x.shape)} axes")
        if x.axes:
            _refuse_swapped(name, x.axes, entries, known)
            entries = [
                known[axis] if entry is None and axis is not None else entry
                for entry, axis in zip(entries, x.axes, strict=True)
            ]
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
        shared, parameter = x.container is not None and not x.parameter, name if x.parameter else ""
        arguments.append(
            Argument(name, x.dtype, tuple(sizes), (), shared, key=x.key, sparse=x.sparse, parameter=parameter)
        )
    return arguments


def _known_sizes(
    inputs: Sequence[Input], names: Sequence[str], wanted: Mapping[str, Sequence[str | int | None]]
) -> dict[str, str | int]:
    """For each name of an axis its size, if the inputs' types or the caller say one and the same; itself if not."""
    sizes: dict[str, set[int]] = {}
    for x, name in zip(inputs, names, strict=True):
        entries = wanted.get(name, (None,) * len(x.shape))
        for axis, static, entry in zip(x.axes, x.shape, entries, strict=False):
            if axis is not None:
                said = static if static is not None else entry
                sizes.setdefault(axis, set()).update([int(said)] if isinstance(said, int | np.integer) else ())
    return {axis: found.copy().pop() if len(found) == 1 else axis for axis, found in sizes.items()}


def _refuse_swapped(
    name: str, axes: Sequence[str | None], entries: Sequence[str | int | None], known: Mapping[str, str | int]
) -> None:
    """Refuses to give an axis the name that the graph has for another dimension."""
    for axis, (own, entry) in enumerate(zip(axes, entries, strict=True)):
        if own is not None and entry != own and entry in known:
            raise GraphError(
                f"dims of {name!r}, axis {axis} says {entry!r}, but the graph calls this axis {own!r} and has another "
                f"dimension {entry!r}; choose a name that is none of {', '.join(known)}"
            )


def _parse(text: str) -> Dim:
    try:
        return parse_dim(text)
    except ValueError as error:
        raise GraphError(f"dims: {error}") from None
