"""Servers that run for long: what leaves a cache of executables leaves the process."""

import gc
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.runtime.executables.devices import synchronous_device

NIGHTLY = "HLOGRAPH_NIGHTLY" in os.environ
KEPT = 1
PAGE = os.sysconf("SC_PAGE_SIZE")


def live() -> int:
    """How many executables this process's clients have."""
    gc.collect()
    own = synchronous_device()
    clients = [jax.devices("cpu")[0].client] + ([] if own is None else [own.client])
    return sum(len(client.live_executables()) for client in clients)


def f(x: Any) -> Any:
    return jnp.tanh(x).sum() + 2 * x[0]


def expected(x: np.ndarray) -> float:
    return float(np.tanh(x).sum() + 2 * x[0])


def function(outputs: str, policy: Any, cache_size: int) -> Any:
    program = hlograph.jit(f, dims={"x": "n"}).program(np.ones(3, np.float32))
    return program.compile(outputs=outputs, policy=policy, cache_size=cache_size)  # type: ignore[call-overload]


def jitted(outputs: str, policy: Any, cache_size: int) -> Any:
    return hlograph.jit(f, dims={"x": "n"}, outputs=outputs, policy=policy, cache_size=cache_size)  # type: ignore[arg-type]


@pytest.mark.usefixtures("young_heap")
@pytest.mark.filterwarnings("ignore:.*compiled anew:hlograph.runtime.executables.policy.RecompilationWarning")
@pytest.mark.parametrize(
    ("make", "policy", "outputs"),
    [(function, "exact", "numpy"), (function, hlograph.Bucket(start=4, multiple=4), "jax"), (jitted, "exact", "jax")],
)
def test_what_leaves_the_cache_is_freed(make: Callable[..., Any], policy: Any, outputs: str) -> None:
    sizes = range(8, 8 + 4 * (60 if NIGHTLY else 3), 4)
    called = make(outputs, policy, KEPT)
    called(np.ones(4, np.float32))
    before = live()
    for size in sizes:
        x = np.linspace(0, 1, size, dtype=np.float32)
        for _ in range(2):
            np.testing.assert_allclose(called(x), expected(x), rtol=1e-5)
    assert live() <= before + KEPT
    called.clear_cache()
    assert live() < before
