"""Whether XLA:CPU still makes one kernel of a call with `xla_cpu_small_call`, which one-kernel plans stand on.

In: nothing. Out: numbers of kernels, read from the executable that JAX's public `serialize_executable` gives: each
kernel is a module of its own in there, named after its HLO.
"""

import re
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.serialize_executable import serialize
from jax.experimental.xla_metadata import set_xla_metadata

import hlograph

_KERNEL = re.compile(rb"__compute_module_([\w.-]*)_kernel_module")


def _model(x):
    """Reductions of which one needs the other, and a loop: several kernels as XLA splits it."""
    products = (x[:, None] * x[None, :]).sum(0)
    total = (jnp.exp(x) * jnp.tanh(products).sum()).sum()
    return jax.lax.fori_loop(0, 5, lambda _, c: (c * total).sum() * 0.1 + jnp.sin(c), products).sum() + total


def small_call(function):
    """The function as one kernel: a call that XLA:CPU does not inline and compiles as a whole."""

    def body(*arguments):
        with set_xla_metadata(xla_cpu_small_call=None, inlineable=None):
            return function(*arguments)

    def outer(*arguments):
        with set_xla_metadata(xla_cpu_small_call="true", inlineable="false"):
            return jax.jit(body)(*arguments)

    return outer


def kernels_of(compiled: jax.stages.Compiled) -> int:
    """How many kernels an executable for CPU has."""
    return len(set(_KERNEL.findall(serialize(compiled)[0])))


def counts() -> tuple[int, int]:
    """Kernels of a model as XLA splits it, and of the same model in a small call."""
    x = np.arange(1, 9, dtype=np.float32)
    options = {"xla_disable_hlo_passes": "dot-library-rewriter,cpu-parallel-task-assigner"}
    plain, small = (
        jax.jit(function, compiler_options=options).lower(x).compile() for function in (_model, small_call(_model))
    )
    np.testing.assert_allclose(small(x), plain(x), rtol=1e-5)
    return kernels_of(plain), kernels_of(small)


def line() -> str:
    """One line: whether one-kernel plans still form with this jaxlib."""
    plain, small = counts()
    function = hlograph.jit(_model, outputs="numpy")
    x = np.arange(1, 9, dtype=np.float32)
    np.testing.assert_allclose(function(x), jax.jit(_model)(x), rtol=1e-5)
    refused = function.stats.retries
    forms = small == 1 < plain and not refused
    verdict = "one-kernel plans form" if forms else "one-kernel plans DO NOT form"
    how = f"{plain} kernels as XLA splits them, {small} in a small call"
    return f"jaxlib {version('jaxlib')}: {verdict} ({how}; plans refused: {refused})"


if __name__ == "__main__":
    print(line())
