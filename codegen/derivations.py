"""What makes programs from programs: the interface of sources, and what they make.

In: a program (`Any` here, since programs hold their source). Out: another one, and what its results belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Made:
    """A program made from another.

    Attributes:
        program: it.
        places: for each of its results, which result (pushforward, batched) or argument (pullback, gradient) of the
            other it belongs to.
    """

    program: Any
    places: tuple[int, ...]


class Source(Protocol):
    """Makes programs from one that was made from this; None stands for one without results.

    All methods raise `UnsupportedGraphError`, or a kind of it, where there is no such program.
    """

    @property
    def inline(self) -> Callable[[Sequence[Any]], list[Any]] | None:
        """The program as a function for JAX to trace and transform itself; None where it is no such function."""

    @property
    def shares(self) -> bool:
        """Whether JAX's own derivatives are better inside `jax.jit`, where its reverse mode need not compute again."""

    @property
    def repeats(self) -> bool:
        """Whether a derivative that computes it again has the same results: eigenvectors may come with other signs."""

    @property
    def scales(self) -> bool:
        """Whether what a number's cotangent gives is its multiple of what 1 gives: no rule of the user's clips it, and
        nothing underflows that would not if the number were scaled."""

    def pushforward(self, program: Any, active: tuple[int, ...]) -> Made | None:
        """From the arguments, and tangents of the active ones, to tangents of the results that are no integers."""

    def pullback(self, program: Any, active: tuple[int, ...], seeded: tuple[int, ...]) -> Made | None:
        """From the arguments, and cotangents of the seeded results, to cotangents of the active arguments."""

    def gradient(self, program: Any, active: tuple[int, ...], of: int) -> Made | None:
        """From the arguments to the results, and then the gradients of one of them, a real number.

        Only the gradients have places.
        """

    def batched(self, program: Any, mapped: tuple[bool, ...]) -> Made:
        """With a leading batch axis on the mapped arguments, and on all results."""
