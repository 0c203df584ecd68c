"""The bounds that sizes are padded to: what a user may choose, and what follows from the sizes that there have been.

In: the sizes of calls, one axis after the other. Out: the bound of each. Decision to know: the first bound of an axis
is as fine as `Bucket` has them. Where another one is needed sizes keep changing, and a bound stands for three until one
of these is wanted: after many calls, fewer where a call has much work.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import PolicyError

PlanKey = tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]]]

LARGEST = 2**31 - 1
OFTEN = 32  # calls with one size after which it comes often
MOST_CALLS = 256  # of a fine bucket before it is compiled, however little that is worth
_COMPILE = 750_000_000_000  # picoseconds of work of which a compile is worth a third


@dataclass(frozen=True)
class Bucket:
    """Bounds that grow by a factor: each call runs on the executable of the least bound that holds its size.

    Attributes:
        factor: ratio of a bound to the one before, > 1.
        start: the least bound.
        multiple: bounds are multiples of this (but for `limit`).
        limit: the greatest bound, if there is to be one; larger sizes are refused.
    """

    factor: float = 1.25
    start: int = 16
    multiple: int = 8
    limit: int | None = None
    _bounds: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.factor > 1:
            raise PolicyError(f"Bucket: factor must be greater than 1, got {self.factor}")
        for name in ("start", "multiple"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise PolicyError(f"Bucket: {name} must be a positive integer, got {value!r}")
        if self.limit is not None and (not isinstance(self.limit, int) or self.limit < 0):
            raise PolicyError(f"Bucket: limit must be an integer >= 0 or None, got {self.limit!r}")

    def bound(self, size: int) -> int:
        """The least bound that is not below `size`.

        Raises:
            PolicyError: the size is above the limit.
        """
        if self.limit is not None and size > self.limit:
            raise PolicyError(f"size {size} is above the bucket's limit {self.limit}")
        bounds = self._bounds
        if not bounds or bounds[-1] < size:
            self._grow(size)
        found = bounds[bisect_left(bounds, size)]
        return found if self.limit is None else min(found, self.limit)

    def coarser(self, size: int) -> int:
        """The least of every third bound, from the seventh on, that is not below `size`."""
        self.bound(size)
        last = max(6, -(-bisect_left(self._bounds, size) // 3) * 3)
        while len(self._bounds) <= last:
            self._grow(self._bounds[-1] + 1)
        return self._bounds[last]

    def _grow(self, size: int) -> None:
        bounds = list(self._bounds)
        while not bounds or bounds[-1] < size:
            last = bounds[-1] if bounds else 0
            wanted = self.start if not bounds else last * self.factor
            steps = -int(-wanted // self.multiple)
            bounds.append(max(steps * self.multiple, last + self.multiple))
        if len(bounds) > len(self._bounds):
            self._bounds[:] = bounds


DEFAULT_BUCKET = Bucket()


@dataclass
class Axis:
    """What sizes of one name there have been, and how they are met."""

    seen: dict[int, None] = field(default_factory=dict)
    exact: list[int] = field(default_factory=list)  # sizes that "auto" compiles exactly
    bounds: list[int] = field(default_factory=list)  # that calls were given, in order
    fine: set[int] = field(default_factory=set)  # bounds that are wanted as they are
    warm: int = -1  # sizes up to this one have buckets, see `Policies.warmed`
    refused: str = ""
    warned: bool = False

    def bound(self, size: int, fine: int, largest: int) -> int:
        """The bound that serves a size, of which `fine` is the least; that of those up to `largest`."""
        if size <= largest:
            return fine
        coarse = DEFAULT_BUCKET.coarser(fine)
        if coarse > LARGEST or fine in self.fine or not self.bounds:
            coarse = fine
        place = bisect_left(self.bounds, fine)
        if place == len(self.bounds) or self.bounds[place] > coarse:
            place = bisect_left(self.bounds, coarse)
            self.bounds.insert(place, coarse)
        return self.bounds[place]


class Tally:
    """How many more calls the sizes of a bucket have on a coarser one's executable before they get one of their own.

    A compile takes a quarter of a second, and saves a third of the work on average, which is given in picoseconds.
    """

    def __init__(self, work: int) -> None:
        self.left = max(2, min(MOST_CALLS, _COMPILE // max(1, work)))


@dataclass(frozen=True)
class Plan:
    """How the sizes of one call are handled.

    Attributes:
        exact: root name to size, for those compiled as they are.
        bounds: root name to bound, for those that are padded.
    """

    exact: Mapping[str, int]
    bounds: Mapping[str, int]

    @property
    def key(self) -> PlanKey:
        """Equal for calls that run on one executable, in whatever order the sizes are."""
        return frozenset(self.exact.items()), frozenset(self.bounds.items())

    def __str__(self) -> str:
        parts = [f"{name}={size}" for name, size in self.exact.items()]
        parts += [f"{name}<={bound}" for name, bound in self.bounds.items()]
        return ", ".join(parts) or "static"
