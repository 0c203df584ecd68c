"""What is emitted, and by what: `Graph`, what a reader makes of a graph object; its walk; `Lowering`, a rule for an op.

In: a graph library's variables and nodes, as they are, and what the user says about the axes of inputs. Out: inputs,
outputs, and the few questions about nodes that emission asks; inputs as arguments with unique names, each axis a size,
a dimension that the user named, or one named after the input and the axis (`x_0`). Decision to know: nodes need `op`,
`inputs`, `outputs`; nothing here knows a library.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import dims as dimension
from .dims import Dim
from .dims import parse as parse_dim
from .errors import GraphError
from .ir.values import free_name
from .signature import Argument


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


def order(
    outputs: Sequence[Any],
    known: Container[Any] = (),
    done: Container[Any] = (),
    *,
    through: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """The nodes that the outputs need, depth first, operands from left to right and before what uses them.

    Args:
        outputs: variables.
        known: variables that need no node.
        done: nodes to leave out, with those that only they need.
        through: from a variable that is read to the one that stands for it.
    """
    entered: set[Any] = set()
    found: dict[Any, None] = {}
    read = reversed if through is None else (lambda variables: map(through, reversed(variables)))
    stack = [x.owner for x in read(outputs) if x.owner is not None and x not in known]
    while stack:
        node = stack[-1]
        if node in entered or node in done:
            stack.pop()
            if node in entered:
                found.setdefault(node)
            continue
        entered.add(node)
        for x in read(node.inputs):
            if (maker := x.owner) is not None and maker not in entered and x not in known:
                stack.append(maker)
    return list(found)


DimsArgument = Mapping[Any, Sequence[Any]]  # of names, sizes, None, and one `...`


@dataclass
class Input:
    """An input of a graph as a reader sees it: `given` is the caller's variable, `variable` its copy in the graph.

    `key` names the implementation of a PRNG key. `axes` are names for sizes: the same name is the same size.
    `sparse` says which part of which sparse matrix it is; see `signature.Argument`. `parameter` says that it stands
    for a large constant.
    """

    given: Any
    variable: Any
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    container: Any = None
    key: str = ""
    axes: tuple[str | None, ...] = ()
    sparse: tuple[str, ...] = ()
    parameter: bool = False


def fresh(name: str, taken: set[str]) -> str:
    taken.add(found := free_name(name, taken))
    return found


def unique(names: Sequence[str]) -> list[str]:
    """The names, with numbers added where one occurs again; a name that occurs once stays."""
    counts = Counter(names)
    taken = {name for name, count in counts.items() if count == 1}
    return [name if counts[name] == 1 else fresh(name, taken) for name in names]


def is_name(name: str) -> bool:
    """Whether Python takes a text for a parameter's name: "lambda" and "a b" are none."""
    return name.isidentifier() and not keyword.iskeyword(name)


def root_base(name: str, number: int) -> str:
    """What the roots of an argument are named after: its name, or its number where that is no name in Python."""
    return name if name.isascii() and is_name(name) else f"arg{number}"


def unfolded(axes: Sequence[Any], rank: int) -> tuple[Any, ...]:
    """Axes in which `...` stands for any number of axes without names, as those of an array of this rank.

    Raises:
        ValueError: it is there twice, or the array has fewer axes than the rest needs.
    """
    if ... not in axes:
        return tuple(axes)
    place, rest = list(axes).index(...), len(axes) - 1
    if ... in axes[place + 1 :]:
        raise ValueError("`...` may stand once")
    if rest > rank:
        raise ValueError(f"{rest} entries beside `...`, but there are {rank} axes")
    return (*axes[:place], *[None] * (rank - rest), *axes[place + 1 :])


def named_parameters(names: Sequence[str]) -> inspect.Signature:
    """A signature of parameters by place that have these names, as far as Python has such: JAX shows them."""
    plain = [re.sub(r"\W", "_", name) for name in names]
    shown = unique([name if is_name(name) else f"_{name}" for name in plain])
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in shown])


