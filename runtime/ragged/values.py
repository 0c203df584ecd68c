"""`Ragged`: rows of different lengths as one array with padding; how rows come and go, and are put together.

    Ragged.from_rows([x0, x1, x2])              a list of arrays
    Ragged(values, lengths)                     padded: values[j, :lengths[j]] is row j, the rest may hold anything
    Ragged.from_packed(values, row_splits)      one row after another, as Arrow, Awkward and `jax.lax.ragged_dot` have

In: any of these. Out: a pytree of the padded array and the lengths, from which `rows()` and `packed()` lead back.
Decision to know: padding is done on the host where the values are there, and by JAX where they are traced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen.errors import ArgumentShapeError, ArgumentTypeError, GraphError, OptionError
from ...codegen.graph import unfolded
from ...codegen.ir.jax_compat import enable_x64
from ..executables.padding import in_host_memory


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths.

    Attributes:
        values: `[b, longest, ...]`: row j is `values[j, :lengths[0][j], ...]`; what is beyond may hold anything.
        lengths: for each axis that has its own length in every row, an integer vector `[b]`.
        axes: these axes of `values`.
    """

    values: Any
    lengths: Any
    axes: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        lengths = self.lengths if isinstance(self.lengths, tuple | list) else (self.lengths,)
        if any(isinstance(x, Number) for x in lengths):  # a list of numbers is one vector
            lengths = (np.asarray(lengths),)
        object.__setattr__(self, "lengths", tuple(lengths))
        self._check()

    def _check(self) -> None:
        shape = getattr(self.values, "shape", None)
        if shape is None:  # inside of JAX's tree functions
            return
        if len(self.lengths) != len(self.axes):
            raise ArgumentShapeError(f"Ragged: {len(self.axes)} axes {self.axes} need as many vectors of lengths")
        for axis, lengths in zip(self.axes, self.lengths, strict=True):
            if not 1 <= axis < len(shape):
                raise ArgumentShapeError(f"Ragged: values of shape {shape} have no axis {axis} after the rows'")
            own = getattr(lengths, "shape", None)
            if own is None:
                return
            if own != shape[:1]:
                raise ArgumentShapeError(f"Ragged: {shape[0]} rows need lengths of shape {shape[:1]}, got {own}")
            if not np.issubdtype(lengths.dtype, np.integer):
                raise ArgumentTypeError(f"Ragged: lengths are integers, got {lengths.dtype}")
            if isinstance(lengths, jax.core.Tracer) or not lengths.size:
                continue
            known = np.asarray(lengths)
            if known.min() < 0 or known.max() > shape[axis]:
                row = int(np.argmax((known < 0) | (known > shape[axis])))
                raise ArgumentShapeError(
                    f"Ragged: row {row} has length {known[row]}, but axis {axis} of values {shape} has {shape[axis]}"
                )

    # ---- from rows, and back ----------------------------------------------------------------------------------------

    @staticmethod
    def from_rows(rows: Sequence[Any], axes: Sequence[int] | None = None) -> Ragged:
        """From a list of arrays that have as many axes.

        Args:
            rows: at least one.
            axes: those, counted with the rows' in front, that may have different lengths; by default the first one.

        Raises:
            ArgumentShapeError: there is no row, or they differ in other axes.
        """
        if not rows:
            raise ArgumentShapeError("no rows: the dtype and the other axes of an empty list are not known")
        found = tuple(axes or (1,))
        arrays = [x if isinstance(x, np.ndarray | jax.core.Tracer) else np.asarray(x) for x in rows]
        first = arrays[0]
        kept = [axis for axis in range(1, first.ndim + 1) if axis not in found]
        shapes = [x.shape for x in arrays]
        for shape in dict.fromkeys(shapes):
            if len(shape) != first.ndim or any(shape[axis - 1] != first.shape[axis - 1] for axis in kept):
                raise ArgumentShapeError(
                    f"row {shapes.index(shape)} has shape {shape}, row 0 {first.shape}: rows may differ in "
                    f"{'axis ' + ', '.join(str(axis - 1) for axis in found)} only"
                )
        lengths = tuple(np.array([shape[axis - 1] for shape in shapes], np.int32) for axis in found)
        whole = list(first.shape)
        for axis, own in zip(found, lengths, strict=True):
            whole[axis - 1] = int(own.max())
        return Ragged(_stacked(arrays, whole), lengths, found)

    @staticmethod
    def from_packed(values: Any, row_splits: Any = None, *, lengths: Any = None, longest: int | None = None) -> Ragged:
        """From rows behind each other along the first axis.

        Args:
            values: `[total, ...]`.
            row_splits: `[b + 1]`: row j is `values[row_splits[j]:row_splits[j + 1]]`.
            lengths: `[b]`, in place of `row_splits`.
            longest: the size of the padded axis; by default that of the longest row. Needed where lengths are traced.
        """
        if (row_splits is None) == (lengths is None):
            raise ArgumentTypeError("Ragged.from_packed takes row_splits or lengths")
        traced = any(isinstance(x, jax.core.Tracer) for x in (values, row_splits, lengths))
        module: Any = jax.numpy if traced else np
        if lengths is None:
            splits = module.asarray(row_splits)
            lengths = splits[1:] - splits[:-1]
        else:
            lengths = module.asarray(lengths)
            splits = module.concatenate([module.zeros(1, lengths.dtype), module.cumsum(lengths, dtype=lengths.dtype)])
        if not traced:
            _check_splits(splits, len(values))
        if longest is None:
            if isinstance(lengths, jax.core.Tracer):
                raise ArgumentTypeError("Ragged.from_packed: lengths are traced, so `longest` must be given")
            longest = int(lengths.max()) if lengths.size else 0
        places = splits[:-1, None] + module.arange(longest)[None, :]
        values = module.asarray(values)
        if values.shape[0] == 0:
            padded = module.zeros((lengths.shape[0], longest, *values.shape[1:]), values.dtype)
        else:
            padded = module.take(values, module.clip(places, 0, values.shape[0] - 1), axis=0)
        return Ragged(padded, lengths.astype(np.int32))

    def rows(self) -> list[Any]:
        """The rows, cut to their lengths, which must be known."""
        values = self.values
        if not isinstance(values, jax.core.Tracer | np.ndarray) and in_host_memory(values):
            values = np.asarray(values)
        held = Ragged(values, tuple(map(np.asarray, self.lengths)), self.axes)
        found = [held[number] for number in range(len(self))]
        if isinstance(self.values, np.ndarray):
            return found
        with enable_x64(self.values.dtype.itemsize >= 8 or bool(jax.config.jax_enable_x64)):
            return [jax.numpy.asarray(row) for row in found]

    def packed(self) -> tuple[Any, Any]:
        """`(values, row_splits)`, the rows behind each other; for one axis, the first, with known lengths."""
        if self.axes != (1,):
            raise ArgumentShapeError("rows can be packed where only their first axis differs")
        lengths = np.asarray(self.lengths[0])
        splits = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        inside = np.arange(self.values.shape[1])[None, :] < lengths[:, None]
        rows, places = np.nonzero(inside)
        return self.values[rows, places], splits

    @property
    def mask(self) -> Any:
        """`[b, longest]`, and an axis for each further one: what belongs to a row."""
        traced = any(isinstance(x, jax.core.Tracer) for x in self.lengths)
        module: Any = jax.numpy if traced or not isinstance(self.values, np.ndarray) else np
        found: Any = True
        for number, (axis, lengths) in enumerate(zip(self.axes, self.lengths, strict=True)):
            along = module.arange(self.values.shape[axis])
            own = along.reshape((1,) * (number + 1) + (-1,) + (1,) * (len(self.axes) - number - 1))
            found = found & (own < module.asarray(lengths).reshape((-1,) + (1,) * len(self.axes)))
        return found

    # ---- as a container, and a pytree -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    def __getitem__(self, number: int) -> Any:
        part: list[Any] = [slice(None)] * (self.values.ndim - 1)
        for axis, own in zip(self.axes, self.lengths, strict=True):
            part[axis - 1] = slice(0, int(own[number]))
        return self.values[(number, *part)]

    def __repr__(self) -> str:
        shape = ["lengths" if axis in self.axes else str(size) for axis, size in enumerate(self.values.shape)]
        known = [x for x in self.lengths if not isinstance(x, jax.core.Tracer)]
        spread = ", ".join(f"{np.min(x)} to {np.max(x)}" for x in known if np.size(x))
        return f"<Ragged {self.values.dtype}[{', '.join(shape)}]{', lengths ' + spread if spread else ''}>"

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple[int, ...]]:
        """For JAX."""
        return (self.values, self.lengths), self.axes

    @classmethod
    def tree_unflatten(cls, axes: tuple[int, ...], children: Sequence[Any]) -> Ragged:
        """For JAX, which puts other things than arrays in too."""
        made = object.__new__(cls)
        for name, value in zip(("values", "lengths", "axes"), (*children, axes), strict=True):
            object.__setattr__(made, name, value)
        return made


