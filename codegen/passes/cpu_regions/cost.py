"""What an op is inside of a kernel: whether XLA:CPU can compile it there, and what it costs.

In: an op with static shapes. Out: why it stays outside, or ""; how many ops XLA compiles for it; of a module as a
whole, how much it computes. Decision to know: the numbers are measured; see docs/cpu.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...ir import kinds
from ...ir.bindings import ir
from ...ir.values import call_target, dot_sides, elements_of, is_static, symbol_of, walk

_INSIDE = kinds.having("kernel")
# Blocks of these may have regions of their own; those of others say how two elements are combined.
CONTROL = kinds.having("control") - {"stablehlo.return"}

# Ops that every region which needs them makes again: they cost nothing.
FREE = frozenset({"stablehlo.constant", "stablehlo.iota", "stablehlo.broadcast_in_dim", "stablehlo.reshape"})

# CHLO ops are written as so many StableHLO ops.
_WEIGHTS = {"chlo.lgamma": 90, "chlo.digamma": 80, "chlo.polygamma": 400, "chlo.zeta": 300, "chlo.erf_inv": 60}

# Targets of calls of LAPACK and BLAS.
_LIBRARIES = ("lapack_", "hlograph_")
# Multiplications of a dot that a kernel computes as fast as the library does.
DOT = 1 << 13
DOT_NARROW = 1 << 15  # few products to each sum
DOT_TRANSPOSED = 1 << 11  # rows by rows, or columns by columns
MATVEC = 1 << 18  # of a matrix and a vector
MATVEC_COMPUTED = 1 << 10
LARGE = 1 << 17  # elements from which XLA's threads and libraries help, which kernels of many ops rule out
PLACES = 32  # of a kernel's code at which an op is computed
LONG = 1 << 14  # elements that take several times as long as a kernel's start


@dataclass(frozen=True)
class Work:
    """What a module computes.

    Attributes:
        elements: computed outside of loops, those of dots that stay with the library not counted.
        largest: elements of the largest array that an op computes or reads as a whole, those of dots not counted.
        library: multiplications of dots and factorizations that stay with libraries, roughly; loops count once.
    """

    elements: int
    largest: int
    library: int

    @staticmethod
    def of(module: ir.Module) -> Work:
        """Counts."""
        total = largest = library = 0
        for op in walk(module):
            elements = _elements(op)
            if elements is None:
                continue
            outside = op.parent is not None and op.parent.name == "func.func"
            if op.name == "stablehlo.dot_general":
                dot = Dot.of(op)
                library += dot.work if dot.work > dot.limit else 0
                total += min(dot.work, dot.limit) if outside else 0
            elif call_target(op).startswith(_LIBRARIES) and len(op.operands):
                library += elements * max(ir.RankedTensorType(op.operands[0].type).shape[-2:], default=0)
            elif op.name in _INSIDE and op.name not in FREE and op.name not in _MOVES:
                largest = max(largest, elements)
                total += elements if outside else 0
        return Work(total, largest, library)


@dataclass(frozen=True)
class Callee:
    """A function that stays one.

    Attributes:
        refusal: why a call of it cannot be inside of a kernel; "" where it can.
        weight: see `weight`, divided among its calls.
    """

    refusal: str
    weight: int


Callees = Mapping[str, Callee]


def callees_of(module: ir.Module) -> Callees:
    """The functions that are called, with those that they call."""
    functions = {symbol_of(op.operation): op.operation for op in module.body.operations}
    calls = Counter(_callee(op) for op in walk(module) if op.name == "func.call")
    found: dict[str, Callee] = {}

    def look(symbol: str) -> Callee:
        if symbol not in found:
            body = [inner.operation for inner in functions[symbol].regions[0].blocks[0].operations][:-1]
            for op in body:
                if op.name == "func.call":
                    look(_callee(op))
            why = next(filter(None, (refusal(op, found) for op in body)), "")
            found[symbol] = Callee(why, -(-sum(weight(op, found) for op in body) // calls[symbol]))
        return found[symbol]

    for symbol in calls:
        look(symbol)
    return found


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def refusal(op: ir.Operation, callees: Callees | None = None, *, in_loop: bool = False) -> str:
    """Why an op cannot be inside of a kernel, or is better outside; "" where it can.

    Args:
        op: the op.
        callees: the functions that are called.
        in_loop: it is in a loop or a branch that is inside, where updates are made in place.
    """
    if op.name == "func.call":
        return (callees or {})[_callee(op)].refusal
    if op.name not in _INSIDE:
        return f"XLA:CPU compiles no {op.name} inside of a kernel"
    largest = _elements(op)
    if largest is None:
        return "it has a token, a tuple or an array of unknown size; of sizes, the pass specialize makes known ones"
    if op.name == "stablehlo.dot_general":
        dot = Dot.of(op)
        if dot.work > dot.limit:
            return f"a dot of {dot.work:,} multiplications is faster in XLA's library (up to {dot.limit:,} are not)"
    for region in op.regions if op.name in CONTROL else ():
        for block in region.blocks:
            inner = [operation.operation for operation in block.operations]
            found = next(filter(None, (refusal(each, callees, in_loop=True) for each in inner)), "")
            if found or repeated(inner):
                return found or REPEATED
    if largest > LONG and op.name == "stablehlo.dynamic_update_slice" and not in_loop:
        return f"a kernel would copy {largest:,} elements, of which XLA updates some in place"
    if largest > LONG and op.name not in FREE and op.name not in _MOVES:
        return f"{largest:,} elements take much longer than a kernel to start"
    return ""


def _elements(op: ir.Operation) -> int | None:
    """Elements of the largest array that an op reads or writes; None where one is no array, or its size is unknown."""
    types = [value.type for value in (*op.results, *op.operands)]
    if not all(map(is_static, types)):
        return None
    return max(map(elements_of, types), default=0)


def repeated(ops: Sequence[ir.Operation]) -> set[ir.Operation]:
    """Ops of a block whose elements a kernel would compute at more than `PLACES` places of its code.

    Inside of a kernel XLA writes out what an element is made of. Two uses at the same index share that; uses at other
    indices (a slice, a reverse, a transpose, ...) do not, and `sin(a) + reverse(a)` repeated doubles it each time. What
    such an op is made of is repeated likewise, up to what is in memory: results of reductions, dots and loops.
    """
    known = set(ops)
    places: dict[ir.Value, set[int]] = {}
    numbers: dict[tuple[int, int], int] = {}
    found: set[ir.Operation] = set()
    for number, op in enumerate(reversed(ops)):
        own: set[int] = set()
        for value in op.results:
            own |= places.get(value, set())
            if any(use.owner.operation not in known for use in value.uses):
                own.add(0)
        own = own or {0}
        if len(own) > PLACES:
            found.add(op)
        if op.name in _IN_MEMORY or op.regions:
            own = {0}
        elif op.name not in _AT_THE_SAME_INDEX and len(own) <= PLACES:
            own = {numbers.setdefault((number, place), len(numbers) + 1) for place in own}
        for operand in op.operands:
            places.setdefault(operand, set()).update(own)
    return found


_AT_THE_SAME_INDEX = kinds.having("elementwise")
_IN_MEMORY = frozenset({"stablehlo.dot_general", "func.call"})
REPEATED = "a kernel would compute it again at each of too many places"


# A large array that one of these reads or writes a part of is not work.
_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in ("dynamic_slice", "dynamic_update_slice", "slice", "gather", "while", "return", "case", "if")
)


@dataclass(frozen=True)
class Dot:
    """What a dot costs inside of a kernel.

    Attributes:
        work: number of multiplications.
        limit: so many of them take no longer inside than in the library.
    """

    work: int
    limit: int

    @staticmethod
    def of(op: ir.Operation) -> Dot:
        """Reads a `stablehlo.dot_general`."""
        contracting, batching = dot_sides(op)
        shapes = [ir.RankedTensorType(value.type).shape for value in op.operands]
        contracted = math.prod(shapes[0][axis] for axis in contracting[0])
        batch = math.prod(shapes[0][axis] for axis in batching[0])
        work = math.prod(ir.RankedTensorType(op.results[0].type).shape) * contracted
        sizes = [math.prod(shape) for shape in shapes]
        if contracted == 1:  # elementwise
            return Dot(work, LARGE)
        if batch * contracted in sizes:
            matrix = op.operands[int(sizes[0] == batch * contracted)]
            # A matrix that is computed inside is computed in the dot's innermost loop.
            return Dot(work, MATVEC if _is_given(matrix) else MATVEC_COMPUTED)
        rows = contracting[0] == [len(shapes[0]) - 1]
        columns = contracting[1] == [len(batching[1])]
        if not (rows and columns):
            return Dot(work, DOT_TRANSPOSED)
        return Dot(work, DOT_NARROW if contracted <= 16 else DOT)


def _is_given(value: ir.Value) -> bool:
    """Whether a value is an argument or a constant, also one with another shape."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name not in ("stablehlo.reshape", "stablehlo.constant"):
            return False
        if op.name == "stablehlo.constant":
            return True
        value = op.operands[0]
    return True


def weight(op: ir.Operation, callees: Callees | None = None) -> int:
    """How many ops XLA compiles for one, what it holds included; 0 for what costs nothing."""
    if op.name == "func.call":
        return (callees or {})[_callee(op)].weight
    own = 0 if op.name in FREE or op.name.endswith(".return") else _WEIGHTS.get(op.name, 1)
    blocks = [block for region in op.regions for block in region.blocks]
    return own + sum(weight(inner.operation, callees) for block in blocks for inner in block)
