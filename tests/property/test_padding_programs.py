"""Random programs: exact, padded with zeros, padded with garbage and interpreted, they agree.

`make test` runs the same 16 programs each time; `make nightly` runs 10,000 others. One program of one seed:

    HLOGRAPH_SEED=123 HLOGRAPH_PROGRAMS=1 .venv/bin/pytest tests/property/test_padding_programs.py -k agree
"""

import os
from collections import Counter

import numpy as np
import pytest
from property.evaluation import Report, check
from property.programs import Case, Recipe, arrays_of, build, explain, random_recipe, shrink, sizes_of

from hlograph.errors import PaddingError

FIRST = int(os.environ.get("HLOGRAPH_SEED", "0"))
PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "16"))
CHUNK = 20  # programs in a test
CALLS = 3  # sets of sizes for a program


def run(recipe: Recipe) -> tuple[Case, Report]:
    """Builds a program and evaluates it in all ways."""
    case = build(recipe)
    calls = [(sizes, arrays_of(case, recipe, sizes)) for sizes in sizes_of(case, recipe, CALLS)]

    def same(a: np.ndarray, b: np.ndarray, place: int) -> bool:
        return case.tolerances[place].agrees(a, b)

    return case, check(case.program, case.bounds, calls, same, exact=1, interpret=case.interpretable)


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, CHUNK))
def test_evaluations_agree(first):
    count = min(CHUNK, FIRST + PROGRAMS - first)
    refused: Counter[str] = Counter()
    total: Report = Counter()
    failures = []
    for recipe in map(random_recipe, range(first, first + count)):
        try:
            total += run(recipe)[1]
        except PaddingError as error:
            refused[str(error)] += 1
        except Exception as error:
            failures.append(explain(recipe, error, run, __file__, build))
    print(f"{dict(total)}\nrefused {dict(refused)}")
    assert not failures, "\n\n".join(failures)
    if count == CHUNK:
        assert refused.total() <= CHUNK / 5, refused
        assert total["interpreted"] >= 2 * CHUNK, total
        assert total["exact"] >= CHUNK * 3 / 4, total


def test_programs_have_many_kinds_of_ops():
    """In 160 seeds: over 80 ops, 1 to 3 sizes."""
    names: set[str] = set()
    roots: Counter[int] = Counter()
    for seed in range(160):
        program = build(random_recipe(seed)).program
        names |= program.op_counts().keys()
        roots[len([root for root in program.signature.roots if root.kind == "size"])] += 1
    assert len(names) >= 80, sorted(names)
    assert {1, 2, 3} <= roots.keys()


def test_a_failure_is_made_small():
    """A predicate that needs one kind of step leaves that step alone."""
    recipe = next(r for r in map(random_recipe, range(50)) if "sort" in build(r).kinds and len(r.steps) > 8)
    small = shrink(recipe, lambda r: "sort" in build(r).kinds)
    assert [name for name, _ in small.steps] == ["sort"]
