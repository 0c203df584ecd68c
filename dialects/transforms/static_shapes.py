"""Static shapes without a rewriting of the graph above them.

PyTensor finds the static type of `alloc(x, *shape)` by rewriting a copy of all that the shape is computed from, each
time such a node is made or copied. For the hessian of a Gaussian process that is nine tenths of the time (90 s of CPU
time, 5 s without). Here the sizes are looked up through the few ops that shapes are made of. What is not found so is an
unknown size in the type, which costs nothing where it is not 1: hlograph follows sizes itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..releases import unflatten

Module = Callable[[str], Any]

_lock = threading.Lock()
_users: dict[Any, int] = {}
_originals: dict[Any, Any] = {}


@contextmanager
def looked_up(module: Module) -> Iterator[None]:
    """While this is entered, in any thread, the library's `infer_static_shape` looks sizes up.

    Args:
        module: imports a module of the library by its path below the package.
    """
    basic = module("tensor.basic")
    if not hasattr(basic, "infer_static_shape"):
        yield
        return
    with _lock:
        _users[basic] = _users.get(basic, 0) + 1
        if _users[basic] == 1:
            _originals[basic] = basic.infer_static_shape
            basic.infer_static_shape = lambda shape: _look_up(basic, shape)
    try:
        yield
    finally:
        with _lock:
            _users[basic] -= 1
            if not _users[basic]:
                basic.infer_static_shape = _originals.pop(basic)


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
