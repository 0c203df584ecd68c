"""What one loop over blocks computes of a region.

In: a region. Out: the loop that is to be made first. Every op of the region is looked at in order, for each class of
axes: it is made in the loop, block by block, and its result joined (`along`) or added up (`summed`); or it is known
before the loop, or depends on what is known only behind it. What is left then is another loop's, which makes large
arrays again. Decision to know: a region is changed only where loops for all of it are found.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ...ir.op_sheet import Form
from ...ir.refused import Refused, require
from ...ir.types import static_bytes
from .axes import is_free
from .region import Axis, Region

_FEWEST = 4  # blocks for which a loop is made


@dataclass(frozen=True)
class Settings:
    """What is asked for.

    Attributes:
        block: the bytes of an array that a step makes.
        reassociate: whether floats may be added in another order.
    """

    block: int
    reassociate: bool


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
        own = self.along.keys() | self.summed.keys()
        found: set[int] = set()
        pending = list(self.outputs)
        while pending:
            place = pending.pop()
            if place not in found:
                found.add(place)
                pending += [source for source in self.region.straight.reads[place] if source in own]
        return sorted(found)


def first_loop(choices: list[Region], settings: Settings) -> Loop:
    """The first of the loops that a region becomes.

    Raises:
        Refused: it cannot become any, or nothing is gained.
    """
    for number, region in enumerate(choices):
        try:
            return _loops(region, settings)[0]
        except Refused:
            if number == len(choices) - 1:
                raise
    raise AssertionError("a region has a form")


def _loops(region: Region, settings: Settings) -> list[Loop]:
    _check(region)
    found: list[Loop] = []
    done: set[int] = set()
    while left := _wanted(region) - _known(region, done):
        options = [_follow(region, kind, done, settings) for kind in _kinds(region)]
        gains = [loop for loop in options if loop is not None and loop.outputs]
        require(gains, _reason(region, settings))
        best = max(gains, key=lambda loop: _gain(loop, left))
        found.append(best)
        done.update(best.outputs)
    require(found, "nothing reads it")
    return found


def _gain(loop: Loop, left: set[int]) -> tuple[int, ...]:
    """What speaks for a loop: results, wanted ones above all; few sums along its axis; blocks as small as asked for."""
    return len(left.intersection(loop.outputs)), len(loop.outputs), -len(loop.summed), loop.fits


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


def _wanted(region: Region) -> set[int]:
    """The ops whose results are needed outside of the region."""
    users = region.straight.users
    return {place for place in region.forms if any(user not in region.forms for user in users[place])}


def _kinds(region: Region) -> list[Axis]:
    """The classes of axes of the largest array."""
    place = region.largest
    return list(dict.fromkeys(region.kind((place, axis)) for axis in range(len(region.shape(place)))))


def _known(region: Region, done: Collection[int]) -> set[int]:
    """All ops whose results are known once those of some are."""
    found: set[int] = set()
    for place, read in enumerate(region.straight.reads):
        if place in done or (place not in region.large and all(source in found for source in read)):
            found.add(place)
    return found


def _reason(region: Region, settings: Settings) -> str:
    shape = "x".join(map(str, region.shape(region.largest)))
    if not settings.reassociate:
        return f"no axis of {shape} is the same in all that it is made into, without sums in another order"
    return f"no axis of {shape} is the same in all that it is made from and into"


def _follow(region: Region, kind: Axis, done: Collection[int], settings: Settings) -> Loop | None:
    """The loop along a class of axes, where blocks of the size that is asked for can be made."""
    loop = Loop(region, 0, 0)
    known = _known(region, done)
    for place, form in region.forms.items():
        if place not in known:
            _take(loop, place, form, kind, known, settings)
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
    loop.fits = each <= settings.block
    loop.rows = _rows(loop.size, max(1, settings.block // each))
    return loop if loop.size >= _FEWEST * loop.rows else None


def _rows(size: int, most: int) -> int:
    """How many rows a block has: as many as may be, or up to half of these where nothing is left over then."""
    return next((rows for rows in range(most, most // 2, -1) if size % rows == 0), most)


def _take(loop: Loop, place: int, form: Form, kind: Axis, known: Collection[int], settings: Settings) -> None:
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
    elif not axes and form.monoid and (form.ordered or settings.reassociate):
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
