"""`mapped`: what a rule makes of one element, for a batch of them at once.

In: handles, some with a leading axis, and a Python function that builds one element's results. Out: the results with
that axis. The function's ops are built once, aside, and then put in place with the axis on what depends on it
(`codegen/ir/batching/`); no size ever depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..dims import bounds
from ..errors import BatchingError, PassError
from ..ir.batching import Batcher, Row, worst
from .control import opened
from .core import Tensor
from .shape import full


def mapped(operands: Sequence[Tensor], each: Sequence[bool], body: Callable[..., Sequence[Tensor]]) -> list[Tensor]:
    """The results of `body` for each element of a batch.

    Args:
        operands: what it takes; at least one has the batch axis.
        each: which of them have it, in front.
        body: from one element's operands to its results.

    Raises:
        BatchingError: an op has no form for a batch.
        UnsupportedGraphError: a size would differ from element to element.
    """
    builder = operands[0].builder
    size = next(x.dims[0] for x, flag in zip(operands, each, strict=True) if flag)
    with opened(builder, operands, 1) as (holder, (block,)), builder.aside():
        with builder.region(block) as scope:
            arguments = []
            for x, flag in zip(operands, each, strict=True):
                if flag:
                    argument = block.add_argument(builder.tensor_type(x.dims[1:], x.dtype), builder.location)
                    arguments.append(Tensor(builder, argument, x.dims[1:], x.dtype))
                else:
                    arguments.append(x)
            results = list(body(*arguments))
            builder.refuse_leaving(results, "function of one element")
            builder.terminator("stablehlo.return", [*results, *[check.flag for check in scope.checks]])
        if size == 0:
            holder.erase()
            return [full(builder, builder.constant(0, x.dtype), (0, *x.dims)) for x in results]
        extent = size if isinstance(size, int) else builder.size(size).value
        with builder.here():
            batcher = Batcher(builder.module, extent)
            batcher.may_be_empty = not isinstance(size, int) and (bounds(size)[0] or 0) < 1
            try:
                rows = [Row(x.value, True) for x, flag in zip(operands, each, strict=True) if flag]
                found = batcher.block(block, rows)
            except PassError as error:
                raise BatchingError(str(error).removeprefix("batch: ")) from None
            values = [batcher.full(row) for row in found[: len(results)]]
            flags = [worst(batcher, row) for row in found[len(results) :]]
        checks = list(scope.checks)
        holder.erase()
    for check, value in zip(checks, flags, strict=True):
        builder.check(Tensor(builder, value, (), check.flag.dtype), check.exception, check.message, check.place)
    return [Tensor(builder, value, (size, *x.dims), x.dtype) for value, x in zip(values, results, strict=True)]
