"""Systems and processors whose kernels may be called directly, and what differs between them: one table.

In: nothing. Out: `Platform`, and addresses of the C library's functions. XLA's code calls functions that jaxlib takes
from the process it is in; ours are the same ones. Decision to know: that a system is in the table says that its object
files and its C library are known here, and that a self-test may begin; whether kernels are called is the self-test's to
say.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Collection
from typing import NamedTuple

from ..object_files import DirectCallRefused

_MATH = [
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf"),
    *("erfc", "exp", "exp2", "expm1", "fabs", "floor", "fmax", "fmin", "fmod", "hypot", "lgamma", "log", "log10"),
    *("log1p", "log2", "nearbyint", "nextafter", "pow", "rint", "round", "sin", "sinh", "sqrt", "tan", "tanh"),
    *("tgamma", "trunc"),
]
# Functions of the C library that kernels may call: XLA takes them from the process, too. Those of XLA's own runtime
# (`__xla_cpu_runtime_...`) cannot be found from outside of jaxlib.
_KERNELS = [*_MATH, *(name + "f" for name in _MATH), "memcpy", "memmove", "memset"]
# glibc keeps versions of a function. jaxlib is linked with those of glibc 2.27, newest first; the later ones of
# `log` and `pow` give a NaN of the other sign. The oldest ones are 2.2.5 on x86-64, 2.17 on ARM.
_GLIBC = ("2.27", "2.23", "2.17", "2.16", "2.14", "2.2.5")


class Platform(NamedTuple):
    """A system and its processor.

    Attributes:
        name: for people.
        form: of object files, see `object_files.names`.
        mode: how code sets floating point to what XLA's threads have, see `steps`: "mxcsr" or "fpcr".
        libraries: where the C functions are that jaxlib calls.
        outside: functions in them that kernels may call.
        versions: of these functions, in the order in which they are looked for; empty where there are none.
    """

    name: str
    form: tuple[str, int]
    mode: str
    libraries: tuple[str, ...]
    outside: Collection[str]
    versions: tuple[str, ...] = ()


_LINUX = ("libm.so.6",), frozenset([*_KERNELS, "sincos", "sincosf"]), _GLIBC
_APPLE = ["__sincos", "__sincosf", "__sincos_stret", "__sincosf_stret", "__bzero", "bzero", "memset_pattern16"]
# `sys.platform` and `platform.machine()`; functions of the compiler's library, and __chkstk, stand apart on Windows.
PLATFORMS = {
    ("linux", "x86_64"): Platform("x86-64 Linux", ("ELF", 62), "mxcsr", *_LINUX),
    ("linux", "aarch64"): Platform("ARM Linux", ("ELF", 183), "fpcr", *_LINUX),
    ("darwin", "arm64"): Platform(
        "macOS on ARM",
        ("Mach-O", 0x0100000C),
        "fpcr",
        ("/usr/lib/libSystem.B.dylib",),
        frozenset([*_KERNELS, *_APPLE, "__truncsfhf2", "__extendhfsf2"]),
    ),
    ("win32", "AMD64"): Platform(
        "x86-64 Windows",
        ("COFF", 0x8664),
        "mxcsr",
        ("vcruntime140", "ucrtbase", "ntdll"),
        frozenset([*_KERNELS, "__chkstk"]),
    ),
}


def here() -> Platform:
    """The one of this process.

    Raises:
        DirectCallRefused: nothing is known of it.
    """
    found = PLATFORMS.get((sys.platform, platform.machine()))
    if found is None:
        known = ", ".join(known.name for known in PLATFORMS.values())
        raise DirectCallRefused(f"machine code is loaded on {known} only, not on {platform.platform()}")
    return found


def c_function(name: str) -> int:
    """The address of a function of the C library.

    Raises:
        DirectCallRefused: this C library has not got it.
    """
    for library in here().libraries:
        try:
            # The names of a library on Linux are visible to the whole process then, if they were not before.
            loaded = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
            if not here().versions:
                return int(ctypes.cast(loaded[name], ctypes.c_void_p).value or 0)
            find = loaded.dlvsym
        except OSError:
            raise DirectCallRefused(f"this system has no C library {library}") from None
        except AttributeError:
            continue
        find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
        for version in here().versions:
            address = find(None, name.encode(), f"GLIBC_{version}".encode())
            if address:
                return int(address)
    raise DirectCallRefused(f"this C library has no {name}")
