"""Calls on a padded executable: arguments are padded to its bounds, results are cut to their live sizes.

In: a call's arguments, and the live sizes. Out: what the exact program returns. Padding is one copy for an array in
host memory, into memory that is used again; on other devices it happens there. A result whose leading axis alone is
padded is cut without a copy. Sizes that the program computes from data are read when the run is over.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ...codegen import dims as dimension
from ...codegen.constraints import Constraint
from ...codegen.dims import Dim
from ...codegen.dtypes import is_packed
from ...codegen.errors import ArgumentError, ArgumentShapeError, UnsupportedGraphError
from ...codegen.ir.jax_compat import is_checkified, no_transformation, place, trace_state
from ...codegen.passes.buckets import Tally
from ...codegen.signature import CheckSpec, Signature
from ..calls.arguments import check_constraints, check_count, find_sizes, is_misread, shapes_of, values_of
from ..calls.memory import aligned, sharer
from ..host import is_from_python
from .compiling import Check
from .devices import default_device
from .executable import Executable
from .prepared import pending_size

Shape = tuple[int, ...]
Taken = list[tuple["deque[Room]", "Room"]]

_STAGES = 64  # second stages that are kept for one first stage


class Adapter:
    """What one set of sizes needs on a padded executable: pads its arguments and cuts its results.

    Attributes:
        checks: those that the caller reads from the last result.
        executable: what runs it.
        left, tally: after this many calls, and when there are no more on the tally, `learn` is called.
    """

    ready = True
    way = property(lambda self: self)  # what runs the calls: always this

    def __init__(
        self,
        executable: Executable,
        signature: Signature,
        sizes: Mapping[str, int],
        device: Any,
        second_stage: Callable[[str, int], Adapter],
        *,
        numpy: bool = False,
    ) -> None:
        padded = executable.signature
        self.executable = executable
        self.checks: tuple[CheckSpec, ...] = signature.checks
        self.used = 0
        self.left, self.learn = 0, lambda: None
        self.tally: Tally | None = None
        self._signature, self._sizes = signature, dict(sizes)
        self._second_stage = second_stage
        self._second_stages: dict[int, Adapter] = {}
        counts = {count.name for count in signature.counts}
        known = [c for c in padded.constraints if not _depends(c, counts)]
        self._open = [c for c in padded.constraints if _depends(c, counts)]
        check_constraints(signature, known, sizes)
        self._pads: list[tuple[int, Shape, Shape]] = []
        for index, (argument, original) in enumerate(zip(padded.arguments, signature.arguments, strict=False)):
            shape = tuple(dimension.evaluate(dim, sizes) for dim in original.dims)
            if shape != argument.dims:  # where it fits as it is, the executable checks it
                whole = static_shape(argument.dims)
                self._pads.append((index, shape, whole))
                if 0 < math.prod(whole) * argument.dtype.itemsize <= Room.LARGEST:
                    executable.rooms.setdefault(index, deque(maxlen=2))
        self._live = [
            np.array(sizes[argument.size], np.int32) if numpy else _scalar(sizes[argument.size], device)
            for argument in padded.arguments[len(signature.arguments) :]
            if argument.size
        ]
        self._results = [result for result in padded.results if not result.size]
        self._counts = [result.size for result in padded.results if result.size]
        self._cuts: list[tuple[int, Shape | None]] = []
        for index, result in enumerate(self._results):
            if result.live and result.live != result.dims:
                open_ = bool(counts & frozenset().union(*map(dimension.roots, result.live)))
                self._cuts.append((index, None if open_ else self._shape(index, sizes)))
        self._pending = pending_size(padded)
        self._plain = not self._cuts and not self._counts and not self._pending
        bounds = executable.sizes.bounds.items()
        self._share = math.prod(abs(sizes[name]) / bound for name, bound in bounds if bound and name in sizes)

    def _shape(self, index: int, sizes: Mapping[str, int]) -> Shape:
        return tuple(dimension.evaluate(dim, sizes) for dim in self._results[index].live)

    def run(self, *args: Any) -> Any:
        """Pads, runs, cuts; returns what the exact executable would."""
        executable = self.executable
        with executable.counting:
            executable.calls += 1
            executable.live += self._share
            self.left -= 1
            due = self.left == 0
            if self.tally is not None:
                self.tally.left -= 1
                due = due or self.tally.left <= 0
        if due:
            self.learn()
        arrays = list(args)
        taken: Taken = []
        for index, live, shape in self._pads:
            x = arrays[index]
            if x.shape != live or (type(x) is not np.ndarray and is_misread(x)):
                shapes = shapes_of(self._signature.arguments, args)
                find_sizes(self._signature, shapes, values_of(self._signature, self._sizes))
            arrays[index] = pad(x, shape, executable.rooms.get(index), taken)
        try:
            outputs = executable.way.run(*arrays, *self._live)
        except ValueError as error:
            if trace_state() == no_transformation() or is_from_python(error) or is_checkified():
                raise
            outputs = executable.compile_and_call(*arrays, *self._live)
        if taken:
            arrived = outputs if type(outputs) is tuple else (outputs,)
            until = min((x for x in arrived if isinstance(x, jax.Array)), key=lambda x: x.size, default=None)
            for rooms, room in taken:
                room.until = until
                rooms.append(room)
        if self._plain:
            return outputs
        if self._pending:
            if isinstance(outputs, jax.core.Tracer):
                raise UnsupportedGraphError(
                    f"the size {self._pending} depends on data and has no bound known before the run; such "
                    "a function cannot be called inside jax.jit or another transformation"
                )
            return self._stage(int(outputs)).run(*args)
        return self._cut(outputs)

    def _stage(self, count: int) -> Adapter:
        """What goes on where the size is known that the executable computes."""
        adapter = self._second_stages.get(count)
        if adapter is None:
            adapter = self._second_stage(self._pending, count)
            if len(self._second_stages) >= _STAGES:
                self._second_stages.clear()
            self._second_stages[count] = adapter
        return adapter

    def _cut(self, outputs: Any) -> Any:
        results = list(outputs) if isinstance(outputs, tuple) else [outputs]
        count = len(self._results)
        sizes: Mapping[str, int] = self._sizes
        if self._counts:
            found = results[count : count + len(self._counts)]
            del results[count : count + len(self._counts)]
            if any(isinstance(x, jax.core.Tracer) for x in found):
                if any(shape is None for _, shape in self._cuts):
                    raise UnsupportedGraphError(
                        "the size of a result depends on data; inside jax.jit or another transformation sizes must "
                        "be fixed"
                    )
            else:
                sizes = {**sizes, **{name: int(value) for name, value in zip(self._counts, found, strict=True)}}
                for name in self._counts:
                    limit = self.executable.sizes.bounds.get(name)
                    if limit is not None and sizes[name] > limit:
                        raise ArgumentShapeError(f"size {name} = {sizes[name]} is above its bound {limit}")
                check_constraints(self._signature, self._open, sizes)
        for index, shape in self._cuts:
            results[index] = cut(results[index], self._shape(index, sizes) if shape is None else shape)
        return results[0] if len(results) == 1 else tuple(results)


def exact_check(signature: Signature, shared: int, sizes: Mapping[str, int]) -> Check:
    """Makes what raises for arrays that have not these sizes; the last arguments are shared variables' values."""
    values = values_of(signature, sizes)

    def check(arrays: Sequence[Any]) -> None:
        if len(arrays) != len(signature.arguments):
            check_count(signature, len(arrays) - shared, shared)
        found = find_sizes(signature, shapes_of(signature.arguments, arrays), values)
        if found != sizes:
            raise ArgumentError(f"sizes {found} reached the executable for {sizes}")

    return check


