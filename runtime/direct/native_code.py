"""The machine code of our own that the direct call needs: what runs tables of steps, and C functions over them.

In: `native/*.c`, compiled by `make native` into an object file that is stored beside them, so that nobody who uses it
needs a compiler. Out: addresses of its functions. It is loaded as XLA's kernels are, see `object_code`.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from .object_code import ObjectCode
from .once import once
from .steps import DirectCallRefused

FOLDER = Path(__file__).with_name("native")
OBJECT = FOLDER / "x86_64.o"
_OUTSIDE = frozenset(["aligned_alloc", "free", "memcpy", "mmap", "munmap"])


@once
def native_code() -> ObjectCode:
    """It, loaded once.

    Raises:
        DirectCallRefused: as `ObjectCode` does.
    """
    try:
        data = OBJECT.read_bytes()
    except OSError as error:
        raise DirectCallRefused(f"the installed package has no machine code of its own: {error}") from None
    return ObjectCode([data], _OUTSIDE)


@once
def runner() -> Any:
    """Runs a table of steps at an address, in the calling thread and without the interpreter's lock.

    It returns 0, or the address of the step that failed.

    Raises:
        DirectCallRefused: as `ObjectCode` does.
    """
    return ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(native_code().address("hlograph_run"))
