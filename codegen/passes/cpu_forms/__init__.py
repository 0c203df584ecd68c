"""cpu_forms: forms of an op that XLA:CPU is fast at.

    before  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000x20xf64>)
    after   %s = stablehlo.dot_general %ones, %x, contracting_dims = [0] x [0]

In: a module with static shapes that is about to be compiled for the CPU; never one that is stored, or for another
device. Runs before `device_linalg`, which takes the factorizations that are left. Out: the module with this package's
rewrites applied; each one's file shows what it does, its preconditions and what it does to rounding. Decision to know:
a rewrite, and each number in it, is here because `benchmarks/cpu_forms.py` shows that it pays.
"""

from __future__ import annotations

from ...ir.bindings import ir
from ..report import Report
from ..rewriting import Rewrite, apply
from .convolutions import shifted_products
from .divisions import reciprocal_once
from .factors import small_cholesky, small_triangular_solve
from .running import running_loop
from .sorts import rank_sort
from .sums import sum_to_dot

_REWRITES = tuple(
    Rewrite(
        name=function.__name__,
        line=(function.__doc__ or "").split("\n")[0],
        roots=(f"stablehlo.{root}",),
        function=function,
    )
    for root, function in (
        ("reduce", sum_to_dot),
        ("reduce_window", running_loop),
        ("cholesky", small_cholesky),
        ("triangular_solve", small_triangular_solve),
        ("sort", rank_sort),
        ("convolution", shifted_products),
        ("divide", reciprocal_once),
    )
)

NAMES = tuple(rewrite.name for rewrite in _REWRITES)

# Without one of these ops there is nothing to do.
TRIGGERS = frozenset(root for rewrite in _REWRITES for root in rewrite.roots)


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    apply(module, _REWRITES, report)
