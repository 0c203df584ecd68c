"""A device that is not there is an error when a function is made, and not of its first call."""

import subprocess
import sys
from typing import Any

import jax
import numpy as np
import pytest

import hlograph
from hlograph.errors import DeviceError


def f(x: Any) -> Any:
    return x * 2


SPEC = np.ones(3, np.float32)
PROGRAM = hlograph.jit(f, dims={"x": "n"}).program(SPEC)


class Elsewhere:
    """As the devices of a topology are: they have a platform, and no client of this process."""

    platform = "cpu"

    @property
    def client(self) -> Any:
        raise AttributeError


@pytest.mark.parametrize("device", ["tpu", "banana", "cpu:3", 3, Elsewhere(), [jax.local_devices()[0]]])
def test_devices_that_are_not_here(device: Any) -> None:
    for make in (PROGRAM.compile, lambda device: hlograph.jit(f, device=device)):
        with pytest.raises(DeviceError, match=r"\(?Cpu|Cuda|Tpu"):
            make(device=device)


def test_a_platform_in_the_environment(tmp_path: Any) -> None:
    PROGRAM.save(tmp_path / "f.mlir")
    script = f"""
import hlograph, os
os.environ["JAX_PLATFORMS"] = "cuda"
program = hlograph.load({str(tmp_path / "f.mlir")!r})
for outputs in ("jax", "numpy"):
    try:
        program.compile(outputs=outputs)
    except hlograph.errors.DeviceError as error:
        print(error)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    lines = found.stdout.splitlines()
    assert len(lines) == 2, found.stderr
    assert all("no device 'cuda' is available" in line and "JAX_PLATFORMS" in line for line in lines)
