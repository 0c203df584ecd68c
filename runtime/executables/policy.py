"""How each named size of a program is met: compiled exactly, or padded to a bucket.

In: what the user says (`policy="auto"`, `{"n": "padded", "m": Bucket(factor=2), "k": 128}`), and the sizes of a call.
Out: a `Plan` for the call: which sizes are compiled as they are, and which are live sizes below a bound. The decision
to know: under `"auto"` an axis is exact for its first few sizes, so that a program that only ever sees one size pays
nothing; after that it is padded, and a new size costs no compile.
"""

from __future__ import annotations

import difflib
import itertools
import warnings
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ...codegen import dims as dimension
from ...codegen import forks
from ...codegen.dims import Dim
from ...codegen.errors import ArgumentError, ArgumentShapeError, PaddingError, PolicyError
from ...codegen.signature import Signature, known_constraints
from ..calls.arguments import origin

Choice: TypeAlias = "Literal['auto', 'exact', 'padded'] | Bucket | int"
PolicyArgument: TypeAlias = "Choice | Mapping[str, Choice]"
PlanKey = tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]]]

NAMES = ("auto", "exact", "padded")
EXACT_SIZES = 3  # sizes of an axis that "auto" compiles exactly
WARN_AFTER = 8  # sizes of an exact axis after which a warning is due
LARGEST = 2**31 - 1
NOTHING: Mapping[str, int] = {}


class RecompilationWarning(UserWarning):
    """A size keeps changing and each new value compiles anew."""


class PaddingRefusedWarning(UserWarning):
    """A size should be padded and an op has no rule for it: calls are compiled exactly."""


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


