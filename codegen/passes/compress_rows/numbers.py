"""Fewer rows with the same sums: the numbers of them, by NumPy.

    group   key  ones     y              keys  ones      y                       weights
      0     a    1  1  1  3  4  8   ->    a    1.73      8.66        (degree 2)   3
                                          any  0         3.74                     0
                                          a    3         15          (degree 1)   3

In: keys and columns, each an array with the rows in front. Out: rows of which sums (the highest degree is 1), or all
products of columns (it is 2), are those of the rows with equal keys. Decisions to know: columns are centred before they
go through Householder's QR, in float64 at least, never through products of columns with their cancellation; a group
that would not get shorter keeps its rows as they are. Equal keys are equal bit for bit, so 0.0 and -0.0 differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.refused import require
from ...ir.values import Array

_WORK = 2_000_000_000  # multiplications of all factorizations


@dataclass(frozen=True)
class Groups:
    """Rows with equal keys.

    Attributes:
        of: the group of each row.
        first: a row of each group.
        counts: how many rows each has.
    """

    of: Array
    first: Array
    counts: Array

    def kept(self, keyed: int, others: int, highest: int) -> int:
        """How many rows are left, where this many columns that meet keys, and others, enter linearly besides ones."""
        own = int(np.minimum(self.counts, keyed + 1).sum())
        return len(self.counts) if highest == 1 else own + min(others, int(self.counts.sum()) - own)


class Grouping:
    """Rows of arrays, grouped by those arrays that are keys.

    Args:
        arrays: by name, with the rows in front.
        size: the number of rows.
    """

    def __init__(self, arrays: Mapping[Any, Array], size: int) -> None:
        self._size = size
        self._places = {name: array.reshape(-1) for name, array in arrays.items() if _is_place(array)}
        self._tables = {name: _words(array, size) for name, array in arrays.items()}
        self._hashed: dict[Any, Array] = {}
        # This many rows that some of them are equal if half of all are.
        count = min(size, 8 * int(size**0.5) + 64)
        self._sample = np.random.default_rng(0).choice(size, count, replace=False)

    def by(self, keys: Collection[Any], most: int) -> Groups | None:
        """Groups by these keys; None where there are more than `most`, up to half of the rows."""
        hashed = np.zeros(self._size, np.uint64)
        for name in self._tables:
            if name in keys:
                hashed = _mixed(hashed, self._hash(name))
        if len(np.unique(hashed[self._sample])) == len(self._sample) > most:
            return None
        _, first, of, counts = np.unique(hashed, return_index=True, return_inverse=True, return_counts=True)
        if len(counts) > most:
            return None
        of = of.reshape(-1)
        tables = [table for name, table in self._tables.items() if name in keys]
        same = all(np.array_equal(table, table[first[of]]) for table in tables)
        require(same, "different rows have the same hash")
        # Those with equal places side by side, in order.
        places = [array[first] for name, array in self._places.items() if name in keys]
        order = np.lexsort(places[::-1]) if places else np.arange(len(first))
        return Groups(np.argsort(order)[of], first[order], counts[order])

    def _hash(self, name: Any) -> Array:
        """A number for each row of an array: equal rows have equal numbers."""
        if name not in self._hashed:
            found = np.zeros(self._size, np.uint64)
            for column in self._tables[name].T:
                found = _mixed(found, column)
            self._hashed[name] = found
        return self._hashed[name]


def _is_place(array: Array) -> bool:
    return array.dtype.kind in "iu" and array.size == len(array)


def _mixed(hashed: Array, column: Array) -> Array:
    found = (hashed ^ (hashed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + column
    found = (found ^ (found >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def _words(array: Array, size: int) -> Array:
    flat = np.ascontiguousarray(array.reshape(size, -1))
    bits = flat.view(np.uint8).reshape(size, flat.shape[1] * flat.itemsize)
    missing = -bits.shape[1] % 8
    if missing:
        bits = np.concatenate([bits, np.zeros((size, missing), np.uint8)], axis=1)
    return np.ascontiguousarray(bits).view(np.uint64)


@dataclass(frozen=True)
class Rows:
    """Fewer rows.

    Attributes:
        source: for each the row whose keys it has.
        ones: the column of ones.
        weights: its square, as whole numbers.
        columns: what became of the columns, side by side.
        shared: how many of the last rows are no group's.
    """

    source: Array
    ones: Array
    weights: Array
    columns: Array
    shared: int = 0


def sums(groups: Groups, columns: Array) -> Rows:
    """A row for each group, with the sum of each column."""
    found = np.zeros((len(groups.counts), columns.shape[1]), np.longdouble)
    order = np.argsort(groups.of, kind="stable")
    starts = np.concatenate([[0], np.cumsum(groups.counts)[:-1]])
    if columns.shape[1]:
        found = np.add.reduceat(columns[order].astype(np.longdouble), starts, axis=0)
    counts = groups.counts
    return Rows(groups.first, counts.astype(np.float64), counts, found.astype(np.float64))


def products(groups: Groups, columns: Array, keyed: int) -> Rows:
    """Rows with the same products of columns, and of these with ones.

    What is left of a group without its mean, and without those first columns that meet keys, is no group's: it goes
    through one factorization with that of all others.

    Raises:
        Refused: that would take too long.
    """
    count, width = columns.shape
    require(count * (width + 1) ** 2 <= _WORK, f"the factorization of {count:,} x {width} takes too long")
    order = np.argsort(groups.of, kind="stable")
    ends = np.cumsum(groups.counts)
    sizes = np.minimum(groups.counts, keyed + 1)
    # All groups have as many rows, some of them zeros, where that is not many more.
    even = len(sizes) * sizes.max() <= _EVEN * sizes.sum()
    reserved = np.full_like(sizes, sizes.max()) if even else sizes
    places, total = np.cumsum(reserved) - reserved, int(reserved.sum())
    made, ones = np.zeros((total, width)), np.zeros(total)
    weights = np.zeros(len(ones), np.int64)
    short = np.flatnonzero(groups.counts <= keyed + 1)
    into = _ranges(places[short], sizes[short])
    made[into] = columns[order[_ranges(ends[short] - sizes[short], sizes[short])]]
    ones[into] = weights[into] = 1
    # Groups of about one length go through the factorization together, filled up with zeros.
    longer, rest = np.flatnonzero(groups.counts > keyed + 1), [np.zeros((0, width))]
    powers = np.ceil(np.log2(groups.counts[longer])).astype(int)
    for power in np.unique(powers):
        chosen = longer[powers == power]
        step = max(1, _BLOCK // (width + 1) >> int(power))
        for begin in range(0, len(chosen), step):
            part = chosen[begin : begin + step]
            own = [columns[order[ends[k] - groups.counts[k] : ends[k]]] for k in part]
            means, triangles = _factors(own)
            roots = np.sqrt(groups.counts[part].astype(np.longdouble))
            lines = places[part]
            made[lines], ones[lines], weights[lines] = roots[:, None] * means, roots, groups.counts[part]
            made[lines[:, None] + 1 + np.arange(keyed)] = triangles[:, :keyed]
            rest.append(triangles[:, keyed:].reshape(-1, width))
    # The first rows of all groups, their second rows, ...: sums over a group are sums of long vectors then.
    order = np.arange(total).reshape(len(sizes), -1).T.reshape(-1) if even else np.arange(total)
    source, table = np.repeat(groups.first, reserved)[order], np.concatenate(rest)
    table = table[table.any(axis=1)]
    if len(table) > width - keyed:
        table = _triangular([table[:, keyed:]])[0]
        table = np.concatenate([np.zeros((len(table), keyed)), table], axis=1)
    none = np.zeros(len(table), np.int64)
    return Rows(
        np.concatenate([source, np.full(len(table), source[0])]),
        np.concatenate([ones[order], none]),
        np.concatenate([weights[order], none]),
        np.concatenate([made[order], table]),
        len(table),
    )


_EVEN = 1.25  # times as many rows as there need to be, so that all groups have equally many
_BLOCK = 1 << 22  # numbers that are factorized together
_LONG = 256  # rows that are factorized at once: in the cache, and on one thread


def _ranges(starts: Array, sizes: Array) -> Array:
    return np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))


def _factors(tables: Sequence[Array]) -> tuple[Array, Array]:
    means = np.stack([table.sum(axis=0, dtype=np.longdouble) / len(table) for table in tables])
    return means, _triangular([table - mean for table, mean in zip(tables, means, strict=True)])


def _triangular(tables: Sequence[Array]) -> Array:
    """The triangular factors of tables of about one length."""
    # Columns are scaled by powers of 2, which rounds nothing.
    exponents = np.frexp(np.stack([np.abs(table).max(axis=0, initial=0) for table in tables]))[1]
    width = tables[0].shape[1]
    parts = [np.ldexp(table, -exponent).astype(float) for table, exponent in zip(tables, exponents, strict=True)]
    while max(map(len, parts)) > max(_LONG, 4 * width):
        parts = [_shorter(part, max(_LONG, 4 * width)) for part in parts]
    block = np.zeros((len(parts), max(width, *map(len, parts)), width))
    for place, part in enumerate(parts):
        block[place, : len(part)] = part
    return np.ldexp(np.linalg.qr(block, mode="r"), exponents[:, None, :])


def _shorter(table: Array, count: int) -> Array:
    whole = len(table) // count
    blocks = table[: whole * count].reshape(whole, count, table.shape[1])
    made = np.linalg.qr(blocks, mode="r").reshape(-1, table.shape[1])
    return np.concatenate([made, table[whole * count :]])
