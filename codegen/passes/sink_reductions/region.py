"""What follows a loop and depends on it.

In: a loop and its stacks, and what is found of the ops behind it. Out: where each value has the steps, the
reductions over them, and for values that are needed whole, why.

Two reductions over the steps need more than their own op, as values that the loop carries: a sum of squared differences
from the mean of the same values, and a sum of exponentials of differences from their greatest value. Decision to know:
squared deviations are merged part by part (Chan, Golub and LeVeque 1979), a sum of exponentials is scaled whenever the
greatest value so far grows (Milakov and Gimelshein 2018); both give what the two passes give where these overflow or
meet an infinity.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from ...analysis.loops import Loop, Stack
from ...dims import Dim
from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import direction_of, form_of, having, monoid_of
from ...ir.refused import Refused, needed, require
from ...ir.values import constant, dtype_of, integers, is_constant, owner, reached, shape_of, static_shape, unspread
from ...ir.while_ops import add_to_sum, end_sum, start_sum, wider
from ..stepwise import Accumulation, Lifted, Monoid, Node, Progress


@dataclass(frozen=True)
class Difference:
    """`subtract %value, %base`, or elementwise work on it.

    Attributes:
        value: lifted.
        base: the other operand, before it was broadcast: it depends on the loop.
        kind: "difference", "square" or "exponential".
        through: the ops from `value` to here.
    """

    value: ir.Value
    base: ir.Value
    kind: str
    through: tuple[ir.Operation, ...]


@dataclass
class Region:
    """What follows a loop and depends on it.

    Attributes:
        loop: the loop.
        stacks: its stacks, by the value that they are after the loop.
        lifted: where values have the steps.
        nodes: the ops that make lifted values.
        reductions: those of lifted values.
        whole: for lifted values that are needed as a whole, why.
        differences: values that are compared with a reduction of themselves.
    """

    loop: Loop
    stacks: dict[ir.Value, Stack]
    lifted: dict[ir.Value, Lifted]
    nodes: dict[ir.Value, Node] = field(default_factory=dict)
    reductions: list[Accumulation] = field(default_factory=list)
    whole: dict[ir.Value, str] = field(default_factory=dict)
    differences: dict[ir.Value, Difference] = field(default_factory=dict)

    def sources(self, node: Node) -> list[ir.Value]:
        """The lifted operands of a node."""
        return [value for value in node.op.operands if value in self.lifted]

    def below(self, values: list[ir.Value]) -> list[Node]:
        """The nodes that make values, down to the stacks."""
        made = reached(values, lambda value: self.sources(self.nodes[value]) if value in self.nodes else ())
        return [self.nodes[value] for value in made if value in self.nodes]

    def counts_live_rows(self, reduction: Accumulation) -> bool:
        """Whether what the loop writes is all that there is, or the padding pass says that only it counts."""
        if not self.loop.is_live:
            return True
        counted, form, lifted = self.loop.sizes.marked(reduction.op), form_of(reduction.op), reduction.lifted
        if counted is None or form is None:
            return False
        first = reduction.node.rows[0]
        axis = first.axis if isinstance(reduction, Monoid) and first is not None else lifted.axis
        return counted[form.summed[0].index(axis)] == self.loop.trip_count * lifted.width

    def is_whole(self, value: ir.Value, lifted: Lifted) -> bool:
        """Whether the steps are all that there is of a value along their axis."""
        return static_shape(value)[lifted.axis] == self.loop.most * lifted.width

    def root(self, value: ir.Value) -> ir.Value:
        """What a lifted value is in each of the steps, without masks."""
        while (node := self.nodes.get(value)) is not None and node.same is not None:
            value = node.op.operands[node.same]
        return value


# ---- values of which a loop's step could compute its own part -------------------------------------------------------
#
#     %r:3 = stablehlo.while(...)                     %r#2 : tensor<512x64x256xf32>, lifted: axis 0, 1 a step
#     %d = subtract %r#2, %data                       lifted: a step takes its row of %data
#     %t = transpose %d, dims = [1, 0, 2]             lifted: axis 1
#     %s = reduce(%t) across dimensions = [0, 2]      lifted: axis 0; the rows are tensor<1xf32>


def lift(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """The op's part in a step, if the steps' axis is still there in its result.

    Args:
        op: an op of the loop's block, with an operand that is lifted; the others do not depend on the loop.
        known: what is lifted.

    Raises:
        Refused: there is no such part, or the axis is not kept apart.
    """
    for value in (*op.operands, *op.results):
        if isinstance(value.type, ir.RankedTensorType):
            static_shape(value)
    if op.name == "stablehlo.reshape":
        return _reshape(op, known)
    if op.name == "stablehlo.concatenate":
        along = ir.IntegerAttr(op.attributes["dimension"]).value
        if any(value in known and known[value].axis == along for value in op.operands):
            return _joined(op, known, along)
    form = form_of(op) if op.name in _PARTS else None
    form = needed(form, f"{op.name} needs it whole")
    require(len(op.results) == 1, "a reduction of several arrays over other axes gives several results")
    found = set()
    for value, axes in zip(op.operands, form.operands, strict=True):
        if value in known:
            axis = needed(axes[known[value].axis], f"{op.name} leaves nothing of the steps' axis")
            require(axis not in form.moved, f"{op.name} {_MOVES.get(op.name, 'moves the steps')}")
            found.add(replace(known[value], axis=axis))
    require(len(found) == 1, f"{op.name} combines different steps")
    (lifted,) = found
    places = form.places(lifted.axis)
    rows = tuple(None if place is None else replace(lifted, axis=place) for place in places)
    return Node(op, lifted, rows)


_PARTS = having("elementwise") | having("moving") | {"stablehlo.dot_general", "stablehlo.reduce"}
_MOVES = {
    "stablehlo.pad": "pads the steps' axis",
    "stablehlo.reverse": "turns the order of the steps round",
    "stablehlo.slice": "takes a part of the steps",
}


def _reshape(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """The steps' axis may be merged with those behind it, or split so that steps stay apart."""
    lifted = known[op.operands[0]]
    before, after = static_shape(op.operands[0]), static_shape(op.results[0])
    outer, size = prod(before[: lifted.axis]), before[lifted.axis]
    inner = prod(before[lifted.axis + 1 :])
    for axis, extent in enumerate(after):
        if prod(after[:axis]) != outer or extent == 1 != size:
            continue
        width, rest = divmod(lifted.width * extent, size)
        offset, odd = divmod(lifted.offset * extent, size)
        behind = prod(after[axis + 1 :])
        if rest == 0 and odd == 0 and width > 0 and extent * behind == size * inner:
            return Node(op, Lifted(axis, width, offset), (lifted,))
    raise Refused("a reshape merges the steps' axis with another before it")


