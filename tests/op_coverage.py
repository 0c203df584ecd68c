"""Which op classes of PyTensor have a lowering rule, here and in its own backends: the table of docs/reference/ops.md.

    python tests/op_coverage.py --markdown docs/reference/ops.md

In: the installed PyTensor, with its JAX and Numba dispatch, and the graphs of `op_cases`, which are run (some minutes).
Out: a page. A class counts as JAX's or Numba's if dispatch finds an implementation for it, through a base class too; as
C's if it has C code of its own. That says nothing of the arguments with which an implementation refuses. Results of
runs are compared with PyTensor's own evaluation, but draws, which are compared with each other; a number that is wrong
is an error and no mark.
"""

import argparse
import contextlib
import functools
import importlib
import importlib.metadata
import pkgutil
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import plugin
import pytensor
import pytensor.tensor as pt
from op_cases import CASES, SPARSE_TOO, WITHOUT, Case
from pytensor.graph.op import Op
from pytensor.link.c.interface import CLinkerOp
from pytensor.link.c.op import COp
from pytensor.scalar.basic import ScalarOp
from pytensor.tensor.random.op import RandomVariable
from support import PaddingRefusedWarning, compare, reference

import hlograph
from hlograph.codegen.passes.registry import resolve
from hlograph.codegen.recipe import Recipe
from hlograph.dialects import registry
from hlograph.dialects.random import sampling
from hlograph.dialects.sparse import ops as expansions
from hlograph.dialects.tensor.elemwise import TABLE
from hlograph.errors import HlographError
from hlograph.runtime.calls.arguments import find_sizes

# Classes that are only derived from.
BASES = """
    AbstractRNGConstructor AllocOp BaseBLAS BaseBlockDiagonal BaseSparseOp BaseSubtensor BinaryBitOp BinaryScalarOp
    CAReduce COp CompositeOp ExternalCOp FixedLogicalComparison FixedOpCAReduce FusibleSymbolicOp
    FusibleSymbolicOpDerivative GemmRelated HasInnerGraph
    LogicalComparison MultivariateRandomVariable NonZeroDimsCAReduce Op OpWithCoreShape OpenMPOp Output RNGConsumerOp
    RandomVariable ScalarInnerGraphOp ScalarOp ScanMethodsMixin ScipyRandomVariable ScipyScalarWrapperOp
    ScipyVectorWrapperOp ScipyWrapperOp SolveBase Stack SymbolicOp SymbolicRandomVariable TensorSymbolicOp TypeCastingOp
    UnaryBitOp UnaryScalarOp XOp XTypeCastOp XViewOp
"""
# Not ops of users' graphs: other backends' own, rewritten away before, or for graphs that are not of tensors.
LEFT_OUT = ("pytensor.link.", "pytensor.xtensor", "pytensor.typed_list", "pytensor.sparse.rewriting")
AREAS = {
    "scalar.": "Elementwise",
    "tensor.random": "Random variables",
    "tensor.linalg": "Linear algebra",
    "tensor.signal": "Signals",
    "tensor.fft": "Signals",
    "tensor.fourier": "Signals",
    "tensor.optimize": "Optimization",
    "tensor.blas": "Linear algebra",
    "sparse": "Sparse matrices",
    "tensor.": "Tensors",
    "": "Conditions, loops, inner graphs",
}
REMARKS = {
    "FromFunctionOp": "runs Python",
    "Fourier": "PyTensor's older transform; `pytensor.tensor.fft` has others",
    **dict.fromkeys(("Hyp2F1", "J0", "J1", "Jv", "MinimizeOp", "MinimizeScalarOp", "Owens_t"), "calls SciPy"),
    "PdbBreakpoint": "runs Python",
    "Print": "prints",
    **dict.fromkeys(("RootOp", "RootScalarOp"), "calls SciPy"),
}


PAGE = Path(__file__).resolve().parent.parent / "docs/reference/ops.md"


def of_this_release() -> bool:
    """Whether the page is of the PyTensor that is here."""
    return f"PyTensor {importlib.metadata.version('pytensor')}," in PAGE.read_text()


