"""hlograph in place of PyTensor's JAX mode in PyMC: `hlograph.pymc.as_jax_backend()`.

In: PyMC's `get_jaxified_graph`, from which its JAX samplers, and those of other packages, have all their functions.
Out: the same with hlograph's lowering, for the time of a block and for the thread (the context) that is in it. The
name is replaced wherever a loaded module has it, by a function that asks whose block it is called in; so a module that
takes the name meanwhile gets PyMC's function back afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import ModuleType
from typing import Any

from ..function import Function
from ..mode.replaced import Replaced
from .graphs import compiled, frozen, refuse_discrete, roots, run

Jaxify = Callable[..., Callable[..., Any]]


class JaxBackend:
    """What `as_jax_backend` gives: which functions were made in its block.

    Attributes:
        functions: the `hlograph.Function` of each graph, in the order in which PyMC asked for them.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.functions: list[Function] = []
        self._options = dict(options)

    def jaxified(self, inputs: Any, outputs: Any) -> Callable[..., tuple[Any, ...]]:
        """A graph as a function in JAX: all results, as a tuple."""
        outputs = frozen(outputs)
        if inputs is None:
            inputs = roots(outputs)
        made = compiled(inputs, outputs, "pymc", self._options, bounds=_checks_bounds())
        self.functions.append(made)

        def jaxified(*operands: Any) -> tuple[Any, ...]:
            return run(made, operands)

        return jaxified


def _checks_bounds() -> bool:
    from pymc import modelcontext

    try:
        return bool(modelcontext(None).check_bounds)
    except TypeError:  # there is no model
        return True


_current: ContextVar[JaxBackend | None] = ContextVar("hlograph_jax_backend", default=None)


@contextmanager
def as_jax_backend(**options: Any) -> Iterator[JaxBackend]:
    """Has PyMC's JAX samplers run hlograph's lowering, within a `with` block or a decorated function.

        with hlograph.pymc.as_jax_backend():
            pm.sample(nuts_sampler="numpyro")

    It counts for the thread that is in the block. Blocks may be nested; the innermost one's options count.

    Args:
        options: those of `hlograph.function`, for each graph that PyMC asks for.

    Returns:
        A context manager, also a decorator; the block's variable is a `JaxBackend`.
    """
    backend = JaxBackend(options)
    with _NAMES.use():
        token = _current.set(backend)
        try:
            yield backend
        finally:
            _current.reset(token)


def _graph(theirs: Jaxify) -> Jaxify:
    """PyMC's function outside of all blocks, and ours within."""

    @wraps(theirs)
    def get_jaxified_graph(inputs: Any = None, outputs: Any = None) -> Callable[..., Any]:
        backend = _current.get()
        if backend is None or outputs is None:
            return theirs(inputs=inputs, outputs=outputs)
        return backend.jaxified(inputs, outputs)

    return get_jaxified_graph


def _density(theirs: Jaxify) -> Jaxify:
    """PyMC's function, of which its samplers take gradients, for models that have them."""

    @wraps(theirs)
    def get_jaxified_logp(model: Any, *args: Any, **options: Any) -> Callable[..., Any]:
        if _current.get() is not None:
            refuse_discrete(model)
        return theirs(model, *args, **options)

    return get_jaxified_logp


def _replace() -> Callable[[], None]:
    """Puts ours under every name that PyMC's functions have in a module."""
    from pymc.sampling import jax as theirs

    graph, density = theirs.get_jaxified_graph, theirs.get_jaxified_logp
    pairs = (graph, _graph(graph)), (density, _density(density))
    for one, other in pairs:
        _rename(one, other)

    def undo() -> None:
        for one, other in pairs:
            _rename(other, one)

    return undo


def _rename(one: Jaxify, other: Jaxify) -> None:
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            names = object.__getattribute__(module, "__dict__")  # a lazy module is not to be loaded for it
            for name in [name for name, value in list(names.items()) if value is one]:
                names[name] = other


_NAMES = Replaced(_replace)
