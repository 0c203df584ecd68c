"""Unrolled loops in the body of a loop that stays a loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from hlograph import Program
from hlograph.codegen.ir.bindings import run_pipeline
from hlograph.codegen.ir.functions import inline_calls
from hlograph.codegen.passes.roll_loops import plan


@pytest.fixture(autouse=True)
def small_programs_roll_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "AGAIN", 0)


def lowered(function: Any, *arrays: Any) -> Program:
    return Program.parse(jax.jit(function).lower(*arrays).as_text())


def unrolled(x: Any, t: Any) -> Any:
    for p in t:
        x = jnp.sin(x) * p + jnp.cos(x)
    return x


@pytest.mark.parametrize("inlined", [False, True])
def test_in_the_body_of_a_loop(inlined: bool) -> None:
    """JAX calls a function there; with the call inlined, the loop's body itself is long."""

    def function(x: Any, t: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, y: unrolled(y, t) + i, x)

    arrays = np.float32(0.3), np.linspace(0, 1, 100, dtype=np.float32)
    before = lowered(function, *arrays)
    if inlined:
        module = before.copy_module()
        inline_calls(module)
        run_pipeline(module, "symbol-dce")
        before = Program.parse(str(module))
    after = before.run_passes(["roll_loops"])
    assert after.op_counts()["stablehlo.while"] == 2
    assert sum(after.op_counts().values()) < 0.5 * sum(before.op_counts().values())
    np.testing.assert_array_equal(after.interpret(*arrays)[0], before.interpret(*arrays)[0])


def test_unrolled_twice() -> None:
    """An inner loop of 30 steps in each of 12 outer ones: a loop in a loop."""

    def function(x: Any, t: Any) -> Any:
        for step in range(12):
            x = jnp.tanh(unrolled(x, t)) + step
        return x

    arrays = np.float32(0.3), np.linspace(0, 1, 30, dtype=np.float32)
    before = lowered(function, *arrays)
    after = before.run_passes(["roll_loops"])
    assert after.op_counts()["stablehlo.while"] == 2
    assert sum(after.op_counts().values()) < 0.15 * sum(before.op_counts().values())
    np.testing.assert_array_equal(after.interpret(*arrays)[0], before.interpret(*arrays)[0])


def test_a_short_body_that_runs_often_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "AGAIN", 8)
    arrays = np.float32(0.3), np.linspace(0, 1, 40, dtype=np.float32)
    before = lowered(lambda x, t: lax.fori_loop(0, 3, lambda i, y: unrolled(y, t), x), *arrays)
    assert str(before.run_passes(["roll_loops"])) == str(before)
