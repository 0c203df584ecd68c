"""Random dimensions, and long ones, against Python's integers: those that mean the same compare equal, no others do."""

from __future__ import annotations

import copy
import os
import pickle
from collections import defaultdict
from contextlib import suppress
from random import Random

import numpy as np
import pytensor.tensor as pt
import pytest
from shape_programs import ROOTS, SIZES, any_tree, as_dim, as_int, random_step, some_roots, two_spellings, with_lengths

import hlograph
from hlograph.builder import dims
from hlograph.codegen.constraints import Constraint, Constraints

maximum, minimum, parse, symbol = dims.maximum, dims.minimum, dims.parse, dims.symbol
SEED = int(os.environ.get("HLOGRAPH_SEED", "0"))
NIGHTLY = "HLOGRAPH_NIGHTLY" in os.environ
PAIRS = 100_000 if NIGHTLY else 500
n, m, s = symbol("n"), symbol("m"), symbol("s", signed=True)


def check_values(tree, dim, random, points=6):
    """The dimension, its text and its bounds agree with the tree."""
    text = str(dim)
    again = parse(text, signed=("s", "t"))
    assert again == dim
    assert hash(again) == hash(dim)
    assert str(again) == text
    low, high = dims.bounds(dim)
    corners = [some_roots(random) for _ in range(points)]
    box = dims.bounds(dim, {name: (min(c[name] for c in corners), max(c[name] for c in corners)) for name in ROOTS})
    for roots in corners:
        try:
            value = as_int(tree, roots)
        except ZeroDivisionError:
            continue
        assert dims.evaluate(dim, roots) == value, (tree, roots)
        assert "{" in text or eval(text, {"min": min, "max": max}, roots) == value, (tree, roots)
        assert dims.rebuild(dim, roots.__getitem__, minimum=min, maximum=max) == value
        for least, greatest in ((low, high), box):
            assert least is None or least <= value
            assert greatest is None or value <= greatest


@pytest.mark.parametrize(("roots", "steps"), [(1, 2), (1, 4), (3, 4)])
def test_lengths_of_shape_programs_compare_equal_however_they_are_written(roots, steps):
    """Of those with many divisions inside of each other a few in ten thousand are not known to be equal."""
    random = Random(f"{SEED} {roots} {steps}")
    missed = []
    for _ in range(PAIRS // 3):
        first, second = two_spellings(random, random.randint(1, steps), roots)
        a, b = as_dim(first), as_dim(second)
        check_values(first, a, random)
        check_values(second, b, random, 2)
        assert hash(a) == hash(b), (first, second)
        if a != b:
            missed.append((first, second))
    assert len(missed) <= PAIRS // 1000 + 1, missed


def test_what_compares_equal_is_equal():
    """Of any expressions: a few numbers and few roots, so that some pairs mean the same by chance."""
    random = Random(f"{SEED} any")
    met = defaultdict(list)
    for _ in range(PAIRS):
        tree = any_tree(random, random.randint(1, 4))
        try:
            dim = as_dim(tree)
        except ZeroDivisionError:  # by a constant 0
            continue
        check_values(tree, dim, random, 3)
        others = met[dim] if len(met[dim]) < 4 else []
        for other in others:
            for _ in range(6):
                roots = some_roots(random)
                try:
                    assert as_int(tree, roots) == as_int(other, roots), (tree, other, roots)
                except ZeroDivisionError:
                    continue
        others.append(tree)
    assert max(map(len, met.values())) > 1


def some_trees(random, count):
    """Expressions that are dimensions: without a division by a constant 0."""
    trees = []
    while len(trees) < count:
        tree = any_tree(random, random.randint(1, 3))
        with suppress(ZeroDivisionError):
            as_dim(tree)
            trees.append(tree)
    return trees


def test_substitute_is_evaluating_with_other_roots():
    random = Random(f"{SEED} substituted")
    for _ in range(PAIRS):
        tree, *others = some_trees(random, 3)
        roots = some_roots(random)
        with suppress(ZeroDivisionError):
            inner = dict(zip("ns", (as_int(other, roots) for other in others), strict=True))
            if inner["n"] >= 0:
                expected = as_int(tree, {**roots, **inner})
                dim = dims.substitute(as_dim(tree), dict(zip("ns", map(as_dim, others), strict=True)))
                assert dims.evaluate(dim, roots) == expected


READABLE = ("2*n + 1", "m*n", "(n + 1)//2", "n % 8", "min(n, m + 3)", "-n + 4", "n - m//2", "-((-n)//8)", "(-n) % 8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *((text, text) for text in READABLE),
        ("n - min(n, 1)", "max(n - 1, 0)"),
        ("max(max(n - 1, 0) - 1, 0)", "max(n - 2, 0)"),
        ("max(n - 1, 0) - min(max(n - 1, 0), 1)", "max(n - 2, 0)"),
        ("n - max(n - 3, 0)", "min(n, 3)"),
        ("min(n, 3) + max(n - 3, 0)", "n"),
        ("min(n, 3) + min(max(n - 3, 0), 2) + max(n - 5, 0)", "n"),
        ("max(n, m) + min(n, m)", "m + n"),
        ("max(min(max(n - 3, 0), 2) - 1, 0)", "min(max(n - 4, 0), 1)"),
        ("(max(n - 1, 0) + 1)//2", "n//2"),
        ("max(n + m, k + m)", "m + max(k, n)"),
        ("m*min(n, 3)", "m*min(n, 3)"),
        ("max(n - 3, 0)//2", "max(n - 3, 0)//2"),
        ("s - min(s, 3)", "s - min(s, 3)"),  # s - 3 may wrap
        ("max(max(s, 0) - 1, 0)", "max(max(s, 0) - 1, 0)"),
        ("min(max(k + n*min(max(-k, 0), 1), 0), n)", "min(max(n*min(max(-k, 0), 1) + k, 0), n)"),
    ],
)
def test_shown(text, shown):
    signed = ("s", "k") if "-k" in text else ("s",)
    assert str(parse(text, signed=signed)) == shown


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("n//2 + (n + 1)//2", "n"),
        ("max(2*n, 3)", "max(n, 1) + max(n, 2)"),
        ("s - min(s, 3)", "max(s - 3, 0)"),
        ("(n//2)*2 + n % 2", "n"),
        ("max(n//3, 1)", "max(n, 3)//3"),
        ("min(max(s, 0), n)", "max(min(s, n), 0)"),
        ("min(n, 5)*m + max(n - 5, 0)*m", "n*m"),
        ("(n + 2)//3 + (n + 1)//3 + n//3", "n"),
        ("max(s, -s)", "s + 2*max(-s, 0)"),
        ("(s + 1)//2 + s//2", "s"),
        ("(n*m + 3)//m", "3//m + n*m//m"),
        ("max(n, m)*max(k, t)", "max(k*n, k*m, n*t, m*t)"),
        ("max(n, m)*max(m, k)*max(n, k)", "max(n*max(m, k), m*max(m, k))*max(n, k)"),
        ("min(n, m)*min(k, t)*t", "t*min(k*n, k*m, n*t, m*t)"),
    ],
)
def test_equal_by_proof(first, second):
    a, b = parse(first, signed="s"), parse(second, signed="s")
    if "//m" in first:  # m may be 0: nothing is known of the quotients
        assert a != b
        return
    assert a == b
    assert hash(a) == hash(b)
    assert len({a, b}) == 1
    assert type(a - b) is int


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("max(n % 100000 - 99998, 0)", 99_999),
        ("min(max(2*n - 20000, 0), max(60000 - n, 0))", 30_000),
        ("max(n//20000 - 1, 0) - max((n - 20001)//20000, 0)", 40_000),
        ("min(max(n - 10000, 0), max(30000 - n, 0))*m", 20_000),
    ],
)
def test_what_differs_from_zero_at_few_values_is_not_equal(text, n):
    """At none of those at which two dimensions are compared before a proof is tried."""
    dim = parse(text)
    assert dims.evaluate(dim, {"n": n, "m": 1}) > 0
    assert dim + m != m


