"""What a program was made from. Its derivatives and batches are programs that its source makes.

In: a program, and which of its arguments and results are meant. Out: another program, with a source of its own. A graph
gives graphs, by its library's gradients and vectorization (`GraphSource`); a function that JAX traced gives functions,
which are traced as it was (`dialects/jax/module/source.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from . import dims as dimension
from .errors import BatchingError
from .inputs import fresh

if TYPE_CHECKING:
    from .emit import Graph
    from .program import Program
    from .signature import Argument, Result, Signature


@dataclass(frozen=True)
class Made:
    """A program made from another.

    Attributes:
        program: it.
        places: for each of its results, which result (pushforward, batched) or argument (pullback, gradient) of the
            other it belongs to.
        same: for a batched program, whether each result has no batch axis.
    """

    program: Program
    places: tuple[int, ...]
    same: tuple[bool, ...] = ()


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

    def pushforward(self, program: Program, active: tuple[int, ...]) -> Made | None:
        """From the arguments, and tangents of the active ones, to tangents of the results that are no integers."""

    def pullback(self, program: Program, active: tuple[int, ...], seeded: tuple[int, ...]) -> Made | None:
        """From the arguments, and cotangents of the seeded results, to cotangents of the active arguments."""

    def gradient(self, program: Program, active: tuple[int, ...], of: int) -> Made | None:
        """From the arguments to the results, and then the gradients of one of them, a real number.

        Only the gradients have places.
        """

    def batched(self, program: Program, mapped: tuple[bool, ...]) -> Made:
        """With a leading batch axis on the mapped arguments, and on the results that depend on them."""


@dataclass(frozen=True)
class GraphSource:
    """A graph whose library has gradients.

    Attributes:
        graph: as it was read.
        emit: makes a program of a graph, as `emit_stablehlo` does.
    """

    graph: Graph
    emit: Callable[..., Program]
    inline = None
    shares = False
    repeats = True

    @property
    def scales(self) -> bool:
        """Unless there is a `grad_clip`."""
        return not self.graph.transforms.clips(self.graph.results)

    def pushforward(self, program: Program, active: tuple[int, ...]) -> Made | None:
        """By the pullback of the pullback."""
        signature = program.signature
        made = self.graph.transforms.pushforward(self.graph.variables, self.graph.results, active)
        dims = [axes(a, signature) for a in signature.arguments]
        return self._program(made, program, "jvp", [*dims, *[dims[i] for i in active]])

    def pullback(self, program: Program, active: tuple[int, ...], seeded: tuple[int, ...]) -> Made | None:
        """By the library's gradient."""
        signature = program.signature
        made = self.graph.transforms.pullback(self.graph.variables, self.graph.results, active, seeded)
        dims = [axes(a, signature) for a in signature.arguments]
        return self._program(made, program, "vjp", [*dims, *[axes(signature.results[j], signature) for j in seeded]])

    def gradient(self, program: Program, active: tuple[int, ...], of: int) -> Made | None:
        """By the library's gradient, in one graph with what it is the gradient of."""
        signature = program.signature
        made = self.graph.transforms.gradient(self.graph.variables, self.graph.results, active, of)
        return self._program(made, program, "grad", [axes(a, signature) for a in signature.arguments])

    def batched(self, program: Program, mapped: tuple[bool, ...]) -> Made:
        """By the library's vectorization, node by node."""
        signature = program.signature
        if signature.has_data_sizes:
            raise BatchingError("a size depends on data")
        axis = fresh("batch", {root.name for root in signature.roots})
        dims = [
            (axis, *axes(a, signature)) if flag else axes(a, signature)
            for a, flag in zip(signature.arguments, mapped, strict=True)
        ]
        made = self.graph.transforms.batched(self.graph.variables, self.graph.results, mapped)
        found = self._program(made, program, "batched", dims)
        assert found is not None
        return Made(found.program, found.places, made.same)

    def _program(self, made: Any, program: Program, what: str, dims: Sequence[Any]) -> Made | None:
        if not made.outputs:
            return None
        emitted = self.emit(
            (made.inputs, made.outputs),
            dims=dict(zip(made.inputs, dims, strict=True)),
            name=f"{program.name}_{what}",
            rewrite=self.graph.rewrite,
        )
        return Made(emitted, made.places)


def axes(item: Argument | Result, signature: Signature) -> tuple[Any, ...]:
    """Names and sizes for the axes of something like an argument or result, where names of arguments' axes say them."""
    sizes = {root.name for root in signature.roots if root.axis is not None}
    return tuple(d if type(d) is int else str(d) if dimension.roots(d) <= sizes else None for d in item.dims)


def restricted(
    function: Callable[[Sequence[Any]], list[Any]],
    arrays: Sequence[Any],
    active: Sequence[int],
    wanted: Sequence[int] | None = None,
) -> Callable[..., list[Any]]:
    """A function of the active arguments alone, to the results that are wanted (all by default)."""

    def of_active(*values: Any) -> list[Any]:
        given = dict(zip(active, values, strict=True))
        results = function([given.get(i, x) for i, x in enumerate(arrays)])
        return list(results) if wanted is None else [results[j] for j in wanted]

    return of_active
