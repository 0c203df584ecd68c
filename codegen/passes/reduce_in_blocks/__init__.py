"""reduce_in_blocks: a large array that is made only to be reduced is made block by block, in a loop.

    %d = subtract %rows, %columns : tensor<50000x50000xf32>      %s = while(%i, %acc = %zeros : tensor<50000xf32>)
    %q = multiply %d, %d                                           do: %x1 = dynamic_slice %x, %i : tensor<10xf32>
    %e = exponential %q                                     ->         ... : tensor<10x50000xf32>
    %s = dot_general %e, %b : tensor<50000xf32>                        %acc1 = dynamic_update_slice %acc, %s1, %i

In: a module with static shapes. Elementwise work, broadcasts, dots, reductions and sorts of large arrays are a region,
if what it is made from is together at most a quarter as large, and what comes out is small (`region.py`). An axis that
all of it shares is cut into blocks (`plan.py`). Where that axis is kept, each result is the same sum as before; where
it is summed up itself, blocks are added (`emit.py`). Decisions to know: the axis along which the most is made and the
least summed goes first; what one loop cannot do, because it depends on that loop's sums, the next one does, with the
array made again.

Preconditions: no op needs the array whole; XLA would store it, which it does not for a single sum of elementwise work.
Rounding: sums along the axis are of blocks, added in a wider type, or with what rounding takes from float64. With
`reassociate=false` there are none such, and as many loops as it takes. A row's own sums are as before, as far as XLA's
kernels for fewer rows are the same.
"""

from __future__ import annotations

from ...ir.bindings import ir, run_pipeline
from ...ir.dce import erase_unused
from ...ir.inline import inline_calls
from ...ir.modules import clone_module, replace_body
from ...ir.refused import Refused
from ...ir.walk import walk
from ..report import Report
from .emit import emit
from .plan import Settings, first_loop
from .region import Straight, regions

# Without one of these nothing is reduced.
TRIGGERS = frozenset({"stablehlo.dot_general", "stablehlo.reduce"})

ELEMENTS = 16 << 20
_BLOCKS = ("func.func", "stablehlo.while", "stablehlo.case", "stablehlo.if")


def run(
    module: ir.Module, report: Report, *, elements: int = ELEMENTS, block: int = 2 << 20, reassociate: bool = True
) -> None:
    """The pass.

    Args:
        module: is changed, in place.
        report: takes note of each region.
        elements: how many of them an array has, at least, that is large.
        block: the bytes of the block that takes its place.
        reassociate: whether floats may be added in another order.
    """
    if not any(Straight(each, elements).large for each in _blocks(module)):
        return
    copy = clone_module(module)
    if any(op.name == "func.call" for op in walk(copy)):
        inline_calls(copy, all_of_them=False)
    run_pipeline(copy, "cse,symbol-dce")
    settings = Settings(block, reassociate)
    while any(_next(each, elements, settings, report) for each in _blocks(copy)):
        erase_unused(copy)
    if report.rewritten:
        replace_body(module, copy)


def _blocks(module: ir.Module) -> list[ir.Block]:
    """The blocks whose ops are run one behind the other, those within others first."""
    ops = [op for op in walk(module) if op.name in _BLOCKS]
    return [block for op in reversed(ops) for region in op.regions for block in region.blocks]


def _next(block: ir.Block, elements: int, settings: Settings, report: Report) -> bool:
    """Makes one loop; whether there was one to make."""
    straight = Straight(block, elements)
    for choices in regions(straight) if straight.large else []:
        region = choices[0]
        op = region.op(region.largest)
        try:
            loop = first_loop(choices, settings)
        except Refused as refusal:
            report.refused(op, str(refusal))
            continue
        report.applied(op, result=f"{loop.rows} of {loop.size} at a time, for {len(loop.outputs)} results")
        emit(loop)
        return True
    return False
