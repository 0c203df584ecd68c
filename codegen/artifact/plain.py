"""Programs as plain StableHLO, for whoever has a PJRT plugin and nothing of ours.

    program    (x[n, 3], y[n]) -> loss                         sizes: n
    plain      (x[1000, 3], y[1000], n) -> loss, flags         bounds={"n": 1000}, any n up to 1000 on one executable
               (x[50, 3], y[50]) -> loss                       sizes={"n": 50}

In: a program, with a size or a bound for each of its roots. Out: a static program of StableHLO's own ops: no CHLO, no
calls of libraries or of Python, one result more where something is to be checked. Decision to know: a plugin runs the
module without our compile options, so what XLA gets wrong without them is written in other ways, as for a guest in
somebody else's module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from .. import dims as dimension
from .. import signature as signatures
from ..builder import Builder, SizeSource, compare, concatenate, reshape
from ..builder.linalg import NO_FORM
from ..builder.sizes import emit_size
from ..constraints import Constraint
from ..dims import Dim
from ..errors import OptionError, PassError, UnsupportedGraphError
from ..ir import ops
from ..ir.bindings import ir, run_pipeline
from ..ir.functions import adopt, call, return_values
from ..ir.kinds import EFFECTS
from ..ir.modules import verify
from ..ir.values import PREFIX, call_target, main_function, names_of, returned_by, terminator, walk
from ..passes import run_all
from ..passes.pad import pad
from ..passes.registry import Optimize, resolve
from ..program import Program
from ..renamed import renamed_options
from ..signature import Argument, CheckSpec, Result, Signature, flags_type
from .parameters import self_contained

Padding = Literal["any", "zero"]
PADDING = "hlograph.padding"

# A composite is its decomposition.
_COMPOSITES = "func.func(stablehlo-legalize-composite-to-call)"
_LAST = (
    "inline",
    "portable_linalg",
    "chlo-legalize-to-stablehlo",
    "cpu_updates",
    "cpu_scatters",
    "cpu_initial",
    "cpu_nan",
)
_OWN = frozenset({"builtin.module", "func.func", "func.return", "func.call"})
_REFUSED = EFFECTS - {"stablehlo.rng"}
_DIRECTIONS = {"==": "EQ", ">=": "GE", "!=": "NE"}
_SIZE_ERROR = "hlograph.codegen.errors.ArgumentShapeError(ValueError)"


@renamed_options
def plain(
    program: Program,
    *,
    sizes: Mapping[str, int] | None = None,
    bounds: Mapping[str, int] | None = None,
    padding: Padding = "any",
    optimize: Optimize = "default",
) -> Program:
    """The program in StableHLO's own ops, static, for any PJRT plugin: see docs/without_jax.md.

    Its arguments are the program's, then the live sizes (int32 scalars); its results are the program's, then sizes
    that are computed from data (int32), then one vector of flags, where something is to be checked: the program's
    own checks, and what its sizes must fulfil. `describe` says which is which. What lies behind the live sizes is
    zero in the results.

    Args:
        sizes: root name to size (or value), for one size only.
        bounds: root name to its greatest size, as for `pad`.
        padding: what callers put behind the live sizes of arguments: "any", or "zero", which they must then, and
            which saves masks.
        optimize: as for `compile`.

    Raises:
        OptionError: an option has no such value, or a root has a size and a bound.
        PassError: a root without size and bound, or an unknown one; sizes that violate a constraint.
        PaddingError: an op that has no padding rule.
        UnsupportedGraphError: it calls Python or a library, or has ops that are not of StableHLO; all are named.
    """
    if padding not in get_args(Padding):
        raise OptionError(f'padding must be "any" or "zero", got {padding!r}')
    program.refuse_host_calls("a PJRT plugin has none of them")
    program = self_contained(program)
    given, limits = dict(sizes or {}), dict(bounds or {})
    if twice := sorted(given.keys() & limits.keys()):
        raise OptionError(f"{', '.join(twice)} has a size and a bound; give one of the two")
    exact = program.specialize(given)
    if not exact.signature.is_static:
        module = pad(exact.copy_module(), limits, poisoned=padding == "any", zeros=True)
        static = Program(module, filename=program.filename)
        counted = next((result.size for result in static.signature.results[:1]), "")
        if counted:
            raise PassError(
                f"the size {counted} is computed from data and has no bound, which a plain module needs; give one: "
                f"bounds={{{counted!r}: 1000}}"
            )
    else:
        static = exact
    static.optimize_own(resolve(optimize))
    module = static.copy_module()
    demanded = _conditions(program.signature, static.signature, given, limits)
    _report(module, program.signature, demanded)
    if any(operation.name == "stablehlo.composite" for operation in walk(module)):
        run_pipeline(module, _COMPOSITES, name="plain")
    run_all(module, _LAST)
    _refuse_others(module, program.name)
    _drop_attributes(module)
    if static is not exact:
        module.operation.attributes[PADDING] = ir.StringAttr.get(padding, module.context)
    verify(module, "the plain module")
    return Program(module, filename=program.filename)


def _refuse_others(module: ir.Module, name: str) -> None:
    """Refuses what is no plain StableHLO, all of it in one error.

    Raises:
        UnsupportedGraphError: it names the calls and ops.
    """
    found = {}
    for operation in walk(module):
        target = call_target(operation)
        if target == NO_FORM:
            config = ir.DictAttr(operation.attributes["backend_config"])
            kind = ir.StringAttr(config["name"]).value
            found[kind] = f"{kind} (LAPACK's; it has no form in plain StableHLO)"
        elif target:
            found[target] = f"the custom call @{target}"
        elif operation.name in _REFUSED or (not operation.name.startswith("stablehlo.") and operation.name not in _OWN):
            found[operation.name] = operation.name
    if found:
        raise UnsupportedGraphError(
            f"{name} cannot be plain StableHLO, which any PJRT plugin runs: it has {', '.join(found.values())}. Leave "
            "these out of the program, or run it with hlograph"
        )


def _drop_attributes(module: ir.Module) -> None:
    """Takes our notes off the ops; the signature stays on the function."""
    for operation in walk(module):
        if operation.name not in ("func.func", "builtin.module"):
            for name in names_of(operation.attributes):
                if name.startswith(PREFIX):
                    del operation.attributes[name]


# ---- what a call must be checked for, which the shapes of its arguments do not tell ---------------------------------


def _conditions(
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


def _report(module: ir.Module, original: Signature, demanded: Sequence[Constraint]) -> None:
    """Makes a static module say which of the demanded conditions hold, in place: they are all that it demands then.

        before  func.func @main(%x: tensor<100xf64>, %n: tensor<i32>) -> tensor<f64>      // of a program with n >= 6
        after   func.func @main(%x, %n) -> (tensor<f64>, tensor<3xi1>)                    // n >= 0, 100 >= n, n >= 6

    Sizes are taken as they come, so a live size may be negative.
    """
    function, static = main_function(module), signatures.read(module)
    checks = static.checks
    if demanded:
        block = function.regions[0].blocks[0]
        values, last = returned_by(block), terminator(block)
        kept = values[: len(static.results)]
        checks = (*checks, *(CheckSpec(_SIZE_ERROR, f"{x} must hold: {x.where}") for x in demanded))
        with last.location, ir.InsertionPoint(last):
            holds = _tested(module, demanded, original, [*block.arguments, *kept])
            kind = flags_type(checks)[1]
            flags = ops.concatenate([ops.convert(x, kind) for x in (*values[len(kept) :], holds)], 0)
        return_values(function, [*kept, flags])
    signatures.write(function, replace(static, constraints=(), checks=checks, counts=(), local_counts=()))


def _tested(
    module: ir.Module, demanded: Sequence[Constraint], original: Signature, values: Sequence[ir.Value]
) -> ir.Value:
    """Which demands hold of arguments and results, as a vector, at the current place: a call of a function of them."""
    static = signatures.read(module)
    items: list[Argument | Result] = [*static.arguments, *static.results]
    builder = Builder(module.context, "sizes")
    with builder.function("main", [(item.dims, item.dtype) for item in items]) as tensors:
        for root in original.value_roots:
            builder.add_root(SizeSource(root.name, tensors[root.argument], None, root.element))
        for place, item in enumerate(items):
            if item.size:
                builder.add_root(SizeSource(item.size, tensors[place], None, data=place >= len(static.arguments)))
        flags = [
            compare(_DIRECTIONS[demand.relation], emit_size(builder, demand.lhs), emit_size(builder, demand.rhs))
            for demand in demanded
        ]
        builder.finish([concatenate([reshape(flag, (1,)) for flag in flags], 0)])
    type_ = ops.tensor_type(np.dtype(bool), [len(demanded)])
    return call(adopt(module, builder.module, "sizes_fit"), [type_], list(values))[0]


# ---- what a caller must know, as plain data --------------------------------------------------------------------------


def describe(program: Program) -> dict[str, Any]:
    """The arguments and results of a static program, and what the flags among these say, ready for JSON.

        {"arguments": [{"name": "x", "dtype": "float64", "shape": [1000, 3], "live": ["n", 3]},
                       {"name": "n", "dtype": "int32", "shape": [], "is": "size"}],
         "results": [{"name": "loss", "dtype": "float64", "shape": []},
                     {"name": "flags", "dtype": "bool", "shape": [2], "is": "flags"}],
         "padding": "any", "checks": [{"exception": "ValueError", "message": "n >= 0 must hold: ..."}, ...]}

    They stand in the order in which a compiled module has them. `live` says how much of an axis counts, in terms of the
    sizes; where it is missing, everything does.

    Raises:
        PassError: sizes are open.
    """
    signature, attributes = program.signature, program._module.operation.attributes
    if not signature.is_static:
        raise PassError(f"{program.name} has open sizes: {signature}; make it static first, with plain(bounds=...)")
    results = [_entry(result) for result in signature.results]
    if signature.checks:
        shape, dtype = flags_type(signature.checks)
        results.append({"name": "flags", "dtype": dtype.name, "shape": list(shape), "is": "flags"})
    return {
        "format": 1,
        "name": program.name,
        "arguments": [_entry(argument) for argument in signature.arguments],
        "results": results,
        "padding": ir.StringAttr(attributes[PADDING]).value if PADDING in attributes else "any",
        "checks": [
            {"exception": x.exception, "message": x.message, **({"place": x.place} if x.place else {})}
            for x in signature.checks
        ],
    }


def _entry(item: Argument | Result) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": item.name, "dtype": item.dtype.name, "shape": list(item.dims)}
    if item.live != () and item.live != item.dims:
        entry["live"] = [dim if isinstance(dim, int) else str(dim) for dim in item.live]
    if item.size:
        entry["is"] = "size"
        entry["size"] = item.size
    return entry
