"""Windows: what slices and integer indices select of axes; read, written and added to. Checks of indices.

The ends of slices may be computed: then the size of the result is one from data. Integer indices may be computed; they
are checked: out of range raises `IndexError`, as NumPy does (a constraint where the index is known, a flag where not).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen import dims as dimension
from ...codegen.builder import INT64, Tensor
from ...codegen.dims import Dim, maximum, minimum
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from .shape import range_length

_HUGE = 2**62


@dataclass
class Window:
    """A basic index of one axis: `length` elements from `start` on, every `step`-th.

    A runtime `index` (an integer scalar, in range) stands for one element; `dropped` says that the axis goes away.
    `first` is the start where that is computed from data; the step is a handle then.
    """

    start: Dim
    length: Dim
    step: int | Tensor = 1
    index: Tensor | None = None
    dropped: bool = False
    first: Tensor | None = None

    def covers(self, size: Dim) -> bool:
        """Selects all there is, in order, whether the axis goes away or not."""
        if self.dropped:
            return size == 1
        return self.step == 1 and self.start == 0 and self.length == size


def window(ctx: Context, entry: Any, size: Dim, axis: int) -> Window:
    """The window that a basic index (a slice of scalars, or an integer scalar) selects of an axis."""
    if isinstance(entry, slice):
        return _slice_window(ctx, entry, size, axis)
    return _integer_window(ctx, entry, size, axis)


def _bound(ctx: Context, entry: Any, size: Dim, axis: int, what: str) -> Dim | None:
    """A slice's end as NumPy reads it: negative counts from the end; not yet clamped. None where left out."""
    if not isinstance(entry, Tensor):
        return None
    dim = ctx.dim(entry, f"the {what} of a slice of axis {axis}")
    if isinstance(dim, int):
        if dim >= _HUGE:  # past the end, as the size itself is; arithmetic on the number could overflow
            return size
        return dim + size if dim < 0 else dim
    low, _ = dimension.bounds(dim)
    if low is not None and low >= 0:
        return dim
    return dim + size * minimum(maximum(-dim, 0), 1)


