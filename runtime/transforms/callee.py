"""What one `stablehlo_call` equation calls: a program, and what JAX's transformations may make of it.

In: what a callee is made of. Out: what the primitive asks for: types, modules, derivatives, batches. `StaticModule` is
a program and nothing more. `FunctionCall` is the call of a function, with the values that decide its sizes: an
operation on 32-bit types where JAX has no others. Its derivatives and batches are calls of other functions, which
`Derived` makes of programs that the function's source makes, when they are first asked for. Decision to know: a
`Pushforward` is made without its program, which reverse mode never needs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax

from ...codegen import dims as dimension
from ...codegen import forks
from ...codegen.analysis.symbolic_calls import evaluate, find_symbols, is_symbolic
from ...codegen.dtypes import kind_of
from ...codegen.errors import (
    ArgumentShapeError,
    DerivativeError,
    GraphError,
    HlographError,
    UnsupportedGraphError,
    UnsupportedOpError,
)
from ...codegen.ir.jax_compat import enable_x64, keep_weakly
from ...codegen.program import Made, Program
from ...codegen.signature import CheckSpec, Signature, flags_type
from ..calls.arguments import find_sizes, narrowed
from ..executables.prepared import PreparedProgram, prepare_open
from ..executables.stats import Stats

Shape = tuple[int, ...]
Inline = Callable[[Sequence[Any]], list[Any]]


class Transformable(Protocol):
    """A compiled program, as far as JAX's transformations ask of it: a `Function`."""

    @property
    def program(self) -> Program: ...
    @property
    def derived(self) -> Derived: ...
    @property
    def stats(self) -> Stats: ...
    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]: ...
    def prepared(self, sizes: Mapping[str, int]) -> PreparedProgram: ...
    def clear_cache(self) -> None: ...


Derivation = tuple[Transformable, tuple[int, ...]]  # a function made from another, and its `Made.places`


class Derived:
    """The functions that were made of one so far: its pushforwards, pullbacks, gradients and batched versions.

    Args:
        program: the function's.
        make: compiles another program in the same way.
    """

    def __init__(self, program: Program, make: Callable[[Program], Transformable]) -> None:
        self._program = program
        self._compile = make
        self._found: dict[Hashable, Derivation | None] = {}
        self._refused: dict[tuple[Any, ...], str] = {}
        self._lock = forks.lock(threading.RLock)

    def __iter__(self) -> Iterator[Transformable]:
        return iter([found[0] for found in list(self._found.values()) if found is not None])

    @property
    def loops(self) -> Mapping[tuple[bool, ...], str]:
        """Batches of which there is no program: which arguments are mapped, and why. They are loops over single calls,
        or what `jax.vmap` makes of a function that came from JAX."""
        return {key[1]: reason for key, reason in list(self._refused.items()) if key[0] == "batched"}

    @property
    def inlined(self) -> Mapping[str, str]:
        """Derivatives that JAX makes of the function itself, and why there is no program of them."""
        source = self._program.source
        found = {str(key[0]): reason for key, reason in list(self._refused.items()) if key[0] != "batched"}
        if source is not None and source.inline is not None and not source.repeats:
            again = "Python would be called twice" if self._program.host_calls else "results may have other signs"
            found["derivatives of other results than a number"] = f"computed again, {again}"
        return found

    @property
    def inline(self) -> Inline | None:
        """The function as JAX traced it, for JAX to transform where there is no program; see `Source.inline`."""
        source = self._program.source
        return None if source is None else source.inline

    def kept(self, key: Hashable, make: Callable[[], Derivation | None]) -> Derivation | None:
        """What was made under a key, now if it is the first time."""
        with self._lock:
            if key not in self._found:
                self._found[key] = make()
            return self._found[key]

    def loosened(self, error: ArgumentShapeError, make: Callable[[Program], Any]) -> Any:
        """The function of the program that does not demand of sizes what a call has broken.

        Raises:
            ArgumentShapeError: the error: there is no such program.
        """
        loosen = getattr(self._program.source, "loosened", None)
        if not error.option or loosen is None:
            raise error
        try:
            found = self.kept(error.option, lambda: (make(loosen(error.option)), ()))
        except HlographError:
            raise error from None
        assert found is not None
        return found[0]

    def made(self, what: str, *which: Any) -> Derivation | None:
        """What the source makes of the program, compiled; None where that is no program.

        Args:
            what: "pushforward", "pullback", "gradient" or "batched", a method of `Source`.
            which: what that takes besides the program.

        Raises:
            DerivativeError: there is no source, or it has no derivative.
            UnsupportedGraphError: there is none; where JAX has another way, it is not tried again.
        """
        key, program = (what, *which), self._program
        if key in self._refused:
            raise UnsupportedGraphError(self._refused[key])
        if program.source is None and what != "batched":
            raise DerivativeError(
                f"{program.name} has no derivative: it was loaded from an artifact, unpickled or padded, without a "
                "graph; save the program with derivatives=1 (pickle program.with_derivatives(1)), or save a program of "
                "the gradient"
            )

        def make() -> Derivation | None:
            from ...codegen.source import batched  # with passes, which calls of executables that are there do not need

            method = batched if program.source is None else getattr(program.source, what)
            found: Made | None = method(program, *which)
            return None if found is None else (self._compile(found.program), found.places)

        try:
            return self.kept(key, make)
        except (UnsupportedGraphError, GraphError) as error:
            if self.inline is not None:
                self._refused[key] = str(error)
            raise

    def pullback(self, active: tuple[int, ...], seeded: tuple[int, ...]) -> tuple[Derivation | None, tuple[int, ...]]:
        """From the arguments and cotangents of results to the cotangents of arguments, and which results these are: the
        seeded ones, or those of the pullback that the program was loaded with."""
        saved = self._program.pullback
        if saved is None:
            return self.made("pullback", active, seeded), seeded
        return self.kept("saved", lambda: (self._compile(saved.program), saved.arguments)), saved.results

    def batched(self, mapped: tuple[bool, ...]) -> Transformable | None:
        """With a leading batch axis on the mapped arguments; None where that cannot be, see `loops`."""
        try:
            found = self.made("batched", mapped)
        except (UnsupportedOpError, UnsupportedGraphError, GraphError) as error:
            self._refused["batched", mapped] = str(error)
            return None
        return None if found is None else found[0]


