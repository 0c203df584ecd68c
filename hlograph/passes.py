"""Rewrites of your own: a function on a matched op, registered in one line; see docs/passes.md.

    from hlograph.passes import rewrite, defining, require, single_use, stablehlo

    @rewrite("stablehlo.reduce")
    def sum_of_product(op):
        ...

Re-exports what a rewrite needs; `stablehlo`, `chlo` and `func` are MLIR's builders of ops, `ir` its bindings.
"""

from .codegen.ir import ops
from .codegen.ir.attributes import attributes_of, integers, text_attribute
from .codegen.ir.bindings import chlo, func, ir, stablehlo
from .codegen.ir.clone import clone, clone_block
from .codegen.ir.kinds import reduction
from .codegen.ir.ops import full_like
from .codegen.ir.ops import reduce as reduce_with
from .codegen.ir.refused import Refused, require
from .codegen.ir.values import (
    ancestors,
    constant,
    defining,
    dominates,
    dtype_of,
    enclosing,
    is_constant,
    only_user,
    owner,
    shape_of,
    single_use,
    static_shape,
    users,
)
from .codegen.ir.while_ops import rebuild_while
from .codegen.passes import available
from .codegen.passes.report import Note, Report
from .codegen.passes.rewriting import rewrite

__all__ = [
    "Note",
    "Refused",
    "Report",
    "ancestors",
    "attributes_of",
    "available",
    "chlo",
    "clone",
    "clone_block",
    "constant",
    "defining",
    "dominates",
    "dtype_of",
    "enclosing",
    "full_like",
    "func",
    "integers",
    "ir",
    "is_constant",
    "only_user",
    "ops",
    "owner",
    "rebuild_while",
    "reduce_with",
    "reduction",
    "require",
    "rewrite",
    "shape_of",
    "single_use",
    "stablehlo",
    "static_shape",
    "text_attribute",
    "users",
]
