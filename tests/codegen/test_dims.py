"""Dimensions and constraints case by case; random ones against Python's own integers are in `test_dims_equality.py`."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlograph.builder import dims
from hlograph.codegen.constraints import Constraint, Constraints, DimMismatch

maximum, minimum, parse, symbol = dims.maximum, dims.minimum, dims.parse, dims.symbol
n, m, k, s = symbol("n"), symbol("m"), symbol("k"), symbol("s", signed=True)


def fold(dim, leaf, **functions):
    return dims.rebuild(dim, leaf, **{"minimum": min, "maximum": max, **functions})


def test_rebuild_emits_few_operations():
    emitted = []

    def binary(name):
        return lambda a, b: emitted.append(f"{name} {a} {b}") or f"%{len(emitted) - 1}"

    names = ("add", "mul", "floordiv", "mod", "minimum", "maximum")
    root = fold(n + m // 2 * k + m // 2, str, const=str, **{name: binary(name) for name in names})
    assert root == f"%{len(emitted) - 1}"
    assert sorted(line.split()[0] for line in emitted) == ["add", "add", "floordiv", "mul"]
    emitted.clear()
    fold(minimum(m // 2, n) + m // 2, str, const=str, **{name: binary(name) for name in names})
    assert sorted(line.split()[0] for line in emitted) == ["add", "floordiv", "minimum"]
    assert fold(n, str, const=str) == "n"
    assert fold(7, str, const=str) == "7"


# --- normal form


def test_unequal():
    different = [n, m, s, 2 * n, n + 1, n * n, n * m, n // 2, n % 2, minimum(n, m), maximum(n, m), n // m, m // n]
    for a, b in itertools.combinations(different, 2):
        assert a != b
    assert all(dim != 1 and dim != "n" for dim in different)
    assert symbol("n", signed=True) != n


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (minimum(n, n + 1), n),
        (maximum(n, n + 1, n - 5), n + 1),
        (maximum(n, 0), n),
        (minimum(n, -1), -1),
        (minimum(3, 2, 7), 2),
        (minimum(minimum(n, m), k), minimum(n, m, k)),
        (minimum(n, maximum(n, m)), n),
        ((8 * n + m) // 8, n + m // 8),
        ((8 * n + 3) // 8, n),
        ((8 * n + m) % 8, m % 8),
        (n // 1, n),
        (n % 1, 0),
        (n // -1, -n),
        ((4 * n) // 8, n // 2),
        ((4 * n + 3) // 8, n // 2),
        ((4 * n) % 8, 4 * (n % 2)),
        ((4 * n + 1) % 8, 4 * (n % 2) + 1),
        ((2 * n) // (2 * m), n // m),
        (n // 2 // 3, n // 6),
        ((n // 2 + 1) // 3, (n + 2) // 6),
        ((n % 8) // 8, 0),
        ((n % 8) % 16, n % 8),
        ((n % 16 + m) % 8, (n + m) % 8),
        (n % 8 - 8 * ((n % 8) // 8), n % 8),
        ((n * (m + 1)) // (m + 1), n),
        ((n * (m + 1)) % (m + 1), 0),
        ((s * (-m - 1)) // (-m - 1), s),
        (n // (n + 1), 0),
        (n % (n + m + 1), n),
        (s // 2 * 2 - s // 2 - s // 2, 0),
        (n // -2, (-n) // 2),
        ((n - 3 + 2) // 2 + 1, (n + 1) // 2),
        (n // 2 + (n + 1) // 2 - n, 0),
        (minimum(n, 3) + maximum(n - 3, 0) - n, 0),
    ],
)
def test_simplifies(dim, expected):
    assert dim == expected
    assert type(dim) is type(expected)


def test_does_not_cancel_what_may_be_zero():
    for dim in ((n * m) // m, m // m, (n * m) % m, (s * n) // s, 0 // m, 0 % m):
        assert not isinstance(dim, int)
        assert dim != n
        with pytest.raises(ZeroDivisionError):
            dims.evaluate(dim, {"n": 3, "m": 0, "s": 0})
    assert maximum(s, 0) != s


def test_constant_zero_divisor():
    for divide in (operator.floordiv, operator.mod):
        for zero in (0, n - n):
            with pytest.raises(ZeroDivisionError):
                divide(n + 1, zero)


def test_operands():
    assert 7 - n == -n + 7
    assert type(7 - n + n) is int
    assert dims.evaluate(100 // (n + 1), {"n": 6}) == 14
    assert dims.evaluate(100 % (n + 1), {"n": 6}) == 2
    for three in (np.int64(3), np.int32(3)):
        assert n + three == three + n == n + 3
        assert n * three == three * n == 3 * n
        assert n // three == n // 3
        assert type(three - n + n) is int
    assert str(n + True) == "n + 1"
    for wrong in (1.5, "m", None):
        with pytest.raises(TypeError):
            n + wrong
        with pytest.raises(TypeError):
            minimum(n, wrong)
    with pytest.raises(TypeError):
        minimum()


def test_no_order_and_no_truth():
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError, match="order"):
            compare(n, 3)
        with pytest.raises(TypeError, match="order"):
            compare(3, n)
    with pytest.raises(TypeError, match=r"n \+ 1"):
        bool(n + 1)


@pytest.mark.parametrize("name", ["", "1n", "n-m", "n m", ".n", "né", "min", "max", "floordiv", "mod", "n\n"])
def test_bad_names(name):
    with pytest.raises(ValueError, match="name"):
        symbol(name)


def test_names():
    for name in ("_", "N0", "batch.size", "x_1", "minimum"):
        assert str(symbol(name)) == name
        assert dims.roots(symbol(name) // 2 + 1) == {name}
    assert dims.roots(5) == frozenset()
    assert dims.roots(minimum(n, m // 2) * k) == {"n", "m", "k"}


def test_copies_are_equal():
    dim = minimum(n, s // 2) * m + 3
    for again in (copy.deepcopy(dim), copy.copy(dim), pickle.loads(pickle.dumps(dim))):
        assert again == dim
        assert hash(again) == hash(dim)
        assert again - dim == 0


def test_long_chains():
    total = 0
    for _ in range(20_000):
        total = total + n
    assert total == 20_000 * n
    nested = n
    for _ in range(100):
        nested = (nested + m) // k
    value = 7
    for _ in range(100):
        value = (value + 3) // 2
    assert dims.evaluate(nested, {"n": 7, "m": 3, "k": 2}) == value
    assert dims.bounds(nested, {"n": (0, 9)})[0] == 0
    assert parse(str(nested)) == nested


# --- bounds


def test_bounds_of_linear_are_exact():
    random = Random(0)
    for _ in range(100):
        coefficients, constant = [random.randint(-5, 5) for _ in range(3)], random.randint(-9, 9)
        box = {name: (low, low + random.randint(0, 4)) for name in "nms" for low in [random.randint(0, 4)]}
        dim = coefficients[0] * n + coefficients[1] * m + coefficients[2] * s + constant
        points = itertools.product(*(range(low, high + 1) for low, high in box.values()))
        values = [sum(c * x for c, x in zip(coefficients, point, strict=True)) + constant for point in points]
        assert dims.bounds(dim, box) == (min(values), max(values))


@pytest.mark.parametrize(
    ("dim", "expected", "box"),
    [
        (n * m, (10, 21), {"n": (2, 3), "m": (5, 7)}),
        (s * s, (0, 9), {"s": (-3, 2)}),
        (n // m, (2, 10), {"n": (10, 20), "m": (2, 5)}),
        (n + m, (1, None), {"n": (1, None)}),
        (7, (7, 7), None),
        (n, (0, None), None),
        (s, (None, None), None),
        (n + 2 * m + 3, (3, None), None),
        (4 - n, (None, 4), None),
        (n - m, (None, None), None),
        (n * n, (0, None), None),
        (s * s, (0, None), None),
        (-(s * s), (None, 0), None),
        (s * s * s, (None, None), None),
        (s % 8, (0, 7), None),
        (s % -8, (-7, 0), None),
        (n // -3, (None, 0), None),
        (-5 // m, (-5, -1), None),
        (minimum(n, 5), (0, 5), None),
        (maximum(s, 5), (5, None), None),
        (n - minimum(n, m), (0, None), None),
        (n - n // 2, (0, None), None),
        (n - 8 * (n // 8), (0, 7), None),
        (n - n % m, (0, None), None),
    ],
)
def test_bounds(dim, expected, box):
    assert dims.bounds(dim, box) == expected


# --- evaluate


def test_missing_root_is_named():
    with pytest.raises(KeyError, match=r"'m'.*m\*n \+ 1|'m'.*n\*m \+ 1"):
        dims.evaluate(n * m + 1, {"n": 3})
    with pytest.raises(KeyError, match="'m'"):
        dims.evaluate((n + m) // 2, {"n": 3})


# --- text


def test_grammar():
    assert parse("2+3*4-10//3%2") == 2 + 3 * 4 - 10 // 3 % 2
    assert parse("-7//2") == -7 // 2
    assert parse("--n - -m") == n + m
    assert parse(" floordiv( n ,2 )+mod(m, 3) ") == n // 2 + m % 3
    assert parse("max(n, m, min(k))") == maximum(n, m, k)
    assert parse("s + n", signed=["s"]) == s + n
    assert parse("s + n") != s + n
    assert parse("a.b") == symbol("a.b")


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("", 1, "a number"),
        ("n +", 4, "a number"),
        ("n m", 3, "an operator"),
        ("n + * m", 5, "a number"),
        ("(n + 1", 7, "')'"),
        ("n $ 2", 3, "operator"),
        ("min", 4, "'('"),
        ("min()", 5, "a number"),
        ("min(n", 6, "','"),
        ("mod(n)", 6, "two arguments"),
        ("f(n)", 2, "operator"),
    ],
)
def test_syntax_errors(text, column, expected):
    with pytest.raises(dims.DimSyntaxError) as caught:
        parse(text)
    assert caught.value.column == column
    assert expected in caught.value.expected
    assert repr(text) in str(caught.value)
    assert f"column {column}" in str(caught.value)


def test_absurd_nesting():
    assert parse("(" * 150 + "n" + ")" * 150) == n
    for opening, closing in (("(", ")"), ("1*(1+", ")"), ("min(n,", ")"), ("-(", ")")):
        with pytest.raises(dims.DimSyntaxError, match="nested"):
            parse(opening * 5000 + "n" + closing * 5000)
    assert parse("-" * 10_000 + "n") == n


@given(st.text(alphabet="nm12+-*/%(), minaxodfl", max_size=20))
def test_any_text_parses_or_says_why(text):
    try:
        dim = parse(text)
    except (dims.DimSyntaxError, ZeroDivisionError):
        return
    assert parse(str(dim)) == dim


# --- constraints


def test_constraint():
    constraint = Constraint.parse("2*n == m + 1", where="Dot(x, y)")
    assert constraint == Constraint(2 * n, "==", m + 1, "Dot(x, y)")
    assert str(constraint) == "2*n == m + 1"
    assert constraint.holds({"n": 2, "m": 3})
    assert not constraint.holds({"n": 2, "m": 4})
    lower = Constraint.parse("s >= -n", signed=["s"])
    assert lower.holds({"s": -2, "n": 2})
    assert not lower.holds({"s": -3, "n": 2})
    with pytest.raises(AttributeError):
        constraint.where = ""
    for text, column in (("n", 2), ("n <= m", 3), ("n = m", 3), ("n == ", 6), ("n + == m", 5), ("n == m == k", 8)):
        with pytest.raises(dims.DimSyntaxError) as caught:
            Constraint.parse(text)
        assert caught.value.column == column


# Demands one after the other; which of them are recorded; what is known to be equal then; what is not; what is refused.
STORIES = {
    "a chain": (
        "n == m; m == k; k + 2 == n + 2",
        "n == m; m == k",
        "n == k; n + 1 == k + 1; n//2*k == m//2*n",
        "n == k + 1; n == k//2",
        "",
    ),
    "a root is a size": (
        "m == n + 1; min(k, k*m) == n - 1; min(k, k*m) == n - 1",
        "m == n + 1; min(k, k*m) == n - 1",
        "min(k, k*m) == k; max(n - 1, 0) == k",
        "",
        "",
    ),
    "numbers": (
        "n == 5; n + m == m + 5; m == n; m + 1 == 6; 4 == 4",
        "n == 5; m == n",
        "2*n == 10; m*k == 5*k",
        "",
        "",
    ),
    "an expression": (
        "n == 2*m; m == k + 1",
        "n == 2*m; m == k + 1",
        "n//2 == m; n % 2 == 0; n == 2*k + 2; n - 2*k == 2",
        "",
        "n == 2*k + 3",
    ),
    "multiples": (
        "2*n == 3*m; 5*m == 2*k",
        "2*n == 3*m; 5*m == 2*k",
        "5*n == 3*k; 10*n - 6*k == 0",
        "n == k",
        "5*n == 3*k + 1",
    ),
    "no root alone": (
        "n//2 == m//3; m//3 == k//5; n//2 == 7; k//5 == s; 2*n == 3*m; k == 35; 2*n - 3*m + s == 7",
        "n//2 == m//3; m//3 == k//5; n//2 == 7; k//5 == s; 2*n == 3*m; k == 35",
        "n//2 + n == k//5 + n; s == 7; 4*n == 6*m",
        "n == k",
        "n//2 == m//3 + 1; m//3 + k + 1 == k",
    ),
    "a root in what it equals": (
        "n == n//2 + 4; m == n*m",
        "n == n//2 + 4; m == n*m",
        "n - 4 == n//2; m + 1 == m*n + 1",
        "n == n//2",
        "",
    ),
    "what is implied": (
        "n >= 0; n + m >= m; 7 >= 7; n >= 3; n >= 2; 2*n >= 5; n >= m; n >= m",
        "n >= 3; n >= m",
        "",
        "",
        "min(n, 2) >= 3; n == 2",
    ),
    "a minimum": (
        "min(n, m + 1, 5) >= 3; 4 - max(n, m) >= 1",
        "n >= 3; m + 1 >= 3; -m + 4 >= 1; -n + 4 >= 1",
        "",
        "n == m",
        "min(n, 9) >= 4",
    ),
    "intervals": ("2*n >= 5; n >= 3; -n >= -3", "2*n >= 5; -n >= -3", "", "", "n == 2*m; n >= 4"),
    "a signed root": ("s == n; s >= 0", "s == n", "max(s, 0) == n; s + n == 2*s", "", ""),
    "tautologies": (
        "n - min(n, 1) == max(n - 1, 0); min(s, 3) - s == min(3 - s, 0); n >= n - min(n, m); n//2 + (n + 1)//2 >= n",
        "",
        "",
        "",
        "",
    ),
    "a mismatch that is found late": (
        "n//2 == m//2 + 1",
        "n//2 == m//2 + 1",
        "n//2 == m//2 + 1; n//2 - 1 == m//2",
        "n == m",
        "n == m",
    ),
}


def demands(text):
    return [Constraint.parse(part, signed=["s"]) for part in text.split("; ") if part]


def demand(known, constraint):
    if constraint.relation == ">=":
        known.at_least(constraint.lhs, constraint.rhs, "Slice")
    else:
        known.equate(constraint.lhs, constraint.rhs, "Slice")


@pytest.mark.parametrize("story", STORIES)
def test_demands(story):
    demanded, recorded, equal, unequal, refused = map(demands, STORIES[story])
    known = Constraints()
    for constraint in demanded:
        demand(known, constraint)
    assert [str(constraint) for constraint in known] == [str(constraint) for constraint in recorded]
    assert all(constraint.where == "Slice" for constraint in known)
    for constraint in refused:
        with pytest.raises(DimMismatch, match="Slice"):
            demand(known, constraint)
    assert len(known) == len(recorded)
    for constraint in equal:
        assert known.known_equal(constraint.lhs, constraint.rhs), str(constraint)
        assert (
            known.canonical(constraint.lhs - constraint.rhs) == 0 or "//" in str(constraint) or "m*n" in str(constraint)
        )
    for constraint in unequal:
        assert not known.known_equal(constraint.lhs, constraint.rhs), str(constraint)


def test_what_goes_on_of_equal_dimensions():
    known = Constraints()
    assert known.equate(n, m) == n
    assert known.canonical(m) == n
    assert known.equate(k, 5) == known.equate(m, k) == 5
    assert known.canonical(2 * n) == 10
    known.at_least(s, 0)
    assert known.intervals["s"] == (0, None)


@pytest.mark.parametrize(
    ("a", "b"),
    [(n + 1, n), (2, 3), (n, -1), (2 * n, 2 * m + 1), (2 * n, 7), (n % 4, 4), (minimum(n, 3), 5), (s * s, -1)],
)
def test_never_equal(a, b):
    known = Constraints()
    with pytest.raises(DimMismatch, match="Reshape") as caught:
        known.equate(a, b, "Reshape")
    assert (caught.value.lhs, caught.value.rhs, caught.value.where) == (a, b, "Reshape")
    assert str(a) in str(caught.value)
    assert len(known) == 0
    assert known.canonical(n) == n
