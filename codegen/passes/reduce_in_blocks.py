"""reduce_in_blocks: a large array that is made only to be reduced is made block by block, in a loop.

    %d = subtract %rows, %columns : tensor<50000x50000xf32>      %s = while(%i, %acc = %zeros : tensor<50000xf32>)
    %q = multiply %d, %d                                           do: %x1 = dynamic_slice %x, %i : tensor<10xf32>
    %e = exponential %q                                     ->         ... : tensor<10x50000xf32>
    %s = dot_general %e, %b : tensor<50000xf32>                        %acc1 = dynamic_update_slice %acc, %s1, %i

In: a module with static shapes. Elementwise work, broadcasts, dots, reductions and sorts of large arrays are a region,
if what it is made from is together at most a quarter as large, and what comes out is small. An axis that all of it
shares is cut into blocks. Where that axis is kept, each result is the same sum as before; where it is summed up itself,
blocks are added. Decisions to know: the axis along which the most is made and the least summed goes first; what one
loop cannot do, because it depends on that loop's sums, the next one does, with the array made again.

Preconditions: no op needs the array whole; XLA would store it, which it does not for a single sum of elementwise work.
Rounding: sums along the axis are of blocks, added in a wider type, or with what rounding takes from float64. With
`reassociate=false` there are none such, and as many loops as it takes. A row's own sums are as before, as far as XLA's
kernels for fewer rows are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..ir import kinds, ops
from ..ir.bindings import ir, run_pipeline
from ..ir.functions import inline_calls
from ..ir.kinds import Form, having
from ..ir.modules import clone_module, replace_body
from ..ir.ops import Rows
from ..ir.refused import Refused, require
from ..ir.tidy import erase_unused
from ..ir.values import constant, elements_of, is_static, names_of, owner, reached, sizes_of, static_bytes, walk
from ..ir.while_ops import counted
from .report import Report
from .stepwise import Accumulation, Lifted, Monoid, Node, Part, Progress, Written, advance, hoist, reads, split

# Without one of these nothing is reduced.
TRIGGERS = frozenset({"stablehlo.dot_general", "stablehlo.reduce"})

ELEMENTS = 16 << 20
_BLOCKS = ("func.func", "stablehlo.while", "stablehlo.case", "stablehlo.if")


def run(
    module: ir.Module, report: Report, *, elements: int = ELEMENTS, block: int = 2 << 20, reassociate: bool = True
) -> None:
    """The pass.

    Args:
        module: is changed, in place.
        report: takes note of each region.
        elements: how many of them an array has, at least, that is large.
        block: the bytes of the block that takes its place.
        reassociate: whether floats may be added in another order.
    """
    if not any(Straight(each, elements).large for each in _blocks(module)):
        return
    copy = clone_module(module)
    inline_calls(copy)
    run_pipeline(copy, "cse,symbol-dce")
    while any(_next(Straight(each, elements, block, reassociate), report) for each in _blocks(copy)):
        erase_unused(copy)
    if report.rewritten:
        replace_body(module, copy)


def _blocks(module: ir.Module) -> list[ir.Block]:
    ops = [op for op in walk(module) if op.name in _BLOCKS]
    return [block for op in reversed(ops) for region in op.regions for block in region.blocks]


def _next(straight: Straight, report: Report) -> bool:
    """Makes one loop; whether there was one to make."""
    for choices in regions(straight) if straight.large else []:
        for region in choices:
            op = region.op(region.largest)
            try:
                loop = _loops(region)[0]
            except Refused as refusal:
                if region is choices[-1]:
                    report.refused(op, str(refusal))
                continue
            report.applied(op, result=f"{loop.rows} of {loop.size} at a time, for {len(loop.outputs)} results")
            emit(loop)
            return True
    return False


# ---- along which axes an op can be computed part by part -----------------------------------------------------------

_PARTS = having("elementwise") | having("moving") | {"stablehlo.dot_general", "stablehlo.reduce", "stablehlo.sort"}


def form_of(op: ir.Operation) -> Form | None:
    """How an op treats axes; None where it is not known to be computable part by part."""
    if op.name not in _PARTS or not all(is_static(x.type) for x in (*op.results, *op.operands)):
        return None
    if any("shard" in name for name in names_of(op.attributes)):
        return None
    form = kinds.form_of(op)
    return None if form is None else form.kept()


def is_free(value: ir.Value) -> bool:
    """Whether every part of an array can be made from nothing: one number everywhere, or a count along an axis."""
    op = owner(value)
    if op is None:
        return False
    if op.name == "stablehlo.broadcast_in_dim":
        return not sizes_of(op.operands[0])
    if op.name == "stablehlo.constant":
        found = constant(value)
        return found is not None and found.ndim == 0 and found.dtype.kind != "c"
    return op.name == "stablehlo.iota"


# ---- regions -------------------------------------------------------------------------------------------------------
#
# Ops that are connected by large arrays: those that make these, those that reduce them, and optionally small work in
# between (a row's maximum, on its way back into the array). An op is known by its place in the block. Axes that are the
# same in all of them are one class; those of what comes from outside belong to none, because the same points may stand
# along the rows of a matrix and along its columns.

Axis = tuple[int, int]  # of an op's results: its place, and the number of the axis


class Straight:
    """The ops of a block, by place.

    Args:
        block: the block.
        elements: how many of them a large array has, at least.
        size: the bytes of an array that a step makes.
        reassociate: whether floats may be added in another order.
    """

    def __init__(self, block: ir.Block, elements: int, size: int = 0, reassociate: bool = True):
        self.ops = [operation.operation for operation in block.operations]
        self.size, self.reassociate = size, reassociate
        self._elements = elements
        self.place: dict[ir.Value, int] = {result: place for place, op in enumerate(self.ops) for result in op.results}

    @cached_property
    def large(self) -> list[int]:
        """The ops that make a large array."""
        types = {x.type for op in self.ops for x in op.results}
        large = {x for x in types if static_bytes(x) is not None and elements_of(x) >= self._elements}
        return [place for place, op in enumerate(self.ops) if any(x.type in large for x in op.results)]

    @cached_property
    def reads(self) -> list[list[int]]:
        """For each op, those whose results it reads, also deep within its regions."""
        return [sorted({self.place[x] for x in reads(op) if x in self.place}) for op in self.ops]

    @cached_property
    def users(self) -> list[list[int]]:
        """For each op, those that read its results."""
        found: list[list[int]] = [[] for _ in self.ops]
        for place, read in enumerate(self.reads):
            for source in read:
                found[source].append(place)
        return found

    def behind(self, places: Iterable[int], following: Sequence[Sequence[int]]) -> set[int]:
        """All that follows from some ops, they themselves left out unless they follow from others."""
        return set(reached((other for place in places for other in following[place]), following.__getitem__))


@dataclass
class Region:
    """Ops that belong together.

    Attributes:
        straight: the block.
        forms: how each op treats axes, by place, in order.
        large: those that make large arrays.
    """

    straight: Straight
    forms: dict[int, Form]
    large: frozenset[int]
    _parents: dict[Axis, Axis] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for place, form in self.forms.items():
            for number, axes in enumerate(form.operands):
                source = self.source(place, number)
                if source is not None:
                    for axis, along in enumerate(axes):
                        if along is not None:
                            self._unite((source, axis), (place, along))
            if len(form.summed) == 2 and form.summed[1]:
                left, right = (self.source(place, number) for number in (0, 1))
                if left is not None and right is not None:
                    for pair in zip(*form.summed, strict=True):
                        self._unite((left, pair[0]), (right, pair[1]))

    def op(self, place: int) -> ir.Operation:
        """The op at a place."""
        return self.straight.ops[place]

    def source(self, place: int, operand: int) -> int | None:
        """The op of the region that makes an operand; None where it comes from elsewhere."""
        found = self.straight.place.get(self.op(place).operands[operand])
        return found if found in self.forms else None

    def shape(self, place: int) -> list[int]:
        """The shape of an op's results."""
        return sizes_of(self.op(place).results[0])

    def bytes(self, place: int) -> int:
        """The size of an op's largest result."""
        return max(static_bytes(result.type) or 0 for result in self.op(place).results)

    @property
    def largest(self) -> int:
        """The op with the largest result."""
        return max(self.large, key=self.bytes)

    def axes(self, place: int, kind: Axis) -> list[int]:
        """The axes of an op's results that belong to a class."""
        return [axis for axis in range(len(self.shape(place))) if self.kind((place, axis)) == kind]

    def kind(self, axis: Axis) -> Axis:
        """The class of an axis."""
        found = axis
        while found in self._parents:
            found = self._parents[found]
        return found

    def _unite(self, one: Axis, other: Axis) -> None:
        one, other = self.kind(one), self.kind(other)
        if one != other:
            self._parents[max(one, other)] = min(one, other)


