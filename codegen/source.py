"""What a program was made from. Its derivatives and batches are programs that its source makes.

In: a program, and which of its arguments and results are meant. Out: another program, with a source of its own. A graph
gives graphs, by its library's gradients, and what is batched is the program itself (`rows.py`); a function that JAX
traced gives functions, which are traced as it was (`dialects/jax/source.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import dims as dimension
from .graph import Graph
from .program import Made, Program
from .rows import batched
from .signature import Argument, Result, Signature


@dataclass(frozen=True)
class GraphSource:
    """A graph whose library has gradients.

    Attributes:
        graph: as it was read.
        emit: makes a program of a graph, as `emit_stablehlo` does.
        loosened: makes the program of this graph that does not demand what an `ArgumentShapeError.option` names; None
            where such calls are refused.
    """

    graph: Graph
    emit: Callable[..., Program]
    loosened: Callable[[str], Program] | None = None
    inline = None
    shares = False
    repeats = True

    @cached_property
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
        """The program's ops with a further axis."""
        return batched(program, mapped)

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
