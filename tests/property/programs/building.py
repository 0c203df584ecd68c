"""Recipes made to programs, arguments for them, and smaller recipes that fail too."""

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import builds
import numpy as np

from hlograph.builder import dims as dimension
from hlograph.errors import PaddingError

from .maker import KINDS, NESTING, Maker
from .recipes import (
    BOOL,
    F32,
    F64,
    I32,
    I64,
    Case,
    Choices,
    Dim,
    Given,
    InapplicableError,
    Recipe,
    Tolerance,
    Value,
    maximum,
    minimum,
)


def random_recipe(seed: int) -> Recipe:
    """The recipe of a seed."""
    source = random.Random(seed)

    def numbers(count: int) -> tuple[int, ...]:
        return tuple(source.randrange(5040) for _ in range(count))

    kinds, weights = list(KINDS), [weight for weight, _ in KINDS.values()]
    chosen = source.choices(kinds, weights, k=source.randint(5, 16))
    return Recipe(seed, numbers(40), tuple((kind, numbers(24 if kind in NESTING else 10)) for kind in chosen))


_STYLES = {
    "small": (-4, 4),
    "positive": (1, 5),
    "special": (-3, 3),
    "halves": (-2, 2),
    "real": (-2, 2),
    "index": (-2, 6),
}


def build(recipe: Recipe) -> Case:
    """The program of a recipe."""
    c = Choices(recipe.header)
    names = ["n", "m", "k"][: 1 + c.below(3)]
    bounds = {name: c.pick([3, 4, 2, 5, 6, 1]) for name in names}
    roots: list[Dim] = [dimension.symbol(name) for name in names]
    given = _arguments(c, names, roots, bounds)
    intervals: dict[str, tuple[int | None, int | None]] = {name: (0, bound) for name, bound in bounds.items()}
    signed: list[Dim] = []
    if c.below(2):
        bounds["c"], intervals["c"] = 4, (-4, 4)
        signed.append(dimension.symbol("c", signed=True))
        given.append(Given("c", I64, (), "size"))
    arguments = [(g.dims, g.dtype, "c") if g.style == "size" else (g.dims, g.dtype) for g in given]
    function = builds.Build(*arguments, names=[g.name for g in given])
    values = []
    for g, handle in zip(given, function.args, strict=True):
        if g.style == "size":
            handle.sizes = (signed[0],)
            continue
        low, high = _STYLES[g.style] if g.dtype != BOOL else (0, 1)
        grid = {"halves": 1, "real": None}.get(g.style, 0)
        values.append(Value(handle, low, high, grid, 0, g.style == "special"))
    m = Maker(function.builder, values, _pool(roots), intervals, signed)
    own = len(values)
    kinds = []
    for name, numbers in recipe.steps:
        try:
            KINDS[name][1](m, Choices(numbers))
        except InapplicableError:
            continue
        kinds.append(name)
    results = [v for v in m.values[own:] if v.tensor.uid not in m.used][-10:] or m.values[-1:]
    program = function.program(*[v.tensor for v in results])
    tolerances = tuple(
        Tolerance(v.exact, 0.0 if v.exact else 4 * v.error * float(np.finfo(v.dtype).eps) + 1e-30) for v in results
    )
    return Case(program, bounds, tuple(given), tolerances, tuple(kinds), m.interpretable)


