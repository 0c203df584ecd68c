"""PyMC models for nutpie: `compile_pymc_model(model)` gives what `nutpie.sample` takes.

In: a PyMC model. Out: nutpie's own compiled model, whose two C functions are ours: value and gradient of the density,
and the variables that a draw expands to. nutpie makes the graphs and PyMC the initial points; hlograph compiles the
graphs in its mode, and hands nutpie the addresses (`Function.c_function`).

Data (`pm.Data`) are arguments of both functions, bound to each pointer, so nutpie passes no data of its own. What they
alone decide of the density is computed before (`runtime.data`). Other data is another pointer to the same executable;
one more executable where lengths are new and the program is not padded, or where other sizes are left of the data.
"""

from __future__ import annotations

import ctypes
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pymc
import pytensor

# What hlograph uses of nutpie, most of it private there; tests/runtime/samplers/test_nutpie.py holds what it takes.
from nutpie.compile_pymc import CompiledPyMCModel as NutpieModel
from nutpie.compile_pymc import _make_functions as make_functions
from nutpie.compile_pymc import _prepare_dims_and_coords as dims_and_coords
from nutpie.compile_pymc import _wrap_with_lock as with_lock
from pymc.initial_point import make_initial_point_fn
from pymc.model.transform.optimization import freeze_dims_and_data
from pytensor.compile.mode import get_mode
from pytensor.tensor.random.type import RandomType

from ...codegen import dims as dimension
from ...codegen.errors import (
    ArgumentError,
    ArgumentShapeError,
    ArgumentTypeError,
    OptionError,
    PythonCallWarning,
    UnsupportedGraphError,
)
from ...dialects.frontend import emit_stablehlo
from ...dialects.readers import xtensors
from ..c_function import CFunction
from ..calls.arguments import key_of
from ..data import DataFunction
from ..function import Function
from ..mode.binding import Refusal
from ..mode.classes import NAME
from ..options import Numpy
from ..pytensor.linker import StableHLOLinker
from .in_jax import check_model, know_integers

# nutpie passes this array's address on to the functions: none, since their data is bound to them.
_NO_DATA: Any = SimpleNamespace(ctypes=SimpleNamespace(data=0))

Data = Mapping[str, np.ndarray]
_FORMS: Sequence[Literal["logp", "expand"]] = ("logp", "expand")
_double_pointer = ctypes.POINTER(ctypes.c_double)
# walnutpie takes functions of this type only; ctypes makes one class of all that are alike.
_WALNUTPIE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_size_t, _double_pointer, _double_pointer, _double_pointer, ctypes.c_void_p
)


@dataclass(frozen=True)
class Part:
    """One of the two functions that nutpie calls.

    Attributes:
        function: the program; its first argument is the unconstrained point.
        keys: of the data that the other arguments are.
        form: of the C function.
        compiled: the C function, with data bound to it.
    """

    function: Function
    keys: tuple[str, ...]
    form: Literal["logp", "expand"]
    compiled: CFunction

    @staticmethod
    def of(function: Function, keys: Sequence[str], form: Literal["logp", "expand"], point: Any, data: Data) -> Part:
        """A function that takes these data as arguments, compiled with values of them."""
        given = [point, *map(data.__getitem__, keys)]
        function = _of_known_lengths(function, given) if form == "logp" else function
        program = function.program
        if form == "logp" and keys and not program.host_calls and not program.signature.has_data_sizes:
            names = [argument.name for argument in program.signature.arguments[1:]]
            function = DataFunction(program, function.options, names)
        return Part(function, tuple(keys), form, function.c_function(*given, form=form))

    def with_data(self, point: Any, data: Data) -> Part:
        """The same with other data; compiled once more, padded, where lengths are new."""
        given = [data[key] for key in self.keys]
        function = self.function
        try:
            compiled = self.compiled.with_data(*given)
        except ArgumentShapeError:
            options = function.options
            policy = "padded" if options.policy == "auto" else options.policy
            function = Function(function.program, replace(options, policy=policy))
            compiled = function.c_function(point, *given, form=self.form)
        if compiled.expanded != self.compiled.expanded:
            raise ArgumentShapeError(
                f"with this data, a draw expands to {compiled.expanded} numbers and not {self.compiled.expanded}: "
                "the length of a deterministic variable follows it; leave that one out with var_names, or compile the "
                "model with the new data"
            )
        return replace(self, function=function, compiled=compiled)


