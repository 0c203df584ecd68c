"""MLIR: bindings, types, values, the walk, and what goes with them. All that uses JAX comes by here first."""

from ..interrupts import check_interpreter
from ..versions import check_core

check_interpreter()
check_core()
