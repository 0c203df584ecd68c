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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import PassError
from ...ir import ops as builders
from ...ir.bindings import ir, run_pipeline, stablehlo
from ...ir.clone import clone, replace_operands
from ...ir.functions import add_function, call, inline_calls
from ...ir.tidy import erase_unused
from ...ir.values import free_symbol, main_function, walk
from ..report import Report
from .cost import CONTROL, DOT, FREE, LARGE, REPEATED, Callees, Work, callees_of, refusal, repeated, weight

__all__ = ["DOT", "LARGE", "LOOP", "OPS", "SMALL_CALL", "Work", "run"]

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
    inline_calls(module, all_of_them=False)  # those that are to stay calls are calls in a kernel too
    run_pipeline(module, "symbol-dce", name="cpu_regions")
    form(module, ops, report)


def form(module: ir.Module, limit: int, report: Report) -> None:
    """Forms regions in the main function of a module, in place."""
    erase_unused(module)
    main = main_function(module)
    first: dict[str, ir.Operation] = {}
    for op in walk(module):
        first.setdefault(op.name, op)
        if not all(_is_static(value.type) for value in op.results):
            # Sizes are computed from shapes; specialization must find that arithmetic where it was.
            report.refused(op, "its sizes are not known: specialize the program first")
            return
        if any(_is_empty(value.type) for value in (*op.results, *op.operands)):
            # XLA:CPU divides by an array's size where it compiles some ops, a copy to another layout among them. In
            # modules without kernels of many ops those have been simplified away.
            report.refused(op, "XLA:CPU may end the process over an array without elements in a module with kernels")
            return
    if {"stablehlo.fft", "stablehlo.transpose"} <= first.keys():
        # A kernel's results have the layouts that are cheapest for it, and no one turns them for the transform.
        report.refused(
            first["stablehlo.fft"], "XLA:CPU's transforms take row-major arrays, which a kernel may not give"
        )
        return
    callees = callees_of(module)
    _form_block(Former(module, limit, report, callees), main.regions[0].blocks[0])
    if report.rewritten:
        erase_unused(module, {symbol for symbol, callee in callees.items() if not callee.refusal})


def _is_static(type_: ir.Type) -> bool:
    """Whether a type is no array of unknown size."""
    return not isinstance(type_, ir.RankedTensorType) or type_.has_static_shape


def _is_empty(type_: ir.Type) -> bool:
    """Whether a type is an array without elements."""
    return isinstance(type_, ir.RankedTensorType) and 0 in type_.shape


def _form_block(former: Former, block: ir.Block) -> None:
    """Forms the regions of a block, and those of the blocks of ops that cannot be in one."""
    items: list[Item] = []
    numbers: dict[ir.Operation, int] = {}
    for operation in list(block.operations)[:-1]:
        op = operation.operation
        size = weight(op, former.callees)
        limit = former.limit * LOOP if op.name == "stablehlo.while" else former.limit
        why = refusal(op, former.callees) or (f"{size} ops are too many for one kernel" if size > limit else "")
        numbers[op] = len(items)
        items.append(Item(op, list(reads_of(op)), why, size))
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
    stages = max((item.stage for item in items), default=0) + 1
    groups = [group for stage in range(stages) for group in groups_of(items, stage, former.limit)]
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
        users = (top_of(use.owner.operation, block) for value in item.op.results for use in value.uses)
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


def reads_of(op: ir.Operation) -> Iterator[ir.Value]:
    """Values that an op, or an op inside, reads from outside."""
    yield from dict.fromkeys(op.operands)
    inside: set[ir.Value] = set()
    for region in op.regions:
        for block in region.blocks:
            inside.update(block.arguments)
            for operation in block.operations:
                yield from (value for value in reads_of(operation.operation) if value not in inside)
                inside.update(operation.results)


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


def groups_of(items: Sequence[Item], stage: int, limit: int) -> Iterator[list[Item]]:
    """The ops of a stage in order: its regions, of at most `limit` ops each, and one by one what is outside."""
    yield from _split([item for item in items if item.stage == stage and not item.outside], limit)
    yield from ([item] for item in items if item.stage == stage and item.outside)


