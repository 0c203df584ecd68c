"""The functions that a function gives rise to: its pushforwards, pullbacks and batched versions.

In: a function whose program was emitted from a graph. Out: functions of the same kind, from graphs that the graph
library makes (`dialects/transforms.py`), lowered as any other. Each is made when it is first asked for, and kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..codegen import dims as dimension
from ..codegen.dtypes import kind_of
from ..codegen.errors import BatchingError, DerivativeError, GraphError, UnsupportedGraphError, UnsupportedOpError
from ..codegen.inputs import fresh
from ..codegen.pullback import Pullback

if TYPE_CHECKING:
    from ..codegen.signature import Argument, Result, Signature
    from .function import Function


@dataclass(frozen=True)
class Derivation:
    """A function made from another.

    Attributes:
        function: it.
        places: which result or argument of the other function each of its results belongs to.
        same: for a batched function, whether each result has no batch axis.
    """

    function: Function
    places: tuple[int, ...]
    same: tuple[bool, ...] = ()


class Derived:
    """What was made of one function so far.

    Args:
        function: the function.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._found: dict[Hashable, Derivation | None] = {}
        self._loops: dict[tuple[bool, ...], str] = {}
        self._lock = threading.RLock()

    def __iter__(self) -> Iterator[Function]:
        """The functions made so far."""
        return iter([found.function for found in list(self._found.values()) if found is not None])

    @property
    def loops(self) -> Mapping[tuple[bool, ...], str]:
        """Batches that are a loop over single calls: which arguments are mapped, and why it takes a loop."""
        return dict(self._loops)

    def pushforward(self, active: tuple[int, ...]) -> Derivation:
        """From the arguments and tangents of the active ones to the tangents of the results that are no integers.

        Raises:
            DerivativeError: there is no graph, or it has no derivative.
        """
        found = self._make(("pushforward", active), lambda: self._pushforward(active))
        assert found is not None  # JAX asks for one only where there are such results
        return found

    def pullback(self, active: tuple[int, ...], seeded: tuple[int, ...]) -> Derivation | None:
        """From the arguments and cotangents of the seeded results to the cotangents of the active arguments.

        Raises:
            DerivativeError: there is no graph, or it has no derivative.
        """
        return self._make(("pullback", active, seeded), lambda: self._pullback(active, seeded))

    def whole_pullback(self) -> Pullback:
        """The pullback by all arguments that are real, from all results that are.

        Raises:
            DerivativeError: there is no graph, it has no derivative, or no result depends on any argument.
        """
        signature = self._function.program.signature
        active = tuple(i for i, a in enumerate(signature.arguments) if kind_of(a.dtype) == "f" and not a.shared)
        seeded = tuple(j for j, result in enumerate(signature.results) if kind_of(result.dtype) == "f")
        found = self.pullback(active, seeded) if active and seeded else None
        if found is None:
            raise DerivativeError(f"no result of {self._function.__name__} depends smoothly on an argument")
        return Pullback(found.function.program, found.places, seeded)

    @property
    def saved_pullback(self) -> tuple[Function, Pullback] | None:
        """For a program that was loaded with its pullback: it."""
        pullback = self._function.program.pullback
        if pullback is None:
            return None
        found = self._make("saved", lambda: Derivation(self._function.like(pullback.program), pullback.arguments))
        assert found is not None
        return found.function, pullback

    def batched(self, mapped: tuple[bool, ...]) -> Derivation | None:
        """With a leading batch axis on the mapped arguments; None where that cannot be, see `loops`."""
        return self._make(("batched", mapped), lambda: self._batched(mapped))

    # ---- making them ------------------------------------------------------------------------------------------------

    def _make(self, key: Hashable, make: Callable[[], Derivation | None]) -> Derivation | None:
        with self._lock:
            if key not in self._found:
                self._found[key] = make()
            return self._found[key]

    def _graph(self) -> Any:
        graph = self._function.program.graph
        if graph is None or graph.transforms is None:
            raise DerivativeError(
                f"{self._function.__name__} has no derivative: it was loaded from an artifact, without its graph; "
                "save the program with derivatives=1, or save a program of the gradient"
            )
        return graph

    def _pushforward(self, active: tuple[int, ...]) -> Derivation | None:
        graph, signature = self._graph(), self._function.program.signature
        made = graph.transforms.pushforward(graph.variables, graph.results, active)
        dims = [_dims(a, signature) for a in signature.arguments]
        return self._function_of(made, "jvp", [*dims, *[dims[i] for i in active]])

    def _pullback(self, active: tuple[int, ...], seeded: tuple[int, ...]) -> Derivation | None:
        graph, signature = self._graph(), self._function.program.signature
        made = graph.transforms.pullback(graph.variables, graph.results, active, seeded)
        dims = [_dims(a, signature) for a in signature.arguments]
        return self._function_of(made, "vjp", [*dims, *[_dims(signature.results[j], signature) for j in seeded]])

    def _batched(self, mapped: tuple[bool, ...]) -> Derivation | None:
        signature = self._function.program.signature
        try:
            graph = self._graph()
        except DerivativeError:
            self._loops[mapped] = "there is no graph: the program was loaded from an artifact"
            return None
        axis = fresh("batch", {root.name for root in signature.roots})
        dims = [
            (axis, *_dims(a, signature)) if flag else _dims(a, signature)
            for a, flag in zip(signature.arguments, mapped, strict=True)
        ]
        try:
            if signature.has_data_sizes:
                raise BatchingError("a size depends on data")
            made = graph.transforms.batched(graph.variables, graph.results, mapped)
            found = self._function_of(made, "batched", dims)
            assert found is not None
            self._agree(found, made.same)
        except (BatchingError, UnsupportedOpError, UnsupportedGraphError, GraphError) as error:
            self._loops[mapped] = str(error)
            return None
        return Derivation(found.function, found.places, made.same)

    def _agree(self, found: Derivation, same: Sequence[bool]) -> None:
        """Raises `BatchingError` when the results are not those of the function with an axis in front."""
        ours, theirs = self._function.program.signature, found.function.program.signature
        for old, new, flag in zip(ours.results, theirs.results, same, strict=True):
            if new.dtype != old.dtype or len(new.dims) != len(old.dims) + (not flag):
                raise BatchingError(f"the batch of result {old} would be {new}")

    def _function_of(self, made: Any, what: str, dims: Sequence[Any]) -> Derivation | None:
        """The transformed graph as a function with the options of the one that it was made from."""
        from ..codegen.emit import emit_stablehlo

        if not made.outputs:
            return None
        parent, graph = self._function, self._graph()
        program = emit_stablehlo(
            (made.inputs, made.outputs),
            dims=dict(zip(made.inputs, dims, strict=True)),
            name=f"{parent.__name__}_{what}",
            rewrite=graph.rewrite,
        )
        return Derivation(parent.like(program), made.places)


def _dims(item: Argument | Result, signature: Signature) -> tuple[Any, ...]:
    """Names and sizes for the axes of something like an argument or result, where names of arguments' axes say them."""
    sizes = {root.name for root in signature.roots if root.axis is not None}
    return tuple(d if type(d) is int else str(d) if dimension.roots(d) <= sizes else None for d in item.dims)
