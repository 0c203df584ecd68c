"""A barrier between an update and a reshape of it, without which XLA:CPU reads what it has overwritten."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph import Program


def test_a_barrier_stands_before_the_reshape_alone():
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    for reshaped in (True, False):
        function = (lambda x: x.at[1:].set(x[:-1])[None]) if reshaped else (lambda x: x.at[1:].set(x[:-1]) + 1)
        before = Program.parse(jax.jit(function).lower(x).as_text())
        after = before.run_passes(["cpu_updates"])
        assert after.op_counts().get("stablehlo.optimization_barrier", 0) == reshaped
        np.testing.assert_array_equal(after.interpret(x)[0], before.interpret(x)[0])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("cpu", ["plain", "auto"])
@pytest.mark.parametrize("shape", [(1, 8, 16), (2, 4, 16), (8, 4, 4)])
@pytest.mark.parametrize(
    "shifted",
    [
        lambda x: x.at[1:].set(x[:-1]),
        lambda x: x.at[2:].add(3 * x[:-2]),
        lambda x: jax.lax.dynamic_update_slice(x, x[:-1, :-1], (1, 1)),
        lambda x: x.at[:-1].set(x[1:]),
    ],
    ids=["set", "add", "both axes", "back"],
)
def test_updates_made_of_the_array_and_then_reshaped(shifted: Any, shape: tuple[int, ...], cpu: Any) -> None:
    x = np.random.default_rng(1).normal(size=(8, 16))
    with jax.enable_x64(True):
        spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
        program = hlograph.emit_stablehlo(lambda x: shifted(x * 2.0).reshape(shape), spec)
        wanted = np.asarray(shifted(jnp.asarray(x * 2.0))).reshape(shape)
        fn = program.compile(cpu=cpu)
        np.testing.assert_allclose(fn(x), wanted, rtol=1e-12)
        np.testing.assert_allclose(jax.jit(lambda x: fn(x) + 0.0)(x), wanted, rtol=1e-12)