def padded_check(signature: Signature) -> Check:
    """Makes what raises for arrays that have not the shapes of a padded program with this signature."""
    arguments = signature.arguments

    def check(arrays: Sequence[Any]) -> None:
        for argument, shape in zip(arguments, shapes_of(arguments, arrays), strict=True):
            if shape != argument.dims:
                raise ArgumentShapeError(f"argument {argument.name!r}: expected shape {argument.dims}, got {shape}")

    return check


def _depends(constraint: Constraint, names: set[str]) -> bool:
    return bool(names & (dimension.roots(constraint.lhs) | dimension.roots(constraint.rhs)))


def static_shape(dims: Sequence[Dim]) -> Shape:
    """The dimensions of a static program as a shape."""
    return tuple(dim for dim in dims if isinstance(dim, int))


@lru_cache(maxsize=4096)
def _scalar(value: int, device: Any) -> Any:
    sharding = jax.sharding.SingleDeviceSharding(default_device() if device is None else device)
    return place(np.array(value, np.int32), sharding, device is not None)


# ---- arrays ----------------------------------------------------------------------------------------------------------


def in_host_memory(x: jax.Array) -> bool:
    """Whether a JAX array can be read as a numpy array without a transfer."""
    return _is_host(x.sharding)


@lru_cache(maxsize=256)
def _is_host(sharding: jax.sharding.Sharding) -> bool:
    devices: Any = sharding.device_set
    return [device.platform for device in devices] == ["cpu"]


