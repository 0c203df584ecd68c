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

from collections.abc import Sequence

from ...errors import PassError
from ...ir.bindings import ir, run_pipeline
from ...ir.dce import erase_unused
from ...ir.inline import inline_calls
from ...ir.walk import main_function, walk
from ..report import Report
from .cost import CONTROL, DOT, LARGE, REPEATED, Work, callees_of, refusal, repeated, weight
from .outline import SMALL_CALL, Former, outline, top_of
from .stages import Item, find_stages, groups_of, reads_of

__all__ = ["DOT", "LARGE", "LOOP", "OPS", "SMALL_CALL", "Work", "run"]

OPS = 300  # in one kernel: from there on, compile time grows faster than what is saved
LOOP = 8  # times as many in a kernel of one loop: a kernel for each part of its body would be started in each step


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
    if not any(_pays(group) for group in regions):
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


def _pays(group: Sequence[Item]) -> bool:
    """Whether a region is more than the one kernel that XLA makes of it anyway."""
    return len(group) > 1 or group[0].op.name in CONTROL
