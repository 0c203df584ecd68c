"""Each fault of XLA, shown to the installed jaxlib without hlograph: where a release is free of it, its pass may go."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from hlograph.codegen.passes.xla_bugs import BUGS, Bug

# What XLA gets wrong, by the name of the pass: ends with an error, or the process, where it does.
REPRODUCERS = {
    "doubled_counters": """
        def double(x):
            return jax.lax.while_loop(lambda c: c[0] < 50, lambda c: (c[0] + c[0], c[1] * 2), (1, x))
        count, value = jax.jit(double)(jnp.float32(3))
        assert (int(count), float(value)) == (64, 192)""",
    "cpu_updates": """
        x = np.arange(48, dtype=np.float32).reshape(6, 8)
        found = jax.jit(lambda x: x.at[1:].set(x[:-1])[None])(x)
        np.testing.assert_array_equal(found, np.concatenate([x[:1], x[:-1]])[None])""",
    "cpu_scatters": """
        zeros, numbers = jnp.zeros((4, 1), jnp.int32), jax.lax.ScatterDimensionNumbers((1, 2), (), (1,))
        add = jax.jit(lambda u: jax.lax.scatter_add(zeros, zeros, u, numbers))
        np.testing.assert_array_equal(add(np.full((4, 4, 1), 2, np.int32)), np.full((4, 1), 8))""",
    "cpu_initial": """
        found = jax.jit(lambda x: jax.lax.reduce(x, np.int32(3), jax.lax.add, (0,)))(np.ones(100, np.int32))
        assert found == 103""",
    "cpu_nan": """
        x = np.zeros(4096, np.float32)
        x[7] = np.nan
        assert np.isnan(jax.jit(jnp.max)(x))""",
}
BEFORE = "import jax, jax.numpy as jnp, numpy as np\nif True:"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_installed_release_has_it(bug: Bug) -> None:
    release = version("jaxlib")
    command = [sys.executable, "-c", BEFORE + REPRODUCERS[bug.name]]
    run = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    if release.startswith(bug.has):
        assert run.returncode, f"jaxlib {release} is listed among those that have it, and is free of {bug.name}"
    elif release.startswith(bug.free):
        assert not run.returncode, f"jaxlib {release} is listed among those that are free of {bug.name}: {run.stderr!r}"
    else:
        assert run.returncode, f"jaxlib {release} no longer needs {bug.name}: list it in `free`"
