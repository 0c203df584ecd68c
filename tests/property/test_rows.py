"""Random programs of one row, for rows of different sizes at once: each row is what a call with it alone gives.

`make test` runs the same few programs each time; others with HLOGRAPH_SEED and HLOGRAPH_PROGRAMS, see
`test_padding_programs.py`. Padding holds NaN (or other numbers that matter) on the way in.
"""

import os
from collections import Counter

import jax
import numpy as np
import pytest
from property.programs import arrays_of, build, random_recipe, sizes_of

from hlograph.errors import PaddingError, UnsupportedGraphError
from hlograph.runtime.options import CompileOptions
from hlograph.runtime.ragged.rows import RowsFunction

FIRST = int(os.environ.get("HLOGRAPH_SEED", "0"))
PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "4"))
CHUNK = 4
ROWS = 4


def poison(dtype: np.dtype) -> object:
    if dtype.kind in "fc":
        return np.nan
    return True if dtype.kind == "b" else np.iinfo(dtype).max


def stacked(arrays: list[np.ndarray]) -> np.ndarray:
    shape = [max(sizes) for sizes in zip(*[x.shape for x in arrays], strict=True)] if arrays[0].ndim else []
    found = np.full((len(arrays), *shape), poison(arrays[0].dtype), arrays[0].dtype)
    for number, x in enumerate(arrays):
        found[(number, *map(slice, x.shape))] = x
    return found


def compare(seed: int) -> str:
    """ "compared", or why there is nothing to compare; raises where a row is wrong."""
    recipe = random_recipe(seed)
    case = build(recipe)
    program, signature = case.program, case.program.signature
    if signature.value_roots:
        return "sizes that are values"
    calls = [(sizes, arrays_of(case, recipe, sizes)) for sizes in sizes_of(case, recipe, ROWS)]
    if len(calls) < 2:
        return "one set of sizes"
    exact = program.compile(policy="exact", optimize="none", cpu="plain")
    expected = [program.interpret(*arrays) if case.interpretable else exact.run(arrays) for _, arrays in calls]
    ragged = frozenset(root.name for root in signature.roots)
    options = CompileOptions.of(policy="exact", cpu="plain", optimize="default" if seed % 2 else "none")
    rows = RowsFunction(program, frozenset(), ragged, "rows_of_the_batch", options)
    lengths = {name: np.array([sizes[name] for sizes, _ in calls], np.int32) for name in ragged}
    greatest = {name: int(x.max()) for name, x in lengths.items()}
    values = [stacked(list(column)) for column in zip(*[arrays for _, arrays in calls], strict=True)]
    try:
        found = jax.device_get(rows(values, lengths, {**greatest, "rows_of_the_batch": len(calls)}))
    except (PaddingError, UnsupportedGraphError):
        return "refused"
    for number, results in enumerate(expected):
        for place, (x, y) in enumerate(zip(found, results, strict=True)):
            own, y = np.asarray(x[number]), np.asarray(y)
            assert case.tolerances[place].agrees(own, y), (seed, number, place, own, y)
    return "compared"


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, CHUNK))
def test_rows_are_what_calls_of_one_give(first):
    said = Counter(compare(seed) for seed in range(first, min(first + CHUNK, FIRST + PROGRAMS)))
    print(dict(said))
    assert said["compared"] >= 2 or first, said
