"""Random lengths as shape programs make them, each step written in one of several ways that mean the same.

A tree is an int, a root's name, or (operator, tree, ...). It is evaluated in two ways: with Python's integers, and as
a dimension.
"""

import operator
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from hlograph.builder import dims

SIZES = ("n", "m", "k")
SIGNED = ("s", "t")
ROOTS: dict[str, dims.Dim] = {name: dims.symbol(name, signed=name in SIGNED) for name in (*SIZES, *SIGNED)}

_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
_AS_DIMS = {**_ARITHMETIC, "min": dims.minimum, "max": dims.maximum}
_AS_INTS = {**_ARITHMETIC, "min": min, "max": max}


def interpret(tree: Any, functions: Mapping[str, Callable[..., Any]], roots: Mapping[str, Any]) -> Any:
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return roots[tree]
    return functions[tree[0]](*[interpret(child, functions, roots) for child in tree[1:]])


def as_dim(tree: Any) -> dims.Dim:
    return interpret(tree, _AS_DIMS, ROOTS)


def as_int(tree: Any, roots: Mapping[str, int]) -> int:
    """What Python's integers give; ZeroDivisionError where it is not defined."""
    return interpret(tree, _AS_INTS, roots)


def drop(x: Any, a: int) -> list[Any]:
    """The length of ``x[a:]``."""
    return [("max", ("-", x, a), 0), ("-", x, ("min", x, a)), ("-", ("max", x, a), a), ("max", 0, ("-", x, a))]


def take(x: Any, a: int) -> list[Any]:
    """The length of ``x[:a]``."""
    return [("min", x, a), ("-", x, ("max", ("-", x, a), 0)), ("-", a, ("max", ("-", a, x), 0))]


def window(x: Any, a: int, width: int) -> list[Any]:
    """The length of ``x[a:a + width]``."""
    b = a + width
    return [
        ("max", ("-", ("min", x, b), a), 0),
        ("-", ("min", x, b), ("min", x, a)),
        ("min", ("max", ("-", x, a), 0), width),
    ]


def stride(x: Any, step: int) -> list[Any]:
    """The length of ``x[::step]``."""
    return [
        ("//", ("+", x, step - 1), step),
        ("-", 0, ("//", ("-", 0, x), step)),
        ("max", ("+", ("//", ("-", x, 1), step), 1), 0),
        ("+", ("//", x, step), ("min", ("%", x, step), 1)),
    ]


def convolve(x: Any, width: int) -> list[Any]:
    """The length of the valid part of a convolution."""
    return [("max", ("+", ("-", x, width), 1), 0), ("-", x, ("min", x, width - 1))]


def pad(x: Any, a: int) -> list[Any]:
    return [("+", x, a), ("-", x, -a)]


def tile(x: Any, times: int) -> list[Any]:
    return [("*", x, times), ("+", x, ("*", x, times - 1))]


def split(x: Any, a: int) -> list[Any]:
    """The length of the two parts of an array, put together."""
    return [("+", ("min", x, a), ("max", ("-", x, a), 0)), x]


def whole(x: Any, step: int) -> list[Any]:
    """The length of as many whole blocks as there are."""
    return [("*", ("//", x, step), step), ("-", x, ("%", x, step))]


STEPS = (drop, take, window, stride, convolve, pad, tile, split, whole)


def two_spellings(random: Random, length: int, roots: int = 1) -> tuple[Any, Any]:
    """Two trees for the size after some steps; with several roots, arrays of several lengths are put together."""
    first: Any = random.choice(SIZES)
    second = first
    for _ in range(length):
        if roots > 1 and random.random() < 0.3:
            other = random.choice(SIZES[:roots])
            joined = random.choice(("+", "min", "max"))
            first, second = (joined, first, other), (joined, other, second)
            continue
        step = random.choice(STEPS)
        arguments = (random.randint(1, 5), random.randint(1, 5))[: 2 if step is window else 1]
        first = random.choice(step(first, *arguments))
        second = random.choice(step(second, *arguments))
    return first, second


def roll(x: Any, a: int) -> list[Any]:
    """The length of ``x[-a:]`` and ``x[:-a]``, put together."""
    rest = ("max", ("-", x, a), 0)
    return [("+", ("-", x, rest), rest)]


def difference(x: Any, _: int) -> list[Any]:
    return [("-", x, ("min", x, 1))]


def random_step(random: Random, count: int) -> tuple[Any, tuple[int, int]]:
    """A step of a long program: a tree in ``x`` and ``y``, and which of so many lengths these are, mostly late ones."""
    places = [random.randrange(max(count - 6, 0), count) for _ in range(2)]
    choice = random.random()
    if choice < 0.12:
        tree: Any = ("+", "x", "y")
    elif choice < 0.16:
        tree = (random.choice(("min", "max")), "x", "y")
    elif choice < 0.19:
        tree = ("//", ("*", "x", "y"), random.randint(2, 9))  # a reshape
    else:
        step = random.choice((*STEPS, roll, difference, difference))
        arguments = (random.randint(1, 5), random.randint(1, 5))[: 2 if step is window else 1]
        tree = random.choice(step("x", *arguments))
    return tree, (places[0], places[1])


def with_lengths(tree: Any, x: dims.Dim, y: dims.Dim) -> dims.Dim:
    return interpret(tree, _AS_DIMS, {"x": x, "y": y})


def any_tree(random: Random, depth: int) -> Any:
    """Any expression, of all operators."""
    if depth == 0 or random.random() < 0.15:
        name = random.choice((*SIZES, *SIGNED[:1]))
        return random.choice((name, name, random.randint(-9, 9), random.choice((2**31, -(2**31), 2**40))))
    kind = random.choice(tuple(_AS_INTS))
    right = random.randint(1, 8) if kind in ("//", "%") and random.random() < 0.7 else any_tree(random, depth - 1)
    return kind, any_tree(random, depth - 1), right


def some_roots(random: Random) -> dict[str, int]:
    """Values of all roots: often small, sometimes beyond 32 bits."""
    end = random.choice((3, 8, 8, 30, 100, 2**33, 2**62))
    return {name: random.randrange(end) * (random.choice((1, -1)) if name in SIGNED else 1) for name in ROOTS}
