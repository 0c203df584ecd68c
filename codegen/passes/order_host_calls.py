"""order_host_calls: calls of Python functions happen in the order in which they are written.

    before  %a:2 = custom_call @hlograph.host(%zero, %x)    while (%i = %start) { custom_call @hlograph.host(%zero) }
    after   %a:2 = custom_call @hlograph.host(%zero, %x)    while (%i = %start, %o = %a#0) { .. @hlograph.host(%o) }

XLA starts what does not wait for each other as it likes. Each call takes as its first operand the first result of the
call before it, through loops as a carry and out of branches as a result; a condition of a loop takes it and gives none.
A program with one call, outside of loops, stays as it is. Rounding: none.
"""

from __future__ import annotations

from ..errors import PassError
from ..ir import ops
from ..ir.bindings import ir
from ..ir.host_calls import host_calls, is_host_call
from ..ir.values import ancestors, main_function, terminator, walk
from ..ir.while_ops import add_carries
from .report import Report

TRIGGERS = frozenset({"stablehlo.custom_call"})
_BRANCHES = ("stablehlo.if", "stablehlo.case")


def run(module: ir.Module, report: Report) -> None:
    """The pass.

    Raises:
        PassError: a call is in a private function, or in an op that runs its blocks in no order.
    """
    main = main_function(module)
    for call in host_calls(module):
        _check_place(call, main)
        report.applied(call)
    with module.context:
        _thread(main.regions[0].blocks[0], None)


def _check_place(call: ir.Operation, main: ir.Operation) -> None:
    parent = next(op for op in ancestors(call) if op.name not in ("stablehlo.while", *_BRANCHES))
    if parent.name != "func.func":
        raise PassError(f"order_host_calls: a {parent.name} runs its block in no order, and it calls Python")
    if parent != main:
        raise PassError("order_host_calls: a private function calls Python; inline it first")


def _thread(block: ir.Block, order: ir.Value | None) -> ir.Value | None:
    """Strings the calls of a block together; what the next one takes.

    Args:
        block: the block.
        order: what the first call takes; None for what it has.
    """
    for view in list(block.operations):
        operation = view.operation
        if is_host_call(operation):
            if order is not None:
                operation.operands[0] = order
            order = operation.results[0]
        elif operation.regions and any(map(is_host_call, walk(operation))):
            how = _loop if operation.name == "stablehlo.while" else _branches
            if order is None:
                with ir.InsertionPoint(operation), operation.location:
                    order = ops.index(0)
            order = how(operation, order)
    return order


def _loop(loop: ir.Operation, order: ir.Value) -> ir.Value:
    body = loop.regions[1].blocks[0]

    def step(arguments: list[ir.Value]) -> list[ir.Value]:
        found = _thread(body, arguments[0])
        assert found is not None
        return [found]

    new = add_carries(loop, [order], step)
    loop.erase()
    condition = new.regions[0].blocks[0]
    _thread(condition, condition.arguments[len(condition.arguments) - 1])
    return new.results[len(new.results) - 1]


def _branches(operation: ir.Operation, order: ir.Value) -> ir.Value:
    """A conditional with one more result, in its place."""
    for region in operation.regions:
        block = region.blocks[0]
        found: ir.Value = _thread(block, order) or order
        last = terminator(block)
        with ir.InsertionPoint(last), last.location:
            ops.return_([*last.operands, found])
        last.erase()
    with ir.InsertionPoint(operation), operation.location:
        new = ir.Operation.create(
            operation.name,
            results=[*[result.type for result in operation.results], order.type],
            operands=list(operation.operands),
            regions=len(operation.regions),
        )
    for region, old in zip(new.regions, list(operation.regions), strict=True):
        old.blocks[0].append_to(region)
    for result, made in zip(operation.results, new.results, strict=False):
        result.replace_all_uses_with(made)
    operation.erase()
    return new.results[len(new.results) - 1]
