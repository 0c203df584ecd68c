"""A fitted PyMC model as one program: from data and a seed to predictions, with the posterior's draws as parameters.

In: a model, its posterior, and which results are wanted. Out: a `Predictor`, whose program takes

    seed: uint32[]                      where something is drawn: the key is `jax.random.PRNGKey(seed)`
    data by name                        those `pm.Data` that the results depend on
    county_levels: int64[county]        for each dim of `new_levels`: places in the posterior, -1 for a new level
    row_length: int64[]                 for each other dim of what is drawn that no data has

The graph of one draw becomes an op, which is applied to all draws at once (`Blockwise`).
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc import modelcontext
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import clone_get_equiv
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors
from pytensor.tensor.blockwise import Blockwise

from ...codegen.errors import OptionError
from ...codegen.parameters import Parameter
from ...dialects.frontend import emit_stablehlo
from ...dialects.library import library
from ...dialects.random import keys, pytensor_ops
from ..calls.arguments import key_of
from ..function import Function
from ..options import CompileOptions
from ..predictor import Predictor, plain
from .in_jax import frozen, listed, prepared, roots

LIKELIHOOD = "log_likelihood"
SUMMARIES: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("draws", LIKELIHOOD), lambda x: x),
    "mean": lambda x: x.mean(axis=0),
    "std": lambda x: x.std(axis=0),
}


def predictor(
    model: Any,
    trace: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    results: str | float | Sequence[str | float] = "draws",
    new_levels: str | Sequence[str] = (),
    thin: int = 1,
    **options: Any,
) -> Predictor:
    """A fitted model as a program for servers, which need neither PyMC nor PyTensor; and as one file.

    Args:
        model, trace: a PyMC model and its posterior, with the dims chain and draw.
        path: of a file to write, with an executable for the lengths of the model's data; see `Predictor.save`.
        var_names: variables or deterministics to predict; by default the observed variables.
        results: "draws" (called "y"), "mean" ("y_mean"), "std", "log_likelihood", and numbers for quantiles ("y_0.05").
        new_levels: dims of which calls may have levels that the posterior has not; their values are drawn.
        thin: each chain's first draw is kept, and each `thin`-th after it.
        options: of `Program.compile`.

    Raises:
        OptionError: the model has no such name, or the levels of a dim are not drawn apart from each other.
        UnsupportedOpError: ops without a lowering rule.
    """
    model, given = modelcontext(model), _draws_of(trace, thin)
    kinds = [results] if isinstance(results, str | float | int) else list(results)
    for kind in [x for x in kinds if x not in SUMMARIES and (isinstance(x, str) or not 0 <= x <= 1)]:
        raise OptionError(f"results: {listed(SUMMARIES)}, or numbers from 0 to 1, got {kind!r}")
    names = [x.name for x in model.observed_RVs] if var_names is None else _names(var_names)
    levels = _names(new_levels)
    dims_of = dict.fromkeys(dim for name in given for dim in model.named_vars_to_dims.get(name, ()))
    for what, wanted, known in (("var_names", names, model.named_vars), ("new_levels", levels, dims_of)):
        unknown = [name for name in wanted if name not in known]
        if unknown or not names:
            raise OptionError(f"{what}: there is no {listed(unknown)}; there are {listed(known)}")
    graph = _Graph(model, given, levels)
    outputs = graph.of(model, [model[name] for name in names]) if set(kinds) - {LIKELIHOOD} else []
    drawn = len(outputs)
    if LIKELIHOOD in kinds:
        outputs += graph.likelihoods(names)
    inputs, whole = graph.over_draws(outputs)
    found: list[Any] = []
    dims: dict[str, list[str | None]] = {}
    for place, x in enumerate(whole):
        name = names[place % len(names)]
        for kind in [x for x in kinds if x != LIKELIHOOD] if place < drawn else [LIKELIHOOD]:
            made = SUMMARIES[kind](x) if isinstance(kind, str) else _quantile(x, kind)
            found.append(made.copy(name=name if kind == "draws" else f"{name}_{kind}"))
            own = list(model.named_vars_to_dims.get(name) or [None] * model[name].ndim)
            dims[found[-1].name] = ["draw"] * (kind in ("draws", LIKELIHOOD)) + own
    taken = {x.name for x in inputs}
    axes = {name: own for name, own in graph.axes.items() if name in taken}
    program = emit_stablehlo((inputs, found), dims=axes, name="predictions", rewrite=True)
    program = program.with_parameters({name: Parameter(x, name) for name, x in given.items() if name in taken})
    function = Function(program, CompileOptions.of(**{"outputs": "numpy", **options}))
    own_coords = getattr(trace, "posterior", trace).coords
    labels = {dim: range(int(model.dim_lengths[dim].eval())) if x is None else x for dim, x in model.coords.items()}
    labels |= {dim: own_coords[dim].values for dim in levels if dim in own_coords}
    coords = {dim: [plain(x) for x in each] for dim, each in labels.items()}
    lengths = {name: [dim, int(model.dim_lengths[dim].eval())] for dim, name in graph.lengths.items() if name in taken}
    notes = {"results": dims, "coords": coords, "levels": {f"{x}_levels": x for x in levels}, "lengths": lengths}
    function.notes = {"predictor": notes}
    predict = Predictor(function)
    if path is not None:
        operands = predict.operands(0, {}, {name: model[name].get_value(borrow=True) for name in predict.data})
        predict.save(path, [dict(zip(function.sizes, key_of(program.signature, operands), strict=True))])
    return predict


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _draws_of(trace: Any, thin: int) -> dict[str, np.ndarray[Any, Any]]:
    group = getattr(trace, "posterior", trace)
    if thin < 1 or not {"chain", "draw"} <= set(group.dims):
        raise OptionError(f"a posterior with the dims chain and draw is wanted, and thin of 1 or more, got thin={thin}")
    whole = getattr(group, "dataset", group).isel(draw=slice(None, None, thin)).transpose("chain", "draw", ...)
    return {name: np.ascontiguousarray(x.values.reshape(-1, *x.shape[2:])) for name, x in whole.items()}


def _quantile(draws: Any, level: float) -> Any:
    ordered = pt.sort(draws, axis=0)
    place = level * (draws.type.shape[0] - 1)
    below = int(place)
    rest, upper = place - below, ordered[min(below + 1, draws.type.shape[0] - 1)]
    found = ordered[below] * (1 - rest) + upper * rest if rest else ordered[below]
    return pt.switch(pt.isnan(ordered[-1]), np.nan, found) if draws.dtype.startswith("float") else found


class _Graph:
    """The graph of one draw, and its inputs: draws, data, lengths by dim, codes of levels; names for their axes."""

    def __init__(self, model: Any, given: Mapping[str, np.ndarray[Any, Any]], levels: Sequence[str]) -> None:
        self.model, self.given, self.levels = model, given, levels
        shared = {x.name: x for x in model.data_vars if isinstance(x, SharedVariable)}
        self.data = {name: x.type(name=name) for name, x in shared.items()}
        self.lengths = {dim: f"{dim}_length" for dim in model.dim_lengths}
        self._inputs = {name: pt.TensorType("int64", ())(name=name) for name in self.lengths.values()}
        self._codes = {dim: pt.TensorType("int64", (None,))(name=f"{dim}_levels") for dim in levels}
        self._draw = {name: pt.TensorType(str(x.dtype), x.shape[1:])(name=name) for name, x in given.items()}
        # Bambi keeps `1|g = offset * sigma`, and not the offset, which is not to be drawn anew then.
        missing = {x for x in model.free_RVs if x.name not in given}
        self._kept = [x for x in model.deterministics if x.name in given and missing & set(ancestors([x]))]
        self.axes = {name: model.named_vars_to_dims[name] for name in self.data if name in model.named_vars_to_dims}
        self.axes |= {x.name: (dim,) for dim, x in self._codes.items()}

    def of(self, model: Any, outputs: Sequence[Any], values: Mapping[Any, str] | None = None) -> list[Any]:
        values = values or {x: x.name for x in [*model.free_RVs, *self._kept]}
        memo = clone_get_equiv([], list(outputs), copy_inputs=False, copy_orphans=False)
        graph = FunctionGraph(outputs=[memo[x] for x in outputs], clone=False)
        lengths = self._lengths(model, set(ancestors(graph.outputs)))
        # From the last to the first, as a new level of one is drawn given the values of those before.
        for x, name in reversed(list(values.items())):
            if memo.get(x) in graph.variables and name in self._draw:
                graph.replace(memo[x], self._mixed(memo[x], name), import_missing=True)
        changes = [(x, self.data[x.name]) for x in model.data_vars if x.name in self.data]
        changes += [(x, lengths[dim].astype(x.dtype)) for dim, x in model.dim_lengths.items() if dim in lengths]
        for old, new in changes:
            if old in graph.variables:
                graph.replace(old, new, import_missing=True)
        return frozen(graph.outputs, draws=True)

    def _lengths(self, model: Any, needed: set[Any]) -> dict[str, Any]:
        found: dict[str, Any] = {dim: codes.shape[0] for dim, codes in self._codes.items()}
        for x in (x for x in model.data_vars if x in needed and x.name in self.data):
            for axis, dim in enumerate(model.named_vars_to_dims.get(x.name, ())):
                found.setdefault(dim, self.data[x.name].shape[axis])
        drawn = [x for x in model.basic_RVs if x.name not in self.given]
        for dim in (dim for x in drawn for dim in model.named_vars_to_dims.get(x.name, ()) if dim is not None):
            if isinstance(model.dim_lengths[dim], SharedVariable):
                found.setdefault(dim, self._inputs[self.lengths[dim]])
        return found

    def _mixed(self, variable: Any, name: str) -> Any:
        value, dims = self._draw[name].astype(variable.dtype), self.model.named_vars_to_dims.get(name, ())
        axes = [axis for axis, dim in enumerate(dims) if dim in self._codes]
        if not axes:
            return value
        if max(axes) >= variable.type.ndim - getattr(variable.owner.op, "ndim_supp", variable.type.ndim):
            raise OptionError(f"new_levels: {name} has one joint distribution over all levels of {dims[max(axes)]!r}")
        anew, known = variable.owner.clone().outputs[variable.index], []
        for axis in axes:
            codes = self._codes[dims[axis]]
            value = value.take(pt.switch(codes < 0, 0, codes), axis=axis)
            known.append((codes >= 0).dimshuffle(*["x"] * axis, 0, *["x"] * (value.type.ndim - axis - 1)))
        return pt.switch(reduce(operator.and_, known), value, anew)

    def likelihoods(self, names: Sequence[str]) -> list[Any]:
        other = [name for name in names if self.model[name] not in self.model.observed_RVs]
        if other or self.levels:
            raise OptionError(f"{LIKELIHOOD} is of observed variables, without new_levels; got {listed(other)}")
        model = remove_value_transforms(self.model)
        outputs = model.logp(vars=[model[name] for name in names], sum=False)
        return self.of(model, outputs, {model.rvs_to_values[x]: x.name for x in model.free_RVs})

    def over_draws(self, outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The inputs of all draws, and the outputs, one draw after the other."""
        needed = set(ancestors(outputs))
        single = [x for x in (*self.data.values(), *self._codes.values(), *self._inputs.values()) if x in needed]
        each = [x for x in self._draw.values() if x in needed]
        given = [*each, *single]
        generators = [x for x in roots(outputs) if x not in given]
        copied = prepared([*given, *generators], outputs, bounds=self.model.check_bounds)
        key, inner, graph = keys.assign(library("pytensor"), copied.inputs[: len(given)], copied.outputs)
        if not each and key is None:
            raise OptionError("the results do not depend on the posterior's draws: they are not predictions")
        whole = [pt.TensorType(x.dtype, self.given[x.name].shape)(name=x.name) for x in each]
        count = next(iter(self.given.values())).shape[0]
        first = []
        if key is not None:
            first = [pt.scalar("seed", dtype="uint32")]
            start = pt.stack([pt.constant(np.uint32(0)), first[0]])
            whole.insert(0, pytensor_ops.Keys()(start, pt.arange(count, dtype="int64")))
        axes = [[f"x{n}_{axis}" for axis in range(x.type.ndim)] for n, x in enumerate([*inner, *graph])]
        places = [f"({','.join(each)})" for each in axes]
        signature = ",".join(places[: len(inner)]) + "->" + ",".join(places[len(inner) :])
        found = Blockwise(OpFromGraph(inner, graph), signature=signature)(*whole, *single, return_list=True)
        return [*first, *single, *whole[len(first) :]], found
