"""specialize: a `?` module and sizes for its roots become a module for those sizes.

    before  func.func @main(%x: tensor<?x8xf64> {hlograph.dims = ["n", "8"]}) -> (tensor<?xf64> ...)
    after   func.func @main(%x: tensor<3x8xf64> {hlograph.dims = ["3", "8"]}) -> (tensor<3xf64> ...)    specialize{n=3}

Preconditions: the sizes satisfy the signature's constraints. Rounding: none; no arithmetic on data changes. An argument
whose value is a root stays in the signature, and a constant takes its place in the body. When every root is given,
types are refined by StableHLO's own passes; what they leave dynamic is an error, named. When some are not, the given
sizes go into the signature alone (refinement has no partial form), and types follow once the rest is given; so it is
too with sizes that the program computes from data, which the pass `pad` bounds. Checks that
turn out true for the given sizes are dropped when all of them do: such a module returns no flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from .. import dims as dimension
from .. import signature as signatures
from ..builder.places import VALUE
from ..dims import Dim, parse
from ..errors import ArtifactError, PassError
from ..ir import ops
from ..ir.bindings import DYNAMIC, ir, run_pipeline, stablehlo
from ..ir.functions import RULES, close_transforms, hide, inline_calls, return_values
from ..ir.modules import refusals
from ..ir.values import call_target, dense_attr, is_static, main_function, owner, reached, symbol_of, terminator, walk
from ..signature import Count, Result, Signature
from .report import Report

_ARGUMENTS = "stablehlo-refine-arguments{{types={types}}}"
# Of ops that are told the sizes of their results the first operand that tells them.
_SIZES = {
    "stablehlo.dynamic_broadcast_in_dim": 1,
    "stablehlo.dynamic_gather": 2,
    "stablehlo.dynamic_iota": 0,
    "stablehlo.dynamic_pad": 2,
    "stablehlo.dynamic_reshape": 1,
    "stablehlo.real_dynamic_slice": 1,
}
_LONGEST = 16  # of vectors whose elements may be sizes without a name
_SHAPES = "stablehlo-refine-shapes,func.func(stablehlo-canonicalize-dynamism),canonicalize,cse"


def run(module: ir.Module, _report: Report, /, **sizes: int) -> None:
    """The pass: options are root names with their sizes."""
    specialize(module, sizes)


@refusals("specialize")
def specialize(module: ir.Module, sizes: Mapping[str, int]) -> None:
    """Fixes roots to sizes, in place.

    Args:
        module: with the signature on its main function.
        sizes: root name to size or value; roots left out stay symbolic.

    Raises:
        PassError: unknown root, negative size, violated constraint, or an op that cannot be refined.
    """
    before = signatures.read(module)
    _check(before, sizes)
    function = main_function(module)
    if not sizes and "?" not in str(function.attributes["function_type"]):
        return
    after = _substitute(before, sizes)
    _fix_values(function, before, sizes)
    if before.has_data_sizes or not all(root.name in sizes for root in before.roots):
        signatures.write(function, after)
        _substitute_texts(module, before, sizes)
        return
    entry = function.attributes["sym_name"]
    function.attributes["sym_name"] = ir.StringAttr.get("main", module.context)
    still = refine(module, after)
    if still:
        names = _names_for(module, before)
        raise PassError(f"specialize: StableHLO's shape refinement leaves this op dynamic: {still}{names}")
    close_transforms(module)
    function = main_function(module)
    function.attributes["sym_name"] = entry
    signatures.write(function, without_decided_checks(_with_refined_results(after, function), function))
    if any(call_target(op) == "shape_assertion" for op in walk(module)):
        # What JAX's export demands of symbolic sizes; the pass checks and drops it.
        run_pipeline(module, "func.func(stablehlo-check-shape-assertions),canonicalize", name="specialize")


def refine(module: ir.Module, signature: Signature) -> str:
    """Static types, from those of a signature's arguments, in place; an op that stays dynamic, as text, or ""."""
    with ir.Location.unknown(module.context):
        shapes = [[dim if isinstance(dim, int) else DYNAMIC for dim in a.dims] for a in signature.arguments]
        arguments = zip(signature.arguments, shapes, strict=True)
        types = ",".join(str(ops.tensor_type(a.dtype, shape)) for a, shape in arguments)
    if any(op.name == "stablehlo.composite" and _is_open(op) for op in walk(module)):
        # Refinement changes a composite's operands and leaves its decomposition as it was.
        run_pipeline(module, "func.func(stablehlo-legalize-composite-to-call)", name="specialize")
    if any(call_target(op) in RULES for op in walk(module)):
        # Behind such a call types stay open in the first round, and refinement wants one set of a function's calls.
        inline_calls(module, fixed=True)
        hide(module)
    run_pipeline(module, f"{_ARGUMENTS.format(types=types)},{_SHAPES}", name="specialize")
    still = _open_op(module)
    while (replaced := _refine_ops(module)) or still:
        # What came out of a branch is known only when the branch has been folded.
        run_pipeline(module, f"{_SHAPES},symbol-dce", name="specialize")
        before, still = still, _open_op(module)
        if still == before and not replaced:
            break
    return still


