"""What differs between JAX releases in its public API, under one name each."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def enable_x64(new_value: bool) -> AbstractContextManager[Any]:
    """A context in which this thread's JAX calls see 64-bit types (or not); the global flag stays as it is."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(new_value)
    from jax.experimental import enable_x64 as experimental

    return experimental(new_value)
