"""A barrier between an update and a reshape of it, without which XLA:CPU reads what it has overwritten."""

from __future__ import annotations

import jax
import numpy as np

from hlograph.codegen.program import Program


def lowered(function, x):
    return Program.parse(jax.jit(function).lower(x).as_text())


def test_shifted_rows():
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    before = lowered(lambda x: x.at[1:].set(x[:-1])[None], x)
    after = before.run_passes(["cpu_updates"])
    assert after.op_counts()["stablehlo.optimization_barrier"] == 1
    expected = np.concatenate([x[:1], x[:-1]])[None]
    np.testing.assert_array_equal(after.interpret(x)[0], expected)
    np.testing.assert_array_equal(after.compile(optimize="none", cpu="plain")(x), expected)


def test_what_is_not_reshaped_stays():
    before = lowered(lambda x: x.at[1:].set(x[:-1]) + 1, np.zeros((6, 8), np.float32))
    assert before.run_passes(["cpu_updates"]).text == before.text
