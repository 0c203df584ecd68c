"""SciPy's tables of BLAS and LAPACK functions, without the rest of SciPy's linear algebra.

In: nothing. Out: the modules `scipy.linalg.cython_blas` and `cython_lapack`, which hold addresses of functions.
`import scipy.linalg` takes 0.2 to 0.3 s, these two 0.03 s; whoever imports them later gets the same modules. Decision
to know: anything unexpected on the short way leads to the ordinary import.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import PathFinder
from types import ModuleType

_PACKAGE = "scipy.linalg"
_NAMES = tuple(f"{_PACKAGE}.{name}" for name in ("cython_blas", "cython_lapack"))
_lock = threading.Lock()


@contextlib.contextmanager
def tables() -> Iterator[tuple[ModuleType, ModuleType]]:
    """The two modules, which can be imported by their names as long as the block lasts.

    Raises:
        ImportError: there is no SciPy.
    """
    with _lock:
        added = [] if _PACKAGE in sys.modules else _add()
        try:
            blas, lapack = (importlib.import_module(name) for name in _NAMES)
            yield blas, lapack
        finally:
            _remove(added)


def _add() -> list[str]:
    """Loads the modules without their package; the names of those that are new, none where that cannot be."""
    added: list[str] = []
    try:
        folders = [os.path.join(path, "linalg") for path in importlib.import_module("scipy").__path__]
        for name in _NAMES:
            spec = PathFinder.find_spec(name, folders)
            if spec is None or spec.loader is None:
                raise ImportError(name)
            module = importlib.util.module_from_spec(spec)
            if sys.modules.setdefault(name, module) is module:
                added.append(name)
                spec.loader.exec_module(module)
    except (AttributeError, ImportError, OSError, RuntimeError):
        _remove(added)
        return []
    return added


def _remove(names: list[str]) -> None:
    if _PACKAGE not in sys.modules:
        for name in names:
            sys.modules.pop(name, None)
