"""PyMC's graphs as programs for JAX.

In: variables of a PyMC model. Out: a `Function` of JAX's arrays, with the values that shared variables have now as
constants, as PyMC's own JAX functions hold them; and arguments as that function wants them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ...codegen.errors import ArgumentTypeError, GraphError, UnsupportedGraphError
from ...codegen.signature import Argument
from ..calls.arguments import narrowed
from ..calls.path import X64
from ..function import Function
from ..graphs import function

KNOWN = 10_000  # elements of an array that is computed when the graph is made


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
    made = function(*_as_compiled(inputs, outputs, bounds), name=name, **options)
    assert isinstance(made, Function)
    return made


def _as_compiled(inputs: Sequence[Any], outputs: Sequence[Any], bounds: bool) -> tuple[list[Any], list[Any]]:
    """A copy of the graph as PyMC's own compiled functions have it.

    Checks of parameters are choices of -inf, or are not there; integers that are made of constants are known.
    """
    from pymc.logprob import utils
    from pytensor.graph.fg import FunctionGraph

    rewriter = utils.local_check_parameter_to_ninf_switch if bounds else utils.local_remove_check_parameter
    fgraph = FunctionGraph(list(inputs), list(outputs), clone=True)
    for node in fgraph.toposort():
        if isinstance(node.op, utils.CheckParameterValue):
            [found] = rewriter.transform(fgraph, node) or node.outputs
            fgraph.replace(node.outputs[0], found)
    know_integers(fgraph)
    return list(fgraph.inputs), list(fgraph.outputs)


def know_integers(fgraph: Any) -> None:
    """Computes integers that are made of constants and known shapes: indices, and sizes that would count as data."""
    from pytensor.tensor.shape import Shape

    for node in fgraph.toposort():
        if isinstance(node.op, Shape) and None not in node.inputs[0].type.shape:
            [shape] = node.outputs
            fgraph.replace(shape, shape.type.make_constant(np.array(node.inputs[0].type.shape, shape.type.dtype)))
        elif _is_known(node):
            fgraph.replace_all([(x, x.type.make_constant(value)) for x, value in _evaluated(node)])


def _is_known(node: Any) -> bool:
    """Whether a node makes integers of constants: indices, which need no check then."""
    from pytensor.graph.basic import Constant

    dtypes = [np.dtype(getattr(x.type, "dtype", "O")) for x in (*node.inputs, *node.outputs)]
    known = all(isinstance(x, Constant) and np.size(x.data) <= KNOWN for x in node.inputs)
    return known and bool(node.inputs) and all(dtype.kind in "biu" for dtype in dtypes)


def _evaluated(node: Any) -> list[tuple[Any, Any]]:
    storage = {x: [x.data] for x in node.inputs} | {x: [None] for x in node.outputs}
    done = {x: [x in node.inputs] for x in storage}
    node.op.prepare_node(node, storage, done, "py")
    node.op.make_py_thunk(node, storage, done, [])()
    return [(x, storage[x][0]) for x in node.outputs if np.size(storage[x][0]) <= KNOWN]


def frozen(outputs: Sequence[Any], replaced: Mapping[Any, Any] | None = None) -> list[Any]:
    """The graph with shared variables replaced: those in `replaced` by variables, all others by their values of now.

    Raises:
        UnsupportedGraphError: the graph draws random numbers from a shared generator.
    """
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.replace import clone_replace

    found = [x for x in roots(outputs) if isinstance(x, SharedVariable) and x not in (replaced or {})]
    generators = [str(x) for x in found if not hasattr(x.type, "dtype")]
    if generators:
        raise UnsupportedGraphError(
            f"the graph draws random numbers from the shared generator {', '.join(generators)}: a function of JAX "
            "draws from a key; give hlograph.function the graph, and it takes one"
        )
    values = {x: _constant(x) for x in found}
    return list(clone_replace(list(outputs), replace={**(replaced or {}), **values}))


def roots(outputs: Sequence[Any]) -> list[Any]:
    """The variables that a graph begins with, but for constants."""
    from pytensor.graph.basic import Constant
    from pytensor.graph.traversal import graph_inputs

    return [x for x in graph_inputs(outputs) if not isinstance(x, Constant)]


def _constant(shared: Any) -> Any:
    """A shared variable's value of now, with its shape in its type where it is a tensor."""
    import pytensor.tensor as pt

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
    """A value in the argument's dtype, or in that which JAX has for it."""
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype == argument.dtype:
        return value
    if not np.can_cast(dtype, argument.dtype, "same_kind"):
        raise ArgumentTypeError(f"argument {argument.name!r}: expected {argument.dtype}, got {dtype}")
    if not isinstance(value, jax.Array):
        return _converted(argument, np.asarray(value))
    wanted = argument.dtype if X64.value else narrowed(argument.dtype)
    return value if dtype == wanted else jax.lax.convert_element_type(value, wanted)


def _converted(argument: Argument, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    found = value.astype(argument.dtype)
    if found.dtype.kind in "iu" and (found != value).any():
        raise ArgumentTypeError(
            f"argument {argument.name!r}: expected {argument.dtype}, which cannot hold {value.max()}"
        )
    return found


def listed(names: Iterable[Any]) -> str:
    """Names in an error's text."""
    return ", ".join(repr(str(name)) for name in names) or "nothing"


def check_model(model: Any) -> None:
    """Refuses what nutpie cannot sample, by name."""
    import pymc

    if not isinstance(model, pymc.Model):
        raise GraphError(f"expected a pymc.Model, got {type(model).__name__}")
    if not model.free_RVs:
        raise UnsupportedGraphError(f"the model {model.name!r} has no free variables: there is nothing to sample")
    if model.discrete_value_vars:
        raise UnsupportedGraphError(
            f"the free variables {', '.join(x.name for x in model.discrete_value_vars)} are discrete: nutpie takes "
            'derivatives; marginalize them, or sample with pm.sample(backend="STABLEHLO", nuts_sampler="pymc")'
        )


def refuse_discrete(model: Any) -> None:
    """Refuses models whose density has no gradient.

    Raises:
        UnsupportedGraphError: free variables are discrete.
    """
    found = model.discrete_value_vars
    if found:
        raise UnsupportedGraphError(
            f"the free variables {listed(found)} are discrete, and the density has no gradient by them: sum them out "
            "(pymc_extras.marginalize), observe them (pm.observe), or sample them in PyMC with the mode STABLEHLO"
        )