def _joined(op: ir.Operation, known: Mapping[ir.Value, Lifted], along: int) -> Node:
    """Along the steps' axis one part has the steps, the others are no step's."""
    found = [known.get(value) for value in op.operands]
    steps = [lifted for lifted in found if lifted is not None]
    require(len(steps) == 1, "the outputs of several loops (or one twice) are concatenated")
    place = next(number for number, lifted in enumerate(found) if lifted is not None)
    before = sum(static_shape(value)[along] for value in list(op.operands)[:place])
    require(not steps[0].offset, "it is concatenated twice")
    return Node(op, replace(steps[0], offset=before), tuple(found))


def summed(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node | None:
    """A reduction or a dot that combines what lies along the steps' axis, if it is one; `lifted` is its operand's.

    Raises:
        Refused: steps do not match.
    """
    form = form_of(op) if op.name in ("stablehlo.dot_general", "stablehlo.reduce") else None
    first = next((place for place, value in enumerate(op.operands) if value in known), None)
    if form is None or first is None or known[op.operands[first]].axis not in form.summed[first]:
        return None
    for value in op.operands:
        static_shape(value)
    lifted = known[op.operands[first]]
    number = form.summed[first].index(lifted.axis)
    rows = tuple(replace(lifted, axis=axes[number]) if axes else None for axes in form.summed)
    same = all(known.get(value, row) == row for value, row in zip(op.operands, rows, strict=True))
    require(same, f"{op.name} combines different steps")
    return Node(op, lifted, rows)


# ---- masks of a padded module that let every step through -----------------------------------------------------------
#
#     %m = compare LT, iota, %t : tensor<512xi1>                 a loop of %t steps:
#     %p = broadcast_in_dim %m, dims = [0]                         true in each step's row
#     %s = select %p, %ys, %zeros                                  a step's part is its part of %ys
#
# What a mask does to the rows that the loop does not write is not looked at here.

_DEEPEST = 16


def masked(op: ir.Operation, known: Mapping[ir.Value, Lifted], loop: Loop) -> Node | None:
    """A select that takes its second operand, which has the steps, in each of them."""
    if not loop.is_live or op.name != "stablehlo.select" or op.operands[1] not in known:
        return None
    lifted = known[op.operands[1]]
    if not holds(op.operands[0], lifted, loop):
        return None
    third = lifted if op.operands[2] in known else None
    return Node(op, lifted, (None, lifted, third), same=1)


def holds(value: ir.Value, lifted: Lifted, loop: Loop, depth: int = 0) -> bool:
    """Whether booleans are true in all rows that the loop writes."""
    op = owner(value)
    if op is None or depth > _DEEPEST:
        return False
    if op.name == "stablehlo.and":
        return all(holds(operand, lifted, loop, depth + 1) for operand in op.operands)
    if op.name == "stablehlo.broadcast_in_dim":
        axes = integers(op, "broadcast_dimensions")
        if lifted.axis not in axes:
            return False
        axis = axes.index(lifted.axis)
        same = shape_of(op.operands[0])[axis] == shape_of(op.results[0])[lifted.axis]
        return same and holds(op.operands[0], Lifted(axis, lifted.width, lifted.offset), loop, depth + 1)
    if op.name == "stablehlo.compare":
        return _compares(op, lifted, loop)
    found = constant(value)
    return found is not None and bool(found.all())


def _compares(op: ir.Operation, lifted: Lifted, loop: Loop) -> bool:
    """Whether it compares the place along the steps' axis with a size that the live rows stay below."""
    place, limit = owner(op.operands[0]), loop.sizes.dim(unspread(op.operands[1]))
    if direction_of(op) != "LT" or place is None or place.name != "stablehlo.iota" or limit is None:
        return False
    along = ir.IntegerAttr(place.attributes["iota_dimension"]).value == lifted.axis
    return along and loop.sizes.at_most(loop.trip_count * lifted.width + lifted.offset, limit)


# ---- sums of squared deviations and of exponentials --------------------------------------------------------------


def _widened(value: ir.Value) -> ir.Value:
    return ops.convert(value, wider(dtype_of(value)))


def _sum(value: ir.Value, like: ir.Operation) -> ir.Value:
    """The sum of a part, over the axes of a reduction."""
    dimensions = integers(like, "dimensions")
    shape = static_shape(value)
    if all(shape[axis] == 1 for axis in dimensions):
        kept = [size for axis, size in enumerate(shape) if axis not in dimensions]
        return ops.reshape(value, kept)
    return ops.reduce("stablehlo.add", value, ops.scalar(0, value), dimensions)


def _along(value: ir.Value, part: ir.Value, op: ir.Operation) -> ir.Value:
    reduced = integers(op, "dimensions")
    axes = [axis for axis in range(len(static_shape(part))) if axis not in reduced]
    return ops.broadcast_in_dim(value, static_shape(part), axes)


@dataclass(frozen=True)
class SquaredDeviations(Accumulation):
    """`sum((x - mean(x))**2)`; the carries are mean, sum of squares, and whether an element was infinite or NaN.

    Attributes:
        mean: makes the mean that the two passes would take: a sum by a number.
    """

    mean: ir.Operation = field(kw_only=True)

    def start(self) -> list[ir.Value]:
        """Nothing seen."""
        result = self.op.results[0]
        zero = start_sum(result)
        return [*zero, *zero, ops.filled(bool, False, static_shape(result))]

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """The part's own mean and sum of squares, merged."""
        assert progress.before is not None
        mean, squares, odd = self._parts(carries)
        x = _widened(progress.part.operands(self.node)[0])
        shape = static_shape(mean[0])
        reduced = integers(self.op, "dimensions")
        count = prod(static_shape(x)[axis] for axis in reduced)
        number = ops.scalar(count, x)
        places = ops.convert(progress.before(self.lifted), x)
        before = stablehlo.multiply(places, ops.scalar(count // static_shape(x)[self.lifted.axis], x))
        total = stablehlo.add(before, number)
        own = _sum(x, self.op)
        if count > 1:
            own = stablehlo.divide(own, ops.broadcast_in_dim(number, shape))
            rest = stablehlo.subtract(x, _along(own, x, self.op))
            squares = add_to_sum(squares, _sum(stablehlo.multiply(rest, rest), self.op))
        delta = own
        for part in mean:
            delta = stablehlo.subtract(delta, part)
        share = ops.broadcast_in_dim(stablehlo.divide(number, total), shape)
        weight = ops.broadcast_in_dim(stablehlo.divide(stablehlo.multiply(before, number), total), shape)
        between = stablehlo.multiply(stablehlo.multiply(delta, weight), delta)  # 0, not NaN, where weight is 0
        finite = _sum(ops.convert(stablehlo.not_(stablehlo.is_finite(x)), x), self.op)
        seen = ops.compare("GT", finite, ops.filled(finite, 0))
        mean = add_to_sum(mean, stablehlo.multiply(delta, share))
        return [*mean, *add_to_sum(squares, between), stablehlo.or_(odd, seen)]

    def _parts(self, carries: Sequence[ir.Value]) -> tuple[list[ir.Value], list[ir.Value], ir.Value]:
        *sums, odd = carries
        return sums[: len(sums) // 2], sums[len(sums) // 2 :], odd

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """As the two passes have it: NaN where an element is infinite or NaN, infinite where the mean overflows."""
        _, sums, odd = self._parts(carries)
        squares = end_sum(sums, self.op.results[0])
        total = unspread(self.mean.operands[0])  # finite where the mean is
        lost = stablehlo.select(odd, ops.filled(squares, np.nan), ops.filled(squares, np.inf))
        fine = stablehlo.and_(stablehlo.is_finite(total), stablehlo.not_(odd))
        return [stablehlo.select(fine, squares, lost)]


@dataclass(frozen=True)
class Exponentials(Accumulation):
    """`sum(exp(x - max(x)))`; the carries are the greatest value so far, and the sum relative to it.

    Attributes:
        guarded: 0 is subtracted where the greatest value is not finite.
    """

    guarded: bool = field(kw_only=True)

    def start(self) -> list[ir.Value]:
        """Nothing seen."""
        result = self.op.results[0]
        low = ops.filled(result, -np.inf)
        return [low, *start_sum(result)]

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """The sum so far is scaled to the greatest value with the part."""
        greatest, *sums = carries
        x = progress.part.operands(self.node)[0]
        if prod(static_shape(x)[axis] for axis in integers(self.op, "dimensions")) == 1:
            return self._one(greatest, sums, ops.reshape(x, static_shape(greatest)))
        own = ops.reduce("stablehlo.maximum", x, ops.scalar(-np.inf, x), integers(self.op, "dimensions"))
        largest = stablehlo.maximum(greatest, own)
        base, own_base = _or_zero(largest), _or_zero(own)
        # Relative to the part's own greatest value, so that it is itself such a sum, which an inner loop may do.
        terms = stablehlo.exponential(stablehlo.subtract(x, _along(own_base, x, self.op)))
        scales = [_widened(stablehlo.exponential(stablehlo.subtract(each, base))) for each in (greatest, own)]
        sums = [stablehlo.multiply(each, scales[0]) for each in sums]
        return [largest, *add_to_sum(sums, stablehlo.multiply(_widened(_sum(terms, self.op)), scales[1]))]

    def _one(self, greatest: ir.Value, sums: Sequence[ir.Value], x: ir.Value) -> list[ir.Value]:
        """One more element for each result, with one exponential: that of the greater of the two is 1."""
        largest = stablehlo.maximum(greatest, x)
        rest = _widened(stablehlo.exponential(stablehlo.negate(stablehlo.abs(stablehlo.subtract(x, greatest)))))
        grows = ops.compare("GT", x, greatest)
        scaled = [stablehlo.select(grows, stablehlo.multiply(each, rest), each) for each in sums]
        summed = add_to_sum(scaled, stablehlo.select(grows, ops.filled(rest, 1), rest))
        # Where the greatest is not finite: no term yet (-inf), or a sum that is infinite or NaN, as it is.
        limit = [_widened(stablehlo.maximum(largest, ops.filled(largest, 0))), *sums[1:]]
        finite = stablehlo.is_finite(largest)
        return [largest, *(stablehlo.select(finite, each, other) for each, other in zip(summed, limit, strict=True))]

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """Without the guard, differences from an infinite value are NaN."""
        greatest, *sums = carries
        total = end_sum(sums, self.op.results[0])
        if self.guarded:
            return [total]
        return [stablehlo.select(stablehlo.is_finite(greatest), total, ops.filled(total, np.nan))]


def _or_zero(value: ir.Value) -> ir.Value:
    return stablehlo.select(stablehlo.is_finite(value), value, ops.filled(value, 0))


# ---- where they are found: differences between lifted values and a reduction of the loop's own ----------------------


def is_difference(op: ir.Operation, region: Region, depends: Container[ir.Value]) -> bool:
    """Keeps a difference, or its square or exponential, in mind; whether the op is one."""
    lifted, differences = region.lifted, region.differences
    if op.name == "stablehlo.subtract":
        value, base = op.operands
        if value not in lifted or base in lifted or base not in depends or dtype_of(value).kind != "f":
            return False
        differences[op.results[0]] = Difference(value, unspread(base), "difference", (op,))
        return True
    selects = op.name == "stablehlo.select"
    before = differences.get(op.operands[int(selects)])
    twice = op.name == "stablehlo.multiply" and op.operands[0] == op.operands[1]
    kind = "square" if twice else {"chlo.square": "square", "stablehlo.exponential": "exponential"}.get(op.name, "")
    if before is None or not (selects or kind):
        return False
    if selects and masked(op, {op.operands[1]: lifted[before.value]}, region.loop) is None:
        return False
    kind = before.kind if selects else kind if before.kind == "difference" else "other"
    differences[op.results[0]] = replace(before, kind=kind, through=(*before.through, op))
    return True


def _summed(op: ir.Operation, kind: str, region: Region) -> Difference | None:
    """The differences of which an op is the sum over the steps (and perhaps other axes)."""
    found = region.differences.get(op.operands[0]) if _reduces(op, "add") else None
    if found is None or found.kind != kind or not is_constant(op.operands[1], 0):
        return None
    return found if region.lifted[found.value].axis in integers(op, "dimensions") else None


def _reduces(op: ir.Operation | None, monoid: str) -> bool:
    reduces = op is not None and op.name == "stablehlo.reduce" and len(op.results) == 1
    return op is not None and reduces and monoid_of(op.regions[0].blocks[0]) == monoid


def _meets(found: Difference, sum_op: ir.Operation, reduced: ir.Value, monoid: str, region: Region) -> bool:
    """Whether a value is the reduction of the same elements over the same axes, and each meets what it went into."""
    op = owner(reduced)
    if op is None or not _reduces(op, monoid) or region.root(op.operands[0]) != region.root(found.value):
        return False
    return integers(op, "dimensions") == integers(sum_op, "dimensions") and _spread_alike(found, sum_op, reduced)


def _spread_alike(found: Difference, sum_op: ir.Operation, reduced: ir.Value) -> bool:
    """Whether every element meets the reduction that it went into: reduced axes are put back in their places."""
    value = found.through[0].operands[1]
    axes = list(range(len(static_shape(value))))  # of the difference, for each of the value's; -1: none
    while value != reduced:
        op = owner(value)
        form = form_of(op) if op is not None else None
        if op is None or form is None:
            return False
        varying = [place for place, x in enumerate(op.operands) if constant(x) is None]
        place = 1 if op.name == "stablehlo.select" else varying[0] if varying else 0
        axes = [-1 if axis is None else axes[axis] for axis in form.operands[place]]
        value = op.operands[place]
    dimensions = integers(sum_op, "dimensions")
    expected = [axis for axis in range(len(static_shape(found.value))) if axis not in dimensions]
    sizes = static_shape(reduced)
    pairs = zip(axes, expected, sizes, strict=False)
    return len(axes) == len(expected) and all(axis == wanted or size == 1 for axis, wanted, size in pairs)


def deviations(op: ir.Operation, region: Region) -> SquaredDeviations | None:
    """A sum of squared differences from the mean of the same elements."""
    found = _summed(op, "square", region)
    mean = None if found is None else owner(found.base)
    if found is None or mean is None or mean.name not in ("stablehlo.divide", "stablehlo.multiply"):
        return None
    lifted, shape = region.lifted[found.value], static_shape(found.value)
    steps: Dim = region.loop.trip_count * lifted.width if region.loop.is_live else shape[lifted.axis]
    count = steps * prod(shape[axis] for axis in integers(op, "dimensions") if axis != lifted.axis)
    if mean.name == "stablehlo.divide":
        is_share = region.loop.sizes.number(mean.operands[1]) == count
    else:
        number = constant(mean.operands[1])
        is_share = number is not None and not number.ndim and bool(number) and 1 / float(number) == count
    if not is_share or not _meets(found, op, unspread(mean.operands[0]), "add", region):
        return None
    return SquaredDeviations(op, _node(found, region.lifted), mean=mean, passed=found.through)


def exponentials(op: ir.Operation, region: Region) -> Exponentials | None:
    """A sum of exponentials of differences from the greatest of the same elements, or from 0 where it is not finite."""
    found = _summed(op, "exponential", region)
    if found is None:
        return None
    base, guarded = found.base, False
    select = owner(base)
    if select is not None and select.name == "stablehlo.select" and is_constant(select.operands[2], 0):
        test = owner(select.operands[0])
        if test is None or test.name != "stablehlo.is_finite" or test.operands[0] != select.operands[1]:
            return None
        base, guarded = unspread(select.operands[1]), True
    low = owner(base)
    if low is not None and low.name == "stablehlo.maximum":
        bounds = [value for value in low.operands if is_constant(value, float("-inf"))]
        base = next((unspread(value) for value in low.operands if value not in bounds), base) if bounds else base
    start = owner(base)
    if start is None or not _meets(found, op, base, "maximum", region):
        return None
    if not is_constant(start.operands[1], float("-inf")):
        return None
    return Exponentials(op, _node(found, region.lifted), guarded=guarded, passed=found.through)


def _node(found: Difference, lifted: Mapping[ir.Value, Lifted]) -> Node:
    first = found.through[0]
    return Node(first, lifted[found.value], (lifted[found.value], None))