def _names_for(module: ir.Module, signature: Signature) -> str:
    """Which values of arguments are sizes without a name, and how they get one, for an error; "" where it is not they.

    It leaves the module inlined: nothing more comes of it.
    """
    inline_calls(module, fixed=True, implementing=True)
    block = main_function(module).regions[0].blocks[0]
    deciding = [
        x for op in walk(module) if _is_open(op) for x in list(op.operands)[_SIZES.get(op.name, len(op.operands)) :]
    ]
    arguments = _computed_from(deciding)
    names = (f"n{number}" if number else "n" for number in count())
    entries = []
    for place, argument in enumerate(signature.arguments):
        if block.arguments[place] not in arguments:
            continue
        if not 0 < argument.possible_sizes <= _LONGEST or any(argument.values):
            return ""
        given = ", ".join(f'"{next(names)}"' for _ in range(argument.possible_sizes))
        entries.append(f'"{argument.name}": ' + (f"[{given}]" if argument.possible_sizes > 1 else given))
    if not entries:
        return ""
    return f"; its size is the value of an argument, which needs a name: load(path, dims={{{', '.join(entries)}}})"


def _computed_from(values: Sequence[ir.Value]) -> set[ir.Value]:
    """The arguments of blocks that values are computed from, but for the sizes of arrays."""

    def read(value: ir.Value) -> Sequence[ir.Value]:
        op = owner(value)
        return () if op is None or op.name == "stablehlo.get_dimension_size" else list(op.operands)

    return {value for value in reached(values, read) if owner(value) is None}


def _is_open(op: ir.Operation) -> bool:
    return not all(is_static(value.type) for value in (*op.operands, *op.results))


def _refine_ops(module: ir.Module) -> bool:
    """Gives ops that StableHLO's refinement leaves alone the sizes that are known by now; whether there was one.

    They are bitcasts between widths, and the custom calls of `RULES`.
    """
    replaced = False
    functions = {symbol_of(op.operation): op.operation for op in module.body.operations}
    for operation in walk(module):
        bitcast = operation.name == "stablehlo.bitcast_convert"
        rule = _bitcast if bitcast else RULES.get(call_target(operation))
        if rule is None:
            continue
        with module.context, ir.InsertionPoint(operation), operation.location:
            refined = rule(operation, functions)
            if refined is None:
                continue
            refined.verify()
            for result, value in zip(operation.results, refined.results, strict=True):
                result.replace_all_uses_with(value if value.type == result.type else _as_open(value, result.type))
        operation.erase()
        replaced = True
    return replaced


def _bitcast(operation: ir.Operation, _functions: Any) -> ir.Operation | None:
    before, after = (ir.RankedTensorType(value.type) for value in (operation.operands[0], operation.results[0]))
    if after.has_static_shape or not before.has_static_shape:
        return None
    shape = list(before.shape)
    if after.rank < before.rank:
        shape.pop()
    elif after.rank > before.rank:
        shape.append(after.shape[-1])
    made: ir.Operation = stablehlo.bitcast_convert(ops.tensor_type(after, shape), operation.operands[0]).owner
    return made