@dataclass(frozen=True)
class CompiledModel(NutpieModel):
    """nutpie's compiled model, with functions that hlograph compiled.

    Attributes:
        parts: what the two C functions are made of.
        point: an unconstrained point, with which they are tried.
    """

    parts: tuple[Part, Part] = field(kw_only=True)
    point: np.ndarray = field(kw_only=True)

    @property
    def native(self) -> bool:
        """Whether both functions run without Python, and without the interpreter's lock."""
        return self.compiled_logp_func.native and self.compiled_expand_func.native

    @cached_property
    def for_walnutpie(self) -> tuple[Any, None]:
        """What `walnutpie.walnuts_pyfunc` takes: value and gradient as a `ctypes` function; good as long as this is."""
        density = self.compiled_logp_func.as_density()
        function: Any = _WALNUTPIE(density.address)
        function.kept = density
        return function, None

    def _make_sampler(self, *args: Any, **options: Any) -> Any:
        return _Sampler(super()._make_sampler(*args, **options), self)

    def with_data(self, **updates: Any) -> CompiledModel:
        """The same model with other values of `pm.Data`; lengths may differ where no random variable's do.

        Raises:
            ArgumentError: the functions use no such data.
            ArgumentTypeError: the values do not fit its dtype.
            ArgumentShapeError: they are of another rank, do not fit each other, or change a draw's length.
        """
        data = {**self.shared_data}
        keys = {variable.name: key for variable, key in self.shared_var_keys.items()}
        for name, value in updates.items():
            if name not in keys:
                known = ", ".join(sorted(map(str, keys))) or "none"
                raise ArgumentError(f"the model's functions use no data {name!r}; what they use: {known}")
            data[keys[name]] = _converted(name, value, data[keys[name]])
        changed = {keys[name] for name in updates}
        parts: list[Part] = []
        with _one_warning_of(parts):
            for part in self.parts:
                parts.append(part.with_data(self.point, data) if changed.intersection(part.keys) else part)
        logp, expand = parts
        changes: dict[str, Any] = {
            "shared_data": data,
            "compiled_logp_func": logp.compiled,
            "compiled_expand_func": expand.compiled,
            "parts": (logp, expand),
        }
        return replace(self, **changes)


class _Sampler:
    """nutpie's sampler, with words before the codes in its errors."""

    def __init__(self, sampler: Any, model: CompiledModel) -> None:
        self._sampler, self._model = sampler, model

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._sampler, name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            try:
                return found(*args, **options)
            except RuntimeError as error:
                code = re.search(r"ErrorCode\((-?\d+)\)", str(error))
                if code is not None:
                    expands = "xpand" in str(error)
                    function = self._model.compiled_expand_func if expands else self._model.compiled_logp_func
                    error.args = (f"{function.meaning(int(code[1]))}\n\n{error}", *error.args[1:])
                raise

        return call


def compile_pymc_model(
    model: pymc.Model,
    *,
    mode: Any = None,
    initial_points: Mapping[Any, Any] | None = None,
    jitter_rvs: set[Any] | None = None,
    default_initialization_strategy: Literal["support_point", "prior"] = "support_point",
    var_names: Iterable[str] | None = None,
    freeze_model: bool = False,
) -> CompiledModel:
    """A PyMC model for `nutpie.sample`, compiled by hlograph.

    Args:
        model: with continuous free variables.
        mode: a `hlograph.Mode`, with its options; by default the one called "STABLEHLO".
        initial_points, jitter_rvs, default_initialization_strategy, var_names: see `nutpie.compile_pymc_model`.
        freeze_model: whether data and the lengths of dims are constants of the program.

    Raises:
        GraphError: it is not a PyMC model.
        UnsupportedGraphError: it has discrete free variables, or none, or its density draws random numbers.
        UnsupportedOpError: ops without a lowering rule, all of them.
        OptionError: the mode is another one.
    """
    mode = get_mode(NAME if mode is None else mode)
    if not isinstance(mode.linker, StableHLOLinker):
        raise OptionError(f"mode must be a hlograph.Mode or {NAME!r}, got {mode}")
    check_model(model)
    if freeze_model:
        model = freeze_dims_and_data(model)
        if jitter_rvs is not None:
            jitter_rvs = {model[name] for name in map(_name, jitter_rvs)}
        initial_points = {_name(variable): point for variable, point in (initial_points or {}).items()}
    if default_initialization_strategy == "support_point" and jitter_rvs is None:
        jitter_rvs = set(model.free_RVs)
    initial_points_of = make_initial_point_fn(
        model=model,
        overrides=initial_points,
        default_strategy=default_initialization_strategy,
        jitter_rvs=jitter_rvs,
        return_transformed=True,
    )
    n_dim, n_expanded, logp, expand, initial_point, shape_info, reparameterized = make_functions(
        model,
        mode=mode,
        compute_grad=True,
        join_expanded=True,
        pymc_initial_point_fn=with_lock(initial_points_of),
        var_names=var_names,
    )
    # It evaluates the lengths of dims in the default mode, which may compile for seconds.
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        dims, coords = dims_and_coords(model, shape_info, reparameterized)
    keys = _keys(logp, expand)
    taking_data = _taking_data(logp), _taking_data(expand)
    if not freeze_model and keys and any(function.program.signature.has_data_sizes for function, _ in taking_data):
        warnings.warn(
            f"sizes are computed from the data {', '.join(sorted(str(variable.name) for variable in keys))}: they are "
            "constants of the program, as with freeze_model=True, and with_data cannot change them",
            stacklevel=2,
        )
        return compile_pymc_model(
            model,
            mode=mode,
            initial_points=initial_points,
            jitter_rvs=jitter_rvs,
            default_initialization_strategy=default_initialization_strategy,
            var_names=var_names,
            freeze_model=True,
        )
    data = {key: _copied(variable.get_value(borrow=True)) for variable, key in keys.items()}
    point = initial_point(0)
    parts: list[Part] = []
    with _one_warning_of(parts):
        for (function, variables), form in zip(taking_data, _FORMS, strict=True):
            parts.append(Part.of(function, [keys[variable] for variable in variables], form, point, data))
    return CompiledModel(
        _n_dim=n_dim,
        dims=dims,
        _coords=coords,
        _shapes={name: tuple(shape) for name, _, shape in zip(*shape_info, strict=True)},
        compiled_logp_func=parts[0].compiled,
        compiled_expand_func=parts[1].compiled,
        initial_point_func=initial_point,
        shared_data=data,
        shared_var_keys=keys,
        user_data=_NO_DATA,
        n_expanded=n_expanded,
        shape_info=shape_info,
        logp_func=logp,
        expand_func=expand,
        reparameterized_names=reparameterized,
        parts=(parts[0], parts[1]),
        point=point,
    )


