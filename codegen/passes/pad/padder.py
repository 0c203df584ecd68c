"""The walk of the padding pass: a `?` module, op by op, into a static one.

In: a module with its signature, and a bound for each root. Out: a static module whose further arguments are the live
sizes. The walk carries `Live` values: for each the static tensor, the live size of every padded axis, and what is known
of the padding. A rule per op (`@pads("stablehlo.reduce")` in the files beside this one) asks for what the op needs
(`Padder.fill`: the padding holds a given value) and says what holds of the result.

Decisions to know:

* Sizes are dimension expressions, here as everywhere: two axes are equal when their expressions are. The static size of
  an axis is the upper bound of its expression for the roots' intervals, so that equal axes have equal static sizes.
* The result is made with the builder: integer scalars that stand for sizes are known as expressions
  (`Tensor.sizes`), shape operands are read off them, and equal masks are one op.
* Calls are walked where they stand, so that facts flow through them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any, NoReturn

import numpy as np

from ... import builder as hlo
from ... import dims as dimension
from ...analysis.loops import Loop
from ...builder import Tensor
from ...builder.core import SizeSource
from ...builder.places import INT32, INT64, Attributes, DType
from ...constraints import DimMismatch
from ...dims import Dim, parse
from ...errors import PaddingError
from ...ir.bindings import ir
from ...ir.functions import IMPLEMENTS
from ...ir.refused import Refused
from ...ir.values import ancestors, attributes_of, dtype_of, location_text, place_text, shape_of, symbol_of
from ...signature import LIVE, Argument, Signature
from . import facts
from .facts import UNKNOWN, Fact
from .live import Action, Dims, Interval, KnownSizes, Live, LiveBuilder, asked, put

Rule = Callable[["Padder", ir.Operation, list[Live]], "list[Live]"]
RULES: dict[str, Rule] = {}


def pads(*names: str) -> Callable[[Rule], Rule]:
    """Registers the rule for ops of the given full names, targets of custom calls, or what functions implement."""

    def register(rule: Rule) -> Rule:
        for name in names:
            assert name not in RULES, f"two padding rules for {name}"
            RULES[name] = rule
        return rule

    return register


@dataclass
class Pending(Exception):
    """The walk reached a size from data that has no bound yet; `count` is its value."""

    name: str
    count: Tensor


@dataclass
class Padder:
    """One run of the pass.

    Attributes:
        source: the `?` module; it is not changed.
        builder: builds the static module, in the same context.
        signature: the module's.
        bounds: what the caller gave, root name to bound.
        explaining: whether `actions` are recorded.
        decided: whether sizes are written without what the roots' intervals decide.
        arguments: those of the padded module: the module's own, then the live sizes.
        actions: what was done where.
        counts: the values of sizes from data, by name.
        tables: elements, row by row, of matrices of sizes, by the tensor's uid.
        loops: what is known of the steps of loops that are walked.
        by_rows: whether reshapes may move rows in a loop.
        has_shape_operands: whether a custom call that was kept takes the sizes of its results, which are known.
    """

    source: ir.Module
    builder: LiveBuilder
    signature: Signature
    bounds: Mapping[str, int]
    explaining: bool = False
    decided: bool = True
    arguments: list[Argument] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    counts: dict[str, Tensor] = field(default_factory=dict)
    tables: dict[int, Dims] = field(default_factory=dict)
    loops: dict[ir.Operation, Loop] = field(default_factory=dict)
    by_rows: bool = False
    has_shape_operands: bool = False

    def __post_init__(self) -> None:
        self.functions = self.builder.functions = {
            symbol_of(op.operation): op.operation
            for op in self.source.body.operations
            if op.operation.name == "func.func"
        }
        self.env = self.builder.env
        self._count_names = {count.name for count in self.signature.counts}
        self._local = {count.name for count in self.signature.local_counts}
        self._signed = {root.name for root in self.signature.roots if root.kind == "value"}
        self._sizes: dict[Dim, int] = {}
        self._dims: dict[Dim, Dim] = {}
        self._types: dict[ir.Type, tuple[tuple[int | None, ...], DType]] = {}
        self._masks: dict[tuple[Dim, int], Tensor] = {}
        self.operation: ir.Operation | None = None

    # ---- sizes ------------------------------------------------------------------------------------------------------

    def dim(self, dim: Dim) -> Dim:
        """The way to write a dimension here."""
        if type(dim) is int:
            return dim
        found = self._dims.get(dim)
        if found is None:
            found = self.builder.constraints.canonical(dim)
            if type(found) is not int and self.decided:
                found = self._without_decided(found)
            self._dims[dim] = found
        return found

    def written(self, dims: Sequence[Dim]) -> Dims:
        """Dimensions as they are written here, see `dim`."""
        return tuple(map(self.dim, dims))

    def static_shape(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        """The static shape for live sizes."""
        return tuple(map(self.bound, dims))

    def _without_decided(self, dim: Dim) -> Dim:
        """The dimension with minima, maxima and whole parts of it replaced by what they must be."""

        def only(result: Dim) -> Dim:
            if type(result) is int:
                return result
            low, high = self.interval(result)
            return low if low is not None and low == high else result

        def chosen(undecided: Callable[[Dim, Dim], Dim], a: Dim, b: Dim) -> Dim:
            low, high = self.interval(a - b)
            if (high is None or high > 0) and (low is None or low < 0):
                return undecided(a, b)
            return a if (undecided is dimension.minimum) == (high is not None and high <= 0) else b

        try:
            return only(
                dimension.rebuild(
                    dim,
                    lambda name: only(dimension.symbol(name, signed=name in self._signed)),
                    floordiv=lambda a, b: only(a // b),
                    mod=lambda a, b: only(a % b),
                    minimum=partial(chosen, dimension.minimum),
                    maximum=partial(chosen, dimension.maximum),
                )
            )
        except ZeroDivisionError:  # never computed, then
            return dim

    def interval(self, dim: Dim) -> Interval:
        """Least and greatest value of a dimension."""
        return self.builder.interval(dim)

    def bound(self, dim: Dim) -> int:
        """The static size of an axis whose live size is `dim`: the greatest value that it can have."""
        found = dim if type(dim) is int else self._sizes.get(dim)
        if found is None:
            written = self.dim(dim)
            high = written if type(written) is int else self.interval(written)[1]
            if high is None:
                self.refuse(f"size {written} has no upper bound", written)
            found = self._sizes[dim] = max(high, 0)
        return found

    def equate(self, a: Dim, b: Dim, what: str) -> Dim:
        """Records that two live sizes are equal; the one to go on with. What was known of sizes is examined anew.

        A size that is known inside of a region only is compared by a check in there, and nothing is known behind it.
        """
        a, b = self.dim(a), self.dim(b)
        if a == b:
            return a
        if not self._local.isdisjoint(dimension.roots(a - b)):
            return a if self._local.isdisjoint(dimension.roots(a)) else b
        constraints = self.builder.constraints
        if not constraints.known_equal(a, b):
            try:
                constraints.equate(a, b, f"{what} at {self.where}")
            except DimMismatch as error:
                self.refuse(str(error), a, b)
            self.refresh()
        return self.dim(a)

    def demand(self, a: Dim, least: Dim, what: str) -> None:
        """Records that a live size must be at least so large, where that is not known: no slice leaves its array.

        What stands in a branch or a loop need not be run, and demands nothing; nor do sizes from data, and sizes that
        are known, which are not padded.
        """
        excess = self.dim(a - least)
        low = self.interval(excess)[0]
        roots = dimension.roots(excess)
        parent = None if self.operation is None else self.operation.parent
        inside = parent is not None and parent.operation.name != "func.func"
        if not roots or (low is not None and low >= 0) or inside or not roots.isdisjoint(self.counts):
            return
        try:
            self.builder.constraints.at_least(self.dim(a), self.dim(least), f"{what} at {self.where}")
        except DimMismatch as error:
            self.refuse(str(error), excess)
        self.refresh()

    def refresh(self) -> None:
        """Takes over what the constraints say about the roots' intervals."""
        self._dims.clear()
        self._sizes.clear()
        for name, (low, high) in self.builder.constraints.intervals.items():
            known = self.builder.intervals.get(name)
            if known is not None:
                least = low if known[0] is None else known[0] if low is None else max(low, known[0])
                most = high if known[1] is None else known[1] if high is None else min(high, known[1])
                self.builder.intervals[name] = (least, most)

    def sizes_of(self, live: Live, what: str) -> Dims:
        """The dimensions that a shape operand holds."""
        sizes = live.tensor.sizes if live.ndim < 2 else self.tables.get(live.tensor.uid)
        if sizes is None:
            self.refuse(f"{what} is computed from data")
        return tuple(map(self.dim, sizes))

    def declare_count(self, name: str, count: Tensor, limit: int) -> Tensor:
        """A size from data, known from here on; in the function itself it becomes a result."""
        builder = self.builder
        least = hlo.clamp(0, hlo.convert(count, INT64), limit)
        builder.intervals[name] = (0, limit)
        self.refresh()
        builder.add_root(SizeSource(name, least, None, data=True))
        if name in self._count_names:
            self.counts[name] = hlo.convert(count, INT64)
        return self.size(dimension.symbol(name))

    def parse_dim(self, text: str) -> Dim:
        """A dimension from its text."""
        return self.dim(parse(text, signed={name for name, root in self.builder.roots.items() if root.is_value}))

    def enter(self, loop: ir.Operation) -> None:
        """Finds out how often a `stablehlo.while` turns, here: a function is walked for each call of it."""
        self.loops.pop(loop, None)
        with suppress(Refused):
            self.loops[loop] = Loop.of(loop, KnownSizes(self.env, self.builder.intervals))

    def within(self, value: ir.Value, room: Dim) -> bool:
        """Whether an index that a loop's body computes is at least 0 and at most `room` in all steps."""
        around = ancestors(self.operation) if self.operation is not None and self.loops else ()
        around = takewhile(lambda op: op.name != "func.func", around)
        loop = next((found for op in around if (found := self.loops.get(op)) and found.inside(value)), None)
        place = None if loop is None else loop.affine(value)
        if loop is None or place is None:
            return False
        least, greatest = place.bounds(loop.trip_count)
        ends = [self.interval(self.dim(end))[0] for end in (least, room - greatest)]
        return all(end is not None and end >= 0 for end in ends)

    # ---- refusals and reports ---------------------------------------------------------------------------------------

    @property
    def where(self) -> str:
        """The current op, in words."""
        if self.operation is None:
            return "main"
        place = place_text(self.operation.location)
        return f"{self.operation.name} ({location_text(self.operation.location)}{place and f' at {place}'})"

    def refuse(self, reason: str, *dims: Dim) -> NoReturn:
        """Raises: the current op has no right rule for this."""
        names = frozenset().union(*(dimension.roots(dim) for dim in dims)) if dims else frozenset()
        raise PaddingError(f"pad: {self.where} cannot be padded: {reason}", names)

    def note(self, kind: str, dim: Dim, detail: str = "") -> None:
        """Records that something was done at the current op, where reports are to say so."""
        if self.explaining and self.operation is not None:
            line = f"{kind} {dim} {detail}".rstrip()
            self.actions.append(Action(self.operation, kind, str(dim), detail, "", line))

    def asked(self, x: Live, axis: int, value: Any = None) -> None:
        """The same of what the current op needs in the padding of `x`: None where it is good as it is."""
        if self.explaining and self.operation is not None:
            self.actions.append(asked(self.env, self.operation, x, axis, value))

    # ---- values -----------------------------------------------------------------------------------------------------

    def type_of(self, value: ir.Value) -> tuple[tuple[int | None, ...], DType]:
        """Shape (None where `?`) and dtype of a source value."""
        found = self._types.get(value.type)
        if found is None:
            found = self._types[value.type] = shape_of(value), dtype_of(value)
        return found

    def make(
        self,
        tensor: Tensor,
        dims: Sequence[Dim] | None = None,
        pads: Sequence[Fact | None] = (),
        whole: Fact | None = None,
    ) -> Live:
        """A value.

        Args:
            tensor: its handle.
            dims: live sizes; those of the handle where nothing is padded.
            pads: a fact for each axis (those of axes without padding are dropped); `whole` where there is none.
            whole: what is known of all elements; nothing, if it is not given.
        """
        whole = facts.anything(tensor.dtype) if whole is None else whole
        live = tensor.dims if dims is None else self.written(dims)
        pairs = zip(live, pads or [None] * len(live), strict=True)
        known = [None if type(dim) is int else whole if fact is None else fact for dim, fact in pairs]
        return Live(tensor, live, tuple(known), whole)

    def size(self, dim: Dim) -> Tensor:
        """A live size as an int64 scalar of the module."""
        return self.builder.size(self.dim(dim))

    # ---- masks ------------------------------------------------------------------------------------------------------

    def mask(self, dim: Dim, size: int) -> Tensor:
        """Vector of `size` booleans: true for indices below the live size. Made once, where the size is known."""
        dim = self.dim(dim)
        found = self._masks.get((dim, size))
        if found is None:
            builder, names = self.builder, dimension.roots(dim)
            narrow = INT32 if size < 2**31 else INT64
            with builder.at_sizes(names):
                found = hlo.compare("LT", hlo.iota(builder, (size,), 0, narrow), builder.size(dim, narrow))
            if not any(builder.roots[name].data for name in names):  # then it is seen from everywhere
                self._masks[dim, size] = found
        return found

    def box(self, x: Live, axes: Sequence[int]) -> Tensor:
        """Booleans of the static shape of `x`: true where the index is live along all the axes."""
        result: Tensor | None = None
        for axis in axes:
            part = hlo.broadcast_in_dim(self.mask(x.dims[axis], x.shape[axis]), x.shape, (axis,))
            result = part if result is None else hlo.and_(result, part)
        assert result is not None
        return result

    def fill(self, x: Live, axes: Sequence[int], value: Any, *, either: bool = False) -> Live:
        """`x` with its padding along `axes` holding `value`; masks only where it does not already.

        Args:
            x: the value.
            axes: axes, padded or not.
            value: a numpy scalar, or a handle on a scalar.
            either: whether 0 of either sign serves as well.
        """
        if isinstance(value, Tensor) and value.literal is not None:
            value = value.literal[()]
        target: Fact = facts.constant(value, x.dtype) if not isinstance(value, Tensor) else UNKNOWN

        missing = []
        shown = "a runtime value" if isinstance(value, Tensor) else value
        for axis in axes:
            fact = x.pads[axis]
            if fact is not None:
                serves = (fact is target and target is not UNKNOWN) or (either and fact.zero)
                missing += [] if serves else [axis]
                self.asked(x, axis, None if serves else shown)
        if not missing:
            return x
        other = value if isinstance(value, Tensor) else self.builder.constant(value, x.dtype)
        tensor = hlo.select(self.box(x, missing), x.tensor, other)
        known = [target if axis in missing else fact for axis, fact in enumerate(x.also(target))]
        return Live(tensor, x.dims, tuple(known), facts.join(x.whole, target))

    def zeros(self, x: Live, axes: Sequence[int]) -> Live:
        """`x` with 0, of either sign, in its padding along `axes`."""
        return self.fill(x, axes, np.zeros((), x.dtype)[()], either=True)

    def counted(self, x: Live, axes: Sequence[int]) -> Attributes:
        """Says on an op that reduces axes of `x` how much of each counts: the rest makes no difference."""
        if all(type(x.dims[axis]) is int for axis in axes):
            return ()
        texts = ", ".join(f'"{x.dims[axis]}"' for axis in axes)
        return ((LIVE, f"[{texts}]"),)

    # ---- static sizes -----------------------------------------------------------------------------------------------

    def resize(self, x: Live, axis: int, size: int, fill: Any = None) -> Live:
        """`x` with the static size of one axis changed: padding is added (zeros, or `fill`) or dropped."""
        old = x.shape[axis]
        if old == size:
            return x
        zeros = (0,) * x.ndim
        value = np.zeros((), x.dtype) if fill is None else np.asarray(fill, x.dtype)
        tensor = hlo.pad(x.tensor, self.builder.constant(value), zeros, put(zeros, axis, size - old))
        if size < old:
            return Live(tensor, x.dims, x.pads, x.whole)
        new = facts.constant(value)
        return Live(tensor, x.dims, tuple(x.also(new)), facts.join(x.whole, new))

    def roomy(self, x: Live, axis: int, last: Dim, size: int) -> Live:
        """`x` so long that `size` elements fit at every start up to `last`: the op itself moves none, then."""
        high = self.interval(last)[1]
        if high is None:
            self.refuse(f"the start {last} has no upper bound", last)
        return self.resize(x, axis, max(x.shape[axis], max(high, 0) + size))

    def fit(self, x: Live, dims: Sequence[Dim]) -> Live:
        """`x` with its axes written as `dims`, which equal its own, and with their static sizes."""
        dims = self.written(dims)
        if x.dims == dims and x.shape == self.static_shape(dims):
            return x
        for axis, dim in enumerate(dims):
            x = self.resize(x, axis, self.bound(dim))
        return self.make(x.tensor, dims, x.pads, x.whole)

    def align(self, operands: Sequence[Live], what: str = "operands") -> list[Live]:
        """Operands of one rank whose axes must agree, with equal dims and static sizes."""
        if not [x for x in operands if x.dims != operands[0].dims or x.shape != operands[0].shape]:
            return list(operands)
        dims = operands[0].dims
        for x in operands[1:]:
            if len(x.dims) != len(dims):
                self.refuse(f"{what} have ranks {len(dims)} and {len(x.dims)}")
            dims = tuple(self.equate(a, b, what) for a, b in zip(dims, x.dims, strict=True))
        return [self.fit(x, dims) for x in operands]

    def equal(self, x: Live, y: Live, pairs: Iterable[tuple[int, int]], what: str) -> tuple[Live, Live]:
        """Two values with axes that must agree: pairs of an axis of each."""
        left, right = list(x.dims), list(y.dims)
        for i, j in pairs:
            left[i] = right[j] = self.equate(left[i], right[j], what)
        return self.fit(x, left), self.fit(y, right)

    # ---- the walk ---------------------------------------------------------------------------------------------------

    def block(self, block: ir.Block, arguments: Sequence[Live]) -> list[Live]:
        """Walks a block; returns what its terminator returns."""
        env, builder, outer = self.env, self.builder, self.operation
        for value, live in zip(block.arguments, arguments, strict=True):
            env[value] = live
        for view in block.operations:
            operation = view.operation
            name = operation.name
            operands = [env[value] for value in operation.operands]
            if name in ("stablehlo.return", "func.return"):
                self.operation = outer
                return operands
            self.operation = operation
            builder.location = operation.location
            rule = RULES.get(name)
            if rule is None:
                results = self.unpadded(operation, operands, "this op")
            else:
                results = rule(self, operation, operands)
            for place, live in enumerate(results):
                env[operation.results[place]] = live
        raise AssertionError("a block without a terminator")

    def call(self, symbol: str, arguments: Sequence[Live]) -> list[Live]:
        """Walks the body of a function."""
        return self.block(self.functions[symbol].regions[0].blocks[0], arguments)

    def implements(self, call: ir.Operation) -> str:
        """What the private function that is called implements; "" where nothing says so."""
        attributes = attributes_of(self.functions[ir.FlatSymbolRefAttr(call.attributes["callee"]).value].attributes)
        return ir.StringAttr(attributes[IMPLEMENTS]).value if IMPLEMENTS in attributes else ""

    def region(self, block: ir.Block, arguments: Sequence[Live]) -> Callable[..., list[Tensor]]:
        """A region's body for the builder, from handles to handles; `arguments` say what is known of each."""

        def body(*handles: Tensor) -> list[Tensor]:
            lives = [
                Live(handle, known.dims, known.pads, known.whole)
                for handle, known in zip(handles, arguments, strict=True)
            ]
            return [x.tensor for x in self.block(block, lives)]

        return body

    def scalar_region(self, block: ir.Block) -> Callable[..., list[Tensor]]:
        """The body of a reduction, a sort or a scatter for the builder; its arguments are scalars."""
        return self.region(block, [self._scalar(argument) for argument in block.arguments])

    def _scalar(self, value: ir.Value) -> Live:
        dtype = self.type_of(value)[1]
        return Live(Tensor(self.builder, None, (), dtype), (), (), facts.anything(dtype))

    # ---- ops that do not see padding --------------------------------------------------------------------------------

    def unpadded(self, operation: ir.Operation, operands: Sequence[Live], what: str) -> list[Live]:
        """An op without a rule, which is fine where nothing is padded; `what` it is for the refusal."""
        types: list[Any] = [self.type_of(result) for result in operation.results]
        places = attributes_of(operation.attributes).get("indices_of_shape_operands")
        if places is not None:
            self.has_shape_operands = True
            said = [operands[place] for place in np.array(ir.DenseIntElementsAttr(places)).tolist()]
            types = [(self.sizes_of(x, what), dtype) for x, (_, dtype) in zip(said, types, strict=True)]
        open_ = [x.dims[axis] for x in operands for axis in x.padded]
        open_ += [dim for dims, _ in types for dim in dims if type(dim) is not int]
        if open_:
            self.refuse(f"there is no rule for {what}", *[dim for dim in open_ if dim is not None])
        return [self.make(tensor) for tensor in self.builder.again(operation, [x.tensor for x in operands], types)]
