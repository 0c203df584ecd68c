"""An executable that was loaded from bytes, on one device, as what calls use of a `jax.stages.Compiled`.

In: machine code that the caller vouches for, and its types. Out: results, as JAX arrays on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ...codegen.errors import CompileError
from ...codegen.ir.jax_compat import Execution, loaded_executable, loaded_execution

Type = tuple[tuple[Any, ...], np.dtype[Any]]


class LoadedExecutable:
    """A loaded executable.

    Args:
        data: see `jax_compat.serialized_executable`.
        arguments: shape and dtype of each; it has kept all of them.
        results: shape and dtype of each.
        device: where it runs.

    Attributes:
        args_info, out_info: types of arguments and results, with `shape` and `dtype` each.
        execution: its own call.
        size: bytes that it was loaded from.

    Raises:
        jax.errors.JaxRuntimeError: the runtime refuses it.
        CompileError: this JAX does not load executables.
    """

    execution: Execution

    def __init__(self, data: bytes, arguments: Sequence[Type], results: Sequence[Type], device: Any) -> None:
        self.args_info = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in arguments)
        self.out_info = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in results)
        self.size = len(data)
        self._device = device
        try:
            self._executable = loaded_executable(data, device)
        except (AttributeError, TypeError, ValueError) as error:
            raise CompileError(f"this JAX does not load it: {error}") from None
        execution = loaded_execution(self._executable, len(arguments), results, device)
        if execution is None:
            raise CompileError("this JAX has no call of such executables")
        self.execution = execution

    def runtime_executable(self) -> Any:
        """JAX's object."""
        return self._executable

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results for arrays of exactly its arguments' types, of NumPy or on the device."""
        placed = [x if isinstance(x, jax.Array) else jax.device_put(x, self._device) for x in arrays]
        results: list[Any] = self.execution.execute(placed).consume_with_handlers(self.execution.handlers)
        self.execution.collect()
        return results