def _slice_window(ctx: Context, entry: slice, size: Dim, axis: int) -> Window:
    step = 1 if not isinstance(entry.step, Tensor) else ctx.dim(entry.step, f"the step of a slice of axis {axis}")
    ends = [end for end in (entry.start, entry.stop) if isinstance(end, Tensor)]
    if isinstance(step, int) and step and any(end.sizes is None for end in ends):
        return _computed_window(ctx, entry, step, size, axis)
    start = _bound(ctx, entry.start, size, axis, "start")
    stop = _bound(ctx, entry.stop, size, axis, "stop")
    if isinstance(step, int):
        if step == 0:
            raise UnsupportedGraphError(f"a slice of axis {axis} has step 0 ({ctx.builder.where}); use another step")
        first, last = _clamped(start, step, size), _clamped(stop, step, size, last=True)
        return Window(first, range_length(first, last, step), step)
    # A runtime step: both signs are worked out and the right one is chosen by arithmetic on 0 and 1.
    width = maximum(step, -step)
    ctx.at_least(width, 1, f"the absolute step of a slice of axis {axis}")
    width, forward = maximum(width, 1), minimum(maximum(step, 0), 1)
    first_up, first_down = (_clamped(start, sign, size) for sign in (1, -1))
    last_up, last_down = (_clamped(stop, sign, size, last=True) for sign in (1, -1))
    up = maximum((last_up - first_up + width - 1) // width, 0)
    down = maximum((first_down - last_down + width - 1) // width, 0)
    first = first_down + (first_up - first_down) * forward
    return Window(first, down + (up - down) * forward, ctx.builder.size(step))


def _clamped(end: Dim | None, step: int, size: Dim, *, last: bool = False) -> Dim:
    """An end of `slice(...).indices(size)`."""
    low, high = (0, size) if step > 0 else (-1, size - 1)
    if end is None:
        return high if last == (step > 0) else low
    return minimum(maximum(end, low), high)


def _computed_window(ctx: Context, entry: slice, step: int, size: Dim, axis: int) -> Window:
    """A slice of which an end is computed from data, and so the length is; as long as the axis at most."""
    builder, width = ctx.builder, abs(step)
    low, high = (0, size) if step > 0 else (-1, size - 1)
    ends = []
    for given, last in ((entry.start, False), (entry.stop, True)):
        if not isinstance(given, Tensor):
            ends.append(builder.size(_clamped(None, step, size, last=last)))
            continue
        value = hlo.convert(given, INT64)
        value = hlo.select(value < 0, value + builder.size(size), value)
        ends.append(hlo.minimum_(hlo.maximum_(value, builder.size(low)), builder.size(high)))
    span = hlo.subtract(*reversed(ends)) if step > 0 else hlo.subtract(*ends)
    length = hlo.maximum_(span, 0)
    if width != 1:
        length = (length + (width - 1)) / width
    dim = hlo.data_size(length, "slice", (size + width - 1) // width)
    if step > 0 and (not isinstance(entry.start, Tensor) or entry.start.sizes is not None):
        return Window(_clamped(_bound(ctx, entry.start, size, axis, "start"), step, size), dim, step)
    return Window(0, dim, ctx.constant(step, INT64), first=ends[0])


def _integer_window(ctx: Context, entry: Tensor, size: Dim, axis: int) -> Window:
    known = entry.sizes
    if known is not None and not isinstance(known, tuple):
        if isinstance(known, int) and known < 0:
            ctx.at_least(size, -known, f"index {known} of axis {axis}", "index")
            return Window(size + known, 1, dropped=True)
        low, _ = dimension.bounds(known)
        # As an index, what depends on an argument's value is data and not a size.
        is_size = all(ctx.builder.roots[name].axis is not None for name in dimension.roots(known))
        if is_size and low is not None and low >= 0:
            ctx.at_least(size, known + 1, f"index {known} of axis {axis}", "index")
            return Window(known, 1, dropped=True)
    return Window(0, 1, index=in_range(ctx, entry, size, axis), dropped=True)


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
    """What indexes what, for a message."""
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
        if w.index is None and isinstance(w.step, int) and w.step > 0
    }
    x = hlo.slice_axes(x, plain)
    indices = [w.index for w in windows]
    if any(index is not None for index in indices):
        starts = [ctx.builder.size(0) if index is None else hlo.convert(index, INT64) for index in indices]
        sizes = (size if index is None else 1 for index, size in zip(indices, x.dims, strict=True))
        x = hlo.dynamic_slice(x, starts, tuple(sizes))
    for axis, w in enumerate(windows):
        if isinstance(w.step, Tensor):
            x = hlo.take(x, _places(ctx, w), axis)
        elif w.step < 0:
            x = hlo.slice_axis(x, axis, w.start, w.length, w.step)
    return x


def _places(ctx: Context, w: Window) -> Tensor:
    """The indices that a window selects, for a step that is known only at run time."""
    assert isinstance(w.step, Tensor)
    steps = hlo.iota(ctx.builder, (w.length,), 0, INT64) * w.step
    return steps + (ctx.builder.size(w.start) if w.first is None else w.first)


def write_windows(ctx: Context, x: Tensor, y: Tensor, windows: Sequence[Window], *, increment: bool) -> Tensor:
    """`x` with `y` (all axes kept) written to, or added at, what the windows select."""
    for axis, w in enumerate(windows):
        if isinstance(w.step, Tensor):
            rest = [Window(0, x.dims[axis]) if other == axis else w for other, w in enumerate(windows)]
            region = hlo.put(read_windows(ctx, x, rest), _places(ctx, w), y, axis, "add" if increment else "set")
            return write_windows(ctx, x, region, rest, increment=False)
    backward = [axis for axis, w in enumerate(windows) if isinstance(w.step, int) and w.step < 0]
    if backward:
        y = hlo.reverse(y, backward)
        windows = [
            Window((w.start + (w.length - 1) * w.step) * minimum(w.length, 1), w.length, -w.step)
            if isinstance(w.step, int) and w.step < 0
            else w
            for w in windows
        ]
    if all(w.covers(size) for w, size in zip(windows, x.dims, strict=True)):
        return x + y if increment else hlo.reshape(y, x.dims)
    if all(w.step == 1 for w in windows):
        if increment:
            y = read_windows(ctx, x, windows) + y
        builder = ctx.builder
        starts = [builder.size(w.start) if w.index is None else hlo.convert(w.index, INT64) for w in windows]
        return hlo.dynamic_update_slice(x, y, starts)
    indexed = [w.index is not None for w in windows]
    if any(indexed):  # first in what is at these indices, which is then written as a whole
        rest = [w if flag else Window(0, size) for w, flag, size in zip(windows, indexed, x.dims, strict=True)]
        inside = [Window(0, 1) if flag else w for w, flag in zip(windows, indexed, strict=True)]
        region = write_windows(ctx, read_windows(ctx, x, rest), y, inside, increment=increment)
        return write_windows(ctx, x, region, rest, increment=False)

    low, high, gaps = [], [], []
    for w, size in zip(windows, x.dims, strict=True):
        assert isinstance(w.step, int)
        span = w.length if w.step == 1 else maximum((w.length - 1) * w.step + 1, 0)
        low.append(w.start)
        high.append(size - w.start - span)
        gaps.append(w.step - 1)

    def spread(values: Tensor) -> Tensor:
        return hlo.with_dims(hlo.pad(values, ctx.constant(0, values.dtype), low, high, gaps), x.dims)

    there, new = spread(hlo.full(ctx.builder, ctx.constant(True), y.dims)), spread(y)
    return hlo.select(there, x + new if increment else new, x)