class Derivative(NamedTuple):
    """A callee made from another one.

    Attributes:
        callee: it.
        places: for each of its results, which result (pushforward) or operand (transpose) of the other it belongs to,
            -1 for none; for a gradient, the operands that its last results belong to.
        operands: for a transpose, how many operands of the other come before the cotangents, zeros for the linear ones.
        seeds: for a transpose, of which results it takes cotangents.
    """

    callee: Callee
    places: tuple[int, ...]
    operands: int = 0
    seeds: tuple[int, ...] = ()


class Callee:
    """The parameter of a `stablehlo_call` equation. Equal ones call the same.

    Attributes:
        name: seen in jaxprs, profiles and symbols.
        guest: whether its module goes into modules that others compile.
        calls_python: whether Python functions run in it.
        inline: the same as a function that JAX can transform; None for one that did not come from JAX. What raises
            `UnsupportedGraphError` is then done with that.
    """

    name: str
    guest: bool = False
    calls_python: bool = False
    inline: Inline | None = None

    def __init_subclass__(cls) -> None:
        keep_weakly(cls)  # a cache of JAX's keeps no program, and no module, alive

    @property
    def signature(self) -> Signature:
        raise NotImplementedError

    @property
    def result_count(self) -> int:
        """Number of results, without the flags of checks."""
        return len(self.signature.results)

    @property
    def result_names(self) -> Sequence[str]:
        """What messages call the results, without the flags of checks."""
        return [result.name for result in self.signature.results]

    @property
    def weak(self) -> frozenset[int]:
        """The results whose types give way to others, as those of Python's numbers do."""
        return frozenset(place for place, result in enumerate(self.signature.results) if result.weak)

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """Shape and dtype of each result; the last one holds the flags of the checks where there are any."""
        raise NotImplementedError

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

    def gradient(self, active: tuple[int, ...]) -> Derivative | None:
        """With gradients by the active operands of its only result that is no integer; None where it is no number."""
        return None

    def pushforward(self, active: tuple[int, ...]) -> Derivative | None:
        """From operands and tangents of the active ones to tangents of results; None when no result depends on them."""
        raise DerivativeError(f"{self.name} has no derivative: it is a module without its graph")

    def transpose(self, linear: tuple[int, ...], seeded: tuple[int, ...]) -> Derivative | None:
        """From the other operands and cotangents of results to cotangents of the linear operands."""
        raise DerivativeError(f"{self.name} has no transpose: it is a module without its graph")

    def batched(self, mapped: tuple[bool, ...]) -> Callee | None:
        """With a leading batch axis on the mapped operands and all results; None where a loop has to do."""
        return None

    def __repr__(self) -> str:
        return self.name


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
        self.program, self.name = program, program.name
        self._prepared = PreparedProgram(program) if prepared is None else prepared
        self._outputs = outputs

    @property
    def signature(self) -> Signature:
        return self.program.signature

    @property
    def result_count(self) -> int:
        return super().result_count if self._outputs is None else len(self._outputs)

    @property
    def weak(self) -> frozenset[int]:
        return super().weak if self._outputs is None else frozenset()

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """Those of the signature, or of the packed results, with which the flags of checks are."""
        if self._outputs is not None:
            return list(self._outputs)
        types: list[tuple[Any, Any]] = [(result.dims, result.dtype) for result in self.signature.results]
        checks = self._prepared.checks
        return [*types, *([flags_type(checks)] if checks else [])]

    @property
    def result_names(self) -> Sequence[str]:
        """Those of the signature.

        Raises:
            UnsupportedGraphError: they have padding, in which anything may be.
        """
        if any(argument.size for argument in self.signature.arguments):
            raise UnsupportedGraphError(
                f"checkify cannot look into {self.name}, which is compiled already, with padding: give it the function "
                "under jax.jit, checkify.checkify(jax.jit(fn))"
            )
        return super().result_names

    def module(self, shapes: Sequence[Shape]) -> PreparedProgram:
        return self._prepared

    def flags(self, shapes: Sequence[Shape]) -> tuple[CheckSpec, ...]:
        return self._prepared.checks


