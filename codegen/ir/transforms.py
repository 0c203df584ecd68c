"""Fourier transforms that waited for their lengths: the custom call `hlograph.fft` as `stablehlo.fft`."""

from __future__ import annotations

from typing import Any

from .attributes import call_target, integers
from .bindings import ir, stablehlo
from .ops import integer_list
from .walk import walk

TARGET = "hlograph.fft"


def kind_of(operation: ir.Operation) -> tuple[str, int]:
    """The kind of transform that a custom call stands for, and the number of its axes."""
    config = ir.DictAttr(operation.attributes["backend_config"])
    return ir.StringAttr(config["kind"]).value, ir.IntegerAttr(config["rank"]).value


def of_fft(operation: ir.Operation) -> tuple[Any, tuple[int, ...]]:
    """The kind of a `stablehlo.fft`, and the lengths of its axes."""
    kind = str(operation.attributes["fft_type"]).removeprefix("#stablehlo<fft_type ").removesuffix(">")
    return kind, tuple(integers(operation, "fft_length"))


def close(module: ir.Module) -> None:
    """Puts `stablehlo.fft` in the place of the calls, whose types are static by now."""
    for operation in list(walk(module)):
        if call_target(operation) != TARGET:
            continue
        kind, rank = kind_of(operation)
        result = operation.results[0]
        real_side = operation.operands[0] if kind == "RFFT" else result
        lengths = ir.RankedTensorType(real_side.type).shape[-rank:]
        with module.context, ir.InsertionPoint(operation), operation.location:
            type_ = stablehlo.FftTypeAttr.get(kind)
            found = stablehlo.fft(operation.operands[0], type_, integer_list(lengths))
        result.replace_all_uses_with(found)
        operation.erase()
