"""for_iree: StableHLO that IREE 3.13 compiles once for all sizes, and computes right.

    before  %y = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<?x?xf64>, tensor<?xf64>) -> ...
    after   %y = reduce(multiply %a, broadcast %x) applies add across dimensions = [1]

In: a program, with open sizes or static ones. Out: the same program in forms that IREE takes: factorizations as loops,
CHLO as StableHLO, and the rewrites of this package. Its constraints become checks, whose flags are the last result, or
assertions (`asserts=true`; see `entry.py`), since IREE's runtime compares no sizes of arguments. Rounding: sums in
another order. What IREE cannot run is refused by name: Python functions, library calls, sizes from data.
docs/iree.md says what IREE takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ... import signature as signatures
from ...errors import PassError
from ...ir.attributes import call_target
from ...ir.bindings import ir, run_pipeline
from ...ir.open_ops import is_open
from ...ir.walk import walk
from ..base import LEGALIZE_CHLO
from ..factor_loops import expand
from ..report import Report
from ..rewriting import Rewrite, apply
from . import dots, elementwise, indexing, joins, loops, shapes
from .entry import guard
from .fusion import separate_reductions
from .ownership import own_operands
from .sizes import bound_sizes

_FORMS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "stablehlo.concatenate": (joins.joined,),
    "stablehlo.cosine": (elementwise.in_double,),
    "stablehlo.atan2": (elementwise.in_double,),
    "stablehlo.dot_general": (dots.dot_as_sum,),
    "stablehlo.dynamic_broadcast_in_dim": (shapes.told_broadcast,),
    "stablehlo.dynamic_gather": (indexing.gather_of_elements,),
    "stablehlo.dynamic_pad": (shapes.pad_of_parts,),
    "stablehlo.dynamic_reshape": (shapes.reshape_by_units,),
    "stablehlo.dynamic_slice": (indexing.part_of_one_number,),
    "stablehlo.dynamic_update_slice": (shapes.update_of_parts,),
    "stablehlo.exponential_minus_one": (elementwise.exponential_minus_one,),
    "stablehlo.gather": (indexing.gather_of_elements,),
    "stablehlo.log_plus_one": (elementwise.log_plus_one,),
    "stablehlo.optimization_barrier": (elementwise.through_barrier,),
    "stablehlo.pad": (shapes.pad_of_parts,),
    "stablehlo.power": (elementwise.power,),
    "stablehlo.real_dynamic_slice": (indexing.part_by_place,),
    "stablehlo.reduce": (dots.sum_in_double,),
    "stablehlo.sine": (elementwise.in_double,),
    "stablehlo.slice": (indexing.part_of_one_number,),
    "stablehlo.sort": (indexing.sort_all_used,),
    "stablehlo.tan": (elementwise.in_double,),
    "stablehlo.while": (loops.plain_loop,),
}


def run(module: ir.Module, report: Report, *, asserts: bool = False) -> None:
    """The pass.

    Raises:
        PassError: the program has what IREE cannot run.
    """
    _refuse(module)
    run_pipeline(module, LEGALIZE_CHLO, name="for_iree")
    if any(op.name == "stablehlo.composite" for op in walk(module)):
        run_pipeline(module, "func.func(stablehlo-legalize-composite-to-call)", name="for_iree")
    expand(module)
    apply(module, _REWRITES, report)
    separate_reductions(module, report)
    own_operands(module)
    _unmark(module)
    guard(module, asserts=asserts, limit=bound_sizes(module))
    run_pipeline(module, "cse,symbol-dce", name="for_iree")
    _refuse_left(module)


def _unmark(module: ir.Module) -> None:
    """Takes off what tells rewrites that an op is their own."""
    for op in walk(module):
        for mark in (elementwise.ABSOLUTE, indexing.KEPT, loops.DONE):
            if mark in op.attributes:
                del op.attributes[mark]


_REWRITES = [
    Rewrite(name=form.__name__, line=(form.__doc__ or "").partition("\n")[0], roots=(root,), function=form)
    for root, forms in _FORMS.items()
    for form in forms
]


def _refuse(module: ir.Module) -> None:
    """Refuses what IREE has no way to run.

    Raises:
        PassError: the program has such a thing.
    """
    signature = signatures.read(module)
    if signature.has_data_sizes:
        names = ", ".join(count.name for count in (*signature.counts, *signature.local_counts))
        raise PassError(
            f"for_iree: sizes that the program computes from data ({names}) have no form that IREE compiles; give them "
            "bounds first: pass `pad`, with a bound for each size"
        )
    called = sorted({call_target(op) for op in walk(module)} - {"", "shape_assertion"})
    if called:
        raise PassError(
            f"for_iree: IREE has no custom call {', '.join(called)}; it runs what is StableHLO alone (docs/iree.md)"
        )


# What IREE refuses where sizes are open, and this pass has no form of.
_STATIC_ONLY = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("convolution", "dynamic_conv", "dynamic_pad", "dynamic_reshape", "fft", "reduce_precision"),
        *("reduce_window", "rng", "rng_bit_generator", "select_and_scatter"),
    )
)


_NEVER = ("stablehlo.cbrt",)


def _refuse_left(module: ir.Module) -> None:
    """Refuses ops that are left in forms that IREE does not take.

    Raises:
        PassError: there is one.
    """
    for op in walk(module):
        if op.name in _NEVER:
            raise PassError(f"for_iree: IREE has no {op.name} (at {op.location})")
        if op.name in _STATIC_ONLY and is_open(*op.operands, *op.results):
            raise PassError(
                f"for_iree: IREE has no {op.name} of unknown sizes (at {op.location}); give the sizes first: pass "
                "`specialize`, with a value for each"
            )
