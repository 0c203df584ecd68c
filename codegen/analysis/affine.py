"""Indices that step evenly: the places that a gather reads, or a scatter writes, as a strided box.

In: the known start indices, and which axes they are for. Out: an `Even`: where the first window begins, and the one
axis along which windows follow each other, with the step. Decision to know: windows that follow each other are one
element wide along that axis, so that they never overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.attributes import Array
from ..ir.bindings import ir
from ..ir.refused import Refused, require
from ..ir.values import shape_of
from .integers import known


@dataclass(frozen=True)
class Even:
    """Windows at even distances.

    Attributes:
        starts: of the first window, per axis.
        axis: along which they follow each other; where there is one window, the axis to which the windows' count is
            given.
        step: from one to the next; negative ones run backwards.
        count: how many windows there are.
        batch: the shape that the windows are counted in.
    """

    starts: tuple[int, ...]
    axis: int
    step: int
    count: int
    batch: tuple[int, ...]

    @property
    def first(self) -> int:
        """Least index along the axis."""
        return min(self.starts[self.axis], self.starts[self.axis] + self.step * (self.count - 1))

    @property
    def last(self) -> int:
        """Greatest index along the axis."""
        return max(self.starts[self.axis], self.starts[self.axis] + self.step * (self.count - 1))


def even(
    indices: ir.Value,
    index_vector_dim: int,
    mapped: Sequence[int],
    sizes: Sequence[int],
    window: Sequence[int],
    clamp: bool,
) -> Even:
    """How windows lie.

    Args:
        indices: start indices, as a gather or a scatter takes them.
        index_vector_dim: the axis of them that holds an index's components.
        mapped: the array's axis for each component.
        sizes: the array's shape.
        window: the windows' shape, per axis of the array.
        clamp: whether windows that reach out are moved in (a gather's), or refused (a scatter leaves them out).

    Raises:
        Refused: they are not known, not even, or reach out.
    """
    numbers = known(indices)
    if numbers is None:
        reason = "are not constant" if None not in shape_of(indices) else "have a dynamic dimension"
        raise Refused(f"the indices {reason} (specialize and inline first, if they come from sizes)")
    if index_vector_dim == numbers.ndim:
        numbers = numbers[..., None]
    numbers = np.moveaxis(numbers, index_vector_dim, -1)
    batch = numbers.shape[:-1]
    columns: Array = numbers.reshape(-1, numbers.shape[-1])
    require(len(columns), "there is no index")
    # Sizes are far below what is cut off here.
    if columns.dtype == np.uint64:
        columns = np.minimum(columns, np.uint64(1 << 62))
    columns = columns.astype(np.int64)
    starts = [0] * len(sizes)
    moving: list[tuple[int, int]] = []
    for component, axis in enumerate(mapped):
        limit = sizes[axis] - window[axis]
        column = columns[:, component]
        inside = np.clip(column, 0, limit)
        require(clamp or np.array_equal(inside, column), f"an index for axis {axis} is out of bounds, and is left out")
        starts[axis] = int(inside[0])
        steps = np.diff(inside)
        if steps.any():
            require((steps == steps[0]).all(), f"the indices for axis {axis} are not evenly spaced")
            moving.append((axis, int(steps[0])))
    require(len(moving) < 2, f"the indices move along several axes at once ({[axis for axis, _ in moving]})")
    if not moving:
        require(len(columns) == 1, "all indices are the same")
        moving = [(next((axis for axis in mapped if window[axis] == 1), -1), 1)]
    axis, step = moving[0]
    require(
        len(columns) == 1 or window[axis] == 1, f"windows are {window[axis]} wide along the axis {axis} they move on"
    )
    return Even(tuple(starts), axis, step, len(columns), batch)
