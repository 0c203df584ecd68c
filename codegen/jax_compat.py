"""What differs between JAX releases in its public API, under one name each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
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

        config: Any = jax.config
        return bool(config.jax_enable_x64)


def x64_flag() -> Any:
    """An object whose `value` says whether this thread's JAX sees 64-bit types now; read in every call (30 ns)."""
    import jax

    state = getattr(jax, "enable_x64", None)
    return state if isinstance(getattr(state, "value", None), bool) else _ConfigFlag()


def trace_state() -> Any:
    """JAX's state in this thread: equal to another thread's where no transformation is under way in either."""
    try:
        from jax.extend.core import get_opaque_trace_state
    except ImportError:  # JAX 0.7
        from jax._src.core import get_opaque_trace_state
    return get_opaque_trace_state(convention="nnx")


# XLA:CPU hands reductions of 4,096 elements and more to a library whose maximum and minimum pass NaN over.
_KEEP_NAN = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}


@functools.cache
def keep_nan_options() -> Mapping[str, Any]:
    """Compile options with which XLA:CPU's maximum and minimum keep NaN; none where they do anyway.

    jaxlib 0.10 is known to need them; other releases are asked, once (50 ms).

    Raises:
        RuntimeError: they do not, and the options known here do not help.
    """
    import jax
    import numpy as np

    if version("jaxlib").startswith("0.10."):
        return _KEEP_NAN

    values = np.zeros(4096, np.float32)
    values[1] = np.nan
    (device, *_) = jax.devices("cpu")

    def keeps(options: Mapping[str, Any]) -> bool:
        lowered = jax.jit(lambda x: x.max()).lower(jax.device_put(values, device))
        return bool(np.isnan(lowered.compile(compiler_options=dict(options))(jax.device_put(values, device))))

    for options in ({}, _KEEP_NAN):
        try:
            if keeps(options):
                return options
        except jax.errors.JaxRuntimeError:  # no such option here
            continue
    raise RuntimeError("XLA:CPU's maximum of an array passes NaN over, and no compile option is known that helps")


def x64_caller() -> Callable[[Callable[..., Any], Sequence[Any]], Any]:
    """A function that calls another one, given with its arguments, in `enable_x64(True)`.

    Where JAX's state object offers it, the state is swapped directly, as its context manager does: 0.1 us in place of
    0.5 us in every call from a thread without x64 mode.
    """
    import jax

    state: Any = getattr(jax, "enable_x64", None)
    swap, restore = getattr(state, "swap_local", None), getattr(state, "set_local", None)
    plain = getattr(state, "_update_thread_local_hook", "unknown") is None
    if swap is None or restore is None or not plain:

        def call_in_context(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
            with enable_x64(True):
                return function(*arguments)

        return call_in_context

    def call(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        before = swap(True)
        try:
            return function(*arguments)
        finally:
            restore(before)

    return call


def result_avals(operands: Sequence[Any], types: Sequence[tuple[tuple[Any, ...], Any]]) -> list[Any]:
    """The abstract arrays that an operation of ours returns.

    Inside `jax.shard_map` an array's type says over which mesh axes it varies; results vary as the operands do.

    Args:
        operands: abstract arrays, equal in that respect: see `with_equal_axes`.
        types: shape and dtype of each result.
    """
    import jax

    shaped: Any = jax.core.ShapedArray
    varying: dict[str, Any] = {}
    first = operands[0] if operands else None
    for name in ("manual_axis_type", "vma"):  # the second before JAX 0.10
        value = getattr(first, name, None)
        if value is not None and not getattr(value, "empty", not value):
            varying = {name: value}
            break
    return [shaped(shape, dtype, **_on_mesh(len(shape)), **varying) for shape, dtype in types]


def _on_mesh(ndim: int) -> dict[str, Any]:
    """The sharding of a new array's type inside `jax.shard_map` and under a mesh with explicit axes."""
    import jax
    from jax._src import core

    mesh: Any = getattr(jax.sharding, "get_abstract_mesh", lambda: None)()
    if mesh is None or mesh.empty or not hasattr(core, "get_cur_mesh_sharding"):
        return {}
    return {"sharding": core.get_cur_mesh_sharding(jax.sharding.PartitionSpec(*[None] * ndim))}


def with_equal_axes(arrays: Sequence[Any]) -> Sequence[Any]:
    """Arrays that vary over the same mesh axes, as operands of one operation must inside `jax.shard_map`."""
    from jax._src import core

    names = ("auto_insert_reshard", "standard_insert_pvary", "standard_insert_pbroadcast")  # newest first
    insert: Any = next((getattr(core, name) for name in names if hasattr(core, name)), None)
    equal: Sequence[Any] = arrays if insert is None or len(arrays) < 2 else insert(*arrays)
    return equal


def platforms_of(lowering: Any) -> Sequence[str]:
    """The platforms that a lowering rule's context is for."""
    platforms: Sequence[str] = lowering.platforms or lowering.module_context.platforms or ("cpu",)
    return platforms
