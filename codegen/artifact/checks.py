"""What a module must be for others than MLIR's parser to survive it: one walk through its ops.

In: a module that was read, verified; or one of known sizes that was made of it. Out: nothing, or an `ArtifactError`
with what is wrong; and sorts that say all that StableHLO lets them leave out. Decisions to know: MLIR's verifier takes
modules that end the process in XLA's compiler or where it allocates, or that never end. Numbers are far above those of
programs that somebody waits for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from ..errors import ArtifactError
from ..ir.bindings import ir
from ..ir.dynamic_calls import of_fft
from ..ir.values import attributes_of, main_function, names_of, shape_of, static_bytes, symbol_of, walk
from . import custom_calls, words

DEEPEST_CALL = 500  # functions inside of each other; XLA goes through them by recursion
MOST_OPS = 20_000_000  # of a module whose calls are inlined
_DIALECTS = ("stablehlo.", "chlo.", "sdy.")
# Functions are called by name, and are no values. Assertions are those of programs for IREE.
_OPS = frozenset({"func.func", "func.call", "func.return", "cf.assert"})
_WAITING = frozenset(f"stablehlo.{name}" for name in ("infeed", "outfeed", "send", "recv"))
# Ops that call functions, and the attributes that name these.
_CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition", "stablehlo.custom_call": "called_computations"}
_FRONTEND = "mhlo.frontend_attributes"


def check(module: ir.Module, filename: str, allow: Collection[str] = (), *, trusted: bool = False) -> None:
    """Refuses a module that others do not survive.

    Args:
        module: one that verifies.
        filename: for messages.
        allow: names of custom calls, and of instructions to XLA's compiler, that are taken as they are; "*" for all.
        trusted: whether functions without a body may stand there, if nothing calls them or a pass knows what they do.

    Raises:
        ArtifactError: with what it is.
    """
    calls: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for view in module.body.operations:
        operations = walk(view.operation)
        for operation in operations:
            problem = _problem(operation, allow)
            if problem:
                raise ArtifactError(f"{filename}: {problem}")
        if view.operation.name != "func.func":  # a mesh
            continue
        name = symbol_of(view.operation)
        if list(view.operation.regions[0].blocks) or (trusted and words.IMPLEMENTS in view.operation.attributes):
            calls[name], counts[name] = list(_called(operations)), len(operations)
        elif not trusted:
            raise ArtifactError(f"{filename}: the function @{name[:100]} has no body")
    missing = {name for called in calls.values() for name in called} - calls.keys()
    if missing:
        raise ArtifactError(f"{filename} calls the function @{min(missing)[:100]}, which it does not hold")
    _check_calls(calls, counts, filename)
    _check_memory(module, filename)


def _problem(operation: ir.Operation, allow: Collection[str]) -> str:
    """What is wrong with an op by itself; "" where nothing is."""
    name = operation.name
    if not name.startswith(_DIALECTS) and name not in _OPS:
        return f"it has the op {name[:100]}, which is not StableHLO"
    if name in _WAITING:
        return f"it has the op {name}, which would wait for another program for ever"
    if _FRONTEND in operation.attributes:
        for told in names_of(ir.DictAttr(operation.attributes[_FRONTEND])):
            if told.startswith("xla_cpu_") and told not in allow and custom_calls.EVERY not in allow:
                return (
                    f"it tells XLA's compiler {told[:100]!r} on {name}, which can end the process; take the attribute "
                    f"out of the file, or trust it: hlograph.load(path, allow=[{told[:100]!r}])"
                )
    if name == "stablehlo.custom_call":
        return custom_calls.problem(operation, allow)
    return _PROBLEMS[name](operation) if name in _PROBLEMS else ""


def _bitcast(operation: ir.Operation) -> str:
    """To XLA a boolean is a byte here and a bit there: its result has another size than its type."""
    ends = operation.operands[0], operation.results[0]
    types = [str(ir.RankedTensorType(value.type).element_type) for value in ends]
    if types[0] == types[1] or "i1" not in types:
        return ""
    return (
        f"it has a stablehlo.bitcast_convert from {types[0]} to {types[1]}, which XLA compiles to a result of another "
        "size; convert to and from booleans with stablehlo.compare and stablehlo.convert"
    )


def _transform(operation: ir.Operation) -> str:
    """A Fourier transform of another length than its array's reads past the array."""
    kind, lengths = of_fft(operation)
    sizes = shape_of(operation.results[0] if kind == "IRFFT" else operation.operands[0])
    fits = all(size in (None, length) for size, length in zip(sizes[-len(lengths) :], lengths, strict=False))
    return "" if fits else f"it has a Fourier transform of length {lengths} of an array of size {sizes}"


def _sort(operation: ir.Operation) -> str:
    """None; but from here on it is a stable one, which is an answer to what is asked in any case, and says its axis.

    XLA:CPU's other sort reads and writes past the array, or never ends, where the comparison is no order. An axis may
    count from the end, and be the last one where nothing is said; passes want a number.
    """
    given = operation.attributes
    axis = ir.IntegerAttr(given["dimension"]).value if "dimension" in given else -1
    with operation.context:
        given["is_stable"] = ir.BoolAttr.get(True)
        if axis < 0:
            rank = ir.RankedTensorType(operation.operands[0].type).rank
            given["dimension"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis + rank)
    return ""


_PROBLEMS: Mapping[str, Callable[[ir.Operation], str]] = {
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.fft": _transform,
    "stablehlo.sort": _sort,
}


def _called(operations: list[ir.Operation]) -> Iterator[str]:
    """The functions that ops call, each time that they do."""
    for operation in operations:
        found = attributes_of(operation.attributes).get(_CALLS[operation.name]) if operation.name in _CALLS else None
        if found is not None:
            for symbol in ir.ArrayAttr(found) if isinstance(found, ir.ArrayAttr) else [found]:
                yield ir.FlatSymbolRefAttr(symbol).value


def _check_calls(calls: Mapping[str, list[str]], counts: Mapping[str, int], filename: str) -> None:
    """How deep functions call each other, and how much they are where each call is its callee's body."""
    depths: dict[str, int] = {}
    sizes: dict[str, int] = {}
    try:
        for name in TopologicalSorter(calls).static_order():
            depths[name] = 1 + max((depths[callee] for callee in calls[name]), default=0)
            sizes[name] = min(counts[name] + sum(sizes[callee] for callee in calls[name]), MOST_OPS + 1)
    except CycleError as error:
        name = error.args[1][0]
        raise ArtifactError(f"{filename}: the function @{name[:100]} calls itself, or one that does") from None
    deepest = max(depths.values(), default=0)
    if deepest > DEEPEST_CALL:
        raise ArtifactError(f"{filename}: functions call each other {deepest} deep; at most {DEEPEST_CALL} are read")
    if max(sizes.values(), default=0) > MOST_OPS:
        raise ArtifactError(f"{filename}: with its calls inlined it has more than {MOST_OPS} ops")


def _check_memory(module: ir.Module, filename: str) -> None:
    """XLA:CPU ends the process where it cannot have the memory for a result."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        memory = 2**40
    type_ = ir.FunctionType(ir.TypeAttr(main_function(module).attributes["function_type"]).value)
    for number, result in enumerate(type_.results):
        size = static_bytes(result) or 0
        if size > memory:
            raise ArtifactError(f"{filename}: result {number} is {result} of {size} bytes, and there are {memory}")
