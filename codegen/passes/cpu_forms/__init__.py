"""cpu_forms: forms of an op that XLA:CPU is fast at.

    before  %y = stablehlo.divide %x, %b : tensor<1000xf64>             // %b is a number, broadcast
    after   %y = stablehlo.multiply %x, %r : tensor<1000xf64>           // %r is its reciprocal, broadcast

In: a module with static shapes that is about to be compiled for the CPU; never one that is stored, or for another
device. Runs before `device_linalg`, which takes the factorizations that are left. Out: the module with this package's
rewrites applied; each one's file shows what it does, its preconditions and what it does to rounding. Decision to know:
a rewrite, and each number in it, is here because `benchmarks/cpu_forms.py` shows that it pays. Some pay only within the
kernels that `cpu_regions` makes.
"""

from __future__ import annotations

from ...ir.bindings import ir
from ..report import Report
from ..rewriting import Rewrite, RewriteFunction, apply
from .divisions import reciprocal_once
from .factors import small_cholesky, small_triangular_solve
from .pads import PADS, pads_in_kernel
from .running import running_loop
from .solves import shared_solve


def _rewrite(root: str, function: RewriteFunction) -> Rewrite:
    line = (function.__doc__ or "").split("\n")[0]
    return Rewrite(name=str(function.__name__), line=line, roots=(f"stablehlo.{root}",), function=function)


_REWRITES = (
    _rewrite("reduce_window", running_loop),
    _rewrite("cholesky", small_cholesky),
    _rewrite("triangular_solve", shared_solve),
    _rewrite("triangular_solve", small_triangular_solve),
    _rewrite("divide", reciprocal_once),
)
_IN_KERNELS = (_rewrite("add", pads_in_kernel),)

NAMES = tuple(rewrite.name for rewrite in (*_REWRITES, *_IN_KERNELS))

# Without one of these ops there is nothing to do.
TRIGGERS = frozenset(PADS).union(*(rewrite.roots for rewrite in _REWRITES))


def run(module: ir.Module, report: Report, *, kernels: bool = False) -> None:
    """The pass.

    Args:
        module: is changed in place.
        report: takes note of each op.
        kernels: whether it will consist of kernels of many ops.
    """
    apply(module, (*_REWRITES, *(_IN_KERNELS if kernels else ())), report)
