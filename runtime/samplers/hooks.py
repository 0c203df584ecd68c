"""`pm.sample(backend="STABLEHLO")` with nutpie: what is put into PyMC and nutpie for it, and taken out again.

PyMC gives nutpie the models whose mode has Numba's or JAX's linker, and nutpie compiles with one of the two, whatever
the mode. Neither has a place to register a third, so names of theirs are replaced: the class of linkers that PyMC
compares with becomes a union with ours, PyMC's call of nutpie passes a mode of ours on, and nutpie.compile_pymc_model
knows `backend="stablehlo"`. So are those with which PyMC starts processes (`workers`). All of it acts on modes of ours
only.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pymc.sampling import mcmc, parallel, population
from pymc.smc import sampling as smc
from pytensor.compile.mode import get_mode

from ...codegen.errors import OptionError, UnsupportedVersionError
from ..pytensor.linker import StableHLOLinker
from .workers import checked, forked_where_possible, one_process

BACKEND = "stablehlo"

_lock = threading.Lock()
_users = 0  # contexts that are entered, and one for `install`
_installed = False
_originals: list[tuple[Any, str, Any]] = []


def is_ours(mode: Any) -> bool:
    """Whether a mode, or the default one where there is none, compiles with hlograph."""
    return isinstance(get_mode(mode).linker, StableHLOLinker)


def install(*, nutpie: bool = True) -> None:
    """Lets `pm.sample` run nutpie with hlograph's functions wherever its mode is "STABLEHLO" or a `hlograph.Mode`.

    What becomes of the processes that PyMC starts needs no nutpie, and PyMC 6.

    Args:
        nutpie: whether it is an error that nutpie is not there.

    Raises:
        UnsupportedVersionError: nutpie is not installed, or this release of PyMC has other parts.
    """
    global _installed
    with _lock:
        if nutpie:
            _refuse_absent()
        if not _installed:
            _enter()
            _installed = True


def uninstall() -> None:
    """Takes back what `install` has done."""
    global _installed
    with _lock:
        if _installed:
            _installed = False
            _leave()


@contextmanager
def installed() -> Iterator[None]:
    """`install` for the time of a block."""
    with _lock:
        _refuse_absent()
        _enter()
    try:
        yield
    finally:
        with _lock:
            _leave()


def _enter() -> None:
    global _users
    if not _users:
        _replace()
    _users += 1


def _leave() -> None:
    global _users
    _users -= 1
    if not _users:
        while _originals:
            setattr(*_originals.pop())


def _refuse_absent() -> None:
    absent = missing()
    if absent:
        raise UnsupportedVersionError(f"nutpie and PyMC 6.4 or later have to be installed; there is no {absent[0]}")


def _replace() -> None:
    replaced = [] if missing() else [*_IN_PYMC]
    if replaced:
        places = [import_module(module) for module in ("nutpie", "nutpie.compile_pymc")]
        replaced += [(place, "compile_pymc_model", _with_our_backend) for place in places]
    if hasattr(parallel, _CONTEXT):
        pathfinder = sys.modules.get("pymc_extras.inference.pathfinder.multipath")  # which may come later
        replaced += [(place, _CONTEXT, _checked) for place in (parallel, mcmc, smc, pathfinder) if place is not None]
        replaced += _WORKERS
    for place, name, make in replaced:
        original = getattr(place, name)
        _originals.append((place, name, original))
        setattr(place, name, make(original))


def missing() -> list[str]:
    """What `install` needs and is not here."""
    absent = [f"{place.__name__}.{name}" for place, name, _ in _IN_PYMC if not hasattr(place, name)]
    return absent if find_spec("nutpie") else ["nutpie", *absent]


def _or_ours(linker: Any) -> Any:
    return linker | StableHLOLinker


def _passing_the_mode(original: Callable[..., Any]) -> Callable[..., Any]:
    """PyMC's call of nutpie, which forgets the mode but for being JAX's."""

    @wraps(original)
    def sample_external_nuts(sampler: str, *args: Any, compile_kwargs: dict[str, Any], **options: Any) -> Any:
        mode = compile_kwargs.get("mode")
        if sampler == "nutpie" and is_ours(mode):
            compile_kwargs = {"backend": BACKEND, **compile_kwargs, "stablehlo_mode": mode}
        return original(sampler, *args, compile_kwargs=compile_kwargs, **options)

    return sample_external_nuts


def _with_our_backend(original: Callable[..., Any]) -> Callable[..., Any]:
    """nutpie's compile, with one backend more."""

    @wraps(original)
    def compile_model(model: Any, *, backend: str = "numba", **options: Any) -> Any:
        if backend.lower() != BACKEND:
            if options.pop("stablehlo_mode", None) is not None:
                raise OptionError(f"nutpie's backend is {backend!r}, and the mode hlograph's: give one of them")
            return original(model, backend=backend, **options)
        if options.pop("gradient_backend", "pytensor") not in (None, "pytensor"):
            raise OptionError("gradients are PyTensor's where nutpie's backend is hlograph: leave out gradient_backend")
        from .nutpie import compile_pymc_model

        return compile_pymc_model(model, mode=options.pop("stablehlo_mode", None), **options)

    return compile_model


def _checked(original: Callable[..., Any]) -> Callable[..., Any]:
    return checked(original, lambda mode: _users > 0 and is_ours(mode))


_CONTEXT = "_initialize_multiprocessing_context"
_WORKERS: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (parallel, "ParallelSampler", forked_where_possible),
    (population, "PopulationStepper", one_process),
]
_IN_PYMC: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (mcmc, "NumbaLinker", _or_ours),  # whose models nutpie can have
    (mcmc, "_sample_external_nuts", _passing_the_mode),
]
