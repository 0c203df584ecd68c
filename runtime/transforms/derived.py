"""The functions that a function gives rise to: its pushforwards, pullbacks, gradients and batched versions.

In: a function whose program has a source. Out: functions of the same kind, of programs that the source makes
(`codegen/source.py`). Each is made when it is first asked for, and kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from ...codegen.program import Made, Program, Pullback, Source
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
    """

    function: Transformable
    places: tuple[int, ...]


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
        self._loops: dict[tuple[bool, ...], str] = {}
        self._lock = forks.lock(threading.RLock)

    def __iter__(self) -> Iterator[Transformable]:
        """The functions made so far."""
        return iter([found.function for found in list(self._found.values()) if found is not None])

    @property
    def loops(self) -> Mapping[tuple[bool, ...], str]:
        """Batches of which there is no program: which arguments are mapped, and why. They are loops over single calls,
        or what `jax.vmap` makes of a function that came from JAX."""
        return dict(self._loops)

    @property
    def inlined(self) -> Mapping[str, str]:
        """Derivatives that JAX makes of the function itself, and why there is no program of them."""
        source = self._program.source
        found = {str(key[0]): reason for key, reason in list(self._refused.items())}
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

    def pushforward(self, active: tuple[int, ...]) -> Derivation:
        """From the arguments and tangents of the active ones to the tangents of the results that are no integers.

        Raises:
            DerivativeError: there is no source, or it has no derivative.
        """
        program = self._program
        found = self._make(("pushforward", active), lambda: self._source().pushforward(program, active))
        assert found is not None  # JAX asks for one only where there are such results
        return found

    def pullback(self, active: tuple[int, ...], seeded: tuple[int, ...]) -> Derivation | None:
        """From the arguments and cotangents of the seeded results to the cotangents of the active arguments.

        Raises:
            DerivativeError: there is no source, or it has no derivative.
        """
        program = self._program
        return self._make(("pullback", active, seeded), lambda: self._source().pullback(program, active, seeded))

    def gradient(self, active: tuple[int, ...]) -> Derivation | None:
        """From the arguments to the results and the gradients of the only one that is no integer, if it is a number.

        Returns:
            None where that is no way to have derivatives: there are others, or checks, or complex numbers, or they are
            clipped.

        Raises:
            DerivativeError: the source has no derivative.
        """
        return self._make(("gradient", active), lambda: self._gradient(active))

    def whole_pullback(self) -> Pullback:
        """The pullback by all arguments that are real, from all results that are.

        Raises:
            DerivativeError: there is no source, it has no derivative, or no result depends on any argument.
        """
        signature = self._program.signature
        given = [i for i, a in enumerate(signature.arguments) if not a.shared and not a.parameter]
        active = tuple(i for i in given if kind_of(signature.arguments[i].dtype) == "f")
        seeded = tuple(j for j, result in enumerate(signature.results) if kind_of(result.dtype) == "f")
        found = self.pullback(active, seeded) if active and seeded else None
        if found is None:
            raise DerivativeError(f"no result of {self._program.name} depends smoothly on an argument")
        return Pullback(found.function.program, found.places, seeded)

    @property
    def saved_pullback(self) -> tuple[Transformable, Pullback] | None:
        """For a program that was loaded with its pullback: it."""
        pullback = self._program.pullback
        if pullback is None:
            return None
        with self._lock:
            found = self._found.get("saved")
            if found is None:
                found = Derivation(self._compile(pullback.program), pullback.arguments)
                self._found["saved"] = found
        return found.function, pullback

    def batched(self, mapped: tuple[bool, ...]) -> Derivation | None:
        """With a leading batch axis on the mapped arguments; None where that cannot be, see `loops`."""
        with self._lock:
            if mapped in self._loops:
                return None
            try:
                return self._made(("batched", mapped), lambda: self._batched(mapped))
            except (BatchingError, UnsupportedOpError, UnsupportedGraphError, GraphError) as error:
                self._loops[mapped] = str(error)
                return None

    # ---- making them ------------------------------------------------------------------------------------------------

    def _make(self, key: tuple[Any, ...], make: Callable[[], Made | None]) -> Derivation | None:
        """What a derivative is made of; where JAX has another way, what could not be made is not tried again."""
        with self._lock:
            if key in self._refused:
                raise UnsupportedGraphError(self._refused[key])
            try:
                return self._made(key, make)
            except (UnsupportedGraphError, GraphError) as error:
                if self.inline is not None:
                    self._refused[key] = str(error)
                raise

    def _made(self, key: Hashable, make: Callable[[], Made | None]) -> Derivation | None:
        if key not in self._found:
            made = make()
            self._found[key] = None if made is None else Derivation(self._compile(made.program), made.places)
        return self._found[key]

    def _source(self) -> Source:
        source = self._program.source
        if source is None:
            raise DerivativeError(
                f"{self._program.name} has no derivative: it was loaded from an artifact, unpickled or padded, without "
                "a graph; save the program with derivatives=1 (pickle program.with_pullback()), or save a program of "
                "the gradient"
            )
        return source

    def _gradient(self, active: tuple[int, ...]) -> Made | None:
        program = self._program
        signature = program.signature
        smooth = [j for j, result in enumerate(signature.results) if kind_of(result.dtype) in "fc"]
        if program.source is None or signature.checks or signature.has_data_sizes or len(smooth) != 1:
            return None
        kinds = [kind_of(signature.results[smooth[0]].dtype), *[kind_of(signature.arguments[i].dtype) for i in active]]
        if signature.results[smooth[0]].dims or set(kinds) != {"f"} or not program.source.scales:
            return None
        return program.source.gradient(program, active, smooth[0])

    def _batched(self, mapped: tuple[bool, ...]) -> Made:
        program = self._program
        if program.source is None:
            raise BatchingError("there is no graph: the program was loaded from an artifact")
        return program.source.batched(program, mapped)