def load() -> None:
    """Imports all of PyTensor, so that its classes are there."""
    skipped = ("pytensor.link.", "pytensor.bin", "pytensor.misc", "pytensor.d3viz", "pytensor.ipython")
    for module in pkgutil.walk_packages(pytensor.__path__, "pytensor.", onerror=lambda name: None):
        if not module.name.startswith(skipped):
            try:
                importlib.import_module(module.name)
            except ImportError:  # of an optional package
                continue


def subclasses(class_: type) -> Iterator[type]:
    """All classes that derive from one."""
    for found in class_.__subclasses__():
        yield found
        yield from subclasses(found)


def ops() -> list[type]:
    """The op classes, by area and name."""
    found = {
        class_
        for class_ in subclasses(Op)
        if class_.__module__.startswith("pytensor.")
        and not class_.__module__.startswith(LEFT_OUT)
        and class_.__name__ not in BASES.split()
        and not class_.__name__.startswith("_")
    }
    return sorted(found, key=lambda class_: (area(class_), class_.__name__, class_.__module__))


def area(class_: type) -> str:
    """The heading that a class stands under."""
    module = f"{class_.__module__.removeprefix('pytensor.')}."
    return next(title for start, title in AREAS.items() if module.startswith(start))


@functools.cache
def dispatch() -> dict[str, tuple[Any, ...]]:
    """The functions that PyTensor's backends register implementations with."""
    from pytensor.link.jax.dispatch import jax_funcify
    from pytensor.link.jax.dispatch.random import jax_sample_fn
    from pytensor.link.numba.dispatch import basic as numba
    from pytensor.link.numba.dispatch.random import numba_core_rv_funcify

    names = ("numba_funcify", "numba_funcify_and_cache_key", "numba_funcify_default_op_cache_key")
    return {
        "JAX": (jax_funcify,),
        "Numba": tuple(getattr(numba, name) for name in names if hasattr(numba, name)),
        "draws of JAX": (jax_sample_fn,),
        "draws of Numba": (numba_core_rv_funcify,),
    }


def of_backend(class_: type, backend: str) -> bool:
    """Whether one of PyTensor's compiled backends, JAX or Numba, has an implementation."""
    draws = issubclass(class_, RandomVariable)
    functions = dispatch()[f"draws of {backend}" if draws else backend]
    own = [f for f in functions if f.dispatch(class_) is not f.dispatch(object)]
    general = any(f.dispatch(class_) is f.dispatch(ScalarOp) for f in own)
    if own and issubclass(class_, ScalarOp) and general:
        spec = getattr(class_, "nfunc_spec", None)
        path = spec[0].split(".") if spec else []
        in_jax = functools.reduce(lambda found, name: getattr(found, name, None), path, jax if path[1:] else jax.numpy)
        return bool(spec) and (backend == "Numba" or in_jax is not None)
    return bool(own)


def in_c(class_: type) -> bool:
    """Whether the class has C code of its own."""
    code = getattr(class_, "c_code", None)
    return code is not None and code not in (CLinkerOp.c_code, COp.c_code)


def ours(class_: type) -> bool:
    """Whether hlograph has a rule: of scalar ops in their table, of random variables a sampler."""
    if issubclass(class_, RandomVariable):
        return sampling.find(sampling.class_name(class_)) is not None
    if issubclass(class_, ScalarOp) and class_.__name__ not in ("Composite", "ScalarLoop", "Grad2F1Loop"):
        return any(base.__name__ in TABLE for base in class_.__mro__)
    return registry.find_class(class_) is not None or expansions.find_class(class_) is not None


# ---- what holds of a graph: exact, padded, with gradient, in a batch, interpreted, for a GPU -------------------------

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
            return jax.tree.leaves(fn(*[given.get(i, x) for i, x in enumerate(self.arrays)]))

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
        return jax.tree.leaves(fn(*self.arrays))

    def _compare(self, found: Sequence[Any], wanted: Sequence[Any], label: str) -> None:
        compare(found, [np.asarray(x) for x in wanted], self.case.rtol, label)


def _changed(x: Any) -> Any:
    """Another array for the same argument."""
    return np.asarray(x * 0.9 if x.dtype.kind in "fc" else np.flip(x), x.dtype)


# ---- the page --------------------------------------------------------------------------------------------------------


Marks = Mapping[str, tuple[str, ...]]


