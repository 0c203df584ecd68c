"""A CPU client of our own, which runs a program in the thread that calls it.

JAX's CPU client hands all but the smallest programs to another thread, which costs 8 to 40 us in every call. This one
costs none of that. Its device and arrays are not those of `jax.devices("cpu")`, so it is for calls that take NumPy
arrays and return NumPy arrays.

What it is not: a second thread for the work. A call returns when the results are there, other threads go on meanwhile
(the GIL is released), and a program that was compiled before a fork runs in the forked process too, where the threads
of JAX's client are missing. Of threads there are some nevertheless, for compiling and for programs with so much work
that XLA splits it.
"""

from __future__ import annotations

from typing import Any

from ...codegen import forks
from ...codegen.ir.jax_compat import make_synchronous_cpu_client
from ..options import CpuOptions
from .devices import platform_of

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
