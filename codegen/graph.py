"""`Graph`: what a reader makes of a graph object, and what is emitted.

In: a graph library's variables and nodes, as they are. Out: inputs, outputs, and the few questions about nodes that
emission asks. Decision to know: nodes need `op`, `inputs`, `outputs`; nothing here knows a library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .inputs import Input


@dataclass
class Graph:
    """What a reader makes of a graph object.

    Attributes:
        inputs: in call order; inputs with a `container` are shared variables.
        outputs: (variable, name or None).
        constant: the numpy value of a variable that is a constant, None for others.
        describe: one line about a node, for error messages.
        inner: the nodes of an op's inner graph, or None.
        transforms: makes derivatives and batches of such graphs; None where the reader knows none.
        rewrite: which of the library's rewrites were applied.
        sparse: for results that are parts of a sparse matrix, by their number, which part of which.
        source: inputs and outputs to make derivatives and batches of; by default those of the graph.
    """

    inputs: list[Input]
    outputs: list[tuple[Any, str | None]]
    constant: Callable[[Any], Any]
    describe: Callable[[Any], str]
    inner: Callable[[Any], Any] = field(default=lambda op: None)
    transforms: Any = None
    rewrite: Any = False
    source: tuple[list[Any], list[Any]] | None = None
    sparse: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def variables(self) -> list[Any]:
        """The inputs' variables, for transforms."""
        return [item.variable for item in self.inputs] if self.source is None else self.source[0]

    @property
    def results(self) -> list[Any]:
        """The outputs' variables, for transforms."""
        return [variable for variable, _ in self.outputs] if self.source is None else self.source[1]
