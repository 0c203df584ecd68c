"""What differs between JAX releases in its public API, under one name each."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def enable_x64(new_value: bool) -> AbstractContextManager[Any]:
    """A context in which this thread's JAX calls see 64-bit types (or not); the global flag stays as it is."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(new_value)
    from jax import experimental

    context: Any = experimental
    return context.enable_x64(new_value)


class _ConfigFlag:
    """The x64 mode of this thread, in JAX releases whose `jax.enable_x64` is no state object."""

    @property
    def value(self) -> bool:
        """Whether JAX sees 64-bit types now."""
        import jax

        return bool(jax.config.jax_enable_x64)


def x64_flag() -> Any:
    """An object whose `value` says whether this thread's JAX sees 64-bit types now (30 ns; it is read in every call)."""
    import jax

    state = getattr(jax, "enable_x64", None)
    return state if isinstance(getattr(state, "value", None), bool) else _ConfigFlag()
