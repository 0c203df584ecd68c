"""What one `stablehlo_call` equation calls: a program, and what JAX's transformations may make of it.

`FunctionCall` is a `Function` as JAX sees it when it is transformed: with the values that decide sizes, and as an
operation on 32-bit types where JAX has no others. `StaticModule` is a program and nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ...codegen import dims as dimension
from ...codegen.dtypes import kind_of
from ...codegen.errors import DerivativeError, UnsupportedGraphError
from ...codegen.ir.jax_compat import enable_x64, initialize_lapack, keep_weakly
from ...codegen.passes import cpu_nan, cpu_updates, device_linalg
from ...codegen.program import Program
from ...codegen.signature import CheckSpec
from ...codegen.source import restricted
from ..calls.arguments import find_sizes, narrowed
from . import jax_dims

if TYPE_CHECKING:
    from ..function import Function

Shape = tuple[int, ...]

_LINALG = device_linalg.OPS | {"stablehlo.custom_call"}


@dataclass(frozen=True)
class Linear:
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


@dataclass(frozen=True)
class Batched:
    """A callee for a batch; `same` says of each result whether it has no batch axis."""

    callee: Callee
    same: tuple[bool, ...]


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

    def module(self, shapes: Sequence[Shape]) -> Module:
        """The module for operands of these shapes."""
        raise NotImplementedError

    def run(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The results for arrays, outside of any transformation; checks raise, and no flags come back."""
        from .primitive import call

        def alone(*operands: Any) -> Any:
            return call(self, operands)

        alone.__name__ = alone.__qualname__ = self.name
        # Under `jax.debug_nans` JAX looks for the operation that made a NaN; this is one, there is nothing inside.
        alone._apply_primitive = True  # type: ignore[attr-defined]
        with jax.disable_jit(False):  # a module has no other way to run
            return jax.jit(alone)(*arrays)

    def flags(self, shapes: Sequence[Shape]) -> tuple[CheckSpec, ...]:
        """The checks whose flags are the last result."""
        return ()

    def is_for_jax(self, traced: bool) -> bool:
        """Whether JAX itself makes better derivatives of `inline`, for operands that are traced or not."""
        return False

    def gradient(self, active: tuple[int, ...]) -> Gradient | None:
        """With gradients by the active operands of its only result that is no integer; None where it is no number."""
        return None

    def pushforward(self, active: tuple[int, ...]) -> Linear | None:
        """From operands and tangents of the active ones to tangents of results; None when no result depends on them."""
        raise DerivativeError(f"{self.name} has no derivative: it is a module without its graph")

    def transpose(self, linear: tuple[int, ...], seeded: tuple[int, ...]) -> Linear | None:
        """From the other operands and cotangents of results to cotangents of the linear operands."""
        raise DerivativeError(f"{self.name} has no transpose: it is a module without its graph")

    def batched(self, mapped: tuple[bool, ...]) -> Batched | None:
        """With a leading batch axis on the mapped operands; None where a loop over the batch has to do."""
        return None


class Module:
    """A program as it is put into JAX's modules, prepared once per platform.

    Args:
        program: with jax_dims sizes only where JAX has them too, as when it exports.
        sizes: values of scalar int32 arguments at the end that the caller does not give.
        results: which results the caller gets besides the flags of checks; all by default.
        passes: what a static program goes through first, see `passes.optimize.resolve`; the program must be this
            module's own, which they change.

    Attributes:
        places: the results that the caller gets.
        checks: those of the flags, which are the last of these results.
    """

    def __init__(
        self,
        program: Program,
        sizes: Sequence[int] = (),
        results: Sequence[int] | None = None,
        passes: Sequence[str] = (),
    ) -> None:
        self.program = program
        self._passes = tuple(passes)
        self.sizes = tuple(sizes)
        self.checks = program.signature.checks
        count = len(program.signature.results)
        self.places = (*(range(count) if results is None else results), *([count] if self.checks else []))
        self._prepared: dict[tuple[str, bool], bytes] = {}
        self._lock = threading.Lock()

    @property
    def calls_lapack(self) -> bool:
        """Whether a module for CPU may call LAPACK."""
        return not _LINALG.isdisjoint(self.program.op_counts())

    def optimize(self) -> Program:
        """The program after the passes."""
        with self._lock:
            self._optimize()
        return self.program

    def _optimize(self) -> None:
        if self._passes and self.program.signature.is_static and self.program.optimized != self._passes:
            self.program.optimize_own(self._passes)
        self._passes = ()

    def bytecode(self, platform: str, guest: bool = False) -> bytes:
        """The module for a platform, or for any if it is "", as MLIR bytecode.

        Args:
            platform: for XLA's compiler, as JAX calls it.
            guest: it goes into a module that somebody else compiles, without the compile options that it needs.
        """
        with self._lock:
            if (platform, guest) not in self._prepared:
                if self.calls_lapack and platform in ("cpu", ""):
                    initialize_lapack()
                program = self.program
                self._optimize()
                if platform and program.signature.is_static and not device_linalg.OPS.isdisjoint(program.op_counts()):
                    program = program.run_passes([f"device-linalg{{platform={platform}}}"])
                if platform == "cpu":
                    counts = program.op_counts()
                    passes = [] if cpu_updates.OPS.isdisjoint(counts) else ["cpu-updates"]
                    passes += ["cpu-initial"] if program.has_endangered_initial_value() else []
                    passes += ["cpu-nan"] if guest and not cpu_nan.OPS.isdisjoint(counts) else []
                    program = program.run_passes(passes) if passes else program
                self._prepared[platform, guest] = program.to_bytecode()
            return self._prepared[platform, guest]