def _pool(roots: Sequence[Dim]) -> list[Dim]:
    first, last = roots[0], roots[-1]
    pool: list[Dim] = [*roots, 2, 3, 1, first + last, 2 * first, last // 2, maximum(first - 1, 0), first + 1, 4]
    return [*pool, minimum(first, last), first * last] if first != last else pool


def _arguments(c: Choices, names: Sequence[str], roots: Sequence[Dim], bounds: Mapping[str, int]) -> list[Given]:
    """One for each root, some more, and an integer scalar."""
    given = []
    count = len(roots) + 2 + c.below(2)
    for number in range(count):
        dims: list[Dim] = [c.pick([*roots, 2, 3, 1]) for _ in range(c.below(3))]
        if number < len(roots):
            dims.insert(c.below(len(dims) + 1), roots[number])
        elif c.one_in(4):
            dims.append(2 * roots[0])
        if number == count - 1:
            dims = dims[:2] or [c.pick([roots[-1], 3])]
            given.append(Given(f"x{number}", c.pick([I32, I64]), tuple(dims), "index"))
            continue
        style = c.pick(["small", "positive", "special", "halves", "small", "real"])
        dtype = c.pick([F64, F64, F32, I32, BOOL]) if style in ("small", "positive") else c.pick([F64, F32])
        given.append(Given(f"x{number}", dtype, tuple(dims), style))
    given.append(Given("i", I32, (), "index"))
    return given


def sizes_of(case: Case, recipe: Recipe, count: int) -> list[dict[str, int]]:
    """Some sets of sizes that the program accepts: the bounds, and others with many ends among them."""
    source = random.Random(recipe.seed)
    found = [dict(case.bounds)] if source.random() < 0.4 else []
    for _ in range(30):
        if len(found) == count:
            break
        sizes = {}
        for root in case.program.signature.roots:
            bound = case.bounds[root.name]
            ends = [0, 1, 2, bound - 1, bound]
            sizes[root.name] = (
                source.randint(-bound, bound) if root.kind == "value" else min(source.choice(ends), bound)
            )
        sizes |= {name: bound for name, bound in case.bounds.items() if name not in sizes}
        if sizes not in found:
            found.append(sizes)
    return [sizes for sizes in found if all(one.holds(sizes) for one in case.program.signature.constraints)]


def arrays_of(case: Case, recipe: Recipe, sizes: Mapping[str, int]) -> list[np.ndarray]:
    """Arguments for given sizes."""
    source = np.random.default_rng([recipe.seed, *[value + 100 for value in sizes.values()]])
    arrays = []
    for g in case.given:
        shape = tuple(dimension.evaluate(dim, sizes) for dim in g.dims)
        if g.style == "size":
            arrays.append(np.array(sizes["c"], g.dtype))
        elif g.dtype == BOOL:
            arrays.append(np.asarray(source.random(shape) < 0.5))
        else:
            low, high = _STYLES[g.style]
            if g.style == "real":
                array = source.uniform(low, high, shape)
            elif g.style == "halves":
                array = source.integers(2 * low, 2 * high + 1, shape) / 2
            else:
                array = source.integers(low, high + 1, shape)
            array = np.asarray(array, g.dtype)
            if g.style == "special" and array.size:
                odd = source.choice([np.nan, np.inf, -np.inf, -0.0], shape)
                array = np.where(source.random(shape) < 0.2, odd, array).astype(g.dtype)
            arrays.append(array)
    return arrays


def shrink(recipe: Recipe, fails: Callable[[Recipe], bool], attempts: int = 300) -> Recipe:
    """A smaller recipe that fails too: without steps that do not matter, and with smaller numbers."""
    left = attempts

    def better(candidate: Recipe) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and fails(candidate)

    changed = True
    while changed and left > 0:
        changed = False
        for at in reversed(range(len(recipe.steps))):
            candidate = replace(recipe, steps=recipe.steps[:at] + recipe.steps[at + 1 :])
            if better(candidate):
                recipe, changed = candidate, True
        for at, (name, numbers) in enumerate(recipe.steps):
            for place, number in enumerate(numbers):
                for smaller in dict.fromkeys((0, number % 6)):
                    if smaller >= number:
                        continue
                    fewer = (*numbers[:place], smaller, *numbers[place + 1 :])
                    candidate = replace(recipe, steps=(*recipe.steps[:at], (name, fewer), *recipe.steps[at + 1 :]))
                    if better(candidate):
                        recipe, numbers, changed = candidate, fewer, True
                        break
    return recipe


def explain(
    recipe: Recipe,
    error: Exception,
    run: Callable[[Recipe], object],
    file: str,
    shown: Callable[[Recipe], Case] | None = None,
) -> str:
    """What went wrong in a test's `run`, for a program as small as can be found; a refusal to pad it is no failure."""

    def fails(smaller: Recipe) -> bool:
        try:
            run(smaller)
        except PaddingError:
            return False
        except Exception as other:
            return type(other) is type(error)
        return False

    small = shrink(recipe, fails, int(os.environ.get("HLOGRAPH_SHRINK", "100")))
    try:
        run(small)
    except Exception as found:
        error = found
    lines = [f"HLOGRAPH_SEED={recipe.seed} HLOGRAPH_PROGRAMS=1 pytest {file}", f"{type(error).__name__}: {error}"]
    return "\n".join([*lines, f"reduced to {small}", str(shown(small).program) if shown else ""])
