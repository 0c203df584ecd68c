"""Graphs from graphs: what JAX's transformations need of PyTensor and Aesara.

In: the inputs and outputs of a graph. Out: those of another graph. The libraries' own gradients do the work. A graph
that comes out holds the variables that went in; it is lowered as any graph is.

    outputs = f(inputs)
    pushforward:  (*inputs, *tangents of some inputs)     -> tangents of the outputs
    pullback:     (*inputs, *cotangents of some outputs)  -> cotangents of the inputs that they depend on
    gradient:     inputs                                  -> outputs, and the gradients of one of them

Equal nodes are one before a gradient is made: `x / y` written three times has one derivative. Equal nodes give equal
bits, so the function keeps its own; a gradient adds cotangents up before it multiplies, where it would have added
products. Decision to know: only ops on tensors that the library itself computes with are merged: no draws, no ops that
run Python or hold a graph, nothing that writes to its inputs.

PyTensor finds the static type of `alloc(x, *shape)` by rewriting a copy of all that the shape is computed from, each
time such a node is made or copied. For the hessian of a Gaussian process that is nine tenths of the time (90 s of CPU
time, 5 s without). While graphs are made of graphs, sizes are looked up through the few ops that shapes are made of
(`looked_up`). What is not found so is an unknown size in the type, which costs nothing where it is not 1: hlograph
follows sizes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..codegen.errors import DerivativeError
from ..codegen.graph import order
from .library import Library
from .releases import unflatten
from .replaced import Replaced
from .rewrites.eigenvectors import with_slopes
from .rewrites.rebuilding import replaced


@dataclass
class Plain:
    """A graph of dense tensors, in the place of one with named dimensions or sparse matrices.

    Attributes:
        inputs, outputs: the graph's.
        names: of the outputs.
        given: for each new root the variable that it stands for.
        axes: for roots what their axes are called, None where that is no name for a size.
        parts: for each part of a sparse input the matrix's name, its format, which part it is, and the other size
            where the type says it.
        results: the same for results, by their number.
        containers: of parts of shared variables what gives their values.
    """

    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    given: dict[Any, Any] = field(default_factory=dict)
    axes: dict[Any, tuple[str | None, ...]] = field(default_factory=dict)
    parts: dict[Any, tuple[str, ...]] = field(default_factory=dict)
    results: dict[int, tuple[str, ...]] = field(default_factory=dict)
    containers: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Transformed:
    """A graph made from another.

    Attributes:
        inputs: its inputs: those of the graph that it was made from, and then the (co)tangents.
        outputs: what it computes.
        places: for each output, which output (pushforward) or input (pullback) of the other graph it belongs to; for a
            gradient, the inputs that its last outputs belong to. What is missing is zero everywhere.
    """

    inputs: list[Any]
    outputs: list[Any]
    places: tuple[int, ...]


class Transforms:
    """The transformations of one library's graphs.

    Each takes a graph's inputs and outputs, and the places of the inputs that are meant (`active`). They raise
    `DerivativeError` for an op that has no gradient, or one that PyTensor calls undefined.

    Args:
        library: the graph library's classes.
    """

    def __init__(self, library: Library) -> None:
        self._library = library

    def pushforward(self, inputs: Sequence[Any], outputs: Sequence[Any], active: Sequence[int]) -> Transformed:
        """Tangents of the outputs that are no integers, from tangents of the active inputs.

        The pullback is linear in the cotangents, so its own pullback is the pushforward. Where it mentions the
        cotangents still, ones stand for them: that of a product leaves out what only a cotangent of zero allows to.
        """
        with looked_up(self._library.module):
            outputs = merged(outputs, set(inputs))
            tangents = [_companion(inputs[i], "tangent") for i in active]
            smooth = [j for j, output in enumerate(outputs) if is_smooth(output)]
            seeds = [_companion(outputs[j], "seed") for j in smooth]
            pulled = self._pull([outputs[j] for j in smooth], [inputs[i] for i in active], seeds)
            rows = [(g, t) for g, t in zip(pulled, tangents, strict=True) if g is not None]
            linear = [g for g, _ in rows]
            constant = _made_by("ProdWithoutZeros", linear)
            pushed = self._pull(linear, seeds, [t for _, t in rows], constant) if rows else [None] * len(seeds)
            basic = self._library.module("tensor.basic")
            ones = {seed: basic.ones_like(outputs[j]) for j, seed in zip(smooth, seeds, strict=True)}
            found = [basic.zeros_like(outputs[j]) if y is None else y for j, y in zip(smooth, pushed, strict=True)]
            results = [_as_type_of(y, outputs[j]) for j, y in zip(smooth, found, strict=True)]
            return Transformed([*inputs, *tangents], replaced(results, ones), tuple(smooth))

    def pullback(
        self, inputs: Sequence[Any], outputs: Sequence[Any], active: Sequence[int], seeded: Sequence[int]
    ) -> Transformed:
        """Cotangents of the active inputs, from cotangents of the seeded outputs."""
        with looked_up(self._library.module):
            outputs = merged(outputs, set(inputs))
            cotangents = [_companion(outputs[j], "cotangent") for j in seeded]
            pulled = self._pull([outputs[j] for j in seeded], [inputs[i] for i in active], cotangents)
            found = [(i, g) for i, g in zip(active, pulled, strict=True) if g is not None]
            results = [_as_type_of(g, inputs[i]) for i, g in found]
            return Transformed([*inputs, *cotangents], results, tuple(i for i, _ in found))

    def clips(self, outputs: Sequence[Any]) -> bool:
        """Whether the cotangents of some values are clipped on their way back."""
        return bool(_made_by("GradClip", outputs))

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], active: Sequence[int], of: int) -> Transformed:
        """The outputs, and then the gradients of one of them, a real number, by the active inputs that have one."""
        with looked_up(self._library.module):
            outputs = merged(outputs, set(inputs))
            number = outputs[of]
            one = self._library.module("tensor.basic").constant(np.ones((), number.type.dtype))
            pulled = self._pull([number], [inputs[i] for i in active], [one])
            found = [(i, _as_type_of(g, inputs[i])) for i, g in zip(active, pulled, strict=True) if g is not None]
            return Transformed(list(inputs), [*outputs, *[g for _, g in found]], tuple(i for i, _ in found))

    # ---- the library's own gradients --------------------------------------------------------------------------------

    def _pull(
        self, outputs: Sequence[Any], wrt: Sequence[Any], cotangents: Sequence[Any], constant: Sequence[Any] = ()
    ) -> list[Any]:
        """The library's gradient, None where nothing depends on a variable.

        Each output goes through an identity of its own: the library takes what is given for an output as its whole
        gradient, also where another output depends on it.
        """
        if not outputs or not wrt:
            return [None] * len(wrt)
        outputs = with_slopes(self._library.module, outputs)
        for variable in (*outputs, *wrt):
            is_smooth(variable)  # refuses complex ones
        gradient = self._library.module("gradient")
        basic = self._library.module("tensor.basic")
        known = {basic.tensor_copy(output): seed for output, seed in zip(outputs, cotangents, strict=True)}
        for x in _made_by("IfElse", outputs):
            if len(x.owner.outputs) > 1:  # which cannot do without the cotangent of any
                dtype = x.type.dtype if x.type.dtype.startswith(("float", "complex")) else "float64"
                known[basic.tensor_copy(x)] = basic.zeros_like(x, dtype=dtype)
        try:
            pulled = gradient.grad(
                None,
                list(wrt),
                consider_constant=list(constant),
                known_grads=known,
                disconnected_inputs="ignore",
                return_disconnected="none",
            )
        except (gradient.NullTypeGradError, NotImplementedError) as error:
            raise DerivativeError(f"the graph has no derivative: {error}") from None
        except (TypeError, ValueError) as error:  # those of QR with dynamic sizes, and pivoted, in PyTensor 3.3.8
            raise DerivativeError(f"an op's own gradient fails: {type(error).__name__}: {error}") from error
        found = [g for g in pulled if g is not None]
        safe = iter(with_slopes(self._library.module, found))
        return [None if g is None else next(safe) for g in pulled]


def _as_type_of(value: Any, variable: Any) -> Any:
    return value if value.type.dtype == variable.type.dtype else value.astype(variable.type.dtype)


def _made_by(op: str, outputs: Sequence[Any]) -> list[Any]:
    return [x for node in order(outputs) if type(node.op).__name__ == op for x in node.outputs]


def is_smooth(variable: Any) -> bool:
    """Whether a variable has derivatives at all; raises `DerivativeError` for a complex one."""
    dtype = str(getattr(variable.type, "dtype", ""))
    if dtype.startswith("complex"):
        raise DerivativeError(
            f"{variable.name or variable} is complex, and what PyTensor calls its gradient is not what JAX does; "
            "take derivatives by real and imaginary parts"
        )
    return dtype.startswith("float")


def _companion(variable: Any, what: str) -> Any:
    """A (co)tangent: a variable of the same type, in which `SplitDims` may have put the -1 that was asked for."""
    known = tuple(getattr(variable.type, "shape", ()))
    shape = tuple(None if size is None or size < 0 else size for size in known)
    kind = variable.type if shape == known else variable.type.clone(shape=shape)
    return kind(name=f"{variable.name}_{what}" if variable.name else what)


def taking_floats(
    library: Library, inputs: Sequence[Any], outputs: Sequence[Any], places: Collection[int]
) -> tuple[list[Any], list[Any]]:
    """The graph with float64 inputs at these places, which are checked to be whole numbers.

    JAX takes floats where a model counts, and its own data often come so. The derivatives by them are zero.
    """
    tensor, types, checks = (library.module(path) for path in ("tensor", "tensor.type", "raise_op"))
    fresh, replacements = list(inputs), {}
    for place in places:
        x = inputs[place]
        fresh[place] = types.TensorType("float64", x.type.shape)(name=x.name)
        whole = tensor.cast(fresh[place], x.type.dtype)
        check = checks.CheckAndRaise(ValueError, f"{x.name or 'an integer argument'} must be whole numbers")
        replacements[x] = check(whole, tensor.all(tensor.eq(fresh[place], whole)))
    return fresh, replaced(outputs, replacements)


# ---- equal nodes as one ---------------------------------------------------------------------------------------------


# Modules of ops on tensors, in both libraries.
_PURE = frozenset(
    {"basic", "blas", "blockwise", "elemwise", "extra_ops", "linalg", "math", "nlinalg", "reduction", "shape"}
    | {"slinalg", "sort", "special", "subtensor"}
)
_SMALL = 64  # of a constant with this many elements at most, another one like it is looked for


def merged(outputs: Sequence[Any], known: Container[Any] = ()) -> list[Any]:
    """The outputs, of a graph without equal nodes.

    Args:
        outputs: variables.
        known: variables that stay, whatever they are made of.
    """
    new: dict[Any, Any] = {}
    nodes: dict[Any, Any] = {}
    constants: dict[Any, Any] = {}
    for node in order(outputs, known):
        inputs = [new.get(x, x) if x.owner is not None else constants.setdefault(_key(x), x) for x in node.inputs]
        key = (node.op, *inputs) if _is_pure(node.op) else node
        same = nodes.get(key)
        if same is None:
            changed = any(one is not other for one, other in zip(inputs, node.inputs, strict=True))
            same = nodes[key] = node.clone_with_new_inputs(inputs) if changed else node
        if same is not node:
            new.update(zip(node.outputs, same.outputs, strict=True))
    return [new.get(x, x) for x in outputs]


def _key(variable: Any) -> Any:
    """A key for a constant, which others of the same value have; the variable for all else."""
    data: Any = getattr(variable, "data", None)
    if not hasattr(data, "tobytes") or data.size > _SMALL:
        return variable
    return variable.type, data.shape, data.tobytes()


def _is_pure(op: Any) -> bool:
    if getattr(op, "destroy_map", None):
        return False
    modules = [type(each).__module__.split(".") for each in (op, getattr(op, "core_op", op))]
    return all(len(path) > 2 and path[1] == "tensor" and path[2] in _PURE for path in modules)


# ---- static shapes without a rewriting of the graph above them -------------------------------------------------------

Module = Callable[[str], Any]


def looked_up(module: Module) -> AbstractContextManager[Any]:
    """While this is entered, in any thread, the library's `infer_static_shape` looks sizes up.

    Args:
        module: imports a module of the library by its path below the package.
    """
    basic = module("tensor.basic")
    if not hasattr(basic, "infer_static_shape"):
        return nullcontext()
    return _REPLACED.setdefault(basic, Replaced(partial(_replace, basic))).use()


_REPLACED: dict[Any, Replaced] = {}  # one for each library, whichever thread comes first


def _replace(basic: Any) -> Callable[[], None]:
    original = basic.infer_static_shape
    basic.infer_static_shape = lambda shape: _look_up(basic, shape)
    return lambda: setattr(basic, "infer_static_shape", original)


def _look_up(basic: Any, shape: Any) -> tuple[Sequence[Any], Sequence[int | None]]:
    sizes = [basic.as_tensor_variable(size, ndim=0) for size in shape]
    for size in sizes:
        if not size.type.dtype.startswith(("int", "uint")):
            raise TypeError(f"Shapes must be scalar integers; got {size}")
    return sizes, [_value(basic, size) for size in sizes]


def _value(basic: Any, size: Any) -> int | None:
    try:
        return int(basic.get_scalar_constant_value(size, elemwise=False, max_recur=8))
    except basic.NotScalarConstantError:
        found = _of_shape(basic, size)
        return found if isinstance(found, int) else None


def _of_shape(basic: Any, x: Any) -> Any:
    """The part of a variable's static shape that indexing has taken, of which a size of 1 decides what stretches."""
    kind = type(getattr(x.owner, "op", None)).__name__
    if kind == "Shape":
        return x.owner.inputs[0].type.shape
    whole = _of_shape(basic, x.owner.inputs[0]) if kind == "Subtensor" else None
    if whole is None:
        return None
    (entry,) = unflatten(x.owner.op.idx_list, x.owner.inputs[1:])
    parts = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)
    numbers = [None if part is None else _value(basic, part) for part in parts]
    if any(part is not None and number is None for part, number in zip(parts, numbers, strict=True)):
        return None
    try:
        return whole[slice(*numbers) if isinstance(entry, slice) else numbers[0]]
    except IndexError:
        return None
