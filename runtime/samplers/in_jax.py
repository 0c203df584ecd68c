"""PyMC's graphs as programs for JAX: a model's density (`logp`), and PyMC's own JAX functions (`as_jax_backend`).

In: variables of a PyMC model. Out: a `Function` of JAX's arrays, with the values that shared variables have now as
constants, as PyMC's own JAX functions hold them; and arguments as that function wants them. Data (`pm.Data`) of a
density are constants, or arguments where they are asked for.

`as_jax_backend` replaces PyMC's `get_jaxified_graph`, from which its JAX samplers, and those of other packages, have
all their functions, for the time of a block and for the thread (the context) that is in it. The name is replaced
wherever a loaded module has it, by a function that asks whose block it is called in; so a module that takes the name
meanwhile gets PyMC's function back afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from inspect import signature
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pymc
import pytensor.tensor as pt
from pymc import modelcontext
from pymc.logprob import utils
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.shape import Shape

from ...codegen.errors import (
    ArgumentError,
    ArgumentShapeError,
    ArgumentTypeError,
    GraphError,
    OptionError,
    UnsupportedGraphError,
)
from ...codegen.signature import Argument
from ...dialects.replaced import Replaced, replacing
from ...dialects.tensor.host import Performed, group_of
from ..calls.arguments import narrowed
from ..calls.path import X64
from ..compile import function
from ..function import Function

KNOWN = 10_000  # elements of an array that is computed when the graph is made
Values = Mapping[str, Any]
Jaxify = Callable[..., Callable[..., Any]]


def compiled(
    inputs: Sequence[Any], outputs: Sequence[Any], name: str, options: Mapping[str, Any], *, bounds: bool
) -> Function:
    """A graph without shared variables as a function of JAX's arrays.

    Args:
        inputs: its inputs.
        outputs: its results.
        name: the program's.
        options: of `hlograph.function`.
        bounds: whether a density is -inf where a parameter is out of its bounds, as in what PyMC compiles; with False
            nothing asks for that (`pm.Model(check_bounds=False)`).
    """
    fgraph = prepared(inputs, outputs, bounds=bounds)
    made = function(list(fgraph.inputs), list(fgraph.outputs), name=name, **options)
    assert isinstance(made, Function)
    return made


def prepared(inputs: Sequence[Any], outputs: Sequence[Any], *, bounds: bool) -> Any:
    """A copy as PyMC's own compiled functions have it: checks of parameters are choices of -inf, or are left out."""
    rewriter = utils.local_check_parameter_to_ninf_switch if bounds else utils.local_remove_check_parameter
    fgraph = FunctionGraph(list(inputs), list(outputs), clone=True)
    for node in fgraph.toposort():
        if isinstance(node.op, utils.CheckParameterValue):
            [found] = rewriter.transform(fgraph, node) or node.outputs
            fgraph.replace(node.outputs[0], found)
    know_integers(fgraph)
    return fgraph


def know_integers(fgraph: Any) -> None:
    """Computes integers that are made of constants and known shapes: indices, and sizes that would count as data."""
    for node in fgraph.toposort():
        if isinstance(node.op, Shape) and None not in node.inputs[0].type.shape:
            [shape] = node.outputs
            fgraph.replace(shape, shape.type.make_constant(np.array(node.inputs[0].type.shape, shape.type.dtype)))
        elif _is_known(node):
            values = zip(node.outputs, Performed(group_of(node, lambda x: False))([]), strict=True)
            fgraph.replace_all([(x, x.type.make_constant(value)) for x, value in values if np.size(value) <= KNOWN])


def _is_known(node: Any) -> bool:
    dtypes = [np.dtype(getattr(x.type, "dtype", "O")) for x in (*node.inputs, *node.outputs)]
    known = all(isinstance(x, Constant) and np.size(x.data) <= KNOWN for x in node.inputs)
    return known and bool(node.inputs) and all(dtype.kind in "biu" for dtype in dtypes)