def _check_splits(splits: Any, count: int) -> None:
    if splits.ndim != 1 or len(splits) < 1:
        raise ArgumentShapeError(f"row_splits has shape {splits.shape}; of b rows it is a vector of b + 1 places")
    if splits[0] != 0 or splits[-1] != count or (np.diff(splits) < 0).any():
        raise ArgumentShapeError(
            f"row_splits must rise from 0 to the number of values, {count}; it goes from {splits[0]} to {splits[-1]}"
        )


def _stacked(arrays: Sequence[Any], shape: Sequence[int]) -> Any:
    """Arrays as rows of one, with zeros behind them."""
    if any(isinstance(x, jax.core.Tracer) for x in arrays):
        return jax.numpy.stack(
            [jax.numpy.pad(x, [(0, whole - own) for own, whole in zip(x.shape, shape, strict=True)]) for x in arrays]
        )
    dtypes = {x.dtype for x in arrays}
    found = np.zeros((len(arrays), *shape), dtypes.pop() if len(dtypes) == 1 else np.result_type(*arrays))
    if all(x.shape[1:] == found.shape[2:] for x in arrays):
        for row, x in zip(found, arrays, strict=True):
            row[: len(x)] = x
        return found
    for row, x in zip(found, arrays, strict=True):
        row[tuple(map(slice, x.shape))] = x
    return found


