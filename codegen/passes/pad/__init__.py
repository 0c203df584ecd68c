"""pad: a `?` module and a bound for each root become a static module that takes the live sizes as arguments.

    before  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<f64> { sum of exp(%x) }
    after   func.func @main(%x: tensor<16xf64> {hlograph.live = ["n"]}, %n: tensor<i32> {hlograph.size = "n"})
                -> tensor<f64> { sum of select(iota < %n, exp(%x), 0) }                                      pad{n=16}

Meaning: each value has a static shape, and a live size per axis; inside the live box it equals the value of the exact
program, what lies outside is padding. Inputs are padded with zeros. Every op's rule puts into the padding of its
operands what it needs there, and only where it is not there already; `facts` says what is known. Preconditions: every
size has an upper bound that follows from the roots'. Rounding: reductions and contractions over a padded axis may
associate in another order; nothing else changes. An op without a right rule is refused, by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ... import builder as hlo
from ... import dims as dimension
from ... import signature as signatures
from ...builder import Tensor
from ...builder.core import SizeSource
from ...builder.places import INT32, INT64
from ...errors import PassError, UnsupportedGraphError
from ...ir.bindings import ir, run_pipeline
from ...ir.host_calls import host_calls
from ...ir.modules import refusals, replace_body
from ...ir.values import location_text, main_function, module_name
from ...signature import Argument, Result, Signature
from ..report import Report
from . import combining, elementwise, facts, moving, windows
from .live import Live, LiveBuilder, LiveSize, tell
from .padder import RULES, Padder, Pending

LARGEST = 2**31 - 1


def run(module: ir.Module, report: Report, /, *, poison: bool = False, cpu: bool = False, **bounds: int) -> None:
    """The pass by name: options are root names with bounds; `poison=true` takes nothing for granted of the inputs,
    and `cpu=true` gives the form for CPUs.

    The report says about each padded value what its padding is, and at each op what was done to operands', and why.
    """
    replace_body(module, pad(module, bounds, poisoned=poison, cpu=cpu, report=report))


@refusals("pad")
def pad(
    module: ir.Module,
    bounds: Mapping[str, int],
    *,
    poisoned: bool = False,
    zeros: bool = False,
    decided: bool = True,
    cpu: bool = False,
    report: Report | None = None,
) -> ir.Module:
    """The padded module, in the context of `module`.

    Args:
        module: a `?` module; not changed.
        bounds: for each root its greatest value; for a root that is a signed argument's value the greatest magnitude.
            Of the sizes from data, those that have no bound of their own need one; where it is missing, the result is
            the program that computes this size: its only result is the size.
        poisoned: take the padding of arguments for unknown, not zero.
        zeros: the padding of results is zero.
        decided: live sizes are written without what the bounds decide; else they hold beyond the bounds too.
        cpu: it is for a CPU, where some reshapes move rows in a loop.
        report: is told why, if it wants details.

    Raises:
        PassError: unknown root, missing or negative bound.
        PaddingError: an op that cannot be padded.
    """
    padder = prepare(module, bounds, explaining=report is not None and report.detailed, decided=decided)
    padder.by_rows = cpu
    signature, builder = padder.signature, padder.builder
    with builder.function("main", [(a.dims, a.dtype) for a in padder.arguments]) as handles:
        checks = signature.checks
        try:
            outputs = walk(padder, handles, poisoned=poisoned)
            if zeros:
                outputs = [padder.fill(x, range(x.ndim), np.zeros((), x.dtype)) for x in outputs]
            results = _results(padder, signature, outputs)
        except Pending as pending:
            checks = ()
            # What leads up to a size without a bound runs twice: before it is known, and with it.
            for called in host_calls(builder.module):
                raise UnsupportedGraphError(
                    f"the Python function {location_text(called.location)!r} would be called twice: it comes before "
                    f"the size {pending.name}, which is computed from data and has no bound, so that the program runs "
                    "in two parts. Pass the size as an integer input, or give the function what comes after it"
                ) from None
            count = hlo.minimum_(hlo.convert(pending.count, INT64), LARGEST)
            outputs = [padder.make(hlo.convert(count, INT32))]
            results = [Result(pending.name, INT32, (), size=pending.name)]
        operation = builder.finish([x.tensor for x in outputs])
    padded = Signature(tuple(padder.arguments), tuple(results), (), tuple(builder.constraints), checks)
    signatures.write(operation, replace(padded, platforms=signature.platforms))
    if report is not None and padder.explaining:
        tell(report, padder.env, padder.actions)
    if padder.has_shape_operands:
        run_pipeline(builder.module, "func.func(stablehlo-canonicalize-dynamism)", name="pad")
    return builder.module


def walk(padder: Padder, handles: Sequence[Tensor], *, poisoned: bool = False) -> list[Live]:
    """Walks the module, with the padded module's arguments; what it returns.

    Raises:
        PaddingError: an op that cannot be padded.
        Pending: a size from data has no bound.
    """
    builder, signature = padder.builder, padder.signature
    own = len(signature.arguments)
    for argument, handle in zip(padder.arguments[own:], handles[own:], strict=True):
        builder.add_root(LiveSize(argument.size, handle, None))
    live = []
    for argument, handle in zip(signature.arguments, handles, strict=False):
        if any(argument.values):
            symbols = tuple(dimension.symbol(name, signed=True) for name in argument.values)
            for element, name in enumerate(argument.values):
                builder.add_root(SizeSource(name, handle, None, element if argument.dims else None))
            handle.sizes = tuple(map(padder.dim, symbols))
        inside = facts.anything(argument.dtype)
        padding = inside if poisoned else facts.constant(0, argument.dtype)
        live.append(padder.make(handle, argument.dims, [padding] * len(argument.dims), inside))
    return padder.block(main_function(padder.source).regions[0].blocks[0], live)


def prepare(
    module: ir.Module,
    bounds: Mapping[str, int],
    *,
    least: Mapping[str, int] | None = None,
    explaining: bool = False,
    decided: bool = True,
) -> Padder:
    """A walk that has not begun, with the arguments and sizes of the padded module.

    Args:
        module: a `?` module.
        bounds: see `pad`.
        least: the least value of roots for which it is not 0.
        explaining: whether what is done is recorded.
        decided: see `pad`.

    Raises:
        PassError: unknown root, missing or negative bound.
    """
    signature = signatures.read(module)
    known = {*(root.name for root in signature.roots), *(count.name for count in signature.counts)}
    for name, bound in bounds.items():
        if name not in known:
            raise PassError(f"pad: the program has no size {name!r} (its sizes: {', '.join(sorted(known)) or 'none'})")
        if not 0 <= bound <= LARGEST:
            raise PassError(f"pad: the bound {name} = {bound} is not between 0 and {LARGEST}")
    builder = LiveBuilder(module.context, module_name(module), signatures.known_constraints(signature))
    symbols = {root.name: dimension.symbol(root.name, signed=root.kind == "value") for root in signature.roots}
    padder = Padder(module, builder, signature, bounds, explaining, decided)
    for root in signature.roots:
        signed = root.kind == "value" and signature.arguments[root.argument].dtype.kind == "i"
        most = bounds.get(root.name)
        low = (None if most is None else -most) if signed else 0
        builder.intervals[root.name] = (least or {}).get(root.name, low), most
    padder.refresh()
    # Every root has a bound, or follows from others by a constraint.
    missing = [name for name, symbol in symbols.items() if None in padder.interval(padder.dim(symbol))]
    if missing:
        raise PassError(
            f"pad: no bound is given for {', '.join(missing)}; give each one, as in bounds={{{missing[0]!r}: 1000}}"
        )
    _check_possible(padder, signature)
    for argument in signature.arguments:
        live = padder.written(argument.dims)
        made = replace(argument, dims=padder.static_shape(live), values=(), live=live, live_values=argument.values)
        padder.arguments.append(made)
    # A size has to be given where it does not follow from others, and more than one value is possible.
    for size in [r.name for r in signature.roots if r.kind == "size"]:
        name = size
        while name in {argument.name for argument in padder.arguments}:
            name += "_size"
        if padder.dim(symbols[size]) == symbols[size]:
            padder.arguments.append(Argument(name, INT32, (), size=size))
    return padder


def _check_possible(padder: Padder, signature: Signature) -> None:
    """Some sizes within the bounds may fulfil what the program demands: axes are not longer than they can be."""
    for constraint in signature.constraints:
        low, high = padder.interval(constraint.lhs - constraint.rhs)
        if constraint.relation == "!=":
            impossible = low == high == 0
        else:
            above = constraint.relation == "==" and low is not None and low > 0
            impossible = above or (high is not None and high < 0)
        if impossible:
            raise PassError(f"pad: no size within the bounds satisfies {constraint} ({constraint.where})")


def _results(padder: Padder, signature: Signature, outputs: list[Live]) -> list[Result]:
    """Describes the results; sizes from data that they have become results themselves, before the flags of checks."""
    flags = outputs[len(signature.results) :]
    del outputs[len(signature.results) :]
    results = [
        Result(result.name, result.dtype, x.shape, x.dims, weak=result.weak)
        for result, x in zip(signature.results, outputs, strict=True)
    ]
    for name, count in padder.counts.items():
        results.append(Result(name, INT32, (), size=name))
        outputs.append(padder.make(hlo.convert(count, INT32)))
    outputs += flags
    return results


__all__ = ["RULES", "combining", "elementwise", "moving", "pad", "prepare", "run", "walk", "windows"]
