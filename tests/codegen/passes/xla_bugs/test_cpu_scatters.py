"""A barrier before the operand of a scatter, without which XLA:CPU passes over updates of integers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph

NUMBERS = jax.lax.ScatterDimensionNumbers((1, 2), (), (1,))


@pytest.mark.parametrize("cpu", ["plain", "auto"])
@pytest.mark.parametrize("dtype", ["i4", "u1", "f4"])
@pytest.mark.parametrize(("scatter", "of"), [(jax.lax.scatter_add, np.sum), (jax.lax.scatter_max, np.max)])
def test_all_updates_of_an_axis_of_one_element_are_taken_in(scatter: Any, of: Any, dtype: str, cpu: Any) -> None:
    updates = np.random.default_rng(3).integers(1, 9, (4, 5, 1)).astype(dtype)
    places = jnp.zeros((4, 1), jnp.int32)

    def scattered(u: Any) -> Any:
        return scatter(jnp.zeros((5, 1), dtype), places, u, NUMBERS)

    spec = jax.ShapeDtypeStruct(updates.shape, updates.dtype)
    wanted = of(updates, axis=0).astype(dtype)
    fn = hlograph.emit_stablehlo(scattered, spec).compile(cpu=cpu)
    np.testing.assert_array_equal(fn(updates), wanted)
    np.testing.assert_array_equal(jax.jit(lambda u: fn(u) + 0)(updates), wanted)
    np.testing.assert_array_equal(hlograph.jit(scattered)(updates), wanted)
