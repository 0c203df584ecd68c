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

from collections.abc import Mapping
from typing import Literal, get_args

from ..builder.linalg import NO_FORM
from ..errors import OptionError, PassError, UnsupportedGraphError
from ..ir.attributes import PREFIX, call_target, names_of
from ..ir.bindings import ir, run_pipeline
from ..ir.kinds import EFFECTS
from ..ir.modules import verify
from ..ir.walk import walk
from ..passes.driver import run_all
from ..passes.optimize import Optimize, resolve
from ..passes.pad import pad
from ..program import Program
from ..renamed import renamed_options
from . import conditions
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
    _check_sizes(program, given, limits)
    exact = program.specialize(given)
    if not exact.signature.is_static:
        module, _ = pad(exact.copy_module(), limits, poisoned=padding == "any", zeros=True)
        static = Program(module, filename=program.filename)
        _refuse_open(static)
    else:
        static = exact
    static.optimize_own(resolve(optimize))
    module = static.copy_module()
    demanded = conditions.conditions(program.signature, static.signature, given, limits)
    conditions.report(module, program.signature, demanded)
    if any(operation.name == "stablehlo.composite" for operation in walk(module)):
        run_pipeline(module, _COMPOSITES, name="plain")
    run_all(module, _LAST)
    _refuse_others(module, program.name)
    _drop_attributes(module)
    if static is not exact:
        module.operation.attributes[PADDING] = ir.StringAttr.get(padding, module.context)
    verify(module, "the plain module")
    return Program(module, filename=program.filename)


def padding_of(program: Program) -> str:
    """What may lie behind the live sizes in the arguments of a plain program: "any", or "zero"."""
    attributes = program.copy_module().operation.attributes
    return ir.StringAttr(attributes[PADDING]).value if PADDING in attributes else "any"


def _check_sizes(program: Program, sizes: Mapping[str, int], bounds: Mapping[str, int]) -> None:
    twice = sorted(sizes.keys() & bounds.keys())
    if twice:
        raise OptionError(f"{', '.join(twice)} has a size and a bound; give one of the two")
    if not sizes and not bounds and program.signature.roots:
        names = [root.name for root in program.signature.roots]
        raise PassError(
            f"{program.name} has sizes that are open: {', '.join(names)}; a plugin takes static shapes only. "
            f"Give each a size or a bound: plain(bounds={{{names[0]!r}: 1000}})"
        )


def _refuse_open(static: Program) -> None:
    results = static.signature.results
    if results and results[0].size:
        name = results[0].size
        raise PassError(
            f"the size {name} is computed from data and has no bound, which a plain module needs; give one: "
            f"bounds={{{name!r}: 1000}}"
        )


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