def _split(items: Sequence[Item], limit: int) -> Iterator[list[Item]]:
    """Regions of about equal size, cut where the least has to be handed over in memory."""
    weights = list(itertools.accumulate(item.weight for item in items))
    crossing = _crossing(items)
    begin, done = 0, 0
    while begin < len(items):
        left = weights[-1] - done
        count = -(-left // limit)
        target = left / max(count, 1)
        end = len(items)
        if count > 1:
            cuts = [
                cut
                for cut in range(begin + 1, len(items))
                if 0.75 * target <= weights[cut - 1] - done <= min(1.25 * target, limit)
            ]
            first = next(
                cut for cut in range(begin + 1, len(items) + 1) if cut == len(items) or weights[cut] - done > limit
            )
            end = min(cuts, key=crossing.__getitem__, default=first)
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

    module: ir.Module
    limit: int
    report: Report
    callees: Callees
    count: int = 0

    def symbol(self) -> str:
        """A name for the next region."""
        self.count += 1
        return free_symbol(self.module, f"region_{self.count}")


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
        value: [use for use in value.uses if top_of(use.owner.operation, block) not in outlined]
        for item in group
        for value in item.op.results
    }
    outputs = [value for value, found in uses.items() if found]
    if not outputs:
        return
    symbol = former.symbol()

    def body(*arguments: ir.Value) -> list[ir.Value]:
        known = dict(zip(inputs, arguments, strict=True))
        for op in sorted([*again, *own], key=lambda op: numbers.get(op, -1)):
            copy = clone(op)
            replace_operands(copy, lambda value: known.get(value, value))
            known.update(zip(op.results, copy.results, strict=True))
        return [*(known[value] for value in outputs), *([_witness(arguments)] if inputs else [])]

    with group[0].op.location:
        with ir.InsertionPoint(former.module.body):
            private = ir.StringAttr.get("private")
            function = add_function(symbol, [value.type for value in inputs], body, sym_visibility=private)
        types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
        with ir.InsertionPoint(following):
            operands, small = _kept_from_folding(list(inputs)), ir.Attribute.parse(SMALL_CALL)
            results = call(symbol, types, operands, **{"mhlo.frontend_attributes": small})
    for old, new in zip(outputs, results, strict=False):
        for use in uses[old]:
            use.owner.operation.operands[use.operand_number] = new
    former.report.applied(group[0].op, result=f"first of the {len(group)} ops of @{symbol}")


def _kept_from_folding(values: Sequence[ir.Value]) -> list[ir.Value]:
    """The arguments of a region, behind a barrier.

    Where XLA finds that an argument is a constant (computed from such, or carried unchanged by a loop), it puts the
    constant in the argument's place inside of the region too, and the argument has lost all uses. Barriers go when XLA
    has done with simplifying. Arguments of the program are never constants.
    """
    known = [isinstance(value.owner, ir.Block) and value.owner.owner.operation.name == "func.func" for value in values]
    hidden = [value for value, safe in zip(values, known, strict=True) if not safe]
    if not hidden:
        return list(values)
    behind = iter(builders.optimization_barrier(hidden))
    return [value if safe else next(behind) for value, safe in zip(values, known, strict=True)]


def _witness(arguments: Sequence[ir.Value]) -> ir.Value:
    """One element of each argument, as a result of the region that nobody reads.

    XLA ends the process when an argument of a kernel of many ops has lost its last use, as one behind a decided
    `select` does when XLA simplifies. What a result is made of stays; see also `_kept_from_folding`.
    """
    parts = []
    for value in arguments:
        rank = ir.RankedTensorType(value.type).rank
        value = builders.reshape(builders.slice(value, [0] * rank, [1] * rank), [1])
        if isinstance(ir.RankedTensorType(value.type).element_type, ir.ComplexType):
            value = stablehlo.real(value)
        parts.append(builders.convert(value, np.float64))
    return builders.concatenate(parts, 0)


def top_of(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The op of a block that an op is, or lies in."""
    while op.block != block:
        parent = op.parent
        assert parent is not None, "an op outside of the block"
        op = parent.operation
    return op
