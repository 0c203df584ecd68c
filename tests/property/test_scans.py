"""Random Scans give what PyTensor's own loop gives: exact, padded, rewritten or not, compiled and interpreted.

`make test` runs the same few programs each time; more, or others:

    HLOGRAPH_SEED=123 HLOGRAPH_PROGRAMS=50 .venv/bin/pytest tests/property/test_scans.py
"""

import os
import random
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytensor
import pytest
from property.programs import Recipe, explain
from property.scans import Scans, build, random_recipe
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from support import poisoned, reference

import hlograph
from hlograph.errors import HlographError

FIRST = int(os.environ.get("HLOGRAPH_SEED", "0"))
PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "3"))
CHUNK = 3  # programs in a test


def sizes_of(recipe: Recipe, count: int) -> list[tuple[int, int, int]]:
    """Rows and columns of sequences, and numbers of steps; a loop may be longer than its sequences."""
    source = random.Random(recipe.seed)
    rows, steps = [9, 10, 12, 40, 3, 2, 1, 0], [4, 1, 2, 0, 7, 30]
    return [(source.choice(rows), source.randint(1, 3), source.choice(steps)) for _ in range(count)]


def evaluations(scans: Scans, seed: int) -> dict[str, tuple[Callable[..., Any], Callable[[], Any]]]:
    """Ways to run a program, each made when it is first asked for: PyTensor's, and ours that must give the same."""
    graph, dims = (scans.inputs, scans.outputs), scans.names()
    own = partial(reference, *graph)
    ways: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
        "exact": (own, lambda: hlograph.function(*graph, dims=dims, policy="exact")),
        "padded": (own, lambda: hlograph.function(*graph, dims=dims, policy="padded")),
    }
    if seed % 2:
        make = partial(hlograph.emit_stablehlo, graph, dims=dims, rewrite=False)
        ways["interpreted, not rewritten"] = own, lambda: make().interpret
    elif (
        seed % 4
    ):  # PyTensor's rewriting loses rows now and then (`trace[2:][2:]`, `until`), so that it is asked itself
        make = partial(hlograph.function, *graph, dims=dims, rewrite="full", policy="exact")
        ways["rewritten as PyTensor does"] = partial(rewritten, graph), make
    return {name: (theirs, lru_cache(ours)) for name, (theirs, ours) in ways.items()}


REWRITES = RewriteDatabaseQuery(include=["fast_run"], exclude=["inplace", "fusion", "BlasOpt"])


def rewritten(graph: tuple[list[Any], list[Any]], values: list[np.ndarray]) -> list[np.ndarray]:
    """PyTensor's loop after PyTensor's rewriting, in Python."""
    with np.errstate(all="ignore"), pytensor.config.change_flags(mode="FAST_COMPILE", on_opt_error="ignore"):
        function = pytensor.function(*graph, mode=Mode("py", REWRITES), on_unused_input="ignore")
        return [np.asarray(x) for x in function(*values)]


def called(make: Callable[[], Any], values: list[np.ndarray]) -> Any:
    """The result of what is made, or was made before."""
    return make()(*values)


def attempt(function: Callable[..., Any], *values: Any) -> tuple[Any, str]:
    """A result, or why there is none."""
    try:
        return function(*values), ""
    except (HlographError, ValueError, IndexError) as error:
        return None, f"{type(error).__name__}: {error}"


def compare(found: Any, wanted: list[np.ndarray], what: str) -> None:
    """Values and shapes; of a loop without a step PyTensor knows no shapes, and says 0."""
    results = found if isinstance(found, list | tuple) else [found]
    for place, (result, b) in enumerate(zip(results, wanted, strict=True)):
        a = np.asarray(result)
        if b.size == 0 and a.shape != b.shape and not a.any():
            continue
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{what}, result {place}"
        scale = np.abs(b).max(initial=1e-3) if b.dtype.kind == "f" else 0
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * scale, err_msg=f"{what}, result {place}")


def run(recipe: Recipe) -> Counter[str]:
    """Builds a program and evaluates it in all ways."""
    scans = build(recipe)
    done: Counter[str] = Counter()
    ways = evaluations(scans, recipe.seed)
    for sizes in sizes_of(recipe, 3):
        values = scans.values(recipe.seed, *sizes)
        asked: dict[Any, Any] = {}
        for way, (theirs, make) in ways.items():
            if theirs not in asked:
                asked[theirs] = attempt(theirs, values)
            wanted, refusal = asked[theirs]
            with poisoned() if way == "padded" and recipe.seed % 3 == 0 else nullcontext():
                found, ours = attempt(called, make, values)
            if wanted is None:
                done[f"{way}: {'both refuse' if found is None else 'refused by PyTensor: ' + refusal[:90]}"] += 1
                continue
            if ours.startswith("PaddingError"):
                done[f"{way}: {ours}"[:90]] += 1
                continue
            assert found is not None, f"{way} at {sizes}: {ours}"
            compare(found, wanted, f"{way} at {sizes}")
            done[way] += 1
    return done


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, CHUNK))
def test_evaluations_agree(first):
    done: Counter[str] = Counter()
    failures = []
    for recipe in map(random_recipe, range(first, min(first + CHUNK, FIRST + PROGRAMS))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                done += run(recipe)
            except Exception as error:
                failures.append(explain(recipe, error, run, __file__))
    print(*done.items(), sep="\n")
    assert not failures, "\n\n".join(failures)
