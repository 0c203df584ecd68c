"""Devices by name, where arrays lie, and what XLA must be told on a device."""

from __future__ import annotations

from typing import Any

import jax

from ...codegen.errors import DeviceError
from ...codegen.ir.jax_compat import keep_nan_options, keep_products_options
from ...codegen.ir.walk import has_reduction
from ...codegen.program import Program


def find_device(device: Any) -> Any:
    """The `jax.Device` for "cpu", "gpu", "tpu", a device, or None (JAX's default).

    Where JAX chooses by itself, or is to use the CPU, nothing is started: a process may still be forked then.

    Raises:
        DeviceError: no such device is here.
    """
    if device is None:
        config: Any = jax.config
        if config.jax_platforms not in (None, "", "cpu"):
            default_device()
        return None
    if isinstance(device, str):
        return _first(device or None)
    try:
        here = device in device.client.local_devices()
    except (AttributeError, jax.errors.JaxRuntimeError):  # no device, or one of a topology
        here = False
    if not here:
        raise DeviceError(
            f"device {device!r} is not one of this process ({_here()}); give one of jax.local_devices() or a "
            "platform's name. For devices that are not here: program.compile(topology=...)"
        )
    return device


def _first(platform: str | None) -> Any:
    """The first device of a platform, JAX's default one where it is None.

    Raises:
        DeviceError: there is none.
    """
    try:
        return jax.devices(platform)[0]
    except (RuntimeError, AssertionError) as error:  # JAX asserts that one of `JAX_PLATFORMS` is here
        config: Any = jax.config
        name = config.jax_platforms if platform is None else platform
        reason = f": {error}" if str(error) else ""
        raise DeviceError(f"no device {name!r} is available{reason}; devices here: {_here()}") from None


def _here() -> str:
    """The devices of this process."""
    try:
        return ", ".join(repr(device) for device in jax.local_devices())
    except (RuntimeError, AssertionError):
        return "none, as JAX_PLATFORMS names no platform that is here; without it JAX takes the CPU"


def default_device() -> Any:
    """The `jax.Device` that JAX uses now where none is named."""
    config: Any = jax.config
    default = config.jax_default_device
    return _first(None) if default is None else find_device(default)


def is_sharded(value: Any) -> bool:
    """Whether an argument lies on several devices: padding would move it, so its sizes are met exactly."""
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and len(value.devices()) > 1


def compile_options(program: Program, device: Any) -> dict[str, Any] | None:
    """Compile options that a static program needs on a device (None: JAX's default); None where it needs none."""
    from ...codegen.passes.xla_bugs.cpu_nan import ELEMENTS

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
    extrema = {"stablehlo.maximum", "stablehlo.minimum"}
    if program.find(lambda module: has_reduction(module, extrema, ELEMENTS)):
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
