"""The arguments of a compiled function by name: its Python signature, and calls with keywords.

In: the arguments of a program as callers see them. Out: an `inspect.Signature`, and a call's arguments in their order.
Functions whose call is written out take keywords by themselves (`writer.write`).
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ...codegen.errors import ArgumentTypeError
from ...codegen.inputs import root_base
from ...codegen.signature import describe
from ...codegen.sparse_parts import Group
from .arguments import MISSING


def names_of(groups: Sequence[Group]) -> list[str]:
    """What callers name their arguments by: a sparse matrix is one."""
    return [group.items[0].sparse[0] if group.sparse else group.items[0].name for group in groups]


def signature_of(groups: Sequence[Group]) -> inspect.Signature:
    """The signature that `inspect.signature` and `help` show: names, dtypes and dimensions.

    An argument whose name is no identifier is shown by its number, and cannot be given by that.
    """
    names = names_of(groups)
    shown = [root_base(name, number) for number, name in enumerate(names)]
    first = next((i + 1 for i in reversed(range(len(names))) if names[i] != shown[i]), 0)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = []
    for number, (name, group) in enumerate(zip(shown, groups, strict=True)):
        item = group.items[0]
        annotation = str(group).split(": ", 1)[1] if group.sparse else describe(item.dtype, item.dims)
        parameters.append(inspect.Parameter(name, kinds[number >= first], annotation=annotation))
    return inspect.Signature(parameters)


def in_order(function: str, groups: Sequence[Group], args: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
    """A call's arguments in their order, with `MISSING` for those that are left out before another one.

    Raises:
        ArgumentTypeError: a name that no argument has, or one that is given twice.
    """
    names = names_of(groups)
    found = [*args, *[MISSING] * (len(names) - len(args))]
    for name, value in keywords.items():
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"its arguments: {', '.join(names) or 'none'}"
            raise ArgumentTypeError(f"{function}() got an unexpected keyword argument {name!r}; {hint}")
        place = names.index(name)
        if place < len(args):
            raise ArgumentTypeError(f"{function}() got multiple values for argument {name!r}")
        found[place] = value
    while found and found[-1] is MISSING:
        found.pop()
    return found
