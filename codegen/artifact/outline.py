"""A program's outside alone: `@main` with its types and attributes, and nothing in it.

In: a program. Out: a text; and from it the program's name and signature, in a fraction of the time that making the
program again would take. It is the declaration

    module @logp {
      func.func private @main(tensor<8xf64> {hlograph.name = "x", ...}) -> tensor<f64> attributes {hlograph.checks = ..}
    }
"""

from __future__ import annotations

from .. import signature as signatures
from ..ir.attributes import attributes_of
from ..ir.bindings import ir, new_context
from ..ir.modules import parse_module
from ..ir.walk import main_function, module_name
from ..program import Program
from ..signature import Signature


def outline(program: Program) -> str:
    """A program's outside."""
    whole = program.copy_module()
    with whole.context, ir.Location.unknown():
        empty = ir.Module.create()
        empty.operation.attributes["sym_name"] = ir.StringAttr.get(program.name)
        attributes = attributes_of(main_function(whole).attributes) | {"sym_visibility": ir.StringAttr.get("private")}
        with ir.InsertionPoint(empty.body):
            ir.Operation.create("func.func", regions=1, attributes=attributes)
        return str(empty)


def read_outline(text: str, filename: str) -> tuple[str, Signature]:
    """A program's name and signature.

    Raises:
        ArtifactError: the text is not what `outline` gives.
    """
    module = parse_module(text, new_context(), filename)
    return module_name(module), signatures.read(module, filename)
