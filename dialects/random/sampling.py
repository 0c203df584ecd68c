"""Draws of one random variable, as functions of arrays for JAX to trace; which sampler makes them.

In: a `RandomVariable` op. Out: a function of one key and the parameters. Decision to know: a sampler belongs to one
class, of PyTensor, Aesara or PyMC. A subclass from elsewhere may draw something else under the same name:
it draws by its own Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import random

from ..registry import LIBRARIES
from .keys import IMPLEMENTATION

Array: TypeAlias = Any
Shape: TypeAlias = "tuple[Any, ...]"
Sampler = Callable[..., Array]

# Their random variables of one name have the same parameters.
_MODULES = ("pytensor.tensor.random.basic", "aesara.tensor.random.basic")

# What is drawn is an order of items, or of the numbers below a count.
_ORDERS = ("PermutationRV", "ChoiceWithoutReplacement")

_SAMPLERS: dict[str, Sampler] = {}
# By a class, and for those that derive from it: why there is no sampler.
_REFUSALS: dict[str, str] = {}


def samples(*names: str) -> Callable[[Sampler], Sampler]:
    """Registers the sampler of classes: from (key, shape, dtype, parameters) to draws of that shape.

    The shape has the axes of `size` alone. Parameters broadcast against it, behind it are their core axes.
    """

    def register(sampler: Sampler) -> Sampler:
        _SAMPLERS.update(dict.fromkeys(names, sampler))
        return sampler

    return register


def of_numbers(samplers: Mapping[str, Sampler], dtype: Any = None) -> None:
    """Registers samplers by class, whose parameters are converted to a dtype; by default to that of the draws."""
    for name, sampler in samplers.items():
        samples(name)(
            lambda key, shape, own, *parameters, sampler=sampler: sampler(
                key, shape, own, *[x.astype(dtype or own) for x in parameters]
            )
        )


def refuses(name: str, reason: str) -> None:
    """Registers why a class, and those that derive from it, have no sampler."""
    _REFUSALS[name] = reason


def find(name: str) -> Sampler | None:
    """The sampler of a class; None where it has none."""
    if not _SAMPLERS:
        import_module(".samplers", __package__)  # registers them
    return _SAMPLERS.get(name)


def class_name(class_: type) -> str:
    """What a class's sampler is registered for: its name, and for others than the libraries' their module before it."""
    return class_.__name__ if class_.__module__ in _MODULES else f"{class_.__module__}.{class_.__name__}"


@functools.cache
def _drawing_class(class_: Any) -> type:
    """The class whose draws a class's are: its own, or that of one that it derives from and draws like.

    aeppl marks random variables by classes of its own, which change nothing of how they draw.
    """

    def law(kind: type) -> list[Any]:
        found = [getattr(kind, name, None) for name in ("perform", "rng_fn", "rng_fn_scipy", "name")]
        return [getattr(x, "__func__", x) for x in found]

    base = next((base for base in class_.__mro__[:-1] if find(class_name(base)) is not None), class_)
    found: type = base if law(base) == law(class_) else class_
    return found


def name_of(op: Any) -> str:
    """What an op's sampler is registered for: the class, and how it works where it has several ways."""
    kind: Any = type(op)
    name = class_name(_drawing_class(kind))
    if getattr(op, "method", "cholesky") != "cholesky":
        return f"{name} by {op.method}"
    if not getattr(op, "replace", True):
        return f"{name} without replacement"
    return f"{name} of a count" if name in _ORDERS and op.ndims_params[0] == 0 else name


def is_python(op: Any) -> bool:
    """Whether an op draws by Python of its own: a simulation, a random variable of another package or of the user's."""
    own, performs = (x.__module__.partition(".")[0] not in LIBRARIES for x in (type(op), type(op).perform))
    return own and not performs and find(name_of(op)) is None and _reason(op) is None


def refusal(op: Any) -> str | None:
    """Why an op cannot be drawn; None when it can."""
    if find(name_of(op)) is not None or is_python(op):
        return None
    return _reason(op) or f"there is no sampler for {class_name(type(op))}"


def _reason(op: Any) -> str | None:
    reasons = (_REFUSALS.get(class_name(base)) for base in type(op).__mro__)
    return next(filter(None, reasons), None)


def counting_parameters(op: Any) -> tuple[int, ...]:
    """Positions of the integer parameters whose values decide the draw's shape.

    A sampler gets an array of this shape in their place: its sizes are what they say.
    """
    name = name_of(op)
    first = (0,) if name.endswith(" of a count") else ()
    if name.startswith("ChoiceWithoutReplacement"):
        return (*first, len(op.ndims_params) - 1)
    return (1,) if name.endswith(".StickBreakingWeightsRV") else first


@dataclass(frozen=True)
class Sampling:
    """Draws of one random variable, as a function of arrays; equal ones trace to the same program.

    Attributes:
        name: what the sampler is registered for.
        dtype: of the draws.
        rank: number of axes that `size` has.
        size: the draw's shape without core axes; None if it is that of the first parameter.
    """

    name: str
    dtype: str
    rank: int
    size: tuple[int, ...] | None

    def __call__(self, key: Array, *parameters: Array) -> Array:
        """The draws.

        Args:
            key: uint32[2].
            parameters: [size..., core...].
        """
        shape = parameters[0].shape[: self.rank] if self.size is None else self.size
        key = random.wrap_key_data(key, impl=IMPLEMENTATION)
        dtype = jnp.dtype(self.dtype)
        sampler = find(self.name)
        assert sampler is not None
        return sampler(key, shape, dtype, *parameters).astype(dtype)


@dataclass(frozen=True)
class Keys:
    """Keys from one, as uint32[count, 2]: `jax.random.split(key, count)`; or `fold_in` of each of `count` integers."""

    count: int = 0

    def __call__(self, key: Array, *numbers: Array) -> Array:
        """The keys' data."""
        whole = random.wrap_key_data(key, impl=IMPLEMENTATION)
        each = jax.vmap(random.fold_in, in_axes=(None, 0))
        return random.key_data(each(whole, *numbers) if numbers else random.split(whole, self.count))
