"""The module that JAX exports, taken over as a program's: inlined, signed, without JAX's assertions.

In: what `jax.export` gives. Out: a module in a context of its own, with our signature. Decisions to know: what JAX's
export asserts of sizes is in the signature instead (equal names by the dimensions themselves, `n >= 1` as a
constraint), so the assertions go; and calls are inlined, but those of functions that say what they implement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax import export, tree_util

from ...codegen import signature as signatures
from ...codegen.constraints import Constraint
from ...codegen.errors import UnsupportedGraphError
from ...codegen.ir.attributes import attributes_of, call_target
from ...codegen.ir.bindings import ir, new_context, run_pipeline
from ...codegen.ir.inline import inline_calls
from ...codegen.ir.modules import verify
from ...codegen.ir.portable import deserialize_portable
from ...codegen.ir.reading import sizes_first
from ...codegen.ir.tidy import drop_identities
from ...codegen.ir.walk import has_operations, main_function, symbol_of, walk
from ...codegen.passes import roll_loops
from ...codegen.signature import Argument, Result, Signature
from .axes import dim_of, path_text


def take_over(
    exported: export.Exported,
    name: str,
    arguments: Sequence[Argument],
    tree: Any,
    constraints: Sequence[Constraint],
    platforms: tuple[str, ...] = (),
) -> ir.Module:
    """The exported module in a context of its own: signed, calls inlined, without JAX's attributes and assertions.

    Args:
        exported: what JAX gives.
        name: the module's name.
        arguments: those of the program; the keys' data axes are in the function's type alone.
        tree: the pytree that the results are the leaves of.
        constraints: the program's.
        platforms: those that it is for; any where there are none.

    Raises:
        UnsupportedGraphError: it spans several devices.
    """
    if exported.nr_devices != 1:
        raise UnsupportedGraphError(f"{name!r} is sharded over {exported.nr_devices} devices; a program runs on one")
    module = deserialize_portable(exported.mlir_module_serialized, new_context(), name)
    for operation in walk(module):
        if call_target(operation) == "shape_assertion":
            operation.erase()
        elif operation.name == "sdy.sharding_constraint":  # on one device it says nothing
            operation.result.replace_all_uses_with(operation.operands[0])
            operation.erase()
    run_pipeline(module, "inline", name="inline")
    inline_calls(module, implementing=False)
    if not jax.config.jax_enable_x64:
        _widen_sizes(module)
    for item in [item.operation for item in module.body.operations]:
        if item.name == "sdy.mesh":
            item.erase()
        elif symbol_of(item) != "main":
            item.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
    # In a long module a factor of 1 may be one step's of many that are to be a loop again.
    if not has_operations(module, roll_loops.TRIGGERS):
        drop_identities(module)
    run_pipeline(module, "canonicalize,cse,symbol-dce", name="canonicalize")
    sizes_first(module)
    attributes = module.operation.attributes
    for attribute in attributes_of(attributes):
        if attribute.startswith(("jax.", "mhlo.")):
            del attributes[attribute]
    attributes["sym_name"] = ir.StringAttr.get(name, module.context)
    main = main_function(module)
    for attribute in {"arg_attrs", "res_attrs"} & attributes_of(main.attributes).keys():
        del main.attributes[attribute]  # JAX's notes
    _sign(module, arguments, _results(tree, exported.out_avals), constraints, platforms)
    return module


def _widen_sizes(module: ir.Module) -> None:
    """Makes floats of sizes as they were computed: JAX has 32 bits for them, which a number of elements may not fit."""
    for operation in list(walk(module)):
        if operation.name == "stablehlo.convert":
            (result,), (operand,) = operation.results, operation.operands
            source, target = (ir.RankedTensorType(x.type) for x in (operand, result))
            if source.rank == 0 and str(source.element_type) == "i64" and str(target.element_type) == "i32":
                for use in list(result.uses):
                    if use.owner.name == "stablehlo.convert" and "f" in str(use.owner.results[0].type).split("<")[1]:
                        use.owner.operands[0] = operand


def _results(tree: Any, avals: Sequence[Any]) -> list[Result]:
    paths = [path for path, _ in tree_util.tree_flatten_with_path(tree_util.tree_unflatten(tree, avals))[0]]
    return [
        Result(f"out{path_text(path)}", aval.dtype, tuple(map(dim_of, aval.shape)), weak=bool(aval.weak_type))
        for path, aval in zip(paths, avals, strict=True)
    ]


def _sign(
    module: ir.Module,
    arguments: Sequence[Argument],
    results: Sequence[Result],
    constraints: Sequence[Constraint],
    platforms: tuple[str, ...],
) -> None:
    """Writes the signature, with the keys' data axes behind the arguments' own."""
    function = main_function(module)
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    complete = []
    for argument, type_ in zip(arguments, types, strict=True):
        tensor = ir.RankedTensorType(type_)
        behind = tuple(tensor.get_dim_size(axis) for axis in range(len(argument.dims), tensor.rank))
        complete.append(Argument(argument.name, argument.dtype, (*argument.dims, *behind)))
    signature = Signature(tuple(complete), tuple(results), (), tuple(constraints), platforms=platforms)
    signatures.write(function, signature)
    verify(module, "the module that JAX exported")
