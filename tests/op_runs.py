"""What holds of the graphs of `op_cases`: exact, padded, with gradient, in a batch, interpreted, for a GPU.

In: a case. Out: a mark for each of `COLUMNS`. All results are compared with PyTensor's own evaluation, but draws, which
are compared with each other. A number that is wrong is an error and no mark.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import plugin
import pytensor
import pytensor.tensor as pt
from op_cases import Case
from support import assert_same, reference

import hlograph
from hlograph.codegen.passes.registry import resolve
from hlograph.codegen.recipe import Recipe
from hlograph.errors import HlographError
from hlograph.runtime.calls.arguments import find_sizes
from hlograph.runtime.executables.policy import PaddingRefusedWarning

COLUMNS = ("exact", "padded", "gradient", "batch", "interpreter", "GPU")
WORKS, REFUSED, NOTHING = "x", "", "-"


def marks(case: Case) -> dict[str, str]:
    """A mark for each column; none where the graph is refused.

    Raises:
        AssertionError: a result is wrong.
    """
    try:
        runs = Runs(case)
    except HlographError:
        return dict.fromkeys(COLUMNS, REFUSED)
    return {column: getattr(runs, column.lower())() for column in COLUMNS}


class Runs:
    """The columns of a case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.inputs, self.outputs, self.arrays = case.build()
        if case.draws:
            self.arrays.insert(0, jax.random.key(7))
        self.program = hlograph.emit_stablehlo((self.inputs, self.outputs))
        self.wanted = self._results(self.program.compile(policy="exact")) if case.draws else self._evaluated()

    def exact(self) -> str:
        self._compare(self._results(self.program.compile(policy="exact")), self.wanted, "exact")
        return WORKS

    def padded(self) -> str:
        if self.program.signature.is_static:
            return NOTHING
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", PaddingRefusedWarning)
                found = self._results(self.program.compile(policy="padded"))
        except (HlographError, PaddingRefusedWarning):
            return REFUSED
        self._compare(found, self.wanted, "padded")
        return WORKS

    def gradient(self) -> str:
        smooth = [x for x in self.outputs if x.type.dtype.startswith("float")]
        by = [x for i, x in enumerate(self.inputs) if x.type.dtype.startswith("float") and i in (self.case.by or [i])]
        if self.case.draws or self.case.by == () or not smooth or not by:
            return NOTHING
        loss = sum((pt.cos(pt.arange(x.size)).reshape(x.shape) * x).sum() if x.type.ndim else x for x in smooth)
        try:
            gradients = pytensor.grad(loss, by, disconnected_inputs="ignore")
            wanted = reference(self.inputs, gradients, self.arrays)
        except Exception:  # whatever PyTensor raises where it has no gradient; some of them are mistakes
            return NOTHING
        try:
            program = hlograph.emit_stablehlo((self.inputs, gradients))
            found = self._results(program.compile(policy="exact"))
        except HlographError:
            return REFUSED
        self._compare(found, wanted, "gradient")
        return WORKS

    def batch(self) -> str:
        held = {root.argument for root in self.program.signature.roots if root.axis is None}
        moved = [i for i, x in enumerate(self.arrays) if i not in held and not (self.case.draws and i == 0)]
        if not moved or self.program.signature.has_data_sizes:
            return NOTHING
        fn = self.program.compile(policy="exact")

        def call(rows: Sequence[Any]) -> list[Any]:
            given = dict(zip(moved, rows, strict=True))
            return _listed(fn(*[given.get(i, x) for i, x in enumerate(self.arrays)]))

        rows = [[self.arrays[i] for i in moved], [_changed(self.arrays[i]) for i in moved]]
        with jax.enable_x64(True):
            try:
                found = jax.vmap(lambda *xs: call(xs))(*[np.stack(pair) for pair in zip(*rows, strict=True)])
            except HlographError:
                return REFUSED
            single = [call(row) for row in rows]
        if not self.case.draws:  # a batch has numbers of its own
            self._compare(found, [np.stack(pair) for pair in zip(*single, strict=True)], "batch")
        return WORKS

    def interpreter(self) -> str:
        try:
            found = list(self.program.interpret(*self._words()))
        except HlographError:
            return REFUSED
        self._compare(found, self.wanted, "interpreted")
        return WORKS

    def gpu(self) -> str:
        """Whether a module for CUDA is made, which calls nothing that only a CPU has."""
        try:
            sizes = find_sizes(self.program.signature, [x.shape for x in self._words()], self._values())
            module = Recipe(exact=sizes, passes=resolve("default"), platform="cuda").apply(self.program).bytecode
        except HlographError:
            return REFUSED
        return REFUSED if b"lapack" in module else WORKS

    def saved(self, path: Path) -> None:
        """A file that loads without being allowed anything gives the same; what calls Python has none."""
        function = hlograph.load(self.program.save(path)).compile(policy="exact", outputs="numpy")
        self._compare(self._results(function), self.wanted, "saved")

    def in_a_plugin(self) -> None:
        """As a plain program in a PJRT plugin, with sizes below the bounds; NaN, great integers and `True` behind."""
        signature = self.program.signature
        sizes = dict(find_sizes(signature, [x.shape for x in self.arrays], self._values()))
        bounds = {name: abs(size) + 3 for name, size in sizes.items()} | {count.name: 60 for count in signature.counts}
        run = plugin.Compiled(self.program.plain(bounds=bounds)).run(self.arrays, sizes)
        assert not run.failed
        self._compare(run.results, self.wanted, "plugin")
        assert not any(np.any(rest) for rest in run.beyond)

    def _words(self) -> list[np.ndarray[Any, Any]]:
        """The arguments, a key as its words."""
        words = [jax.random.key_data(self.arrays[0])] if self.case.draws else self.arrays[:1]
        return [np.asarray(x) for x in (*words, *self.arrays[1:])]

    def _values(self) -> dict[str, int]:
        roots = self.program.signature.roots
        return {x.name: int(np.ravel(self.arrays[x.argument])[x.element or 0]) for x in roots if x.axis is None}

    def _evaluated(self) -> list[np.ndarray[Any, Any]]:
        if self.case.expected is not None:
            return [self.case.expected(*self.arrays)]
        return reference(self.inputs, self.outputs, self.arrays)

    def _results(self, fn: Callable[..., Any]) -> list[Any]:
        return _listed(fn(*self.arrays))

    def _compare(self, found: Sequence[Any], wanted: Sequence[Any], label: str) -> None:
        for number, (actual, expected) in enumerate(zip(found, wanted, strict=True)):
            assert_same(actual, np.asarray(expected), rtol=self.case.rtol, label=f"{label}, output {number}")


def _listed(made: Any) -> list[Any]:
    return list(made) if isinstance(made, tuple | list) else [made]


def _changed(x: Any) -> Any:
    """Another array for the same argument."""
    return np.asarray(x * 0.9 if x.dtype.kind in "fc" else np.flip(x), x.dtype)