def _name(variable: Any) -> str:
    return variable if isinstance(variable, str) else str(variable.name)


def _keys(*compiled: Any) -> dict[Any, str]:
    found: dict[Any, str] = {}
    for function in compiled:
        for variable in function.get_shared():
            if isinstance(variable.type, RandomType):
                raise UnsupportedGraphError(
                    "the model's density or a deterministic variable draws random numbers (pm.Minibatch?): nutpie "
                    "needs the same value at each call"
                )
            found.setdefault(variable, f"shared{len(found)}")
    return found


def _taking_data(compiled: Any) -> tuple[Function, list[Any]]:
    """A compiled function of PyTensor's with its shared variables as further arguments; and these variables."""
    binding = compiled.vm.binding
    if isinstance(binding.function, Refusal):
        raise binding.function.error
    places, program = list(binding.arguments), binding.function.program
    wide = all(result.dtype == np.float64 for result in program.signature.results)
    # Nothing depends on the point; the model's numbers are of 32 bits; or sizes count as data that are constants.
    if places[:1] != [0] or not wide or program.signature.has_data_sizes:
        places = [0, *[i for i in places if i != 0]]
        graph = compiled.maker.fgraph.clone()
        know_integers(graph)
        inputs = [graph.inputs[i] for i in places]
        outputs = [output.astype("float64") for output in graph.outputs]
        program = emit_stablehlo((inputs, outputs), name=program.name, dims=xtensors.own_dims(inputs))
    options = replace(compiled.maker.linker.options, numpy=Numpy())
    return Function(program, options), [compiled.maker.inputs[i].variable for i in places[1:]]


def _of_known_lengths(function: Function, arguments: Sequence[Any]) -> Function:
    """The function with the lengths fixed that are those of its gradient.

    Where a parameter of length 1 meets data of that dim, the gradient has the data's length, which is the same.
    """
    signature = function.program.signature
    lengths = {root for result in signature.results for dim in result.dims for root in dimension.roots(dim)}
    sizes = dict(zip(function.sizes, key_of(signature, arguments), strict=True))
    fixed = {name: sizes[name] for name in function.sizes if name in lengths}
    return Function(function.program.specialize(fixed), function.options) if fixed else function


def _copied(value: Any) -> np.ndarray:
    array = np.array(value, order="C", copy=True)
    array.flags.writeable = False
    return array


def _converted(name: str, value: Any, old: np.ndarray) -> np.ndarray:
    given = np.asarray(value)
    if given.ndim != old.ndim:
        raise ArgumentShapeError(f"data {name!r} has rank {old.ndim}, got {given.ndim}")
    if not np.can_cast(given.dtype, old.dtype, "same_kind") and not _is_whole(given, old.dtype):
        raise ArgumentTypeError(f"data {name!r} has dtype {old.dtype}, got values of {given.dtype} that do not fit")
    return _copied(given.astype(old.dtype))


def _is_whole(given: np.ndarray, dtype: np.dtype[Any]) -> bool:
    if given.dtype.kind not in "biuf" or dtype.kind not in "biu":
        return False
    with np.errstate(invalid="ignore"):
        return np.array_equal(given.astype(dtype), given)


@contextmanager
def _one_warning_of(parts: list[Part]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PythonCallWarning)
        yield
    reasons = {part.compiled.reason: None for part in parts if not part.compiled.native}
    if reasons:
        message = f"nutpie calls this model through Python, one thread at a time: {'; '.join(reasons)}"
        warnings.warn(message, PythonCallWarning, stacklevel=4)
