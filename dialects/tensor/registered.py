"""Imports every file of rules, which registers them."""

from . import advanced_index, control, data_dependent, diagonal, elemwise, index, linalg, random, reduce, shape, sort

__all__ = [
    "advanced_index",
    "control",
    "data_dependent",
    "diagonal",
    "elemwise",
    "index",
    "linalg",
    "random",
    "reduce",
    "shape",
    "sort",
]