def regions(straight: Straight) -> list[list[Region]]:
    """The regions of a block, each with the small work in between, and without it."""
    forms = _forms(straight, straight.large)
    found = []
    for large in _connected(forms, straight):
        sinks = {user for place in large for user in straight.users[place]}
        between = straight.behind(large, straight.users) & straight.behind(large, straight.reads)
        choices = []
        for others in (sinks | between, sinks):
            own = _forms(straight, others - forms.keys()) | {place: forms[place] for place in large}
            choices.append(Region(straight, dict(sorted(own.items())), frozenset(large)))
        found.append(choices if choices[0].forms.keys() != choices[1].forms.keys() else choices[:1])
    return found


def _forms(straight: Straight, places: Iterable[int]) -> dict[int, Form]:
    ops = {place: straight.ops[place] for place in places}
    found = {place: form_of(op) for place, op in ops.items() if len(op.results) and not is_free(op.results[0])}
    return {place: form for place, form in found.items() if form is not None}


def _connected(forms: dict[int, Form], straight: Straight) -> list[set[int]]:
    """Groups of ops that make large arrays, each with those that read its arrays, or are read beside them."""
    groups: dict[int, set[int]] = {place: {place} for place in forms}
    for number, read in enumerate(straight.reads):
        own = [place for place in (number, *read) if place in forms]
        for place in own[1:]:
            one, other = groups[own[0]], groups[place]
            if one is not other:
                one |= other
                groups.update(dict.fromkeys(other, one))
    return list({id(group): group for group in groups.values()}.values())


