"""Devices by name, where arrays lie, what XLA must be told on a device, and a CPU client of our own.

The *synchronous client* runs a program in the thread that calls it. JAX's CPU client hands all but the smallest
programs to another thread, which costs 8 to 40 us in every call. Its device and arrays are not those of
`jax.devices("cpu")`, so it is for calls that take NumPy arrays and return NumPy arrays.

What it is not: a second thread for the work. A call returns when the results are there, other threads go on meanwhile
(the GIL is released), and a program that was compiled before a fork runs in the forked process too, where the threads
of JAX's client are missing. Of threads there are some nevertheless, for compiling and for programs with so much work
that XLA splits it.
"""

from __future__ import annotations

from typing import Any

import jax

from ...codegen import forks
from ...codegen.errors import DeviceError
from ...codegen.ir.jax_compat import keep_nan_options, keep_products_options, make_synchronous_cpu_client
from ...codegen.ir.values import has_reduction
from ...codegen.program import Program
from ..options import CpuOptions


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
            "platform's name. For absent devices: program.compile(topology=...)"
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
    """Whether an argument lies on several devices: padding would move it, so its sizes are exact."""
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and len(value.devices()) > 1


def compile_options(program: Program, device: Any) -> dict[str, Any] | None:
    """Compile options that a static program needs on a device (None: JAX's default); None where it needs none."""
    from ...codegen.passes.xla_bugs import LIBRARY

    if platform_of(device) != "cpu":
        return None
    options: dict[str, Any] = {}
    # A plan for CPU makes products of sums.
    products = keep_products_options()
    if products and not {"stablehlo.dot_general", "stablehlo.reduce"}.isdisjoint(program.op_counts()):
        options |= products
    extrema = {"stablehlo.maximum", "stablehlo.minimum"}
    if program.find(lambda module: has_reduction(module, extrema, LIBRARY)):
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


_lock = forks.lock()
_made: list[Any] = []  # the device, or None where there is no such client; empty before the first use


def synchronous_device() -> Any:
    """The device of the process's synchronous CPU client, a `jax.Device`; None where this jaxlib has no such client.

    The client is made when it is first asked for, and lives as long as the process.
    """
    if not _made:
        with _lock:
            if not _made:
                client = make_synchronous_cpu_client()
                if client is not None:
                    forks.own_client_made()
                _made.append(None if client is None else client.local_devices()[0])
    return _made[0]


def is_synchronous(device: Any) -> bool:
    """Whether a call on a device has its results when it returns."""
    return bool(_made) and device is not None and _made[0] is device


def choose_device(options: CpuOptions, device: Any, *, numpy: bool) -> Any:
    """Where executables run: the synchronous client's device, or the one that was asked for.

    Args:
        options: what may be used.
        device: the `jax.Device` that was asked for, or None for JAX's default.
        numpy: NumPy arrays come back.
    """
    wanted = options.client == "sync" or (options.client == "auto" and numpy)
    if not wanted or platform_of(device) != "cpu":
        return device
    return synchronous_device() or device
