"""`pm.sample(backend="STABLEHLO")` with nutpie: what is put into PyMC and nutpie for it, and taken out again; `sample`.

PyMC gives nutpie the models whose mode has Numba's or JAX's linker, and nutpie compiles with one of the two, whatever
the mode. Neither has a place to register a third, so names of theirs are replaced: the class of linkers that PyMC
compares with becomes a union with ours, PyMC's call of nutpie passes a mode of ours on, and nutpie.compile_pymc_model
knows `backend="stablehlo"`. So are those with which PyMC starts processes. All of it acts on modes of ours only.

Worker processes of PyMC's samplers are forked where their functions need no threads, else started anew: XLA's threads
are not in a forked process, and one that is started anew imports the main module again, which a script without a main
guard does not survive.
"""

from __future__ import annotations

import ast
import io
import multiprocessing
import os
import pickle
import sys
import threading
import tokenize
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.spawn import get_preparation_data
from types import ModuleType
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pymc
from pymc.model import Model, modelcontext
from pymc.sampling import mcmc, parallel, population
from pymc.smc import sampling as smc
from pytensor.compile import Function
from pytensor.compile.mode import get_mode
from pytensor.graph.basic import Variable

from ...codegen.errors import OptionError, UnsupportedVersionError
from ...dialects.replaced import Replaced, Use, replacing
from ..mode.classes import NAME
from ..pytensor.linker import StableHLOLinker
from .in_jax import check_model

BACKEND = "stablehlo"
GUARD = 'if __name__ == "__main__":'
# What the test of a guard has in it.
_GUARDS = {"__name__", "current_process", "parent_process"}
_ENDS = {"exit", "_exit", "quit"}

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


@replacing
def _passing_the_mode(original: Any, sampler: str, *args: Any, compile_kwargs: dict[str, Any], **options: Any) -> Any:
    """PyMC's call of nutpie, which forgets the mode but for being JAX's."""
    mode = compile_kwargs.get("mode")
    if sampler == "nutpie" and is_ours(mode):
        compile_kwargs = {"backend": BACKEND, **compile_kwargs, "stablehlo_mode": mode}
    return original(sampler, *args, compile_kwargs=compile_kwargs, **options)


@replacing
def _with_our_backend(original: Any, model: Any, *, backend: str = "numba", **options: Any) -> Any:
    """nutpie's compile, with one backend more."""
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
    """One of multiprocessing's contexts, whose processes are not started where they would run a script again.

    Args:
        context: multiprocessing's.
        given: whether the user has chosen it.
    """

    def __init__(self, context: Any, *, given: bool) -> None:
        self.context, self.given = context, given

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def Process(self, *args: Any, **options: Any) -> Any:
        """A process; see `multiprocessing.Process`.

        Raises:
            OptionError: it would import this program's main module, which would start one again.
        """
        place = "" if self.context.get_start_method() == "fork" else unguarded()
        if place:
            raise OptionError(
                f"a worker of this sampler starts by {self.context.get_start_method()!r}, which runs the main module "
                f"again, and {place}: put what samples under `{GUARD}` in a script, or let one process sample "
                "(cores=1, parallel=False in Pathfinder), or nutpie (hlograph.pymc.sample), which needs no processes"
            )
        return self.context.Process(*args, **options)


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
        fork = sys.platform != "darwin" and (multiprocessing.get_start_method() == "fork" or bool(unguarded()))
    if not fork:
        return context
    reason = next(filter(None, (_refusal(*each, point) for each in work)), "")
    if by_choice and reason and _functions(work)[0]:
        message = f"{reason}: it may fail or wait forever in a worker that is forked, without XLA's threads; mp_ctx="
        warnings.warn(f'{message}"forkserver" starts others', stacklevel=6)
    return context if by_choice or reason else multiprocessing.get_context("fork")


def _works(step: Any) -> Iterator[tuple[Any, Sequence[Any]]]:
    """The parts of a step, and the variables that the vectors of their functions consist of."""
    for method in getattr(step, "methods", [step]):
        yield method, getattr(method, "vars", ())


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


# ---- the main module ----------------------------------------------------------------------------------------------


def unguarded() -> str:
    """Where the main module is now, if a process that imports it would come to the same place; else "".

    Only what is sure counts: modules without a file are not imported, nor those of packages, and a line that is under a
    condition on `__name__` is not reached.
    """
    main, wanted = sys.modules["__main__"], get_preparation_data("worker")
    path = wanted.get("init_main_from_path")
    if path is None and not wanted.get("init_main_from_name", "__main__").endswith("__main__"):
        path = getattr(main, "__file__", None)
    if path is None or os.path.splitext(os.path.basename(path))[0] == "ipython":
        return ""
    if not os.path.isfile(path):
        return f"there is no file of it ({os.path.basename(path)})"
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    lines: list[int] = []
    top = False
    while frame is not None:
        if frame.f_globals is vars(main) and os.path.abspath(frame.f_code.co_filename) == os.path.abspath(path):
            lines.append(frame.f_lineno)
            top = top or frame.f_code.co_name == "<module>"
        frame = frame.f_back
    if not top:
        return ""
    with tokenize.open(path) as file:
        tree = ast.parse(file.read())
    if any(_is_guard(node, line) for node in ast.walk(tree) for line in lines):
        return ""
    return f"line {lines[-1]} of {os.path.basename(path)}, which samples, is under no `{GUARD}`"


def _is_guard(node: ast.AST, line: int) -> bool:
    """Whether a node has this line run in the main process only."""
    if not isinstance(node, ast.If | ast.IfExp | ast.BoolOp):
        return False
    names = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(getattr(node, "test", node))}
    last: Any = node.body[-1] if isinstance(node, ast.If) else node
    called: Any = getattr(getattr(last, "value", None), "func", None)
    ends = isinstance(last, ast.Return | ast.Raise) or getattr(called, "attr", getattr(called, "id", "")) in _ENDS
    end = node.end_lineno or node.lineno
    return bool(names & _GUARDS) and node.lineno <= line and (line <= end or ends)


_CONTEXT = "_initialize_multiprocessing_context"
_WORKERS: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (parallel, "ParallelSampler", forked_where_possible),
    (population, "PopulationStepper", one_process),
]
_IN_PYMC: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (mcmc, "NumbaLinker", lambda linker: linker | StableHLOLinker),  # whose models nutpie can have
    (mcmc, "_sample_external_nuts", _passing_the_mode),
]
