"""What hlograph uses of nutpie that is private there.

In: nutpie. Out: the names below, and nothing else of them anywhere. nutpie's own backends are made of the same parts: a
model's value, gradient and expanded variables as PyTensor functions in a mode, and a compiled model that holds the
addresses of two C functions. tests/runtime/samplers/test_nutpie.py holds what they take.
"""

from __future__ import annotations

from nutpie.compile_pymc import CompiledPyMCModel as CompiledPyMCModel
from nutpie.compile_pymc import _make_functions as make_functions
from nutpie.compile_pymc import _prepare_dims_and_coords as dims_and_coords
from nutpie.compile_pymc import _wrap_with_lock as with_lock

__all__ = ["CompiledPyMCModel", "dims_and_coords", "make_functions", "with_lock"]