@dataclass(frozen=True, repr=False)
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
        return self.function.program.name

    @property
    def signature(self) -> Signature:
        return self.function.program.signature

    @property
    def calls_python(self) -> bool:  # type: ignore[override]
        return bool(self.function.program.host_calls)

    @property
    def count(self) -> int:
        return len(self.signature.arguments)

    def __repr__(self) -> str:
        values = ", ".join(str(value) for _, value in self.values)
        return f"{self.name}[{values}]" if values else self.name

    def sizes(self, shapes: Sequence[Shape]) -> dict[str, int]:
        """The sizes for operands of these shapes."""
        known, values = dict(self.values), {}
        for root in self.signature.value_roots:
            place = (root.argument, root.element)
            if place not in known:
                raise UnsupportedGraphError(
                    f"argument {self.signature.arguments[root.argument].name!r} of {self.name} decides a size, so its "
                    "value must be known when the program is compiled"
                )
            values[root.name] = known[place]
        find = find_symbols if is_symbolic(shapes) else find_sizes
        return find(self.signature, shapes, values)

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        flags = self.flags(shapes)
        return [*self.types(shapes), *([flags_type(flags)] if flags else [])]

    def types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """Those of the results alone; a size from data is refused."""
        sizes, results = self.sizes(shapes), self.signature.results
        unknown = {name: x for x in results for dim in x.dims for name in dimension.roots(dim) - sizes.keys()}
        if unknown and not self.signature.has_data_sizes and not is_symbolic(shapes):
            results = self.function.prepared(sizes).program.signature.results
        elif unknown:
            name = min(unknown)
            what = f"result {unknown[name].name!r} of {self.name} has a size that depends on data ({name})"
            raise UnsupportedGraphError(f"{what}; inside jax.jit or another transformation sizes must be fixed")
        return [
            (tuple(evaluate(dim, sizes) for dim in x.dims), narrowed(x.dtype) if self.narrow else x.dtype)
            for x in results
        ]

    def flags(self, shapes: Sequence[Shape]) -> tuple[CheckSpec, ...]:
        return self.module(shapes).checks if self.signature.checks else ()

    def module(self, shapes: Sequence[Shape]) -> PreparedProgram:
        """The program specialized; as it is where the shapes are symbols, as when JAX exports."""
        if is_symbolic(shapes):
            return prepare_open(self.function.program)
        return self.function.prepared(self.sizes(shapes))

    def run(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """By the function's own policy: sizes share executables here too."""
        if not self.narrow:
            return self.function.run(arrays)
        with enable_x64(True):
            pairs = zip(arrays, self.signature.arguments, strict=True)
            found = self.function.run([jax.lax.convert_element_type(x, a.dtype) for x, a in pairs])
            return [jax.lax.convert_element_type(x, narrowed(x.dtype)) for x in found]

    # ---- transformations --------------------------------------------------------------------------------------------

    @property
    def inline(self) -> Inline | None:  # type: ignore[override]
        return self.function.derived.inline

    def is_for_jax(self, traced: bool) -> bool:
        source = self.function.program.source
        return source is not None and source.inline is not None and (not source.repeats or (traced and source.shares))

    def gradient(self, active: tuple[int, ...]) -> Derivative | None:
        """In one program: reverse mode runs the function once; None also where it has checks, or clips cotangents."""
        source, signature = self.function.program.source, self.signature
        smooth = [j for j, result in enumerate(signature.results) if kind_of(result.dtype) in "fc"]
        if source is None or signature.checks or signature.has_data_sizes or len(smooth) != 1:
            return None
        number = signature.results[smooth[0]]
        kinds = {kind_of(number.dtype), *[kind_of(signature.arguments[i].dtype) for i in active]}
        if number.dims or kinds != {"f"} or not source.scales:
            return None
        try:
            found = self.function.derived.made("gradient", active, smooth[0])
        except DerivativeError:  # an error where a derivative is run
            return None
        return None if found is None else Derivative(self.other(found[0]), found[1])

    def pushforward(self, active: tuple[int, ...]) -> Derivative | None:
        """From the graph's derivative, when it is needed: reverse mode needs its transpose alone."""
        made = Pushforward(self, active)
        return Derivative(made, made.places) if made.places else None

    def transpose(self, linear: tuple[int, ...], seeded: tuple[int, ...]) -> Derivative | None:
        """That of a linear function is its pullback, at zero as anywhere."""
        if not self.linear.issuperset(linear):
            raise DerivativeError(f"{self.name} cannot be transposed: nothing says that it is linear")
        return self.pullback(linear, seeded)

    def pullback(self, active: tuple[int, ...], seeded: tuple[int, ...]) -> Derivative | None:
        """From all operands and cotangents of the seeded results to cotangents of the active operands."""
        found, seeds = self.function.derived.pullback(active, seeded)
        return None if found is None else Derivative(self.other(found[0], len(seeds)), found[1], self.count, seeds)

    def batched(self, mapped: tuple[bool, ...]) -> Callee | None:
        for (argument, _), _ in self.values:
            if mapped[argument]:
                name = self.signature.arguments[argument].name
                raise UnsupportedGraphError(
                    f"argument {name!r} of {self.name} decides a size: a batch over it would be ragged"
                )
        found = self.function.derived.batched(mapped)
        return None if found is None else FunctionCall(found, self.values, self.narrow, self.linear)

    def other(self, function: Transformable, further: int = 0) -> FunctionCall:
        """The same call of a function made from this one's, linear in this many further operands."""
        linear = frozenset(range(self.count, self.count + further))
        return FunctionCall(function, self.values, self.narrow, linear)


@dataclass(frozen=True, repr=False)
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
        return f"{self.of.name}_jvp"

    @property
    def places(self) -> tuple[int, ...]:
        """Which results of the function its results are the tangents of."""
        saved = self.of.function.program.pullback
        if saved is not None:
            return saved.results
        return tuple(place for place, x in enumerate(self.of.signature.results) if kind_of(x.dtype) in "fc")

    @property
    def result_count(self) -> int:
        return len(self.places)

    @property
    def result_names(self) -> Sequence[str]:
        return [str(number) for number in range(self.result_count)]

    @property
    def weak(self) -> frozenset[int]:
        return frozenset()

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        types = self.of.types(shapes[: self.of.count])
        return [types[place] for place in self.places]

    @property
    def inline(self) -> Inline | None:  # type: ignore[override]
        """By JAX's forward mode of the function."""
        from ...codegen.source import restricted  # likewise

        inline = self.of.inline
        if inline is None:
            return None

        def pushed(operands: Sequence[Any]) -> list[Any]:
            primals, tangents = operands[: self.of.count], operands[self.of.count :]
            function = restricted(inline, primals, self.active, self.places)
            return list(jax.jvp(function, [primals[i] for i in self.active], list(tangents))[1])

        return pushed

    def _whole(self) -> FunctionCall:
        if self.of.function.program.pullback is not None:
            raise DerivativeError(
                f"{self.of.name} was loaded with its pullback only: jax.grad and jax.vjp work, once; forward mode "
                "(jax.jvp, jax.jacfwd, jax.hessian) needs the graph"
            )
        made = self.of.function.derived.made("pushforward", self.active)
        assert made is not None  # JAX asks for one only where there are such results
        return self.of.other(made[0], len(self.active))

    def module(self, shapes: Sequence[Shape]) -> PreparedProgram:
        """The program's, specialized. The flags of its checks are those of the function, and are left out."""
        return self._whole().module(shapes)

    def run(self, arrays: Sequence[Any]) -> Sequence[Any]:
        return self._whole().run(arrays)

    def pushforward(self, active: tuple[int, ...]) -> Derivative | None:
        return self._whole().pushforward(active)

    def batched(self, mapped: tuple[bool, ...]) -> Callee | None:
        return self._whole().batched(mapped)

    def transpose(self, linear: tuple[int, ...], seeded: tuple[int, ...]) -> Derivative | None:
        if any(i < self.of.count for i in linear):
            raise DerivativeError(f"{self.name} cannot be transposed: it is linear in the tangents alone")
        back = {self.active[i - self.of.count]: i for i in linear}
        found = self.of.pullback(tuple(back), tuple(self.places[j] for j in seeded))
        if found is None:
            return None
        places = tuple(back.get(i, -1) for i in found.places)
        return Derivative(found.callee, places, found.operands, tuple(map(self.places.index, found.seeds)))
