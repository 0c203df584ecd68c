"""Rewrites of a graph before it is lowered: which, and how they are applied.

In: a graph's inputs and outputs. Out: inputs and outputs of a rewritten copy, or the same ones where there is nothing
to rewrite. A family of rewrites is in play only where the graph has an op that it starts from, and a graph that has
none is not copied. What is chosen keeps results: the numerical stabilization that PyTensor's compiled modes do, and the
quotients that differentiation leaves behind (`quotients.py`). What makes a program faster is left to XLA.
docs/explanation/rewriting.md lists all with what they cost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ...codegen.errors import GraphError, RewriteError
from ...codegen.graph import order
from ...codegen.interrupts import collector_paused
from ..releases import with_core
from .eigenvectors import with_slopes
from .patterns import pattern_rewriters
from .products import Sums
from .quotients import Quotients
from .rebuilding import Rebuilding, rewritten_inside
from .repeats import Repeats

QUOTIENTS, SUMS = "local_quotients", "local_sums"
Rewrite = bool | Literal["full"]
Module = Callable[[str], Any]

# Rewrites that serve another backend's C code, BLAS calls, in-place execution or fusion, which XLA does itself, and
# those that prepare inner graphs for a backend (PyTensor 3.3), which are lowered in place here.
EXCLUDED = (
    "cxx_only",
    "BlasOpt",
    "inplace",
    "fusion",
    "scalarize",
    "compile_inner_graph",
    "lazy_ifelse",
    "local_careduce_fusion",
    "scan_reduce_trace_prealloc",
    "scan_save_mem_prealloc",
    "reuse_decomposition_multiple_solves",
    "scan_split_non_sequence_decomposition_and_solve",
    "local_useless_unbatched_blockwise",
)


# Rewrites that start from the same ops: names of scalar ops (of elementwise ops) or of op classes, one of which a graph
# must have, and names of rewrites in `patterns.PATTERNS` or in the library's databases, or QUOTIENTS or SUMS.
Family = tuple[frozenset[str], tuple[str, ...]]
FAMILIES: tuple[Family, ...] = (
    (  # one follows from another: `log(1 - 1 / (1 + exp(-x)))` takes four of them
        frozenset({"Exp", "Expm1", "Log", "Log1p", "Sigmoid"}),
        (
            "local_log_of_sigmoid",
            "local_log_of_exp",
            "local_log_add_exp",
            "local_log_sum_exp",
            "local_logsoftmax",
            "local_logsoftmax_grad",  # where the softmax's gradient is an op of its own: PyTensor 2
            "local_log1p_expm1",
            QUOTIENTS,
            SUMS,
        ),
    ),
    (frozenset({"Abs"}), ("local_abs_of_positive",)),
    (frozenset({"Erf", "Erfc"}), ("local_erf_and_one",)),
    (frozenset({"Ive", "Kve"}), ("local_log_of_bessel",)),
    (frozenset({"Gamma", "GammaLn", "Psi", "TriGamma"}), (SUMS,)),
    (frozenset({"Reciprocal", "TrueDiv"}), (QUOTIENTS,)),
    (frozenset({"Sqrt"}), ("local_sqrt_of_sqr",)),
    # PyMC makes vectors of sizes with checks of which it takes some: the others, which may fail, are not asked for.
    (frozenset({"MakeVector"}), ("local_subtensor_make_vector",)),
    # Differentiation leaves reductions where something may have been broadcast, and no mask is seen through one.
    (frozenset({"Switch"}), (QUOTIENTS, SUMS, "local_useless_reduce", "local_reduce_broadcastable")),
)


class Rewrites:
    """A library's rewrites, looked up once.

    Args:
        module: imports a module of the library by its path below the package.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self._tracker = functools.cache(self._make_tracker)

    def apply(self, inputs: Sequence[Any], outputs: Sequence[Any], how: Rewrite) -> tuple[list[Any], list[Any]]:
        """Inputs and outputs of the rewritten graph; the user's graph stays as it is.

        Args:
            inputs: all of the graph's inputs.
            outputs: its outputs.
            how: True for the selection, "full" for all of the library's own but those for other backends.

        Raises:
            GraphError: `how` is something else.
        """
        if how == "full":
            query = self._module("graph.rewriting.db").RewriteDatabaseQuery(
                include=["fast_run"], exclude=list(EXCLUDED)
            )
            outputs = with_slopes(self._module, outputs)
            fgraph = self._module("graph.fg").FunctionGraph(list(inputs), list(outputs), clone=True)
            self._module("compile.mode").optdb.query(query).rewrite(fgraph)
            return list(fgraph.inputs), list(fgraph.outputs)
        if how is not True:
            raise GraphError(f'rewrite={how!r}: expected False, True, or "full"')
        # Where a node that is made here was made is of no use to anybody, and takes a tenth of the time.
        untraced = self._module("configdefaults").config.change_flags(traceback__limit=0)
        with collector_paused(), untraced:
            outputs = Repeats(self._module, inputs).gathered(outputs)
            nodes = order(outputs, set(inputs))
            return list(inputs), self._stabilized(inputs, outputs, nodes)

    def _stabilized(self, inputs: Sequence[Any], outputs: Sequence[Any], nodes: Sequence[Any]) -> list[Any]:
        """The outputs of a graph with these nodes after the selection, which is applied in inner graphs too."""
        ops = {id(node.op): node.op for node in nodes}
        kinds = {_kind(op) for op in ops.values()}
        if "Eigh" in kinds:
            outputs = with_slopes(self._module, outputs)
            nodes = order(outputs, set(inputs))
            ops = {id(node.op): node.op for node in nodes}
            kinds = {_kind(op) for op in ops.values()}
        families = tuple(family for family in FAMILIES if not family[0].isdisjoint(kinds))
        inside = {number: new for number, op in ops.items() if (new := self._inside(op)) is not None}
        if not families and not inside:
            return list(outputs)
        found = Rebuilding(self._tracker(families), nodes, ops=inside).outputs(outputs)
        checks = self._checks(order(found, set(inputs)))
        if checks < self._checks(nodes):
            families = tuple((ops, tuple(x for x in names if x not in (QUOTIENTS, SUMS))) for ops, names in families)
            uncancelled = Rebuilding(self._tracker(families), nodes, ops=inside).outputs(outputs)
            if checks < self._checks(order(uncancelled, set(inputs))):  # what cancelled held a check: none is dropped
                return uncancelled
        return found

    def _inside(self, op: Any) -> Any:
        """The op with its inner graph rewritten; None where nothing changes, or where the op is more than its graph."""
        core = getattr(op, "core_op", op)
        if type(core).__name__ not in ("Scan", "OpFromGraph"):
            return None
        new = rewritten_inside(core, lambda x, y: self._stabilized(x, y, order(y, set(x))))
        return new if new is None or core is op else with_core(op, new)

    def _checks(self, nodes: Sequence[Any]) -> int:
        check = self._module("raise_op").CheckAndRaise
        return sum(isinstance(node.op, check) for node in nodes)

    def graph_rewriter(self) -> Any:
        """The selection as a graph rewriter of the library, such as a `Mode` takes for its optimizer."""
        basic = self._module("graph.rewriting.basic")

        class Selection(basic.GraphRewriter):  # type: ignore[name-defined]
            """hlograph's selection of rewrites."""

            def apply(_, fgraph: Any) -> None:
                before = list(fgraph.outputs)
                try:
                    _inputs, after = self.apply(fgraph.inputs, before, True)
                except Exception as error:
                    raise RewriteError(
                        f"hlograph's rewrites of the graph failed: {type(error).__name__}: {error}; "
                        "hlograph.Mode(rewrite=False) compiles without them"
                    ) from error
                pairs = [(x, y) for x, y in zip(before, after, strict=True) if x is not y]
                if pairs:
                    fgraph.replace_all(list(dict(pairs).items()), reason="hlograph", import_missing=False)

        return Selection()

    def _make_tracker(self, families: tuple[Family, ...]) -> Callable[[Any], list[Any]]:
        tracker = self._module("graph.rewriting.basic").OpToRewriterTracker()
        names = dict.fromkeys(name for _, rewrites in families for name in rewrites)
        for name in names:
            if name in self._named:  # a version of the library may lack one
                tracker.add_tracker(self._named[name])
        return functools.cache(tracker.get_trackers)

    @functools.cached_property
    def _named(self) -> dict[str, Any]:
        """Node rewriters by name: ours, and those of the library's databases."""
        names = {name for _, rewrites in FAMILIES for name in rewrites}
        query = self._module("graph.rewriting.db").RewriteDatabaseQuery(include=sorted(names))
        optdb = self._module("compile.mode").optdb
        made = {QUOTIENTS: Quotients(self._module).rewriter(), SUMS: Sums(self._module).rewriter()}
        found = {**made, **pattern_rewriters(self._module)}
        for database in ("canonicalize", "stabilize", "specialize"):
            for rewriter in optdb[database].query(query).get_node_rewriters():
                found.setdefault(getattr(rewriter, "name", None) or rewriter.__name__, rewriter)
        return found


def _kind(op: Any) -> str:
    op = getattr(op, "core_op", op) if type(op).__name__ == "Blockwise" else op
    return type(getattr(op, "scalar_op", op)).__name__
