"""`pm.sample(backend="STABLEHLO")` with nutpie: what is put into PyMC and nutpie for it, and taken out again; `sample`.

PyMC gives nutpie the models whose mode has Numba's or JAX's linker, and nutpie compiles with one of the two, whatever
the mode. Neither has a place to register a third, so names of theirs are replaced: the class of linkers that PyMC
compares with becomes a union with ours, PyMC's call of nutpie passes a mode of ours on, and nutpie.compile_pymc_model
knows `backend="stablehlo"`. So are those with which PyMC starts processes. All of it acts on modes of ours only.

Worker processes of PyMC's samplers are forked where their functions need no threads, else started anew: XLA's threads
are not in a forked process. One that is started anew does not import the main module, which a script without a main
guard would not survive: what a worker needs of it goes along by value, as in a notebook.
"""

from __future__ import annotations

import io
import multiprocessing
import multiprocessing.spawn as spawning
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pymc
import pytensor
from pymc.model import Model, modelcontext
from pymc.sampling import mcmc, parallel, population
from pymc.smc import sampling as smc
from pytensor.compile import Function
from pytensor.compile.ops import FromFunctionOp
from pytensor.graph.basic import Variable

from ...codegen.errors import OptionError, UnsupportedVersionError
from ...dialects import registry
from ...dialects.replaced import Replaced, Use, replacing
from ..mode.classes import NAME
from ..pytensor.linker import StableHLOLinker
from . import predictions
from .in_jax import check_model
from .predictions import is_ours

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
    absent = [f"{place.__name__}.{name}" for place, name, _ in _IN_PYMC if not hasattr(place, name)]
    return absent if find_spec("nutpie") else ["nutpie", *absent]


def _refuse_absent() -> None:
    absent = _missing()
    if absent:
        raise UnsupportedVersionError(f"install nutpie and PyMC 6.4 or later; there is no {absent[0]}")


def _replace() -> Callable[[], None]:
    replaced = [] if _missing() else [*_IN_PYMC]
    if replaced:
        places = [import_module(module) for module in ("nutpie", "nutpie.compile_pymc")]
        replaced += [(place, "compile_pymc_model", _with_our_backend) for place in places]
    if hasattr(parallel, _CONTEXT):
        pathfinder = sys.modules.get("pymc_extras.inference.pathfinder.multipath")  # which may come later
        replaced += [(place, _CONTEXT, _checked) for place in (parallel, mcmc, smc, pathfinder) if place is not None]
        replaced += _WORKERS
    replaced += predictions.replaced()
    originals = [(place, name, getattr(place, name)) for place, name, _ in replaced]
    for (place, name, make), (_, _, original) in zip(replaced, originals, strict=True):
        setattr(place, name, make(original))

    def undo() -> None:
        for original in originals:
            setattr(*original)

    return undo


HOOKS = Replaced(_replace)


@replacing
def _passing_the_mode(original: Any, sampler: str, *args: Any, compile_kwargs: dict[str, Any], **options: Any) -> Any:
    mode = compile_kwargs.get("mode")
    if sampler == "nutpie" and is_ours(mode):
        compile_kwargs = {"backend": BACKEND, **compile_kwargs, "stablehlo_mode": mode}
    return original(sampler, *args, compile_kwargs=compile_kwargs, **options)


@replacing
def _with_our_backend(original: Any, model: Any, *, backend: str = "numba", **options: Any) -> Any:
    if backend.lower() != BACKEND:
        if options.pop("stablehlo_mode", None) is not None:
            raise OptionError(f"nutpie's backend is {backend!r}, and the mode hlograph's: give one of them")
        return original(model, backend=backend, **options)
    if options.pop("gradient_backend", "pytensor") not in (None, "pytensor"):
        raise OptionError("gradients are PyTensor's where nutpie's backend is hlograph: leave out gradient_backend")
    from .nutpie import compile_pymc_model

    return compile_pymc_model(model, mode=options.pop("stablehlo_mode", None), **options)


# ---- processes -------------------------------------------------------------------------------------------------------


class Workers:
    """One of multiprocessing's contexts, whose processes do not import the main module.

    Args:
        context: multiprocessing's.
        given: whether the user has chosen it.
    """

    def __init__(self, context: Any, *, given: bool) -> None:
        self.context, self.given = context, given

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def Process(self, *, target: Callable[..., Any], **options: Any) -> Any:
        """A process; see `multiprocessing.Process`."""
        if self.context.get_start_method() == "fork":
            return self.context.Process(target=target, **options)
        self.context.set_forkserver_preload([__name__])  # so that PyMC is imported once for all workers
        process = self.context.Process(target=partial(_run_as_here, _state(), target), **options)
        process._Popen = partial(_without_main, process._Popen)
        return process


_STARTING = threading.local()


def _without_main(start: Callable[[Any], Any], process: Any) -> Any:
    _STARTING.alone = True
    try:
        return start(process)
    finally:
        _STARTING.alone = False


@replacing
def _preparation(original: Any, name: str) -> dict[str, Any]:
    found = original(name)
    if getattr(_STARTING, "alone", False):
        found = {key: value for key, value in found.items() if not key.startswith(("init_main", "main_path"))}
    return found


def _state() -> bytes:
    flags = pytensor.config._config_var_dict
    chosen = {name: flag.val for name, flag in flags.items() if flag.mutable and hasattr(flag, "val")}
    return cloudpickle.dumps((chosen, registry.of_classes()))


