"""cpu-nan: maxima and minima of many floats that keep NaN whatever XLA:CPU makes of them.

    before  %m = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [1] : tensor<8x4096xf64>
    after   %m = ...                                             // as before
            %n = stablehlo.compare NE, %x, %x                    // where NaN is
            %a = stablehlo.reduce(%n init: false) applies stablehlo.or across dimensions = [1]
            %r = stablehlo.select %a, NaN, %m                    // in the place of %m

XLA:CPU leaves reductions of 4,096 elements and more to a library whose maximum and minimum pass NaN over. Executables
of our own have a compile option against it; a module that goes into somebody else's has this. Preconditions: static
sizes. Rounding: none.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..dtypes import kind_of
from ..errors import PassError
from ..ir.attributes import dense_attr
from ..ir.bindings import ir
from ..ir.types import numpy_dtype
from ..ir.walk import walk
from .report import Report

ELEMENTS = 4096  # from which XLA:CPU leaves a reduction to the library
_BODIES = ("stablehlo.maximum", "stablehlo.minimum")

# A module without any of these is left as it is; callers may then save themselves a copy.
OPS = frozenset({"stablehlo.reduce"})


def run(module: ir.Module, options: Mapping[str, str], report: Report) -> None:
    """The pass; it takes no options."""
    if options:
        raise PassError("pass 'cpu-nan' takes no options")
    for operation in [op for op in walk(module) if op.name == "stablehlo.reduce"]:
        if _may_lose_nan(operation):
            _keep_nan(operation)
            report.applied(operation, result="NaN, if there is one")


def _may_lose_nan(operation: ir.Operation) -> bool:
    body = list(operation.regions[0].blocks[0].operations)
    if len(operation.results) != 1 or len(body) != 2 or body[0].operation.name not in _BODIES:
        return False
    operand = ir.RankedTensorType(operation.operands[0].type)
    if not operand.has_static_shape or int(np.prod(operand.shape, dtype=np.int64)) < ELEMENTS:
        return False
    return kind_of(numpy_dtype(operand.element_type)) == "f"


def _keep_nan(operation: ir.Operation) -> None:
    x, result = operation.operands[0], operation.results[0]
    uses = [(use.owner.operation, use.operand_number) for use in result.uses]
    type_ = ir.RankedTensorType(result.type)
    dtype = numpy_dtype(type_.element_type)
    context = operation.context
    with context, operation.location, ir.InsertionPoint.after(operation):
        boolean = ir.IntegerType.get_signless(1)
        is_nan = ir.Operation.create(
            "stablehlo.compare",
            results=[ir.RankedTensorType.get(ir.RankedTensorType(x.type).shape, boolean)],
            operands=[x, x],
            attributes={"comparison_direction": ir.Attribute.parse("#stablehlo<comparison_direction NE>")},
        ).result
        scalar = ir.RankedTensorType.get([], boolean)
        any_nan = ir.Operation.create(
            "stablehlo.reduce",
            results=[ir.RankedTensorType.get(type_.shape, boolean)],
            operands=[is_nan, _constant(np.array(False), context)],
            attributes={"dimensions": operation.attributes["dimensions"]},
            regions=1,
        )
        block = any_nan.regions[0].blocks.append(scalar, scalar)
        with ir.InsertionPoint(block):
            both = ir.Operation.create("stablehlo.or", results=[scalar], operands=list(block.arguments)).result
            ir.Operation.create("stablehlo.return", operands=[both])
        nan = _constant(np.full(type_.shape, np.nan).astype(dtype), context)
        kept = ir.Operation.create("stablehlo.select", results=[type_], operands=[any_nan.result, nan, result]).result
    for owner, number in uses:
        owner.operands[number] = kept


def _constant(value: np.ndarray, context: ir.Context) -> ir.Value:
    attribute = dense_attr(value, context)
    return ir.Operation.create("stablehlo.constant", results=[attribute.type], attributes={"value": attribute}).result
