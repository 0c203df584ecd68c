"""Calls of an executable on a CPU with NumPy arrays, written out for its arguments and results and compiled once.

In: an executable, and where its arguments' and results' elements are. Out: a function from NumPy arrays to NumPy
arrays. For arguments `x: float64[8]` and `k: float64[]`, and a result in an array of its own, it reads

    def call(a0, a1, /):
        if type(a0) is not ndarray or a0.dtype is not dtype0 or a0.shape != shape0: return otherwise(a0, a1)
        t = type(a1)
        if (a1.dtype is not dtype1 or a1.shape) if t is ndarray else t not in scalars1: return otherwise(a0, a1)
        try: stage = pop()
        except IndexError: stage = make_stage()
        operands, h0, h1 = stage
        h0[...] = a0
        h1[...] = a1
        o0, = execute(operands).consume_with_handlers(handlers)
        collect()
        r0 = memory0[o0.unsafe_buffer_pointer() - 64, ...].copy()
        push(stage)
        return r0

The decision to know: arguments are copied into memory that XLA reads in place and that JAX knows as arrays already (a
*stage*). For a few elements that takes a quarter of the time of handing over a NumPy array, up to a megabyte half of
it, and no other thread is needed, as there is where JAX copies. A stage belongs to one call at a time: it is taken from
a pool, and goes back when the results are there; there are as many as there were calls at the same time, up to 64 MiB.

Results are copied too where they are small (`memory.memory_at`). Larger ones are XLA's memory itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from ...codegen.errors import CompileError
from ...codegen.ir.jax_compat import execution
from ..direct.call import DirectCall, StepFailed, Workspace
from ..direct.verdict import proven
from ..executables.devices import is_synchronous
from .memory import FIRST_ADDRESS, aligned, in_place, is_aligned, memory_at, pool, sharer
from .path import not_a_scalar, not_an_array, write

STAGED = 1 << 20  # bytes of the largest argument that has memory of its own
COPIED = 1 << 13  # bytes of the largest array of results that is copied


@dataclass(frozen=True, slots=True)
class Way:
    """What runs an executable's calls; another one takes its place as a whole.

    Attributes:
        run: takes any arguments of the right shapes.
        trusting: takes arguments that are known to be arrays of the right types, where they are to be.
        ready: whether nothing is compiled in calls.
    """

    run: Callable[..., Any]
    trusting: Callable[..., Any]
    ready: bool = True


@dataclass(frozen=True)
class Due:
    """Calls that take another way now and then.

    Attributes:
        tick: asked in each call, whether this is one of them.
        instead: called in the function's place, with the same arguments.
    """

    tick: Callable[[], bool]
    instead: Callable[..., Any]


@dataclass(frozen=True)
class Place:
    """Where an argument is, or the elements of a result.

    Attributes:
        dims: its shape.
        dtype: its dtype.
        array: the number of the executable's argument or result that holds them.
        start: its first element there, where that array is flat and holds several results; None where it is alone.
        numpy: whether the caller has a NumPy array; a JAX array, on the executable's device, otherwise.
        constant: whether nobody writes to an argument's arrays: a stage that has the elements of one takes no copy.
    """

    dims: tuple[int, ...]
    dtype: np.dtype[Any]
    array: int
    start: int | None = None
    numpy: bool = True
    constant: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.dims) * self.dtype.itemsize


def alone(shapes: Sequence[Any]) -> list[Place]:
    """A place for each of an executable's arguments or results, each in an array of its own.

    Args:
        shapes: with `shape` and `dtype` each.
    """
    return [Place(tuple(x.shape), np.dtype(x.dtype), i) for i, x in enumerate(shapes)]


@dataclass(frozen=True)
class NumpyCalls:
    """An executable's calls with NumPy arrays, by PJRT and directly; any number of threads may make them at once.

    Arguments may also be NumPy scalars and Python numbers where a scalar is expected. The results can be written to,
    and share no element with one another, with an argument, or with those of another call.

    Attributes:
        compiled: a `jax.stages.Compiled` of positional arguments, on `device` alone, which has an own call.
        arguments: of the functions made, which are the executable's.
        results: of the functions made.
        device: a CPU; calls on that of `synchronous_device` need no other thread.
        single: whether the only result is returned alone; a tuple otherwise.
        flags: whether the last result holds the flags of checks: None is returned for booleans that are all true.
        check: raises what is wrong with arguments that are not of their types and shapes.
        mixed: whether callers give some arguments as JAX arrays, which may be on another device.
    """

    compiled: Any
    arguments: Sequence[Place]
    results: Sequence[Place]
    device: Any
    single: bool = False
    flags: bool = False
    check: Callable[[Sequence[Any]], object] = len
    mixed: bool = False

    def way(self, direct: DirectCall | None = None, due: Due | None = None) -> Way:
        """What takes calls.

        Args:
            direct: runs the executable without PJRT; all arguments and results are then NumPy's.
            due: which calls take another way.
        """
        trusting = _Writer(self, direct).write(None, due)

        def convert(*args: Any) -> Any:
            """Arguments of other types: JAX arrays, Python's numbers."""
            self.check(args)
            arrays: list[Any] = []
            for x, place in zip(args, self.arguments, strict=True):
                if place.numpy:
                    arrays.append(np.asarray(x, place.dtype))
                elif isinstance(x, jax.Array) and x.devices() == {self.device}:
                    arrays.append(x)
                else:
                    arrays.append(jax.device_put(np.asarray(x, place.dtype), self.device))
            return trusting(*arrays)

        return Way(convert if self.mixed else _Writer(self, direct).write(convert, due), trusting)


