"""The functions that a function gives rise to: its pushforwards, pullbacks, gradients and batched versions.

In: a function whose program has a source. Out: functions of the same kind, of programs that the source makes
(`codegen/source.py`). Each is made when it is first asked for, and kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...codegen import forks
from ...codegen.dtypes import kind_of
from ...codegen.errors import (
    ArgumentShapeError,
    BatchingError,
    DerivativeError,
    GraphError,
    HlographError,
    UnsupportedGraphError,
    UnsupportedOpError,
)
from ...codegen.program import Program, Source
from ..executables.prepared import PreparedProgram
from ..executables.stats import Stats


class Transformable(Protocol):
    """A compiled program, as far as JAX's transformations ask of it: a `Function`."""

    @property
    def program(self) -> Program: ...

    @property
    def derived(self) -> Derived: ...

    @property
    def stats(self) -> Stats: ...

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results for the values of all arguments."""

    def prepared(self, sizes: Mapping[str, int]) -> PreparedProgram:
        """The program for these sizes, as what the primitive puts into other modules."""

    def clear_cache(self) -> None:
        """Drops all executables."""


@dataclass(frozen=True)
class Derivation:
    """A function made from another.

    Attributes:
        function: it.
        places: which result or argument of the other function each of its results belongs to; for a gradient, the
            arguments that its last results belong to.
        seeds: for a pullback, of which results it takes cotangents.
    """

    function: Transformable
    places: tuple[int, ...]
    seeds: tuple[int, ...] = ()


class Derived:
    """What was made of one function so far.

    Args:
        program: the function's.
        make: compiles another program in the same way.
    """

    def __init__(self, program: Program, make: Callable[[Program], Transformable]) -> None:
        self._program = program
        self._compile = make
        self._found: dict[Hashable, Derivation | None] = {}
        self._refused: dict[tuple[Any, ...], str] = {}
        self._lock = forks.lock(threading.RLock)

    def __iter__(self) -> Iterator[Transformable]:
        """The functions made so far."""
        return iter([found.function for found in list(self._found.values()) if found is not None])

    @property
    def loops(self) -> Mapping[tuple[bool, ...], str]:
        """Batches of which there is no program: which arguments are mapped, and why. They are loops over single calls,
        or what `jax.vmap` makes of a function that came from JAX."""
        return {key[1]: reason for key, reason in list(self._refused.items()) if key[0] == "batched"}

    @property
    def inlined(self) -> Mapping[str, str]:
        """Derivatives that JAX makes of the function itself, and why there is no program of them."""
        source = self._program.source
        found = {str(key[0]): reason for key, reason in list(self._refused.items()) if key[0] != "batched"}
        if source is not None and source.inline is not None and not source.repeats:
            found["derivatives of other results than a number"] = "computed again, results may have other signs"
        return found

    @property
    def inline(self) -> Callable[[Sequence[Any]], list[Any]] | None:
        """The function as JAX traced it, for JAX to transform where there is no program; see `Source.inline`."""
        source = self._program.source
        return None if source is None else source.inline

    def loosened(self, error: ArgumentShapeError, make: Callable[[Program], Any]) -> Any:
        """The function of the program that does not demand of sizes what a call has broken.

        Raises:
            ArgumentShapeError: the error: there is no such program.
        """
        loosen = getattr(self._program.source, "loosened", None)
        if not error.option or loosen is None:
            raise error
        with self._lock:
            found = self._found.get(error.option)
            if found is None:
                try:
                    found = self._found[error.option] = Derivation(make(loosen(error.option)), ())
                except HlographError:
                    raise error from None
        return found.function

    def made(self, what: str, *which: Any) -> Derivation | None:
        """What the source makes of the program, compiled; None where that is no program.

        Args:
            what: "pushforward", "pullback", "gradient" or "batched", a method of `Source`.
            which: what that takes besides the program.

        Raises:
            DerivativeError: there is no source, or it has no derivative.
            UnsupportedGraphError: there is none; where JAX has another way, it is not tried again.
        """
        key = (what, *which)
        with self._lock:
            if key in self._refused:
                raise UnsupportedGraphError(self._refused[key])
            if key not in self._found:
                try:
                    made = getattr(self._source(), what)(self._program, *which)
                except (UnsupportedGraphError, GraphError) as error:
                    if self.inline is not None:
                        self._refused[key] = str(error)
                    raise
                self._found[key] = None if made is None else Derivation(self._compile(made.program), made.places)
            return self._found[key]

    def gradient(self, active: tuple[int, ...]) -> Derivation | None:
        """From the arguments to the results and the gradients of the only one that is no integer, if it is a number.

        Returns:
            None where that is no way to have derivatives: there are others, or checks, or complex numbers, or they are
            clipped.

        Raises:
            DerivativeError: the source has no derivative.
        """
        source, signature = self._program.source, self._program.signature
        smooth = [j for j, result in enumerate(signature.results) if kind_of(result.dtype) in "fc"]
        if source is None or signature.checks or signature.has_data_sizes or len(smooth) != 1:
            return None
        number = signature.results[smooth[0]]
        kinds = {kind_of(number.dtype), *[kind_of(signature.arguments[i].dtype) for i in active]}
        if number.dims or kinds != {"f"} or not source.scales:
            return None
        return self.made("gradient", active, smooth[0])

    def pullback(self, active: tuple[int, ...], seeded: tuple[int, ...]) -> Derivation | None:
        """From the arguments and cotangents of the seeded results to the cotangents of the active arguments; of a
        program that was loaded with its pullback, that one."""
        saved = self._program.pullback
        if saved is None:
            found = self.made("pullback", active, seeded)
            return None if found is None else replace(found, seeds=seeded)
        with self._lock:
            if "saved" not in self._found:
                self._found["saved"] = Derivation(self._compile(saved.program), saved.arguments, saved.results)
            return self._found["saved"]

    def batched(self, mapped: tuple[bool, ...]) -> Derivation | None:
        """With a leading batch axis on the mapped arguments; None where that cannot be, see `loops`."""
        try:
            if self._program.source is None:
                raise BatchingError("there is no graph: the program was loaded from an artifact")
            return self.made("batched", mapped)
        except (BatchingError, UnsupportedOpError, UnsupportedGraphError, GraphError) as error:
            self._refused["batched", mapped] = str(error)
            return None

    def _source(self) -> Source:
        if self._program.source is None:
            raise DerivativeError(
                f"{self._program.name} has no derivative: it was loaded from an artifact, unpickled or padded, without "
                "a graph; save the program with derivatives=1 (pickle program.with_pullback()), or save a program of "
                "the gradient"
            )
        return self._program.source