def measured(known: Marks) -> dict[str, tuple[str, ...]]:
    """What runs tell of each op that has a graph, but for those of which some mark is known."""
    from rich.progress import track

    with pytensor.config.change_flags(cxx=""), contextlib.redirect_stdout(sys.stderr):
        new = [name for name in CASES if not any(known.get(name, ()))]
        return {**known, **{name: tuple(marks(CASES[name]).values()) for name in track(new, "running graphs")}}


def written(page: str) -> dict[str, tuple[str, ...]]:
    """The same, as a page tells it."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): tuple(row[4:-1]) for row in rows}


def page(marks: Marks) -> str:
    """The page in Markdown.

    Args:
        marks: of ops that have graphs, what `COLUMNS` say.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load()
        dispatch()
    version = importlib.metadata.version
    lines = [
        "# Ops",
        "",
        "Which op classes of PyTensor are lowered, beside those that its own compiled backends have. Written by",
        f"`make ops`, with PyTensor {version('pytensor')}, JAX {version('jax')}, Numba {version('numba')}.",
        "",
        "For the three backends a mark says that there is an implementation, not that it takes all arguments; what",
        "PyTensor's rewrites make of ops for one of them is not counted. The columns of hlograph are results of runs:",
        "one graph for each op (`tests/op_cases.py`), with dynamic sizes. *Exact*: compiled for its sizes. *Padded*:",
        "one executable for many sizes; where there is no mark, such graphs run exact and say so.",
        "*Gradient*: PyTensor's. *Batch*: `jax.vmap`. *Interpreter*: StableHLO's reference interpreter.",
        "*GPU*: the module for a GPU calls nothing that only a CPU has ([aot](aot.md) says what compiles there).",
        "Results are compared with PyTensor's own evaluation, draws with each other. A dash means that the column does",
        "not apply: no size is dynamic, PyTensor has no gradient, a size cannot differ within a batch.",
        "An op without a rule is refused by name; [contributing](../developers/contributing.md) says how to add one,",
        "and [limits](limits.md) which arguments are refused.",
        "",
    ]
    rows = defaultdict(list)
    for class_ in ops():
        rows[area(class_)].append(class_)
    tables = {title: [row(class_, marks) for class_ in classes] for title, classes in rows.items()}
    lines += ["| | ops | JAX | Numba | C | hlograph |", "|---|---|---|---|---|---|"]
    for title, table in tables.items():
        counts = [sum(cell == "x" for cell in column) for column in list(zip(*table, strict=True))[1:4]]
        counts.append(sum(ours(class_) for class_ in rows[title]))
        lines.append(f"| {title} | {len(table)} | {' | '.join(map(str, counts))} |")
    heads = ["op", "JAX", "Numba", "C", *COLUMNS, ""]
    for title, table in tables.items():
        lines += ["", f"## {title}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        lines += [f"| {' | '.join(cells)} |" for cells in table]
    return "\n".join(lines) + "\n"


def name_of(class_: type) -> str:
    """What a class is called on the page."""
    sparse = class_.__module__.startswith("pytensor.sparse") and class_.__name__ in SPARSE_TOO
    return f"sparse.{class_.__name__}" if sparse else class_.__name__


def row(class_: type, marks: Marks) -> tuple[str, ...]:
    """The cells of an op."""
    name = name_of(class_)
    theirs = [of_backend(class_, "JAX"), of_backend(class_, "Numba"), in_c(class_)]
    remark = REMARKS.get(name, WITHOUT.get(name, ""))
    runs = marks.get(name, ("x" if ours(class_) else "", *[""] * (len(COLUMNS) - 1)))
    return (f"`{name}`", *["x" if mark else "" for mark in theirs], *runs, remark)


def unnamed() -> list[str]:
    """Ops that have a rule, but neither a graph nor a reason for none."""
    return [name_of(class_) for class_ in ops() if ours(class_) and name_of(class_) not in {**CASES, **WITHOUT}]


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path, required=True, help="the page to write")
    parser.add_argument("--known", type=Path, help="a page whose marks are taken; only ops without one are run")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load()
        if unnamed():
            raise SystemExit(f"no graph in tests/op_cases.py: {', '.join(unnamed())}")
        marks = measured(written(options.known.read_text()) if options.known else {})
    options.markdown.write_text(page(marks))


if __name__ == "__main__":
    main()
