"""What a program was made from: its derivatives and batches are programs that its source makes. Also programs for rows.

In: a program, and which of its arguments and results are meant. Out: another program, with its own source. A graph
gives graphs, by its library's gradients, and what is batched is the program itself; a function that JAX traced gives
functions, which are traced as it was (`dialects/jax/source.py`). Programs for many rows are made of a program for one:

    element   (w[4], x[n, 4]) -> y[n]                     sizes: n of each row, d of all
    a batch   (w[4], x[b, n, 4]) -> y[b, n]               `Batch("b", shared={0})`: all rows have the same sizes
    rows      (w[4], x[64, 40, 4], n[64], rows[64]) -> y[64, 40]       `Rows(64, {0}, ragged={"n"}, bounds={"n": 40})`

In: a `?` program of one row, and which of its arguments are the same for all. Out: of a batch a `?` program with a
further size; of rows a static program whose further arguments are the rows' sizes, and which rows count. Padding on the
way in may hold anything; on the way out it holds zeros, so that cotangents of it go nowhere. Derivatives are batches of
the element's derivatives: what many rows share has the sum of their cotangents. Decision to know: passes run on the
padded element, whose loops they know; of the batched module what is left over is simplified, if that is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from . import dims as dimension
from .errors import BatchingError, PassError, UnsupportedGraphError
from .graph import Graph, fresh
from .ir.bindings import ir
from .passes import run_all
from .passes.batch import batch
from .passes.pad import pad
from .passes.registry import parse_spec
from .program import Made, Program, Source
from .signature import Argument, Result, Signature

ROWS = "rows"


@dataclass(frozen=True)
class Batch:
    """How a program of one row becomes one of many that have the same sizes.

    Attributes:
        size: the name of their number; of `Rows` how many there can be.
        shared: the arguments that are the same for all rows.
    """

    size: int | str
    shared: frozenset[int]

    def of(self, element: Program, after: Sequence[int | str] = (), summed: frozenset[int] = frozenset()) -> Program:
        """The program of many rows; its source makes derivatives.

        Args:
            element: the program of one row.
            after: arguments that come first, in their order: numbers of the element's, or names of sizes (`ROWS` for
                which rows count); by default the element's and then the sizes.
            summed: results that are summed over the rows.

        Raises:
            BatchingError: an op that cannot have the axis.
            PaddingError: an op that cannot be padded.
        """
        try:
            batched, _ = batch(element.copy_module(), self.size, shared=self.shared, summed=summed)
        except PassError as error:
            raise BatchingError(str(error).removeprefix("batch: ")) from None
        with batched.context:
            batched.operation.attributes["sym_name"] = ir.StringAttr.get(f"{element.name}_batched")
        return self._made(batched, element, tuple(range(len(element.signature.arguments))))

    def _made(self, module: ir.Module, element: Program, order: tuple[int | str, ...]) -> Program:
        source = None if element.source is None else RowsSource(element, self, order)
        return Program(module, filename=element.filename, source=source, check=element.check)


@dataclass(frozen=True)
class Rows(Batch):
    """The same where rows have sizes of their own.

    Attributes:
        ragged: these sizes.
        bounds: the greatest value of each size, those that all rows share included.
        passes: what the padded element goes through; of the batched module `simplify`, if it is among them.
        partial: some rows do not count, and give zeros; otherwise only those behind the last one do not.
    """

    ragged: frozenset[str]
    bounds: Mapping[str, int]
    passes: tuple[str, ...] = ()
    partial: bool = False

    def of(self, element: Program, after: Sequence[int | str] = (), summed: frozenset[int] = frozenset()) -> Program:
        padded = pad(element.copy_module(), self.bounds, poisoned=True, zeros=True)
        program = Program(padded)
        signature = program.signature
        if signature.results and signature.results[0].size:
            raise UnsupportedGraphError(
                f"the size {signature.results[0].size} depends on data and has no bound, which rows need"
            )
        if self.passes:
            program.optimize_own(self.passes)
        sizes = {argument.size: number for number, argument in enumerate(signature.arguments) if argument.size}
        places = {**sizes, ROWS: len(signature.arguments)}
        order = _order(after, places, len(element.signature.arguments))
        shared = {number for name, number in sizes.items() if name not in self.ragged} | self.shared
        batched, _ = batch(
            program._module, self.size, shared=shared, summed=summed, order=order, rows=ROWS, zeros=self.partial
        )
        run_all(batched, [spec for spec in self.passes if parse_spec(spec)[0] == "simplify"])
        names = {number: name for name, number in places.items()}
        return self._made(batched, element, tuple(names.get(number, number) for number in order))


def batched(program: Program, mapped: Sequence[bool]) -> Made:
    """A program with a leading axis on the mapped arguments and on all results, and with the pullback that it has.

    Raises:
        BatchingError: an op cannot have it.
    """
    axis = fresh("batch", {root.name for root in program.signature.roots})
    shared = frozenset(number for number, flag in enumerate(mapped) if not flag)
    rows, saved = Batch(axis, shared), program.pullback
    made = rows.of(program)
    if saved is not None:
        summed = frozenset(number for number, place in enumerate(saved.arguments) if place in shared)
        made.pullback = replace(saved, program=rows.of(saved.program, summed=summed))
    return Made(made, tuple(range(len(program.signature.results))))


def _order(after: Sequence[int | str], places: Mapping[str, int], count: int) -> list[int]:
    """Numbers of arguments of the padded element, in the order of the program for rows."""
    if not after:
        return list(range(max(places.values()) + 1))
    missing = [entry for entry in after if isinstance(entry, str) and entry not in places]
    if missing or set(places) - set(after):
        raise BatchingError(f"a derivative has other sizes than its function: {', '.join(map(str, missing or places))}")
    first = [entry if isinstance(entry, int) else places[entry] for entry in after]
    return [*first, *[number for number in range(count) if number not in first]]


@dataclass(frozen=True)
class RowsSource:
    """Makes derivatives of a program of many rows, from those of its element.

    Attributes:
        element: the program of one row.
        rows: how the program was made.
        order: its arguments: numbers of the element's, and names of sizes.
    """

    element: Program
    rows: Batch
    order: tuple[int | str, ...]
    inline = None
    shares = False
    scales = False

    @property
    def repeats(self) -> bool:
        """As the element's."""
        return self.element.source is not None and self.element.source.repeats

    def pushforward(self, program: Program, active: tuple[int, ...]) -> Made | None:
        """Rows of the element's."""
        own = self._own(active)
        made = self._source.pushforward(self.element, own)
        return self._made(made, [i in self.rows.shared for i in own])

    def pullback(self, program: Program, active: tuple[int, ...], seeded: tuple[int, ...]) -> Made | None:
        """Rows of the element's; of shared arguments their sum."""
        own = self._own(active)
        made = self._source.pullback(self.element, own, seeded)
        if made is None:
            return None
        summed = frozenset(number for number, i in enumerate(made.places) if i in self.rows.shared)
        found = self._made(made, [False] * len(seeded), summed)
        return None if found is None else replace(found, places=tuple(self.order.index(i) for i in made.places))

    def gradient(self, program: Program, active: tuple[int, ...], of: int) -> Made | None:
        """Of a number; rows give none."""
        raise UnsupportedGraphError("the results of rows are arrays")

    def batched(self, program: Program, mapped: tuple[bool, ...]) -> Made:
        """A batch of a batch is one of the program; of rows with sizes it is a loop."""
        if isinstance(self.rows, Rows):
            raise BatchingError("a batch of rows of different lengths is a loop over its entries")
        return batched(program, mapped)

    @property
    def _source(self) -> Source:
        assert self.element.source is not None
        return self.element.source

    def _own(self, active: Sequence[int]) -> tuple[int, ...]:
        return tuple(entry for i in active if isinstance(entry := self.order[i], int))

    def _made(self, made: Made | None, further: Sequence[bool], summed: frozenset[int] = frozenset()) -> Made | None:
        """Rows of a program with further arguments behind the element's; those may be shared."""
        if made is None:
            return None
        count = len(self.element.signature.arguments)
        shared = self.rows.shared | {count + number for number, flag in enumerate(further) if flag}
        return Made(replace(self.rows, shared=shared).of(made.program, self.order, summed), made.places)


