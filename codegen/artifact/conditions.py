"""What a call of a static program must be checked for, which the shapes of its arguments do not tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from .. import dims as dimension
from .. import signature as signatures
from ..constraints import Constraint
from ..dims import Dim
from ..errors import PassError
from ..ir.bindings import ir
from ..ir.walk import main_function
from ..passes import size_checks
from ..signature import Argument, CheckSpec, Result, Signature

_ERROR = "hlograph.codegen.errors.ArgumentShapeError(ValueError)"


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


def report(module: ir.Module, original: Signature, demanded: list[Constraint]) -> None:
    """Makes a static module say which of the demanded conditions hold, in place: they are all that it demands then."""
    static = signatures.read(module)
    checks = static.checks
    if demanded:
        items: list[Argument | Result] = [*static.arguments, *static.results]
        sources: dict[str, size_checks.Source] = {}
        sources |= {x.size: (place, None, None) for place, x in enumerate(items) if x.size}
        sources |= {root.name: (root.argument, None, root.element) for root in original.value_roots}
        size_checks.report(module, demanded, sources, lambda x: CheckSpec(_ERROR, f"{x} must hold: {x.where}"))
        checks = signatures.read(module).checks
    kept = replace(static, constraints=(), checks=checks, counts=(), local_counts=())
    signatures.write(main_function(module), kept)
