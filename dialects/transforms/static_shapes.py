"""Static shapes without a rewriting of the graph above them.

PyTensor finds the static type of `alloc(x, *shape)` by rewriting a copy of all that the shape is computed from, each
time such a node is made or copied. For the hessian of a Gaussian process that is nine tenths of the time (90 s of CPU
time, 5 s without). Here the sizes are looked up through the few ops that shapes are made of. What is not found so is an
unknown size in the type, which costs nothing: hlograph follows sizes itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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
    """The shape as variables, and as far as it is known as integers."""
    sizes = [basic.as_tensor_variable(size, ndim=0) for size in shape]
    for size in sizes:
        if not size.type.dtype.startswith(("int", "uint")):
            raise TypeError(f"Shapes must be scalar integers; got {size}")
    return sizes, [_value(basic, size) for size in sizes]


def _value(basic: Any, size: Any) -> int | None:
    try:
        found = basic.get_scalar_constant_value(size, elemwise=False, max_recur=8)
    except basic.NotScalarConstantError:
        return None
    return int(found)