# ---- what one loop computes of a region ----------------------------------------------------------------------------
#
# Every op is examined in order, for each class of axes: it is made in the loop, block by block, and its result joined
# (`along`) or added up (`summed`); or it is known before the loop, or depends on what is known only behind it. What is
# left then is another loop's. A region is changed only where loops for all of it are found.

_FEWEST = 4  # blocks for which a loop is made


@dataclass
class Loop:
    """A loop over blocks.

    Attributes:
        region: what it computes a part of.
        size: of the axis.
        rows: of each block.
        fits: whether a row is no larger than a block should be.
        along: the axis, for each op that is made block by block.
        summed: for each op that sums along the axis: the axis of each operand; None where it has none.
        outputs: the ops whose results are needed outside of the loop, in order.
    """

    region: Region
    size: int
    rows: int
    fits: bool = True
    along: dict[int, int] = field(default_factory=dict)
    summed: dict[int, list[int | None]] = field(default_factory=dict)
    outputs: list[int] = field(default_factory=list)

    @property
    def made(self) -> list[int]:
        """The ops that the outputs need, in order."""
        own, reads = self.along.keys() | self.summed.keys(), self.region.straight.reads
        return sorted(reached(self.outputs, lambda place: own.intersection(reads[place])))


def _loops(region: Region) -> list[Loop]:
    """The loops that a region becomes.

    Raises:
        Refused: it cannot become any, or nothing is gained.
    """
    _check(region)
    found: list[Loop] = []
    done: set[int] = set()
    largest, users = region.largest, region.straight.users
    kinds = dict.fromkeys(region.kind((largest, axis)) for axis in range(len(region.shape(largest))))
    wanted = {place for place in region.forms if any(user not in region.forms for user in users[place])}
    while left := wanted - _known(region, done):

        def gain(loop: Loop, left: set[int] = left) -> tuple[int, ...]:
            """Results, wanted ones above all; few sums along its axis; blocks as small as asked for."""
            return len(left.intersection(loop.outputs)), len(loop.outputs), -len(loop.summed), loop.fits

        options = [_follow(region, kind, done) for kind in kinds]
        gains = [loop for loop in options if loop is not None and loop.outputs]
        require(gains, _reason(region))
        best = max(gains, key=gain)
        found.append(best)
        done.update(best.outputs)
    require(found, "nothing reads it")
    return found


def _check(region: Region) -> None:
    """What speaks against all loops.

    Raises:
        Refused: something does.
    """
    straight = region.straight
    for place in sorted(region.large):
        others = [user for user in straight.users[place] if user not in region.forms]
        require(not others, f"the whole array is needed by {straight.ops[others[0]].name if others else ''}")
    read = {x for place in region.forms for x in region.op(place).operands if straight.place.get(x) not in region.forms}
    stored = sum(static_bytes(leaf.type) or 0 for leaf in read if not is_free(leaf))
    whole = region.bytes(region.largest)
    require(stored * 4 <= whole, f"it is made from {stored:,} bytes, and has {whole:,} itself")
    sinks = [place for place in region.forms if place not in region.large]
    fused = len(sinks) == 1 and not any(region.op(place).name in _STORED for place in region.forms)
    require(not fused, "XLA makes each element where it is added up, and stores none")


_STORED = ("stablehlo.dot_general", "stablehlo.sort")


def _known(region: Region, done: Collection[int]) -> set[int]:
    found: set[int] = set()
    for place, read in enumerate(region.straight.reads):
        if place in done or (place not in region.large and all(source in found for source in read)):
            found.add(place)
    return found


