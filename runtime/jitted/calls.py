"""Calls of a jitted function: its parameters, and arguments as leaves, as the program of a trace takes them.

In: what a call is given. Out: the same without static arguments, as flat arguments with the place of each
(`Parameters.describe`), and the sizes of the axes that have names.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen import dims as dimension
from ...codegen.dims_text import parse
from ...codegen.ir.jax_compat import x64_flag
from ...dialects.jax.axes import name_axes, open_signature
from ...dialects.jax.module import bind, name_of, signature_of
from ..calls.arguments import find_sizes

Key = Hashable
X64 = x64_flag()
Static = tuple[tuple[str, type, Any], ...]  # name, type (1 == 1.0 == True) and value, by name


@dataclass(frozen=True)
class Call:
    """A call's arguments by name, as pytrees of numbers: each leaf's place among the call's flat arguments."""

    places: dict[str, Any]
    static: Static
    function: Callable[[Sequence[Any]], Any]


class Parameters:
    """The parameters of a jitted function, and its calls as flat arguments.

    Attributes:
        function: the Python function.
        name: what it is called.
        signature: its own.
        names: the parameters that have a place.
        static: the static ones.
        dims: the names of axes, by parameter.
    """

    def __init__(
        self, function: Callable[..., Any], static_argnames: Any, static_argnums: Any, dims: Mapping[str, Any]
    ) -> None:
        self.function = function
        self.name = name_of(function)
        self.signature = signature_of(function)
        self.names = _positions(self.signature)
        self.static = self._static_parameters(static_argnames, static_argnums)
        self.dims = self._check_dims(dims)

    def _static_parameters(self, names: Any, numbers: Any) -> frozenset[str]:
        """Names of the static parameters; numbers are places in the signature, as for `jax.jit`."""
        found = {names} if isinstance(names, str) else set(names)
        for number in (numbers,) if isinstance(numbers, int) else numbers:
            place = number + len(self.names) if number < 0 else number
            if not 0 <= place < len(self.names):
                raise ValueError(f"static_argnums has {number}, which is no place in {self.name}{self.signature}")
            found.add(self.names[place])
        self._check_names("static_argnames", found)
        return frozenset(found)

    def _check_dims(self, dims: Mapping[str, Any]) -> dict[str, Any]:
        self._check_names("dims", dims)
        for name in dims:
            if name in self.static:
                raise ValueError(f"dims names {name!r}, which is static")
        return dict(dims)

    def _check_names(self, what: str, names: Any) -> None:
        parameters = self.signature.parameters
        if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
            return
        for name in names:
            if name not in parameters:
                raise ValueError(f"{what} names {name!r}, which is no parameter of {self.name}{self.signature}")

    def split(self, args: Any, kwargs: Any) -> tuple[tuple[Any, Any], Static]:
        """The call with None (which has no leaf) for each static argument, and the static arguments."""
        static = {}
        dynamic = list(args)
        for place, name in enumerate(self.names[: len(args)]):
            if name in self.static:
                static[name] = args[place]
                dynamic[place] = None
        given = {name: value for name, value in kwargs.items() if name in self.static}
        values = tuple((name, type(value), value) for name, value in sorted((static | given).items()))
        return (tuple(dynamic), {**kwargs, **dict.fromkeys(given)}), values

    def describe(self, tree: Any, static: Static) -> Call:
        """A call whose arguments, without the static ones, have this structure."""
        places = tree_util.tree_unflatten(tree, range(tree.num_leaves))
        try:
            arguments = bind(self.signature, *places)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None
        fixed = {name: value for name, _, value in static}
        named = {name: value for name, value in arguments.items() if name not in fixed}
        order = leaves_of(named)

        @functools.wraps(self.function, assigned=(), updated=())  # JAX's errors say where it stands
        def function(leaves: Sequence[Any]) -> Any:
            """The function of the leaves in the order of `named`."""
            by_place = dict(zip(order, leaves, strict=True))
            positional, keyword = tree_util.tree_unflatten(tree, [by_place[i] for i in range(len(order))])
            named_places = [fixed.get(name, x) for name, x in zip(self.names, positional, strict=False)]
            rest = positional[len(self.names) :]
            return self.function(*named_places, *rest, **{name: fixed.get(name, x) for name, x in keyword.items()})

        return Call(named, static, function)

    def specs(self, call: Call, leaves: Sequence[Any]) -> dict[str, Any]:
        """Specs of the call's arguments, with the names of axes.

        Raises:
            GraphError: dims do not fit the arguments.
        """
        arguments = {name: tree_util.tree_map(leaves.__getitem__, places) for name, places in call.places.items()}
        return name_axes(arguments, {name: axes for name, axes in self.dims.items() if name in arguments})

    def resized(self, args: Any, kwargs: Any, sizes: Mapping[str, int]) -> tuple[Any, Any]:
        """The call with specs of these sizes in place of its arrays."""
        dynamic, static = self.split(args, kwargs)
        leaves, tree = tree_util.tree_flatten(dynamic)
        call = self.describe(tree, static)
        for place, spec in zip(leaves_of(call.places), leaves_of(self.specs(call, leaves)), strict=True):
            if spec.shape:
                shape = [x if isinstance(x, int) else dimension.evaluate(parse(str(x)), sizes) for x in spec.shape]
                leaves[place] = jax.ShapeDtypeStruct(tuple(shape), spec.dtype)
        positional, keywords = tree_util.tree_unflatten(tree, leaves)
        fixed = {name: value for name, _, value in static}
        places = [args[i] if name in fixed else positional[i] for i, name in enumerate(self.names[: len(args)])]
        return (*places, *positional[len(places) :]), {name: fixed.get(name, x) for name, x in keywords.items()}


def _positions(signature: inspect.Signature) -> tuple[str, ...]:
    """Names of the parameters that have a place."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(name for name, parameter in signature.parameters.items() if parameter.kind in kinds)


def is_named(specs: Mapping[str, Any]) -> bool:
    """Whether some size has a name."""
    return any(isinstance(size, str) for spec in leaves_of(specs) for size in spec.shape)


def sizes_of(call: Call, specs: Mapping[str, Any], leaves: Sequence[Any]) -> dict[str, int]:
    """The call's sizes that have names.

    Raises:
        ArgumentShapeError: they contradict each other.
    """
    if not is_named(specs):
        return {}
    return find_sizes(open_signature(specs), [np.shape(leaves[place]) for place in leaves_of(call.places)])


def leaves_of(arguments: Mapping[str, Any]) -> list[Any]:
    """The leaves of all arguments, in the arguments' order (a dictionary's own is alphabetical)."""
    return tree_util.tree_leaves(list(arguments.values()))


def kind_of(value: Any) -> tuple[Any, ...]:
    """A key that differs where flat arguments need different programs; a Python number has its type alone."""
    return (
        type(value),
        getattr(value, "shape", None),
        getattr(value, "dtype", None),
        getattr(value, "weak_type", None),
        has_sharded_type(value),
    )


def has_sharded_type(value: Any) -> bool:
    """Whether an array's type says how it lies on a mesh with explicit axes."""
    aval = getattr(value, "aval", None)
    if aval is None:
        return False
    kinds: Any = getattr(getattr(getattr(aval, "sharding", None), "mesh", None), "axis_types", None)
    return bool(kinds) and any(kind.name == "Explicit" for kind in kinds)


def types_of(leaves: Sequence[Any]) -> Key:
    """A key that differs where `jax.jit` traces arguments anew."""
    avals = [jax.typeof(leaf) for leaf in leaves]
    return (X64.value, *[(aval.shape, aval.dtype, aval.weak_type) for aval in avals])
