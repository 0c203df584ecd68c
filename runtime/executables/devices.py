"""Devices by name, where arrays lie, and what XLA must be told on a device."""

from __future__ import annotations

from typing import Any

import jax

from ...codegen.errors import HlographError
from ...codegen.ir.jax_compat import keep_nan_options, keep_products_options
from ...codegen.passes import cpu_nan
from ...codegen.program import Program

LIBRARY_REDUCTION = cpu_nan.ELEMENTS  # from which XLA:CPU's maximum and minimum may pass NaN over


def find_device(device: Any) -> Any:
    """The `jax.Device` for "cpu", "gpu", "tpu", a device, or None (JAX's default).

    Raises:
        HlographError: no such platform here.
    """
    if device is None or not isinstance(device, str):
        return device
    try:
        return jax.devices(device)[0]
    except RuntimeError as error:
        raise HlographError(f"no device {device!r} is available: {error}") from None


def default_device() -> Any:
    """The `jax.Device` that JAX uses now where none is named."""
    config: Any = jax.config
    default = config.jax_default_device
    return find_device(default) if default is not None else jax.devices()[0]


def is_sharded(value: Any) -> bool:
    """Whether an argument lies on several devices: padding would move it, so its sizes are met exactly."""
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and len(value.devices()) > 1


def compile_options(program: Program, device: Any) -> dict[str, Any] | None:
    """Compile options that a static program needs on a device (None: JAX's default); None where it needs none."""
    config: Any = jax.config
    device = device or config.jax_default_device
    platform = device.platform if hasattr(device, "platform") else device or jax.default_backend()
    if platform != "cpu":
        return None
    options: dict[str, Any] = {}
    # A plan for CPU makes products of sums.
    products = keep_products_options()
    if products and not {"stablehlo.dot_general", "stablehlo.reduce"}.isdisjoint(program.op_counts()):
        options |= products
    if program.has_reduction({"stablehlo.maximum", "stablehlo.minimum"}, LIBRARY_REDUCTION):
        options |= keep_nan_options()
    return options or None


def platform_of(device: Any) -> str:
    """The platform of a device (None: JAX's default), by the name under which JAX lowers for it."""
    config: Any = jax.config
    device = device or config.jax_default_device
    if not hasattr(device, "platform"):
        (device, *_) = jax.devices(device)
    if device.platform != "gpu":
        return str(device.platform)
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"