@dataclass(frozen=True)
class Plan:
    """How the sizes of one call are met.

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


@dataclass
class _Axis:
    seen: dict[int, None] = field(default_factory=dict)
    warm: int = -1  # sizes up to this one have buckets, see `Policies.warmed`
    refused: str = ""
    warned: bool = False


class Policies:
    """The policy of one function, and what its sizes have been.

    Sizes that follow from others by the program's constraints (`m == n`) are met as those are.

    Args:
        policy: what the user gave.
        signature: the program's.

    Attributes:
        follows: the sizes that follow from others.
    """

    def __init__(self, policy: PolicyArgument, signature: Signature) -> None:
        names = [root.name for root in signature.roots]
        counts = [count.name for count in signature.counts]
        given = dict(policy) if isinstance(policy, Mapping) else dict.fromkeys([*names, *counts], policy)
        if not isinstance(policy, Mapping):
            check_choice("policy", policy)
        for name, choice in given.items():
            if name not in names and name not in counts:
                close = difflib.get_close_matches(str(name), [*names, *counts], 1)
                hint = (
                    f"did you mean {close[0]!r}?" if close else f"its sizes: {', '.join([*names, *counts]) or 'none'}"
                )
                raise PolicyError(f"policy: the program has no size {name!r}; {hint}")
            check_choice(f"policy of {name!r}", choice)
        self.choices: dict[str, Choice] = {name: given.get(name, "auto") for name in [*names, *counts]}
        self.follows = follows = dependent_roots(signature)
        for name, dim in follows.items():
            for leader in dimension.roots(dim):
                if name in given and leader not in given:
                    self.choices[leader] = self.choices[name]
        self._limits = {name: c for name, c in self.choices.items() if isinstance(c, int) and name in names}
        self._count_limits = {name: c for name, c in self.choices.items() if isinstance(c, int) and name in counts}
        self._axes = {name: _Axis() for name in names if name not in follows}
        self._lock = forks.lock()

    def plan(self, sizes: Mapping[str, int], *, exact: bool = False, up_to: Mapping[str, int] = NOTHING) -> Plan:
        """The plan for a call with these sizes; remembers them.

        Args:
            sizes: root name to size.
            exact: compile all of them as they are (inside a JAX transformation, where sizes are fixed anyway).
            up_to: sizes up to these are padded where they may be, as after `warmed`.

        Raises:
            PolicyError: a size is above a bound that the user gave.
        """
        fixed: dict[str, int] = {}
        bounds: dict[str, int] = {}
        with self._lock:
            for name, limit in self._limits.items():
                if abs(sizes[name]) > limit:
                    raise PolicyError(f"size {name} = {sizes[name]} is above its bound {limit}", name)
            for name, axis in self._axes.items():
                size, choice = sizes[name], self.choices[name]
                is_new = abs(size) > max(axis.warm, up_to.get(name, -1))
                if is_new and len(axis.seen) <= 4 * WARN_AFTER:
                    axis.seen.setdefault(size)
                is_first = is_new and size in itertools.islice(axis.seen, EXACT_SIZES)
                padded = choice != "exact" and (choice != "auto" or not is_first) and abs(size) <= LARGEST
                if exact or axis.refused or not padded:
                    fixed[name] = size
                else:
                    bounds[name] = self.bound(name, abs(size))
        return Plan(fixed, bounds | self._count_limits)

    def bound(self, name: str, size: int) -> int:
        """The bound for a size that is padded."""
        choice = self.choices[name]
        if isinstance(choice, int):
            if size > choice:
                raise PolicyError(f"size {name} = {size} is above its bound {choice}", name)
            return choice
        if choice == "exact":
            return size
        try:
            return (choice if isinstance(choice, Bucket) else DEFAULT_BUCKET).bound(size)
        except PolicyError as error:
            raise PolicyError(f"size {name}: {error}", name) from None

    def buckets(self, name: str, largest: int) -> list[range]:
        """The sizes of each bucket that calls with sizes from 0 to the largest meet.

        Raises:
            ArgumentError: such a size is compiled exactly.
            PolicyError: the largest is above a bound that the user gave.
        """
        refused = self._axes[name].refused if name in self._axes else ""
        if refused or self.choices[name] == "exact":
            why = f"it cannot be padded: {refused}" if refused else 'its policy is "exact"'
            raise ArgumentError(
                f"up_to: each size {name} is compiled by itself, which is {largest + 1:,} executables up to {largest}, "
                f'as {why}; give the sizes that are met (sizes=[{{{name!r}: {largest}}}, ...]), or policy="padded"'
            )
        found = []
        start = 0
        self.bound(name, largest)  # refuses it
        while start <= largest:
            bound = self.bound(name, start)
            found.append(range(start, min(bound, largest) + 1))
            start = bound + 1
        return found

    def warmed(self, up_to: Mapping[str, int]) -> None:
        """From now on sizes up to these are padded where they may be: their buckets are compiled."""
        with self._lock:
            for name, largest in up_to.items():
                if name in self._axes:
                    self._axes[name].warm = max(self._axes[name].warm, largest)

    def refuse(self, program: str, error: PaddingError, depth: int) -> bool:
        """From now on sizes that cannot be padded (all, where the error names none that is) are exact.

        Says so where the user asked for padding; `depth` is from here up to the user's call. False where it is no news.
        """
        with self._lock:
            padded = [name for name, axis in self._axes.items() if not axis.refused]
            names = [name for name in padded if name in error.roots] or padded
            for name in names:
                self._axes[name].refused = str(error)
        wanted = [name for name in names if self.choices[name] not in ("auto", "exact")]
        if wanted:
            warnings.warn(
                f"{program}: {', '.join(wanted)} cannot be padded, each new size compiles anew: {error}",
                PaddingRefusedWarning,
                stacklevel=depth,
            )
        return bool(names)

    @property
    def refusals(self) -> dict[str, str]:
        """Size name to why it is not padded."""
        return {name: axis.refused for name, axis in self._axes.items() if axis.refused}

    def warn_of_recompilation(self, program: str, signature: Signature, plan: Plan, depth: int) -> None:
        """Says, once for each, that a size has been compiled anew for many values."""
        with self._lock:
            often = {name: axis for name in plan.exact if len((axis := self._axes[name]).seen) > WARN_AFTER}
            due = {name: list(axis.seen) for name, axis in often.items() if not axis.warned}
            for name in due:
                often[name].warned = True
        for name, sizes in due.items():
            remedy = 'policy="auto" or "padded" compiles once per bucket'
            if reason := self.refusals.get(name):
                remedy = f"it cannot be padded: {reason}"
            warnings.warn(
                f"{program}: size {name}{origin(signature, frozenset([name]))} has had {len(sizes)} values "
                f"({', '.join(map(str, sizes))}), and each was compiled anew; {remedy}",
                RecompilationWarning,
                stacklevel=depth,
            )


def above_bound(signature: Signature, error: PolicyError) -> ArgumentShapeError:
    """What callers are told of a size above its bound: where it is from, too."""
    return ArgumentShapeError(f"{error}{origin(signature, frozenset([error.size]))}")


def dependent_roots(signature: Signature) -> dict[str, Dim]:
    """The roots that the signature's constraints give in terms of others: name to dimension."""
    constraints = known_constraints(signature)
    signed = {root.name for root in signature.roots if root.kind == "value"}
    found: dict[str, Dim] = {}
    counts = {count.name for count in signature.counts}
    for root in signature.roots:
        symbol = dimension.symbol(root.name, signed=root.name in signed)
        dim = constraints.canonical(symbol)
        if dim != symbol and counts.isdisjoint(dimension.roots(dim)):
            found[root.name] = dim
    return found


def check_choice(what: str, choice: object) -> None:
    """Raises `PolicyError` for what is no policy of one size."""
    if isinstance(choice, Bucket) or (isinstance(choice, str) and choice in NAMES):
        return
    if isinstance(choice, int) and not isinstance(choice, bool):
        if not 0 <= choice <= LARGEST:
            raise PolicyError(f"{what}: the bound {choice} is not between 0 and {LARGEST}")
        return
    raise PolicyError(
        f"{what}: expected 'auto', 'exact', 'padded', a Bucket, or an int (a bound), or a dictionary of these by size "
        f"name, got {choice!r}"
    )
