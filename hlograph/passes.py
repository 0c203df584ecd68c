"""Rewrites of your own: a function on a matched op, registered in one line; see docs/how-to/own_pass.md.

    from hlograph.passes import rewrite, defining, require, single_use, stablehlo

    @rewrite("stablehlo.reduce")
    def sum_of_product(op):
        ...

Re-exports what a rewrite needs; `stablehlo`, `chlo` and `func` are MLIR's builders of ops, `ir` its bindings. The names
here, and what they take, stay as they are as long as `API` does; see docs/reference/versions.md.
"""

from .codegen.ir import ops as ops
from .codegen.ir.bindings import chlo as chlo
from .codegen.ir.bindings import func as func
from .codegen.ir.bindings import ir as ir
from .codegen.ir.bindings import stablehlo as stablehlo
from .codegen.ir.functions import call_function as call_function
from .codegen.ir.kinds import reduction as reduction
from .codegen.ir.ops import clone as clone
from .codegen.ir.ops import clone_block as clone_block
from .codegen.ir.ops import full_like as full_like
from .codegen.ir.refused import Refused as Refused
from .codegen.ir.refused import require as require
from .codegen.ir.values import ancestors as ancestors
from .codegen.ir.values import attributes_of as attributes_of
from .codegen.ir.values import constant as constant
from .codegen.ir.values import defining as defining
from .codegen.ir.values import dominates as dominates
from .codegen.ir.values import dtype_of as dtype_of
from .codegen.ir.values import enclosing as enclosing
from .codegen.ir.values import integers as integers
from .codegen.ir.values import is_constant as is_constant
from .codegen.ir.values import only_user as only_user
from .codegen.ir.values import owner as owner
from .codegen.ir.values import shape_of as shape_of
from .codegen.ir.values import single_use as single_use
from .codegen.ir.values import static_shape as static_shape
from .codegen.ir.values import text_attribute as text_attribute
from .codegen.ir.values import users as users
from .codegen.ir.while_ops import rebuild_while as rebuild_while
from .codegen.passes import available as available
from .codegen.passes.registry import forget as forget
from .codegen.passes.registry import group as group
from .codegen.passes.registry import rewrite as rewrite
from .codegen.passes.report import Note as Note
from .codegen.passes.report import Report as Report

# Counts up when a name here is taken away, or what it takes or gives is another.
API = 1

reduce_with = ops.reduce
