"""What XLA's CPU runtime does for an executable, step by step, and where the values lie.

Steps are a tree: loops and branches hold steps of their own. `thunks` reads them, `image` lays them out for the C code
that runs them (`native/steps.c`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...codegen.errors import CompileError

KERNEL_ALIGNMENT = 64  # bytes; what XLA's kernels may assume of every buffer


class DirectCallRefused(CompileError):
    """This executable cannot be called without PJRT; the message says why."""


@dataclass(frozen=True)
class Slice:
    """A part of an allocation; offset and size in bytes."""

    allocation: int
    offset: int
    size: int


@dataclass(frozen=True)
class Within:
    """The address of a word of the workspace."""

    word: int


Word = int | Slice | Within  # what stands in a word of a workspace before the workspace has a place


@dataclass(frozen=True)
class Value:
    """An array in a buffer; a parameter or a result is dense and in row-major order."""

    buffer: Slice
    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    """Calls of the function `name` with the addresses of these buffers, one for each work group along three axes."""

    name: str
    buffers: tuple[Slice, ...]
    groups: tuple[int, int, int] = (1, 1, 1)


@dataclass(frozen=True)
class Copy:
    """Bytes that are copied from one buffer to another that does not overlap it."""

    source: Slice
    destination: Slice


@dataclass(frozen=True)
class While:
    """A loop.

    Attributes:
        condition: steps that compute the predicate.
        body: those of a turn.
        predicate: a boolean, read after the condition's steps.
        turns: how many there are; None where the predicate says so, and then the condition's steps are run.
    """

    condition: tuple[Step, ...]
    body: tuple[Step, ...]
    predicate: Slice
    turns: int | None


@dataclass(frozen=True)
class Case:
    """Steps of one of several branches.

    Attributes:
        index: a boolean, which is true for the first of two branches, or an int32; another one than those of branches
            is for the last.
        branches: their steps.
    """

    index: Slice
    branches: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True)
class Sort:
    """Arrays that are sorted together, in place, and stably.

    Attributes:
        comparator: the function that tells whether one tuple of elements comes before another.
        arrays: of the same shape, seen as outer x length x inner in memory.
        shape: these three; the axis of `length` is sorted.
    """

    comparator: str
    arrays: tuple[Value, ...]
    shape: tuple[int, int, int]


@dataclass(frozen=True)
class CustomCall:
    """A call of a function that is registered with XLA's foreign function interface.

    Attributes:
        target: its name.
        arguments, results: what it reads and writes.
        attributes: by name, NumPy scalars.
    """

    target: str
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: Mapping[str, np.generic] = field(default_factory=dict)


Step = Kernel | Copy | While | Case | Sort | CustomCall


def walk(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, those of loops and branches behind them."""
    for step in steps:
        yield step
        if isinstance(step, While):
            yield from walk(step.condition)
            yield from walk(step.body)
        elif isinstance(step, Case):
            for branch in step.branches:
                yield from walk(branch)


def read_and_written(step: Step) -> tuple[Sequence[Slice], Sequence[Slice]]:
    """The buffers of a step without those of steps in it. Which of its buffers a kernel writes is not known."""
    match step:
        case Kernel(_, buffers):
            return buffers, ()
        case Copy(source, destination):
            return (source,), (destination,)
        case While():
            return (step.predicate,), ()
        case Case():
            return (step.index,), ()
        case Sort():
            return (), [array.buffer for array in step.arrays]
        case CustomCall():
            return [value.buffer for value in step.arguments], [value.buffer for value in step.results]
