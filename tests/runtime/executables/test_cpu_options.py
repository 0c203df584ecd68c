"""Compile options that keep XLA:CPU's numbers right, on whichever jaxlib is here."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.codegen.ir import jax_compat

pytestmark = pytest.mark.optimized  # what XLA makes of a module

SHAPES: list[tuple[tuple[int, ...], int | None]] = [
    ((1,), None),
    ((4095,), None),
    ((4096,), None),
    ((70_000,), None),
    ((300, 50), 0),
    ((300, 50), 1),
    ((4, 4100), 1),
    ((4100, 4), 0),
]


def compiled(function: Any, *shapes: tuple[int, ...], dtype: Any) -> hlograph.Function:
    with jax.enable_x64(True):
        specs = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
        return hlograph.emit_stablehlo(function, *specs).compile(cpu="plain")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_maximum_minimum_and_their_places_see_nan(dtype: str, shape: tuple[int, ...], axis: int | None) -> None:
    functions = (jnp.max, jnp.min, jnp.argmax, jnp.argmin)
    fn = compiled(lambda x: [f(y, axis=axis) for f in functions for y in (x, x * 2 + 1)], shape, dtype=jnp.dtype(dtype))
    size = int(np.prod(shape))
    for place in {0, size // 2, size - 1}:
        x = np.random.default_rng(0).normal(size=shape).astype(jnp.dtype(dtype))
        x.reshape(-1)[place] = np.nan
        missing = np.isnan(x.astype(np.float64)).any(axis=axis)
        for number, found in enumerate(map(np.asarray, fn(x))):
            if number < 4:
                np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), missing)
            else:
                wanted = np.isnan(x.astype(np.float64)).argmax(axis=axis)
                np.testing.assert_array_equal(found[missing], wanted[missing])


@pytest.mark.parametrize(("dtype", "rows"), [("float64", 16_385), ("float32", 32_769)])
def test_sums_of_matrix_products(dtype: str, rows: int) -> None:
    """jaxlib 0.10.1 and 0.10.2 leave rows out (jax#39103): the latter always, the former where it has to keep NaN."""

    def function(x: Any) -> Any:
        squares = jax.vmap(lambda row: jnp.sum((jnp.eye(3, dtype=x.dtype) @ row) ** 2))(x)
        return squares, squares.max()

    x = np.zeros((rows, 3), dtype)
    x[:, 0] = np.arange(rows)
    squares, largest = compiled(function, x.shape, dtype=x.dtype)(x)
    np.testing.assert_allclose(squares, np.arange(rows, dtype=np.float64) ** 2, rtol=1e-6)
    assert float(largest) == float(np.asarray(squares)[-1])


def test_a_release_that_is_not_known_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(jax_compat.keep_nan_options())
    monkeypatch.setattr(jax_compat, "version", lambda name: "0.99.1")
    asked = dict(jax_compat.keep_nan_options.__wrapped__())
    x = np.zeros(10_000, np.float32)
    x[77] = np.nan
    for options in (known, asked):
        assert np.isnan(jax.jit(jnp.max, compiler_options=options)(x))
