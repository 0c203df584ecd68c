"""JAX's own checks, where it has no public names for them: `jax.experimental.checkify`, `jax.debug_nans`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from .jax_compat import no_transformation, trace_state


def register_checks(
    primitive: Any, inside: Callable[..., Callable[[Sequence[Any]], Any] | None], names: Callable[..., Sequence[str]]
) -> None:
    """Says what `jax.experimental.checkify` looks at where it meets a primitive with several results.

    Args:
        primitive: the primitive.
        inside: from its parameters to the function of its operands that is gone through for the checks that JAX's own
            operations have; None where there is none: its results are looked at for NaN.
        names: from its parameters to what messages call its results.
    """
    import jax
    from jax._src import checkify

    def rule(*given: Any, **parameters: Any) -> tuple[Any, Sequence[Any]]:
        context = given[: 0 if isinstance(given[0], checkify.Error) else 1]  # since JAX 0.12
        error, enabled, *operands = given[len(context) :]
        check: Any = checkify
        if not enabled - check.user_checks:
            return error, primitive.bind(*operands, **parameters)
        function = inside(**parameters)
        if function is not None:
            jaxpr = jax.make_jaxpr(function)(operands)
            found: tuple[Any, Sequence[Any]] = check.checkify_jaxpr(*context, jaxpr, enabled, error, *operands)
            return found
        outputs = primitive.bind(*operands, **parameters)
        for name, output in zip(names(**parameters), outputs, strict=False):
            error = check.check_nans(
                SimpleNamespace(name=name, multiple_results=False), *context, error, enabled, output
            )
        return error, outputs

    table: Any = checkify.error_checks
    table[primitive] = rule


@contextmanager
def without_nan_checks() -> Iterator[None]:
    """A context in which JAX does not look for NaN and infinity; how it does, by `jax.debug_nans`, stays as it is."""
    import jax
    from jax._src import api, config

    hook: Any = getattr(api, "_post_hook_state", None)
    if hook is None:  # up to JAX 0.7
        with jax.debug_nans(False), jax.debug_infs(False):
            yield
        return
    # After a context of JAX's own this thread would take no notice of `jax.config.update("jax_debug_nans", True)`.
    states: list[Any] = [hook, config.debug_nans, config.debug_infs]
    before = [state.swap_local(value) for state, value in zip(states, (None, False, False), strict=True)]
    try:
        yield
    finally:
        for state, value in zip(states, before, strict=True):
            state.set_local(value)


def is_checkified() -> bool:
    """Whether `jax.experimental.checkify` is tracing what calls this, which it does with arrays in place of tracers."""
    if "jax._src.checkify" not in sys.modules or trace_state() == no_transformation():
        return False
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != "jax._src.checkify":
        frame = frame.f_back
    return frame is not None


@functools.cache
def trace_mode() -> tuple[Any, str, Any]:
    """An object, the name of what is read of it (40 ns), and what that is where no transformation is under way."""
    from jax._src import core

    state = getattr(core, "trace_state", None)
    if hasattr(state, "value"):  # from JAX 0.10 on
        return state, "value", core.eval_trace._weakref
    return core.trace_ctx, "trace", core.eval_trace
