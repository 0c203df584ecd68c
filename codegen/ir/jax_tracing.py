"""What of JAX has no public name where a function is traced: equations, symbolic sizes, calls of Python."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, cast


def closed_over(traced: Any) -> Sequence[Any]:
    """The arrays that a function, traced by `jax.jit(f).trace`, uses besides its arguments."""
    return [*traced.jaxpr.consts, *getattr(traced, "_consts", ())]


def evaluate_equation(equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """The results of a jaxpr's equation; of traced operands it becomes an equation of theirs."""
    primitive = equation.primitive
    params = primitive.get_bind_params(equation.params)
    functions: Sequence[Any] = ()
    if not isinstance(params, dict):  # functions apart from the other parameters, until JAX 0.11
        functions, params = params
    with equation.ctx.manager:
        results = primitive.bind(*functions, *operands, **params)
    return results if primitive.multiple_results else [results]


def scan_counts(equation: Any) -> tuple[int, int]:
    """How many operands of a scan's equation are constants, and how many are carried."""
    found = equation.params.get("ft_in")
    if found is None:  # until JAX 0.11
        return equation.params["num_consts"], equation.params["num_carry"]
    consts, carried, _ = found.unpack()
    return len(consts), len(carried)


def expansion(equation: Any) -> Any:
    """What an equation is short for, as a function of its operands, where JAX lowers it by that (0.12); else None."""
    made = equation.params.get("_prim")
    return None if equation.primitive.name != "call_hi_primitive" else made.expand


_ADAPTED: dict[str, Callable[[Any, Any], Any]] = {}


def adapt(module: str, name: str, own: Callable[..., Any], wanted: Callable[[Any], bool]) -> None:
    """Has a function of JAX, by whatever name it was imported, call another one for some arguments.

    Args:
        module: below `jax._src`; in a release without such a function nothing happens.
        own: takes what the function takes.
        wanted: whether it is called, of the positional arguments and those by name.
    """
    if importlib.util.find_spec(f"jax._src.{module}") is None:
        return
    function: Any = getattr(importlib.import_module(f"jax._src.{module}"), name, None)
    function = getattr(function, "__wrapped__", function)  # what `jax.jit` took
    if function is None or function.__closure__:
        return
    original = FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
    original.__kwdefaults__ = function.__kwdefaults__
    key = f"{module}.{name}"
    _ADAPTED[key] = lambda args, kwargs: (own if wanted((args, kwargs)) else original)(*args, **kwargs)
    constants = {"this module": __name__, "this function": key}
    code = _adapted.__code__
    function.__signature__ = inspect.signature(function)
    function.__code__ = code.replace(co_consts=tuple(constants.get(x, x) for x in code.co_consts), co_name=name)
    function.__defaults__ = function.__kwdefaults__ = None


def _adapted(*args: Any, **kwargs: Any) -> Any:
    import sys  # the code is run among the names of another module

    return sys.modules["this module"]._ADAPTED["this function"](args, kwargs)


def size_primitive() -> Any:
    """The primitive that makes data of a symbolic size."""
    from jax._src.export import shape_poly

    return shape_poly.dim_as_value_p


def keep_staged(is_open: Callable[[Any], bool]) -> None:
    """Has JAX stage what cannot be computed yet under `jax.ensure_compile_time_eval` too, where there are no operands.

    Args:
        is_open: whether a parameter of such an equation has sizes that are not known.
    """
    from jax._src import config, traceback_util
    from jax._src.interpreters import partial_eval

    traceback_util.register_exclusion(__file__)  # or JAX takes the frame below for the user's
    kind: Any = partial_eval.DynamicJaxprTrace
    own = kind.process_primitive

    def process(self: Any, primitive: Any, operands: Any, params: Any) -> Any:
        if config.eager_constant_folding.value and any(map(is_open, params.values())):
            with config.eager_constant_folding(False):
                return own(self, primitive, operands, params)
        return own(self, primitive, operands, params)

    kind.process_primitive = process


def keep_scan_lengths(is_open: Callable[[Any], bool], is_equal: Callable[[Any, Any], bool]) -> None:
    """Has `jax.lax.scan` take a length that is not known; JAX before `_infer_scan_length` refuses it.

    Args:
        is_open: whether a length is none yet.
        is_equal: whether it is the size of the leading axes.
    """
    from jax._src.lax.control_flow import loops

    module: Any = loops
    own: Any = getattr(module, "_infer_scan_length", None)

    def infer(arrays: Any, avals: Any, length: Any) -> Any:
        if not is_open(length):
            return own(arrays, avals, length)
        found = own(arrays, avals, None) if arrays else length
        if not is_equal(length, found):
            raise ValueError(f"scan got `length` argument of {length} which disagrees with leading axis sizes {found}")
        return length

    if own is not None:
        module._infer_scan_length = infer


def register_number(kind: type, as_array: Callable[[Any], Any], aval: Callable[[Any], Any]) -> None:
    """Has JAX's functions take values of a class as they take Python's numbers.

    Args:
        kind: the class.
        as_array: makes an array of a value, where one is traced.
        aval: what that will be.
    """
    from jax._src import core, dtypes

    mappings: Any = core.pytype_aval_mappings
    mappings[kind] = aval
    register = getattr(dtypes, "register_canonicalize_value_handler", None)
    if register is not None:
        register(kind, as_array)
    else:  # JAX 0.7: as it makes data of its symbolic sizes
        kind.dimension_as_value = as_array  # type: ignore[attr-defined]


def callbacks() -> Mapping[Any, Callable[..., Any]]:
    """JAX's primitives that call Python, and what each runs: from arrays and its parameters to the results."""
    from jax._src import callback, debugging

    def run(*arrays: Any, callback: Callable[..., Any], **_: Any) -> Any:
        """What JAX's own do, but for the message with which they log an error: it comes out of the call here."""
        return callback(*arrays)

    found = dict.fromkeys([callback.pure_callback_p, callback.io_callback_p, debugging.debug_callback_p], run)
    if hasattr(debugging, "debug_print_p"):  # since JAX 0.8
        found[debugging.debug_print_p] = debugging.debug_print_impl
    return found


def without_order(given: Any) -> Any:
    """Effects, or the parameters of an equation, with effects of the same kind without an order in place of others."""
    from jax._src import callback, debugging, effects

    others = {debugging.ordered_debug_effect: debugging.debug_effect, callback._OrderedIOEffect: callback._IOEffect}
    if not isinstance(given, Mapping):
        return type(given)(others.get(x, x) for x in given)
    new: dict[str, Any] = {"ordered": False} if given.get("ordered") else {}
    if effects.ordered_effects.contains(cast(Any, given.get("effect"))):
        new["effect"] = others[given["effect"]]
    return {**given, **new}


def is_staging() -> bool:
    """Whether what is called now becomes an equation, as under `jax.jit`, and is not computed."""
    from jax._src import core
    from jax._src.interpreters import partial_eval

    return isinstance(core.trace_ctx.trace, partial_eval.DynamicJaxprTrace)


def tracing_context() -> tuple[Callable[[], tuple[Any, ...]], Any]:
    """What gives all of this thread's state that decides what JAX traces, such as `jax.default_matmul_precision`, as a
    key; and an object whose `value` says whether `jax.disable_jit` holds."""
    from jax._src import config

    return config.trace_context, config.disable_jit
