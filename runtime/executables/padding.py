"""Calls on a padded executable: arguments are padded to its bounds, results are cut to their live sizes.

In: a call's arguments, and the live sizes. Out: what the exact program returns. Padding is one copy for an array in
host memory, into memory that is used again; on other devices it happens there. A result whose leading axis alone is
padded is cut without a copy. Sizes that the program computes from data are read when the run is over.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ...codegen import dims as dimension
from ...codegen import forks
from ...codegen.constraints import Constraint
from ...codegen.dims import Dim
from ...codegen.errors import ArgumentError, ArgumentShapeError, UnsupportedGraphError
from ...codegen.ir.jax_compat import is_checkified, no_transformation, trace_state
from ...codegen.signature import CheckSpec, Signature
from ..calls.arguments import check_constraints, check_count, find_sizes, shapes_of, values_of
from ..calls.memory import ALIGNMENT, aligned
from ..host import is_from_python
from .compiling import Check
from .executable import Executable
from .prepared import pending_size

Shape = tuple[int, ...]

_STAGES = 64  # second stages that are kept for one first stage


class Adapter:
    """What one set of sizes needs on a padded executable: pads its arguments and cuts its results.

    Attributes:
        checks: those that the caller reads from the last result.
        executable: what runs it.
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
    ) -> None:
        padded = executable.signature
        self.executable = executable
        self.checks: tuple[CheckSpec, ...] = signature.checks
        self.used = 0
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
                self._pads.append((index, shape, static_shape(argument.dims)))
        self._live = [
            _scalar(sizes[argument.size], device)
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
        arrays = list(args)
        for index, live, shape in self._pads:
            x = arrays[index]
            if x.shape != live:
                find_sizes(self._signature, [np.shape(x) for x in args], values_of(self._signature, self._sizes))
            arrays[index] = pad(x, shape)
        try:
            outputs = executable.way.run(*arrays, *self._live)
        except ValueError as error:
            if trace_state() == no_transformation() or is_from_python(error) or is_checkified():
                raise
            outputs = executable.compile_and_call(*arrays, *self._live)
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
    """A live size on the device: JAX takes an array of its own at once, a numpy scalar takes it 10 us."""
    with jax.ensure_compile_time_eval():  # what is kept must not belong to a trace that is under way
        return jax.device_put(np.int32(value), device)


# ---- arrays ----------------------------------------------------------------------------------------------------------


def in_host_memory(x: jax.Array) -> bool:
    """Whether a JAX array can be read as a numpy array without a transfer."""
    devices = x.devices()
    return len(devices) == 1 and next(iter(devices)).platform == "cpu"


def pad(x: Any, shape: Shape) -> Any:
    """`x` in the low corner of an array of zeros.

    A JAX array that is given again, as a sampler does with its data, is padded once: what was made of it is kept for as
    long as it lives.
    """
    if type(x) is np.ndarray:
        return _host_pad(x, shape)
    key = (id(x), shape)
    found = _seen.get(key)
    if found is not None and found[0]() is x and found[1] is not None:
        return found[1]
    if isinstance(x, jax.core.Tracer):
        return _device_pad(x, shape)
    if not isinstance(x, jax.Array):
        return _host_pad(np.asarray(x), shape)
    again = found is not None and found[0]() is x
    with jax.ensure_compile_time_eval():  # what is kept must not belong to a trace that is under way
        if not in_host_memory(x):
            padded = _device_pad(x, shape)
        else:
            padded = _host_pad(np.asarray(x), shape)
            if again or x.committed:
                padded = _placed_as(x, padded)
    reference = found[0] if found is not None and again else weakref.ref(x, lambda _: _seen.pop(key, None))
    _seen[key] = (reference, padded if again else None)
    return padded


# JAX arrays that were padded: (identity, shape) -> the array, and from the second time on what it was padded to.
_seen: dict[tuple[int, Shape], tuple[weakref.ref[Any], Any]] = {}


def _placed_as(x: jax.Array, array: np.ndarray[Any, Any]) -> jax.Array:
    return jax.device_put(array, x.sharding if x.committed else None)


def _host_pad(x: np.ndarray[Any, Any], shape: Shape) -> np.ndarray[Any, Any]:
    padded = _buffers.take(shape, x.dtype)
    if x.shape[1:] == shape[1:]:
        padded[: len(x)] = x
        padded[len(x) :] = 0
    else:
        padded[...] = 0
        padded[tuple(map(slice, x.shape))] = x
    return padded


class Buffers:
    """Host memory for padded arguments, used again when JAX has let go of it.

    JAX reads an aligned numpy array in place and holds a reference to it until it has: a buffer that nobody else refers
    to is free. Fresh memory would cost a page fault for every 4 KiB, more than the copy into it.
    """

    SMALLEST = 1 << 15  # bytes; below, malloc has it at hand
    LARGEST_TOTAL = 1 << 28
    PER_SIZE = 3

    def __init__(self) -> None:
        self._held: dict[int, list[np.ndarray[Any, Any]]] = {}
        self._total = 0
        self._lock = forks.lock()

    def take(self, shape: Shape, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An array of this shape and dtype with anything in it."""
        size = math.prod(shape) * dtype.itemsize
        if size < self.SMALLEST:
            return np.empty(shape, dtype)
        with self._lock:
            held = self._held.pop(size, [])
            self._held[size] = held  # the last one used comes last
            for number in range(len(held)):
                if sys.getrefcount(held[number]) == 2:  # the list and the argument of this call: no view is left
                    return aligned(shape, dtype, held[number])
            buffer = np.empty(size + ALIGNMENT, np.uint8)
            if len(held) < self.PER_SIZE and size <= self.LARGEST_TOTAL // 4:
                held.append(buffer)
                self._total += size
                while self._total > self.LARGEST_TOTAL:
                    oldest = next(iter(self._held))
                    self._total -= oldest * len(self._held.pop(oldest))
            return aligned(shape, dtype, buffer)


_buffers = Buffers()


def _device_pad(x: Any, shape: Shape) -> Any:
    return jax.lax.pad(x, np.zeros((), x.dtype), [(0, new - old, 0) for old, new in zip(x.shape, shape, strict=True)])


def cut(x: Any, shape: Shape) -> Any:
    """The low corner of `x`."""
    if x.shape == shape:
        return x
    if type(x) is np.ndarray:
        return x[tuple(map(slice, shape))]
    if isinstance(x, jax.core.Tracer) or x.weak_type or not in_host_memory(x):
        return jax.lax.slice(x, (0,) * x.ndim, shape)
    view = np.asarray(x)[tuple(map(slice, shape))]
    return _placed_as(x, np.ascontiguousarray(view))
