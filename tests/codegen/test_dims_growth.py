"""Dimensions of long shape programs: all that is asked of them is linear in the graph."""

from __future__ import annotations

import copy
import os
import pickle
from random import Random

import numpy as np
import pytensor.tensor as pt
import pytest
from shape_programs import ROOTS, SIZES, as_int, random_step, some_roots, with_lengths

import hlograph
from hlograph.codegen import dims
from hlograph.codegen.constraints import Constraint
from hlograph.codegen.dims import DimSyntaxError, maximum, minimum, parse, symbol

NIGHTLY = "HLOGRAPH_NIGHTLY" in os.environ
n, m = symbol("n"), symbol("m")


@pytest.mark.parametrize("seed", range(100) if NIGHTLY else (0, 55))
def test_programs_of_500_steps(seed):
    """Lengths, their texts and what is read from the texts have Python's values."""
    random = Random(seed)
    points = [some_roots(random) for _ in range(3)]
    lengths = [ROOTS[name] for name in SIZES]
    values = [[roots[name] for roots in points] for name in SIZES]
    for number in range(500):
        tree, (a, b) = random_step(random, len(lengths))
        length = with_lengths(tree, lengths[a], lengths[b])
        pairs = zip(values[a], values[b], strict=True)
        lengths.append(length)
        values.append([as_int(tree, {"x": x, "y": y}) for x, y in pairs])
        text = str(length)
        assert len(text) < 20_000
        if number % 10 == 0:
            again = parse(text)
            assert str(again) == text
            assert hash(again) == hash(length)
            for roots, value in zip(points, values[-1], strict=True):
                assert dims.evaluate(length, roots) == dims.evaluate(again, roots) == value
    low, high = dims.bounds(lengths[-1])
    assert all((low is None or low <= value) and (high is None or value <= high) for value in values[-1])


def shared(levels):
    """A dimension whose tree doubles with each level, and what Python gives for it."""
    dim = n
    for level in range(levels):
        dim = maximum(dim // 2 - level, m) * 3 + minimum(dim // 3, 2 * m + level)
    return dim


def python_shared(levels, n, m):
    value = n
    for level in range(levels):
        value = max(value // 2 - level, m) * 3 + min(value // 3, 2 * m + level)
    return value


def test_shared_parts():
    levels = 60
    dim = shared(levels)
    roots = {"n": 1000, "m": 7}
    expected = python_shared(levels, **roots)
    text = str(dim)
    assert len(text) < 200 * levels
    assert text.startswith("{_1: ")
    again = parse(text)
    assert again == dim
    assert hash(again) == hash(dim)
    assert str(again) == text
    for same in (again, pickle.loads(pickle.dumps(dim)), copy.deepcopy(dim)):
        assert dims.evaluate(same, roots) == expected
        assert same - dim == 0
    assert dims.bounds(dim, {"n": (1000, 1000), "m": (7, 7)}) == (expected, expected)
    assert dims.evaluate(dims.substitute(dim, {"m": 7}), {"n": 1000}) == expected
    assert dims.roots(dim) == {"n", "m"}
    constraint = Constraint(dim, "==", n, "here")
    assert Constraint.parse(str(constraint), "here") == constraint
    built = []
    integers = {"minimum": min, "maximum": max}

    def add(a, b):
        built.append((a, b))
        return a + b

    assert dims.rebuild(dim, roots.__getitem__, add=add, **integers) == expected
    assert len(built) < 10 * levels


def grown(n, m, maximum):
    total, product = n, n + 1
    for number in range(15):
        total = total + maximum(m - number, n)
        product = product * (total + number) if number < 12 else product * product // (m + 1)
    return total, product


def test_products_and_sums_do_not_explode():
    for dim, expected in zip(grown(n, m, maximum), grown(3, 5, max), strict=True):
        assert dims.evaluate(dim, {"n": 3, "m": 5}) == expected
        assert len(str(dim)) < 20_000


def test_names_in_text():
    assert parse("{_1: max(n - m, 0); _2: _1//3} _1*n + _2") == maximum(n - m, 0) * n + maximum(n - m, 0) // 3
    assert parse("{a: 3} a*n") == 3 * n
    renamed = dims.substitute(shared(12), {"n": symbol("_1")})
    assert parse(str(renamed)) == renamed
    assert not str(renamed).startswith("{_1:")
    wrongs = {"{_1 n} n": 5, "{_1: n} ": 9, "{_1: n; _1: m} n": 9, "{min: n} n": 2, "{_1: n n": 8}
    for wrong, column in wrongs.items():
        with pytest.raises(DimSyntaxError) as caught:
            parse(wrong)
        assert caught.value.column == column


def test_forty_differences():
    x = pt.vector("x", dtype="float64")
    function = hlograph.function([x], pt.diff(x, n=40), dims={"x": ("n",)}, policy="exact")
    signature = function.program.signature
    assert not signature.constraints
    assert [[str(dim) for dim in result.dims] for result in signature.results] == [["max(n - 40, 0)"]]
    random = np.random.default_rng(0)
    lengths = (0, 7, 40, 43)
    values = [random.integers(-3, 4, length).astype(np.float64) for length in lengths]  # so that nothing is rounded
    for policy in ("exact", "auto", hlograph.Bucket()):
        call = function if policy == "exact" else function.program.compile(policy=policy)
        for value in values:
            np.testing.assert_array_equal(call(value), np.diff(value, n=40))
