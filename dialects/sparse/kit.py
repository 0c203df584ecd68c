"""Sparse matrices as what a graph of dense tensors has of them: values, and where they stand; and nodes on these.

In: the parts of matrices, as variables of a graph. Out: other parts. A `Matrix` is what the ops on sparse matrices are
written in terms of; a `Kit` makes the nodes. Where places are constants, all that is computed from places is, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...codegen.errors import GraphError
from ..library import Library
from ..tensor.host import Performed, group_of

MAJOR = {"csr": 0, "csc": 1}  # the axis that a format goes along


@dataclass
class Matrix:
    """A matrix in compressed form.

    Attributes:
        kit: makes nodes.
        form: "csr" or "csc".
        values: a vector.
        shape: each size an int, or an integer scalar.
        indices: of each value the column (csr) or row (csc); as given, perhaps wrong, without `given_major`.
        given_major: of each value the row (csr) or column (csc), not decreasing; or None, and the starts tell.
        given_starts: where each row (csr) or column (csc) starts, and where the last one ends; or None.
    """

    kit: Kit
    form: str
    values: Any
    shape: tuple[Any, Any]
    indices: Any
    given_major: Any = None
    given_starts: Any = None

    @property
    def major(self) -> Any:
        """Of each value the row (csr) or column (csc)."""
        return self._in_range[0]

    @property
    def minor(self) -> Any:
        """Of each value the column (csr) or row (csc)."""
        return self._in_range[1]

    @property
    def _in_range(self) -> tuple[Any, Any]:
        if self.given_major is not None:
            return self.given_major, self.indices
        return self.kit.places(self.given_starts, self.indices, self.minor_size)

    @cached_property
    def starts(self) -> Any:
        """Where each row (csr) or column (csc) starts, and where the last one ends."""
        return (
            self.kit.starts(self.given_major, self.shape[MAJOR[self.form]])
            if self.given_starts is None
            else self.given_starts
        )

    @property
    def minor_size(self) -> Any:
        """The number of columns (csr) or rows (csc)."""
        return self.shape[1 - MAJOR[self.form]]

    @property
    def places(self) -> tuple[Any, Any]:
        """Row and column of each value."""
        return self._in_range if self.form == "csr" else self._in_range[::-1]

    @property
    def count(self) -> Any:
        """The number of values."""
        known = self.indices.type.shape[0]
        return self.values.shape[0] if known is None else known

    @property
    def dtype(self) -> str:
        """Of the values."""
        return str(self.values.type.dtype)

    def with_values(self, values: Any) -> Matrix:
        """Other values on the same places."""
        return replace(self, values=values)

    @property
    def transposed(self) -> Matrix:
        """Rows as columns."""
        return replace(self, form="csc" if self.form == "csr" else "csr", shape=self.shape[::-1])

    def keys(self) -> Any:
        """A number for each value, which is the same for the same place, in the order of the format."""
        return self.kit.key(self.major, self.minor, self.minor_size)


class Kit:
    """Makes nodes on parts of matrices.

    Args:
        library: the graph library's classes.

    Attributes:
        where: the op for which nodes are made, for messages.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self.tensor = library.module("tensor")
        self.where = "a sparse matrix"
        self._open: set[Any] = set()
        self._places: dict[Any, Any] = {}

    # ---- constants --------------------------------------------------------------------------------------------------

    def constant(self, value: Any) -> Any:
        """An array as a variable."""
        return self.tensor.as_tensor_variable(np.asarray(value))

    def is_constant(self, x: Any) -> bool:
        """Whether a variable's value is known."""
        return isinstance(x, (int, self.library.constant))

    def same(self, x: Any, y: Any) -> bool:
        """Whether two variables are plain to see the same."""
        return x is y or (self.is_constant(x) and self.is_constant(y) and np.array_equal(x.data, y.data))

    def known(self, x: Any) -> Any:
        """A constant, where a variable is made of nothing but constants; else the variable."""
        if x.owner is None or self._is_open(x):
            return x
        found = Performed(group_of(x.owner, lambda variable: False))([])[x.index]
        return self.constant(np.asarray(found, x.type.dtype))

    def _is_open(self, x: Any) -> bool:
        stack = [x]
        while stack:
            found = stack[-1]
            if found in self._open or (found.owner is None and not isinstance(found, self.library.constant)):
                self._open.update([x, found])
                return True
            stack.pop()
            if found.owner is not None:
                stack.extend(found.owner.inputs)
        return False

    # ---- shapes -----------------------------------------------------------------------------------------------------

    def shape_vector(self, shape: tuple[Any, Any]) -> Any:
        """A shape as an int64 vector; `shape_of` gives it back."""
        return self.tensor.stack([self.tensor.as_tensor_variable(x, dtype="int64") for x in shape])

    def shape_of(self, vector: Any) -> tuple[Any, Any]:
        """The two sizes in a vector."""
        known = self.known(vector)
        if self.is_constant(known):
            return int(known.data[0]), int(known.data[1])
        while vector.owner is not None and type(vector.owner.op).__name__ in ("Elemwise", "SpecifyShape"):
            vector = vector.owner.inputs[0]  # a cast
        if vector.owner is not None and type(vector.owner.op).__name__ == "MakeVector":
            rows, columns = (self.known(x) for x in vector.owner.inputs)
        else:
            rows, columns = vector[0], vector[1]
        return self.size_of(rows), self.size_of(columns)

    def size_of(self, x: Any) -> Any:
        """An integer scalar as an int, where it is known; else as int64."""
        return int(x.data) if self.is_constant(x) else self.cast(x, "int64")

    def bound(self, x: Any) -> Any:
        """A bound of a slice; None where there is none."""
        return None if getattr(x.type, "ndim", None) is None else self.size_of(self.known(x))

    # ---- reading and writing ----------------------------------------------------------------------------------------

    def put(self, size: Any, index: Any, values: Any) -> Any:
        """Zeros with values added at places along the first axis."""
        rest = [values.shape[axis] for axis in range(1, values.type.ndim)]
        zeros = self.tensor.zeros((size, *rest), dtype=values.type.dtype)
        return self.tensor.inc_subtensor(zeros[index], values)

    def arange(self, size: Any) -> Any:
        """The numbers below a size, as int64."""
        return self.tensor.arange(size, dtype="int64")

    def cast(self, x: Any, dtype: Any) -> Any:
        """Another dtype; of complex numbers the real part, where it is real."""
        if x.type.dtype == str(dtype):
            return x
        real = x.type.dtype.startswith("complex") and not str(dtype).startswith("complex")
        return self.tensor.cast(self.tensor.real(x) if real else x, str(dtype))

    def sized(self, x: Any, *sizes: Any) -> Any:
        """A variable that is demanded to have sizes; None leaves one open."""
        static = zip(sizes, x.type.shape, strict=True)
        if all(size is None or (isinstance(size, int) and size == known) for size, known in static):
            return x
        found = self.tensor.specify_shape(x, sizes)
        found.name = f"operand of {self.where}"
        return found

    def demanded(self, x: Any, message: str, *pairs: tuple[Any, Any]) -> Any:
        """A variable, for which sizes are demanded to agree.

        Raises:
            GraphError: they are known not to.
        """
        different = [(a, b) for a, b in pairs if a is not b and not (isinstance(a, int) and a == b)]
        if any(isinstance(a, int) and isinstance(b, int) for a, b in different):
            raise GraphError(f"{message}: {', '.join(f'{a} and {b}' for a, b in pairs)}")
        if not different:
            return x
        check = self.library.module("raise_op").Assert(message)
        return check(x, *[self.tensor.eq(a, b) for a, b in different])

    def join(self, parts: Sequence[Any]) -> Any:
        """Vectors one behind the other."""
        return self.known(self.tensor.concatenate(list(parts)))

    # ---- places -----------------------------------------------------------------------------------------------------

    def places(self, starts: Any, indices: Any, size: Any) -> tuple[Any, Any]:
        """Majors and minors of a matrix in compressed form, which are checked to be in range."""
        from .places_op import Places, places

        key = starts, indices, size
        if key not in self._places:
            if self.is_constant(starts) and self.is_constant(indices) and isinstance(size, int):
                dtype = "int32" if max(size, len(starts.data)) < 2**31 else "int64"
                found = [self.constant(x.astype(dtype)) for x in places(starts.data, indices.data, size)]
            else:
                found = Places()(starts, indices, size)
            self._places[key] = tuple(found)
        return self._places[key]

    def bounded(self, index: Any, size: Any) -> Any:
        """Indices that are known to be in range."""
        index = self.known(index)
        if self.is_constant(index):
            return index
        from .places_op import InRange

        return InRange()(index, size)

    def starts(self, major: Any, size: Any) -> Any:
        """Where each row starts, from the row of each value in order: int64[size + 1]."""
        return self.known(self.tensor.searchsorted(self.cast(major, "int64"), self.arange(size + 1)))

    def key(self, major: Any, minor: Any, minor_size: Any) -> Any:
        """A number for each place, in order."""
        wide = self.cast(major, "int64") * self.tensor.as_tensor_variable(minor_size, dtype="int64")
        return self.known(wide + self.cast(minor, "int64"))

    def nonzero(self, mask: Any) -> Any:
        """The places of what is true in a vector."""
        return self.known(self.tensor.nonzero(mask)[0])

    def argsort(self, keys: Any) -> Any:
        """The order that sorts keys; what is equal stays in order."""
        return self.bounded(self.tensor.argsort(keys, kind="stable"), keys.shape[0])

    # ---- matrices ---------------------------------------------------------------------------------------------------

    def matrix(self, form: str, values: Any, shape: tuple[Any, Any], major: Any, minor: Any) -> Matrix:
        """A matrix whose places are known to be in range, and in order."""
        axis = MAJOR[form]
        major, minor = self.bounded(major, shape[axis]), self.bounded(minor, shape[1 - axis])
        return Matrix(self, form, self.known(values), shape, minor, major)

    def ordered(self, form: str, values: Any, shape: tuple[Any, Any], major: Any, minor: Any) -> Matrix:
        """A matrix of values that stand in any order."""
        order = self.argsort(major)
        return self.matrix(form, values[order], shape, major[order], minor[order])

    def in_form(self, x: Matrix, form: str) -> Matrix:
        """The matrix in a format."""
        return x if x.form == form else self.ordered(form, x.values, x.shape, x.minor, x.major)

    def kept(self, x: Matrix, mask: Any) -> Matrix:
        """The values of a matrix where a mask is true."""
        places = self.nonzero(mask)
        return self.matrix(x.form, x.values[places], x.shape, x.major[places], x.minor[places])

    def from_dense(self, x: Any, form: str) -> Matrix:
        """The elements of a dense matrix that are not 0."""
        x = self.known(x)
        major, minor = (self.known(i) for i in self.tensor.nonzero(x if form == "csr" else x.T))
        values = x[(major, minor) if form == "csr" else (minor, major)]
        return Matrix(self, form, values, (x.shape[0], x.shape[1]), minor, major)

    def whole(self, x: Any) -> Matrix:
        """All elements of a dense matrix, in `csr`."""
        rows, columns = x.shape[0], x.shape[1]
        places, size = self.arange(rows * columns), self.tensor.maximum(columns, 1)
        return self.matrix("csr", x.flatten(), (rows, columns), places // size, places % size)

    def dense(self, x: Matrix) -> Any:
        """All elements; values at one place add up."""
        return self.added(self.tensor.zeros(x.shape, dtype=x.dtype), x)

    def added(self, y: Any, x: Matrix) -> Any:
        """A dense matrix with the values of a sparse one added."""
        return self.tensor.inc_subtensor(y[x.places], self.cast(x.values, y.type.dtype))

    def of_groups(self, x: Matrix, groups: Groups, values: Any, major: Any, minor: Any) -> Matrix:
        """The values that are not 0, one for each group of places."""
        found = self.nonzero(values if values.type.dtype == "bool" else self.tensor.neq(values, 0))
        member = self.bounded(groups.members[found], groups.size)
        return self.matrix(x.form, values[found], x.shape, major[member], minor[member])

    def combined(self, x: Matrix, y: Matrix, function: Callable[[Any, Any], Any]) -> Matrix:
        """A function of two matrices, element by element, that is 0 of zeros: what is not 0, in the format of `x`."""
        y, count = self.in_form(y, x.form), x.count
        groups = Groups(self, self.join([x.keys(), y.keys()]))
        slots = [self.bounded(part, groups.size) for part in (groups.slots[:count], groups.slots[count:])]
        a, b = (self.put(groups.size, slot, z.values) for slot, z in zip(slots, (x, y), strict=True))
        places = [self.join([self.cast(i, "int64") for i in pair]) for pair in ((x.major, y.major), (x.minor, y.minor))]
        return self.of_groups(x, groups, function(a, b), *places)

    def at(self, x: Matrix, keys: Any) -> Any:
        """The elements of a matrix at places, which are numbered as its keys are; 0 where nothing stands."""
        tensor, end = self.tensor, self.constant(np.full(1, -1, np.int64))
        groups = Groups(self, x.keys())
        sums = tensor.concatenate([self.put(x.count, groups.slots, x.values), tensor.zeros((1,), dtype=x.dtype)])
        place = self.bounded(tensor.searchsorted(groups.sorted, keys), groups.size + 1)
        slot = self.bounded(self.join([groups.numbers, end + 1])[place], groups.size + 1)
        hit = self.known(tensor.eq(self.join([groups.sorted, end])[place], keys))
        return tensor.switch(hit, sums[slot], tensor.zeros((1,), dtype=x.dtype))


class Groups:
    """What is equal among keys, which are at least 0.

    Attributes:
        size: the number of keys.
        order: from each key in order to the key as given.
        sorted: the keys in order.
        numbers: of each key in order the number of its group.
        slots: of each key as given the number of its group.
        members: of each group one of its keys, in as many slots as there are keys.
        first: of each key as given whether it is the first of its group.
    """

    def __init__(self, kit: Kit, keys: Any) -> None:
        tensor, self.size = kit.tensor, keys.shape[0]
        self.order = kit.bounded(tensor.argsort(keys, kind="stable"), self.size)
        self.sorted = kit.known(keys[self.order])
        before = tensor.concatenate([kit.constant(np.full(1, -1, np.int64)), self.sorted])[: self.size]
        first = tensor.neq(self.sorted, before)
        self.numbers = kit.bounded(tensor.cumsum(tensor.cast(first, "int64")) - 1, self.size)
        empty = tensor.zeros((self.size,), dtype="int64")
        self.slots = kit.bounded(tensor.set_subtensor(empty[self.order], self.numbers), self.size)
        self.members = kit.known(tensor.set_subtensor(empty[self.numbers], self.order))
        self.first = kit.known(tensor.set_subtensor(tensor.zeros_like(first)[self.order], first))

    def last(self, kit: Kit) -> Any:
        """Of each group the key that is given last."""
        end = kit.constant(np.full(1, -1, np.int64))
        final = kit.nonzero(kit.tensor.neq(self.sorted, kit.join([self.sorted, end])[1:]))
        return kit.bounded(self.order[final], self.size)
