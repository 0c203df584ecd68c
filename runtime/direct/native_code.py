"""The machine code of our own that the direct call needs: what runs tables of steps, and C functions over them.

In: `native/*.c`, compiled by `make native` into object files that are stored beside them, so that nobody who uses them
needs a compiler. Out: addresses of their functions. They are loaded as XLA's kernels are, see `object_code`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from .object_code import ObjectCode, once
from .steps import DirectCallRefused

FOLDER = Path(__file__).with_name("native")
_OUTSIDE = ("aligned_alloc", "free", "memcpy", "mmap", "munmap")


def load(name: str, outside: Collection[str], given: Mapping[str, int]) -> ObjectCode:
    """An object file of ours.

    Args:
        name: of the file.
        outside, given: see `ObjectCode`.

    Raises:
        DirectCallRefused: as `ObjectCode` does.
    """
    try:
        data = (FOLDER / name).read_bytes()
    except OSError as error:
        raise DirectCallRefused(f"the installed package has no machine code of its own: {error}") from None
    return ObjectCode([data], outside, given)


def functions(program: int) -> ObjectCode:
    """The functions that C calls, for a program at an address; as `load` does."""
    return load("x86_64.o", _OUTSIDE, {"hlograph_program": program})


@once
def native_code() -> ObjectCode:
    """Those that need no program, loaded once; as `load` does."""
    return functions(1)


@once
def runner() -> Any:
    """Runs a table of steps at an address, in the calling thread and without the interpreter's lock.

    It returns 0, or the address of the step that failed.

    Raises:
        DirectCallRefused: as `ObjectCode` does.
    """
    return ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(native_code().address("hlograph_run"))