class StaticModule(Callee):
    """A static program and nothing more, compared by identity.

    It refers to no function. JAX's caches keep what is traced for as long as the traced Python function lives; one that
    led back to it from there would live forever.
    """

    def __init__(self, program: Program, module: Module | None = None, passes: Sequence[str] = ()) -> None:
        self.program = program
        self.name = program.name
        self.result_count = len(program.signature.results)
        self.weak = _weak(program)
        self._module = Module(program, passes=passes) if module is None else module

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """As in the signature."""
        types: list[tuple[Any, Any]] = [(result.dims, result.dtype) for result in self.program.signature.results]
        checks = self._module.checks
        return [*types, *([((len(checks),), np.dtype(bool))] if checks else [])]

    def module(self, shapes: Sequence[Shape]) -> Module:
        """The program's."""
        return self._module

    def flags(self, shapes: Sequence[Shape]) -> tuple[CheckSpec, ...]:
        """As in the signature."""
        return self._module.checks

    def __repr__(self) -> str:
        return self.name


def _weak(program: Program) -> frozenset[int]:
    return frozenset(place for place, result in enumerate(program.signature.results) if result.weak)


@dataclass(frozen=True)
class FunctionCall(Callee):
    """A call of a function whose sizes follow from its operands' shapes.

    Attributes:
        function: the function.
        values: ((argument, element), value) of the arguments that decide sizes; the element is None for a scalar.
        narrow: JAX has no 64-bit types now, and sees 32-bit ones in their place.
        linear: operands in which the function is linear.
    """

    function: Function
    values: tuple[tuple[tuple[int, int | None], int], ...] = ()
    narrow: bool = False
    linear: frozenset[int] = frozenset()
    guest = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """The function's."""
        return self.function.__name__

    @property
    def result_count(self) -> int:  # type: ignore[override]
        """As in the signature."""
        return len(self.function.program.signature.results)

    @property
    def weak(self) -> frozenset[int]:  # type: ignore[override]
        """As in the signature."""
        return _weak(self.function.program)

    def __repr__(self) -> str:
        values = ", ".join(str(value) for _, value in self.values)
        return f"{self.name}[{values}]" if values else self.name

    def sizes(self, shapes: Sequence[Shape]) -> dict[str, int]:
        """The sizes for operands of these shapes."""
        signature = self.function.program.signature
        known = dict(self.values)
        values = {}
        for root in signature.roots:
            if root.axis is None:
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
        return [*self.types(shapes), *([((len(flags),), np.dtype(bool))] if flags else [])]

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

    def module(self, shapes: Sequence[Shape]) -> Module:
        """The program specialized; as it is where the shapes are jax_dims, as when JAX exports."""
        if jax_dims.is_symbolic(shapes):
            return self.function.open_module()
        return self.function.static_module(self.sizes(shapes))

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

    def pushforward(self, active: tuple[int, ...]) -> Linear | None:
        """From the graph's derivative, when it is needed: reverse mode needs its transpose alone."""
        made = Pushforward(self, active)
        return Linear(made, made.places) if made.places else None

    def transpose(self, linear: tuple[int, ...], seeded: tuple[int, ...]) -> Linear | None:
        """That of a linear function is its pullback, at zero as anywhere."""
        if not self.linear.issuperset(linear):
            raise DerivativeError(f"{self.name} cannot be transposed: nothing says that it is linear")
        found = self.function.derived.pullback(linear, seeded)
        if found is None:
            return None
        callee = self.other(found.function, self.after(len(seeded)))
        return Linear(callee, found.places, tuple(range(self.count)), linear, seeded)

    def batched(self, mapped: tuple[bool, ...]) -> Batched | None:
        """From the graph with a leading axis."""
        for (argument, _), _ in self.values:
            if mapped[argument]:
                name = self.function.program.signature.arguments[argument].name
                raise UnsupportedGraphError(
                    f"argument {name!r} of {self.name} decides a size: a batch over it would be ragged"
                )
        found = self.function.derived.batched(mapped)
        return None if found is None else Batched(self.other(found.function, self.linear), found.same)

    @property
    def count(self) -> int:
        """Number of operands."""
        return len(self.function.program.signature.arguments)

    def after(self, count: int) -> frozenset[int]:
        """The places of operands that come after this callee's own."""
        return frozenset(range(self.count, self.count + count))

    def other(self, function: Function, linear: frozenset[int]) -> FunctionCall:
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

    def module(self, shapes: Sequence[Shape]) -> Module:
        """The program's, specialized. The flags of its checks are those of the function, and are left out."""
        return self._whole().module(shapes)

    def run(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """By the function's policy."""
        return self._whole().run(arrays)

    def pushforward(self, active: tuple[int, ...]) -> Linear | None:
        """That of the program."""
        return self._whole().pushforward(active)

    def batched(self, mapped: tuple[bool, ...]) -> Batched | None:
        """That of the program."""
        return self._whole().batched(mapped)

    def transpose(self, linear: tuple[int, ...], seeded: tuple[int, ...]) -> Linear | None:
        """The function's pullback."""
        of, saved = self.of, self.of.function.derived.saved_pullback
        if any(i < of.count for i in linear):
            raise DerivativeError(f"{self.name} cannot be transposed: it is linear in the tangents alone")
        back = {self.active[i - of.count]: i for i in linear}
        operands = tuple(range(of.count))
        if saved is not None:
            function, pullback = saved
            places = tuple(back.get(i, -1) for i in pullback.arguments)
            return Linear(of.other(function, frozenset()), places, operands, (), tuple(range(self.result_count)))
        results = tuple(self.places[j] for j in seeded)
        found = of.function.derived.pullback(tuple(back), results)
        if found is None:
            return None
        callee = of.other(found.function, of.after(len(seeded)))
        return Linear(callee, tuple(back[i] for i in found.places), operands, (), seeded)