def _run_as_here(state: bytes, target: Callable[..., Any], *args: Any) -> None:
    flags, rules = pickle.loads(state)
    for name, value in flags.items():
        if getattr(pytensor.config, name) != value:
            setattr(pytensor.config, name, value)
    registry.add(rules)
    with HOOKS.use():
        target(*args)


def _raised(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def reduce(error: Any) -> Any:
        rebuild, (raised, text) = original(error)
        return _raise_again, (rebuild, cloudpickle.dumps(raised), text)

    return reduce


def _raise_again(rebuild: Callable[[Any, str], Any], raised: bytes, text: str) -> Any:
    return rebuild(pickle.loads(raised), text)


def _by_value(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def reduce(op: Any) -> Any:
        function, infer_shape = (vars(op)[f"_FromFunctionOp__{name}"] for name in ("fn", "infer_shape"))
        with suppress(pickle.PicklingError):
            if function.__module__ != "__main__":
                return original(op)
        return type(op), (function, op.itypes, op.otypes, infer_shape)

    return reduce


@replacing
def _checked(original: Any, mp_ctx: Any = None, *, mode: Any = None, quiet: bool = False) -> Any:
    """PyMC's choice of a context, which is never fork by default where functions of ours may need threads."""
    context = original(mp_ctx, mode=mode, quiet=quiet)
    if not HOOKS.users or not is_ours(mode) or isinstance(context, Workers):
        return context
    if mp_ctx is None and context.get_start_method() == "fork":
        names = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("forkserver" if "forkserver" in names else "spawn")
    return Workers(context, given=mp_ctx is not None)


@replacing
def forked_where_possible(
    original: Any, *, step_method: Any, start_points: Sequence[Any], mp_ctx: Any = None, **options: Any
) -> Any:
    """PyMC's sampler of chains in workers."""
    work = [*_works(step_method), (options.get("zarr_chains"), ())]
    mp_ctx = _fitting(mp_ctx, work, start_points[0] if start_points else {})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called|This process .* is multi-threaded")
        return original(step_method=step_method, start_points=start_points, mp_ctx=mp_ctx, **options)


@replacing
def one_process(original: Any, steppers: Any, parallelize: bool) -> Any:
    """PyMC's stepper of a population, which would compile its functions in forked processes."""
    return original(steppers, parallelize and not _functions(steppers)[0])


def _fitting(context: Any, work: Sequence[tuple[Any, Sequence[Any]]], point: Mapping[str, Any]) -> Any:
    """The context for workers with this work: where nobody has chosen one, forks, if its functions let that be."""
    by_choice = not isinstance(context, Workers) or context.given
    if by_choice:
        fork = getattr(context, "get_start_method", multiprocessing.get_start_method)() == "fork"
    else:
        fork = sys.platform != "darwin" and multiprocessing.get_start_method() == "fork"
    if not fork:
        return context
    reason = next(filter(None, (_refusal(*each, point) for each in work)), "")
    if by_choice and reason and _functions(work)[0]:
        message = f"{reason}: it may fail or wait forever in a worker that is forked, without XLA's threads; mp_ctx="
        warnings.warn(f'{message}"forkserver" starts others', stacklevel=6)
    return context if by_choice or reason else multiprocessing.get_context("fork")


def _works(step: Any) -> Iterator[tuple[Any, Sequence[Any]]]:
    if hasattr(step, "methods"):
        for method in step.methods:
            yield from _works(method)
    else:
        yield step, getattr(step, "vars", ())


def _refusal(work: Any, variables: Sequence[Any], point: Mapping[str, Any]) -> str:
    """Why a part of a step cannot run in a forked process, once its functions are compiled for it; "" if it can."""
    total = sum(np.size(point[v.name]) for v in variables if v.name in point)
    functions, error = _functions(work)
    for function in functions:
        given: dict[int, Any] = {}
        for i, spec in enumerate(function.maker.inputs):
            kind, value = spec.variable.type, point.get(spec.variable.name)
            ndim = getattr(kind, "ndim", None)
            if value is None and ndim == 1:
                value = np.zeros(total)
            if not spec.implicit and (value is None or np.ndim(value) != ndim):
                return f"of a function's argument {spec.variable} the shape is not known"
            if not spec.implicit:
                given[i] = np.asarray(value, kind.dtype)
        reason = function.vm.binding.prepare_fork(given)
        if reason:
            return f"a function is not called directly ({reason})"
    return error


class _Finder(cloudpickle.Pickler):
    """Goes through all that an object holds, and notes the functions that hlograph compiled."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())
        self.found: list[Any] = []

    def persistent_id(self, x: Any) -> Any:
        if isinstance(x, Function) and isinstance(x.maker.linker, StableHLOLinker):
            self.found.append(x)
        return True if isinstance(x, Function | Variable | Model | np.ndarray | ModuleType) else None


def _functions(work: Any) -> tuple[list[Any], str]:
    """hlograph's functions in what a worker gets; and why there may be more."""
    finder = _Finder()
    try:
        finder.dump(work)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        return finder.found, f"a step cannot be pickled ({error})"
    return finder.found, ""


_CONTEXT = "_initialize_multiprocessing_context"
_WORKERS: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (parallel, "ParallelSampler", forked_where_possible),
    (population, "PopulationStepper", one_process),
    (spawning, "get_preparation_data", _preparation),
    (FromFunctionOp, "__reduce__", _by_value),
    (parallel.ExceptionWithTraceback, "__reduce__", _raised),
]
_IN_PYMC: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (mcmc, "NumbaLinker", lambda linker: linker | StableHLOLinker),  # whose models nutpie can have
    (mcmc, "_sample_external_nuts", _passing_the_mode),
]
