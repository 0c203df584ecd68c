"""Programs through IREE's compiler, a tool of its own, and its runtime, in this process.

In: a program in `for_iree`'s forms. Out: a function of arrays. The compiler's Python package is not imported: its MLIR
is another than jaxlib's.
"""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hlograph

FLAGS = (
    "--iree-input-type=stablehlo",
    "--iree-input-demote-f64-to-f32=false",
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
    "--mlir-disable-threading",
    "--iree-llvmcpu-link-embedded=false",  # float64's sin, cos, tanh, ... are libm's
)


class CannotCompile(Exception):
    """IREE's compiler refuses a module, in its words."""


def installed() -> bool:
    """Whether there is a compiler and a runtime."""
    return _tool() is not None and importlib.util.find_spec("iree.runtime") is not None


def compiled(program: hlograph.Program, *, seconds: float = 120) -> Callable[..., list[np.ndarray[Any, Any]]]:
    """A function of arrays, by IREE.

    Raises:
        CannotCompile: the compiler refuses, or takes too long.
    """
    tool = _tool()
    assert tool is not None, "IREE's compiler is installed"
    try:
        made = subprocess.run(
            [tool, "-", *FLAGS], input=program.text.encode(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotCompile(f"no result in {seconds:.0f} s") from None
    if made.returncode:
        words = made.stderr.decode(errors="replace")
        raise CannotCompile(words.partition("error: ")[2].partition("\n")[0] or words.strip().partition("\n")[0])
    return _loaded(made.stdout)


def _tool() -> str | None:
    package = importlib.util.find_spec("iree.compiler") if importlib.util.find_spec("iree") else None
    if package is None or package.origin is None:
        return None
    tool = Path(package.origin).parent / "_mlir_libs" / "iree-compile"
    return str(tool) if tool.exists() else None


def _loaded(code: bytes) -> Callable[..., list[np.ndarray[Any, Any]]]:
    import iree.runtime as runtime

    context = runtime.SystemContext(config=runtime.Config("local-sync"))
    module = runtime.VmModule.copy_buffer(context.instance, code)
    context.add_vm_module(module)
    function = context.modules[module.name]["main"]

    def call(*arguments: Any) -> list[np.ndarray[Any, Any]]:
        found = function(*[np.asarray(x) for x in arguments])
        results: Sequence[Any] = found if isinstance(found, tuple | list) else [found]
        return [np.array(x.to_host() if hasattr(x, "to_host") else x) for x in results]

    return call
