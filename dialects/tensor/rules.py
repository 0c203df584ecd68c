"""Imports every file of rules, which registers them."""

from . import control, elemwise, index, linalg, reduce, shape, sort, symbolic

__all__ = ["control", "elemwise", "index", "linalg", "reduce", "shape", "sort", "symbolic"]
