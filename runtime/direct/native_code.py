"""Our own machine code: compiled by LLVM on this machine, for its processor, and kept in the user's cache.

In: `native/calls.src`, with sorts and C functions, and `native/blas.src`, with products, factors and triangular systems
by SciPy's BLAS and LAPACK. Out: addresses of their functions; those of BLAS are also registered with XLA, for modules
that this process compiles (the pass `cpu_blas`): saved ones never have them. Decision to know: a file in the cache
counts for one source, release of llvmlite and processor with its features, only if nobody else can have written it
(`kept`), and its digest is right; without one, or a place for one, a process compiles for itself, which takes half a
second.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import mmap
from importlib import metadata
from pathlib import Path

import jax

from ...codegen import forks
from ...codegen.ir import scipy_parts
from ...codegen.ir.jax_compat import capsule_address
from ...codegen.passes import cpu_blas
from ..object_files import DirectCallRefused
from . import kept
from .llvm_ir import translated
from .object_code import IrCode, ObjectCode, binding, once

BLAS = tuple(cpu_blas.TARGETS.values())  # functions of ours that PJRT and direct calls both call
_BY_BLAS = ("sgemm", "dgemm", "spotrf", "dpotrf")  # what they call
_DIGEST = hashlib.sha256().digest_size  # bytes of it before the machine code in a file
_OUTSIDE = ("calloc", "free", "malloc", "memcpy", "memset", "mmap", "munmap")
# Memory that goes back to the system when it is freed; Windows has it by another function.
_PRIVATE = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)

_translating = forks.lock()  # threads that parse Python at the same time disturb one another until 3.11.4


@once
def native_code() -> ObjectCode:
    """Sorts and C functions, loaded once.

    Raises:
        DirectCallRefused: LLVM is not there, or cannot make machine code.
    """
    return ObjectCode([machine_code("calls.src")], _OUTSIDE)


@once
def blas_code() -> ObjectCode:
    """The functions of `BLAS`, loaded once.

    Raises:
        DirectCallRefused: as `native_code` does, or SciPy has no BLAS to give.
    """
    try:
        with scipy_parts.tables() as (blas, lapack):
            known = {**blas.__pyx_capi__, **lapack.__pyx_capi__}
        given = {name: capsule_address(known[name]) for name in _BY_BLAS}
    except (ImportError, AttributeError, KeyError) as error:
        raise DirectCallRefused(f"SciPy does not export its BLAS: {error}") from None
    return ObjectCode([machine_code("blas.src")], _OUTSIDE, given)


@once
def register_blas() -> str:
    """Makes the functions of `BLAS` known to XLA in this process; "", or why they cannot be had."""
    try:
        for name in BLAS:
            function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(blas_code().address(name))
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform="cpu")
    except (DirectCallRefused, jax.errors.JaxRuntimeError) as error:
        return str(error)
    return ""


def bound(name: str, first: int, others: int) -> IrCode:
    """A function of `native_code` with its first operand given, and this many others."""
    operands = ", ".join(f"i64 %x{i:d}" for i in range(others))
    function = f"inttoptr (i64 {native_code().address(name):d} to i64 ({', '.join(['i64'] * (others + 1))})*)"
    body = f"%y = tail call i64 {function}(i64 {first:d}, {operands})\n  ret i64 %y"
    return IrCode(f"define i64 @run({operands}) {{\n  {body}\n}}")


def machine_code(name: str) -> bytes:
    """An object file of what is in `native/`, from the cache, or else compiled and kept there.

    Raises:
        DirectCallRefused: LLVM is not there, or the source; or LLVM does not compile it.
    """
    try:
        source, translator = ((Path(__file__).parent / file).read_bytes() for file in (f"native/{name}", "llvm_ir.py"))
    except OSError as error:
        raise DirectCallRefused(f"the installed package has no source of its own machine code: {error}") from None
    llvm = binding()
    target = llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    told = "\n".join([metadata.version("llvmlite"), str(_PRIVATE), *target]).encode()
    file = hashlib.sha256(b"\0".join([told, translator, source])).hexdigest()[:32] + ".o"
    for data in kept.read(file):
        if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
            return data[_DIGEST:]
    try:
        with _translating:
            text = translated(source.decode(), {"MAP": _PRIVATE})
        module = llvm.parse_assembly(text)
        machine = llvm.Target.from_triple(target[0]).create_target_machine(*target[1:], opt=2, jit=True)
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False  # for nothing here
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        made = bytes(machine.emit_object(module))
    except RuntimeError as error:
        raise DirectCallRefused(f"LLVM compiles no {name} for {' '.join(target[:2])}: {error}") from None
    with contextlib.suppress(OSError):  # the next process compiles it again
        kept.store(file, hashlib.sha256(made).digest() + made)
    return made
