"""What is emitted, and by what: `Graph`, what a reader makes of a graph object; its walk; `Lowering`, a rule for an op.

In: a graph library's variables and nodes, as they are. Out: inputs, outputs, and the few questions about nodes that
emission asks. Decision to know: nodes need `op`, `inputs`, `outputs`; nothing here knows a library.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
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


Rule = Callable[..., Any]
Branches = Callable[[Any], Sequence[Sequence[int]]]
Unsupported = Callable[[Any], Sequence[str]]
Refuses = Callable[[Any], str]


@dataclass(frozen=True)
class Undeclared:
    """A rule's result of another dtype than the graph declares: it may be a result of the program, and no operand.

    Attributes:
        value: the tensor.
        why: what to tell whoever uses it as an operand.
    """

    value: Any
    why: str


@dataclass(frozen=True)
class Deferred:
    """What does not enter the program: it is computed within the call that needs it.

    Attributes:
        reason: why.
    """

    reason: str


@dataclass(frozen=True)
class Lowering:
    """A rule and how its operands are to be evaluated.

    Attributes:
        name: op name, or the class's qualified name.
        rule: the function.
        branches: for an op that evaluates only some operands, the operand positions of each branch.
        batched: whether the rule takes leading batch axes (so that `Blockwise` can call it as it is).
        stretched: whether these axes have one size in all operands; else 1 in those that are the same along an axis,
            and there is one result.
        refuses: from a node to why the rule cannot lower it, for the same error; "" where it can.
        inner: whether the op carries an inner graph that is lowered too.
        loops: whether a batch of it may be lowered as a loop over its elements.
        unsupported: from the op to descriptions of what it wraps that has no lowering.
    """

    name: str
    rule: Rule
    branches: Branches | None = None
    batched: bool = False
    inner: bool = False
    unsupported: Unsupported | None = None
    loops: bool = False
    stretched: bool = True
    refuses: Refuses | None = None


def order(outputs: Sequence[Any], known: Container[Any] = (), done: Container[Any] = ()) -> list[Any]:
    """The nodes that the outputs need, depth first, operands from left to right and before what uses them.

    Args:
        outputs: variables.
        known: variables that need no node.
        done: nodes to leave out, with those that only they need.
    """
    seen: set[Any] = set()
    found: list[Any] = []
    stack = [(x.owner, False) for x in reversed(outputs) if x.owner is not None and x not in known]
    while stack:
        node, ready = stack.pop()
        if ready:
            found.append(node)
        elif node not in seen and node not in done:
            seen.add(node)
            stack.append((node, True))
            stack.extend((x.owner, False) for x in reversed(node.inputs) if x.owner is not None and x not in known)
    return found