def as_array(x: Any) -> Any:
    """An array of zeros, which takes no memory, where a `jax.ShapeDtypeStruct` stands for one.

    Raises:
        ArgumentTypeError: of random keys.
    """
    if not isinstance(x, jax.ShapeDtypeStruct):
        return x
    if jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key):
        raise ArgumentTypeError("random keys are given as they are: warm(keys, ...) without a ShapeDtypeStruct")
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)


# ---- results of rows that were computed apart -----------------------------------------------------------------------


def joined(parts: Sequence[Any], places: Sequence[np.ndarray[Any, Any]]) -> Any:
    """Rows that were computed apart, in their order."""
    order = np.argsort(np.concatenate(places))
    arrays = [arrays_of(x) for x in parts]
    module: Any = np if all(isinstance(x, np.ndarray) for x in arrays) else jax.numpy
    sizes = np.array([x.shape[1:] for x in arrays])
    known = {axis for x in parts if isinstance(x, Ragged) for axis in x.axes}
    known |= {axis + 1 for axis in range(sizes.shape[1]) if len(set(sizes[:, axis])) > 1}
    whole = sizes.max(0) if sizes.size else np.zeros(0, int)
    padded = [
        module.pad(x, [(0, 0), *[(0, int(n - own)) for n, own in zip(whole, x.shape[1:], strict=True)]]) for x in arrays
    ]
    values = module.concatenate(padded)[order]
    if not known:
        return values
    axes = tuple(sorted(known))
    lengths = tuple(np.concatenate([_lengths_along(x, axis) for x in parts])[order] for axis in axes)
    return Ragged(values, lengths, axes)


def _lengths_along(x: Any, axis: int) -> np.ndarray[Any, Any]:
    if isinstance(x, Ragged) and axis in x.axes:
        return np.asarray(x.lengths[x.axes.index(axis)])
    values = arrays_of(x)
    return np.full(values.shape[0], values.shape[axis], np.int32)


def undefined(x: Any) -> Any:
    """NaN, where there is one."""
    values = arrays_of(x)
    kind = jax.numpy.issubdtype(values.dtype, np.inexact)
    found = jax.numpy.full_like(values, np.nan if kind else 0)
    return Ragged(found, x.lengths, x.axes) if isinstance(x, Ragged) else found


def chosen(filled: Any, x: Any, other: Any) -> Any:
    """Rows with elements from one result, those without from another."""
    if isinstance(x, Ragged):
        values = arrays_of(other)
        shape = tuple(map(max, values.shape, x.values.shape))
        made = chosen(filled, _padded(x.values, shape), _padded(values, shape))
        lengths = []
        for axis, own in zip(x.axes, x.lengths, strict=True):
            there = other.lengths[x.axes.index(axis)] if isinstance(other, Ragged) else values.shape[axis]
            lengths.append(jax.numpy.where(filled, own, there).astype(np.int32))
        return Ragged(made, tuple(lengths), x.axes)
    return jax.numpy.where(filled.reshape((-1,) + (1,) * (x.ndim - 1)), x, other)


