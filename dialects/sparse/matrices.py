"""Sparse matrices as what a graph of dense tensors has of them: values, and where they stand.

In: the parts of matrices, as variables of a graph. Out: other parts. A `Matrix` is what the ops on sparse matrices are
written in terms of; a `Kit` (`kit.py`) makes the nodes.
"""

from __future__ import annotations

from typing import Any

MAJOR = {"csr": 0, "csc": 1}  # the axis that a format goes along


class Matrix:
    """A matrix in compressed form.

    Args:
        kit: makes nodes (`kit.Kit`).
        form: "csr" or "csc".
        values: a vector.
        shape: each size an int, or an integer scalar.
        minor: of each value the column (csr) or row (csc).
        major: of each value the row (csr) or column (csc), not decreasing; or None, and `starts` tell.
        starts: where each row (csr) or column (csc) starts; or None.
        checked: whether major and minor are known to be in range.
    """

    def __init__(
        self,
        kit: Any,
        form: str,
        values: Any,
        shape: tuple[Any, Any],
        minor: Any,
        *,
        major: Any = None,
        starts: Any = None,
    ) -> None:
        self.kit, self.form, self.values, self.shape = kit, form, values, shape
        self._indices = minor
        self._minor = minor if starts is None else None
        self._major, self._starts = major, starts

    @property
    def major(self) -> Any:
        """Of each value the row (csr) or column (csc)."""
        if self._major is None:
            self._major, self._minor = self.kit.places(self._starts, self._indices, self.minor_size)
        return self._major

    @property
    def minor(self) -> Any:
        """Of each value the column (csr) or row (csc)."""
        if self._minor is None:
            self.major  # noqa: B018  both are found at once
        return self._minor

    @property
    def indices(self) -> Any:
        """As `minor`, but as the matrix was given, which may be wrong."""
        return self._indices

    @property
    def starts(self) -> Any:
        """Where each row (csr) or column (csc) starts, and where the last one ends."""
        if self._starts is None:
            self._starts = self.kit.starts(self._major, self.major_size)
        return self._starts

    @property
    def major_size(self) -> Any:
        """The number of rows (csr) or columns (csc)."""
        return self.shape[MAJOR[self.form]]

    @property
    def minor_size(self) -> Any:
        """The number of columns (csr) or rows (csc)."""
        return self.shape[1 - MAJOR[self.form]]

    @property
    def places(self) -> tuple[Any, Any]:
        """Row and column of each value."""
        found = (self.major, self.minor)
        return found if self.form == "csr" else found[::-1]

    @property
    def count(self) -> Any:
        """The number of values."""
        known = self._indices.type.shape[0]
        return self.values.shape[0] if known is None else known

    @property
    def dtype(self) -> str:
        """Of the values."""
        return str(self.values.type.dtype)

    def with_values(self, values: Any) -> Matrix:
        """Other values on the same places."""
        found = object.__new__(Matrix)
        found.__dict__ = {**self.__dict__, "values": values}
        return found

    def with_starts(self, shape: tuple[Any, Any], starts: Any) -> Matrix:
        """More rows (csr) or columns (csc) behind the others."""
        found = self.with_values(self.values)
        found._major, found._minor, found._starts, found.shape = self.major, self.minor, starts, shape
        return found

    @property
    def transposed(self) -> Matrix:
        """Rows as columns."""
        found = self.with_values(self.values)
        found.form, found.shape = "csc" if self.form == "csr" else "csr", self.shape[::-1]
        return found

    def keys(self) -> Any:
        """A number for each value, which is the same for the same place, in the order of the format."""
        return self.kit.key(self.major, self.minor, self.minor_size)