def frozen(outputs: Sequence[Any], replaced: Mapping[Any, Any] | None = None, *, draws: bool = False) -> list[Any]:
    """The graph with shared variables replaced: those in `replaced` by variables, all others by their values of now.

    Shared generators stay where `draws` says so.

    Raises:
        UnsupportedGraphError: the graph draws random numbers from a shared generator.
    """
    found = [x for x in roots(outputs) if isinstance(x, SharedVariable) and x not in (replaced or {})]
    generators = [str(x) for x in found if not hasattr(x.type, "dtype")]
    if generators and not draws:
        raise UnsupportedGraphError(
            f"the graph draws random numbers from the shared generator {', '.join(generators)}: a function of JAX "
            "draws from a key; give hlograph.function the graph, and it takes one"
        )
    values = {x: _constant(x) for x in found if hasattr(x.type, "dtype")}
    return list(clone_replace(list(outputs), replace={**(replaced or {}), **values}))


def roots(outputs: Sequence[Any]) -> list[Any]:
    """The variables that a graph begins with, but for constants."""
    return [x for x in graph_inputs(outputs) if not isinstance(x, Constant)]


def _constant(shared: Any) -> Any:
    value = shared.get_value(borrow=True)
    if isinstance(value, np.ndarray | np.generic):
        return shared.type.filter_variable(pt.constant(value, name=shared.name, dtype=shared.type.dtype))
    return shared.type.make_constant(value, name=shared.name)


def run(made: Function, operands: Sequence[Any]) -> tuple[Any, ...]:
    """A call with numbers and arrays of any precision, as JAX's functions take them.

    Raises:
        ArgumentTypeError: floats where the graph has integers, or another number of arguments.
    """
    arguments = made.program.signature.arguments
    if len(operands) != len(arguments):
        return made.run(operands)  # which says what is wrong
    return made.run([_suited(argument, x) for argument, x in zip(arguments, operands, strict=True)])


