"""The walk of the padding pass through a program, watched op by op.

In: a `?` module, and a bound for each size. Out: `Facts`: the program's ops with the live sizes of every value, what
was done at which op, and every refusal. A walk ends where an op refuses; the sizes concerned are then
pinned to one value, as a call compiles them exactly, and the walk is made anew, until it comes to the end. What is said
of a value is from the first walk that reached it, so that its sizes are expressions as long as they can be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ..codegen import dims as dimension
from ..codegen import signature as signatures
from ..codegen.dims import Dim
from ..codegen.errors import PaddingError
from ..codegen.ir.bindings import ir
from ..codegen.ir.host_calls import is_host_call, name_of
from ..codegen.ir.values import call_target, main_function, shape_of, symbol_of
from ..codegen.passes import pad
from ..codegen.passes.pad.live import Live
from ..codegen.passes.pad.padder import Padder, Pending
from ..codegen.signature import Signature

# Ops whose regions are programs of their own; those of others (reductions, sorts, ...) work on scalars.
_CONTROL = ("stablehlo.while", "stablehlo.if", "stablehlo.case")
_PARTS = {"stablehlo.while": ("condition", "body"), "stablehlo.if": ("if true", "if false")}
PYTHON = "python "  # with the name of the function behind it
_TERMINATORS = ("stablehlo.return", "func.return")

# What is known of a value, and the sizes that were pinned when it was found.
_Environment = dict[ir.Value, tuple[Live, Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the program.

    Attributes:
        dims: its sizes; "?" where nothing is known.
        dtype: dtype of its elements.
    """

    dims: tuple[Dim | str, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.dims))}]"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An op.

    Attributes:
        name: its name without its dialect, and where it is from.
        block: the loop, branch or function that it is in; "" for the program itself.
        results: what it gives.
        operands: what it takes.
        sizes_only: it is a constant, or computes sizes and no data.
        marks: what the padding pass does here, or why it refuses ("mask: n with 0.0").
    """

    name: str
    block: str
    results: tuple[Value, ...]
    operands: tuple[Value, ...]
    sizes_only: bool
    marks: list[str] = field(default_factory=list)

    @property
    def is_touched(self) -> bool:
        """Whether a size is part of an operand's or result's shape."""
        return any(not isinstance(dim, int | str) for value in (*self.results, *self.operands) for dim in value.dims)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An op that cannot be padded.

    Attributes:
        op: the op, in words.
        reason: why.
        roots: the sizes that are compiled exactly because of it; empty where nothing helps.
    """

    op: str
    reason: str
    roots: tuple[str, ...]


@dataclass(slots=True)
class Facts:
    """Results of the walks; the ops are in the order of the program, its main function first.

    Attributes:
        actions: what padding does: kind, size, detail, why, and where.
    """

    nodes: list[Node]
    actions: list[tuple[str, str, str, str, str]]
    refusals: list[Refusal]


def walk(module: ir.Module, bounds: Mapping[str, int]) -> Facts:
    """The facts about a module.

    Args:
        module: a `?` module; not changed.
        bounds: root name to bound, for each root, and for each size from data that has no bound of its own.

    Raises:
        PassError: unknown root, or a bound that cannot be.
    """
    signature = signatures.read(module)
    env: _Environment = {}
    pins: dict[str, int] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    refused: list[tuple[ir.Operation | None, str]] = []
    while True:
        padder, error = _walk_once(module, bounds, pins, env)
        actions = [action for action in padder.actions if action.kind and error is None]
        if error is None:
            break
        operation = padder.operation
        where = padder.where if operation is None else describe(operation)
        reason = str(error).removeprefix("pad: ").removeprefix(f"{padder.where} cannot be padded: ")
        refused.append((operation, reason))
        names = _to_pin(signature, padder, error, pins)
        reasons.setdefault((where, reason), []).extend(names)
        if not names:
            break
        pins = pins | {name: bounds[name] for name in names}
        if len(pins) == len(signature.roots) and not signature.has_data_sizes:
            # All calls are compiled exactly. One more walk shows the sizes of what follows; no call makes it.
            with suppress(Exception):
                _walk_once(module, bounds, pins, env)
            break
    refusals = [Refusal(where, reason, tuple(names)) for (where, reason), names in reasons.items()]
    nodes: dict[ir.Operation, Node] = {}  # in order, the main function first
    main = main_function(module)
    functions = [view.operation for view in module.body.operations if view.operation.name == "func.func"]
    for function in sorted(functions, key=lambda function: function != main):
        title = "" if function == main else f"function {symbol_of(function)}"
        nodes.update(_nodes(function.regions[0].blocks[0], title, env))
    marks = [(operation, f"refused: {reason}") for operation, reason in refused]
    for operation, words in [*marks, *((a.op, f"{a.kind}: {a.dim} {a.detail}".rstrip()) for a in actions)]:
        while operation is not None and operation not in nodes:  # the innermost op around it that is one
            operation = operation.parent and operation.parent.operation
        if operation is not None and words not in nodes[operation].marks:
            nodes[operation].marks.append(words)
    # In words here, as an op is not to be touched when its module is gone.
    done = [(a.kind, a.dim, a.detail, a.why, describe(a.op)) for a in actions]
    return Facts(list(nodes.values()), done, refusals)


