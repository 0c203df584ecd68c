"""Custom calls that stand for ops until their sizes are known, as those ops; and calls that are put aside.

In: a call whose operands that say sizes are constants by now. Out: the op, with the call's types, open ones among them:
StableHLO's refinement infers them. Decision to know: XLA's own refinement does the same, but it inlines all functions,
also those that say what they implement, so that no library would come in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import ops
from .bindings import ir, stablehlo
from .ops import clone_block
from .values import attributes_of, call_target, constant, dense_attr, integers, sizes_of, walk

_HIDDEN = "hlograph.call"


def hide(module: ir.Module) -> None:
    """Makes calls of functions custom calls, which a round of refinement passes over."""
    for operation in walk(module):
        if operation.name != "func.call":
            continue
        with module.context, ir.InsertionPoint(operation), operation.location:
            attributes = {
                "call_target_name": ir.StringAttr.get(_HIDDEN),
                _HIDDEN: ir.DictAttr.get(attributes_of(operation.attributes)),
            }
            hidden = _create("stablehlo.custom_call", operation, list(operation.operands), attributes)
        for result, value in zip(operation.results, hidden.results, strict=True):
            result.replace_all_uses_with(value)
        operation.erase()


def _create(
    name: str,
    like: ir.Operation,
    operands: Sequence[ir.Value],
    attributes: Mapping[str, ir.Attribute],
    regions: int = 0,
) -> ir.Operation:
    """An op with another one's types of results."""
    types = [result.type for result in like.results]
    return ir.Operation.create(name, results=types, operands=operands, attributes=dict(attributes), regions=regions)


def _numbers(value: ir.Value) -> list[int] | None:
    """The elements of integers that are known by now."""
    known = constant(value)
    return None if known is None else np.broadcast_to(known, sizes_of(value)).ravel().astype(np.int64).tolist()


def _reduce_window(operation: ir.Operation, functions: Mapping[str, ir.Operation]) -> ir.Operation | None:
    """Of arrays and their initial values, the window, strides, dilations (the arrays', the window's) and padding."""
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    count = 2 * len(operation.results)
    called = attributes_of(operation.attributes).get("called_computations")
    if called is None or len(operation.operands) != count + len(names) + 1 or len(ir.ArrayAttr(called)) != 1:
        return None
    *lists, padding = map(_numbers, list(operation.operands)[count:])
    if padding is None or len(padding) % 2 or None in lists:
        return None
    attributes: dict[str, ir.Attribute] = {
        "padding": dense_attr(np.array(padding, np.int64).reshape(-1, 2), operation.context),
        **{name: ops.integer_list(numbers) for name, numbers in zip(names, lists, strict=True) if numbers is not None},
    }
    made = _create("stablehlo.reduce_window", operation, list(operation.operands)[:count], attributes, regions=1)
    block = functions[ir.FlatSymbolRefAttr(ir.ArrayAttr(called)[0]).value].regions[0].blocks[0]
    types = [argument.type for argument in block.arguments]
    ops.fill(made.regions[0], types, lambda *xs: clone_block(block, dict(zip(block.arguments, xs, strict=True)))[0])
    return made


def _top_k(operation: ir.Operation, _functions: Any) -> ir.Operation | None:
    """Of an array, and how many of its elements."""
    known = _numbers(operation.operands[1]) if len(operation.operands) == 2 else None
    if known is None or len(known) != 1 or known[0] < 0:
        return None
    attributes: dict[str, ir.Attribute] = {"k": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), known[0])}
    if "is_stable" in operation.attributes:
        attributes["is_stable"] = operation.attributes["is_stable"]
    return _create("chlo.top_k", operation, [operation.operands[0]], attributes)


def _rng_bit_generator(operation: ir.Operation, _functions: Any) -> ir.Operation | None:
    """Of a state, and the shape of the bits."""
    known = _numbers(operation.operands[1]) if len(operation.operands) == len(operation.results) == 2 else None
    if known is None or any(size < 0 for size in known) or "rng_algorithm" not in operation.attributes:
        return None
    return ir.Operation.create(
        "stablehlo.rng_bit_generator",
        results=[operation.operands[0].type, ops.tensor_type(operation.results[1], known)],
        operands=[operation.operands[0]],
        attributes={"rng_algorithm": operation.attributes["rng_algorithm"]},
    )


def _call(operation: ir.Operation, _functions: Any) -> ir.Operation:
    """What `hide` made, a call again."""
    attributes = attributes_of(ir.DictAttr(operation.attributes[_HIDDEN]))
    return _create("func.call", operation, list(operation.operands), attributes)


RULES: Mapping[str, Callable[[ir.Operation, Mapping[str, ir.Operation]], ir.Operation | None]] = {
    "stablehlo.dynamic_reduce_window": _reduce_window,
    "stablehlo.dynamic_top_k": _top_k,
    "stablehlo.dynamic_rng_bit_generator": _rng_bit_generator,
    _HIDDEN: _call,
}


# ---- Fourier transforms that waited for their lengths --------------------------------------------------------------


FFT = "hlograph.fft"


def fft_kind(operation: ir.Operation) -> tuple[str, int]:
    """The kind of transform that a custom call stands for, and the number of its axes."""
    config = ir.DictAttr(operation.attributes["backend_config"])
    return ir.StringAttr(config["kind"]).value, ir.IntegerAttr(config["rank"]).value


def of_fft(operation: ir.Operation) -> tuple[Any, tuple[int, ...]]:
    """The kind of a `stablehlo.fft`, and the lengths of its axes."""
    kind = str(operation.attributes["fft_type"]).removeprefix("#stablehlo<fft_type ").removesuffix(">")
    return kind, tuple(integers(operation, "fft_length"))


def close_transforms(module: ir.Module) -> None:
    """Puts `stablehlo.fft` in the place of the calls, whose types are static by now."""
    for operation in list(walk(module)):
        if call_target(operation) != FFT:
            continue
        kind, rank = fft_kind(operation)
        result = operation.results[0]
        real_side = operation.operands[0] if kind == "RFFT" else result
        lengths = ir.RankedTensorType(real_side.type).shape[-rank:]
        with module.context, ir.InsertionPoint(operation), operation.location:
            type_ = stablehlo.FftTypeAttr.get(kind)
            found = stablehlo.fft(operation.operands[0], type_, ops.integer_list(lengths))
        result.replace_all_uses_with(found)
        operation.erase()
