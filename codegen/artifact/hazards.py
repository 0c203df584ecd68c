"""What verifies and still ends the process, or never ends: in XLA's compiler, or where it allocates.

In: a module that was read, or one of known sizes that was made of it. Out: nothing, or an `ArtifactError`; and sorts
that XLA:CPU survives. Decision to know: numbers are far above those of programs that somebody waits for.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from ..errors import ArtifactError, CompileError
from ..ir.attributes import flag_of, names_of
from ..ir.bindings import ir
from ..ir.transforms import of_fft
from ..ir.types import static_bytes
from ..ir.values import shape_of
from ..ir.walk import main_function, symbol_of, walk
from .custom_calls import EVERY
from .structure import called

DEEPEST_CALL = 500  # functions inside of each other; XLA goes through them by recursion
MOST_OPS = 20_000_000  # of a module whose calls are inlined
_FRONTEND = "mhlo.frontend_attributes"
# Ops, and elements that XLA does not have in them.
_SIX_BITS = dict.fromkeys(["stablehlo.convert", "stablehlo.bitcast_convert"], frozenset(["f6E2M3FN", "f6E3M2FN"]))
_TWO_BITS = dict.fromkeys(["stablehlo.concatenate", "stablehlo.sort"], frozenset(["i2", "ui2"]))
_WAITING = frozenset(f"stablehlo.{name}" for name in ("infeed", "outfeed", "send", "recv"))


def check(module: ir.Module, filename: str, allow: Collection[str] = ()) -> None:
    """Refuses a module that XLA does not survive.

    Args:
        module: one that verifies.
        filename: for messages.
        allow: names of instructions to XLA's compiler that are taken as they are, or `EVERY`.

    Raises:
        ArtifactError: with what it is.
    """
    calls: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for view in module.body.operations:
        if view.operation.name == "func.func":
            operations = walk(view.operation)
            name = symbol_of(view.operation)
            counts[name] = len(operations)
            calls[name] = list(called(operations))
            for operation in operations:
                if operation.name in _WAITING:
                    raise ArtifactError(
                        f"{filename} has the op {operation.name}, which would wait for another program for ever"
                    )
                if operation.name == "stablehlo.bitcast_convert":
                    _check_bitcast(operation, filename)
                _check_frontend(operation, filename, allow)
                _check_transform(operation, filename)
    _check_calls(calls, counts, filename)
    _check_memory(module, filename)


def _check_bitcast(operation: ir.Operation, filename: str) -> None:
    """To XLA a boolean is a byte here and a bit there: its result has another size than its type."""
    ends = operation.operands[0], operation.results[0]
    types = [str(ir.RankedTensorType(value.type).element_type) for value in ends]
    if types[0] != types[1] and "i1" in types:
        raise ArtifactError(
            f"{filename} has a stablehlo.bitcast_convert from {types[0]} to {types[1]}, which XLA compiles to a result "
            "of another size; convert to and from booleans with stablehlo.compare and stablehlo.convert"
        )


def _check_frontend(operation: ir.Operation, filename: str, allow: Collection[str]) -> None:
    """Instructions to XLA's compiler are for whoever knows what it makes of them."""
    if _FRONTEND not in operation.attributes:
        return
    for name in names_of(ir.DictAttr(operation.attributes[_FRONTEND])):
        if name.startswith("xla_cpu_") and name not in allow and EVERY not in allow:
            raise ArtifactError(
                f"{filename} tells XLA's compiler {name[:100]!r} on {operation.name}, which can end the process; take "
                f"the attribute out of the file, or trust it: hlograph.load(path, allow=[{name[:100]!r}])"
            )


def _check_transform(operation: ir.Operation, filename: str) -> None:
    """A Fourier transform of another length than its array's: it reads past the array, and MLIR's verifier takes it."""
    if operation.name == "stablehlo.fft":
        kind, lengths = of_fft(operation)
        sizes = shape_of(operation.results[0] if kind == "IRFFT" else operation.operands[0])
        if any(size not in (None, length) for size, length in zip(sizes[-len(lengths) :], lengths, strict=False)):
            raise ArtifactError(f"{filename} has a Fourier transform of length {lengths} of an array of size {sizes}")


def _check_calls(calls: Mapping[str, list[str]], counts: Mapping[str, int], filename: str) -> None:
    """How deep functions call each other, and how much they are where each call is its callee's body."""
    depths: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for start in calls:
        stack = [start]
        while stack:
            name = stack[-1]
            missing = [callee for callee in calls.get(name, ()) if callee not in sizes]
            if missing and len(stack) <= len(calls):
                stack.append(missing[0])
                continue
            stack.pop()
            if len(stack) >= len(calls) and missing:
                raise ArtifactError(f"{filename}: the function @{name[:100]} calls itself, or one that does")
            inner = calls.get(name, ())
            depths[name] = 1 + max((depths[callee] for callee in inner), default=0)
            sizes[name] = min(counts.get(name, 0) + sum(sizes[callee] for callee in inner), MOST_OPS + 1)
    deepest = max(depths.values(), default=0)
    if deepest > DEEPEST_CALL:
        raise ArtifactError(f"{filename}: functions call each other {deepest} deep; at most {DEEPEST_CALL} are read")
    if max(sizes.values(), default=0) > MOST_OPS:
        raise ArtifactError(f"{filename}: with its calls inlined it has more than {MOST_OPS} ops")


def _check_memory(module: ir.Module, filename: str) -> None:
    """XLA:CPU ends the process where it cannot have the memory for a result."""
    type_ = ir.FunctionType(ir.TypeAttr(main_function(module).attributes["function_type"]).value)
    for number, result in enumerate(type_.results):
        size = static_bytes(result) or 0
        if size > _memory():
            raise ArtifactError(f"{filename}: result {number} is {result} of {size} bytes, and there are {_memory()}")


def _memory() -> int:
    """The machine's memory in bytes."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**40


def refuse_elements(module: ir.Module, platform: str) -> None:
    """Refuses elements of which XLA makes wrong numbers, or on which it ends the process, in a module from anywhere.

    Raises:
        CompileError: with the op.
    """
    unknown = {**_SIX_BITS, **(_TWO_BITS if platform == "cpu" else {})}
    for operation in walk(module):
        if operation.name in unknown:
            types = {str(getattr(x.type, "element_type", "")) for x in (*operation.operands, *operation.results)}
            found = sorted(types & unknown[operation.name])
            if found:
                raise CompileError(f"XLA has no {operation.name} of {found[0]} for {platform}; use a wider type there")


def stable_sorts(module: ir.Module) -> int:
    """Makes all sorts stable, in place; how many were not.

    XLA:CPU's other sort reads and writes past the array, or never ends, where the comparison is no order. A stable one
    is an answer to what is asked in any case.
    """
    found = [op for op in walk(module) if op.name == "stablehlo.sort" and not flag_of(op, "is_stable", False)]
    for operation in found:
        operation.attributes["is_stable"] = ir.BoolAttr.get(True, module.context)
    return len(found)
