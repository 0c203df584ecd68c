"""What the tests of the builder share: `show` prints the module of a function that is built by hand.

A case's name is `function.static` or `function.dynamic`, with `.what` behind it where a function has several; as in
ops/common.py the second part is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np
from builds import Build
from common import check_kind, check_tidy, print_case

from hlograph import Program
from hlograph.builder import dims as dimension


def show(name: str, arguments: Sequence[tuple[Any, ...]], body: Callable[..., Any]) -> None:
    """Prints a module.

    Args:
        name: the module's.
        arguments: (dtype, dimension, ...) of each; a dimension is a size or a name.
        body: from the arguments' handles to a result or a list of results.
    """
    types = [
        (tuple(dimension.symbol(d) if isinstance(d, str) else d for d in dims), np.dtype(t)) for t, *dims in arguments
    ]
    function = Build(*types, module=name)
    results = body(*function.args)
    text = function.done(*(results if isinstance(results, list) else [results]))
    program = Program.parse(text, allow=["*"])
    check_kind(name, name.split(".")[1], program.text)
    check_tidy(name, program)
    print_case(name, program)


def show_line(name: str, dtypes: str, body: Callable[..., Any]) -> None:
    """Prints the term of a function of vectors, of known and of unknown size, between which only types may differ."""
    found = []
    for size, kind in ((4, "static"), ("n", "dynamic")):
        with redirect_stdout(StringIO()) as text:
            show(f"{name}.{kind}", [(dtype, size) for dtype in dtypes.split()], body)
        found.append(text.getvalue().partition(": ")[2].strip().replace("?x", "4x"))
    if found[0] != found[1]:
        raise SystemExit(f"{name}: {found[0]} where the size is known, {found[1]} where it is not")
    print(f"{name}: {found[0]}")
