"""Compiles before the first calls: `Function.warm` and `hlograph.jit(f).warm`.

In: sets of sizes by name, or the largest ones. Out: what the calls with these sizes will run on, compiled, and how long
each took. Nothing is run, so that no check fails and no loop runs on made-up data. Several are
compiled in threads at once, as XLA does not need Python's lock meanwhile.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import numpy as np

from ..codegen import dims as dimension
from ..codegen.errors import ArgumentError, ArgumentShapeError, PolicyError
from ..codegen.program import Program
from ..codegen.signature import Signature
from .executables.executable import Executable
from .executables.policy import LARGEST, Plan, Policies, above_bound, dependent_roots
from .executables.stored import Shelf
from .lowered.ahead import all_sizes, completed, known_sizes
from .options import CompileOptions

_LOOKED_AT = 4096  # combinations of buckets, of which the constraints may exclude most
Sizes: TypeAlias = "Mapping[str, int] | Sequence[Mapping[str, int]]"


def sets_of(sizes: Sizes) -> list[Mapping[str, int]]:
    """The sets of sizes, also where one is given alone.

    Raises:
        ArgumentError: it is neither.
    """
    found = [sizes] if isinstance(sizes, Mapping) else list(sizes)
    for entry in found:
        if not isinstance(entry, Mapping):
            raise ArgumentError(f"sizes: expected dictionaries of size names, such as {{'n': 1000}}, got {entry!r}")
    return found


# Sizes of a call, the bounds of those that are computed from data, and the plan of a bucket that is all that is wanted.
Wanted: TypeAlias = "tuple[dict[str, int], dict[str, list[int]], Plan | None]"


def wanted(
    program: Program,
    options: CompileOptions,
    policies: Policies,
    sizes: Sizes,
    up_to: Mapping[str, int],
    planned: Callable[..., Plan],
    shelf: Shelf,
) -> list[Wanted]:
    """What is to be compiled for such calls, each once; see `Function.warm`.

    Args:
        program, options, policies: the function's.
        sizes, up_to: as the user gives them.
        planned: gives the plan of a call.
        shelf: executables that are kept; those of the sizes up to `up_to` are loaded, as calls run on them.

    Raises:
        ArgumentError: a size is missing or unknown, or there are more executables than the cache keeps.
        ArgumentShapeError: the sizes contradict the program's constraints, or are above a bound.
    """
    signature, found, keys = program.signature, list[Wanted](), set[Any]()
    names = {count.name for count in signature.counts}
    largest = known_sizes(signature, up_to)
    for name, size in largest.items():
        if not 0 <= size <= LARGEST:
            raise ArgumentError(f"up_to: {name} = {size} is not between 0 and {LARGEST}")
    if largest:
        try:
            own = {name: policies.buckets(name, largest[name]) for name in largest if name not in policies.follows}
        except PolicyError as error:
            raise above_bound(signature, error) from None
    for given in sets_of(sizes):
        known = {**_shared(program), **known_sizes(signature, given)}
        counts = {name: [policies.bound(name, size)] for name, size in known.items() if name in names}
        calls: Iterable[dict[str, int]] = [] if largest else [all_sizes(signature, known, options.policy)]
        if largest:
            open_ = {name: spans for name, spans in own.items() if name not in given and name not in names}
            counts |= {name: [policies.bound(name, span[-1]) for span in own[name]] for name in names & own.keys()}
            count = math.prod(map(len, open_.values()))
            if count > max(_LOOKED_AT, options.cache_size):
                raise too_many(program.name, count, options.cache_size)
            base = completed(signature, {**largest, **known}, options.policy)
            calls = _met(signature, base, known, open_)
        for call in calls:
            try:
                plan = policies.plan(call, up_to=largest) if largest else planned(call, exact=False)
            except PolicyError as error:
                raise above_bound(signature, error) from None
            if largest and plan.key in keys:
                continue
            found.append((call, counts, plan if largest else None))
            keys.add(plan.key)
            for number in range(len(counts)):
                keys.update((plan.key, *each) for each in itertools.product(*list(counts.values())[: number + 1]))
    if largest and not found:
        raise ArgumentShapeError(f"up_to: the program's constraints hold for no sizes up to {largest}")
    if len(keys) > options.cache_size:
        raise too_many(program.name, len(keys), options.cache_size)
    if largest:
        kept = [one.sizes.exact for one in shelf.values() if not one.sizes.bounds]
        within = [sizes for sizes in kept if all(abs(size) <= largest.get(name, size) for name, size in sizes.items())]
        found += [(dict(sizes), {}, None) for sizes in within]
        policies.warmed(largest)
    return found


def bounds_of(pending: str, counts: Mapping[str, Sequence[int]]) -> Sequence[int]:
    """The bounds for which what comes behind a size from data is compiled.

    Raises:
        ArgumentError: nobody has said how large it may be.
    """
    if pending not in counts:
        raise ArgumentError(
            f"sizes: the size {pending} is computed from data and has no bound known before the run; the part after "
            f"it is compiled for its bucket. Give the size to expect ({pending!r}: 100), or give it a bound in "
            "the policy"
        )
    return counts[pending]


def too_many(name: str, count: int, kept: int) -> ArgumentError:
    """More executables would be compiled than are kept."""
    return ArgumentError(
        f"{name}: these sizes need {count:,} executables, and cache_size keeps {kept}; give a larger cache_size, or "
        'policy="padded", or coarser buckets (hlograph.Bucket(factor=2))'
    )


def _shared(program: Program) -> dict[str, int]:
    shapes = {i: np.shape(shared.get_value(borrow=True)) for i, shared in program.bindings.items()}
    roots = [root for root in program.signature.roots if root.axis is not None and root.argument in shapes]
    return {root.name: shapes[root.argument][root.axis] for root in roots if root.axis is not None}


def _met(
    signature: Signature, base: Mapping[str, int], given: Collection[str], spans: Mapping[str, Sequence[range]]
) -> Iterator[dict[str, int]]:
    """The greatest sizes in each combination of buckets, but for those that the constraints exclude.

    Args:
        signature: the program's.
        base: every size of a call.
        given: the names of those that are to stay, also where they follow from others.
        spans: name to the sizes of each of its buckets.
    """
    signed = {root.name for root in signature.value_roots}
    follows = {name: dim for name, dim in dependent_roots(signature).items() if name not in given}
    demands = [
        (dimension.substitute(c.lhs - c.rhs, follows), c.relation)
        for c in signature.constraints
        if dimension.roots(c.lhs - c.rhs) <= base.keys()
    ]
    for each in itertools.product(*spans.values()):
        call = {**base, **{name: span[-1] for name, span in zip(spans, each, strict=True)}}
        within = {name: (size, size) for name, size in base.items()}
        for name, span in zip(spans, each, strict=True):
            within[name] = (-span[-1] if name in signed else span[0], span[-1])
        if all(_may_hold(*dimension.bounds(difference, within), relation) for difference, relation in demands):
            yield call | {name: dimension.evaluate(dim, call) for name, dim in follows.items()}


def _may_hold(least: int | None, greatest: int | None, relation: str) -> bool:
    if relation == "!=":
        return not least == greatest == 0
    return (greatest is None or greatest >= 0) and (relation == ">=" or least is None or least <= 0)


def compile_all(
    works: Sequence[Callable[[], Iterable[Executable]]], mode: Callable[[], AbstractContextManager[Any]]
) -> dict[str, float]:
    """Compiles, in threads where there are several.

    Args:
        works: each finds the executables that a call runs on, and makes their modules if they are new.
        mode: gives the context in which calls run.

    Returns:
        From the sizes of each executable ("n=1000", "n<=1024") to the seconds that it took; 0 where it was there.
    """
    seconds: dict[str, float] = {}

    def compile_one(work: Callable[[], Iterable[Executable]]) -> None:
        start = time.perf_counter()
        with mode():
            for executable in work():
                new, sizes = executable.compile(), str(executable.sizes)
                now = time.perf_counter()
                seconds[sizes] = now - start if new else seconds.get(sizes, 0.0)
                start = now

    if len(works) == 1:
        compile_one(works[0])
    else:
        with ThreadPoolExecutor(min(len(works), os.cpu_count() or 1)) as pool:
            for future in [pool.submit(compile_one, work) for work in works]:
                future.result()
    return seconds