def recorded(random, roots):
    """Demands that hold for some roots: each right side is shifted to be equal, or less by a slack."""
    known, demanded = Constraints(), []
    for _ in range(random.randint(1, 5)):
        relation, (left, right) = random.choice(["==", ">="]), some_trees(random, 2)
        slack = random.randint(0, 2) if relation == ">=" else 0
        right = ("+", right, as_int(left, roots) - as_int(right, roots) - slack)
        demanded.append((relation, left, right))
        if relation == "==":
            chosen = known.equate(as_dim(left), as_dim(right))
            assert dims.evaluate(chosen, roots) == as_int(left, roots)
        else:
            known.at_least(as_dim(left), as_dim(right))
    return known, demanded


def test_what_can_hold_is_accepted_conclusions_are_true_and_what_is_not_recorded_is_implied():
    random = Random(f"{SEED} demanded")
    small = [{name: random.randint(0, 20) for name in ROOTS} for _ in range(30)]
    for _ in range(PAIRS // 5):
        roots = random.choice(small)
        with suppress(ZeroDivisionError):
            known, demanded = recorded(random, roots)
            first, second = some_trees(random, 2)
            values = as_int(first, roots), as_int(second, roots)
            assert all(constraint.holds(roots) for constraint in known)
            canonical = known.canonical(as_dim(first))
            assert dims.evaluate(canonical, roots) == values[0]
            assert known.canonical(canonical) == canonical
            if known.known_equal(as_dim(first), as_dim(second)):
                assert values[0] == values[1]
            for relation, left, right in demanded:
                assert relation == ">=" or known.known_equal(as_dim(left), as_dim(right))
            for other in small:
                with suppress(ZeroDivisionError):
                    if all(constraint.holds(other) for constraint in known):
                        for relation, left, right in demanded:
                            a, b = as_int(left, other), as_int(right, other)
                            assert a == b if relation == "==" else a >= b


# ---- long shape programs: all that is asked of them is linear in the graph -----------------------------------------


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
        with pytest.raises(dims.DimSyntaxError) as caught:
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
