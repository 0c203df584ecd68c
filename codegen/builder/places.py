"""Places of operations: functions, regions, the prologue, and behind sizes that depend on data; sizes as scalars.

In: regions that are entered and left, and the roots of a size. Out: the insertion point, and the tables that an
operation made there is found in again (see `core.py`). A size that depends on nothing but arguments goes to the
prologue; another goes right behind the op that gives the latest of its roots, before an anchor that is erased in the
end.

Also here: what the builder remembers of how a tensor was made, so that users of it read through to what it was made
from; results that all their users have read through are erased when the function is finished. And dimension expressions
as scalar int64 arithmetic of the program (`emit_size`). Floor division and remainder are Python's; StableHLO's round to
zero, so that they need corrections, except where the operands are known not to be negative. Divided by 0, both are 0,
as NumPy's integers are.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from .. import dims as dimension
from ..dims import Dim, SymbolicDim
from ..errors import UnsupportedGraphError
from ..ir.bindings import DYNAMIC, ir
from ..ir.values import dense_attr, element_type


@dataclass(eq=False)
class Place:
    """A place of sizes, before an anchor: the prologue, or behind an op that gives a root that depends on data.

    Attributes:
        block: the block that it is in; what is computed here is known in it and in what it holds.
        table: CSE table of what was computed here.
        sizes: the sizes computed here, by dimension.
    """

    block: ir.Block
    anchor: ir.Operation | None
    table: dict[Any, Any] = field(default_factory=dict)
    sizes: dict[Any, Any] = field(default_factory=dict)


@dataclass
class Scope:
    """One function or region: its CSE table, the checks made in it, the places for sizes from data in it."""

    table: dict[Any, Any] = field(default_factory=dict)
    checks: list[Any] = field(default_factory=list)
    can_check: bool = True
    block: ir.Block | None = None
    places: list[Place] = field(default_factory=list)


class Frame:
    """The function being built: block, prologue, scopes, roots.

    Attributes:
        data: for each root that depends on data the place behind it, in the order in which they were made.
        place: the place that operations go to now; None outside of such.
        notes: what is known of how tensors were made (`Note`), by its class and their uids.
        plans: what ops of a graph did for operands of some types, see `plans.py`.
    """

    def __init__(self, block: ir.Block, anchor: ir.Operation) -> None:
        self.block = block
        self.prologue = Place(block, anchor)
        self.scopes: list[Scope] = [Scope(block=block, places=[self.prologue])]
        self.data: dict[str, Place] = {}
        self.place: Place | None = None
        self.roots: dict[str, Any] = {}
        self.notes: dict[tuple[type, int], Any] = {}
        self.spare: list[Any] = []
        self.plans: dict[Any, Any] = {}


class Places:
    """A module being built, and where in it the next operation goes.

    Attributes:
        context: the MLIR context.
        module: the module being built.
        location: that of the next operation.
        where: what is being built, in words, for messages.
        used_roots: the roots that some type depends on.
    """

    def __init__(self, context: ir.Context, name: str) -> None:
        self.context = context
        self._unknown = ir.Location.unknown(context)
        self.location: ir.Location = self._unknown
        self.module = ir.Module.create(self._unknown)
        self.module.operation.attributes["sym_name"] = ir.StringAttr.get(name, context)
        self.where = ""
        self.used_roots: set[str] = set()
        self._types: dict[tuple[Dims, DType], ir.Type] = {}
        self._element_types: dict[DType, ir.Type] = {}
        self._attrs: dict[str, ir.Attribute] = {}
        self._frames: list[Frame] = []
        self._ip: ir.InsertionPoint | None = None

    # ---- types and attributes ---------------------------------------------------------------------------------

    def element_type(self, dtype: DType) -> ir.Type:
        """MLIR element type of a dtype (cached)."""
        found = self._element_types.get(dtype)
        if found is None:
            found = self._element_types[dtype] = element_type(dtype, self.context)
        return found

    def tensor_type(self, dims: Dims, dtype: DType) -> ir.Type:
        """Ranked tensor type; symbolic dimensions become `?` (cached)."""
        key = (dims, dtype)
        found = self._types.get(key)
        if found is None:
            shape = [dim if type(dim) is int else DYNAMIC for dim in dims]
            for dim in dims:
                if type(dim) is not int:
                    self.used_roots |= dimension.roots(dim)
            found = self._types[key] = ir.RankedTensorType.get(shape, self.element_type(dtype), loc=self._unknown)
        return found

    def attribute(self, text: str) -> ir.Attribute:
        """An attribute from its MLIR text (cached: attributes are written once per distinct text)."""
        found = self._attrs.get(text)
        if found is None:
            found = self._attrs[text] = ir.Attribute.parse(text, self.context)
        return found

    # ---- places -----------------------------------------------------------------------------------------------

    @property
    def _frame(self) -> Frame:
        return self._frames[-1]

    @property
    def size_table(self) -> dict[Any, Any]:
        """The sizes that the prologue, or the place that operations go to now, holds already, by dimension."""
        return (self._frame.place or self._frame.prologue).sizes

    @property
    def roots(self) -> dict[str, Any]:
        """Roots of the function being built, by name."""
        return self._frame.roots

    @property
    def insertion_point(self) -> ir.InsertionPoint | None:
        """The place of the next operation."""
        return self._ip

    @property
    def in_function(self) -> bool:
        """Whether the insertion point is in the module's entry, at any depth, not in a private function."""
        return len(self._frames) == 1

    @property
    def in_region(self) -> bool:
        """Whether the insertion point is inside a region of the function being built."""
        return len(self._frame.scopes) > 1

    def _at(self) -> str:
        return f" at {self.where}" if self.where else ""

    def _find(self, key: Any) -> Any:
        for scope in reversed(self._frame.scopes):
            found = scope.table.get(key)
            if found is not None:
                return found
            for place in scope.places:
                found = place.table.get(key)
                if found is not None:
                    return found
        return None

    @contextmanager
    def _entered(self, name: str, types: Sequence[ir.Type], private: bool) -> Iterator[ir.Block]:
        """A new function, which operations made inside go to; yields its block."""
        with self.context, self._unknown:
            operation = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(name),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
                    "sym_visibility": ir.StringAttr.get("private" if private else "public"),
                },
                regions=1,
                loc=self._unknown,
                ip=ir.InsertionPoint(self.module.body),
            )
            block = operation.regions[0].blocks.append(*types, arg_locs=[self._unknown] * len(types))
            anchor = self._anchor(ir.InsertionPoint(block))
        before = self._ip
        self._frames.append(Frame(block, anchor))
        self._ip = ir.InsertionPoint(block)
        try:
            yield block
            close_places(self._frame.scopes[0])
        finally:
            self._frames.pop()
            self._ip = before

    @contextmanager
    def region(self, block: ir.Block, *, can_check: bool = True) -> Iterator[Scope]:
        """Operations made inside go to the end of `block`, with a CSE scope of their own."""
        before, frame = self._ip, self._frame
        self._ip = ir.InsertionPoint(block)
        scope = Scope(can_check=can_check, block=block)
        frame.scopes.append(scope)
        known = [name for name, place in frame.data.items() if place.block == block]
        if known:  # the block was left, and is being ended now
            again = self._open_place()
            frame.data.update(dict.fromkeys(known, again))
        try:
            yield scope
        finally:
            frame.scopes.pop()
            self._ip = before
            close_places(scope)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Ops made inside are erased in the end: what was noted of them is forgotten."""
        frame = self._frame
        notes, spare = len(frame.notes), len(frame.spare)
        try:
            yield
        finally:
            del frame.spare[spare:]
            for key in list(frame.notes)[notes:]:
                del frame.notes[key]

    @contextmanager
    def here(self) -> Iterator[None]:
        """Ops of `codegen/ir/ops.py` made inside go to the insertion point."""
        assert self._ip is not None
        with self._ip, self.location:
            yield

    def outside(self) -> Any:
        """The place just outside of the innermost region, for `at`; to be asked for before the region is opened."""
        return self._ip, len(self._frame.scopes)

    @contextmanager
    def at(self, place: Any) -> Iterator[None]:
        """Operations made inside go to a place that `outside` gave."""
        frame = self._frame
        before = self._ip, frame.scopes
        self._ip, frame.scopes = place[0], frame.scopes[: place[1]]
        try:
            yield
        finally:
            self._ip, frame.scopes = before

    def _open_place(self) -> Place:
        scope = self._frame.scopes[-1]
        assert scope.block is not None
        place = Place(scope.block, self._anchor(self._ip))
        scope.places.append(place)
        return place

    def _anchor(self, point: ir.InsertionPoint | None) -> ir.Operation:
        """An op to insert others before; it is erased in the end."""
        return ir.Operation.create(
            "stablehlo.constant",
            results=[self.tensor_type((), BOOL)],
            attributes={"value": dense_attr(np.asarray(True), self.context)},
            loc=self._unknown,
            ip=point,
        )

    @contextmanager
    def at_sizes(self, names: Iterable[str]) -> Iterator[None]:
        """Operations made inside go where sizes that depend on these roots are computed.

        That is the prologue, or behind the latest of the roots that depend on data.
        """
        frame = self._frame
        place = self._place_of(names) if frame.data else frame.prologue
        before = self._ip, frame.scopes, frame.place, self.location
        if place is not frame.place:
            assert place.anchor is not None
            depth = next(depth for depth, scope in enumerate(frame.scopes) if scope.block == place.block)
            places = frame.scopes[depth].places
            earlier = places[: places.index(place)]
            # Of the place's own block only what stands before the place can be used.
            here = Scope(place.table, block=place.block, places=[*earlier, place])
            self._ip, frame.scopes = ir.InsertionPoint(place.anchor), [*frame.scopes[:depth], here]
        frame.place, self.location = place, self._unknown
        try:
            yield
        finally:
            self._ip, frame.scopes, frame.place, self.location = before

    def _place_of(self, names: Iterable[str]) -> Place:
        """The place where a size that depends on these roots is computed."""
        frame = self._frame
        wanted = frame.data.keys() & set(names)
        if not wanted:
            return frame.prologue
        blocks = [scope.block for scope in frame.scopes]
        for name in sorted(wanted):
            if frame.data[name].anchor is None or frame.data[name].block not in blocks:
                raise UnsupportedGraphError(
                    f"size {name} is used{self._at()} and known only inside the branch or the loop that computes it; "
                    "compute it outside"
                )
        # The latest one stands behind, or inside of, where the others are.
        return [place for name, place in frame.data.items() if name in wanted][-1]

    def is_local(self, *dims: Dim) -> bool:
        """Whether a dimension is known only inside a region: it depends on data that is computed there."""
        frame = self._frame
        return bool(frame.data) and any(
            frame.data[name].block != frame.block for dim in dims for name in frame.data.keys() & dimension.roots(dim)
        )


def close_places(scope: Scope) -> None:
    """Erases the anchors of a block that is finished."""
    for place in scope.places:
        if place.anchor is not None:
            place.anchor.erase()
            place.anchor = None


# ---- how tensors were made ------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Note:
    """How a tensor was made; `result` is the handle on it, as `source` and what a part gives are handles."""

    result: Any


@dataclass
class Transpose(Note):
    """A transpose: axis i of the result is axis `permutation[i]` of the source."""

    source: Any
    permutation: tuple[int, ...]


@dataclass
class Join(Note):
    """What consists of parts, one behind the other along `axis`: the size of each, and what gives it.

    `last` gives as many of the last elements, in another way.
    """

    parts: tuple[tuple[Dim, Callable[[], Any]], ...]
    axis: int
    last: tuple[Dim, Callable[[], Any]] | None = None

    @cached_property
    def ends(self) -> list[int] | None:
        """Where each part ends; None where a size is open."""
        sizes = [size for size, _ in self.parts if type(size) is int]
        return list(itertools.accumulate(sizes)) if len(sizes) == len(self.parts) else None


@dataclass
class Rows(Note):
    """Rows of another tensor: row i of the result is row `first + step * i` of the source."""

    source: Any
    first: Dim
    step: int


@dataclass
class Expansion(Note):
    """A reshape that only inserts axes of size 1: axis i of the source is axis `kept[i]` of the result."""

    source: Any
    kept: tuple[int, ...]


VALUE = "hlograph.value"
_Part = tuple[Any, Dim]  # a handle, and the dimension that it is


def emit_size(builder: Any, dim: Dim) -> Any:
    """Scalar int64 arithmetic for a dimension expression; called with the insertion point where it belongs."""
    if type(dim) is int:
        return builder.emit_constant(np.asarray(dim, np.int64))
    found = builder.size_table.get(dim)
    if found is not None:
        return found

    def placed(emit: Callable[[_Part, _Part], Any], combine: Callable[[Dim, Dim], Dim]) -> Callable[..., _Part]:
        def make(a: _Part, b: _Part) -> _Part:
            with builder.at_sizes(dimension.roots(a[1]) | dimension.roots(b[1])):
                return emit(a, b), combine(a[1], b[1])

        return make

    def binary(name: str, combine: Callable[[Dim, Dim], Dim]) -> Callable[..., _Part]:
        return placed(lambda a, b: builder.op(name, [a[0], b[0]], (), INT64), combine)

    def root(name: str) -> _Part:
        with builder.at_sizes((name,)):
            return builder.emit_root(name)

    assert isinstance(dim, SymbolicDim)
    found, _ = dimension.rebuild(
        dim,
        root,
        const=lambda value: (builder.emit_constant(np.asarray(value, np.int64)), value),
        add=binary("stablehlo.add", operator.add),
        mul=binary("stablehlo.multiply", operator.mul),
        floordiv=placed(lambda a, b: _emit_division(builder, "//", a, b), operator.floordiv),
        mod=placed(lambda a, b: _emit_division(builder, "%", a, b), operator.mod),
        minimum=binary("stablehlo.minimum", dimension.minimum),
        maximum=binary("stablehlo.maximum", dimension.maximum),
    )
    builder.size_table[dim] = found
    return found


def _emit_division(builder: Any, kind: str, a: _Part, b: _Part) -> Any:
    """Floor quotient, or remainder with the divisor's sign, from truncating ones; 0 where b is 0, as NumPy's.

    `a mod b` is `((a rem b) + b) rem b`, and the quotient `(a - a mod b) / b`.
    """
    name, of = ("stablehlo.divide", operator.floordiv) if kind == "//" else ("stablehlo.remainder", operator.mod)
    low, least = dimension.bounds(a[1])[0], dimension.bounds(b[1])[0]
    if low is not None and low >= 0 and least is not None and least > 0:  # rounding down is rounding to zero
        return builder.op(name, [a[0], b[0]], (), INT64)
    dividend, divisor = _without_zero(builder, a, b)
    value = ((VALUE, f'"{of(a[1], b[1])}"'),)  # for passes that could not tell
    shifted = builder.op("stablehlo.remainder", [dividend, divisor], (), INT64)
    shifted = builder.op("stablehlo.add", [shifted, divisor], (), INT64)
    if kind == "%":
        return builder.op(name, [shifted, divisor], (), INT64, value)
    remainder = builder.op("stablehlo.remainder", [shifted, divisor], (), INT64)
    return builder.op(
        name, [builder.op("stablehlo.subtract", [dividend, remainder], (), INT64), divisor], (), INT64, value
    )


def _without_zero(builder: Any, a: _Part, b: _Part) -> tuple[Any, Any]:
    """0 and 1 in place of a and b where b is 0; StableHLO leaves a division by 0 open."""
    low, high = dimension.bounds(b[1])
    if (low is not None and low > 0) or (high is not None and high < 0):
        return a[0], b[0]
    zero, one = builder.emit_constant(np.zeros((), np.int64)), builder.emit_constant(np.ones((), np.int64))
    is_zero = builder.compared("EQ", b[0], zero)
    dividend = builder.op("stablehlo.select", [is_zero, zero, a[0]], (), INT64)
    return dividend, builder.op("stablehlo.select", [is_zero, one, b[0]], (), INT64)


DType = np.dtype[Any]
Dims: TypeAlias = "tuple[Dim, ...]"
Sizes: TypeAlias = "tuple[Dim, ...] | None"
Attributes = tuple[tuple[str, str], ...]

INT64: DType = np.dtype(np.int64)
INT32: DType = np.dtype(np.int32)
BOOL: DType = np.dtype(bool)
