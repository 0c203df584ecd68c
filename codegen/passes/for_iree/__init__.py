"""for_iree: StableHLO that IREE 3.13 compiles, and computes right.

    before  %y = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<?x?xf64>, tensor<?xf64>) -> ...
    after   %y = reduce(multiply %a, broadcast %x) applies add across dimensions = [1]

In: a program, with static sizes or open ones. Out: the same program in forms that IREE takes: factorizations as loops,
CHLO as StableHLO, and the rewrites of `forms`. Its constraints become checks, whose flags are the last result, or
assertions (`asserts=true`), since IREE's runtime compares no sizes of arguments. Rounding: sums in another order. What
IREE cannot run is refused by name: Python functions, library calls; and what it cannot run of open sizes, loops and
branches above all, with what makes it static. docs/iree.md says what IREE takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import dims as dimension
from ... import signature as signatures
from ...constraints import Constraint
from ...errors import PassError
from ...ir import ops
from ...ir.bindings import ir, run_pipeline
from ...ir.kinds import having
from ...ir.op_sheet import form_of
from ...ir.ops import BROADCASTS, is_open
from ...ir.values import call_target, defining, integers, shape_of, users, walk
from ...signature import CheckSpec
from .. import size_checks
from ..factor_loops import expand
from ..report import Report
from ..rewriting import LEGALIZE_CHLO, Rewrite, apply
from .forms import ABSOLUTE, FORMS

_REWRITES = [
    Rewrite(name=form.__name__, line=(form.__doc__ or "").partition("\n")[0], roots=(root,), function=form)
    for root, form in FORMS.items()
]
_CONTROL = ("stablehlo.while", "stablehlo.if", "stablehlo.case")
_REMEDY = (
    "make the program static first: program.plain(bounds={...}) is one for all sizes up to these, passes `pad` and "
    "`specialize` do so too, with a number for each size"
)
# What IREE refuses, or computes wrong, where sizes are open, besides loops and branches.
_STATIC_ONLY = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("convolution", "dynamic_conv", "dynamic_pad", "dynamic_reshape", "dynamic_slice", "dynamic_update_slice"),
        *("fft", "reduce_precision", "reduce_window", "rng", "rng_bit_generator", "select_and_scatter"),
    )
)


def run(module: ir.Module, report: Report, *, asserts: bool = False) -> None:
    """The pass.

    Raises:
        PassError: the program has what IREE cannot run.
    """
    _refuse_calls(module)
    run_pipeline(module, LEGALIZE_CHLO, name="for_iree")
    if any(op.name == "stablehlo.composite" for op in walk(module)):
        run_pipeline(module, "func.func(stablehlo-legalize-composite-to-call)", name="for_iree")
    expand(module)
    apply(module, _REWRITES, report)
    for op in walk(module):
        if ABSOLUTE in op.attributes:
            del op.attributes[ABSOLUTE]
        for block in (block for region in op.regions for block in region.blocks):
            _separate_reductions(block, report)
    run_pipeline(module, "cse,symbol-dce", name="for_iree")
    _refuse_ops(module)
    _guard(module, asserts=asserts)


def _refuse_calls(module: ir.Module) -> None:
    signature = signatures.read(module)
    if signature.has_data_sizes:
        names = ", ".join(count.name for count in (*signature.counts, *signature.local_counts))
        raise PassError(
            f"for_iree: sizes that the program computes from data ({names}) have no form that IREE compiles; give them "
            "bounds first: pass `pad`, with a bound for each size"
        )
    called = sorted({call_target(op) for op in walk(module)} - {"", "shape_assertion"})
    if called:
        of_open = any(name.startswith("stablehlo.dynamic_") for name in called)
        raise PassError(
            f"for_iree: IREE has no custom call {', '.join(called)}; it runs what is StableHLO alone (docs/iree.md)"
            + (f"; {_REMEDY}" if of_open else "")
        )


def _refuse_ops(module: ir.Module) -> None:
    """Refuses ops that are left in forms that IREE does not take.

    Where it cannot bound a size, IREE takes the place of an array in a buffer to be whatever else may stand there:
    loops and branches that hold several arrays of open sizes then read and write at wrong places.
    """
    inside = walk(module)
    has_open = any(is_open(*op.operands, *op.results) for op in inside)
    for op in inside:
        if op.name == "stablehlo.cbrt":
            raise PassError(f"for_iree: IREE has no {op.name} (at {op.location})")
        if (op.name in _CONTROL and has_open) or _needs_static(op):
            raise PassError(
                f"for_iree: IREE has no {op.name} {'among' if op.name in _CONTROL else 'of'} unknown sizes (at "
                f"{op.location}); {_REMEDY}"
            )


def _needs_static(op: ir.Operation) -> bool:
    if not is_open(*op.operands, *op.results):
        return False
    if op.name == "stablehlo.sort":  # of several arrays IREE wants all results used
        return len(op.results) > 1 and not all(map(users, op.results))
    if op.name == "stablehlo.pad":
        return min((*integers(op, "edge_padding_low"), *integers(op, "edge_padding_high")), default=0) < 0
    return op.name in _STATIC_ONLY


def _guard(module: ir.Module, *, asserts: bool) -> None:
    """Makes a module test its constraints, and that sizes are what their names say.

    A demand that fails means that some op reads past an array's end, so a program that runs on arrays of others should
    have assertions. They are no StableHLO: such a module is text, for IREE alone.

    Raises:
        PassError: a demand is about sizes that padding left out of the arguments.
    """
    signature = signatures.read(module)
    sources = {(root.argument, root.axis) for root in signature.roots}
    demands = [
        Constraint(dimension.symbol(size_checks.own_name(number, axis)), "==", dim, f"axis {axis} of {argument.name}")
        for number, argument in enumerate(signature.arguments)
        for axis, dim in enumerate(argument.dims)
        if not isinstance(dim, int) and (number, axis) not in sources
    ]
    demands += signature.constraints
    places: dict[str, size_checks.Source] = {
        item.size: (number, None, None) for number, item in enumerate(signature.arguments) if item.size
    }
    places |= {root.name: (root.argument, root.axis, root.element) for root in signature.roots}
    for constraint in signature.constraints:
        if (dimension.roots(constraint.lhs) | dimension.roots(constraint.rhs)) - places.keys():
            raise PassError(f"for_iree: {constraint} is about no argument; use program.plain(bounds={{...}})")
    if asserts and demands:
        size_checks.insist(module, demands, places)
    elif demands:
        size_checks.report(module, demands, places, lambda x: CheckSpec("ValueError", size_checks.message_of(x)))


# ---- reductions whose results meet themselves along another axis ----------------------------------------------------

_Axes = tuple[int | None, ...]
_FUSED = having("elementwise") | {"stablehlo.transpose", "stablehlo.reduce"}


def _separate_reductions(block: ir.Block, report: Report) -> None:
    """Puts a copy between a reduction and what reads it in two ways, in place.

    Of `v[:, None] * v[None, :]`, where v is a reduction, IREE gives zeros for some elements: element (i, j) needs rows
    i and j. With two reverses between the reduction and the product it is right.
    """
    # Of each value the reductions that it is computed of, and the ways in which their axes lie along its own.
    ways: dict[ir.Value, dict[ir.Value, set[_Axes]]] = {}
    found: dict[ir.Value, None] = {}
    for view in block.operations:
        op = view.operation
        merged: dict[ir.Value, set[_Axes]] = {}
        for operand, axes in zip(op.operands, _lies_along(op), strict=False):
            for source, own in ways.get(operand, {}).items():
                moved = {tuple(None if axis is None or not axes else axes[axis] for axis in way) for way in own}
                merged.setdefault(source, set()).update(moved)
        found |= dict.fromkeys(source for source, own in merged.items() if len(own) > 1)
        for result in op.results:
            ways[result] = {source: own for source, own in merged.items() if len(own) == 1}
            if op.name == "stablehlo.reduce" and shape_of(result):
                ways[result][result] = {tuple(range(len(shape_of(result))))}
    for value in found:
        made = defining(value)
        report.applied(made, "separate_reductions")
        with ir.InsertionPoint.after(made), made.location:
            turned = ops.reverse(value, 0)
            value.replace_all_uses_except(ops.reverse(turned, 0), [defining(turned)])


def _lies_along(op: ir.Operation) -> Sequence[Sequence[int | None]]:
    """For each operand the results' axes that its own lie along; of an op that starts a kernel of its own none."""
    if op.name in BROADCASTS:
        return [integers(op, "broadcast_dimensions")]
    form = form_of(op) if op.name in _FUSED else None
    return () if form is None else form.operands
