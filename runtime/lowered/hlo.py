"""Optimized HLO: its text for a reader, its instructions, and XLA's cost analysis with loops as often as they run.

In: what JAX compiled. Out: text, counts, and flops and bytes. XLA's own analysis counts the body of a loop once, so a
loop that is rolled up would seem to have saved nearly all of its work. Decision to know: the analysis is XLA's, asked
of each loop's body as its own module and multiplied with the trip count that XLA has found. To make the body the
entry of the module, three fields of its serialized form are written anew.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import jax
import numpy as np

from ...codegen.errors import CompileError, PassError
from ...codegen.ir.bindings import HLO_COST_ANALYSIS
from ...codegen.ir.jax_compat import enable_x64
from ...codegen.program import Program
from .. import wire
from ..executables.devices import compile_options
from ..transforms.callee import StaticModule
from ..transforms.primitive import call

_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = .*? ([a-z][a-z0-9-]*)\(", re.MULTILINE)
_TABLES = re.compile(r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d.*\n)*\n*", re.MULTILINE)


def counts(text: str) -> dict[str, int]:
    """How often each instruction occurs in HLO text, most frequent first; parameters are not counted."""
    found = Counter(match[1] for match in _INSTRUCTION.finditer(text))
    found.pop("parameter", None)
    return dict(found.most_common())


def readable(text: str) -> str:
    """HLO text without the tables of Python's files and lines; the names of the graph's variables stay."""
    return re.sub(r" ?stack_frame_id=\d+", "", _TABLES.sub("", text)).replace(", metadata={}", "")


# ---- loops ----------------------------------------------------------------------------------------------------------


# Flops, bytes accessed, and a number above 0 where a loop counts once because nothing says how often it runs.
_Work = np.ndarray[Any, Any]
_ONCE = np.array([0.0, 0.0, 1.0])
# What an HLO computation runs: the alternatives of one place, and how often; None where nothing says it.
_Runs = list[tuple[list[str], int | None]]


def work(compiled: jax.stages.Compiled) -> _Work | None:
    """XLA's flops and bytes accessed of an executable, loops as often as they run; None where XLA gives none."""
    analysis = compiled.cost_analysis()
    whole = _as_work(analysis[0] if isinstance(analysis, list) and analysis else analysis)
    text = compiled.as_text()
    if whole is None or text is None or " while(" not in text:
        return whole
    entry, computations = _parse(text)
    repeated = [names[0] for runs in computations.values() for names, times in runs if times != 1]
    once = _each(compiled, repeated)
    if once is None:
        return whole + _ONCE

    def extra(name: str) -> _Work:
        """What is missing where each loop inside counts once."""
        found = np.array([0, 0, name not in computations], float)  # or text that this parser does not understand
        for names, times in computations.get(name, ()):
            most = max(map(extra, names), key=lambda each: each[0])  # the branch that XLA counts
            found += most + _ONCE if times is None else times * most
            if times is not None and times != 1:
                found += (times - 1) * once[names[0]]
        return found

    return whole + extra(entry)


def _as_work(analysis: Any) -> _Work | None:
    """XLA leaves out what is zero, and gives -1 for what it does not know."""
    if not analysis:
        return None
    found = np.array([analysis.get("flops", 0.0), analysis.get("bytes accessed", 0.0), 0.0])
    return None if found.min() < 0 else found


_HEAD = re.compile(r"^(ENTRY )?%?([\w.-]+) \(.*\{$")
_NAME = r"%?([\w.-]+)"


def _parse(text: str) -> tuple[str, dict[str, _Runs]]:
    """The entry's name, and what each computation runs."""
    found: dict[str, _Runs] = {}
    entry, current = "", _Runs()
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head is not None:
            current = found[head[2]] = []
            entry = head[2] if head[1] else entry
        elif " while(" in line:
            trips = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', line)
            names = [match for key in ("condition", "body") for match in re.findall(rf"\b{key}={_NAME}", line)]
            current += [([name], None if trips is None else int(trips[1])) for name in names]
        elif " call(" in line:
            current += [([name], 1) for name in re.findall(rf"\bto_apply={_NAME}", line)]
        elif " conditional(" in line:
            several = re.search(r"\bbranch_computations=\{([^}]*)\}", line)
            names = several[1].split(",") if several else re.findall(rf"\b(?:true|false)_computation={_NAME}", line)
            current += [([name.strip().lstrip("%") for name in names], 1)] if names else []
    return entry, found


