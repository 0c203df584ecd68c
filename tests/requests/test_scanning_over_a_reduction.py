"""The request of jax-ml/jax#4968: a reduction over the outputs of a scan should happen inside the scan.

The two programs are the request's. What is asked of the slow one: what the fast one has, no array of all steps, in the
function and in the training loop's gradient, of any length and batch, without a second implementation of the model.
"""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.lax import scan

import hlograph


# fmt: off
def slow(x):
    return scan(lambda carry, _: (jnp.sin(carry), jnp.sin(carry)), x, None, length=10)[1].mean()


def fast(x):
    return scan(lambda carry, _: (jnp.sin(carry), jnp.sin(carry).mean()), x, None, length=10)[1].mean()
# fmt: on


def model(w: Any, xs: Any) -> Any:
    """A model whose output, for each step, is the stacked output of a scan."""
    return scan(lambda h, x: (jnp.tanh(w @ h + x),) * 2, jnp.zeros(w.shape[0], xs.dtype), xs)[1]


def loss(w: Any, xs: Any, ys: Any) -> Any:
    """The mean squared error of the model, which knows nothing of it."""
    return ((model(w, xs) - ys) ** 2).mean()


def stacked(text: str, steps: int, *shape: int) -> int:
    """How often an array of all steps is made."""
    dims = "x".join(map(str, (steps, *shape)))
    return len(re.findall(rf"stablehlo\.(?:dynamic_update_slice|while|broadcast_in_dim).*tensor<{dims}xf", text))


def sines(x: np.ndarray) -> float:
    values = [x := np.sin(x) for _ in range(10)]
    return float(np.mean(values))


@pytest.mark.parametrize("dims", [{}, {"x": ("n",)}], ids=["static", "named"])
def test_the_reduction_is_inside_the_scan(dims):
    x = np.linspace(0.1, 2.0, 1000)
    with jax.enable_x64(True):
        ours = hlograph.jit(slow, dims=dims, policy="exact")
        np.testing.assert_allclose([ours(x), jax.jit(fast)(x)], sines(x), rtol=1e-13)
        lowered = ours.lower(x)
        assert stacked(lowered.as_text(), 10, 1000) == 0 < stacked(jax.jit(slow).lower(x).as_text(), 10, 1000)
        found = lowered.compile().memory_analysis(), jax.jit(fast).lower(x).compile().memory_analysis()
        # Beside the state: its sum, what rounding takes from that, and a step's sum. All steps are 80,000 bytes.
        assert found[0].temp_size_in_bytes <= found[1].temp_size_in_bytes + 3 * 8 * 1000


def test_one_model_serves_inference_and_training():
    generator = np.random.default_rng(3)
    w, xs, ys = generator.normal(size=(4, 4)) / 3, generator.normal(size=(50, 4)), generator.normal(size=(50, 4))
    h, hs = np.zeros(4), []
    for x in xs:
        h = np.tanh(w @ h + x)
        hs.append(h)
    cotangent, gradient = np.zeros(4), np.zeros((4, 4))
    for t in reversed(range(50)):
        before = hs[t - 1] if t else np.zeros(4)
        back = (cotangent + 2 * (hs[t] - ys[t]) / 200) * (1 - hs[t] ** 2)
        gradient += np.outer(back, before)
        cotangent = w.T @ back
    with jax.enable_x64(True):
        train = hlograph.jit(jax.value_and_grad(loss), dims={"xs": ("t", 4), "ys": ("t", 4)}, policy="exact")
        value, found = train(w, xs, ys)
        np.testing.assert_allclose(value, np.mean((np.array(hs) - ys) ** 2), rtol=1e-12)
        np.testing.assert_allclose(found, gradient, rtol=1e-10)
        np.testing.assert_allclose(hlograph.jit(model, dims={"xs": ("t", 4)})(w, xs), hs, rtol=1e-12)
