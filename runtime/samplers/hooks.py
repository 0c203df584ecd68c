"""`pm.sample(backend="STABLEHLO")` with nutpie: what is put into PyMC and nutpie for it, and taken out again; `sample`.

PyMC gives nutpie the models whose mode has Numba's or JAX's linker, and nutpie compiles with one of the two, whatever
the mode. Neither has a place to register a third, so names of theirs are replaced: the class of linkers that PyMC
compares with becomes a union with ours, PyMC's call of nutpie passes a mode of ours on, and nutpie.compile_pymc_model
knows `backend="stablehlo"`. So are those with which PyMC starts processes (`workers`). All of it acts on modes of ours
only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pymc
from pymc.model import modelcontext
from pymc.sampling import mcmc, parallel, population
from pymc.smc import sampling as smc
from pytensor.compile.mode import get_mode

from ...codegen.errors import OptionError, UnsupportedVersionError
from ..mode.classes import NAME
from ..mode.replaced import Replaced, Use
from ..pytensor.linker import StableHLOLinker
from .graphs import check_model
from .workers import checked, forked_where_possible, one_process

BACKEND = "stablehlo"

# What nutpie has nothing for: the values that say so little that they may be given.
_REFUSED: dict[str, tuple[Any, str]] = {
    "step": (None, "nutpie is the step"),
    "trace": (None, "nutpie keeps the draws itself: nuts={'zarr_store': ...} writes them to a store"),
    "callback": (None, "nutpie calls nothing for each draw: nuts={'progress_callback': ...} is called now and then"),
    "return_inferencedata": (True, "nutpie gives no MultiTrace"),
    "init": ("auto", "nutpie starts by itself: nuts={'adaptation': ...} says how it adapts"),
    "n_init": (200_000, "nutpie starts by itself"),
    "jitter_max_retries": (10, "nutpie tries as often as it does"),
    "nuts_sampler": ("nutpie", "pm.sample runs other samplers"),
}


def is_ours(mode: Any) -> bool:
    """Whether a mode, or the default one where there is none, compiles with hlograph."""
    return isinstance(get_mode(mode).linker, StableHLOLinker)


def sample(model: Any = None, draws: int = 1000, **options: Any) -> Any:
    """Draws from a model's posterior: `pm.sample`, always by nutpie, with functions that hlograph compiled.

    Args:
        model: the PyMC model; by default that of the `with` block.
        draws, options: as of `pm.sample`. `backend` and `compile_kwargs["mode"]` are "STABLEHLO" or a `hlograph.Mode`;
            the rest of `compile_kwargs` goes to `hlograph.nutpie.compile_pymc_model`, `nuts` to `nutpie.sample`.

    Returns:
        What `pm.sample(nuts_sampler="nutpie")` returns.

    Raises:
        OptionError: an option that nutpie has nothing for, or another backend.
        UnsupportedGraphError: a model that nutpie cannot sample.
    """
    _refuse_absent()
    from pymc.pytensorf import resolve_backend_compile_kwargs  # of PyMC 6

    for name, (default, why) in _REFUSED.items():
        given = options.pop(name, default)
        if given is not None and given != default:
            raise OptionError(f"{name}={given!r}: {why}")
    if options.get("initvals") is not None and not isinstance(options["initvals"], dict):
        raise OptionError("initvals: nutpie takes one dictionary for all chains")
    compile_kwargs = resolve_backend_compile_kwargs(options.pop("backend", None), options.pop("compile_kwargs", None))
    compile_kwargs.setdefault("mode", NAME)
    if not is_ours(compile_kwargs["mode"]):
        raise OptionError(f"the backend must be {NAME!r} or a hlograph.Mode, got {compile_kwargs['mode']}")
    model = modelcontext(model)
    check_model(model)
    with HOOKS.use():
        return pymc.sample(draws, model=model, nuts_sampler="nutpie", compile_kwargs=compile_kwargs, **options)


_installed: list[Use] = []


def install(*, nutpie: bool = True) -> None:
    """Lets `pm.sample` run nutpie with hlograph's functions wherever its mode is "STABLEHLO" or a `hlograph.Mode`.

    What becomes of the processes that PyMC starts needs no nutpie, and PyMC 6.

    Args:
        nutpie: whether it is an error that nutpie is not there.

    Raises:
        UnsupportedVersionError: nutpie is not installed, or this release of PyMC has other parts.
    """
    if nutpie:
        _refuse_absent()
    with HOOKS.lock:
        if not _installed:
            _installed.append(HOOKS.use())


def uninstall() -> None:
    """Takes back what `install` has done."""
    with HOOKS.lock:
        while _installed:
            _installed.pop().undo()


def _missing() -> list[str]:
    """What `sample` needs and is not here."""
    absent = [f"{place.__name__}.{name}" for place, name, _ in _IN_PYMC if not hasattr(place, name)]
    return absent if find_spec("nutpie") else ["nutpie", *absent]


def _refuse_absent() -> None:
    absent = _missing()
    if absent:
        raise UnsupportedVersionError(f"nutpie and PyMC 6.4 or later have to be installed; there is no {absent[0]}")


def _replace() -> Callable[[], None]:
    replaced = [] if _missing() else [*_IN_PYMC]
    if replaced:
        places = [import_module(module) for module in ("nutpie", "nutpie.compile_pymc")]
        replaced += [(place, "compile_pymc_model", _with_our_backend) for place in places]
    if hasattr(parallel, _CONTEXT):
        pathfinder = sys.modules.get("pymc_extras.inference.pathfinder.multipath")  # which may come later
        replaced += [(place, _CONTEXT, _checked) for place in (parallel, mcmc, smc, pathfinder) if place is not None]
        replaced += _WORKERS
    originals = [(place, name, getattr(place, name)) for place, name, _ in replaced]
    for (place, name, make), (_, _, original) in zip(replaced, originals, strict=True):
        setattr(place, name, make(original))

    def undo() -> None:
        for original in originals:
            setattr(*original)

    return undo


HOOKS = Replaced(_replace)


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
    return checked(original, lambda mode: HOOKS.users > 0 and is_ours(mode))


_CONTEXT = "_initialize_multiprocessing_context"
_WORKERS: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (parallel, "ParallelSampler", forked_where_possible),
    (population, "PopulationStepper", one_process),
]
_IN_PYMC: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (mcmc, "NumbaLinker", lambda linker: linker | StableHLOLinker),  # whose models nutpie can have
    (mcmc, "_sample_external_nuts", _passing_the_mode),
]
