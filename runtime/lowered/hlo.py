"""Optimized HLO: its text for a reader, its instructions, and XLA's cost analysis.

In: what JAX compiled. Out: text, counts, and flops and bytes, of which those of a loop count once: they are marked as
at least these.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import jax

from ...codegen.errors import CompileError

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


# ---- costs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What XLA says about an executable; None where it says nothing.

    Attributes:
        flops: operations on elements and those of dots, convolutions and reductions; transcendental functions are not
            among them. The body of a loop counts once.
        bytes_accessed: bytes that the executable's kernels read and write, loops likewise.
        complete: False where there is a loop: flops and bytes are at least these.
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
        analysis: Any = compiled.cost_analysis()
        found = (analysis[0] if isinstance(analysis, list) and analysis else analysis) or {"flops": -1}
        flops, accessed = int(found.get("flops", 0)), int(found.get("bytes accessed", 0))  # -1 is not known
        memory: Any = compiled.memory_analysis()
        text = compiled.as_text()
        return cls(
            None if min(flops, accessed) < 0 else flops,
            None if min(flops, accessed) < 0 else accessed,
            text is None or " while(" not in text,
            getattr(memory, "temp_size_in_bytes", None),
            None if text is None else sum(counts(text).values()),
            seconds,
        )
