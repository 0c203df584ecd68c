"""What the walk carries: values of the padded program, the builder that makes them, integers as sizes, and reasons.

The *live box* is `[0, live)` along every axis. Inside it a tensor equals the value of the exact program; what lies
outside is padding, of which a fact is known per axis: it holds for the elements whose index along that axis is not
live, wherever they are along the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ... import dims as dimension
from ...analysis.known import Element, LiveSizes
from ...analysis.loops import STEP
from ...builder import Builder, Tensor
from ...builder.core import SizeSource
from ...builder.places import BOOL, Attributes, DType, Sizes
from ...constraints import Constraints
from ...dims import Dim
from ...ir.bindings import ir
from ...ir.functions import inline
from ...ir.kinds import form_of
from ...ir.values import attributes_of, integers, location_text, owner, walk
from ..report import Report
from .facts import UNKNOWN, Fact, join

Dims: TypeAlias = "tuple[Dim, ...]"
T = TypeVar("T")
Interval: TypeAlias = "tuple[int | None, int | None]"  # least and greatest value


@dataclass(slots=True)
class Live:
    """A value of the padded program.

    Attributes:
        tensor: the handle; its dims are ints.
        dims: live size of each axis: an int where the axis is not padded, else a symbolic dimension.
        pads: for each axis what its padding holds; None where it has none.
        whole: what is known of all elements, live ones included.
    """

    tensor: Tensor
    dims: Dims
    pads: tuple[Fact | None, ...]
    whole: Fact

    @property
    def dtype(self) -> DType:
        """Dtype of the elements."""
        return self.tensor.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.dims)

    @property
    def shape(self) -> tuple[int, ...]:
        """The static shape."""
        return self.tensor.dims  # type: ignore[return-value]

    @property
    def padded(self) -> list[int]:
        """The axes that have padding."""
        return [axis for axis, dim in enumerate(self.dims) if type(dim) is not int]

    def pad(self, axis: int) -> Fact:
        """The fact about the padding of an axis; about all elements where the axis has none."""
        fact = self.pads[axis]
        return self.whole if fact is None else fact

    def also(self, fact: Fact) -> list[Fact | None]:
        """The facts about the padding where it may hold something else, too."""
        return [None if own is None else join(own, fact) for own in self.pads]


def put(items: Sequence[T], axis: int, item: T) -> tuple[T, ...]:
    """One item for each axis, with another for this one."""
    return (*items[:axis], item, *items[axis + 1 :])


# ---- the builder ----------------------------------------------------------------------------------------------------


class LiveSize(SizeSource):
    """A root whose value is a live size: a scalar argument that is never negative."""

    @property
    def is_value(self) -> bool:
        """False: an argument holds it, but it is no value of the user's."""
        return False


