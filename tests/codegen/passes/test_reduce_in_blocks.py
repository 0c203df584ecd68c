"""Large arrays that are only reduced, made in blocks: the same numbers, and no large array."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest

import hlograph
from hlograph import Program
from hlograph.passes import Report

# 67 rows of 61 columns, in blocks that leave some over.
ROWS, COLUMNS, WIDTH = 67, 61, 2
LARGE = 2000
SMALL = f"elements={LARGE},block=2000"


def arrays(dtype: Any = np.float32) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = (ROWS, WIDTH), (COLUMNS, WIDTH), (COLUMNS,)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def kernel(x, y):
    return jnp.exp(-((x[:, None, :] - y[None, :, :]) ** 2).sum(-1))


def by_dots(x, y):
    return jnp.exp(2 * x @ y.T - (x * x).sum(1)[:, None] - (y * y).sum(1))


def causal(x, y):
    scores = x @ y.T
    row, column = (jnp.arange(size) for size in scores.shape)
    return jnp.where(column[None, :] <= row[:, None], scores, -jnp.inf)


def normalized(x, y, b):
    k = kernel(x, x)
    roots = jnp.sqrt(k.sum(1))
    return (k / roots[:, None] / roots[None, :]) @ x[:, 0] + b.sum() * y.sum()


FUNCTIONS: dict[str, Callable[..., jax.Array]] = {
    "product": lambda x, y, b: kernel(x, y) @ b,
    "product by dots": lambda x, y, b: by_dots(x, y) @ b,
    "transposed": lambda x, y, b: x.T @ kernel(x, y),
    "several": lambda x, y, b: kernel(x, y) @ b + jnp.max(kernel(x, y), 1) * jnp.min(by_dots(x, y), 1),
    "softmax": lambda x, y, b: jax.nn.softmax(x @ y.T, axis=1) @ b,
    "softmax of columns": lambda x, y, b: jax.nn.softmax(x @ y.T, axis=0) @ b,
    "causal": lambda x, y, b: jax.nn.logsumexp(causal(x, y), axis=1) + b.sum(),
    "batch": lambda x, y, b: jax.vmap(lambda s: kernel(x * s, y) @ b)(jnp.linspace(0.5, 1.5, 3)),
    "one loop behind the other": lambda x, y, b: kernel(x, y) @ ((kernel(x, y) @ b) @ kernel(x, y)),
    "rows that are columns": normalized,
    "sorted": lambda x, y, b: jnp.sort(jnp.abs(x @ y.T), axis=1)[:, 1:3].sum(1) + b.sum(),
    "nearest": lambda x, y, b: jnp.argmin(by_dots(x, y), axis=1) + jnp.zeros_like(b).sum(),
    "in a loop": lambda x, y, b: jax.lax.fori_loop(0, 3, lambda i, u: jnp.tanh(kernel(x, y).T @ (kernel(x, y) @ u)), b),
}


def program_of(function: Callable[..., Any], given: list[np.ndarray]) -> Program:
    return Program.parse(jax.jit(function, keep_unused=True).lower(*given).as_text())


def in_blocks(program: Program, options: str = SMALL) -> tuple[Program, str]:
    reports: list[Report] = []
    made = program.optimize([f"reduce_in_blocks{{{options}}}"], reports=reports)
    return made, reports[0].text


def biggest(text: str) -> int:
    """The number of elements of the largest tensor in a module."""
    shapes = re.findall(r"tensor<((?:\d+x)+)", text)
    return max(int(np.prod([int(size) for size in shape.split("x")[:-1]])) for shape in shapes)


CASES = [(name, grad, exact) for name in FUNCTIONS for grad in (False, True) for exact in (True, False)]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("name", "grad", "exact"), CASES)
def test_the_same_numbers_and_no_large_array(name: str, grad: bool, exact: bool) -> None:
    given = arrays(np.float64)
    function = FUNCTIONS[name]
    if grad:
        if name in ("nearest", "sorted", "in a loop"):
            pytest.skip("no derivative, or arrays that are written or kept as a whole")
        inner = function
        function = jax.grad(lambda *args: (inner(*args) ** 2).sum(), argnums=(0, 1, 2))
    with jax.enable_x64(True):
        program = program_of(function, given)
    options = SMALL + ",reassociate=false" * exact
    made, text = in_blocks(program, options)
    lines = [line for line in text.splitlines() if "left alone" in line]
    assert all("XLA makes each element where it is added up" in line for line in lines), text
    assert lines or biggest(made.text) < LARGE <= biggest(program.text)
    assert "at a time" in text
    for wanted, found in zip(program.interpret(*given), made.interpret(*given), strict=True):
        if exact:
            np.testing.assert_array_equal(found, wanted)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * float(np.abs(wanted).max()))


@pytest.mark.parametrize(
    ("name", "function", "reason"),
    [
        ("returned", lambda x, y, b: kernel(x, y), "the whole array is needed by func.return"),
        ("one sum", lambda x, y, b: kernel(x, y).sum(1), "XLA makes each element where it is added up"),
        ("both ways", lambda x, y, b: (kernel(x, x) + kernel(x, x).T) @ x, "no axis of 67x67"),
        ("cholesky", lambda x, y, b: jnp.linalg.cholesky(kernel(x, x)).sum(), "the whole array is needed by"),
    ],
)
def test_what_is_left_alone_says_why(name: str, function: Callable[..., Any], reason: str) -> None:
    program = program_of(function, arrays())
    made, text = in_blocks(program)
    assert f"left alone: {reason}" in text
    assert made.text == program.text


def test_a_large_argument_is_no_region() -> None:
    weights = np.ones((ROWS, COLUMNS), np.float32)
    assert "it is made from " in in_blocks(program_of(lambda w, b: jnp.exp(w) @ b, [weights, weights[0]]))[1]


def test_initial_values_and_integers() -> None:
    """A sum that begins with another number than 0 takes it in once; integers keep every bit in any order."""

    def function(x, y, s):
        product = x[:, None] * y
        return jax.lax.reduce(product, s, jax.lax.add, (0,)), jax.lax.reduce(product, s, jax.lax.max, (0,))

    rng = np.random.default_rng(1)
    x, y = (rng.integers(-(2**31), 2**31, size).astype(np.int32) for size in (40, 20))
    start = np.int32(7)
    wanted = x[:, None] * y
    for block in (320, 160 * 3):  # columns of 160 bytes, which are kept; too few of them, so rows
        options = f"elements=500,block={block},reassociate={'false' if block == 320 else 'true'}"
        made, told = in_blocks(program_of(function, [x, y, start]), options)
        assert "left alone" not in told
        total, greatest = made.interpret(x, y, start)
        np.testing.assert_array_equal(total, wanted.sum(0, dtype=np.int32) + start)
        np.testing.assert_array_equal(greatest, np.maximum(wanted.max(0), start))


PASS = f"reduce_in_blocks{{{SMALL}}}"


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_graphs_of_pytensor_and_lengths(policy: str) -> None:
    x, y, b = pt.dvector("x"), pt.dvector("y"), pt.dvector("b")
    product = pt.exp(-((x[:, None] - y[None, :]) ** 2)) @ b
    outputs = [product, *pt.grad(product.sum(), [x, y, b])]
    function = hlograph.function([x, y, b], outputs, policy=policy, optimize=["simplify", PASS])
    rng = np.random.default_rng(2)
    for rows, columns in ((67, 61), (53, 47)):
        xs, ys, bs = rng.normal(size=rows), rng.normal(size=columns), rng.normal(size=columns)
        found = function(xs, ys, bs)
        difference = xs[:, None] - ys
        matrix = np.exp(-(difference**2))
        slope = -2 * difference * matrix * bs
        wanted = [matrix @ bs, slope.sum(1), -slope.sum(0), matrix.sum(0)]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    assert "stablehlo.while" in function.lower(np.ones(67), np.ones(61), np.ones(61)).as_text()


def test_no_large_array_is_kept_for_the_gradient_in_a_jit() -> None:
    """Nothing large is kept between a function and its pullback, nor made in them, where a number comes behind."""
    x, y, b = np.ones((4200, 2), np.float32), np.ones((4000, 2), np.float32), np.ones(4000, np.float32)
    compiled = hlograph.jit(lambda x, y, b: by_dots(x, y) @ b)
    gradients = jax.value_and_grad(lambda *args: (compiled(*args) ** 2).sum(), argnums=(0, 1, 2))
    text = jax.jit(gradients).lower(x, y, b).as_text()
    assert text.count("stablehlo.while") == 2
    assert biggest(text) < 4200 * 4000 // 4
