"""What XLA says of the executable that it makes of a program: operations, memory, instructions.

In: a static program, or what JAX compiled. Out: a `Cost`. Decision to know: the numbers are XLA's own estimates and
differ between its releases; a number that it does not give is None, never zero.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import jax

from ...codegen.errors import CompileError, PassError
from ...codegen.ir.jax_compat import enable_x64
from ...codegen.program import Program
from ..executables.devices import compile_options
from ..transforms.callee import StaticModule
from ..transforms.primitive import call
from . import hlo


@dataclass(frozen=True)
class Cost:
    """What XLA says of an executable; None where it says nothing.

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
        work = hlo.work(compiled)
        memory: Any = compiled.memory_analysis()
        text = compiled.as_text()
        return cls(
            None if work is None else int(work.flops),
            None if work is None else int(work.bytes_accessed),
            work is None or work.complete,
            getattr(memory, "temp_size_in_bytes", None),
            None if text is None else sum(hlo.counts(text).values()),
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
            f"{program.name} has open sizes ({names}), and XLA compiles for known ones: specialize it first"
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
