"""PyMC's functions over a posterior, all draws in one program: predictions, log-likelihoods, deterministics, `pm.draw`.

In: a function that PyMC compiled in our mode for one draw, and the values of many. Out: the results of all, from its
program with a further axis, in chunks. PyMC goes on around it, and gets one "draw" that has all of them in front.
Decision to know: each draw has a key of its own for each generator, so chunks do not change results.
"""

from __future__ import annotations

import math
import operator
import sys
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pymc
from pymc.backends import arviz
from pymc.model import core
from pymc.pytensorf import collect_default_updates, reseed_rngs
from pymc.sampling import deterministic, forward
from pymc.stats import log_density
from pymc.util import _get_seeds_per_chain
from pytensor.compile.mode import get_mode
from pytensor.compile.sharedvalue import SharedVariable

from ...codegen.errors import BatchingError, OneByOneWarning
from ...codegen.ir.values import static_bytes, walk
from ...codegen.source import batched
from ...dialects.replaced import replacing
from ..calls.arguments import key_of
from ..function import Function
from ..mode import values
from ..options import CompileOptions
from ..pytensor.linker import StableHLOLinker

CHUNK = 1 << 20  # bytes of the largest array of a chunk of draws


class OverDraws:
    """A function of one draw that PyMC compiled in our mode, for many."""

    def __init__(self, function: Any) -> None:
        self._one = function
        self._binding = function.vm.binding
        self._inputs = [(x.name, np.dtype(getattr(x.type, "dtype", "O"))) for x in function.maker.fgraph.inputs]
        self._explicit = {i for i, x in enumerate(function.maker.inputs) if not isinstance(x.variable, SharedVariable)}
        self._results = [i for i in range(len(self._binding.results)) if i not in self._binding.updates]
        self._steps: dict[tuple[Any, ...], int] = {}
        self._programs: dict[tuple[Function, int], Function] = {}

    def __call__(self, draws: Mapping[str, Any], count: int) -> list[np.ndarray[Any, Any]]:
        try:
            return self._together(draws, count) if self._results else []
        except BatchingError as error:
            name = self._binding.linker.fgraph.name or "a function of the model"
            warnings.warn(f"{name} is called draw by draw: {error}", OneByOneWarning, stacklevel=2)
        names = {self._inputs[i][0] for i in self._explicit}
        found = [self._one(**{name: x[i] for name, x in draws.items() if name in names}) for i in range(count)]
        return [np.stack(rows) for rows in zip(*found, strict=True)]

    def _together(self, draws: Mapping[str, Any], count: int) -> list[np.ndarray[Any, Any]]:
        function, arguments = self._binding.function, self._binding.arguments
        if not isinstance(function, Function) or len(arguments) != len(function.program.signature.arguments):
            raise BatchingError("it has no program before it is called, or one that takes sparse matrices")
        given: list[Any] = []
        mapped: list[bool] = []
        for i, argument in arguments.items():
            name, dtype = self._inputs[i]
            mapped.append(i in self._explicit or isinstance(argument, values.Key))
            if isinstance(argument, values.Key):
                words = np.random.SeedSequence(np.asarray(argument.read()).tolist())
                given.append(words.generate_state(2 * count, np.uint32).reshape(count, 2))
            else:
                given.append(np.asarray(draws[name], dtype) if mapped[-1] else np.asarray(argument.in_numpy()))
        if not any(mapped):
            constant = function.run(given)
            return [np.repeat(np.asarray(constant[i])[None], count, 0) for i in self._results]
        step, run = self._chunked(function, given, mapped, count)
        whole: list[np.ndarray[Any, Any]] = []
        for begin in range(0, count, step):
            # All chunks are of one length: the last begins earlier, and where draws are fewer the last one is repeated.
            first = max(min(begin, count - step), 0)
            places = np.minimum(np.arange(first, first + step), count - 1)
            rows = slice(first, first + step) if step <= count else places
            results = run.run([x[rows] if each else x for x, each in zip(given, mapped, strict=True)])
            found = [np.asarray(results[i]) for i in self._results]
            whole = whole or [np.empty((count, *x.shape[1:]), x.dtype) for x in found]
            for to, x in zip(whole, found, strict=True):
                to[first : first + step] = x[: count - first]
        return whole

    def _chunked(
        self, function: Function, given: Sequence[Any], mapped: Sequence[bool], count: int
    ) -> tuple[int, Function]:
        one = [x[0] if each else x for x, each in zip(given, mapped, strict=True)]
        sizes = dict(zip(function.sizes, key_of(function.program.signature, one), strict=True))
        most = 1 << (count - 1).bit_length()
        key = function, most, math.prod(sizes.values()).bit_length()
        if key not in self._steps:
            static = function.prepared(sizes).program
            largest = static.find(
                lambda module: max(static_bytes(x.type) or 1 for op in walk(module) for x in op.results)
            )
            self._steps[key] = max(min(CHUNK // largest, most), 1)
        step = self._steps[key]
        if (function, step) not in self._programs:
            program = batched(function.program, mapped).program
            [axis] = {root.name for root in program.signature.roots} - set(function.sizes)
            options = CompileOptions.of(outputs="numpy", cpu="jax")
            self._programs[function, step] = Function(program.specialize({axis: step}), options)
        return step, self._programs[function, step]


def over_draws(function: Any) -> Callable[..., list[np.ndarray[Any, Any]]]:
    """What runs a function of PyTensor's for many draws, made once."""
    binding = function.vm.binding
    binding.over_draws = binding.over_draws or OverDraws(function)
    return cast(OverDraws, binding.over_draws)


# ---- in the place of PyMC's ------------------------------------------------------------------------------------------


def is_ours(mode: Any) -> bool:
    """Whether a mode, or the default one where there is none, compiles with hlograph."""
    return isinstance(get_mode(mode).linker, StableHLOLinker)


def _mode_of(options: Mapping[str, Any]) -> Any:
    backend, kwargs = options.get("backend"), options.get("compile_kwargs") or {}
    return kwargs.get("mode") if backend is None or "mode" in kwargs else "cvm" if backend == "c" else backend


class _Draws:
    """What PyMC gets in the place of its trace: `count` draws, 0 before they are known, and their results by name.

    Attributes:
        prior: how many draws are wanted from a prior, which takes no values.
    """

    def __init__(self, prior: int = 0) -> None:
        self.count, self.prior = 0, prior
        self.trace_dict: dict[str, np.ndarray[Any, Any]] = {}

    def insert(self, name: str, value: np.ndarray[Any, Any], place: int) -> None:
        self.trace_dict[name] = value if value.base is None else value.copy()


_running: ContextVar[_Draws | None] = ContextVar("hlograph_draws", default=None)  # of the function of PyMC's that runs


@replacing
def _whole(original: Any, *args: Any, **options: Any) -> Any:
    return _together(original, _Draws(), args, options)


@replacing
def _prior(original: Any, draws: int = 500, *args: Any, **options: Any) -> Any:
    return _together(original, _Draws(prior=draws), (draws, *args), options)


def _together(original: Any, draws: _Draws, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    if not is_ours(_mode_of(options)):
        return original(*args, **options)
    token = _running.set(draws)
    try:
        return original(*args, **options)
    finally:
        _running.reset(token)


@replacing
def _sampler(original: Any, *args: Any, **options: Any) -> Any:
    function, drawn = original(*args, **options)
    draws = _running.get()
    if draws is None or not draws.prior:
        return function, drawn
    rows = zip(*over_draws(function)({}, draws.prior), strict=True)
    return lambda: next(rows), drawn


@replacing
def _point_wrapper(original: Any, function: Any) -> Any:
    draws = _running.get()
    if draws is None or not draws.count:
        return original(function)
    return lambda **values: over_draws(function)(values, draws.count)


@replacing
def _points(original: Any, dataset: Any, sample_dims: Sequence[str]) -> Any:
    draws, names = _running.get(), list(dataset)
    if draws is None or not names:
        return original(dataset, sample_dims)
    stacked = {dim: dataset[names[0]][dim] for dim in sample_dims}
    draws.count = math.prod(map(len, stacked.values()))
    arrays = {name: dataset[name].transpose(*sample_dims, ...).values for name in names}
    return [{k: x.reshape(draws.count, *x.shape[len(sample_dims) :]) for k, x in arrays.items()}], stacked


@replacing
def _trace(original: Any, samples: int) -> Any:
    draws = _running.get()
    return original(samples) if draws is None or not draws.count else draws


@replacing
def _over_dataset(original: Any, function: Any, *args: Any, **options: Any) -> Any:
    draws = _running.get()
    if draws is None:
        return original(function, *args, **options)

    def each(values: Mapping[str, Any]) -> Any:
        return over_draws(function.f)(values, draws.count)

    each.f = SimpleNamespace()  # type: ignore[attr-defined]  # PyMC sets a flag of it
    return original(each, *args, **options)


_COMPILED: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def _compiling(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def compile_fn(model: Any, outs: Any, *, inputs: Any = None, mode: Any = None, **options: Any) -> Any:
        if _running.get() is None or inputs is None:
            return original(model, outs, inputs=inputs, mode=mode, **options)
        seed, kept = options.pop("random_seed", None), _COMPILED.setdefault(model, {})
        key = tuple(outs), tuple(inputs), mode, model.check_bounds, repr(options)
        if key not in kept:
            kept.clear() if len(kept) > 16 else None
            kept[key] = original(model, outs, inputs=inputs, mode=mode, **options)
        reseed_rngs(list(collect_default_updates(inputs=inputs, outputs=outs)), seed)
        return kept[key]

    return compile_fn


@replacing
def _draw(original: Any, vars: Any, draws: int = 1, random_seed: Any = None, **options: Any) -> Any:
    mode = _mode_of({"backend": options.get("backend"), "compile_kwargs": options})
    if draws < 2 or not is_ours(mode) or options.keys() - {"mode", "backend"}:
        return original(vars, draws, random_seed, **options)
    if random_seed is not None:
        (random_seed,) = _get_seeds_per_chain(random_seed, 1)
    single = not isinstance(vars, list | tuple)
    function, generators = _drawing((vars,) if single else tuple(vars), mode)
    reseed_rngs(generators, random_seed)
    found = over_draws(function)({}, draws)
    return found[0] if single else found


@lru_cache(8)
def _drawing(variables: tuple[Any, ...], mode: Any) -> tuple[Any, list[Any]]:
    function = pymc.pytensorf.compile([], list(variables), mode=mode)
    return function, list(collect_default_updates(inputs=[], outputs=list(variables)))


_UNTRANSFORMED: weakref.WeakKeyDictionary[Any, tuple[list[Any], Any]] = weakref.WeakKeyDictionary()


@replacing
def _untransformed(original: Any, model: Any) -> Any:
    if _running.get() is None:
        return original(model)
    parts = [x for each in (model.named_vars, model.rvs_to_values, model.rvs_to_transforms) for x in each.values()]
    known, made = _UNTRANSFORMED.get(model, ([], None))
    if len(known) != len(parts) or any(map(operator.is_not, known, parts)):
        made = original(model)
        logp = cache(lambda variables, **options: type(made).logp(made, vars=list(variables), **options))
        made.logp = lambda vars, **options: logp(tuple(vars), **options)
        _UNTRANSFORMED[model] = parts, made
    for new, old in ((made.named_vars, model.named_vars), (made.dim_lengths, model.dim_lengths)):
        for name, x in new.items():
            if isinstance(x, SharedVariable):
                x.set_value(old[name].get_value(borrow=True), borrow=True)
    made._coords = dict(model.coords)
    return made


def replaced() -> list[tuple[Any, str, Callable[[Any], Any]]]:
    """The names to replace, with what replaces them, as far as this release of PyMC has them."""
    inside = [
        (forward, "point_wrapper", _point_wrapper),
        (forward, "compile_forward_sampling_function", _sampler),
        *[(place, "dataset_to_point_list", _points) for place in (forward, arviz)],
        *[(place, "_DefaultTrace", _trace) for place in (forward, arviz)],
        *[(place, "apply_function_over_dataset", _over_dataset) for place in (log_density, deterministic)],
        (log_density, "remove_value_transforms", _untransformed),
        (log_density, "compute_log_density", _whole),
        (core.Model, "compile_fn", _compiling),
    ]
    if not all(hasattr(place, name) for place, name, _ in inside):
        return []
    whole = forward.sample_posterior_predictive, deterministic.compute_deterministics
    modules = [x for x in list(sys.modules.values()) if isinstance(x, ModuleType)]
    own = (forward.draw, _draw), (forward.sample_prior_predictive, _prior)
    for theirs, make in (*((x, _whole) for x in whole), *own):
        name = theirs.__name__
        inside += [(x, name, make) for x in modules if object.__getattribute__(x, "__dict__").get(name) is theirs]
    return inside
