"""Linear algebra that PJRT and direct calls compute by the same code: functions of ours that call BLAS and LAPACK.

In: `native/blas/*.c`, compiled by `make native`, and SciPy's BLAS and LAPACK, whose functions' addresses SciPy gives
out. Out: the functions behind `custom_call @hlograph_gemm` and others, registered with XLA. They are for modules that
this process compiles (the pass `cpu_blas`): saved ones never have them.
"""

from __future__ import annotations

import ctypes

import jax

from ...codegen.ir import scipy_parts
from ...codegen.ir.jax_compat import capsule_address
from ...codegen.passes import cpu_blas
from .object_code import DirectCallRefused, ObjectCode, binding, once, stored

TARGETS = tuple(cpu_blas.TARGETS.values())
_FUNCTIONS = ("sgemm", "dgemm", "spotrf", "dpotrf")


@once
def register() -> str:
    """Makes the functions known to XLA in this process; "", or why they cannot be had."""
    try:
        for target in TARGETS:
            function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address(target))
            jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(function), platform="cpu")
    except (DirectCallRefused, jax.errors.JaxRuntimeError) as error:
        return str(error)
    return ""


def address(target: str) -> int:
    """Of a function.

    Raises:
        DirectCallRefused: the machine code cannot be loaded, or SciPy has no BLAS to give.
    """
    return _code().address(target)


@once
def _code() -> ObjectCode:
    return load(_vectors())


def load(vectors: int) -> ObjectCode:
    """The functions, for a processor with such vectors.

    Raises:
        DirectCallRefused: as `address` does.
    """
    try:
        with scipy_parts.tables() as (blas, lapack):
            known = {**blas.__pyx_capi__, **lapack.__pyx_capi__}
        given = {f"hlograph_{name}": capsule_address(known[name]) for name in _FUNCTIONS}
    except (ImportError, AttributeError, KeyError) as error:
        raise DirectCallRefused(f"SciPy gives out no BLAS: {error}") from None
    given["hlograph_vectors"] = vectors
    return stored("blas/x86_64.o", ("memcpy",), given)


def _vectors() -> int:
    """The processor's vectors, as `native/blas/small.c` has them."""
    features = binding().get_host_cpu_features()
    if not features.get("fma"):
        return 1
    return 3 if features.get("avx512f") else 2 if features.get("avx2") else 1
