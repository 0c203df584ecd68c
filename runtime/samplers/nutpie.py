"""PyMC models for nutpie: `compile_pymc_model(model)` gives what `nutpie.sample` takes.

In: a PyMC model. Out: nutpie's own compiled model, whose two C functions are ours: value and gradient of the density, and
the variables that a draw expands to. nutpie makes the graphs and PyMC the initial points; hlograph compiles the graphs in
its mode, and hands nutpie the addresses (`Function.c_function`).

Data (`pm.Data`) are arguments of both functions, bound to each pointer, so nutpie passes no data of its own. Other data
is another pointer to the same executable; one more executable where lengths are new and the program is not padded.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pymc
import pytensor
from pymc.initial_point import make_initial_point_fn
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc.vartypes import discrete_types
from pytensor.compile.mode import get_mode
from pytensor.tensor.random.type import RandomType

from ...codegen.errors import (
    ArgumentError,
    ArgumentShapeError,
    ArgumentTypeError,
    GraphError,
    OptionError,
    UnsupportedGraphError,
)
from ...dialects.frontend import emit_stablehlo
from ...dialects.readers import xtensors
from ..function import Function
from ..mode.binding import Refusal
from ..mode.classes import NAME
from ..options import Numpy
from ..pytensor.linker import StableHLOLinker
from .nutpie_parts import CompiledPyMCModel as NutpieModel
from .nutpie_parts import dims_and_coords, make_functions, with_lock

# nutpie passes this array's address on to the functions: none, since their data is bound to them.
_NO_DATA: Any = SimpleNamespace(ctypes=SimpleNamespace(data=0))


@dataclass(frozen=True)
class Part:
    """One of the two functions that nutpie calls.

    Attributes:
        function: the program; its first argument is the unconstrained point.
        keys: of the data that the other arguments are.
        form: of the C function.
    """

    function: Function
    keys: tuple[str, ...]
    form: Literal["logp", "expand"]

    def bound(self, point: np.ndarray, data: Mapping[str, np.ndarray]) -> Any:
        """A C function with this data."""
        return self.function.c_function(point, *[data[key] for key in self.keys], form=self.form)


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

    @property
    def stats(self) -> Any:
        """Calls, compiles and plans of the value and gradient."""
        return self.parts[0].function.stats

    def with_data(self, **updates: Any) -> CompiledModel:
        """The same model with other values of `pm.Data`; lengths may differ where no random variable's do.

        Raises:
            ArgumentError: there is no such data; or a deterministic variable has another length with it.
            ArgumentTypeError: the values do not fit its dtype.
            ArgumentShapeError: they are of another rank, or do not fit each other.
        """
        data = {**self.shared_data}
        keys = {variable.name: key for variable, key in self.shared_var_keys.items()}
        for name, value in updates.items():
            if name not in keys:
                known = ", ".join(sorted(map(str, keys))) or "none"
                raise ArgumentError(f"the model's functions use no data {name!r}; what they use: {known}")
            data[keys[name]] = _converted(name, value, data[keys[name]])
        changed = {keys[name] for name in updates}
        old = self.compiled_logp_func, self.compiled_expand_func
        logp, expand = (
            part.bound(self.point, data) if changed.intersection(part.keys) else function
            for part, function in zip(self.parts, old, strict=True)
        )
        return dataclasses.replace(self, shared_data=data, compiled_logp_func=logp, compiled_expand_func=expand)


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
    data = {key: _copied(variable.get_value(borrow=True)) for variable, key in keys.items()}
    parts = _part(logp, keys, "logp"), _part(expand, keys, "expand")
    point = initial_point(0)
    functions = [part.bound(point, data) for part in parts]
    _warn_of_python(functions)
    return CompiledModel(
        _n_dim=n_dim,
        dims=dims,
        _coords=coords,
        _shapes={name: tuple(shape) for name, _, shape in zip(*shape_info, strict=True)},
        compiled_logp_func=functions[0],
        compiled_expand_func=functions[1],
        initial_point_func=initial_point,
        shared_data=data,
        shared_var_keys=keys,
        user_data=_NO_DATA,
        n_expanded=n_expanded,
        shape_info=shape_info,
        logp_func=logp,
        expand_func=expand,
        reparameterized_names=reparameterized,
        parts=parts,
        point=point,
    )


def check_model(model: Any) -> None:
    """Refuses what nutpie cannot sample, by name."""
    if not isinstance(model, pymc.Model):
        raise GraphError(f"expected a pymc.Model, got {type(model).__name__}")
    if not model.free_RVs:
        raise UnsupportedGraphError(f"the model {model.name!r} has no free variables: there is nothing to sample")
    discrete = [variable.name for variable in model.free_RVs if variable.dtype in discrete_types]
    if discrete:
        raise UnsupportedGraphError(
            f"the free variables {', '.join(discrete)} are discrete: nutpie takes derivatives; marginalize them, or "
            'sample with pm.sample(backend="STABLEHLO", nuts_sampler="pymc")'
        )


def _keys(*compiled: Any) -> dict[Any, str]:
    """A name for each shared variable of compiled functions."""
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


def _part(compiled: Any, keys: Mapping[Any, str], form: Literal["logp", "expand"]) -> Part:
    """A compiled function of PyTensor's as one that takes its data as arguments."""
    binding = compiled.vm.binding
    if isinstance(binding.function, Refusal):
        binding.function()
    variables = compiled.maker.fgraph.inputs
    places = list(binding.arguments)
    program = binding.function.program
    wide = all(result.dtype == np.float64 for result in program.signature.results)
    if places[:1] != [0] or not wide:
        places = [0, *[i for i in places if i != 0]]
        inputs = [variables[i] for i in places]
        outputs = [output.astype("float64") for output in compiled.maker.fgraph.outputs]
        program = emit_stablehlo((inputs, outputs), name=program.name, dims=xtensors.own_dims(inputs))
    options = replace(compiled.maker.linker.options, numpy=Numpy())
    shared = [compiled.maker.inputs[i].variable for i in places[1:]]
    return Part(Function(program, options), tuple(keys[variable] for variable in shared), form)


def _copied(value: Any) -> np.ndarray:
    """An array that nobody else changes."""
    array = np.array(value, order="C", copy=True)
    array.flags.writeable = False
    return array


def _converted(name: str, value: Any, old: np.ndarray) -> np.ndarray:
    """New data in the dtype of the old."""
    given = np.asarray(value)
    if given.ndim != old.ndim:
        raise ArgumentShapeError(f"data {name!r} has rank {old.ndim}, got {given.ndim}")
    converted = given.astype(old.dtype)
    if not np.can_cast(given.dtype, old.dtype, "same_kind") and not np.array_equal(converted, given):
        raise ArgumentTypeError(f"data {name!r} has dtype {old.dtype}, got values of {given.dtype} that do not fit")
    return _copied(converted)


def _warn_of_python(functions: Sequence[Any]) -> None:
    """Says why nutpie's threads wait for Python, where they do."""
    reasons = {function.reason: None for function in functions if not function.native}
    if reasons:
        warnings.warn(
            f"nutpie calls this model through Python, one thread at a time: {'; '.join(map(str, reasons))}",
            stacklevel=3,
        )
