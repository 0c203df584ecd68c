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
from dataclasses import dataclass, replace

import numpy as np

from ... import builder as hlo
from ... import dims as dimension
from ... import signature as signatures
from ...builder import Tensor
from ...builder.core import SizeSource
from ...builder.types import INT32, INT64
from ...errors import PassError, UnsupportedGraphError
from ...ir.bindings import ir
from ...ir.host_calls import host_calls
from ...ir.modules import refusals, replace_body
from ...ir.walk import location_text, main_function, module_name
from ...signature import Argument, Result, Signature
from ..report import Report
from . import (
    control,
    elementwise,
    factorizations,
    facts,
    fourier,
    host,
    indexing,
    linalg,
    reduce,
    reshape,
    shape,
    slices,
    sort,
    windows,
)
from .live import Live
from .live_builder import LiveBuilder, LiveSize
from .padder import RULES, Action, Padder, Pending
from .why import tell

LARGEST = 2**31 - 1


def run(module: ir.Module, report: Report, /, *, poison: bool = False, **bounds: int) -> None:
    """The pass by name: options are root names with bounds; `poison=true` takes nothing for granted of the inputs.

    The report says of each padded value what its padding is, and at each op what was done to operands', and why.
    """
    padded, _ = pad(module, bounds, poisoned=poison, report=report)
    replace_body(module, padded)


@refusals("pad")
def pad(
    module: ir.Module,
    bounds: Mapping[str, int],
    *,
    poisoned: bool = False,
    zeros: bool = False,
    report: Report | None = None,
) -> tuple[ir.Module, list[Action]]:
    """The padded module, in the context of `module`, and what was done where.

    Args:
        module: a `?` module; not changed.
        bounds: for each root its greatest value; for a root that is a signed argument's value the greatest magnitude.
            Of the sizes from data, those that have no bound of their own need one; where it is missing, the result is
            the program that computes this size: its only result is the size.
        poisoned: take the padding of arguments for unknown, not zero.
        zeros: the padding of results is zero.
        report: is told why, if it wants details.

    Raises:
        PassError: unknown root, missing or negative bound.
        PaddingError: an op that cannot be padded.
    """
    walk = prepare(module, bounds)
    padder, signature, builder = walk.padder, walk.signature, walk.padder.builder
    padder.explaining = report is not None and report.detailed
    with builder.function("main", [(a.dims, a.dtype) for a in walk.arguments]) as handles:
        checks = signature.checks
        try:
            outputs = walk.outputs(handles, poisoned=poisoned)
            if zeros:
                outputs = [padder.fill(x, range(x.ndim), np.zeros((), x.dtype)) for x in outputs]
            results = _results(padder, signature, outputs)
        except Pending as pending:
            checks = ()
            _refuse_calls_before(builder, pending)
            count = hlo.minimum_(hlo.convert(pending.count, INT64), LARGEST)
            outputs = [padder.live(hlo.convert(count, INT32))]
            results = [Result(pending.name, INT32, (), size=pending.name)]
        operation = builder.finish([x.tensor for x in outputs])
    padded = Signature(tuple(walk.arguments), tuple(results), (), tuple(builder.constraints), checks)
    signatures.write(operation, replace(padded, platforms=signature.platforms))
    if report is not None and padder.explaining:
        tell(report, padder.env, padder.said)
    return builder.module, padder.actions


def _refuse_calls_before(builder: LiveBuilder, pending: Pending) -> None:
    """What leads up to a size without a bound runs twice: before it is known, and with it."""
    for operation in host_calls(builder.module):
        raise UnsupportedGraphError(
            f"the Python function {location_text(operation.location)!r} would be called twice: it comes before the "
            f"size {pending.name}, which is computed from data and has no bound, so that the program runs in two "
            "parts. Pass the size as an integer input, or give the function what comes after it"
        )


@dataclass
class Walk:
    """A walk of a module that has not begun.

    Attributes:
        padder: walks it.
        signature: the module's.
        arguments: those of the padded module: the module's own, then the live sizes.
        sizes: names of the live sizes that are arguments of their own.
    """

    padder: Padder
    signature: Signature
    arguments: list[Argument]
    sizes: list[str]

    def outputs(self, handles: Sequence[Tensor], *, poisoned: bool = False) -> list[Live]:
        """Walks the module, with the padded module's arguments; what it returns.

        Raises:
            PaddingError: an op that cannot be padded.
            Pending: a size from data has no bound.
        """
        live = _declare(self.padder, self.signature, handles, self.sizes, poisoned)
        return self.padder.block(main_function(self.padder.source).regions[0].blocks[0], live)