def _suited(argument: Argument, value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype == argument.dtype:
        return value
    if not np.can_cast(dtype, argument.dtype, "same_kind"):
        raise ArgumentTypeError(f"argument {argument.name!r}: expected {argument.dtype}, got {dtype}")
    if isinstance(value, jax.Array):
        wanted = argument.dtype if X64.value else narrowed(argument.dtype)
        return value if dtype == wanted else jax.lax.convert_element_type(value, wanted)
    found = np.asarray(value).astype(argument.dtype)
    if found.dtype.kind in "iu" and np.any(found != value):
        raise ArgumentTypeError(
            f"argument {argument.name!r}: expected {argument.dtype}, which cannot hold {np.max(value)}"
        )
    return found


def listed(names: Iterable[Any]) -> str:
    """Names in an error's text."""
    return ", ".join(repr(str(name)) for name in names) or "nothing"


def check_model(model: Any) -> None:
    """Refuses what nutpie cannot sample.

    Raises:
        GraphError: it is no model.
        UnsupportedGraphError: there is nothing to sample, or free variables are discrete.
    """
    if not isinstance(model, pymc.Model):
        raise GraphError(f"expected a pymc.Model, got {type(model).__name__}")
    if not model.free_RVs:
        raise UnsupportedGraphError(f"the model {model.name!r} has no free variables: there is nothing to sample")
    refuse_discrete(model)


def refuse_discrete(model: Any) -> None:
    """Refuses models whose density has no gradient: free variables are discrete."""
    found = model.discrete_value_vars
    if found:
        raise UnsupportedGraphError(
            f"the free variables {listed(found)} are discrete, and the density has no gradient by them: sum them out "
            "(pymc_extras.marginalize), observe them (pm.observe), or sample them by PyMC's own steps in the mode, "
            'pm.sample(backend="STABLEHLO", nuts_sampler="pymc")'
        )


# ---- a model's density -----------------------------------------------------------------------------------------------


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
        self._values = list(model.value_vars)
        start = model.initial_point()
        self.initial_point: dict[str, np.ndarray[Any, Any]] = {x.name: np.asarray(start[x.name]) for x in self._values}
        self._names = list(self.initial_point)
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
        found, start = {}, 0
        for name, value in self.initial_point.items():
            found[name] = vector[start : start + value.size].reshape(value.shape)
            start += value.size
        return found

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
    found = {x.name: x for x in model.data_vars if isinstance(x, SharedVariable)}
    if isinstance(wanted, bool):
        return found if wanted else {}
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    unknown = [name for name in names if name not in found]
    if unknown:
        raise OptionError(f"data: {listed(unknown)} is not a pm.Data of the model, which has {listed(found)}")
    return {name: found[name] for name in names}


def _lengths_of(model: Any, data: Mapping[str, Any], fresh: Mapping[Any, Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for name, x in data.items():
        for axis, dim in enumerate(model.named_vars_to_dims.get(name, ())):
            length = model.dim_lengths.get(dim)
            if isinstance(length, SharedVariable) and length not in found:
                found[length] = fresh[x].shape[axis].astype(length.type.dtype)
    return found


# ---- PyMC's JAX samplers ---------------------------------------------------------------------------------------------


class JaxBackend:
    """What `as_jax_backend` gives: which functions were made in its block.

    Attributes:
        functions: the `hlograph.Function` of each graph, in the order in which PyMC asked for them.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.functions: list[Function] = []
        self._options = dict(options)

    def jaxified(self, inputs: Any, outputs: Any) -> Callable[..., tuple[Any, ...]]:
        """A graph as a function in JAX: all results, as a tuple."""
        outputs = frozen(outputs)
        if inputs is None:
            inputs = roots(outputs)
        try:
            bounds = bool(modelcontext(None).check_bounds)
        except TypeError:  # there is no model
            bounds = True
        made = compiled(inputs, outputs, "pymc", self._options, bounds=bounds)
        self.functions.append(made)

        def jaxified(*operands: Any) -> tuple[Any, ...]:
            return run(made, operands)

        return jaxified


_current: ContextVar[JaxBackend | None] = ContextVar("hlograph_jax_backend", default=None)


@contextmanager
def as_jax_backend(**options: Any) -> Iterator[JaxBackend]:
    """Has PyMC's JAX samplers run hlograph's lowering, within a `with` block or a decorated function.

        with hlograph.pymc.as_jax_backend():
            pm.sample(nuts_sampler="numpyro")

    It counts for the thread that is in the block. Blocks may be nested; the innermost one's options count.

    Args:
        options: those of `hlograph.function`, for each graph that PyMC asks for.

    Returns:
        A context manager, also a decorator; the block's variable is a `JaxBackend`.
    """
    backend = JaxBackend(options)
    with _NAMES.use():
        token = _current.set(backend)
        try:
            yield backend
        finally:
            _current.reset(token)


@replacing
def _graph(theirs: Any, inputs: Any = None, outputs: Any = None) -> Callable[..., Any]:
    backend = _current.get()
    if backend is None or outputs is None:
        return theirs(inputs=inputs, outputs=outputs)
    return backend.jaxified(inputs, outputs)


@replacing
def _density(theirs: Any, model: Any, *args: Any, **options: Any) -> Callable[..., Any]:
    if _current.get() is not None:
        refuse_discrete(model)
    return theirs(model, *args, **options)


@replacing
def _blackjax(theirs: Any, *args: Any, progress_bar: bool = False, **options: Any) -> Any:
    """PyMC's loop of BlackJAX, where from 1.6 on progress is shown otherwise, and is not shown here."""
    import blackjax

    if "progress_bar" in signature(blackjax.window_adaptation).parameters:
        return theirs(*args, progress_bar=progress_bar, **options)
    if not hasattr(blackjax.progress_bar, "gen_scan_fn"):
        blackjax.progress_bar.gen_scan_fn = lambda count, shown: jax.lax.scan
    return theirs(*args, **options)


def _replace() -> Callable[[], None]:
    from pymc.sampling import jax as theirs

    graph, density, loop = theirs.get_jaxified_graph, theirs.get_jaxified_logp, theirs._blackjax_inference_loop
    pairs = (graph, _graph(graph)), (density, _density(density)), (loop, _blackjax(loop))
    for one, other in pairs:
        _rename(one, other)

    def undo() -> None:
        for one, other in pairs:
            _rename(other, one)

    return undo


def _rename(one: Jaxify, other: Jaxify) -> None:
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            names = object.__getattribute__(module, "__dict__")  # a lazy module is not to be loaded for it
            for name in [name for name, value in list(names.items()) if value is one]:
                names[name] = other


_NAMES = Replaced(_replace)
