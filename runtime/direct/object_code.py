"""Machine code from ELF object files and from LLVM's IR, placed in this process's memory by LLVM.

In: relocatable object files, as XLA's CPU compiler makes them, and LLVM makes ours (`native_code`); IR. Out: addresses
of their functions. Decisions to know: LLVM ends the process where a symbol is missing, so the symbols are read here
first, and outside functions that are not listed are refused; their addresses are given to LLVM for these files only,
since Numba shares LLVM's table of the process. No memory is writable and executable at the same time. What differs
between systems stands in one table (`PLATFORMS`): that one is in it says that its object files and its C library are
known here, and that a self-test may begin, which says whether kernels are called.
"""

from __future__ import annotations

import contextlib
import ctypes
import platform
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar

from ...codegen import forks
from ..object_files import DirectCallRefused, names

Made = TypeVar("Made")


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """A function that returns what its first call has made, also where threads ask for it at the same time.

    `functools.cache` makes one for each such thread and keeps one of them: an address in another one, which somebody
    may have, is no address any more when that is freed. An error is not kept.
    """
    made, lock = cache(make), forks.lock(threading.RLock)

    @wraps(make)
    def found() -> Made:
        with lock:
            return made()

    return found


class ObjectCode:
    """Object files linked with one another in memory of their own; it stays as long as this object.

    The memory can be read and executed, its constants only read; a process that is forked has it, too.
    """

    def __init__(
        self, files: Sequence[bytes], outside: Collection[str] | None = None, given: Mapping[str, int] | None = None
    ) -> None:
        """Links the object files.

        Args:
            files: what they are.
            outside: functions of the C library that they may call; those of XLA's kernels by default.
            given: addresses of further ones that they may call.

        Raises:
            DirectCallRefused: no llvmlite, something unknown in a file, or a system that does not let a process make
                machine code (some hardened ones).
        """
        llvm = binding()
        read = [names(data, here().form) for data in files]
        self._names = {name for has, _ in read for name in has}
        addresses = dict(given or {})
        outside = here().outside if outside is None else outside
        for name in {name for _, needs in read for name in needs} - self._names - addresses.keys():
            if name not in outside:
                raise DirectCallRefused(f"the machine code calls {name}, which is a part of XLA's runtime")
            addresses[name] = c_function(name)
        module = llvm.parse_assembly("\n".join(f'declare void @"{name}"()' for name in addresses))
        self._engine = _engine(module)
        for name, address in addresses.items():
            self._engine.add_global_mapping(module.get_function(name), address)
        for data in files:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Of a function in the object files.

        Raises:
            DirectCallRefused: there is not one of that name.
        """
        if name not in self._names:
            raise DirectCallRefused(f"the machine code has no function {name}")
        return int(self._engine.get_function_address(name))


def _engine(module: Any) -> Any:
    machine = binding().Target.from_default_triple().create_target_machine()
    # With sections side by side: their distance fits into addresses relative to the code.
    return binding().create_mcjit_compiler(module, machine, use_lmm=True)


class IrCode:
    """A function `run` in LLVM's IR, compiled; it calls others by their addresses alone.

    Attributes:
        run: takes an address; without the interpreter's lock, in the calling thread.
        address: of the function.
    """

    def __init__(self, text: str) -> None:
        self._engine = _engine(binding().parse_assembly(text))
        self._engine.finalize_object()
        self.address = int(self._engine.get_function_address("run"))
        self.run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(self.address)


@once
def binding() -> Any:
    """llvmlite's binding of LLVM, ready to make machine code.

    Raises:
        DirectCallRefused: it is not there, or the system does not let a process make machine code.
    """
    try:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.check_jit_execution()
    except (ImportError, OSError, RuntimeError) as error:
        raise DirectCallRefused(f"LLVM cannot make machine code here: {error}") from None
    with contextlib.suppress(AttributeError):  # else it stays held in a process that is forked meanwhile
        forks.lock(lambda: llvm.ffi.lib._lock._lock)
    return llvm


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Another thread imports llvmlite meanwhile, which takes 60 ms, in a compile that would keep nobody else busy."""

    def load() -> None:
        with contextlib.suppress(DirectCallRefused):  # whoever needs it hears of that
            binding()

    thread = threading.Thread(target=load)  # no pool, which takes no work once the main thread has ended
    thread.start()
    yield
    thread.join()


# ---- systems ---------------------------------------------------------------------------------------------------------

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
