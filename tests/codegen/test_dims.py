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
from hlograph.codegen.dims import DimSyntaxError, maximum, minimum, parse, symbol

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


def test_extrema_are_associative():
    for a, b, c, d, e in itertools.permutations([n, m + 1, k * n, s, n // 2]):
        for of in (minimum, maximum):
            assert of(of(of(of(a, b), c), d), e) == of(a, of(b, of(c, of(d, e)))) == of(a, b, c, d, e)


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
    ("dim", "expected"),
    [
        (7, (7, 7)),
        (n, (0, None)),
        (s, (None, None)),
        (n + 2 * m + 3, (3, None)),
        (4 - n, (None, 4)),
        (n - m, (None, None)),
        (n * n, (0, None)),
        (s * s, (0, None)),
        (-(s * s), (None, 0)),
        (s * s * s, (None, None)),
        (s % 8, (0, 7)),
        (s % -8, (-7, 0)),
        (n // -3, (None, 0)),
        (-5 // m, (-5, -1)),
        (minimum(n, 5), (0, 5)),
        (maximum(s, 5), (5, None)),
        (n - minimum(n, m), (0, None)),
        (n - n // 2, (0, None)),
        (n - 8 * (n // 8), (0, 7)),
        (n - n % m, (0, None)),
    ],
)
def test_bounds(dim, expected):
    assert dims.bounds(dim) == expected


def test_bounds_take_intervals_of_roots():
    assert dims.bounds(n * m, {"n": (2, 3), "m": (5, 7)}) == (10, 21)
    assert dims.bounds(s * s, {"s": (-3, 2)}) == (0, 9)
    assert dims.bounds(n // m, {"n": (10, 20), "m": (2, 5)}) == (2, 10)
    assert dims.bounds(n + m, {"n": (1, None)}) == (1, None)
    assert dims.bounds(n) == (0, None)


# --- evaluate


def test_missing_root_is_named():
    with pytest.raises(KeyError, match=r"'m'.*m\*n \+ 1|'m'.*n\*m \+ 1"):
        dims.evaluate(n * m + 1, {"n": 3})
    with pytest.raises(KeyError, match="'m'"):
        dims.evaluate((n + m) // 2, {"n": 3})


def test_evaluates_to_python_ints():
    assert type(dims.evaluate(n * m, {"n": np.int32(2**20), "m": np.int32(2**20)})) is int
    assert dims.evaluate(n * m, {"n": np.int32(2**20), "m": np.int32(2**20)}) == 2**40


def test_substitution_is_simultaneous():
    assert dims.substitute(n - 2 * m, {"n": m, "m": n}) == m - 2 * n
    assert dims.substitute(n // 2 + s, {"n": 5}) == s + 2
    assert dims.substitute(s + n, {"n": m}) == s + m


# --- text


@pytest.mark.parametrize(
    "text", ["2*n + 1", "m*n", "(n + 1)//2", "n % 8", "min(n, m + 3)", "-n + 4", "n - m//2", "-((-n)//8)", "(-n) % 8"]
)
def test_readable_text(text):
    assert str(parse(text)) == text


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
        ("n)", 2, "the end"),
        ("n $ 2", 3, "operator"),
        ("n / 2", 3, "operator"),
        ("min", 4, "'('"),
        ("min + 1", 5, "'('"),
        ("min()", 5, "a number"),
        ("min(n", 6, "','"),
        ("mod(n)", 6, "two arguments"),
        ("floordiv(n, m, k)", 17, "two arguments"),
        ("f(n)", 2, "operator"),
    ],
)
def test_syntax_errors(text, column, expected):
    with pytest.raises(DimSyntaxError) as caught:
        parse(text)
    assert caught.value.column == column
    assert expected in caught.value.expected
    assert repr(text) in str(caught.value)
    assert f"column {column}" in str(caught.value)


def test_absurd_nesting():
    assert parse("(" * 150 + "n" + ")" * 150) == n
    for opening, closing in (("(", ")"), ("1*(1+", ")"), ("min(n,", ")"), ("-(", ")")):
        with pytest.raises(DimSyntaxError, match="nested"):
            parse(opening * 5000 + "n" + closing * 5000)
    assert parse("-" * 10_000 + "n") == n


@given(st.text(alphabet="nm12+-*/%(), minaxodfl", max_size=20))
def test_any_text_parses_or_says_why(text):
    try:
        dim = parse(text)
    except (DimSyntaxError, ZeroDivisionError):
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
        with pytest.raises(DimSyntaxError) as caught:
            Constraint.parse(text)
        assert caught.value.column == column


def texts(constraints):
    return [str(constraint) for constraint in constraints]


def test_equate_chain():
    known = Constraints()
    assert known.equate(n, m, "Add") == n
    assert known.canonical(m) == n
    assert known.equate(m, k) == m
    assert known.known_equal(n, k)
    assert known.known_equal(n + 1, k + 1)
    assert known.known_equal(n // 2 * k, m // 2 * n)
    assert not known.known_equal(n, k + 1)
    known.equate(k + 2, n + 2)
    assert texts(known) == ["n == m", "m == k"]
    assert next(iter(known)).where == "Add"
    assert len(known) == 2


def test_equate_keeps_what_a_root_being_a_size_tells():
    known = Constraints()
    known.equate(m, n + 1)
    known.equate(minimum(k, k * m), n - 1)
    assert known.known_equal(minimum(k, k * m), k)
    assert known.known_equal(minimum(k, k * m), n - 1)
    assert known.known_equal(maximum(n - 1, 0), k)
    known.equate(minimum(k, k * m), n - 1)
    assert len(known) == 2


def test_equate_with_an_int():
    known = Constraints()
    assert known.equate(n, 5) == 5
    assert known.canonical(2 * n) == 10
    assert known.equate(n + m, m + 5) == n + m
    assert known.equate(m, n) == 5
    assert known.equate(m + 1, 6) == 6
    assert known.canonical(m * k) == 5 * k
    assert texts(known) == ["n == 5", "m == n"]
    assert known.equate(4, 4) == 4
    assert len(known) == 2


def test_equate_with_an_expression():
    known = Constraints()
    known.equate(n, 2 * m)
    assert known.known_equal(n // 2, m)
    assert known.known_equal(n % 2, 0)
    known.equate(m, k + 1)
    assert known.known_equal(n, 2 * k + 2)
    assert known.canonical(n - 2 * k) == 2
    with pytest.raises(DimMismatch):
        known.equate(n, 2 * k + 3)
    assert len(known) == 2


def test_equate_what_has_no_root_alone():
    known = Constraints()
    known.equate(n // 2, m // 3)
    known.equate(m // 3, k // 5)
    assert known.known_equal(n // 2, k // 5)
    assert known.known_equal(n // 2 + n, k // 5 + n)
    assert not known.known_equal(n, k)
    assert known.equate(n // 2, 7) == 7
    assert known.equate(k // 5, s) == 7
    assert known.known_equal(s, 7)
    assert len(known) == 4
    assert known.canonical(m // 3) == known.canonical(k // 5) == 7
    known.equate(2 * n, 3 * m)
    assert known.known_equal(4 * n, 6 * m)
    known.equate(k, 35)
    assert known.canonical(k // 5) == 7
    known.equate(2 * n - 3 * m + s, 7)
    assert len(known) == 6


def test_a_root_is_not_replaced_by_what_contains_it():
    known = Constraints()
    known.equate(n, n // 2 + 4)
    assert known.canonical(n) == n
    assert known.known_equal(n - 4, n // 2)
    known.equate(m, n * m)
    assert known.canonical(known.canonical(m * n + n)) == known.canonical(m * n + n)
    assert known.known_equal(m + 1, m * n + 1)


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


def test_mismatch_by_what_is_known():
    known = Constraints()
    known.equate(n, 5)
    known.equate(m, n)
    known.equate(s // 2, k // 3)
    for a, b in ((m, 4), (m + k + 1, k), (s // 2, k // 3 + 1), (m, n + 1)):
        with pytest.raises(DimMismatch):
            known.equate(a, b)
        assert not known.known_equal(a, b)
    assert len(known) == 3
    with pytest.raises(DimMismatch):
        known.at_least(n, 6)


def test_mismatch_found_late_changes_nothing():
    known = Constraints()
    known.equate(n // 2, m // 2 + 1)
    with pytest.raises(DimMismatch):
        known.equate(n, m)
    assert not known.known_equal(n, m)
    assert known.known_equal(n // 2, m // 2 + 1)
    assert len(known) == 1


def test_at_least():
    known = Constraints()
    known.at_least(n, 0)
    known.at_least(n + m, m)
    known.at_least(7, 7)
    assert len(known) == 0
    known.at_least(n, 3, "Slice")
    known.at_least(n, 2)
    known.at_least(2 * n, 5)
    known.at_least(n, m)
    known.at_least(n, m)
    assert texts(known) == ["n >= 3", "n >= m"]
    assert next(iter(known)).where == "Slice"
    with pytest.raises(DimMismatch, match="Slice"):
        known.at_least(minimum(n, 2), 3, "Slice")
    with pytest.raises(DimMismatch):
        known.equate(n, 2)
    known.equate(m, n)
    with pytest.raises(DimMismatch):
        known.equate(m, 2)
    known.equate(s, 4)
    assert len(known) == 4


def test_a_minimum_is_demanded_by_its_arguments():
    known = Constraints()
    known.at_least(minimum(n, m + 1, 5), 3, "Slice")
    known.at_least(4 - maximum(n, m), 1)
    assert sorted(texts(known)) == ["-m + 4 >= 1", "-n + 4 >= 1", "m + 1 >= 3", "n >= 3"]
    assert known.intervals == {"n": (3, 3), "m": (2, 3)}
    with pytest.raises(DimMismatch):
        known.at_least(minimum(n, 9), 4)


def test_at_least_narrows_roots():
    known = Constraints()
    known.at_least(2 * n, 5)
    known.at_least(n, 3)
    known.at_least(-n, -3)
    assert texts(known) == ["2*n >= 5", "-n >= -3"]
    with pytest.raises(DimMismatch):
        known.equate(n, 2 * m)
    known.equate(n, 3)


def test_signed_roots():
    known = Constraints()
    assert known.equate(s, n) == s
    assert known.known_equal(maximum(s, 0), n)
    known.at_least(s, 0)
    assert texts(known) == ["s == n"]
    other = Constraints()
    other.equate(s, -3)
    assert other.canonical(s + n) == n - 3
