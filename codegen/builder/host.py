"""Calls of Python functions from a program: the custom call `hlograph.host`, by names that a table explains.

In: a `HostCall`, and handles. Out: handles on its results, whose sizes must be known.

    %0:2 = stablehlo.custom_call @hlograph.host(%order, %x) {backend_config = {name = "host_0"}, has_side_effect = true}

The first operand and the first result, int32 scalars that mean nothing, are for the pass `order_host_calls`, which
strings the calls of a program together. `Program.host_calls` has the functions: what is written to a file has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.host_calls import TARGET, HostCall
from .control import custom_call
from .core import Builder, Tensor
from .types import INT32, Dims, DType


def host_call(
    builder: Builder, call: HostCall, operands: Sequence[Tensor], results: Sequence[tuple[Dims, DType]]
) -> list[Tensor]:
    """Calls a Python function each time that the program comes by.

    Args:
        builder: where to.
        call: the function.
        operands: what it gets.
        results: (dims, dtype) of what it gives.
    """
    name = f"host_{len(builder.host_calls)}"
    builder.host_calls[name] = call
    order = builder.constant(0, INT32)
    config = {"name": f'"{name}"'}
    types = [((), INT32), *results]
    return custom_call(TARGET, [order, *operands], types, backend_config=config, has_side_effect=True)[1:]
