"""What is in a module: ops, constants, reductions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from .attributes import constant_value
from .bindings import ir
from .types import numpy_dtype
from .walk import walk

_NOT_COUNTED = frozenset(["func.func", "func.return", "stablehlo.return", "builtin.module"])


def op_counts(module: ir.Module) -> Counter[str]:
    """How often each op occurs; terminators and functions are not counted."""
    return Counter(operation.name for operation in walk(module) if operation.name not in _NOT_COUNTED)


def constants(module: ir.Module) -> list[tuple[str, int, str]]:
    """The constants, largest first: (type, bytes, location). A splat counts the bytes of one element."""
    found = []
    for operation in walk(module):
        if operation.name != "stablehlo.constant":
            continue
        type_ = ir.RankedTensorType(operation.results[0].type)
        value = constant_value(operation)
        count = 1 if value is not None and not value.ndim else int(np.prod(type_.shape, dtype=np.int64))
        found.append((str(type_), count * numpy_dtype(type_.element_type).itemsize, str(operation.location)))
    return sorted(found, key=lambda item: -item[1])


def has_reduction(module: ir.Module, bodies: Collection[str], elements: int) -> bool:
    """Whether a static module reduces at least so many elements by one of these ops."""
    for operation in walk(module):
        if operation.name == "stablehlo.reduce":
            size = int(np.prod(ir.RankedTensorType(operation.operands[0].type).shape, dtype=np.int64))
            body = operation.regions[0].blocks[0]
            if size >= elements and any(inner.operation.name in bodies for inner in body.operations):
                return True
    return False
