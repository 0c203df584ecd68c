"""cpu_regions: what XLA:CPU can compile as one kernel becomes one.

    before  %r = stablehlo.reduce(%x ...)           after   %0:2 = call @region(%x) {mhlo.frontend_attributes =
            %l = stablehlo.log %r                                  {inlineable = "false", xla_cpu_small_call = "true"}}
            %c = call @cholesky_cpu(%k)                     %c = stablehlo.custom_call @lapack_dpotrf_ffi(%k)
            %y = ...                                        ...

XLA:CPU runs a module as a list of kernels, one for each fusion, reduction, dot or step of a loop; a kernel of a small
program computes for less time than it takes to start it. A call with this attribute is compiled into a single kernel,
loops included, whatever the size of their carries. Decision to know: each op of a block gets a *stage*, the number of
ops on the way to it that cannot be in a kernel (LAPACK calls, scatters, sorts, large dots); the ops of one stage are a
region, which is convex because no way from a stage leads back to it. An op goes to the last stage that its users allow,
so that what leads up to a late use opens no region of its own. A loop or branch that cannot be inside has regions in
its blocks. Precondition: static shapes; other modules stay as they are. Rounding: XLA fuses other ops, so sums may be
contracted elsewhere.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import PassError
from ..ir import kinds
from ..ir import ops as builders
from ..ir.bindings import ir, run_pipeline, stablehlo
from ..ir.functions import call_function, inline_calls
from ..ir.ops import captured, clone, rare, replace_operands
from ..ir.tidy import erase_unused
from ..ir.values import (
    ancestors,
    call_target,
    dot_sides,
    elements_of,
    is_static,
    main_function,
    owner,
    symbol_of,
    walk,
)
from .report import Report

OPS = 300  # in one kernel: from there on, compile time grows faster than what is saved
LOOP = 8  # times as many in a kernel of one loop: a kernel for each part of its body would be started in each step
SMALL_CALL = '{inlineable = "false", xla_cpu_small_call = "true"}'


def run(module: ir.Module, report: Report, *, ops: int = OPS) -> None:
    """The pass; `ops` is how many ops a region holds at most. Modules with unknown or empty sizes stay as they are.

    Raises:
        PassError: no region holds so few ops.
    """
    if ops < 2:
        raise PassError(f"pass 'cpu_regions': ops is at least 2, not {ops}")
    inline_calls(module, implementing=True)  # those that are to stay calls are calls in a kernel too
    run_pipeline(module, "symbol-dce", name="cpu_regions")
    erase_unused(module)
    main = main_function(module)
    named: dict[str, ir.Operation] = {}
    for op in walk(module):
        named[op.name] = op
        types = [v.type for v in (*op.results, *op.operands) if isinstance(v.type, ir.RankedTensorType)]
        if not all(type_.has_static_shape for type_ in types):
            # Sizes are computed from shapes; specialization must find that arithmetic where it was.
            report.refused(op, "its sizes are not known: specialize the program first")
            return
        if any(0 in type_.shape for type_ in types):
            # XLA:CPU divides by an array's size where it compiles some ops, a copy to another layout among them. In
            # modules without kernels of many ops those have been simplified away.
            report.refused(op, "XLA:CPU may end the process over an array without elements in a module with kernels")
            return
    if (fft := named.get("stablehlo.fft")) and "stablehlo.transpose" in named:
        # A kernel's results have the layouts that are cheapest for it, and no one turns them for the transform.
        report.refused(fft, "XLA:CPU's transforms take row-major arrays, which a kernel may not give")
        return
    callees = callees_of(module)
    _form_block(Former(ops, report, callees), main.regions[0].blocks[0])
    if report.rewritten:
        erase_unused(module, {symbol for symbol, (why, _) in callees.items() if not why})


def _form_block(former: Former, block: ir.Block) -> None:
    items: list[Item] = []
    numbers: dict[ir.Operation, int] = {}
    for operation in list(block.operations)[:-1]:
        op = operation.operation
        size = weight(op, former.callees)
        limit = former.limit * LOOP if op.name == "stablehlo.while" else former.limit
        why = refusal(op, former.callees) or (f"{size} ops are too many for one kernel" if size > limit else "")
        numbers[op] = len(items)
        items.append(Item(op, list(dict.fromkeys([*op.operands, *captured(op)])), why, size))
    terminator = list(block.operations)[-1].operation
    for op in repeated([item.op for item in items if not item.refusal]):
        items[numbers[op]].refusal = REPEATED
    find_stages(items)
    for item in items:
        if item.refusal:
            former.report.refused(item.op, item.refusal)
            for region in item.op.regions if item.op.name in CONTROL else ():
                for inner in region.blocks:
                    _form_block(former, inner)
    groups: list[list[Item]] = []  # in order: of each stage its regions, and one by one what is outside
    for stage in range(max((item.stage for item in items), default=0) + 1):
        groups += _split([item for item in items if item.stage == stage and not item.outside], former.limit)
        groups += [[item] for item in items if item.stage == stage and item.outside]
    regions = [group for group in groups if not group[0].outside]
    # One op is the one kernel that XLA makes of it anyway.
    if not any(len(group) > 1 or group[0].op.name in CONTROL for group in regions):
        former.report.refused(terminator, "no two ops that could be one kernel")
        return
    for item in (item for group in groups for item in group):
        item.op.move_before(terminator)
    # The last one first: what it makes again itself, the others need not return.
    outlined = _free_for_regions(items, block)
    following = terminator
    for group in reversed(groups):
        if not group[0].outside:
            outline(former, group, outlined, items, numbers, block, following)
        following = group[0].op


def _free_for_regions(items: Sequence[Item], block: ir.Block) -> set[ir.Operation]:
    """Ops that cost nothing and that regions alone use, which make them again."""
    found: set[ir.Operation] = set()
    inside = {item.op for item in items if not item.outside}
    for item in reversed(items):
        users = (_top_of(use.owner.operation, block) for value in item.op.results for use in value.uses)
        if item.free and not item.refusal and all(user in inside or user in found for user in users):
            found.add(item.op)
    return found


# ---- stages ----------------------------------------------------------------------------------------------------------


@dataclass
class Item:
    """An op of a block.

    Attributes:
        op: the op.
        reads: values that it reads, those inside of its own regions not included.
        refusal: why it is in no region; "" where it can be.
        weight: see `weight`.
        stage: the number of ops outside on the way to it.
    """

    op: ir.Operation
    reads: list[ir.Value]
    refusal: str
    weight: int
    stage: int = 0

    @property
    def free(self) -> bool:
        """Whether regions make it again; where it stands, it is for ops outside."""
        return self.op.name in FREE

    @property
    def outside(self) -> bool:
        """Whether it is in no region."""
        return bool(self.refusal) or self.free


def find_stages(items: Sequence[Item]) -> None:
    """Gives each op the last stage that its users allow.

    Of each value it is known from which stage on a region can use it, and from which an op outside. The ops of a stage
    that are outside come behind its region.
    """
    inside: dict[ir.Value, int] = {}
    outside: dict[ir.Value, int] = {}
    for item in items:
        within = max((inside.get(value, 0) for value in item.reads), default=0)
        without = max((outside.get(value, 0) for value in item.reads), default=0)
        if not item.outside:
            item.stage = without = within
        elif item.refusal:
            item.stage, within = without, without + 1
        inside.update(dict.fromkeys(item.op.results, within))
        outside.update(dict.fromkeys(item.op.results, without))
    last = max((item.stage for item in items if not item.outside), default=0)
    latest: dict[ir.Value, int] = {}
    for item in reversed(items):
        allowed = min((latest[value] for value in item.op.results if value in latest), default=last)
        if not item.refusal:
            item.stage = allowed
        for value in item.reads:
            latest[value] = min(latest.get(value, item.stage), item.stage)
    # What regions make again is made outside as soon as it can be: there may be a use at any later stage.
    made: dict[ir.Value, int] = {}
    for item in items:
        if item.free:
            item.stage = max((made.get(value, 0) for value in item.reads), default=0)
        made.update(dict.fromkeys(item.op.results, item.stage))


def _split(items: Sequence[Item], limit: int) -> Iterator[list[Item]]:
    """Regions of about equal size, cut where the least has to be handed over in memory."""
    weights = list(itertools.accumulate(item.weight for item in items))
    crossing = _crossing(items)
    begin, done = 0, 0
    while begin < len(items):
        left = weights[-1] - done
        target = left / max(-(-left // limit), 1)
        end = next((cut for cut in range(begin + 1, len(items)) if weights[cut] - done > limit), len(items))
        if end < len(items):
            cuts = [cut for cut in range(begin + 1, end + 1) if 0.75 <= (weights[cut - 1] - done) / target <= 1.25]
            end = min(cuts, key=crossing.__getitem__, default=end)
        yield list(items[begin:end])
        begin, done = end, weights[end - 1]


def _crossing(items: Sequence[Item]) -> list[int]:
    """For each place between two ops, the elements of values that are made before it and used behind it."""
    last: dict[ir.Value, int] = {}
    for number, item in enumerate(items):
        last.update(dict.fromkeys(item.reads, number))
    change = [0] * (len(items) + 2)
    for number, item in enumerate(items):
        for value in item.op.results:
            if last.get(value, number) > number:
                size = math.prod(ir.RankedTensorType(value.type).shape)
                change[number + 1] += size
                change[last[value] + 1] -= size
    return list(itertools.accumulate(change))


# ---- a region as a function ------------------------------------------------------------------------------------------


@dataclass
class Former:
    """What forming regions in one block after the other needs."""

    limit: int
    report: Report
    callees: Callees
    count: int = 0


def outline(
    former: Former,
    group: Sequence[Item],
    outlined: set[ir.Operation],
    items: Sequence[Item],
    numbers: Mapping[ir.Operation, int],
    block: ir.Block,
    following: ir.Operation,
) -> None:
    """Makes a function of a region's ops, calls it before the following op, and lets the others use its results.

    The ops stay where they are, without a use but by each other.
    """
    own = {item.op for item in group}
    again: dict[ir.Operation, None] = {}
    inputs: dict[ir.Value, None] = {}

    def need(value: ir.Value) -> None:
        definer = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if definer in own or definer in again:
            return
        if definer is not None and definer.name == "stablehlo.constant":
            again[definer] = None
        elif definer is not None and definer.name in FREE and definer in numbers:
            again[definer] = None
            for operand in items[numbers[definer]].reads:
                need(operand)
        else:
            inputs[value] = None

    for item in group:
        for value in item.reads:
            need(value)
    outlined |= own
    uses = {
        value: [use for use in value.uses if _top_of(use.owner.operation, block) not in outlined]
        for item in group
        for value in item.op.results
    }
    outputs = [value for value, found in uses.items() if found]
    if not outputs:
        return
    former.count += 1

    def body(*arguments: ir.Value) -> list[ir.Value]:
        known = dict(zip(inputs, arguments, strict=True))
        for op in sorted([*again, *own], key=lambda op: numbers.get(op, -1)):
            copy = clone(op)
            replace_operands(copy, lambda value: known.get(value, value))
            known.update(zip(op.results, copy.results, strict=True))
        return [*(known[value] for value in outputs), *([_witness(arguments)] if inputs else [])]

    symbol = f"region_{former.count}"
    with group[0].op.location, ir.InsertionPoint(following):
        small = {"mhlo.frontend_attributes": ir.Attribute.parse(SMALL_CALL)}
        # Where XLA finds that an argument is a constant (computed from such, or carried unchanged by a loop), it puts
        # the constant in its place inside of the region too, and the argument has lost all uses. A barrier, which goes
        # when XLA has done with simplifying, hides that.
        hidden = builders.optimization_barrier(list(inputs)) if inputs else []
        results = call_function(symbol, hidden, body, **small)
    for old, new in zip(outputs, results, strict=False):
        for use in uses[old]:
            use.owner.operation.operands[use.operand_number] = new
    former.report.applied(group[0].op, result=f"first of the {len(group)} ops of @{symbol}")


def _witness(arguments: Sequence[ir.Value]) -> ir.Value:
    """One element of each argument, as a result of the region that nobody reads.

    XLA ends the process when an argument of a kernel of many ops has lost its last use, as one behind a decided
    `select` does when XLA simplifies. What a result is made of stays.
    """
    parts = []
    for value in arguments:
        rank = ir.RankedTensorType(value.type).rank
        value = builders.reshape(builders.slice(value, [0] * rank, [1] * rank), [1])
        if isinstance(ir.RankedTensorType(value.type).element_type, ir.ComplexType):
            value = stablehlo.real(value)
        parts.append(builders.convert(value, np.float64))
    return builders.concatenate(parts, 0)


def _top_of(op: ir.Operation, block: ir.Block) -> ir.Operation:
    return next(each for each in (op, *ancestors(op)) if each.block == block)


# ---- what an op costs in a kernel, and whether XLA:CPU compiles it there: measured, docs/explanation/cpu.md ----------

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
        unlikely = rare(module)
        for op in walk(module):
            elements = _elements(op)
            if elements is None or op in unlikely:
                continue
            outside = op.parent is not None and op.parent.name == "func.func"
            if op.name == "stablehlo.dot_general":
                work, limit = cost_of_dot(op)
                library += work if work > limit else 0
                total += min(work, limit) if outside else 0
            elif call_target(op).startswith(_LIBRARIES) and len(op.operands):
                library += elements * max(ir.RankedTensorType(op.operands[0].type).shape[-2:], default=0)
            elif op.name in _INSIDE and op.name not in FREE and op.name not in _MOVES:
                largest = max(largest, elements)
                total += elements if outside else 0
        return Work(total, largest, library)


# Of each function that is called why no call of it can be inside of a kernel, or "", and a call's part of its weight.
Callees = Mapping[str, tuple[str, int]]


def callees_of(module: ir.Module) -> Callees:
    """The functions that are called, with those that they call."""
    functions = {symbol_of(op.operation): op.operation for op in module.body.operations}
    calls = Counter(_callee(op) for op in walk(module) if op.name == "func.call")
    found: dict[str, tuple[str, int]] = {}

    def look(symbol: str) -> tuple[str, int]:
        if symbol not in found:
            body = [inner.operation for inner in functions[symbol].regions[0].blocks[0].operations][:-1]
            for op in body:
                if op.name == "func.call":
                    look(_callee(op))
            why = next(filter(None, (refusal(op, found) for op in body)), "")
            found[symbol] = why, -(-sum(weight(op, found) for op in body) // calls[symbol])
        return found[symbol]

    for symbol in calls:
        look(symbol)
    return found


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def refusal(op: ir.Operation, callees: Callees, *, in_loop: bool = False) -> str:
    """Why an op cannot be inside of a kernel, or is better outside; "" where it can.

    Args:
        op: the op.
        callees: the functions that are called.
        in_loop: it is in a loop or a branch that is inside, where updates are made in place.
    """
    if op.name == "func.call":
        return callees[_callee(op)][0]
    if op.name not in _INSIDE:
        return f"XLA:CPU compiles no {op.name} inside of a kernel"
    largest = _elements(op)
    if largest is None:
        return "it has a token, a tuple or an array of unknown size; of sizes, the pass specialize makes known ones"
    if op.name == "stablehlo.dot_general":
        work, limit = cost_of_dot(op)
        if work > limit:
            return f"a dot of {work:,} multiplications is faster in XLA's library (up to {limit:,} are not)"
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
    types = [value.type for value in (*op.results, *op.operands)]
    return max(map(elements_of, types), default=0) if all(map(is_static, types)) else None


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


def cost_of_dot(op: ir.Operation) -> tuple[int, int]:
    """How many multiplications a `stablehlo.dot_general` is, and how many take no longer inside than in the library."""
    contracting, batching = dot_sides(op)
    shapes = [ir.RankedTensorType(value.type).shape for value in op.operands]
    contracted = math.prod(shapes[0][axis] for axis in contracting[0])
    batch = math.prod(shapes[0][axis] for axis in batching[0])
    work = elements_of(op.results[0].type) * contracted
    sizes = [math.prod(shape) for shape in shapes]
    if contracted == 1:  # elementwise
        return work, LARGE
    if batch * contracted in sizes:
        matrix = op.operands[int(sizes[0] == batch * contracted)]
        # A matrix that is computed inside is computed in the dot's innermost loop.
        return work, MATVEC if _is_given(matrix) else MATVEC_COMPUTED
    rows = contracting[0] == [len(shapes[0]) - 1]
    columns = contracting[1] == [len(batching[1])]
    if not (rows and columns):
        return work, DOT_TRANSPOSED
    return work, DOT_NARROW if contracted <= 16 else DOT


def _is_given(value: ir.Value) -> bool:
    while (definer := owner(value)) is not None and definer.name == "stablehlo.reshape":
        value = definer.operands[0]
    return definer is None or definer.name == "stablehlo.constant"


def weight(op: ir.Operation, callees: Callees) -> int:
    """How many ops XLA compiles for one, what it holds included; 0 for what costs nothing."""
    nothing = op.name in FREE or op.name.endswith(".return")
    own = callees[_callee(op)][1] if op.name == "func.call" else _WEIGHTS.get(op.name, 1)
    inner = [operation.operation for region in op.regions for block in region.blocks for operation in block]
    return (0 if nothing else own) + sum(weight(each, callees) for each in inner)
