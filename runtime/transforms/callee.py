"""What one `stablehlo_call` equation calls: a program, and what JAX's transformations may make of it.

In: what a callee is made of. Out: what the primitive asks for: types, modules, derivatives, batches. `StaticModule` is
a program and nothing more; `function_call.py` has the calls of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...codegen.errors import DerivativeError, UnsupportedGraphError
from ...codegen.ir.jax_compat import keep_weakly
from ...codegen.program import Program
from ...codegen.signature import CheckSpec, Signature, flags_type
from ..executables.prepared import PreparedProgram

Shape = tuple[int, ...]


@dataclass(frozen=True)
class DerivedCallee:
    """A callee made from another one.

    Attributes:
        callee: it.
        places: for each of its results, which result (pushforward) or operand (transpose) of the other it belongs to;
            -1 for none.
        operands: for a transpose, which operands of the other come before the cotangents.
        zeros: those among them for which zeros are given.
        seeds: for a transpose, of which results it takes cotangents.
    """

    callee: Callee
    places: tuple[int, ...]
    operands: tuple[int, ...] = ()
    zeros: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Gradient:
    """A callee whose results are another one's, and then the gradients of one of them.

    Attributes:
        callee: it.
        of: which result, a real number.
        places: of which operands.
    """

    callee: Callee
    of: int
    places: tuple[int, ...]


class Callee:
    """The parameter of a `stablehlo_call` equation. Equal ones call the same.

    Attributes:
        name: seen in jaxprs, profiles and symbols.
        result_count: number of results, without the flags of checks.
        weak: the results whose types give way to others, as those of Python's numbers do.
        guest: whether its module goes into modules that somebody else compiles.
        inline: the same as a function that JAX can transform; None for one that did not come from JAX. Without a
            pushforward, transpose or batched version, which raises `UnsupportedGraphError` or is None, that is done.
    """

    name: str
    result_count: int
    weak: frozenset[int] = frozenset()
    guest: bool = False
    inline: Callable[[Sequence[Any]], list[Any]] | None = None

    def __init_subclass__(cls) -> None:
        keep_weakly(cls)  # a cache of JAX's keeps no program, and no module, alive

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """Shape and dtype of each result; the last one holds the flags of the checks where there are any."""
        raise NotImplementedError

    @property
    def result_names(self) -> Sequence[str]:
        """What messages call the results, without the flags of checks."""
        return [str(number) for number in range(self.result_count)]

    def module(self, shapes: Sequence[Shape]) -> PreparedProgram:
        """The module for operands of these shapes."""
        raise NotImplementedError

    def run(self, arrays: Sequence[Any]) -> Sequence[Any] | None:
        """The results for arrays, outside of any transformation; checks raise, and no flags come back.

        Returns:
            None where the primitive, jitted alone, is how it is run.
        """
        return None

    def flags(self, shapes: Sequence[Shape]) -> tuple[CheckSpec, ...]:
        """The checks whose flags are the last result."""
        return ()

    def is_for_jax(self, traced: bool) -> bool:
        """Whether JAX itself makes better derivatives of `inline`, for operands that are traced or not."""
        return False

    def gradient(self, active: tuple[int, ...]) -> Gradient | None:
        """With gradients by the active operands of its only result that is no integer; None where it is no number."""
        return None

    def pushforward(self, active: tuple[int, ...]) -> DerivedCallee | None:
        """From operands and tangents of the active ones to tangents of results; None when no result depends on them."""
        raise DerivativeError(f"{self.name} has no derivative: it is a module without its graph")

    def transpose(self, linear: tuple[int, ...], seeded: tuple[int, ...]) -> DerivedCallee | None:
        """From the other operands and cotangents of results to cotangents of the linear operands."""
        raise DerivativeError(f"{self.name} has no transpose: it is a module without its graph")

    def batched(self, mapped: tuple[bool, ...]) -> Callee | None:
        """With a leading batch axis on the mapped operands and all results; None where a loop has to do."""
        return None


class StaticModule(Callee):
    """A static program and nothing more, compared by identity; `outputs` are its results where they are packed.

    It refers to no function. JAX's caches keep what is traced for as long as the traced Python function lives; one that
    led back to it from there would live forever.
    """

    def __init__(
        self,
        program: Program,
        prepared: PreparedProgram | None = None,
        outputs: Sequence[tuple[Shape, Any]] | None = None,
    ) -> None:
        self.program = program
        self.name = program.name
        self.result_count = len(program.signature.results if outputs is None else outputs)
        self.weak = weak_results(program.signature) if outputs is None else frozenset()
        self._prepared = PreparedProgram(program) if prepared is None else prepared
        self._outputs = outputs

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """Those of the signature, or of the packed results, with which the flags of checks are."""
        if self._outputs is not None:
            return list(self._outputs)
        types: list[tuple[Any, Any]] = [(result.dims, result.dtype) for result in self.program.signature.results]
        checks = self._prepared.checks
        return [*types, *([flags_type(checks)] if checks else [])]

    @property
    def result_names(self) -> Sequence[str]:
        """Those of the signature.

        Raises:
            UnsupportedGraphError: they have padding, in which anything may be.
        """
        if any(argument.size for argument in self.program.signature.arguments):
            raise UnsupportedGraphError(
                f"checkify cannot look into {self.name}, which is compiled already, with padding: give it the function "
                "under jax.jit, checkify.checkify(jax.jit(fn))"
            )
        return [result.name for result in self.program.signature.results]

    def module(self, shapes: Sequence[Shape]) -> PreparedProgram:
        """The program, which has one set of shapes."""
        return self._prepared

    def flags(self, shapes: Sequence[Shape]) -> tuple[CheckSpec, ...]:
        """Those of the signature."""
        return self._prepared.checks

    def __repr__(self) -> str:
        return self.name


def weak_results(signature: Signature) -> frozenset[int]:
    """The results whose types give way to others."""
    return frozenset(place for place, result in enumerate(signature.results) if result.weak)
