"""The walk of the padding pass through a program, watched op by op.

In: a `?` module, and a bound for each size. Out: `Facts`: the program's ops with the live sizes of every value, what
was done at which op, and every refusal. A walk ends where an op refuses; the sizes concerned are then
pinned to one value, as a call compiles them exactly, and the walk is made anew, until it comes to the end. What is said
of a value is from the first walk that reached it, so that its sizes are expressions as long as they can be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ..codegen import dims as dimension
from ..codegen import signature as signatures
from ..codegen.dims import Dim
from ..codegen.errors import PaddingError
from ..codegen.ir.bindings import ir
from ..codegen.ir.host_calls import is_host_call, name_of
from ..codegen.ir.values import call_target, main_function, symbol_of
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
        dims: its sizes, as text; "?" where nothing is known.
        names: the sizes that it depends on.
        dtype: dtype of its elements.
    """

    dims: tuple[str, ...]
    names: frozenset[str]
    dtype: str

    def __str__(self) -> str:
        return f"[{', '.join(self.dims)}]"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An op.

    Attributes:
        name: its name without its dialect.
        where: the graph's variable, a name of JAX's, or a line of the module's text; "" where nothing is known.
        block: the loop, branch or function that it is in; "" for the program itself.
        results: what it gives.
        operands: what it takes.
        sizes_only: it is a constant, or computes sizes and no data.
        marks: what the padding pass does here, or why it refuses ("mask: n with 0.0").
    """

    name: str
    where: str
    block: str = ""
    results: tuple[Value, ...] = ()
    operands: tuple[Value, ...] = ()
    sizes_only: bool = False
    marks: list[str] = field(default_factory=list)

    @property
    def names(self) -> frozenset[str]:
        """The sizes that its operands and results depend on."""
        return frozenset().union(*(value.names for value in (*self.results, *self.operands)))

    def __str__(self) -> str:
        return f"{self.name} ({self.where})" if self.where else self.name


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
    reader = _Reader(module, env)
    for operation, reason in refused:
        reader.mark(operation, f"refused: {reason}")
    for action in actions:
        reader.mark(action.op, f"{action.kind}: {action.dim} {action.detail}".rstrip())
    # In words here, as an op is not to be touched when its module is gone.
    done = [(a.kind, a.dim, a.detail, a.why, describe(a.op)) for a in actions]
    return Facts(list(reader.ops.values()), done, refusals)


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


class _Reader:
    """Reads a module's ops, with what is known of its values."""

    def __init__(self, module: ir.Module, env: _Environment) -> None:
        self.ops: dict[ir.Operation, Node] = {}  # in order
        self._env = env
        main = main_function(module)
        self._block(main.regions[0].blocks[0], "")
        for function in (op.operation for op in module.body.operations):
            if function.name == "func.func" and function != main:
                self._block(function.regions[0].blocks[0], f"function {symbol_of(function)}")

    def mark(self, operation: ir.Operation | None, words: str) -> None:
        """Marks the node of an op, or of the innermost op with a node around it."""
        while operation is not None and operation not in self.ops:
            operation = operation.parent and operation.parent.operation
        if operation is not None and words not in self.ops[operation].marks:
            self.ops[operation].marks.append(words)

    def _block(self, block: ir.Block, title: str) -> None:
        for operation in (view.operation for view in block.operations):
            if operation.name in _TERMINATORS:
                break
            results, operands = (tuple(map(self._value, side)) for side in (operation.results, operation.operands))
            sizes_only = operation.name == "stablehlo.constant" or self._is_size(operation)
            where = location(operation.location)
            self.ops[operation] = Node(_short(operation), where, title, results, operands, sizes_only)
            if operation.name in _CONTROL:
                parts = _PARTS.get(operation.name) or [f"branch {number}" for number in range(len(operation.regions))]
                for part, region in zip(parts, operation.regions, strict=True):
                    self._block(region.blocks[0], f"{describe(operation)}: {part}")

    def _is_size(self, operation: ir.Operation) -> bool:
        known = [self._env.get(result) for result in operation.results]
        return bool(known) and all(found is not None and found[0].tensor.sizes is not None for found in known)

    def _value(self, value: ir.Value) -> Value:
        type_ = value.type
        if not isinstance(type_, ir.RankedTensorType):
            return Value((), frozenset(), str(type_))
        open_axes = [type_.is_dynamic_dim(axis) for axis in range(type_.rank)]
        found = self._env.get(value)
        if found is None:
            sizes = ["?" if is_open else str(type_.get_dim_size(axis)) for axis, is_open in enumerate(open_axes)]
            return Value(tuple(sizes), frozenset(), str(type_.element_type))
        live, pins = found
        dims = tuple(
            _unpinned(dim, pins) if is_open else dim for dim, is_open in zip(live.dims, open_axes, strict=True)
        )
        names = (name for dim in dims if not isinstance(dim, int | str) for name in dimension.roots(dim))
        return Value(tuple(map(str, dims)), frozenset(names), str(live.dtype))


def _unpinned(dim: Dim, pins: Mapping[str, int]) -> Dim | str:
    if type(dim) is not int or not pins:
        return dim
    names = [name for name, size in pins.items() if size == dim]
    return dimension.symbol(names[0]) if len(names) == 1 else "?"


def _short(operation: ir.Operation) -> str:
    if operation.name == "func.call":
        return f"call {ir.FlatSymbolRefAttr(operation.attributes['callee']).value}"
    if is_host_call(operation):
        return f"{PYTHON}{name_of(operation)}"
    if operation.name == "stablehlo.custom_call":
        return f"custom_call {call_target(operation)}"
    return operation.name.partition(".")[2] or operation.name


def describe(operation: ir.Operation) -> str:
    """An op in words: its name and its location."""
    return str(Node(_short(operation), location(operation.location)))


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