def _walk_once(
    module: ir.Module, bounds: Mapping[str, int], pins: Mapping[str, int], env: _Environment
) -> tuple[Padder, PaddingError | None]:
    """One run of the padding pass, whose module is thrown away; `env` gets the values that no run before reached."""
    padder = pad.prepare(module, bounds, least=pins, explaining=True)
    failed = None
    try:
        with padder.builder.function("main", [(a.dims, a.dtype) for a in padder.arguments]) as handles:
            pad.walk(padder, handles)
    except PaddingError as error:
        failed = error
    except Pending:
        pass  # not with the bounds that `walk` asks for; what comes later stays unknown
    for value, live in padder.env.items():
        env.setdefault(value, (live, pins))
    return padder, failed


def _to_pin(signature: Signature, padder: Padder, error: PaddingError, pins: Mapping[str, int]) -> list[str]:
    concerned: set[str] = set()
    for name in error.roots:
        concerned |= dimension.roots(padder.dim(dimension.symbol(name))) | {name}
    free = [root.name for root in signature.roots if root.name not in pins]
    return [name for name in free if name in concerned] or free


def _nodes(block: ir.Block, title: str, env: _Environment) -> Iterator[tuple[ir.Operation, Node]]:
    """The ops of a block, and of loops and branches in it, with what is known of their values."""
    for operation in (view.operation for view in block.operations):
        if operation.name in _TERMINATORS:
            break
        results, operands = (tuple(_value(x, env) for x in side) for side in (operation.results, operation.operands))
        known = [env.get(result) for result in operation.results]
        is_size = bool(known) and all(found is not None and found[0].tensor.sizes is not None for found in known)
        sizes_only = operation.name == "stablehlo.constant" or is_size
        yield operation, Node(describe(operation), title, results, operands, sizes_only)
        if operation.name in _CONTROL:
            parts = _PARTS.get(operation.name) or [f"branch {number}" for number in range(len(operation.regions))]
            for part, region in zip(parts, operation.regions, strict=True):
                yield from _nodes(region.blocks[0], f"{describe(operation)}: {part}", env)


def _value(value: ir.Value, env: _Environment) -> Value:
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType):
        return Value((), str(type_))
    found, sizes = env.get(value), shape_of(type_)
    if found is None:
        return Value(tuple("?" if size is None else size for size in sizes), str(type_.element_type))
    live, pins = found
    pairs = zip(live.dims, sizes, strict=True)
    return Value(tuple(_unpinned(dim, pins) if size is None else dim for dim, size in pairs), str(live.dtype))


def _unpinned(dim: Dim, pins: Mapping[str, int]) -> Dim | str:
    if type(dim) is not int or not pins:
        return dim
    names = [name for name, size in pins.items() if size == dim]
    return dimension.symbol(names[0]) if len(names) == 1 else "?"


def describe(operation: ir.Operation) -> str:
    """An op in words: its name without its dialect, and its location."""
    if operation.name == "func.call":
        name = f"call {ir.FlatSymbolRefAttr(operation.attributes['callee']).value}"
    elif is_host_call(operation):
        name = f"{PYTHON}{name_of(operation)}"
    elif operation.name == "stablehlo.custom_call":
        name = f"custom_call {call_target(operation)}"
    else:
        name = operation.name.partition(".")[2] or operation.name
    where = location(operation.location)
    return f"{name} ({where})" if where else name


def location(given: ir.Location) -> str:
    """A location in short: the graph's variable, what JAX calls it, or a line of the text that was parsed."""
    text = str(given)
    found = re.search(r'"((?:[^"\\]|\\.)*)"(?::(\d+):\d+)?', text)
    if found is None:
        return ""
    name, line = found.groups()
    if line is None:
        return re.sub(r"^(jit\([^/]*\)/)+", "", name)
    return f"line {line}" if name in ("-", "") else f"{name}:{line}"
