"""`Lowering`: a rule for an op, and how the op's operands are to be evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
