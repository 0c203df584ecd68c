"""Windows: what slices and integer indices select of axes; read, written and added to. Checks of indices.

The ends of slices may be computed: then the size of the result is one from data. Integer indices may be computed; they
are checked: out of range raises `IndexError`, as NumPy does (a constraint where the index is known, a flag where not).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen import dims as dimension
from ...codegen.builder import INT64, Tensor
from ...codegen.dims import Dim, maximum, minimum
from ...codegen.emit import Context
from .shape import as_size, nonzero_step, range_length

_HUGE = 2**62


@dataclass
class Window:
    """A basic index of one axis: `length` elements from `start` on, every `step`-th; the last one first if `backward`.

    Where only a run tells start or step, both are handles. A start alone is one: an integer index, of one element.
    `dropped` says that the axis goes away.
    """

    start: Dim | Tensor
    length: Dim
    step: int | Tensor = 1
    dropped: bool = False
    backward: bool = False

    def covers(self, size: Dim) -> bool:
        """Selects all there is, whether the axis goes away or not."""
        if self.dropped:
            return size == 1
        return self.step == 1 and self.start == 0 and self.length == size

    def first(self, ctx: Context) -> Tensor:
        """The start as an int64 scalar."""
        return hlo.convert(self.start, INT64) if isinstance(self.start, Tensor) else ctx.builder.size(self.start)

    def places(self, ctx: Context) -> Tensor:
        """The indices of all elements."""
        step = self.step if isinstance(self.step, Tensor) else ctx.constant(self.step, INT64)
        return hlo.iota(ctx.builder, (self.length,), 0, INT64) * step + self.first(ctx)


def window(ctx: Context, entry: Any, size: Dim, axis: int) -> Window:
    """The window that a basic index (a slice of scalars, or an integer scalar) selects of an axis."""
    if not isinstance(entry, slice):
        return _integer_window(ctx, entry, size, axis)
    step, width = ctx.constant(1, INT64), 1
    if isinstance(entry.step, Tensor):
        step = hlo.convert(entry.step, INT64)
        nonzero_step(ctx, step, f"a slice of axis {axis}", "ValueError", "slice step cannot be zero")
    if isinstance(step.dim, int):
        width, ends = abs(step.dim), _ends(ctx, entry, size, step.dim > 0)
        start, length = ends[0], range_length(*ends, step)
    else:  # both ways are worked out, and the sign chooses
        ways = [(way, _ends(ctx, entry, size, way)) for way in (True, False)]
        start = hlo.select(step > 0, *(ends[0] for _, ends in ways))
        length = hlo.select(step > 0, *(range_length(*ends, step, way) for way, ends in ways))
    computed = length.dim is None
    dim = as_size(length, "slice", size if width == 1 else (size + width - 1) // width)
    first = start.dim
    if first is None or not isinstance(step.dim, int) or (computed and step.dim < 0):
        return Window(start, dim, step)
    if step.dim > 0:
        return Window(first, dim, step.dim)
    # An empty slice must not start below 0 or above the size.
    return Window((first + (dim - 1) * step.dim) * minimum(dim, 1), dim, width, backward=True)


def _ends(ctx: Context, entry: slice, size: Dim, forward: bool) -> tuple[Tensor, Tensor]:
    """Start and stop of `slice.indices` as int64 scalars: negative ones are counted from the end."""
    low, high = (0, size) if forward else (-1, size - 1)

    def clamped(given: Any, default: Dim) -> Tensor:
        known = given.dim if isinstance(given, Tensor) else default
        if known is None:
            value = hlo.convert(given, INT64)
            value = hlo.select(value < 0, value + ctx.builder.size(size), value)
            return hlo.minimum_(hlo.maximum_(value, low), ctx.builder.size(high))
        if isinstance(known, int) and known >= _HUGE:  # arithmetic on the number could overflow
            known = high
        elif isinstance(given, Tensor):
            if not isinstance(known, int):
                known += size * minimum(maximum(-known, 0), 1)
            elif known < 0:
                known += size
            known = minimum(maximum(known, low), high)
        return ctx.builder.size(known)

    first, last = (low, high) if forward else (high, low)
    return clamped(entry.start, first), clamped(entry.stop, last)


def _integer_window(ctx: Context, entry: Tensor, size: Dim, axis: int) -> Window:
    known = entry.dim
    if known is not None:
        if isinstance(known, int) and known < 0:
            ctx.at_least(size, -known, f"index {known} of axis {axis}", "index")
            return Window(size + known, 1, dropped=True)
        low, _ = dimension.bounds(known)
        # As an index, what depends on an argument's value is data and not a size.
        is_size = all(ctx.builder.roots[name].axis is not None for name in dimension.roots(known))
        if is_size and low is not None and low >= 0:
            ctx.at_least(size, known + 1, f"index {known} of axis {axis}", "index")
            return Window(known, 1, dropped=True)
    return Window(in_range(ctx, entry, size, axis), 1, dropped=True)


def in_range(ctx: Context, index: Tensor, size: Dim, axis: int, among: Sequence[Dim] | None = None) -> Tensor:
    """Integer indices with negative ones counted from the end, checked to be in range.

    Args:
        ctx: the context.
        index: the indices.
        size: of the axis.
        axis: which it is, for messages.
        among: the shape of all indices of a place together, if there are others: where it is empty, any index will do.
    """
    limit = ctx.builder.below.get(index.uid)
    if limit is not None and ctx.builder.constraints.known_equal(limit, size):
        return index
    message = f"index is out of bounds for axis {axis} at {ctx.builder.where}{_named(ctx, index)}, of length {size}"
    if index.literal is not None:
        return _literal_in_range(ctx, index, size, axis, minimum(hlo.product(among or ()), 1))
    count = hlo.product(index.dims if among is None else among)
    ctx.at_least(size, minimum(count, 1), f"index of axis {axis}", "index")
    if index.sizes is not None:  # as data: the arithmetic below would be longer on what is known of it as a size
        value = index.value
        index = Tensor(ctx.builder, value, index.dims, index.dtype, uid=index.uid)
    unsigned = index.dtype.kind == "u"
    if unsigned or index.dtype.itemsize < 4:
        index = hlo.convert(index, INT64)
    end = ctx.builder.size(size, index.dtype)
    shifted = index
    if not unsigned:  # an unsigned one that is negative now was past every end
        below = index < 0
        shifted = hlo.select(below, index + end, index)
    inside = (shifted >= hlo.full_like(index, 0)) & (shifted < end)
    fine = hlo.reduce_monoid(inside, range(inside.ndim), "and")
    low, _ = dimension.bounds(count)
    if not low and not ctx.builder.constraints.known_equal(count, hlo.product(index.dims)):
        fine = fine | hlo.compare("EQ", ctx.builder.size(count), 0)
    ctx.check(fine, "IndexError", message)
    return shifted


def _named(ctx: Context, index: Tensor) -> str:
    x, *others = ctx.node.inputs or [None]
    handles = [(v, ctx.value(v)) for v in others if getattr(v, "name", None)]
    which = next((repr(v.name) for v, h in handles if isinstance(h, Tensor) and h.uid == index.uid), "the index")
    name = getattr(x, "name", None)
    return f": {which} into {repr(name) if name else 'an array'}"


def _literal_in_range(ctx: Context, index: Tensor, size: Dim, axis: int, needed: Dim) -> Tensor:
    values = index.literal
    assert values is not None
    if values.size == 0:
        return hlo.convert(index, INT64)
    low, high = int(values.min()), int(values.max())
    least = needed * max(high + 1, -low)
    ctx.at_least(size, least, f"index {high if high + 1 >= -low else low} of axis {axis}", "index")
    if low >= 0:
        return index if index.dtype.itemsize >= 4 and index.dtype.kind == "i" else ctx.constant(values.astype(np.int64))
    values = values.astype(np.int64)
    if isinstance(size, int):
        return ctx.constant(np.where(values < 0, values + size, values))
    literal = ctx.constant(values)
    negative = ctx.constant(values < 0)
    return hlo.select(negative, literal + ctx.builder.size(size), literal)


def read_windows(ctx: Context, x: Tensor, windows: Sequence[Window]) -> Tensor:
    """The elements that windows select, all axes kept."""
    plain = {
        axis: (w.start, w.length, w.step)
        for axis, w in enumerate(windows)
        if not isinstance(w.start, Tensor) and isinstance(w.step, int)
    }
    x = hlo.slice_axes(x, plain)
    if any(map(_is_index, windows)):
        starts = [w.first(ctx) if _is_index(w) else ctx.builder.size(0) for w in windows]
        sizes = (1 if _is_index(w) else size for w, size in zip(windows, x.dims, strict=True))
        x = hlo.dynamic_slice(x, starts, tuple(sizes))
    for axis, w in enumerate(windows):
        if isinstance(w.step, Tensor):
            x = hlo.take(x, w.places(ctx), axis)
        elif w.backward:
            x = hlo.reverse(x, [axis])
    return x


def _is_index(w: Window) -> bool:
    return isinstance(w.start, Tensor) and not isinstance(w.step, Tensor)


def write_windows(ctx: Context, x: Tensor, y: Tensor, windows: Sequence[Window], *, increment: bool) -> Tensor:
    """`x` with `y` (all axes kept) written to, or added at, what the windows select."""
    for axis, w in enumerate(windows):
        if isinstance(w.step, Tensor):
            rest = [Window(0, x.dims[axis]) if other == axis else w for other, w in enumerate(windows)]
            region = hlo.put(read_windows(ctx, x, rest), w.places(ctx), y, axis, "add" if increment else "set")
            return write_windows(ctx, x, region, rest, increment=False)
    backward = [axis for axis, w in enumerate(windows) if w.backward]
    if backward:
        y, windows = hlo.reverse(y, backward), [replace(w, backward=False) for w in windows]
    if all(w.covers(size) for w, size in zip(windows, x.dims, strict=True)):
        return x + y if increment else hlo.reshape(y, x.dims)
    if all(w.step == 1 for w in windows):
        y = read_windows(ctx, x, windows) + y if increment else y
        return hlo.dynamic_update_slice(x, y, [w.first(ctx) for w in windows])
    indexed = [_is_index(w) for w in windows]
    if any(indexed):  # first in what is at these indices, which is then written as a whole
        rest = [w if flag else Window(0, size) for w, flag, size in zip(windows, indexed, x.dims, strict=True)]
        inside = [Window(0, 1) if flag else w for w, flag in zip(windows, indexed, strict=True)]
        region = write_windows(ctx, read_windows(ctx, x, rest), y, inside, increment=increment)
        return write_windows(ctx, x, region, rest, increment=False)

    low: Any = [w.start for w in windows]
    gaps: Any = [w.step - 1 for w in windows]
    spans = [y if not gap else maximum((y - 1) * (gap + 1) + 1, 0) for y, gap in zip(y.dims, gaps, strict=True)]
    high = [size - first - span for size, first, span in zip(x.dims, low, spans, strict=True)]

    def spread(values: Tensor) -> Tensor:
        return hlo.with_dims(hlo.pad(values, ctx.constant(0, values.dtype), low, high, gaps), x.dims)

    there, new = spread(hlo.full(ctx.builder, ctx.constant(True), y.dims)), spread(y)
    return hlo.select(there, x + new if increment else new, x)
