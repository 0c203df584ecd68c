"""Calls of functions as JAX sees them when it transforms them.

In: a function, with the values that decide its sizes. Out: a `FunctionCall`, an operation on 32-bit types where JAX has
no others; its derivatives and batches are calls of the functions that the function gives rise to. Decision to know: a
`Pushforward` is made without its program, which reverse mode never needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ...codegen import dims as dimension
from ...codegen.dtypes import kind_of
from ...codegen.errors import DerivativeError, UnsupportedGraphError
from ...codegen.ir.jax_compat import enable_x64
from ...codegen.signature import CheckSpec, flags_type
from ...codegen.source import restricted
from ..calls.arguments import find_sizes, narrowed
from ..executables.prepared import PreparedProgram, prepare_open
from . import jax_dims
from .callee import Callee, DerivedCallee, Gradient, Shape, weak_results
from .derived import Transformable


@dataclass(frozen=True)
class FunctionCall(Callee):
    """A call of a function whose sizes follow from its operands' shapes.

    Attributes:
        function: the function.
        values: ((argument, element), value) of the arguments that decide sizes; the element is None for a scalar.
        narrow: JAX has no 64-bit types now, and sees 32-bit ones in their place.
        linear: operands in which the function is linear.
    """

    function: Transformable
    values: tuple[tuple[tuple[int, int | None], int], ...] = ()
    narrow: bool = False
    linear: frozenset[int] = frozenset()
    guest = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the program."""
        return self.function.program.name

    @property
    def result_count(self) -> int:  # type: ignore[override]
        """Number of results in the signature."""
        return len(self.function.program.signature.results)

    @property
    def result_names(self) -> Sequence[str]:
        """Those of the signature."""
        return [result.name for result in self.function.program.signature.results]

    @property
    def weak(self) -> frozenset[int]:  # type: ignore[override]
        """Those that the signature calls so."""
        return weak_results(self.function.program.signature)

    def __repr__(self) -> str:
        values = ", ".join(str(value) for _, value in self.values)
        return f"{self.name}[{values}]" if values else self.name

    def sizes(self, shapes: Sequence[Shape]) -> dict[str, int]:
        """The sizes for operands of these shapes."""
        signature = self.function.program.signature
        known = dict(self.values)
        values = {}
        for root in signature.value_roots:
            place = (root.argument, root.element)
            if place not in known:
                raise UnsupportedGraphError(
                    f"argument {signature.arguments[root.argument].name!r} of {self.name} decides a size, so its "
                    "value must be known when the program is compiled"
                )
            values[root.name] = known[place]
        if jax_dims.is_symbolic(shapes):
            return jax_dims.find_sizes(signature, shapes, values)
        return find_sizes(signature, shapes, values)

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """From the operands' shapes; a size that depends on data is refused."""
        flags = self.flags(shapes)
        return [*self.types(shapes), *([flags_type(flags)] if flags else [])]

    def types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """Those of the results alone, for which the program need not be specialized."""
        sizes = self.sizes(shapes)
        types: list[tuple[Any, Any]] = []
        for result in self.function.program.signature.results:
            unknown = frozenset().union(*map(dimension.roots, result.dims)) - sizes.keys()
            if unknown:
                raise UnsupportedGraphError(
                    f"result {result.name!r} of {self.name} has a size that depends on data "
                    f"({', '.join(sorted(unknown))}); inside jax.jit or another transformation sizes must be fixed"
                )
            types.append((jax_dims.shape(result.dims, sizes), self.dtype(result.dtype)))
        return types

    def dtype(self, dtype: Any) -> Any:
        """A dtype of the program as JAX sees it."""
        return narrowed(dtype) if self.narrow else dtype

    def flags(self, shapes: Sequence[Shape]) -> tuple[CheckSpec, ...]:
        """Those that the sizes do not decide."""
        if not self.function.program.signature.checks:
            return ()
        return self.module(shapes).checks

    def module(self, shapes: Sequence[Shape]) -> PreparedProgram:
        """The program specialized; as it is where the shapes are symbols, as when JAX exports."""
        if jax_dims.is_symbolic(shapes):
            return prepare_open(self.function.program)
        return self.function.prepared(self.sizes(shapes))

    def run(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """By the function's own policy: sizes share executables here too."""
        function = self.function
        if not self.narrow:
            return function.run(arrays)
        arguments = function.program.signature.arguments
        with enable_x64(True):
            wide = [jax.lax.convert_element_type(x, a.dtype) for x, a in zip(arrays, arguments, strict=True)]
            found = function.run(wide)
            return [jax.lax.convert_element_type(x, narrowed(x.dtype)) for x in found]

    # ---- transformations --------------------------------------------------------------------------------------------

    @property
    def inline(self) -> Callable[[Sequence[Any]], list[Any]] | None:  # type: ignore[override]
        """As the function that JAX traced."""
        return self.function.derived.inline

    def is_for_jax(self, traced: bool) -> bool:
        """As its source says."""
        source = self.function.program.source
        return source is not None and source.inline is not None and (not source.repeats or (traced and source.shares))

    def gradient(self, active: tuple[int, ...]) -> Gradient | None:
        """In one program: reverse mode runs the function once."""
        try:
            found = self.function.derived.gradient(active)
        except DerivativeError:  # an error where a derivative is run
            found = None
        if found is None:
            return None
        results = self.function.program.signature.results
        of = next(j for j, result in enumerate(results) if kind_of(result.dtype) == "f")
        return Gradient(self.other(found.function, frozenset()), of, found.places)

    def pushforward(self, active: tuple[int, ...]) -> DerivedCallee | None:
        """From the graph's derivative, when it is needed: reverse mode needs its transpose alone."""
        made = Pushforward(self, active)
        return DerivedCallee(made, made.places) if made.places else None

    def transpose(self, linear: tuple[int, ...], seeded: tuple[int, ...]) -> DerivedCallee | None:
        """That of a linear function is its pullback, at zero as anywhere."""
        if not self.linear.issuperset(linear):
            raise DerivativeError(f"{self.name} cannot be transposed: nothing says that it is linear")
        found = self.function.derived.pullback(linear, seeded)
        if found is None:
            return None
        callee = self.other(found.function, self.after(len(seeded)))
        return DerivedCallee(callee, found.places, tuple(range(self.count)), linear, seeded)

    def batched(self, mapped: tuple[bool, ...]) -> Callee | None:
        """The program with a leading axis."""
        for (argument, _), _ in self.values:
            if mapped[argument]:
                name = self.function.program.signature.arguments[argument].name
                raise UnsupportedGraphError(
                    f"argument {name!r} of {self.name} decides a size: a batch over it would be ragged"
                )
        found = self.function.derived.batched(mapped)
        return None if found is None else self.other(found.function, self.linear)

    @property
    def count(self) -> int:
        """Number of operands."""
        return len(self.function.program.signature.arguments)

    def after(self, count: int) -> frozenset[int]:
        """The places of operands that come after this callee's own."""
        return frozenset(range(self.count, self.count + count))

    def other(self, function: Transformable, linear: frozenset[int]) -> FunctionCall:
        """The same call of a function made from this one's."""
        return FunctionCall(function, self.values, self.narrow, linear)


@dataclass(frozen=True)
class Pushforward(Callee):
    """The pushforward of a function. It becomes a program only where it is run: its transpose is the pullback.

    Attributes:
        of: the function's call.
        active: which of its operands have a tangent.
    """

    of: FunctionCall
    active: tuple[int, ...]
    guest = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """The function's, and what it is."""
        return f"{self.of.name}_jvp"

    @property
    def places(self) -> tuple[int, ...]:
        """Which results of the function its results are the tangents of."""
        saved = self.of.function.derived.saved_pullback
        if saved is not None:
            return saved[1].results
        results = self.of.function.program.signature.results
        return tuple(place for place, result in enumerate(results) if kind_of(result.dtype) in "fc")

    @property
    def result_count(self) -> int:  # type: ignore[override]
        """One for each result of the function that is no integer."""
        return len(self.places)

    def __repr__(self) -> str:
        return self.name

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """Those of the function's results."""
        types = self.of.types(shapes[: self.of.count])
        return [types[place] for place in self.places]

    @property
    def inline(self) -> Callable[[Sequence[Any]], list[Any]] | None:  # type: ignore[override]
        """By JAX's forward mode of the function."""
        inline = self.of.inline
        if inline is None:
            return None

        def pushed(operands: Sequence[Any]) -> list[Any]:
            primals, tangents = operands[: self.of.count], operands[self.of.count :]
            function = restricted(inline, primals, self.active, self.places)
            return list(jax.jvp(function, [primals[i] for i in self.active], list(tangents))[1])

        return pushed

    def _whole(self) -> FunctionCall:
        if self.of.function.derived.saved_pullback is not None:
            raise DerivativeError(
                f"{self.of.name} was loaded with its pullback only: jax.grad and jax.vjp work, once; forward mode "
                "(jax.jvp, jax.jacfwd, jax.hessian) needs the graph"
            )
        made = self.of.function.derived.pushforward(self.active)
        return self.of.other(made.function, self.of.after(len(self.active)))

    def module(self, shapes: Sequence[Shape]) -> PreparedProgram:
        """The program's, specialized. The flags of its checks are those of the function, and are left out."""
        return self._whole().module(shapes)

    def run(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """By the function's policy."""
        return self._whole().run(arrays)

    def pushforward(self, active: tuple[int, ...]) -> DerivedCallee | None:
        """That of the program."""
        return self._whole().pushforward(active)

    def batched(self, mapped: tuple[bool, ...]) -> Callee | None:
        """That of the program."""
        return self._whole().batched(mapped)

    def transpose(self, linear: tuple[int, ...], seeded: tuple[int, ...]) -> DerivedCallee | None:
        """The function's pullback."""
        of, saved = self.of, self.of.function.derived.saved_pullback
        if any(i < of.count for i in linear):
            raise DerivativeError(f"{self.name} cannot be transposed: it is linear in the tangents alone")
        back = {self.active[i - of.count]: i for i in linear}
        operands = tuple(range(of.count))
        if saved is not None:
            function, pullback = saved
            places = tuple(back.get(i, -1) for i in pullback.arguments)
            return DerivedCallee(of.other(function, frozenset()), places, operands, (), tuple(range(self.result_count)))
        results = tuple(self.places[j] for j in seeded)
        found = of.function.derived.pullback(tuple(back), results)
        if found is None:
            return None
        callee = of.other(found.function, of.after(len(seeded)))
        return DerivedCallee(callee, tuple(back[i] for i in found.places), operands, (), seeded)
