"""Calls of Python functions in a module; `codegen/builder/host.py` says what they look like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .attributes import attributes_of
from .bindings import ir
from .walk import walk

TARGET = "hlograph.host"


@dataclass(frozen=True, eq=False)
class HostCall:
    """A Python function that a program calls.

    Attributes:
        name: what messages call it: the op.
        function: from NumPy arrays of its own, which it may write to, to the results.
    """

    name: str
    function: Callable[[Sequence[np.ndarray[Any, Any]]], Sequence[Any]]


def is_host_call(operation: ir.Operation) -> bool:
    """Whether an op calls a Python function."""
    if operation.name != "stablehlo.custom_call":
        return False
    return bool(ir.StringAttr(operation.attributes["call_target_name"]).value == TARGET)


def host_calls(module: ir.Module) -> list[ir.Operation]:
    """Those of a module, in order."""
    return [operation for operation in walk(module) if is_host_call(operation)]


def name_of(operation: ir.Operation) -> str:
    """The name of the function that is called."""
    return str(ir.StringAttr(ir.DictAttr(operation.attributes["backend_config"])["name"]).value)


def is_live(operation: ir.Operation) -> bool:
    """Whether the last operand is a vector with the live sizes of all axes, of the operands' and of the results'."""
    return "live" in attributes_of(ir.DictAttr(operation.attributes["backend_config"]))
