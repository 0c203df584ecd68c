"""Matrix products that PJRT and direct calls compute by the same code: a function of ours that calls BLAS.

In: `native/blas/gemm.c`, compiled by `make native`, and SciPy's BLAS, whose functions' addresses SciPy gives out. Out:
the function behind `custom_call @hlograph_gemm`, registered with XLA. It is for modules that this process compiles
(the pass `cpu_products`): saved ones never have it.
"""

from __future__ import annotations

import ctypes
from functools import cache

import jax

from ...codegen.ir.jax_compat import capsule_address
from ...codegen.passes.cpu_products import TARGET as TARGET
from .native_code import FOLDER
from .object_code import ObjectCode
from .steps import DirectCallRefused

_OBJECT = FOLDER / "blas" / "x86_64.o"


@cache
def register() -> str:
    """Makes the function known to XLA in this process; "", or why it cannot be had."""
    try:
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address())
        jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(function), platform="cpu")
    except (DirectCallRefused, jax.errors.JaxRuntimeError) as error:
        return str(error)
    return ""


def address() -> int:
    """Of the function.

    Raises:
        DirectCallRefused: the machine code cannot be loaded, or SciPy has no BLAS to give.
    """
    return _code().address(TARGET)


@cache
def _code() -> ObjectCode:
    try:
        from scipy.linalg import cython_blas

        given = {f"hlograph_{name}": capsule_address(cython_blas.__pyx_capi__[name]) for name in ("sgemm", "dgemm")}
    except (ImportError, AttributeError, KeyError) as error:
        raise DirectCallRefused(f"SciPy gives out no BLAS: {error}") from None
    try:
        data = _OBJECT.read_bytes()
    except OSError as error:
        raise DirectCallRefused(f"the installed package has no machine code of its own: {error}") from None
    return ObjectCode([data], (), given)
