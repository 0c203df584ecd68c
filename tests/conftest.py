"""Settings that every test runs under: which platform JAX uses, where PyTensor compiles to, which tests need a GPU."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Both libraries read these once, at import, so they are set before any test module is imported. A value from outside
# wins: `JAX_PLATFORMS=cuda,cpu pytest -m gpu` runs the GPU tests. Each pytest worker compiles in a folder of its own,
# because PyTensor locks the folder while it compiles.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
_compiledir = Path(__file__).resolve().parent.parent / "build" / "pytensor" / _worker
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("PYTENSOR_FLAGS", f"base_compiledir={_compiledir}")

# A first example compiles, the next ones do not: a time limit per example would fail by chance.
settings.register_profile("hlograph", deadline=None)
settings.load_profile("hlograph")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked `gpu` where JAX has no GPU; JAX is asked only when there is such a test."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not _has_gpu():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="JAX has no GPU here (or JAX_PLATFORMS hides it)"))


def _has_gpu() -> bool:
    import jax

    try:
        return bool(jax.devices("gpu"))
    except RuntimeError:  # JAX's way to say that there is no such platform
        return False
