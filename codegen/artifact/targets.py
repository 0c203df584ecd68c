"""Whom a file is for: what `save(target=...)` names, what becomes of a program for it; and programs in plain StableHLO.

In: a StableHLO version ("1.9.0"), a date ("2025-01-01"), or a consumer ("jax 0.7", "iree", "pjrt"). Out: a `Target`; of
a program, the module as it is written, and what it costs it. Decision to know: costs are found by writing the program
and reading it again, so that nothing is listed that a writer may or may not do.

Plain programs are for whoever has a PJRT plugin and nothing of ours:

    program    (x[n, 3], y[n]) -> loss                         sizes: n
    plain      (x[1000, 3], y[1000], n) -> loss, flags         bounds={"n": 1000}, any n up to 1000 on one executable
               (x[50, 3], y[50]) -> loss                       sizes={"n": 50}

In: a program, with a size or a bound for each of its roots. Out: a static program of StableHLO's own ops: no CHLO, no
calls of libraries or of Python, one result more where something is to be checked. Decision to know: a plugin runs the
module without our compile options, so what XLA gets wrong without them is written in other ways, as for a guest in
a foreign module.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, get_args

import numpy as np

from .. import dims as dimension
from .. import signature as signatures
from ..builder import Builder, SizeSource, compare, concatenate, reshape
from ..builder.linalg import NO_FORM
from ..builder.places import emit_size
from ..constraints import Constraint
from ..dims import Dim
from ..errors import OptionError, PassError, UnsupportedGraphError
from ..ir import ops
from ..ir.bindings import RELEASE, ir, new_context, run_pipeline
from ..ir.functions import adopt, call, return_values
from ..ir.kinds import EFFECTS
from ..ir.modules import (
    current_version,
    deserialize_portable,
    first_version,
    minimum_version,
    serialize_portable,
    verify,
)
from ..ir.values import (
    PREFIX,
    attributes_of,
    call_target,
    main_function,
    names_of,
    op_counts,
    returned_by,
    terminator,
    walk,
)
from ..passes import run_all
from ..passes.pad import pad
from ..passes.registry import Optimize, resolve
from ..passes.xla_bugs import BUGS
from ..program import Program
from ..renamed import nearest, renamed_options
from ..signature import Argument, CheckSpec, Result, Signature, flags_type
from .parameters import self_contained

# The first tagged release of each StableHLO version from 1.0 on (github.com/openxla/stablehlo/tags).
RELEASED: Mapping[str, str] = {
    "1.0.0": "2024-05-14",
    "1.1.0": "2024-05-30",
    "1.2.0": "2024-07-08",
    "1.4.0": "2024-07-16",
    "1.5.0": "2024-08-01",
    "1.6.0": "2024-08-16",
    "1.7.0": "2024-09-05",
    "1.8.0": "2024-10-28",
    "1.9.0": "2025-01-30",
    "1.10.0": "2025-03-21",
    "1.11.0": "2025-06-17",
    "1.12.0": "2025-06-27",
    "1.13.0": "2025-08-21",
    "1.14.0": "2026-03-18",
    "1.15.0": "2026-03-30",
    "1.16.0": "2026-04-10",
    "1.18.0": "2026-06-29",
    "1.19.0": "2026-08-13",
}
# What the first jaxlib of each series says about itself (`stablehlo.get_current_version()`).
JAX: Mapping[str, str] = {
    "0.5": "1.8.9",
    "0.6": "1.10.4",
    "0.7": "1.12.1",
    "0.8": "1.13.1",
    "0.9": "1.13.7",
    "0.10": "1.16.0",
    "0.11": "1.18.0",
    "0.12": "1.22.0",
}
IREE_VERSION = "1.20.0"  # IREE 3.13 knows all ops of this version
PJRT_VERSION = "1.9.0"  # plugins in wheels of 2025 and 2026 know 1.13.3 to 1.20.0
_STABLE_SINCE = "1.0.0"  # from here on five years backward and two forward
_BACKWARD_YEARS = 5
_WORDS = ("iree", "pjrt")


@dataclass(frozen=True)
class Target:
    """Whom a file is written for.

    Attributes:
        name: as it was given.
        version: the StableHLO version of portable bytecode for it.
        later: versions that are tried in turn for a program that cannot be expressed in that one.
        consumer: "iree", or "pjrt" for any plugin, which take one program a file, also as text; "" for other readers.
    """

    name: str
    version: str
    later: tuple[str, ...] = ()
    consumer: str = ""


def promise(version: str) -> str:
    """Who can read bytecode of a StableHLO version, and for how long, as StableHLO promises it."""
    if _order(version) < _order(_STABLE_SINCE):
        return f"StableHLO {version} is older than {_STABLE_SINCE}: readers of today take it, none promises to"
    released = RELEASED.get(version.rpartition(".")[0] + ".0")
    if released is None:
        return f"readers of StableHLO {version} and later take it, for {_BACKWARD_YEARS} years from its release"
    day = date.fromisoformat(released)
    until = day.replace(year=day.year + _BACKWARD_YEARS)
    return f"readers of StableHLO {version} ({day}) and later take it, until {until} at least"


def find_target(name: str) -> Target:
    """The target of a name.

    Raises:
        OptionError: there is none, or this jaxlib cannot write for it.
    """
    text = name.strip()
    if re.fullmatch(r"\d+\.\d+\.\d+", text):
        return _writable(Target(name, text))
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return _writable(Target(name, _version_at(text)))
    word, *rest = text.lower().split() or [""]
    if word == "jax" and len(rest) == 1 and re.fullmatch(r"\d+\.\d+(\.\d+)*", rest[0]):
        return _writable(Target(name, _version_of_jax(rest[0])))
    if word in _WORDS and not rest:
        newest = current_version()
        version = min(IREE_VERSION if word == "iree" else PJRT_VERSION, newest, key=_order)
        (major, first, _), (_, last, _) = _order(version), _order(newest)
        later = (*(f"{major}.{minor}.0" for minor in range(first + 1, last)), newest)
        return Target(name, version, later if word == "pjrt" and version != newest else (), word)
    hint = nearest(text.lower(), _WORDS, form="did you mean {!r}? ")
    raise OptionError(
        f"target {name!r} is none; {hint}a target is a StableHLO version ('1.9.0'), a date ('2025-01-01'), 'jax 0.7' "
        f"(any of {', '.join(JAX)}), 'iree' or 'pjrt'"
    )


def for_target(program: Program, target: Target) -> Program:
    """The program as it is written for a target.

    Raises:
        UnsupportedGraphError: the target has no way to take it; what is in the way is named.
        PassError: a pass fails.
    """
    if program.pullback is not None and target.consumer:
        raise UnsupportedGraphError(
            f"{program.name} holds its pullback, and {target.name} takes one program per file: save it with "
            "derivatives=0 (program.with_derivatives(0)), and its derivatives as a program of their own"
        )
    if target.consumer == "pjrt":
        if not program.signature.is_static:
            sizes = ", ".join(root.name for root in program.signature.roots) or "sizes from data"
            raise UnsupportedGraphError(
                f"{program.name} has dynamic sizes ({sizes}), and a {target.name} plugin takes static modules: save "
                "program.plain(bounds={...}) or program.plain(sizes={...})"
            )
        return program if PADDING in program._module.operation.attributes else plain(program)
    passes = ["for_iree"] if target.consumer == "iree" else []
    return program.optimize([*passes, "chlo-legalize-to-stablehlo"])


def costs(program: Program, name: str) -> str:
    """What becomes of a program for the target of this name, in lines: ops that are written in terms of others, the ops
    that stand in their place, attributes that are left out, and how many of each.

    Raises what `find_target` and `for_target` do.
    """
    target = find_target(name)
    made = for_target(program, target)
    ops, attributes = op_counts(program._module), _attributes(made._module)
    versions = (target.version, *target.later)
    version, data = first_version(versions, lambda version: serialize_portable(made.copy_module(), version))
    read = deserialize_portable(data, new_context(), name)
    rewritten, left_out = ops - op_counts(read), attributes - _attributes(read)
    lines = [f"for {target.name}: StableHLO {version}"]
    if version != target.version:
        lines.append(f"  the program cannot be expressed in {target.version}: see that the reader knows this one")
    if rewritten:
        lines.append(f"  rewritten: {_counted(rewritten)}")
        lines.append(f"  as: {_counted(op_counts(read) - ops) or 'nothing'}")
    if left_out:
        lines.append(f"  left out: {_counted(left_out)}")
    if not rewritten and not left_out:
        lines.append("  nothing rewritten, nothing left out")
    return "\n".join([*lines, f"  {promise(version)}"])


# ---- versions -----------------------------------------------------------------------------------------------------


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _writable(target: Target) -> Target:
    oldest, newest = minimum_version(), current_version()
    if not _order(oldest) <= _order(target.version) <= _order(newest):
        raise OptionError(
            f"target {target.name!r} is StableHLO {target.version}, and this jaxlib writes {oldest} to {newest}; "
            + ("upgrade jaxlib" if _order(target.version) > _order(newest) else "name a later one")
        )
    return target


def _version_at(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise OptionError(f"target {text!r} is no date: {error}") from None
    known = [version for version, released in RELEASED.items() if date.fromisoformat(released) <= day]
    if not known:
        raise OptionError(f"target {text!r} is before StableHLO 1.0 of 2024-05-14, the first with a promise")
    return min(max(known, key=_order), current_version(), key=_order)


def _version_of_jax(release: str) -> str:
    series = ".".join(release.split(".")[:2])
    if series in JAX:
        return JAX[series]
    if series == RELEASE:
        return current_version()
    raise OptionError(
        f"target 'jax {release}': it is not known what it reads (known: {', '.join(JAX)}); name a StableHLO version or "
        "a date"
    )


# ---- what is in a module ------------------------------------------------------------------------------------------


def _counted(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _attributes(module: ir.Module) -> Counter[str]:
    return Counter(f"{op.name}: {name}" for op in walk(module) for name in attributes_of(op.attributes))


Padding = Literal["any", "zero"]
PADDING = "hlograph.padding"

# A composite is its decomposition.
_COMPOSITES = "func.func(stablehlo-legalize-composite-to-call)"
_LAST = ("inline", "portable_linalg", "chlo-legalize-to-stablehlo", *(bug.name for bug in BUGS))
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
    """The program in StableHLO's own ops, static, for any PJRT plugin: see docs/how-to/without_jax.md.

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
    for operation in walk(module):
        if operation.name not in ("func.func", "builtin.module"):  # the signature stays
            for name in names_of(operation.attributes):
                if name.startswith(PREFIX):
                    del operation.attributes[name]
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
            raise PassError(f"no call can satisfy {constraint} ({constraint.where}) with these sizes and bounds")


def _report(module: ir.Module, original: Signature, demanded: Sequence[Constraint]) -> None:
    """Makes a static module say which of the demanded conditions hold, in place: they are all that it demands then.

        before  func.func @main(%x: tensor<100xf64>, %n: tensor<i32>) -> tensor<f64>      // of a program with n >= 6
        after   func.func @main(%x, %n) -> (tensor<f64>, tensor<3xi1>)                    // n >= 0, 100 >= n, n >= 6

    Sizes are taken unchanged, so a live size may be negative.
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
        raise PassError(f"{program.name} has dynamic sizes: {signature}; make it static first, with plain(bounds=...)")
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
