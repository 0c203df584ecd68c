"""A PyMC model's log-density as a function in JAX: `hlograph.pymc.logp(model)`.

In: a PyMC model. Out: a `LogDensity`, which takes a dictionary of the model's unconstrained values, or all of them in
one vector, and leads back to the model's own variables. Data (`pm.Data`) are constants, or arguments where they are
asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ...codegen.errors import ArgumentError, ArgumentShapeError, OptionError
from ..function import Function
from .graphs import compiled, frozen, listed, refuse_discrete, run

Values = Mapping[str, Any]


def logp(
    model: Any = None,
    *,
    jacobian: bool = True,
    terms: Sequence[Any] | None = None,
    data: bool | Sequence[str] = False,
    **options: Any,
) -> LogDensity:
    """A model's log-density as a function in JAX, for `jax.jit`, `jax.grad`, `jax.vmap` and loops of your own.

        density = hlograph.pymc.logp(model)
        jax.value_and_grad(density)(density.initial_point)

    Args:
        model: a PyMC model; by default that of the `with` block.
        jacobian: whether the density is that of the unconstrained values; False leaves out the transforms' Jacobians.
        terms: names of the variables and potentials whose densities are summed, or the variables; by default all. So
            `terms=model.observed_RVs` is the likelihood.
        data: which `pm.Data` are arguments: True for all, or their names. The others are constants, with their values
            of now.
        options: those of `hlograph.function`.

    Raises:
        UnsupportedGraphError: free variables are discrete, or the density draws random numbers.
        UnsupportedOpError: ops without a lowering rule.
        OptionError: `data` or `terms` names what the model does not have.
    """
    from pymc import modelcontext

    return LogDensity(modelcontext(model), jacobian, terms, data, options)


class LogDensity:
    """The log-density of a PyMC model; see `logp`.

    Attributes:
        model: the model; changes of it after this was made do not count.
        initial_point: a dictionary of unconstrained values, NumPy arrays, where the density is finite as a rule.
        data: the values of the data that are arguments, as they were; None where none are.
        function: the `hlograph.Function`, of the values in their order, and then of the data.
    """

    def __init__(
        self, model: Any, jacobian: bool, terms: Any, data: bool | Sequence[str], options: Mapping[str, Any]
    ) -> None:
        self.model = model
        self._options = dict(options)
        self.__name__ = self.__qualname__ = f"logp_of_{model.name}" if model.name else "logp"
        refuse_discrete(model)
        self.initial_point: dict[str, np.ndarray[Any, Any]] = {
            name: np.asarray(value) for name, value in model.initial_point().items()
        }
        self._values = list(model.value_vars)
        self._names = [value.name for value in self._values]
        self._data = _data_of(model, data)
        self._fresh = {x: x.type(name=name) for name, x in self._data.items()}
        self.data = {name: x.get_value() for name, x in self._data.items()} if self._data else None
        self._lengths = _lengths_of(model, self._data, self._fresh)
        self._draws = [x for x in model.unobserved_RVs if x.name is not None]
        self._back = model.replace_rvs_by_values(self._draws)
        density = model.logp(vars=_terms_of(model, terms), jacobian=jacobian)
        self.function = self._compiled([density], self.__name__)

    def _compiled(self, outputs: Sequence[Any], name: str) -> Function:
        graph = frozen(outputs, {**self._fresh, **self._lengths})
        sizes = {} if self._data else {name: value.shape for name, value in self.initial_point.items()}
        inputs = [*self._values, *self._fresh.values()]
        return compiled(inputs, graph, name, {"dims": sizes, **self._options}, bounds=self.model.check_bounds)

    def __call__(self, values: Values, data: Values | None = None) -> Any:
        """The log-density, a number, of unconstrained values by name; with the data, if these are arguments."""
        [found] = run(self.function, self._operands(values, data))
        return found

    def flat(self, vector: Any, data: Values | None = None) -> Any:
        """The same of all values in one vector, in the model's order, as `ravel` makes it."""
        return self(self.unravel(vector), data)

    def constrain(self, values: Values, data: Values | None = None) -> dict[str, Any]:
        """The model's free variables and deterministics, by name, of unconstrained values."""
        found = run(self._constrain, self._operands(values, data))
        return {x.name: value for x, value in zip(self._draws, found, strict=True)}

    @cached_property
    def _constrain(self) -> Function:
        return self._compiled(self._back, f"{self.__name__}_constrain")

    # ---- all values in one vector -----------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The length of the vector."""
        return sum(value.size for value in self.initial_point.values())

    def ravel(self, values: Values) -> Any:
        """Unconstrained values by name as one vector, in the model's order."""
        self._check_names(values, self._names, "values")
        return jax.numpy.concatenate([jax.numpy.ravel(values[name]) for name in self._names])

    def unravel(self, vector: Any) -> dict[str, Any]:
        """A vector as unconstrained values by name.

        Raises:
            ArgumentShapeError: it has another length.
        """
        shape = np.shape(vector)
        if shape != (self.size,):
            raise ArgumentShapeError(f"{self.__name__}: expected a vector of {self.size} values, got shape {shape}")
        ends = np.cumsum([self.initial_point[name].size for name in self._names])
        parts = [vector[end - self.initial_point[name].size : end] for name, end in zip(self._names, ends, strict=True)]
        return {
            name: part.reshape(self.initial_point[name].shape) for name, part in zip(self._names, parts, strict=True)
        }

    # ---- arguments --------------------------------------------------------------------------------------------------

    def _operands(self, values: Values, data: Values | None) -> list[Any]:
        self._check_names(values, self._names, "values")
        if not self._data and data is None:
            return [values[name] for name in self._names]
        if data is None:
            raise ArgumentError(
                f"{self.__name__}: the second argument is the data, a dictionary of {listed(self._data)}"
            )
        self._check_names(data, list(self._data), "data")
        return [*(values[name] for name in self._names), *(data[name] for name in self._data)]

    def _check_names(self, given: Any, wanted: Sequence[str], what: str) -> None:
        if not isinstance(given, Mapping):
            raise ArgumentError(f"{self.__name__}: expected {what} by name, a dictionary, got {type(given).__name__}")
        missing, unknown = [x for x in wanted if x not in given], [x for x in given if x not in wanted]
        if missing or unknown:
            found = [f"without {listed(missing)}"] * bool(missing) + [f"with {listed(unknown)}"] * bool(unknown)
            raise ArgumentError(f"{self.__name__}: expected {what} of {listed(wanted)}, got them {' and '.join(found)}")

    def __repr__(self) -> str:
        return f"<LogDensity {self.function.program.signature}>"


