"""Machine code from ELF object files and from LLVM's IR, placed in this process's memory by LLVM.

In: relocatable object files, as XLA's CPU compiler makes them, and LLVM makes ours (`native_code`); IR. Out: addresses
of their functions. Decisions to know: LLVM ends the process where a symbol is missing, so the symbols are read here
first, and outside functions that are not listed are refused; their addresses are given to LLVM for these files only,
since Numba shares LLVM's table of the process. No memory is writable and executable at the same time.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import Any, TypeVar

from ...codegen import forks
from ..object_files import DirectCallRefused, names
from .platforms import c_function, here

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
            outside: functions of the C library that they may call; those of XLA's kernels by default (see `platforms`).
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
        self._engine = _engine(parsed(text))
        self._engine.finalize_object()
        self.address = int(self._engine.get_function_address("run"))
        self.run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(self.address)


def parsed(text: str) -> Any:
    """LLVM's module of IR in which pointers have types, as LLVM has them up to 15."""
    if binding().llvm_version_info[0] > 15:
        text = re.sub(r"(i\d+|double|float|<[^>]*>|\[[^]]*\])( \(i64(, i64)*\))?\*", "ptr", text)
    return binding().parse_assembly(text)


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