def _reason(region: Region) -> str:
    shape = "x".join(map(str, region.shape(region.largest)))
    if not region.straight.reassociate:
        return f"no axis of {shape} is the same in all that it is made into, without sums in another order"
    return f"no axis of {shape} is the same in all that it is made from and into"


def _follow(region: Region, kind: Axis, done: Collection[int]) -> Loop | None:
    """The loop along a class of axes, where blocks of the size that is asked for can be made."""
    loop = Loop(region, 0, 0)
    known = _known(region, done)
    for place, form in region.forms.items():
        if place not in known:
            _take(loop, place, form, kind, known)
    inside = loop.along.keys() | loop.summed.keys()
    loop.outputs = [
        place
        for place in sorted(inside - region.large)
        if place in loop.summed or any(user not in inside for user in region.straight.users[place])
    ]
    made = [place for place in loop.made if place in region.large]
    if not made:
        return None
    loop.size = region.shape(made[0])[loop.along[made[0]]]
    each = max(region.bytes(place) // loop.size for place in made)
    loop.fits = each <= region.straight.size
    # As many rows as may be, or up to half of these where nothing is left over then.
    most = max(1, region.straight.size // each)
    loop.rows = next((rows for rows in range(most, most // 2, -1) if loop.size % rows == 0), most)
    return loop if loop.size >= _FEWEST * loop.rows else None


def _take(loop: Loop, place: int, form: Form, kind: Axis, known: Collection[int]) -> None:
    """Takes an op into a loop, if it can be made there."""
    region, ready = loop.region, loop.along
    if any(source not in ready and source not in known for source in region.straight.reads[place]):
        return
    axes = region.axes(place, kind)
    sources = [region.source(place, number) for number in range(len(form.operands))]
    inside = [None if source is None else ready.get(source) for source in sources]
    if len(axes) == 1:
        if all(axis is None or form.operands[number][axis] == axes[0] for number, axis in enumerate(inside)):
            loop.along[place] = axes[0]
    elif not axes and form.monoid and (form.ordered or region.straight.reassociate):
        summed = _summed(form, inside)
        if summed is not None:
            loop.summed[place] = summed


def _summed(form: Form, inside: list[int | None]) -> list[int | None] | None:
    """The axis of each operand that is summed up, block by block; None where it is not."""
    places = {
        form.summed[number].index(axis) if axis in form.summed[number] else -1
        for number, axis in enumerate(inside)
        if axis is not None
    }
    if len(places) != 1 or -1 in places:
        return None
    (number,) = places
    return [axes[number] if axes else None for axes in form.summed]


# ---- the loop, written out -----------------------------------------------------------------------------------------
#
# It stands where the first of its results was made; what it reads is moved before it. Results along the axis are
# written into an array, block by block; those that are summed up are added in a wider type. What is left over of the
# axis is done once more behind it.


def emit(loop: Loop) -> None:
    """Makes a loop, and puts its results in place of those that it computes."""
    nodes = []  # how each op is done block by block
    for place in loop.made:
        axes = loop.summed[place] if place in loop.summed else loop.region.forms[place].places(loop.along[place])
        lifts = tuple(None if axis is None else Lifted(axis) for axis in axes)
        lifted = Lifted(loop.along[place]) if place in loop.along else next(each for each in lifts if each is not None)
        nodes.append(Node(loop.region.op(place), lifted, lifts))
    made: dict[ir.Value, Node] = {result: node for node in nodes for result in node.op.results}
    leaves = [value for node in nodes for value in node.op.operands if value not in made]
    rows = Rows([op for value in leaves if (op := owner(value)) is not None and is_free(value)])
    first = loop.region.op(loop.outputs[0])
    hoist(leaves, first)
    with ir.InsertionPoint(first), first.location:
        everything: list[Accumulation] = []
        for place in loop.outputs:
            op = loop.region.op(place)
            node = made[op.results[0]]
            zeros = [ops.filled(result, 0) for result in op.results]
            everything.append(Monoid(op, node) if place in loop.summed else Written(op, node, first=zeros))
        starts = [each.start() for each in everything]

        def step(start: ir.Value, size: int, carries: Sequence[ir.Value]) -> list[ir.Value]:
            part = Part(made, {}, rows, lambda _: start, lambda _: size)
            return advance(everything, list(split(carries, starts)), Progress(part))

        carries = [value for start in starts for value in start]
        whole = loop.size // loop.rows * loop.rows
        carries = counted(0, whole, loop.rows, carries, lambda start, values: step(start, loop.rows, values))
        if whole < loop.size:
            carries = step(ops.index(whole), loop.size - whole, carries)
        for each, own in zip(everything, split(carries, starts), strict=True):
            for old, new in zip(each.op.results, each.finish(own), strict=True):
                old.replace_all_uses_with(new)
