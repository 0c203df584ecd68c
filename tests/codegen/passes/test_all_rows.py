"""Only CPUs get a branch: for other platforms sums that need one are over all rows, and what needs none over fewer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph

pytestmark = pytest.mark.usefixtures("jax_x64")

N = 128
X = np.random.default_rng(0).normal(size=(N, 3))
FEW = X[np.arange(N) % 8]
# A density, whether fewer rows need a branch, and how many are left.
DENSITIES: dict[str, tuple[Callable[[Any], Any], bool, int]] = {
    "linear columns": (lambda b: jnp.sum((X[:, 0] - X[:, 1:] @ b[3:]) ** 2), True, 4),
    "counted rows": (lambda b: jnp.sum(jnp.exp(FEW @ b[:3])), False, 8),
}


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_rows_by_platform(name: str, platform: str) -> None:
    density, needs_branch, rows = DENSITIES[name]
    function = hlograph.jit(jax.value_and_grad(density), optimize=["inline", "compress_rows{rows=32}"])
    text = jax.export.export(jax.jit(function), platforms=[platform])(np.ones(5)).mlir_module()
    branches = needs_branch and platform == "cpu"
    assert ("stablehlo.if" in text or "stablehlo.case" in text) == branches
    assert (f"tensor<{N}x" in text) == needs_branch
    assert (f"tensor<{rows}x" in text) == (branches or not needs_branch)