# ---- graphs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GraphSource:
    """A graph whose library has gradients.

    Attributes:
        graph: as it was read.
        emit: makes a program of a graph, as `emit_stablehlo` does.
        loosened: makes the program of this graph that does not demand what an `ArgumentShapeError.option` names; None
            where such calls are refused.
    """

    graph: Graph
    emit: Callable[..., Program]
    loosened: Callable[[str], Program] | None = None
    inline = None
    shares = False
    repeats = True

    @cached_property
    def scales(self) -> bool:
        """Unless there is a `grad_clip`."""
        return not self.graph.transforms.clips(self.graph.results)

    def pushforward(self, program: Program, active: tuple[int, ...]) -> Made | None:
        """By the pullback of the pullback."""
        signature = program.signature
        made = self.graph.transforms.pushforward(self.graph.variables, self.graph.results, active)
        dims = [axes(a, signature) for a in signature.arguments]
        return self._program(made, program, "jvp", [*dims, *[dims[i] for i in active]])

    def pullback(self, program: Program, active: tuple[int, ...], seeded: tuple[int, ...]) -> Made | None:
        """By the library's gradient."""
        signature = program.signature
        made = self.graph.transforms.pullback(self.graph.variables, self.graph.results, active, seeded)
        dims = [axes(a, signature) for a in signature.arguments]
        return self._program(made, program, "vjp", [*dims, *[axes(signature.results[j], signature) for j in seeded]])

    def gradient(self, program: Program, active: tuple[int, ...], of: int) -> Made | None:
        """By the library's gradient, in one graph with what it is the gradient of."""
        signature = program.signature
        made = self.graph.transforms.gradient(self.graph.variables, self.graph.results, active, of)
        return self._program(made, program, "grad", [axes(a, signature) for a in signature.arguments])

    def batched(self, program: Program, mapped: tuple[bool, ...]) -> Made:
        """The program's ops with a further axis."""
        return batched(program, mapped)

    def _program(self, made: Any, program: Program, what: str, dims: Sequence[Any]) -> Made | None:
        if not made.outputs:
            return None
        emitted = self.emit(
            (made.inputs, made.outputs),
            dims=dict(zip(made.inputs, dims, strict=True)),
            name=f"{program.name}_{what}",
            rewrite=self.graph.rewrite,
        )
        return Made(emitted, made.places)


def axes(item: Argument | Result, signature: Signature) -> tuple[Any, ...]:
    """Names and sizes for the axes of something like an argument or result, where names of arguments' axes say them."""
    sizes = {root.name for root in signature.roots if root.axis is not None}
    return tuple(d if type(d) is int else str(d) if dimension.roots(d) <= sizes else None for d in item.dims)


def restricted(
    function: Callable[[Sequence[Any]], list[Any]],
    arrays: Sequence[Any],
    active: Sequence[int],
    wanted: Sequence[int] | None = None,
) -> Callable[..., list[Any]]:
    """A function of the active arguments alone, to the results that are wanted (all by default)."""

    def of_active(*values: Any) -> list[Any]:
        given = dict(zip(active, values, strict=True))
        results = function([given.get(i, x) for i, x in enumerate(arrays)])
        return list(results) if wanted is None else [results[j] for j in wanted]

    return of_active