def _as_open(value: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """A value under a type with dynamic sizes, as StableHLO's refinement of arguments leaves one for that of shapes."""
    shape = np.array(ir.RankedTensorType(value.type).shape, np.int64)
    return ops.custom_call(
        "stablehlo.shape_refinement_operand_wrapper",
        type_,
        [value, ops.constant(shape)],
        indices_of_shape_operands=dense_attr(np.array([1], np.int64), type_.context),
    )


def _check(signature: Signature, sizes: Mapping[str, int]) -> None:
    roots = {root.name: root for root in signature.roots}
    for name, size in sizes.items():
        if name not in roots:
            known = ", ".join(roots) or "none"
            raise PassError(f"specialize: the program has no size {name!r} (its sizes: {known})")
        if size < 0 and roots[name].kind == "size":
            raise PassError(f"specialize: size {name} = {size} is negative")
    for constraint in signature.constraints:
        known_roots = dimension.roots(constraint.lhs) | dimension.roots(constraint.rhs)
        if known_roots <= sizes.keys() and not constraint.holds(sizes):
            raise PassError(f"specialize: constraint {constraint} is violated by {dict(sizes)} ({constraint.where})")


def _substitute(signature: Signature, sizes: Mapping[str, int]) -> Signature:
    def fix(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return tuple(dimension.substitute(dim, sizes) for dim in dims)

    arguments = tuple(
        replace(a, dims=fix(a.dims), values=tuple("" if name in sizes else name for name in a.values))
        for a in signature.arguments
    )
    results = tuple(Result(r.name, r.dtype, fix(r.dims), weak=r.weak) for r in signature.results)
    constraints = []
    for constraint in signature.constraints:
        lhs = dimension.substitute(constraint.lhs, sizes)
        rhs = dimension.substitute(constraint.rhs, sizes)
        if not (isinstance(lhs, int) and isinstance(rhs, int)):
            constraints.append(replace(constraint, lhs=lhs, rhs=rhs))
    roots = signatures.find_roots(arguments)
    return replace(
        signature,
        arguments=arguments,
        results=results,
        roots=roots,
        constraints=tuple(constraints),
        counts=_fix_counts(signature.counts, sizes),
        local_counts=_fix_counts(signature.local_counts, sizes),
    )


def _fix_counts(counts: tuple[Count, ...], sizes: Mapping[str, int]) -> tuple[Count, ...]:
    return tuple(replace(c, bound=None if c.bound is None else dimension.substitute(c.bound, sizes)) for c in counts)


def _substitute_texts(module: ir.Module, signature: Signature, sizes: Mapping[str, int]) -> None:
    """Puts the sizes into what ops say in words: upper bounds of sizes from data, and values that are sizes."""
    signed = {root.name for root in signature.roots if root.kind == "value"}
    for operation in walk(module):
        for name in ("hlograph.bound", VALUE):
            if name not in operation.attributes:
                continue
            dim = dimension.substitute(parse(ir.StringAttr(operation.attributes[name]).value, signed=signed), sizes)
            operation.attributes[name] = ir.StringAttr.get(str(dim), module.context)


def _with_refined_results(signature: Signature, function: ir.Operation) -> Signature:
    """Takes result sizes from the refined types where the signature knew none (a module without our attributes).

    Raises:
        ArtifactError: a size is another one than the signature says: somebody has written what is not true.
    """
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    results = []
    for result, type_ in zip(signature.results, types, strict=False):
        tensor = ir.RankedTensorType(type_)
        dims = tuple(
            dim if tensor.is_dynamic_dim(axis) else tensor.get_dim_size(axis) for axis, dim in enumerate(result.dims)
        )
        if any(type(said) is int and said != size for said, size in zip(result.dims, dims, strict=True)):
            raise ArtifactError(
                f"result {result.name!r} is said to be {signatures.describe(result.dtype, result.dims)} here, and is "
                f"{signatures.describe(result.dtype, dims)}: its hlograph.dims are not true"
            )
        results.append(replace(result, dims=dims))
    return replace(signature, results=tuple(results))


def without_decided_checks(signature: Signature, function: ir.Operation) -> Signature:
    """Drops the flags from the function's results, and the checks, where refinement found all of them true."""
    if not signature.checks:
        return signature
    last = terminator(function.regions[0].blocks[0])
    flags = last.operands[len(last.operands) - 1].owner
    if isinstance(flags, ir.Block) or flags.operation.name != "stablehlo.constant":
        return signature
    values: Any = ir.DenseIntElementsAttr(flags.operation.attributes["value"])
    if not all(value > 0 for value in values):
        return signature
    return_values(function, list(last.operands)[:-1])
    return replace(signature, checks=())


def _fix_values(function: ir.Operation, signature: Signature, sizes: Mapping[str, int]) -> None:
    """Puts constants in place of the arguments (or of their elements) that are roots."""
    block = function.regions[0].blocks[0]
    with function.context, ir.Location.unknown(function.context):
        for index, argument in enumerate(signature.arguments):
            if not any(name in sizes for name in argument.values):
                continue
            value = block.arguments[index]
            if not argument.dims or all(name in sizes for name in argument.values):
                elements = [sizes[name] for name in argument.values]
                literal = np.array(elements if argument.dims else elements[0], argument.dtype)
                with ir.InsertionPoint.at_block_begin(block):
                    value.replace_all_uses_with(ops.constant(literal))
            else:
                raise PassError(
                    f"specialize: give all of {[name for name in argument.values if name]}, the sizes in argument "
                    f"{argument.name!r}, or none"
                )


def _open_op(module: ir.Module) -> str:
    """The first op that has a type with `?`, as text; "" where all are static."""
    text = str(module.operation.get_asm(enable_debug_info=True, large_elements_limit=16))
    if "?" in text:
        for line in text.splitlines():
            code = line.partition('loc("')[0]
            if "tensor<" in code and "?" in code.split('"')[-1]:
                return line.strip()
    return ""
