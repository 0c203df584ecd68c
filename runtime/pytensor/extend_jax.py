"""hlograph inside PyTensor's JAX mode: `hlograph.pytensor.extend_jax()`.

In: PyTensor's dispatch of ops to JAX functions. Out: the same, with hlograph's lowering where it has none, or where
what it has refuses. An op is tried alone first, in the middle of PyTensor's JAX functions; where that cannot be,
because a size leaves it that is known only in the run, the whole graph that it is in becomes one equation, an inner
graph before the one around it. Whatever PyTensor does by itself stays as it is, but for checks, which raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ...codegen.errors import HlographError
from ...dialects import registry
from ...dialects.frontend import emit_stablehlo
from ...dialects.library import library
from ...dialects.replaced import Replaced, Use
from ..function import Function

Funcify = Callable[..., Any]

# PyTensor's JAX mode drops checks, and PyMC's JAX samplers do; what it does not know goes by `object`.
_PREFERRED = ("CheckAndRaise", "Assert", "object")
_replaced: dict[type, tuple[Funcify, Funcify]] = {}  # theirs, and ours


def extend_jax() -> Use:
    """Has PyTensor's JAX mode use hlograph for what it refuses.

        hlograph.pytensor.extend_jax()
        pytensor.function([x], graph, mode="JAX")  # a Scan with `until`, a Print, an op of your own, ...

    Functions that are compiled from now on count; calling it again changes nothing. Importing PyTensor's JAX mode sets
    JAX's x64 flag, as usual.

    Returns:
        A context manager, which also has `undo`.
    """
    return _EXTENSION.use()


def _replace() -> Callable[[], None]:
    from pytensor.graph.op import Op
    from pytensor.link.jax.dispatch import jax_funcify
    from pytensor.scalar.basic import ScalarOp
    from pytensor.tensor.random.op import RandomVariable

    graphs = library("pytensor").fgraph.__mro__
    for class_, theirs in list(jax_funcify.registry.items()):
        if class_ in _replaced and theirs is _replaced[class_][1]:
            continue
        if class_ in graphs and class_ is not object:
            made = _graph(theirs)
        elif class_ is object or (issubclass(class_, Op) and not issubclass(class_, (ScalarOp, RandomVariable))):
            made = _op(theirs, preferred=class_.__name__ in _PREFERRED)
        else:
            continue
        _replaced[class_] = theirs, made
        jax_funcify.register(class_, made)

    def undo() -> None:
        for class_, (theirs, _) in _replaced.items():
            jax_funcify.register(class_, theirs)
        _replaced.clear()

    return undo


_EXTENSION = Replaced(_replace)


# ---- one op ---------------------------------------------------------------------------------------------------------


def _op(theirs: Funcify, *, preferred: bool) -> Funcify:
    def funcify(op: Any, node: Any = None, **options: Any) -> Any:
        if node is None or not hasattr(op, "perform") or registry.find(op) is None:
            return theirs(op, node=node, **options)
        if preferred:
            return _of_node(node)
        try:
            return theirs(op, node=node, **options)
        except Exception as error:  # "not implemented", or a function that this JAX does not have
            return _instead(error, lambda: _of_node(node))

    return funcify


def _of_node(node: Any) -> Callable[..., Any]:
    graphs = library("pytensor")
    given = [i for i, x in enumerate(node.inputs) if not isinstance(x, graphs.constant)]
    fresh = {i: node.inputs[i].type() for i in given}
    made = node.clone_with_new_inputs([fresh.get(i, x) for i, x in enumerate(node.inputs)], strict=False)
    run = _compiled(list(fresh.values()), made.outputs)

    def node_by_hlograph(*operands: Any) -> Any:
        results = run([operands[i] for i in given])
        return results[0] if len(results) == 1 else results

    return node_by_hlograph


# ---- a graph --------------------------------------------------------------------------------------------------------


def _graph(theirs: Funcify) -> Funcify:
    def funcify(fgraph: Any, *args: Any, **options: Any) -> Any:
        with _EXTENSION.lock:
            if _EXTENSION.users:
                _replace()

        def ours() -> Callable[..., Any]:
            run = _compiled(list(fgraph.inputs), list(fgraph.outputs))
            return lambda *operands: run(operands)

        try:
            function = theirs(fgraph, *args, **options)
        except Exception as error:  # "not implemented", or a function that this JAX does not have
            return _instead(error, ours)
        made: list[Any] = []

        def graph_or_program(*operands: Any) -> Any:
            if made:
                return made[0](*operands)
            try:
                return function(*operands)
            except Exception as error:  # of all kinds, where JAX traces what it cannot
                refused = error
            made.append(_instead(refused, ours))
            return _instead(refused, lambda: made[0](*operands))

        return graph_or_program

    return funcify


# ---- both -----------------------------------------------------------------------------------------------------------


def _instead(refused: Exception, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except HlographError as error:
        error.add_note(f"before, it was refused with: {type(refused).__name__}: {refused}")
        raise error from refused


def _compiled(inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    function = Function(emit_stablehlo((list(inputs), list(outputs))))
    dtypes = [argument.dtype for argument in function.program.signature.arguments]

    def run(operands: Sequence[Any]) -> tuple[Any, ...]:
        given = [
            jax.numpy.asarray(x, dtype) if isinstance(x, jax.Array) else np.asarray(x, dtype)
            for x, dtype in zip(operands, dtypes, strict=True)
        ]
        return function.run(given)

    return run
