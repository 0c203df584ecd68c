"""Derivatives and batches of functions that JAX traced, as programs: the transformed function is traced in its turn.

In: a program that `dialects/jax/trace.py` made, and what is wanted of it. Out: a program of `jax.jvp`, `jax.vjp` or
`jax.vmap` of the Python function, with the same symbolic sizes. Decisions to know: it is traced for the sizes of the
call that its origin was traced for, so Python decides the same by them; a decision that its origin did not ask for is
no program's (`UnsupportedGraphError`), since nothing would check it. A batch has a size of its own, of which nothing is
decided. A pullback computes the function again, which for arrays inside `jax.jit` costs more than JAX's own, so that is
used there unless the function is so long that JAX would compile for minutes, or JAX would keep a large array for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ...codegen.constraints import Constraint
from ...codegen.dtypes import kind_of
from ...codegen.errors import UnsupportedGraphError
from ...codegen.inputs import fresh, unique
from ...codegen.ir.jax_compat import enable_x64
from ...codegen.program import Made, Program
from ...codegen.signature import Argument, Result
from ...codegen.source import axes, restricted

Arrays = Sequence[Any]


@dataclass(frozen=True)
class TracedSource:
    """A function of arrays that JAX can trace.

    Attributes:
        function: the function, of the program's arguments; random keys are integers.
        inline: the same under `jax.jit`.
        trace: `dialects.jax.trace.trace` with the options of the first trace.
        weak: for each argument, whether its type gives way to others.
        guards: what was decided of the sizes.
        wide: whether JAX had 64-bit types.
        shares: whether it is so short, and its arrays so small, that JAX may keep them for its derivatives.
        repeats: whether JAX's rules for derivatives compute the same results.
        scales: whether its derivatives are JAX's own rules, which are linear, in floats that do not soon underflow.
    """

    function: Callable[[Arrays], list[Any]]
    inline: Callable[[Arrays], list[Any]]
    trace: Callable[..., Any]
    weak: tuple[bool, ...]
    guards: tuple[Constraint, ...]
    wide: bool
    shares: bool
    repeats: bool
    scales: bool

    def pushforward(self, program: Program, active: tuple[int, ...]) -> Made | None:
        """The program of `jax.jvp`."""
        count, smooth = len(program.signature.arguments), _smooth(program)
        if not smooth:
            return None

        def pushed(arrays: Arrays) -> list[Any]:
            primals, tangents = arrays[:count], arrays[count:]
            function = restricted(self.function, primals, active, smooth)
            return list(jax.jvp(function, [primals[i] for i in active], list(tangents))[1])

        arguments = self._arguments(program)
        tangents = [(f"{program.signature.arguments[i].name}_tangent", arguments[i][1]) for i in active]
        return Made(self._trace(pushed, [*arguments, *tangents], program, "jvp"), smooth)

    def pullback(self, program: Program, active: tuple[int, ...], seeded: tuple[int, ...]) -> Made | None:
        """The program of `jax.vjp`."""
        count = len(program.signature.arguments)

        def pulled(arrays: Arrays) -> list[Any]:
            primals, cotangents = arrays[:count], arrays[count:]
            function = restricted(self.function, primals, active, seeded)
            return list(jax.vjp(function, *[primals[i] for i in active])[1](list(cotangents)))

        results = [program.signature.results[j] for j in seeded]
        cotangents = [(f"{result.name}_cotangent", self._spec(program, result, False)) for result in results]
        return Made(self._trace(pulled, [*self._arguments(program), *cotangents], program, "vjp"), active)

    def gradient(self, program: Program, active: tuple[int, ...], of: int) -> Made | None:
        """The program of `jax.vjp`, at 1."""

        def with_gradient(arrays: Arrays) -> list[Any]:
            every = restricted(self.function, arrays, active)

            def function(*values: Any) -> tuple[Any, list[Any]]:
                results = every(*values)
                return results[of], results

            number, pull, results = jax.vjp(function, *[arrays[i] for i in active], has_aux=True)
            return [*results, *pull(jax.numpy.ones_like(number))]

        return Made(self._trace(with_gradient, self._arguments(program), program, "grad"), active)

    def batched(self, program: Program, mapped: tuple[bool, ...]) -> Made:
        """The program of `jax.vmap`; every result has the batch axis."""
        axis = fresh("batch", {root.name for root in program.signature.roots})
        in_axes = ([0 if flag else None for flag in mapped],)
        arguments = self._arguments(program, mapped, axis)
        made = self._trace(lambda arrays: jax.vmap(self.function, in_axes)(list(arrays)), arguments, program, "batched")
        count = len(program.signature.results)
        return Made(made, tuple(range(count)))

    # ---- tracing ------------------------------------------------------------------------------------------------

    def _arguments(
        self, program: Program, mapped: Sequence[bool] = (), axis: str | None = None
    ) -> list[tuple[str, jax.ShapeDtypeStruct]]:
        """The program's arguments, with names and specs; the mapped ones with a further axis."""
        flags = mapped if axis else [False] * len(self.weak)
        return [
            (argument.name, self._spec(program, argument, weak, axis if flag else None))
            for argument, weak, flag in zip(program.signature.arguments, self.weak, flags, strict=True)
        ]

    def _spec(
        self, program: Program, item: Argument | Result, weak: bool, axis: str | None = None
    ) -> jax.ShapeDtypeStruct:
        shape = (*(() if axis is None else (axis,)), *axes(item, program.signature))
        if None in shape:
            raise UnsupportedGraphError(f"{item} has a size that its arguments do not have")
        spec: Any = jax.ShapeDtypeStruct
        return spec(shape, item.dtype, weak_type=weak)

    def _trace(
        self,
        function: Callable[[Arrays], list[Any]],
        arguments: Sequence[tuple[str, jax.ShapeDtypeStruct]],
        program: Program,
        what: str,
    ) -> Program:
        names = unique([name for name, _ in arguments])
        specs: Mapping[str, Any] = dict(zip(names, [spec for _, spec in arguments], strict=True))
        function.__dict__["__wrapped__"] = inspect.unwrap(self.function)
        with enable_x64(self.wide):
            traced = self.trace(function, specs, name=f"{program.name}_{what}")
        asked = {(guard.relation, guard.lhs - guard.rhs) for guard in self.guards}
        for guard in traced.guards:
            if (guard.relation, guard.lhs - guard.rhs) not in asked:
                raise UnsupportedGraphError(f"it asks whether {guard}, at {guard.where}, which the function does not")
        return traced.program


def _smooth(program: Program) -> tuple[int, ...]:
    return tuple(j for j, result in enumerate(program.signature.results) if kind_of(result.dtype) in "fc")