def _each(compiled: jax.stages.Compiled, names: Sequence[str]) -> dict[str, _Work] | None:
    """XLA's analysis of computations by themselves; None where this executable or jaxlib does not offer it."""
    executable: Any = compiled.runtime_executable()
    client = getattr(executable, "client", None)
    if HLO_COST_ANALYSIS is None or client is None or not hasattr(executable, "hlo_modules"):
        return None
    module, *others = executable.hlo_modules()
    if others:
        return None
    data: bytes = module.as_serialized_hlo_module_proto()
    found = {}
    for name in dict.fromkeys(names):
        analysis = HLO_COST_ANALYSIS(client, type(module).from_serialized_hlo_module_proto(with_entry(data, name)))
        own = _as_work(analysis)
        found[name] = np.zeros(3) if own is None else own
    return found


# ---- the serialized module ------------------------------------------------------------------------------------------
# Field numbers of HloModuleProto and HloComputationProto, in XLA's service/hlo.proto.

_MODULE_NAME, _ENTRY_NAME, _COMPUTATION, _SHAPE, _ENTRY_ID, _STACK_FRAMES = 1, 2, 3, 4, 6, 17
_COMPUTATION_NAME, _COMPUTATION_SHAPE, _COMPUTATION_ID = 1, 4, 5


def with_entry(data: bytes, name: str) -> bytes:
    """A serialized HLO module with another of its computations as the entry.

    Raises:
        KeyError: it has no computation of that name.
    """
    kept = [raw for number, _, raw in wire.fields(data) if number in (_MODULE_NAME, _COMPUTATION, _STACK_FRAMES)]
    for number, value, _ in wire.fields(data):
        if number == _COMPUTATION and isinstance(value, bytes):
            computation = {inner: content for inner, content, _ in wire.fields(value)}
            if computation[_COMPUTATION_NAME] == name.encode():
                shape, identifier = computation[_COMPUTATION_SHAPE], computation[_COMPUTATION_ID]
                assert isinstance(shape, bytes) and isinstance(identifier, int)
                entry = (
                    wire.field(_ENTRY_NAME, name.encode()),
                    wire.field(_SHAPE, shape),
                    wire.field(_ENTRY_ID, identifier),
                )
                return b"".join([*kept, *entry])
    raise KeyError(name)


# ---- costs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What XLA says about an executable; None where it says nothing.

    Attributes:
        flops: operations on elements and those of dots, convolutions and reductions; transcendental functions are not
            among them. The body of a loop counts as often as it runs.
        bytes_accessed: bytes that the executable's kernels read and write, loops likewise.
        complete: False where a loop counts once only, because XLA does not know how often it runs: flops and bytes are
            at least these.
        temporary: bytes of memory besides arguments and results.
        instructions: instructions of the optimized HLO, those inside of fusions and loops included, parameters not.
        seconds: that XLA took; a compile found in JAX's cache on disk takes less.
    """

    flops: int | None
    bytes_accessed: int | None
    complete: bool
    temporary: int | None
    instructions: int | None
    seconds: float = field(compare=False)

    @classmethod
    def of(cls, lowered: jax.stages.Lowered) -> Cost:
        """That of what JAX lowered, which is compiled for it.

        Raises:
            CompileError: XLA refuses it.
        """
        started = time.perf_counter()
        try:
            compiled = lowered.compile()
        except jax.errors.JaxRuntimeError as error:
            raise CompileError(f"compiling failed: {error}") from None
        seconds = time.perf_counter() - started
        found = work(compiled)
        memory: Any = compiled.memory_analysis()
        text = compiled.as_text()
        return cls(
            None if found is None else int(found[0]),
            None if found is None else int(found[1]),
            found is None or not found[2],
            getattr(memory, "temp_size_in_bytes", None),
            None if text is None else sum(counts(text).values()),
            seconds,
        )


def measure(program: Program, shardings: Sequence[Any] = ()) -> Cost:
    """Compiles a static program as it is, with no passes of ours, and asks XLA what it costs.

    Args:
        program: all its sizes are known.
        shardings: of its arguments, None for one that has none; by default all are on JAX's default device.

    Raises:
        PassError: a size is open.
        CompileError: XLA refuses the program.
    """
    if not program.signature.is_static:
        names = ", ".join(root.name for root in program.signature.roots)
        raise PassError(
            f"{program.name} has dynamic sizes ({names}), and XLA compiles for known ones: specialize it first"
        )
    module = StaticModule(program)

    def traced(*arrays: Any) -> Any:
        return tuple(call(module, arrays))

    traced.__name__ = traced.__qualname__ = program.name
    specs = [
        jax.ShapeDtypeStruct(argument.dims, argument.dtype, sharding=sharding)
        for argument, sharding in zip_longest(program.signature.arguments, shardings)
    ]
    device = next((device for sharding in shardings if sharding is not None for device in sharding.device_set), None)
    with enable_x64(True):
        lowered = jax.jit(traced, compiler_options=compile_options(program, device), keep_unused=True).lower(*specs)
        return Cost.of(lowered)
