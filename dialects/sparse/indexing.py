"""Rows, blocks and elements of a sparse matrix, and the gradients of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from .expansions import expands
from .kit import Groups, Kit
from .matrices import MAJOR, Matrix


@expands("GetItem2d")
def block(kit: Kit, node: Any, x: Matrix, *bounds: Any) -> Matrix:
    """`x[a:b:c, d:e:f]`."""
    slices = [slice(*(kit.bound(y) for y in bounds[3 * axis : 3 * axis + 3])) for axis in (0, 1)]
    numbers, sizes = zip(*[_chosen(kit, x.shape[axis], slices[axis]) for axis in (0, 1)], strict=True)
    places = [kit.known(numbers[axis][x.places[axis]]) for axis in (0, 1)]
    keep = kit.nonzero(kit.tensor.ge(places[0], 0) & kit.tensor.ge(places[1], 0))
    major, minor = (kit.known(places[axis][keep]) for axis in (MAJOR[x.form], 1 - MAJOR[x.form]))
    shape = (sizes[0], sizes[1])
    return kit.ordered(x.form, x.values[keep], shape, major, minor)


def _chosen(kit: Kit, size: Any, chosen: slice) -> tuple[Any, Any]:
    """For each row of a matrix its number among those that a slice chooses, or -1; and how many these are."""
    if chosen == slice(None):
        return kit.known(kit.arange(size)), size
    count = kit.arange(size)[chosen].shape[0]
    none = kit.tensor.full((size,), np.int64(-1), dtype="int64")
    known = kit.known(count)
    found = int(known.data) if kit.is_constant(known) else count
    return kit.known(kit.tensor.set_subtensor(none[chosen], kit.arange(found))), found


@expands("GetItemScalar")
def element(kit: Kit, node: Any, x: Matrix, row: Any, column: Any) -> Any:
    """`x[i, j]`."""
    row, column = kit.arange(x.shape[0])[row], kit.arange(x.shape[1])[column]
    rows, columns = x.places
    here = kit.tensor.eq(rows, row) & kit.tensor.eq(columns, column)
    return kit.cast(kit.tensor.switch(here, x.values, kit.tensor.zeros_like(x.values)).sum(), x.dtype)


@expands("GetItemList")
def rows_of(kit: Kit, node: Any, x: Matrix, index: Any) -> Matrix:
    """`x[index]`: rows, each as often as it is named."""
    by_row = kit.in_form(x, "csr")
    return kit.in_form(_rows(kit, by_row, index), x.form)


def _rows(kit: Kit, x: Matrix, index: Any) -> Matrix:
    """Rows of a matrix in `csr`."""
    begins, lengths = x.starts[:-1], x.starts[1:] - x.starts[:-1]
    counts = kit.known(lengths[index])
    row = kit.bounded(kit.tensor.repeat(kit.arange(index.shape[0]), counts), index.shape[0])
    before = kit.known((kit.tensor.cumsum(counts) - counts)[row])
    source = kit.bounded(kit.arange(row.shape[0]) - before + begins[index][row], x.count)
    return kit.matrix("csr", x.values[source], (index.shape[0], x.shape[1]), row, x.minor[source])


@expands("GetItemListGrad")
def rows_gradient(kit: Kit, node: Any, x: Matrix, index: Any, g: Matrix) -> Matrix:
    """A matrix with rows written to places; of several for one place the last."""
    tensor, size = kit.tensor, x.shape[0]
    by_row = kit.in_form(g, "csr")
    # Behind the rows stands one that is empty, for rows that nothing is written to.
    starts = tensor.concatenate([by_row.starts, by_row.starts[-1:]])
    extended = by_row.with_starts((by_row.shape[0] + 1, g.shape[1]), starts)
    writer = kit.known(_last_writer(kit, size, index))
    source = tensor.switch(tensor.lt(writer, 0), index.shape[0], writer)
    found = kit.in_form(_rows(kit, extended, kit.known(source)), x.form)
    found.shape = x.shape
    return found.with_values(kit.cast(found.values, x.dtype))


def _last_writer(kit: Kit, size: Any, index: Any) -> Any:
    """For each place which of an index's elements names it last, or -1."""
    place = kit.known(kit.arange(size)[index])
    writer = Groups(kit, place).last(kit)
    none = kit.tensor.full((size,), np.int64(-1), dtype="int64")
    return kit.tensor.set_subtensor(none[kit.bounded(place[writer], size)], writer)


@expands("GetItem2Lists")
def elements(kit: Kit, node: Any, x: Matrix, rows: Any, columns: Any) -> Any:
    """`x[rows, columns]`."""
    major, minor = _places(kit, x, rows, columns)
    return kit.cast(kit.at(x, kit.key(major, minor, x.minor_size)), node.outputs[0].type.dtype)


def _places(kit: Kit, x: Matrix, rows: Any, columns: Any) -> list[Any]:
    """Majors and minors of places, which are checked to be in range."""
    chosen = [kit.known(kit.arange(size)[index]) for size, index in zip(x.shape, (rows, columns), strict=True)]
    return chosen if x.form == "csr" else chosen[::-1]


@expands("GetItem2ListsGrad")
def elements_gradient(kit: Kit, node: Any, x: Matrix, rows: Any, columns: Any, g: Any) -> Matrix:
    """A matrix with numbers written to places; of several for one place the last."""
    major, minor = _places(kit, x, rows, columns)
    writer = Groups(kit, kit.key(major, minor, x.minor_size)).last(kit)
    values = kit.cast(kit.sized(g, rows.shape[0])[writer], x.dtype)
    return kit.matrix(x.form, values, x.shape, major[writer], minor[writer])
