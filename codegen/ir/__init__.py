"""MLIR: bindings, types, values, the walk, and what goes with them. All that uses JAX comes by here first."""

from ..versions import check_core

check_core()
