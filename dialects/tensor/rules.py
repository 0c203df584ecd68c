"""Imports every file of rules, which registers them."""

from . import advanced_index, control, data_dependent, elemwise, index, linalg, random, reduce, shape, sort, symbolic

__all__ = [
    "advanced_index",
    "control",
    "data_dependent",
    "elemwise",
    "index",
    "linalg",
    "random",
    "reduce",
    "shape",
    "sort",
    "symbolic",
]
