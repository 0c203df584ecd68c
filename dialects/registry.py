"""Op -> lowering rule, and object -> graph reader.

In: an op of a graph library. Out: the rule that lowers it, `rule(ctx, node, *operands) -> Tensor | tuple[Tensor, ...]`.

A rule is registered for the *name* of an op's class (`Sparse` before it, for one on sparse matrices; `PyMC`, for one of
PyMC), because names are the same in Aesara, PyTensor 2.x and 3.x while module paths are not; a name counts only
for classes of those libraries. Users register for the class itself:

    @hlograph.builder.lowers(MyOp)
    def my_op(ctx, node, x): ...

The classes an op derives from are tried in order, so that a rule for `CAReduce` serves `Sum`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from ..codegen.errors import GraphError
from ..codegen.graph import Branches, Lowering, Refuses, Rule, Unsupported

LIBRARIES = ("pytensor", "aesara")
_PREFIXES = {"pytensor": "", "aesara": "", "pymc": "PyMC"}  # of libraries whose ops have rules

# The files of rules in tensor/, which register them when they are imported.
_RULES = (
    *("aesara", "control", "data_dependent", "elemwise", "host", "index", "jax_ops", "linalg", "random"),
    *("scan", "shape", "signal"),
)


_BY_NAME: dict[str, Lowering] = {}
_BY_CLASS: dict[type, Lowering] = {}
_FOUND: dict[type, Lowering | None] = {}
_PYTHON: list[Lowering] = []
OF_USERS = "ops of users"


def lowers(
    *ops: str | type,
    branches: Branches | None = None,
    batched: bool = False,
    stretched: bool = True,
    inner: bool = False,
    unsupported: Unsupported | None = None,
    loops: bool = False,
    refuses: Refuses | None = None,
) -> Callable[[Rule], Rule]:
    """Registers a lowering rule for ops, by class name (of a supported library) or by class (your own).

    Args:
        ops: names or classes.
        branches: for lazily evaluated operands, from the op to the operand positions of each branch.
        batched: the rule handles leading batch axes.
        stretched: it wants them in one size in all operands; else they are 1 where an operand is the same along them,
            and it gives one result.
        inner: the op has an inner graph.
        unsupported: from the op to what it wraps that has no lowering, for the error that lists all of them.
        loops: a batch of the op may be a loop over its elements, where nothing knows how to compute them together.
        refuses: from a node to why the rule cannot lower it, for the same error.
    """

    def register(rule: Rule) -> Rule:
        facts = rule, branches, batched, inner, unsupported, loops, stretched, refuses
        for op in ops:
            if isinstance(op, str):
                _BY_NAME[op] = Lowering(op, *facts)
            else:
                _BY_CLASS[op] = Lowering(f"{op.__module__}.{op.__qualname__}", *facts)
        _FOUND.clear()
        return rule

    return register


def lowers_python(rule: Rule, refuses: Refuses) -> None:
    """Registers the rule for ops that are Python and nothing else: those of users' own classes that no rule is for."""
    _PYTHON[:] = [Lowering(OF_USERS, rule, loops=True, refuses=refuses)]
    _FOUND.clear()


def find(op: Any) -> Lowering | None:
    """The lowering of an op, or None."""
    return find_class(type(op))


def find_class(class_: type) -> Lowering | None:
    """The lowering of the ops of a class, or None."""
    if class_ in _FOUND:
        return _FOUND[class_]
    _load()
    found = None
    for base in class_.__mro__:
        found = _BY_CLASS.get(base)
        if found is None:
            found = _BY_NAME.get(_name_of(base))
        if found is not None:
            break
    if found is None and _is_python(class_):
        found = _PYTHON[0]
    _FOUND[class_] = found
    return found


def _is_python(class_: type) -> bool:
    """Whether ops of a class are of no graph library, and do what their `perform` does."""
    if class_.__module__.partition(".")[0] in LIBRARIES:
        return False
    perform = getattr(class_, "perform", None)
    return perform is not None and not getattr(perform, "__isabstractmethod__", False)


def _name_of(class_: type) -> str:
    """The name that rules go by: of classes that may repeat names of the others, with what tells them before it."""
    library, _, module = class_.__module__.partition(".")
    if library not in _PREFIXES:
        return ""
    prefix = "Sparse" if module.partition(".")[0] == "sparse" else _PREFIXES[library]
    return f"{prefix}{class_.__name__}"


def registered() -> dict[str, Lowering]:
    """All rules registered by name."""
    _load()
    return dict(_BY_NAME)


@cache
def _load() -> None:
    for file in _RULES:
        import_module(f"..tensor.{file}", __name__)


def of_classes() -> dict[type, Lowering]:
    """The rules registered for classes, which are users'."""
    return dict(_BY_CLASS)


def add(rules: dict[type, Lowering]) -> None:
    """Registers rules of another process."""
    _BY_CLASS.update(rules)
    _FOUND.clear()


def read_graph(graph: Any, **options: Any) -> Any:
    """Reads a graph object with the reader of the library that it comes from.

    Raises:
        GraphError: when no reader knows it.
    """
    library = _library_of(graph)
    if library is None:
        raise GraphError(
            f"cannot read a graph from {_describe(graph)}: expected a PyTensor FunctionGraph, an (inputs, outputs) "
            "pair of variables, a compiled PyTensor function, an output variable, or a list of them"
        )
    classes = import_module("..library", __name__).library(library)
    return import_module("..readers.apply_graph", __name__).read(classes, graph, **options)


def is_function(graph: Any) -> bool:
    """Whether an object is for JAX to trace: a callable that belongs to no graph library, or a closed jaxpr."""
    # By name, because importing JAX for a graph of another library would double the time of its emission.
    # From JAX 0.11 on a closed jaxpr's class is `Jaxpr`, which before was that of an open one, without `consts`.
    jaxpr = type(graph).__name__ in ("ClosedJaxpr", "Jaxpr") and hasattr(graph, "consts")
    return (callable(graph) or jaxpr) and _library_of(graph) is None


def trace(function: Any, specs: Sequence[Any], **options: Any) -> Any:
    """The program of a function that JAX traces."""
    return import_module("..jax.module", __name__).emit(function, specs, **options)


def _library_of(graph: Any) -> str | None:
    stack = [graph]
    for _ in range(1000):
        if not stack:
            return None
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack.extend(item[:8])
        elif isinstance(item, dict):
            stack.extend(list(item.values())[:8])
        else:
            for base in type(item).__mro__:
                library = base.__module__.partition(".")[0]
                if library in LIBRARIES:
                    return library
    return None


def _describe(graph: Any) -> str:
    text = repr(graph)
    return f"{type(graph).__name__} {text if len(text) < 60 else text[:57] + '...'}"