class _Writer:
    """Writes one such function.

    Attributes:
        operands, outputs: shape and dtype of the executable's arguments and results.
        execution: its own call; None for a direct one.
        position: of each argument that it has.
        host, large: NumPy arguments that have memory here, and those that are read where they are.
        flags: the number of the array that holds booleans of checks and nothing else; -1 where none does.
    """

    def __init__(self, calls: NumpyCalls, direct_call: DirectCall | None) -> None:
        self.calls, self.arguments, self.results, self.device = calls, calls.arguments, calls.results, calls.device
        self.operands = jax.tree.leaves(calls.compiled.args_info)
        self.outputs = jax.tree.leaves(calls.compiled.out_info)
        last = self.results[-1] if calls.flags else None
        booleans = last is not None and last.numpy and last.start is None and last.dtype == bool
        self.flags = last.array if last is not None and booleans and 0 < last.nbytes <= COPIED else -1
        self.direct_call = direct_call
        self.execution = None if direct_call is not None else execution(calls.compiled, proven=proven())
        kept = range(len(self.operands)) if self.execution is None else self.execution.kept
        self.position = {number: position for position, number in enumerate(kept)}
        self.scope: dict[str, Any] = {"empty": np.empty}
        numpy = [i for i, a in enumerate(self.arguments) if a.numpy and i in self.position]
        self.large = [i for i in numpy if self.arguments[i].nbytes > STAGED and direct_call is None]
        self.host = [i for i in numpy if i not in self.large]

    def write(self, otherwise: Callable[..., Any] | None, due: Due | None) -> Callable[..., Any]:
        """The function; `otherwise` takes, in its place, calls with an argument of another type or shape, if asked."""
        parameters = ", ".join(f"a{i}" for i in range(len(self.arguments)))
        lines = []
        if otherwise is not None:
            self.scope["otherwise"] = otherwise
            for i, place in [(i, place) for i, place in enumerate(self.arguments) if place.numpy]:
                if place.dims:
                    test = not_an_array(f"a{i}", i, self.scope, place.dtype, place.dims)
                else:
                    before, test = not_a_scalar(f"a{i}", i, self.scope, place.dtype)
                    lines.append(before)
                lines.append(f"if {test}: return otherwise({parameters})")
        if due is not None:
            self.scope |= {"tick": due.tick, "instead": due.instead}
            lines.append(f"if tick(): return instead({parameters})")
        lines += [*self._stage(), *self._execute(), *self._results(), "push(stage)"]
        returned = "r0" if self.calls.single else f"({''.join(f'r{i}, ' for i in range(len(self.results)))})"
        call = write(f"{parameters}, /" if parameters else "", [*lines, f"return {returned}"], self.scope)
        call.__dict__["keeps"] = self.calls.compiled  # what the executable refers to lives as long
        return call

    def _stage(self) -> list[str]:
        if self.direct_call is None:
            make, stages = self._maker(), pool(sum(self.arguments[i].nbytes for i in self.host))
            stages.append(make())  # refuses here what it cannot make
        else:
            make, stages = self._workspace_maker(self.direct_call), pool(self.direct_call.size)
            self.scope |= {"run": self.direct_call.code.run, "StepFailed": StepFailed}
        self.scope |= {"pop": stages.pop, "push": stages.append, "make_stage": make}
        held = "operands, " if self.direct_call is None else "memory, address, "
        outputs = "" if self.direct_call is None else "".join(f"o{i}, " for i in range(len(self.outputs)))
        constant = [i for i in self.host if self.arguments[i].constant]
        lines = [
            "try: stage = pop()",
            "except IndexError: stage = make_stage()",
            f"{held}{''.join(f'h{i}, ' for i in self.host)}{outputs}last = stage",
            *(f"h{i}[...] = a{i}" for i in self.host if self.arguments[i].nbytes and i not in constant),
            *(f"if last[{n}] is not a{i}: h{i}[...] = last[{n}] = a{i}" for n, i in enumerate(constant)),
        ]
        self.scope["readable"] = partial(_readable, device=self.device)
        # Not kept in the stage, which would keep the memory, and where the arrays are the caller's.
        for i in self._passing:
            lines.append(f"operands[{self.position[i]:d}] = {f'readable(a{i})' if i in self.large else f'a{i}'}")
        return lines

    @property
    def _passing(self) -> list[int]:
        return [i for i in self.position if i not in self.host]

    def _maker(self) -> Callable[[], tuple[Any, ...]]:
        arguments, device, kept = {i: self.arguments[i] for i in self.host}, self.device, list(self.position)

        def make() -> tuple[Any, ...]:
            arrays = {i: aligned(place.dims, place.dtype) for i, place in arguments.items()}
            on_device = {i: _in_place(array, device) for i, array in arrays.items()}
            return [on_device.get(i) for i in kept], *arrays.values(), [None] * len(arguments)

        return make

    def _workspace_maker(self, direct_call: DirectCall) -> Callable[[], tuple[Any, ...]]:
        """Makes what one direct call at a time needs, with arrays on the memory of arguments and results."""
        packed, host = {place.array for place in self.results if place.start is not None}, self.host

        def make() -> tuple[Any, ...]:
            memory = Workspace(direct_call)
            results = [
                array.view(np.dtype(f"V{array.nbytes:d}")).reshape(()) if number in packed and array.nbytes else array
                for number, array in enumerate(memory.results)
            ]
            return memory, memory.address, *[memory.arguments[i] for i in host], *results, [None] * len(host)

        return make

    def _execute(self) -> list[str]:
        if self.execution is None:
            return ['if run(address): raise StepFailed("a kernel reported an error")']
        outputs = "".join(f"o{i}, " for i in range(len(self.outputs))) or "()"
        self.scope |= {name: getattr(self.execution, name) for name in ("execute", "handlers", "collect")}
        lines = [f"{outputs} = execute(operands).consume_with_handlers(handlers)", "collect()"]
        if not is_synchronous(self.device):
            lines += [f"o{i}.block_until_ready()" for i in range(len(self.outputs))]
        # Before the first look at memory; later results are as large as the first ones.
        looked = sorted({place.array for place in self.results if place.numpy})
        if looked:
            self.scope |= {"unseen": [True], "look": _look}
            lines.append(f"if unseen: look(unseen, ({''.join(f'o{i}, ' for i in looked)}))")
        return [*lines, *(f"operands[{self.position[i]:d}] = None" for i in self._passing)]

    def _results(self) -> list[str]:
        lines = []
        for number, output in enumerate(self.outputs):
            places = {i: place for i, place in enumerate(self.results) if place.array == number}
            if not places:
                continue
            ((first, place), *_) = places.items()
            dims, dtype = tuple(output.shape), np.dtype(output.dtype)
            nbytes = math.prod(dims) * dtype.itemsize
            if not place.numpy:
                lines.append(f"r{first} = o{number}")
                continue
            if not nbytes:
                for i, place in places.items():
                    self.scope |= {f"shape{i}r": place.dims, f"dtype{i}r": place.dtype}
                    lines.append(f"r{i} = empty(shape{i}r, dtype{i}r)")
                continue
            whole = place.start is None
            name = f"r{first}" if whole else f"base{number}"
            # As one scalar of many bytes: of all arrays NumPy copies that one, and takes parts of it, fastest.
            kind: Any = (dims, dtype) if whole else ((), np.dtype(f"V{nbytes:d}"))
            if self.direct_call is not None or nbytes <= COPIED:
                memory = f"o{number}"
                if self.direct_call is None:
                    self.scope[f"memory{number}"] = memory_at(*kind)
                    memory = f"memory{number}[o{number}.unsafe_buffer_pointer() - {FIRST_ADDRESS:d}, ...]"
                if number == self.flags:
                    lines += [f"{name} = {memory}", rf"{name} = {name}.copy() if b'\0' in {name}.tobytes() else None"]
                else:
                    lines.append(f"{name} = {memory}.copy()")
            else:
                self.scope[f"share{number}"] = sharer(*kind)
                lines.append(f"{name} = share{number}(o{number})")
            if not whole:
                for i, place in places.items():
                    self.scope[f"part{i}"] = np.dtype((place.dtype, place.dims))
                    assert place.start is not None
                    lines.append(f"r{i} = {name}.getfield(part{i}, {place.start * place.dtype.itemsize:d})")
        return lines


def _look(unseen: list[bool], arrays: Sequence[jax.Array]) -> None:
    """That results have as many elements as their types say, which are JAX's; `asarray` has what the buffer says.

    Raises:
        CompileError: XLA made something else.
    """
    for array in arrays:
        found = np.asarray(array).shape
        if found != array.shape:
            raise CompileError(f"XLA gives a result of shape {found} for {array.dtype}{list(array.shape)}")
    unseen.clear()


def _in_place(array: np.ndarray[Any, Any], device: Any) -> jax.Array:
    found = in_place(array, device)
    if found is None:
        raise CompileError(f"{device} does not use NumPy's memory in place; compile without outputs='numpy'")
    return found


def _readable(array: np.ndarray[Any, Any], device: Any) -> jax.Array:
    """A large array as XLA reads it, without a copy where it is aligned: JAX's own would be made by another thread."""
    if not is_aligned(array):
        given, array = array, aligned(array.shape, array.dtype)
        array[...] = given
    return _in_place(array, device)
