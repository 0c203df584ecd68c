"""How each named size of a program is met: compiled exactly, or padded to a bucket.

In: what the user says (`policy="auto"`, `{"n": "padded", "m": Bucket(factor=2), "k": 128}`), and the sizes of a call.
Out: a `Plan` for the call: which sizes are compiled as they are, and which are live sizes below a bound. Decisions to
know: under `"auto"` the first size of an axis is exact, so that a program that only ever sees one size pays nothing;
others are padded, and two that come again and again are exact then. The first bucket of an axis is as fine as `Bucket`
has them; where more are needed lengths keep changing, and a bucket stands for three until one of these is called often.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from ...codegen import dims as dimension
from ...codegen import errors, forks
from ...codegen.errors import ArgumentError, ArgumentShapeError, PaddingError, PolicyError
from ...codegen.passes.buckets import DEFAULT_BUCKET, LARGEST, Axis, Bucket, Plan, PlanKey
from ...codegen.renamed import nearest
from ...codegen.signature import Signature, dependent_roots
from ..calls.arguments import origin

__all__ = ["LARGEST", "Bucket", "Plan", "PlanKey", "Policies", "dependent_roots"]

Choice: TypeAlias = "Literal['auto', 'exact', 'padded'] | Bucket | int"
PolicyArgument: TypeAlias = "Choice | Mapping[str, Choice]"

NAMES = ("auto", "exact", "padded")
EXACT_SIZES = 3  # sizes of an axis that "auto" compiles exactly: the first, and those that come often
WARN_AFTER = 8  # sizes of an exact axis after which a warning is due
NOTHING: Mapping[str, int] = {}
_LEARNED = ("auto", "padded")  # those whose bounds follow from what sizes there have been


def warn(message: str, category: type[Warning]) -> None:
    """Warns, at the line outside of hlograph and JAX that led here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None:
        package = str(frame.f_globals.get("__name__", "hlograph")).partition(".")[0]  # the code of calls has no name
        if package not in ("hlograph", "jax", "functools", "contextlib"):
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Policies:
    """The policy of one function, and what its sizes have been.

    Sizes that follow from others by the program's constraints (`m == n`) follow those.

    Args:
        policy: what the user gave.
        signature: the program's.

    Attributes:
        follows: the sizes that follow from others.
    """

    def __init__(self, policy: PolicyArgument, signature: Signature) -> None:
        names, counts = [root.name for root in signature.roots], [count.name for count in signature.counts]
        given = dict(policy) if isinstance(policy, Mapping) else dict.fromkeys([*names, *counts], policy)
        if not isinstance(policy, Mapping):
            check_choice("policy", policy)
        for name, choice in given.items():
            if name not in names and name not in counts:
                raise PolicyError(no_size("policy", name, [*names, *counts]))
            check_choice(f"policy of {name!r}", choice)
        self.choices: dict[str, Choice] = {name: given.get(name, "auto") for name in [*names, *counts]}
        self.follows = follows = dependent_roots(signature)
        for name, dim in follows.items():
            for leader in dimension.roots(dim):
                if name in given and leader not in given:
                    self.choices[leader] = self.choices[name]
        self._limits = {name: c for name, c in self.choices.items() if isinstance(c, int) and name in names}
        self._count_limits = {name: c for name, c in self.choices.items() if isinstance(c, int) and name in counts}
        self._axes = {name: Axis() for name in names if name not in follows}
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
                size, choice, warm = sizes[name], self.choices[name], max(axis.warm, up_to.get(name, -1))
                is_new = abs(size) > warm
                if is_new and len(axis.seen) <= 4 * WARN_AFTER:
                    axis.seen.setdefault(size)
                if is_new and not (exact or axis.exact or max(axis.bounds, default=-1) >= abs(size)):
                    axis.exact.append(size)
                is_exact = is_new and size in axis.exact
                padded = choice != "exact" and (choice != "auto" or not is_exact) and abs(size) <= LARGEST
                if exact or axis.refused or not padded:
                    fixed[name] = size
                else:
                    bound = self.bound(name, abs(size))
                    bounds[name] = axis.bound(abs(size), bound, warm) if choice in _LEARNED else bound
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

    def finest(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The least bounds of sizes whose bounds follow from what sizes there have been."""
        found = {name: abs(sizes[name]) for name in self._axes if self.choices[name] in _LEARNED}
        return {name: self.bound(name, size) for name, size in found.items() if size <= LARGEST}

    def refine(self, finest: Mapping[str, int]) -> None:
        """From now on sizes with these least bounds are padded to them."""
        with self._lock:
            for name, bound in finest.items():
                self._axes[name].fine.add(bound)

    def favour(self, sizes: Mapping[str, int]) -> bool:
        """From now on these sizes are exact under "auto", if there are not enough such; whether that is news."""
        news = False
        with self._lock:
            for name, axis in self._axes.items():
                is_open = self.choices[name] == "auto" and not axis.refused and abs(sizes[name]) > axis.warm
                if is_open and sizes[name] not in axis.exact and len(axis.exact) < EXACT_SIZES:
                    axis.exact.append(sizes[name])
                    news = True
        return news

    def keeps(self, bounds: Mapping[str, int]) -> None:
        """There are executables for these bounds."""
        for name, bound in bounds.items():
            if self.choices.get(name) in _LEARNED and name in self._axes:
                self._axes[name].bounds = sorted({*self._axes[name].bounds, bound})

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
                f'as {why}; give the sizes to expect (sizes=[{{{name!r}: {largest}}}, ...]), or policy="padded"'
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

    def refuse(self, program: str, error: PaddingError) -> bool:
        """From now on sizes that cannot be padded (all, where the error names none that is) are exact.

        Says so where the user asked for padding. False where it is no news.
        """
        with self._lock:
            padded = [name for name, axis in self._axes.items() if not axis.refused]
            names = [name for name in padded if name in error.roots] or padded
            for name in names:
                self._axes[name].refused = str(error)
        wanted = [name for name in names if self.choices[name] not in ("auto", "exact")]
        if wanted:
            message = f"{program}: {', '.join(wanted)} cannot be padded, each new size compiles anew: {error}"
            warn(message, errors.PaddingRefusedWarning)
        return bool(names)

    @property
    def refusals(self) -> dict[str, str]:
        """Size name to why it is not padded."""
        return {name: axis.refused for name, axis in self._axes.items() if axis.refused}

    def warn_of_recompilation(self, program: str, signature: Signature, plan: Plan) -> None:
        """Says, once for each, that a size has been compiled anew for many values."""
        with self._lock:
            exact = {name for name in plan.exact if self._axes[name].refused or self.choices[name] == "exact"}
            often = {name: axis for name in exact if len((axis := self._axes[name]).seen) > WARN_AFTER}
            due = {name: list(axis.seen) for name, axis in often.items() if not axis.warned}
            for name in due:
                often[name].warned = True
        for name, sizes in due.items():
            remedy = 'policy="auto" or "padded" compiles once per bucket'
            if reason := self.refusals.get(name):
                remedy = f"it cannot be padded: {reason}"
            warn(
                f"{program}: size {name}{origin(signature, frozenset([name]))} has had {len(sizes)} values "
                f"({', '.join(map(str, sizes))}), and each was compiled anew; {remedy}",
                errors.RecompilationWarning,
            )


def no_size(what: str, name: object, names: Sequence[str]) -> str:
    """What callers are told of a name that is that of no size."""
    hint = nearest(name, names, f"its sizes: {', '.join(names) or 'none'}")
    return f"{what}: the program has no size {name!r}; {hint}"


def above_bound(signature: Signature, error: PolicyError) -> ArgumentShapeError:
    """What callers are told of a size above its bound: where it is from, too."""
    return ArgumentShapeError(f"{error}{origin(signature, frozenset([error.size]))}")


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
