"""Random programs under every plan for CPU give what they give without one, and XLA takes each plan.

XLA ends the process for some contents of a kernel: then the test worker is gone, and pytest names the test.
`make nightly` runs others and more of them.
"""

import itertools
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property.evaluation import interpreted
from property.programs import Case, arrays_of, build, random_recipe, sizes_of
from property.test_loops import WITH_GRADIENT, Recipe, arguments, traced
from rewritten_runs import as_arrays, assert_same

import hlograph
from hlograph import Program
from hlograph.codegen.passes import cpu_math, cpu_regions
from hlograph.errors import PaddingError

DEFAULT = 18
FIRST = int(os.environ.get("HLOGRAPH_SEED", "0"))
PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", str(DEFAULT)))
CHUNK = 6  # programs in a test

PLANS = [
    (hlograph.CpuOptions(client, forms, math, regions, pack), outputs)
    for client, (regions, forms, math), pack, outputs in itertools.product(
        ("sync", "jax"),
        ((True, True, True), (True, False, False), (False, True, True), (True, False, True), (True, True, False)),
        (True, False),
        ("numpy", "jax"),
    )
    if (client, outputs) != ("sync", "jax")
]
# Limits of the pass, so that small programs have what large ones have: several regions, large arrays, large dots.
LIMITS: list[dict[str, int]] = [
    {},
    {"OPS": 12, "LOOP": 1},
    {"LONG": 5},
    {"LARGE": 30},
    {"OPS": 40, "DOT": 4, "MATVEC": 4},
    {"OPS": 4000},
    {"LONG": 12, "OPS": 20, "LOOP": 2},
]


def plan_of(seed: int) -> tuple[hlograph.CpuOptions, Any, dict[str, int]]:
    """One that has not been met by the seeds just before."""
    return *PLANS[seed * 7 % len(PLANS)], LIMITS[seed % len(LIMITS)]


@contextmanager
def limited(limits: dict[str, int]) -> Iterator[None]:
    """With other limits of the pass."""
    with ExitStack() as stack:
        for name, value in limits.items():
            stack.enter_context(mock.patch.object(cpu_regions, name, value))
        stack.enter_context(mock.patch.dict(cpu_regions.run.__kwdefaults__, ops=limits.get("OPS", 300)))
        yield


def run(program: Program, seed: int, arrays: list[np.ndarray], policy: Any) -> list[np.ndarray]:
    """Results under the plan of a seed."""
    options, outputs, limits = plan_of(seed)
    with limited(limits), mock.patch.dict(cpu_math.run.__kwdefaults__, elements=1):
        fn = program.compile(cpu=options, outputs=outputs, policy=policy)
        results = as_arrays(fn(*arrays)) if program.signature.results else []
    assert fn.stats.retries == 0, "XLA has refused the plan"
    return results


def expected(case: Case, sizes: dict[str, int], arrays: list[np.ndarray]) -> list[np.ndarray]:
    """What the reference interpreter gives for these sizes, or else XLA, without a plan."""
    if case.interpretable:
        found = interpreted(case.program.specialize(sizes), arrays, Counter(), "")
        if found is not None:
            return found
    return as_arrays(case.program.compile(cpu="plain", policy="exact")(*arrays))


def compare(case: Case, found: list[np.ndarray], wanted: list[np.ndarray], what: str) -> None:
    """Within what rounding may have done, see `property.programs`."""
    for place, (a, b, tolerance) in enumerate(zip(found, wanted, case.tolerances, strict=True)):
        assert tolerance.agrees(a, b), (what, place, a, b)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, CHUNK))
def test_random_programs(first, policy):
    refused: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        # Other programs for each policy: an executable takes as long as all the rest.
        recipe = random_recipe(2 * seed + (policy == "padded"))
        case = build(recipe)
        sizes = next(iter(sizes_of(case, recipe, 1)), None)
        if sizes is None:  # no sizes that were tried fulfil the program's constraints
            refused["sizes"] += 1
            continue
        arrays = arrays_of(case, recipe, sizes)
        try:
            found = run(case.program, seed, arrays, policy)
        except PaddingError as error:
            refused[str(error)] += 1
            continue
        compare(case, found, expected(case, sizes, arrays), f"seed {recipe.seed}, {policy}, {plan_of(seed)}")
    assert refused.total() <= CHUNK / 2, refused


@settings(max_examples=max(PROGRAMS // 6, 1), derandomize="HLOGRAPH_SEED" not in os.environ)
@given(WITH_GRADIENT, st.integers(0, 10**6))
def test_gradients_of_random_scans(recipe: Recipe, seed: int):
    """Loops, with what they save, inside of kernels and around them."""
    random = np.random.default_rng(seed)
    arrays = arguments(recipe, lambda shape: random.normal(size=shape))
    program = traced(recipe.gradient, arrays)
    wanted = program.interpret(*arrays)
    for found, one in zip(run(program, seed, arrays, "exact"), wanted, strict=True):
        largest = np.max(np.abs(one[np.isfinite(one)]), initial=1.0)  # of gradients of up to six steps
        assert_same(found, one, rtol=1e-10, atol=1e-10 * largest)


def test_plans_are_of_many_kinds():
    """What the seeds of `make test` run."""
    used = [plan_of(seed) for seed in range(DEFAULT)]
    assert len({(options, outputs) for options, outputs, _ in used}) == DEFAULT
    assert all(any(limits == one for *_, one in used) for limits in LIMITS)
    assert {options.regions for options, *_ in used} == {True, False}