def pad(x: Any, shape: Shape, rooms: deque[Room] | None = None, taken: Taken | None = None) -> Any:
    """`x` in the low corner of an array of zeros.

    A JAX array that is given again, as a sampler does with its data, is padded once: what was made of it is kept for as
    long as it lives. Others use `rooms` in turn; what is `taken` of them the caller gives back.
    """
    if type(x) is np.ndarray:
        if rooms is None or taken is None or trace_state() != no_transformation():
            return _host_pad(x, shape)
        taken.append((rooms, Room.of(rooms, x, shape)))
        return taken[-1][1].fill(x)
    key = (id(x), shape)
    found = _seen.get(key)
    if found is not None and found[0]() is x and found[1] is not None:
        return found[1]
    if isinstance(x, jax.core.Tracer):
        return _device_pad(x, shape)
    if not isinstance(x, jax.Array):
        return _host_pad(np.asarray(x), shape)
    if trace_state() == no_transformation():
        return _pad_array(x, shape, rooms, taken)
    with jax.ensure_compile_time_eval():  # what is kept must not belong to a trace that is under way
        return _pad_array(x, shape, None, None)


def _pad_array(x: jax.Array, shape: Shape, rooms: deque[Room] | None, taken: Taken | None) -> Any:
    key = (id(x), shape)
    found = _seen.get(key)
    again = found is not None and found[0]() is x
    reference = found[0] if found is not None and again else weakref.ref(x, lambda _: _seen.pop(key, None))
    if not in_host_memory(x):
        padded = _device_pad(x, shape)
    elif rooms is not None and taken is not None and not again and (room := Room.of(rooms, x, shape)).shared:
        taken.append((rooms, room))
        padded = room.fill(x)
    else:
        padded = _host_pad(np.asarray(x), shape)  # where it is placed, calls that are short need not wait for it
        padded = place(padded, x.sharding, x.committed)
    _seen[key] = (reference, padded if again else None)
    return padded


# JAX arrays that were padded: (identity, shape) -> the array, and from the second time on what it was padded to.
_seen: dict[tuple[int, Shape], tuple[weakref.ref[Any], Any]] = {}


def _host_pad(x: np.ndarray[Any, Any], shape: Shape) -> np.ndarray[Any, Any]:
    padded = aligned(shape, x.dtype)
    padded[...] = 0
    padded[tuple(map(slice, x.shape))] = x
    return padded


class Room:
    """Memory for a padded argument that calls of one executable use in turn: fresh memory costs page faults.

    Attributes:
        until: what is there when the last call has read it; None where none has, or what came back are NumPy arrays.
        shared: whether the JAX array is on the memory of the other.
    """

    LARGEST = 1 << 24  # bytes
    __slots__ = ("_array", "_live", "_placed", "_where", "shared", "until")

    def __init__(self, x: Any, shape: Shape, where: Any) -> None:
        self._array = aligned(shape, x.dtype)
        self._array[...] = 0
        self._live: Shape = (0,) * len(shape)
        self._where, self._placed, self.shared = where, None, True
        if where is not None:
            sharding, committed = where
            self._placed = place(self._array, sharding, committed)
            self.shared = self._placed.unsafe_buffer_pointer() == self._array.ctypes.data
        self.until: Any = None

    @staticmethod
    def of(rooms: deque[Room], x: Any, shape: Shape) -> Room:
        """One that no call reads, for arrays that lie as `x` does."""
        where = None if type(x) is np.ndarray else (x.sharding, x.committed)
        try:
            room = rooms.popleft()
        except IndexError:
            return Room(x, shape, where)
        free = room.until is None or (not room.until.is_deleted() and room.until.is_ready())
        fits = free and room._where == where and room._array.dtype == x.dtype
        return room if fits else Room(x, shape, where)

    def fill(self, x: Any) -> Any:
        """`x` with zeros behind it."""
        live, before = x.shape, self._live
        if live != before:
            self._array[slice(live[0], before[0]) if live[1:] == before[1:] else ...] = 0
            self._live = live
        self._array[tuple(map(slice, live))] = np.asarray(x)
        return self._array if self._placed is None else self._placed


def _device_pad(x: Any, shape: Shape) -> Any:
    return jax.lax.pad(x, np.zeros((), x.dtype), [(0, new - old, 0) for old, new in zip(x.shape, shape, strict=True)])


def cut(x: Any, shape: Shape) -> Any:
    """The low corner of `x`."""
    if x.shape == shape:
        return x
    if type(x) is np.ndarray:
        return x[tuple(map(slice, shape))]
    if isinstance(x, jax.core.Tracer) or not in_host_memory(x) or is_packed(x.dtype):
        return jax.lax.slice(x, (0,) * x.ndim, shape)
    if x.shape[1:] == shape[1:] and math.prod(shape):
        x.block_until_ready()
        found = _sharer(shape, x.dtype)(x)
    else:
        found = aligned(shape, x.dtype)
        np.copyto(found, np.asarray(x)[tuple(map(slice, shape))])
    return place(found, x.sharding, x.committed, x.weak_type)


_sharer = lru_cache(maxsize=4096)(sharer)