class LiveBuilder(Builder):
    """A builder whose roots have known intervals, and which takes attributes as they are in the source module."""

    def __init__(self, context: ir.Context, name: str, constraints: Constraints) -> None:
        super().__init__(context, name)
        self.constraints = constraints
        self.intervals: dict[str, Interval] = {}
        self.env: dict[ir.Value, Live] = {}  # source value -> its live value
        self.functions: dict[str, ir.Operation] = {}  # of the source module

    def attribute(self, text: Any) -> ir.Attribute:
        """An attribute from its text, or the attribute itself."""
        return super().attribute(text) if isinstance(text, str) else text

    def again(
        self,
        operation: ir.Operation,
        operands: Sequence[Tensor],
        types: Sequence[tuple[Dims, DType]],
        added: Attributes = (),
        key: Any = None,
    ) -> list[Tensor]:
        """An op of the source module on other operands, with further attributes; its regions are for scalars.

        With a key, which says all that the regions do, two of them with equal operands are one.
        """
        if key is not None:
            key = (operation.name, *types, attributes_of_op(operation), added, key, *map(self._uid, operands))
            found: list[Tensor] | None = self._find(key)
            if found is not None:
                return found
        made = operation.clone(ip=self.insertion_point)
        for name, attribute in added:
            made.attributes[name] = self.attribute(attribute)
        for inner in walk(made) if len(made.regions) and key is None else ():
            for place, value in enumerate(inner.operands):
                if value in self.env:  # from outside, such as a constant
                    inner.operands[place] = self.env[value].tensor.value
        while calls := [x for x in walk(made) if x.name == "func.call"] if len(made.regions) and key is None else []:
            for call in calls:
                inline(call, self.functions[ir.FlatSymbolRefAttr(call.attributes["callee"]).value])
        places = made.operands
        for place, x in enumerate(operands):
            places[place] = x.value
        for value, type_ in zip(made.results, types, strict=True):
            value.set_type(self.tensor_type(*type_))
        tensors = [Tensor(self, value, *type_) for value, type_ in zip(made.results, types, strict=True)]
        if key is not None:
            self._frame.scopes[-1].table[key] = tensors
        return tensors

    def checkpoint(self) -> Callable[[], None]:
        """A function that forgets what was remembered of tensors made since, which the caller erases."""
        frame = self._frame
        tables: tuple[dict[Any, Any], ...] = (frame.notes, frame.roots, frame.data)
        lengths, spare = [len(table) for table in tables], len(frame.spare)

        def forget() -> None:
            for table, length in zip(tables, lengths, strict=True):
                while len(table) > length:
                    table.popitem()
            del frame.spare[spare:]

        return forget

    def interval(self, dim: Dim) -> Interval:
        """The least and the greatest value of a dimension."""
        return dimension.bounds(dim, self.intervals)

    def exact(self, sizes: Sizes, dtype: DType) -> bool:
        """Whether a value of `dtype` is what its sizes say: here the bounds tell whether arithmetic may wrap."""
        if dtype == BOOL:
            return True
        if dtype.kind not in "iu":
            return False
        info = np.iinfo(dtype)
        for dim in sizes or ():
            if type(dim) is int:
                continue
            low, high = self.interval(dim)
            if low is None or high is None or low < info.min or high > info.max:
                return False
        return True


def attributes_of_op(operation: ir.Operation) -> Attributes:
    """An op's attributes, as the builder takes them."""
    attributes = operation.attributes
    if not len(attributes):
        return ()
    found: Any = tuple(attributes_of(attributes).items())
    return found


class KnownSizes(LiveSizes):
    """Integers of the source module, as far as the walk knows them as sizes."""

    def __init__(self, env: Mapping[ir.Value, Live], intervals: Mapping[str, Interval]) -> None:
        super().__init__(intervals=intervals)
        self._env = env

    def _given(self, element: Element) -> Dim | None:
        value, place = element
        sizes = self._env[value].tensor.sizes if value in self._env else None
        return None if sizes is None else sizes[place if len(sizes) > 1 else 0]


class Rows(KnownSizes):
    """Integers of vectors whose live elements follow from their places, which slices are made of.

        gather(x, (n - 1) - iota)      element j of the indices is n - 1 - j: the elements of x, reversed

    In: such a vector, perhaps with axes of size 1 behind. Out: its elements as an expression of the place.
    """

    def __init__(self, env: Mapping[ir.Value, Live], builder: LiveBuilder) -> None:
        super().__init__(env, builder.intervals)
        self._builder = builder

    def dim(self, value: ir.Value) -> Dim | None:
        """The element at each place, `dimension.symbol(STEP)`."""
        return self._at((value, dimension.symbol(STEP)), 0)

    def _find(self, element: Element, depth: int) -> Dim | None:
        (value, place), op = element, owner(element[0])
        x = self._env[value]
        if not x.dims:
            return x.tensor.dim
        if op is None or x.dims[1:] not in ((), (1,)):
            return None
        name = op.name.replace("dynamic_", "")
        if name == "stablehlo.iota":
            return place if ir.IntegerAttr(op.attributes["iota_dimension"]).value == 0 else None
        if name == "stablehlo.reverse":
            return None if x.ndim > 1 else self._at((op.operands[0], x.dims[0] - 1 - place), depth)
        first = integers(op, "broadcast_dimensions")[:1] in ((), (0,))
        if name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.convert"):
            from_scalar, same = not self._env[op.operands[0]].dims, self._env[op.operands[0]].dims[:1] == x.dims[:1]
            return self._at((op.operands[0], place), depth) if from_scalar or (first and same) else None
        known = [dim for source in op.operands if (dim := self._at((source, place), depth)) is not None]
        whole = len(known) == len(op.operands) and name in dimension.ARITHMETIC
        return self._combined(name, known) if whole else None

    def _fits(self, element: Element, found: Dim) -> bool:
        x = self._env[element[0]]
        ends = [dimension.substitute(found, {STEP: end}) for end in (0, x.dims[0] - 1 if x.dims else 0)]
        canonical = self._builder.constraints.canonical
        return x.dtype.kind in "iu" and self._builder.exact(tuple(map(canonical, ends)), x.dtype)


