"""A program with its pullback in one module.

In: a module and its pullback, or such a module. Out: the other one. What `Program.save(..., derivatives=1)` writes is

    module @logp {
      func.func @main(%X, %beta) -> (%logp)
      module @pullback attributes {hlograph.of = ["1"], hlograph.from = ["0"]} {
        func.func @main(%X, %beta, %logp_cotangent) -> (%beta_cotangent)
      }
    }

The inner module's `@main` takes the arguments of the outer one and cotangents of the results `hlograph.from`; it gives
the cotangents of the arguments `hlograph.of`. Arguments that are not listed have none, or it is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import ArtifactError
from ..ir.bindings import ir
from ..ir.modules import from_bytecode, to_bytecode
from ..program import Program, Pullback
from ..signature import Argument, Result

_NAME, _OF, _FROM = "pullback", "hlograph.of", "hlograph.from"


def whole_module(program: Program) -> ir.Module:
    """A copy of the program's module, with its pullback if it has one."""
    module = program.copy_module()
    return module if program.pullback is None else attach(module, program.pullback)


def attach(joined: ir.Module, pullback: Pullback) -> ir.Module:
    """Puts a pullback into a module; the module."""
    inner = from_bytecode(pullback.program.to_bytecode(), joined.context).operation
    with joined.context:
        inner.attributes["sym_name"] = ir.StringAttr.get(_NAME)
        for name, places in ((_OF, pullback.arguments), (_FROM, pullback.results)):
            inner.attributes[name] = ir.ArrayAttr.get([ir.StringAttr.get(str(place)) for place in places])
    inner.clone(ip=ir.InsertionPoint(joined.body))
    return joined


def detach(module: ir.Module, filename: str, parse: Callable[[bytes, str], Program]) -> Pullback | None:
    """Takes the pullback out of a module that was read; `parse` reads its bytecode.

    Raises:
        ArtifactError: it is not what `attach` writes.
    """
    for operation in module.body.operations:
        inner = operation.operation
        if inner.name == "builtin.module" and _OF in inner.attributes and _FROM in inner.attributes:
            try:
                arguments, results = (_places(inner.attributes[name]) for name in (_OF, _FROM))
            except ValueError as error:
                raise ArtifactError(f"{filename}: the attributes of @{_NAME} cannot be read: {error}") from None
            for name in (_OF, _FROM):
                del inner.attributes[name]
            program = parse(to_bytecode(inner), f"{filename}, @{_NAME}")
            inner.erase()
            return Pullback(program, arguments, results)
    return None


def check(pullback: Pullback, program: Program, filename: str) -> None:
    """Raises `ArtifactError` unless the pullback's arguments and results are those that the program's make."""
    outer, inner = program.signature, pullback.program.signature
    places = [*pullback.arguments, *pullback.results]
    fits = all(place >= 0 for place in places)
    fits = fits and all(place < len(outer.arguments) for place in pullback.arguments)
    fits = fits and all(place < len(outer.results) for place in pullback.results)
    if fits:
        taken: list[Argument | Result] = [*outer.arguments, *[outer.results[place] for place in pullback.results]]
        given = [outer.arguments[place] for place in pullback.arguments]
        fits = _agree(taken, inner.arguments) and _agree(given, inner.results)
    fits = fits and inner.platforms == outer.platforms
    if not fits:
        raise ArtifactError(f"{filename}: @{_NAME} is not the pullback of {program.signature}: {inner}")


def _agree(items: Sequence[Argument | Result], others: Sequence[Argument | Result]) -> bool:
    """Whether dtypes and ranks are the same, and sizes where both are known."""
    return len(items) == len(others) and all(
        x.dtype == y.dtype
        and len(x.dims) == len(y.dims)
        and all(a == b for a, b in zip(x.dims, y.dims, strict=True) if type(a) is int and type(b) is int)
        for x, y in zip(items, others, strict=True)
    )


def _places(attribute: ir.Attribute) -> tuple[int, ...]:
    return tuple(int(ir.StringAttr(text).value) for text in ir.ArrayAttr(attribute))
