"""batch: a module becomes one for many rows, with a leading axis on its arguments and results.

    before  func.func @main(%w: tensor<4xf64>, %x: tensor<16x4xf64>, %n: tensor<i32>) -> tensor<f64>
    after   func.func @main(%w: tensor<4xf64>, %x: tensor<64x16x4xf64>, %n: tensor<64xi32>, %rows: tensor<64xi1>)
                -> tensor<64xf64>                                       batch{size=64} with `w` shared

Meaning: row j of each result is the module's result for row j of the arguments; of shared arguments there is one for
all. `%rows` says which rows count: the others run along, raise no flags and are in no sum. Results can be summed over
the rows instead, as cotangents of shared arguments are. A loop turns as often as its longest row needs, and rows that
are finished keep their carries.

Preconditions: no calls of Python; no sizes from data, and no dynamic sizes if the number of rows is static. Rounding:
dots and reductions may associate in another order, sums over rows too; nothing else changes. An op without a rule runs
row by row, in a loop; the report says which. The rules are in `codegen/ir/batching/`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from .. import dims as dimension
from .. import signature as signatures
from ..errors import PassError
from ..ir import ops
from ..ir.batching import Batcher, Row, demanded, total, worst
from ..ir.bindings import DYNAMIC, ir, run_pipeline
from ..ir.functions import add_function
from ..ir.host_calls import host_calls
from ..ir.modules import replace_body
from ..ir.values import main_function, module_name
from ..signature import Argument, Signature
from .report import Report


def run(module: ir.Module, report: Report, /, *, size: int = 2) -> None:
    """The pass by name: all arguments get the axis."""
    batched, looped = batch(module, size)
    for name, count in looped.items():
        report.refused(name, f"{count} of them run row by row")
    report.applied(module.operation)
    replace_body(module, batched)


def batch(
    module: ir.Module,
    size: int | str,
    *,
    shared: Collection[int] = (),
    summed: Collection[int] = (),
    order: Sequence[int] | None = None,
    rows: str = "",
    zeros: bool = False,
) -> tuple[ir.Module, dict[str, int]]:
    """The batched module, in the context of `module`, and how often each op runs row by row.

    Args:
        module: not changed.
        size: of the new axis, at least 1; or its name, where it is open, as others of the module may be then.
        shared: the arguments that have no new axis.
        summed: the results that are sums over the rows, without the new axis.
        order: the batched module's arguments, as numbers of the module's (and the number behind them for `rows`).
        rows: the name of a further argument, a vector of booleans, that says which rows count; "" where all do.
        zeros: rows that do not count give zeros.

    Raises:
        PassError: the module has dynamic sizes and the batch has not, a size that would differ from row to row, or the
            module calls Python.
    """
    signature = signatures.read(module)
    _refuse(module, signature, size, shared)
    source = main_function(module)
    block = source.regions[0].blocks[0]
    count = len(block.arguments)
    placed = list(range(count + bool(rows)) if order is None else order)
    each = [number not in shared for number in range(count)]
    with module.context, source.location:
        made = ir.Module.create()
        made.operation.attributes["sym_name"] = ir.StringAttr.get(module_name(module))
        batcher = Batcher(made, size if isinstance(size, int) else 0, demanded(block, summed))

        def body(*values: ir.Value) -> list[ir.Value]:
            given = dict(zip(placed, values, strict=True))
            if isinstance(size, str):
                batcher.size = ops.size(given[each.index(True)], 0)
            if rows:
                batcher.active = given[count]
            found = batcher.block(block, [Row(given[number], each[number]) for number in range(count)])
            returned: list[ir.Value] = []
            for number, row in enumerate(found):
                if number >= len(signature.results):
                    returned.append(worst(batcher, row))
                elif number in summed:
                    returned.append(total(batcher, row))
                else:
                    value = batcher.full(row)
                    masked = zeros and batcher.active is not None
                    returned.append(batcher.where_active(value, ops.filled(value, 0)) if masked else value)
            return returned

        extent = size if isinstance(size, int) else DYNAMIC
        types = [
            ops.tensor_type(x, [extent, *ir.RankedTensorType(x.type).shape]) if flag else x.type
            for x, flag in zip(block.arguments, each, strict=True)
        ]
        types += [ops.tensor_type(np.dtype(bool), [extent])] if rows else []
        with ir.InsertionPoint(made.body):
            for operation in module.body.operations:
                if operation.operation.name == "func.func" and operation.operation != source:
                    operation.operation.clone(ip=ir.InsertionPoint.current)
            main = add_function("main", [types[number] for number in placed], body)
        signatures.write(main, _signature(signature, size, shared, summed, placed, rows))
    run_pipeline(made, "canonicalize,cse,symbol-dce", name="batch")
    return made, dict(batcher.looped)


def _refuse(module: ir.Module, signature: Signature, size: int | str, shared: Collection[int]) -> None:
    if host_calls(module):
        raise PassError("batch: the program calls Python functions, which take one row each")
    if isinstance(size, int):
        if not signature.is_static:
            raise PassError("batch needs static shapes: specialize or pad the program first")
        if size < 1:
            raise PassError(f"batch: size must be at least 1, got {size}")
    elif signature.has_data_sizes:
        raise PassError("batch: a size depends on data")
    elif not {root.argument for root in signature.value_roots} <= set(shared):
        raise PassError("batch: an argument whose value decides a size must be the same for all rows")


def _signature(
    signature: Signature,
    size: int | str,
    shared: Collection[int],
    summed: Collection[int],
    placed: Sequence[int],
    rows: str,
) -> Signature:
    """That of the batched module. Live sizes are those of rows, and no sizes any more."""
    first = size if isinstance(size, int) else dimension.symbol(size)
    arguments = []
    for number, argument in enumerate(signature.arguments):
        dims = argument.dims if number in shared else (first, *argument.dims)
        values = () if isinstance(size, int) else argument.values
        arguments.append(Argument(argument.name, argument.dtype, dims, values))
    if rows:
        arguments.append(Argument(rows, np.dtype(bool), (first,)))
    results = [
        replace(result, dims=result.dims if number in summed else (first, *result.dims), live=(), size="", sparse=())
        for number, result in enumerate(signature.results)
    ]
    ordered = tuple(arguments[number] for number in placed)
    constraints = () if isinstance(size, int) else signature.constraints
    roots = () if isinstance(size, int) else signatures.find_roots(ordered)
    return Signature(ordered, tuple(results), roots, constraints, signature.checks, platforms=signature.platforms)