def _terms_of(model: Any, terms: Sequence[Any] | None) -> list[Any] | None:
    if terms is None:
        return None
    if isinstance(terms, str):
        raise OptionError(f"terms is a list of names or variables, got {terms!r}")
    unknown = [x for x in terms if isinstance(x, str) and x not in model.named_vars]
    if unknown:
        raise OptionError(f"terms: the model has no {listed(unknown)}")
    return [model[x] if isinstance(x, str) else x for x in terms]


def _data_of(model: Any, wanted: bool | Sequence[str]) -> dict[str, Any]:
    """The shared variables of the data that are to be arguments, by name."""
    from pytensor.compile.sharedvalue import SharedVariable

    found = {x.name: x for x in model.data_vars if isinstance(x, SharedVariable)}
    if isinstance(wanted, bool):
        return found if wanted else {}
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    unknown = [name for name in names if name not in found]
    if unknown:
        raise OptionError(f"data: {listed(unknown)} is no pm.Data of the model, which has {listed(found)}")
    return {name: found[name] for name in names}


def _lengths_of(model: Any, data: Mapping[str, Any], fresh: Mapping[Any, Any]) -> dict[Any, Any]:
    """For each dimension of the model that data have, the length that the arguments say."""
    from pytensor.compile.sharedvalue import SharedVariable

    found: dict[Any, Any] = {}
    for name, x in data.items():
        for axis, dim in enumerate(model.named_vars_to_dims.get(name, ())):
            length = model.dim_lengths.get(dim)
            if isinstance(length, SharedVariable) and length not in found:
                found[length] = fresh[x].shape[axis].astype(length.type.dtype)
    return found
