"""What the tests of the builder share: `show` prints the module of a function that is built by hand.

A case's name is `function.static` or `function.dynamic`, with `.what` behind it where a function has several; as in
ops/common.py the second part is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from common import check_kind, check_tidy

from hlograph import Program
from hlograph.codegen import builder as hlo
from hlograph.codegen.dims import symbol
from hlograph.codegen.ir.bindings import new_context


def show(name: str, arguments: Sequence[tuple[Any, ...]], body: Callable[..., Any]) -> None:
    """Prints a module.

    Args:
        name: the module's.
        arguments: (dtype, dimension, ...) of each; a dimension is a size or a name.
        body: from the arguments' handles to a result or a list of results.
    """
    builder = hlo.Builder(new_context(), name)
    types = [(tuple(symbol(d) if isinstance(d, str) else d for d in dims), np.dtype(t)) for t, *dims in arguments]
    with builder.function("main", types) as handles:
        for handle in handles:
            for axis, dim in enumerate(handle.dims):
                if not isinstance(dim, int):
                    builder.add_root(hlo.SizeSource(str(dim), handle, axis))
        results = body(*handles)
        builder.finish(results if isinstance(results, list) else [results])
    program = Program.parse(str(builder.module), allow=["*"])
    check_kind(name, name.split(".")[1], program.text)
    check_tidy(name, program)
    print(program.text)


def show_line(name: str, arguments: Sequence[tuple[Any, ...]], body: Callable[..., Any]) -> None:
    """Prints the type of an elementwise function's result, after its op: `name: op : type`."""
    from contextlib import redirect_stdout
    from io import StringIO

    with redirect_stdout(StringIO()) as text:
        show(name, arguments, body)
    lines = [line.strip() for line in text.getvalue().splitlines() if line.strip().startswith(("%", "return"))]
    print(f"{name}: {'; '.join(line.partition(' = ')[2] or line for line in lines)}")