# ---- why padding is what it is, and why a mask is needed: the facts that the walk used, in words --------------------
#
#     pad: %1 = stablehlo.exponential %0 : tensor<?xf64>: its padding along dim 0 (n of 8) is 1.0, because exponential
#         of padding 0.0 is 1.0
#     pad: %2 = stablehlo.reduce : tensor<f64>: operand %1 was masked with 0.0 along dim 0 (n of 8): its padding is 1.0,
#         because exponential of padding 0.0 is 1.0
#
# A reason is one step; that of what it begins with is in the line of that value.

Env = Mapping[ir.Value, Live]


@dataclass(frozen=True)
class Action:
    """Something that was done with padding at an op, or that needed not be done.

    Attributes:
        op: the op.
        kind: "mask", "extend", "shift", "compact", "clamp", ...; "" where nothing needed be done.
        dim: the live size concerned.
        detail: what it was done with, e.g. the value that a mask fills in.
        why: of a mask, what was there before.
        line: all of it in words.
    """

    op: ir.Operation
    kind: str
    dim: str
    detail: str
    why: str
    line: str


def asked(env: Env, op: ir.Operation, live: Live, axis: int, value: object) -> Action:
    """That an op needs something in the padding of an operand, which a mask fills in; or None, where it is there."""
    source = next((x for x in op.operands if x in env and env[x].tensor is live.tensor), None)
    held = holds(env, source, live, axis)
    name = "an operand" if source is None else f"operand {_name(source)}"
    done = "needs no mask" if value is None else f"was masked with {value}"
    line = f"{name} {done} {_where(live, axis)}: {held}"
    return Action(op, "" if value is None else "mask", str(live.dims[axis]), f"with {value}", held, line)


def holds(env: Env, value: ir.Value | None, live: Live, axis: int) -> str:
    """What a value's padding along an axis is, and why; that only of a value of the source."""
    fact = live.pad(axis)
    return f"its padding is {fact}" + ("" if value is None else f", because {_reason(env, value, axis, fact)}")


def tell(report: Report, env: Env, actions: Sequence[Action]) -> None:
    """Writes what was done, and what each value's padding is, into a pass's report, in the order of the walk."""
    by_op: dict[ir.Operation, list[Action]] = {}
    for action in actions:
        by_op.setdefault(action.op, []).append(action)
    for value, live in env.items():
        op = owner(value)
        for action in by_op.pop(op, ()) if op is not None else ():
            report.applied(action.op, result=action.line)
        for axis in live.padded:
            line = holds(env, value, live, axis).replace("padding", f"padding {_where(live, axis)}", 1)
            report.applied(op or f"{_name(value)} : {value.type}", result=line)


def _reason(env: Env, value: ir.Value, axis: int, fact: Fact) -> str:
    """One step; what is unknown because an operand's is, is followed to where that began."""
    op, behind = owner(value), ""
    while True:
        if op is None:
            assert isinstance(value.owner, ir.Block)
            around = value.owner.owner.operation.name
            return f"arguments are padded with {fact}" if around == "func.func" else f"{around} says no more of it"
        name, form = op.name.partition(".")[2], form_of(op)
        places = form.places(axis) if form is not None else env[op.operands[0]].padded[:1] if len(op.operands) else []
        read = [
            (x, place) for x, place in zip(op.operands, places, strict=False) if place is not None or not env[x].dims
        ]
        found = [env[x].whole if place is None else env[x].pad(place) for x, place in read]
        if fact is not UNKNOWN or UNKNOWN not in found:
            break
        value, place = read[found.index(UNKNOWN)]
        if place is None:
            break
        op, axis = owner(value), place
        behind = "" if op is None else f" ({location_text(op.location)})"
    return (
        f"{name} of padding {' and '.join(map(str, found))} is {fact}{behind}"
        if found
        else f"{name} leaves {fact} there"
    )


def _name(value: ir.Value) -> str:
    return f"%{value.get_name(use_local_scope=True).lstrip('%')}"


def _where(live: Live, axis: int) -> str:
    return f"along dim {axis} ({live.dims[axis]} of {live.shape[axis]})"
