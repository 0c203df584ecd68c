"""What XLA's CPU runtime does for an executable, step by step, and where the values lie.

Steps are lines of words for the C code that runs them (`native/steps.c`): what the step is, and words of its own. A
word is a number or an address: of a buffer, of a function, or of further words, such as the table of a loop's steps.
`thunks` makes them of XLA's steps, `image` gives them their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...codegen.errors import CompileError

KERNEL_ALIGNMENT = 64  # bytes; what XLA's kernels may assume of every buffer
LINE = 8  # words of a step; as in native/native.h
KERNEL, COPY, GROUPS, WHILE, CASE, SORT, CUSTOM_CALL = range(1, 8)


class DirectCallRefused(CompileError):
    """This executable cannot be called without PJRT; the message says why."""


@dataclass(frozen=True)
class Slice:
    """A part of an allocation; offset and size in bytes."""

    allocation: int
    offset: int
    size: int


@dataclass(frozen=True)
class Value:
    """An array in a buffer; a parameter or a result is dense and in row-major order."""

    buffer: Slice
    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Function:
    """A function of the executable's machine code.

    Attributes:
        name: of it.
        compares: where it tells whether one tuple of elements comes before another, their dtypes. It must be an order.
    """

    name: str
    compares: tuple[np.dtype, ...] = ()


@dataclass(frozen=True)
class Words:
    """Further words, whose address is meant; the same object is the same words."""

    words: Sequence[Word]

    def slices(self) -> Iterator[Slice]:
        """All buffers in them, and in the words that they refer to."""
        for word in self.words:
            if isinstance(word, Slice):
                yield word
            elif isinstance(word, Words):
                yield from word.slices()


Word = int | Slice | Function | Words


def table(lines: Sequence[Sequence[Word]]) -> Words:
    """Steps, and a line of zeros behind them."""
    return Words([word for line in (*lines, ()) for word in (*line, *[0] * (LINE - len(line)))])