def name_arguments(inputs: Sequence[Input], dims: DimsArgument) -> list[Argument]:
    """Names for arguments and their open axes; `dims` may be keyed by name or by variable."""
    names = unique([x.name for x in inputs])
    by_variable = {x.given: name for x, name in zip(inputs, names, strict=True)}
    wanted: dict[str, Sequence[str | int | None]] = {}
    for key, value in dims.items():
        name = key if isinstance(key, str) else by_variable.get(key)
        if name not in names:
            raise GraphError(f"dims names {key!r}, which is not an input (inputs: {', '.join(names)})")
        if isinstance(value, str | int):
            value = (value,)
        rank = len(next(x for x, own in zip(inputs, names, strict=True) if own == name).shape)
        try:
            wanted[name] = unfolded(value, rank)
        except ValueError as error:
            raise GraphError(f"dims of {name!r}: {error}") from None
    taken = {
        root
        for entries in wanted.values()
        for entry in entries
        if isinstance(entry, str)
        for root in dimension.roots(_parse(entry))
    }
    taken.update(axis for x in inputs for axis in x.axes if axis is not None)
    known = _known_sizes(inputs, names, wanted)
    arguments: list[Argument] = []
    for x, name in zip(inputs, names, strict=True):
        entries = wanted.get(name, (None,) * len(x.shape))
        if len(entries) != len(x.shape):
            raise GraphError(f"dims of {name!r} has {len(entries)} entries, but the input has {len(x.shape)} axes")
        if x.axes:
            _refuse_swapped(name, x.axes, entries, known)
            entries = [
                known[axis] if entry is None and axis is not None else entry
                for entry, axis in zip(entries, x.axes, strict=True)
            ]
        sizes: list[Dim] = []
        for axis, (entry, static) in enumerate(zip(entries, x.shape, strict=True)):
            if isinstance(entry, bool) or not isinstance(entry, str | int | np.integer | None):
                raise GraphError(f"dims of {name!r}, axis {axis}: expected a name or a size, got {entry!r}")
            if isinstance(entry, int | np.integer) and entry < 0:
                raise GraphError(f"dims of {name!r}, axis {axis}: size {entry} is negative")
            if static is not None:
                if isinstance(entry, int | np.integer) and int(entry) != static:
                    raise GraphError(f"dims of {name!r}, axis {axis} says {entry}, but the input's type has {static}")
                sizes.append(static)
            elif entry is None:
                sizes.append(dimension.symbol(fresh(f"{root_base(name, len(arguments))}_{axis}", taken)))
            else:
                sizes.append(_parse(entry) if isinstance(entry, str) else int(entry))
        shared, parameter = x.container is not None and not x.parameter, name if x.parameter else ""
        arguments.append(
            Argument(name, x.dtype, tuple(sizes), (), shared, key=x.key, sparse=x.sparse, parameter=parameter)
        )
    return arguments


def _known_sizes(
    inputs: Sequence[Input], names: Sequence[str], wanted: Mapping[str, Sequence[str | int | None]]
) -> dict[str, str | int]:
    """For each name of an axis its size, if the inputs' types or the caller say one and the same; itself if not."""
    sizes: dict[str, set[int]] = {}
    for x, name in zip(inputs, names, strict=True):
        entries = wanted.get(name, (None,) * len(x.shape))
        for axis, static, entry in zip(x.axes, x.shape, entries, strict=False):
            if axis is not None:
                said = static if static is not None else entry
                sizes.setdefault(axis, set()).update([int(said)] if isinstance(said, int | np.integer) else ())
    return {axis: found.copy().pop() if len(found) == 1 else axis for axis, found in sizes.items()}


def _refuse_swapped(
    name: str, axes: Sequence[str | None], entries: Sequence[str | int | None], known: Mapping[str, str | int]
) -> None:
    """Refuses to give an axis the name that the graph has for another dimension."""
    for axis, (own, entry) in enumerate(zip(axes, entries, strict=True)):
        if own is not None and entry != own and entry in known:
            raise GraphError(
                f"dims of {name!r}, axis {axis} says {entry!r}, but the graph calls this axis {own!r} and has another "
                f"dimension {entry!r}; choose a name that is not one of {', '.join(known)}"
            )


def _parse(text: str) -> Dim:
    try:
        return parse_dim(text)
    except ValueError as error:
        raise GraphError(f"dims: {error}") from None
