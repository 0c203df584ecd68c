"""Sparse matrices as the arrays that they are made of: the arguments and results of a program.

In: SciPy's matrices, or others of the same parts (`data`, `indices`, `indptr`, `shape`), such as JAX's. Out: arrays, in
the order of a program's signature; and back. Imports SciPy only where there is a matrix to make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .errors import ArgumentShapeError, ArgumentTypeError
from .signature import Argument, Result

COMPRESSED = {"csr": "csr", "csc": "csc", "bsr": "csr"}  # which parts there are of a matrix in a format
OTHER_SIZE = {"csr": "columns", "csc": "rows", "bsr": "columns"}  # the size that these do not tell


class SparseParts(NamedTuple):
    """A sparse matrix where its arrays are not known: inside JAX's transformations.

    Attributes:
        data: the values.
        indices: of each value its column (csr) or row (csc).
        indptr: where each row (csr) or column (csc) starts, and where the last one ends.
        shape: the numbers of rows and of columns.
    """

    data: Any
    indices: Any
    indptr: Any
    shape: Any


class Group(NamedTuple):
    """What a caller gives or gets as one: an array, or the parts of a matrix."""

    items: tuple[Any, ...]

    @property
    def sparse(self) -> bool:
        """Whether it is a matrix."""
        return bool(self.items[0].sparse)

    def __str__(self) -> str:
        first = self.items[0]
        return f"{first.sparse[0]}: {first.dtype} matrix in {first.sparse[1]}" if self.sparse else str(first)

    @property
    def parts(self) -> list[str]:
        """Which parts these are."""
        return [item.sparse[2] for item in self.items]


def grouped(items: Sequence[Argument] | Sequence[Result]) -> list[Group]:
    """Arguments or results as callers see them."""
    found: list[list[Any]] = []
    for item in items:
        if item.sparse and item.sparse[2] != "data":
            found[-1].append(item)
        else:
            found.append([item])
    return [Group(tuple(group)) for group in found]


def compressed(matrix: Any) -> Any:
    """A matrix in the format that it is taken apart in."""
    return matrix.tocsr() if getattr(matrix, "format", "") == "bsr" else matrix


def part_of(matrix: Any, part: str) -> Any:
    """The data, indices or indptr of a matrix, or an array without elements that has as many rows or columns."""
    if part in ("rows", "columns"):
        return np.empty((int(matrix.shape[part == "columns"]), 0), np.int8)
    value, starts = getattr(matrix, part), matrix.indptr
    if not isinstance(starts, np.ndarray):
        return value
    if part != "indptr" and len(value) != starts[-1]:
        value = value[: starts[-1]]  # SciPy allows for more
    return value if part == "data" else np.asarray(value, np.int32)


def split(groups: Sequence[Group], args: Sequence[Any]) -> list[Any]:
    """The arrays of a call's arguments. What is no matrix, or too much, is passed on.

    Raises:
        ArgumentTypeError: a matrix in another format, or what is none.
        ArgumentShapeError: a matrix of another size than the program is for.
    """
    found: list[Any] = []
    for group, value in zip(groups, args, strict=False):
        if _is_matrix(group, value):
            value = compressed(value)
            found += [part_of(value, part) for part in group.parts]
        else:
            found.append(value)
    return found + list(args[len(groups) :])


def _is_matrix(group: Group, value: Any) -> bool:
    if not group.sparse:
        return False
    name, form, _, *size = group.items[0].sparse
    if not all(hasattr(value, part) for part in ("data", "indices", "indptr", "shape")):
        raise ArgumentTypeError(
            f"argument {name!r}: expected a sparse matrix in format {form}, got {type(value).__name__}; make it with "
            f"scipy.sparse.{form}_matrix(...)"
        )
    given = "" if isinstance(value, SparseParts) else _form_of(value)
    if given not in ("", form):
        raise ArgumentTypeError(
            f"argument {name!r}: expected a sparse matrix in format {form}, got {given}; convert it with .to{form}()"
        )
    other = OTHER_SIZE[form]
    if size and value.shape[other == "columns"] != int(size[0]):
        raise ArgumentShapeError(
            f"argument {name!r}: expected {size[0]} {other}, got {value.shape[other == 'columns']}"
        )
    return True


def _form_of(value: Any) -> str:
    kind = type(value).__name__.lower()
    return str(getattr(value, "format", {"bcsr": "csr"}.get(kind, kind)))


def joined(groups: Sequence[Group], arrays: Sequence[Any], known: Callable[[Any], bool]) -> list[Any]:
    """A call's results: SciPy's matrices, where all parts are known, and `SparseParts` where they are not."""
    found, rest = [], iter(arrays)
    for group in groups:
        values = [next(rest) for _ in group.items]
        found.append(_matrix(group, values, all(map(known, values))) if group.sparse else values[0])
    return found


def _matrix(group: Group, values: Sequence[Any], known: bool) -> Any:
    form = group.items[0].sparse[1]
    data, indices, starts, other = values
    sizes = (starts.shape[0] - 1, int(other) if known else other)
    shape = sizes[::-1] if form == "csc" else sizes
    if not known:
        return SparseParts(data, indices, starts, shape)
    import scipy.sparse

    kind = getattr(scipy.sparse, f"{COMPRESSED[form]}_matrix")
    return kind((np.array(data), np.array(indices), np.array(starts)), shape=shape, copy=False).asformat(form)