def _padded(x: Any, shape: Sequence[int]) -> Any:
    return jax.numpy.pad(x, [(0, whole - own) for own, whole in zip(x.shape, shape, strict=True)])


# ---- arguments: which of their axes belong to rows ------------------------------------------------------------------

OF_ROWS = re.compile(r"\b([A-Za-z_]\w*)\[([A-Za-z_]\w*)\]")


def sizes_named(dims: Any) -> tuple[str, frozenset[str]]:
    """The name of the number of rows, and the sizes that each of them has for itself."""
    texts: list[str] = []
    stack = [dims]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            texts.append(entry)
        elif isinstance(entry, Mapping):
            stack.extend(entry.values())
        elif isinstance(entry, Sequence):
            stack.extend(entry)
    found = [match for text in texts for match in OF_ROWS.findall(text)]
    rows = {name for _, name in found}
    if len(rows) > 1:
        raise GraphError(f"dims: sizes belong to the rows of one batch, not to {' and '.join(sorted(rows))}")
    return rows.pop(), frozenset(name for name, _ in found)


def own_axes(names: Sequence[Any]) -> dict[int, str]:
    """Of an argument's axes, the rows' in front, those with a size for each row, by number: the sizes' names."""
    found = ((axis, OF_ROWS.fullmatch(size)) for axis, size in enumerate(names) if isinstance(size, str))
    return {axis: match[1] for axis, match in found if match is not None}


def named(entry: Any) -> Any:
    """Names of axes without brackets."""
    if isinstance(entry, str | int) or entry is None:
        return entry
    return tuple(OF_ROWS.sub(r"\1", size) if isinstance(size, str) else size for size in entry)


def is_ragged_value(x: Any) -> bool:
    return isinstance(x, Ragged)


def arrays_of(x: Any) -> Any:
    """The padded array of rows, or an array as it is."""
    return x.values if isinstance(x, Ragged) else x


def _is_axes(entry: Any) -> bool:
    return isinstance(entry, tuple | list) and all(x in (None, ...) or isinstance(x, str | int) for x in entry)


def with_rows(value: Any, entry: Any, listed: list[bool]) -> Any:
    """An argument with `Ragged` in place of lists of rows; notes for each ragged leaf whether it came as a list."""
    if isinstance(value, Ragged):
        listed.append(False)
        return value
    if entry is None or not is_ragged(entry):
        return value
    if _is_axes(entry):
        if isinstance(value, tuple | list) and (... in entry or all(np.ndim(x) == len(entry) - 1 for x in value)):
            axes = unfolded(entry, np.ndim(value[0]) + 1) if value else ()
            listed.append(True)
            return Ragged.from_rows(value, [axis for axis, size in enumerate(axes) if is_ragged(size)])
        if hasattr(value, "shape"):
            listed.append(False)
            return value
        if tree_util.all_leaves([value]):
            raise ArgumentTypeError(f"rows are a list of arrays, a Ragged or an array, got {type(value).__name__}")
        return tree_util.tree_map(lambda x: with_rows(x, entry, listed), value, is_leaf=is_ragged_value)
    if isinstance(value, Mapping):
        return type(value)({name: with_rows(x, entry.get(name), listed) for name, x in value.items()})  # type: ignore[call-arg]
    if isinstance(value, tuple | list) and isinstance(entry, tuple | list):
        parts = [with_rows(x, each, listed) for x, each in zip(value, entry, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def prefix(axes: Any, value: Any) -> list[int | None]:
    """For each leaf of a pytree the entry of a prefix of it."""
    found: list[int | None] = []

    def visit(axis: Any, part: Any) -> None:
        found.extend([axis] * len(tree_util.tree_leaves(part, is_leaf=is_ragged_value)))

    tree_util.tree_map(visit, axes, value, is_leaf=lambda x: x is None)
    return found


def leading(value: Any, axis: int | None) -> Any:
    """A leaf with the rows in front."""
    if isinstance(value, Ragged):
        if axis not in (0, None):
            raise OptionError(f"rows of different lengths have in_axes 0, not {axis}")
        return value
    if not axis:
        return value
    return (np if isinstance(value, np.ndarray) else jax.numpy).moveaxis(value, axis, 0)


def is_ragged(dims: Any) -> bool:
    """Whether names of axes say somewhere that rows have sizes of their own."""
    if isinstance(dims, str):
        return OF_ROWS.search(dims) is not None
    if isinstance(dims, Mapping):
        return any(map(is_ragged, dims.values()))
    return isinstance(dims, Sequence) and any(map(is_ragged, dims))
