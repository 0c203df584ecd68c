"""What a call checks of its sizes, as flags of the module: for callers that have nothing but the module.

    before  func.func @main(%x: tensor<100xf64>, %n: tensor<i32>) -> tensor<f64>          // of a program with n >= 6
    after   func.func @main(%x, %n) -> (tensor<f64>, tensor<3xi1>)                        // n >= 0, 100 >= n, n >= 6

In: a static module, the signature of the program that it was made of, its sizes and bounds. Out: a module whose last
result says of each condition whether it holds, behind the flags of the program's own checks. Decision to know: what
holds by the shapes of the arguments alone is no condition; a live size is taken as it comes, so it may be negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from .. import builder as hlo
from .. import dims as dimension
from .. import signature as signatures
from ..builder import Builder, Tensor
from ..builder.core import SizeSource
from ..builder.sizes import emit_size
from ..builder.types import BOOL, Dims, DType
from ..constraints import Constraint
from ..dims import Dim
from ..errors import PassError
from ..ir.adopt import adopt
from ..ir.bindings import ir
from ..ir.inline import inline_calls
from ..ir.walk import module_name
from ..signature import CheckSpec, Signature, flags_type

_ERROR = "hlograph.codegen.errors.ArgumentShapeError(ValueError)"
_DIRECTIONS = {"==": "EQ", ">=": "GE", "!=": "NE"}


def conditions(
    original: Signature, static: Signature, sizes: Mapping[str, int], bounds: Mapping[str, int]
) -> list[Constraint]:
    """What must hold of the arguments of a static program.

    Args:
        original: the program before sizes were put in.
        static: the static program.
        sizes: the sizes that were put in.
        bounds: the bounds of the others.

    Raises:
        PassError: one can never hold.
    """
    found = []
    for argument in static.arguments:
        if argument.size:
            found += _between(argument.size, 0, bounds.get(argument.size))
    for root in original.value_roots:
        if root.name in sizes:
            found.append(Constraint(_root(root.name), "==", sizes[root.name], "the size that the program was made for"))
        elif root.name in bounds:
            signed = original.arguments[root.argument].dtype.kind == "i"
            found += _between(root.name, -bounds[root.name] if signed else 0, bounds[root.name])
    for result in static.results:
        if result.size in bounds:
            found += _between(result.size, 0, bounds[result.size])[1:]
    return found + list(_demands(original, static))


def _root(name: str) -> Dim:
    return dimension.symbol(name, signed=True)


def _between(name: str, low: int, high: int | None) -> list[Constraint]:
    found = [Constraint(_root(name), ">=", low, "its bound")]
    return found if high is None else [*found, Constraint(high, ">=", _root(name), "its bound")]


def _demands(original: Signature, static: Signature) -> Iterator[Constraint]:
    """The program's constraints, with sizes as the static program is given them."""
    given: dict[str, Dim] = {}
    for root in original.roots:
        argument = static.arguments[root.argument]
        if root.axis is not None:
            given[root.name] = (argument.live or argument.dims)[root.axis]
    for constraint in static.constraints:
        lhs, rhs = (dimension.substitute(dim, given) for dim in (constraint.lhs, constraint.rhs))
        difference = lhs - rhs
        stated = replace(constraint, lhs=lhs, rhs=rhs)
        if type(difference) is not int:
            yield stated
        elif not replace(constraint, lhs=difference, rhs=0).holds({}):
            raise PassError(f"no call can fulfil {constraint} ({constraint.where}) with these sizes and bounds")


def report(module: ir.Module, original: Signature, demanded: Sequence[Constraint]) -> ir.Module:
    """A module in the same context whose last result also says which conditions hold.

    Args:
        module: a static module; it is left changed.
        original: the signature of the program before sizes were put in.
        demanded: the conditions.
    """
    static = signatures.read(module)
    checks = (*static.checks, *[CheckSpec(_ERROR, f"{x} must hold: {x.where}") for x in demanded])
    shape, dtype = flags_type(static.checks)
    outputs: list[tuple[Dims, DType]] = [(result.dims, result.dtype) for result in static.results]
    outputs += [(shape, dtype)] if static.checks else []
    builder = Builder(module.context, module_name(module))
    with builder.function("main", [(x.dims, x.dtype) for x in static.arguments]) as handles:
        results = _called(builder, adopt(builder.module, module, "computed"), handles, outputs)
        _declare(builder, original, static, handles, results)
        flags = [hlo.reshape(hlo.convert(_flag(builder, x), dtype), (1,)) for x in demanded]
        kept = results[len(static.results) :]
        operation = builder.finish([*results[: len(static.results)], hlo.concatenate([*kept, *flags], 0)])
    signatures.write(operation, replace(static, constraints=(), checks=checks, counts=(), local_counts=()))
    inline_calls(builder.module, all_of_them=False)
    return builder.module


def _called(
    builder: Builder, symbol: str, operands: Sequence[Tensor], outputs: Sequence[tuple[Dims, DType]]
) -> list[Tensor]:
    operation = ir.Operation.create(
        "func.call",
        results=[builder.tensor_type(*output) for output in outputs],
        operands=[x.value for x in operands],
        attributes={"callee": builder.attribute(f"@{symbol}")},
        loc=builder.location,
        ip=builder.insertion_point,
    )
    return [Tensor(builder, value, *output) for value, output in zip(operation.results, outputs, strict=True)]


def _declare(
    builder: Builder, original: Signature, static: Signature, handles: Sequence[Tensor], results: Sequence[Tensor]
) -> None:
    """Says where the sizes are that conditions depend on."""
    for argument, handle in zip(static.arguments, handles, strict=True):
        if argument.size:
            builder.add_root(SizeSource(argument.size, handle, None))
    for root in original.value_roots:
        builder.add_root(SizeSource(root.name, handles[root.argument], None, root.element))
    for result, handle in zip(static.results, results, strict=False):
        if result.size:
            builder.add_root(SizeSource(result.size, handle, None, data=True))


def _flag(builder: Builder, condition: Constraint) -> Tensor:
    """The comparison as an op, of sizes as they come: nothing is taken to be known of them."""
    sides = [emit_size(builder, dim) for dim in (condition.lhs, condition.rhs)]
    direction = f"#stablehlo<comparison_direction {_DIRECTIONS[condition.relation]}>"
    return builder.op("stablehlo.compare", sides, (), BOOL, (("comparison_direction", direction),))
