"""What elementwise work costs, and what it costs to keep its result in memory.

In: an op, or the size of an array that one loop writes and another reads. Out: picoseconds, on one core of XLA:CPU.
Decision to know: these are measured orders of magnitude (jaxlib 0.10.2, loops of 512 steps), and only ever compared
with each other. An array of some megabytes leaves the cache, and its pages are new in each call: to store and read
again an element of 4 bytes costs as much as forty additions or five exponentials then, but less than one sine; in a
smaller one as much as six additions.
"""

from __future__ import annotations

from ..ir.bindings import ir
from ..ir.kinds import STABLEHLO, having
from ..ir.values import dtype_of, elements_of, is_static, shape_of

# For each byte of an array: writing it and reading it again; reading it where it is stored anyway.
_STORE, _STORE_SMALL = 500, 80
_LOAD, _LOAD_SMALL = 80, 20
_LARGE = 6 << 20  # bytes: of larger ones little stays in the cache

# (4 bytes and less, 8 bytes)
_ARITHMETIC = (50, 100)
_MOVEMENT = (60, 120)
_EXPENSIVE = (25_000, 25_000)

# What is not arithmetic.
_COSTS: dict[str, tuple[int, int]] = {
    "exponential": (350, 1500),
    "tanh": (360, 1100),
    "logistic": (570, 1750),
    "log": (570, 5700),
    "exponential_minus_one": (1200, 3500),
    "log_plus_one": (1400, 7400),
    "sine": (4500, 10_000),
    "cosine": (4200, 10_500),
    "power": (4000, 8500),
    "cbrt": (16_000, 18_000),
    "tan": (18_000, 22_000),
    "remainder": (18_000, 18_000),
    "atan2": (21_000, 21_000),
}
# What only arranges elements, at places that are known.
MOVING = having("moving") | {"stablehlo.iota"}


def store(size: int) -> int:
    """The price of writing an array of so many bytes in one loop, and reading it in another."""
    return size * (_STORE if size >= _LARGE else _STORE_SMALL)


def load(size: int) -> int:
    """The price of reading an array of so many bytes that is stored anyway."""
    return size * (_LOAD if size >= _LARGE else _LOAD_SMALL)


def cost(op: ir.Operation) -> int | None:
    """What it costs to do an op again, in picoseconds; None for what is neither elementwise nor mere movement."""
    result = op.results[0] if len(op.results) == 1 else None
    if result is None or op.regions or not is_static(result.type):
        return None
    name = op.name.removeprefix("stablehlo.")
    wide = dtype_of(result).itemsize > 4
    if op.name in MOVING:
        return _MOVEMENT[wide] * elements_of(result.type)
    if op.name not in STABLEHLO:
        return None
    if op.name == "stablehlo.bitcast_convert" and shape_of(result) != shape_of(op.operands[0]):
        return None
    kind = dtype_of(op.operands[0]).kind
    costs = _COSTS.get(name, _ARITHMETIC)
    if kind == "c" and costs not in (_ARITHMETIC,):
        costs = _EXPENSIVE
    if name in ("power", "remainder") and kind in "iu":
        costs = (2000, 4000)
    return costs[wide] * elements_of(result.type)