def prepare(module: ir.Module, bounds: Mapping[str, int], *, least: Mapping[str, int] | None = None) -> Walk:
    """Arguments and sizes of the padded module.

    Args:
        module: a `?` module.
        bounds: see `pad`.
        least: the least value of roots for which it is not 0.

    Raises:
        PassError: unknown root, missing or negative bound.
    """
    signature = signatures.read(module)
    _check_bounds(signature, bounds)
    constraints = signatures.known_constraints(signature)
    builder = LiveBuilder(module.context, module_name(module), constraints)
    values = frozenset(root.name for root in signature.roots if root.kind == "value")
    padder = Padder(module, builder, bounds, frozenset(count.name for count in signature.counts), values)
    for root in signature.roots:
        signed = root.kind == "value" and signature.arguments[root.argument].dtype.kind == "i"
        bound = bounds.get(root.name)
        low = (None if bound is None else -bound) if signed else 0
        builder.intervals[root.name] = (least or {}).get(root.name, low), bound
    padder.refresh()
    _check_complete(padder, signature)
    _check_possible(padder, signature)
    arguments = [_argument(padder, argument) for argument in signature.arguments]
    # A size has to be given where it does not follow from others, and more than one value is possible.
    given = {name: dimension.symbol(name) for name in (root.name for root in signature.roots if root.kind == "size")}
    sizes = [name for name, symbol in given.items() if padder.dim(symbol) == symbol]
    names = _names(sizes, arguments)
    arguments += [Argument(fresh, INT32, (), size=name) for name, fresh in zip(sizes, names, strict=True)]
    return Walk(padder, signature, arguments, sizes)


def _check_bounds(signature: Signature, bounds: Mapping[str, int]) -> None:
    roots = {root.name for root in signature.roots}
    known = roots | {count.name for count in signature.counts}
    for name, bound in bounds.items():
        if name not in known:
            raise PassError(f"pad: the program has no size {name!r} (its sizes: {', '.join(sorted(known)) or 'none'})")
        if not 0 <= bound <= LARGEST:
            raise PassError(f"pad: the bound {name} = {bound} is not between 0 and {LARGEST}")


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
            raise PassError(f"pad: no size within the bounds fulfils {constraint} ({constraint.where})")


def _check_complete(padder: Padder, signature: Signature) -> None:
    """Every root has a bound, or follows from others by a constraint."""
    missing = [
        root.name
        for root in signature.roots
        if None in padder.interval(padder.dim(dimension.symbol(root.name, signed=root.kind == "value")))
    ]
    if missing:
        raise PassError(f"pad: no bound is given for {', '.join(missing)}")


def _argument(padder: Padder, argument: Argument) -> Argument:
    live = tuple(map(padder.dim, argument.dims))
    static = tuple(map(padder.bound, live))
    return replace(argument, dims=static, values=(), live=live, live_values=argument.values)


def _names(sizes: Sequence[str], arguments: Sequence[Argument]) -> list[str]:
    """Argument names for live sizes: the size's own name, or with `_size` where an argument has it."""
    taken = {argument.name for argument in arguments}
    names = []
    for size in sizes:
        name = size
        while name in taken:
            name += "_size"
        taken.add(name)
        names.append(name)
    return names


def _declare(
    padder: Padder, signature: Signature, handles: Sequence[Tensor], sizes: Sequence[str], poisoned: bool
) -> list[Live]:
    """Says where each root's value is, and what is known of the arguments."""
    builder = padder.builder
    count = len(signature.arguments)
    for name, handle in zip(sizes, handles[count:], strict=True):
        builder.add_root(LiveSize(name, handle, None))
    live = []
    for argument, handle in zip(signature.arguments, handles, strict=False):
        dims = tuple(map(padder.dim, argument.dims))
        if any(argument.values):
            symbols = tuple(dimension.symbol(name, signed=True) for name in argument.values)
            for element, name in enumerate(argument.values):
                builder.add_root(SizeSource(name, handle, None, element if argument.dims else None))
            handle.sizes = tuple(map(padder.dim, symbols)) if argument.dims else padder.dim(symbols[0])
        inside = facts.anything(argument.dtype)
        zero = facts.constant(0, argument.dtype)
        padding = inside if poisoned else zero
        live.append(padder.make(handle, dims, [padding] * len(dims), inside))
    return live


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
        outputs.append(padder.live(hlo.convert(count, INT32)))
    outputs += flags
    return results


__all__ = [
    "RULES",
    "control",
    "elementwise",
    "factorizations",
    "fourier",
    "host",
    "indexing",
    "linalg",
    "pad",
    "reduce",
    "reshape",
    "run",
    "shape",
    "slices",
    "sort",
    "windows",
]
