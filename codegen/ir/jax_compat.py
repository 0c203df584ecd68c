"""What differs between JAX releases, or has no public name, under one name each."""

from __future__ import annotations

import ctypes
import functools
import importlib
import inspect
import pickletools
import platform
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from . import scipy_parts

# The jaxlib releases that tests have run with, of some the smoke test alone. What lies below JAX's public API is used
# with these, and with others where a self-test has passed (runtime/direct/verdict.py).
PROVEN_JAXLIB = ("0.7", "0.8", "0.9", "0.10", "0.11", "0.12")


@functools.cache
def proven_jaxlib() -> bool:
    """Whether this jaxlib is one of `PROVEN_JAXLIB`."""
    return ".".join(version("jaxlib").split(".")[:2]) in PROVEN_JAXLIB


@functools.cache
def x64_flag() -> Any:
    """An object whose `value` says whether this thread's JAX sees 64-bit types now; read in every call (30 ns)."""
    import jax
    from jax._src import config

    return getattr(jax, "enable_x64", config.enable_x64)  # the same, public since JAX 0.8


def enable_x64(new_value: bool) -> AbstractContextManager[Any]:
    """A context in which this thread's JAX calls see 64-bit types (or not); the global flag stays as it is."""
    context: AbstractContextManager[Any] = x64_flag()(new_value)
    return context


def inconclusive_error() -> type[Exception]:
    """What JAX raises where it cannot decide something of symbolic sizes."""
    import jax
    from jax._src import core

    # Public since JAX 0.11.
    return getattr(jax.errors, "InconclusiveDimensionOperation", None) or core.InconclusiveDimensionOperation


def has_clients() -> bool:
    """Whether JAX has made a client of some platform in this process; takes no lock, and imports nothing."""
    return bool(getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None))


def geqrf_primitive() -> Any:
    """JAX's QR factorization as LAPACK packs it: from a matrix, the factors and `tau`."""
    from jax._src.lax import linalg

    return linalg.geqrf_p


def geqp3() -> Callable[..., Any]:
    """The same with column pivoting: from a matrix and an order that says nothing, the factors, the order and `tau`."""
    from jax._src.lax import linalg

    return linalg.geqp3


def keep_weakly(*types: type) -> None:
    """Makes JAX's caches hold parameters of equations of these types by weak references, and forget what held one.

    Otherwise what is abstractly evaluated, is kept for the next 2,048 such calls of any primitive.
    """
    from jax._src import util

    kept: Any = getattr(util, "weakref_cache_key_types", set())
    kept.update(types)


def settings() -> list[tuple[str, str]]:
    """What JAX's options say in this thread, but for those of its caches: it may change what JAX compiles."""
    import jax

    found = {name: getattr(jax.config, name, value) for name, value in jax.config.values.items()}
    return sorted((name, str(value)) for name, value in found.items() if "cache" not in name)


def trace_state() -> Any:
    """JAX's state in this thread: equal to another thread's where no transformation is under way in either."""
    try:
        from jax.extend.core import get_opaque_trace_state
    except ImportError:  # before JAX 0.11
        from jax._src.core import get_opaque_trace_state
    return get_opaque_trace_state(convention="nnx")


@functools.cache
def no_transformation() -> Any:
    """`trace_state` where no transformation is under way, as at the start of a thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(trace_state()))
    thread.start()
    thread.join()
    return found[0]


# XLA:CPU hands reductions of 4,096 elements and more to a library (YNNPACK) whose maximum and minimum ignore NaN,
# unless it is to have products alone. In jaxlib 0.10 it also leaves out rows where a product of many small rows is
# followed by a sum (jax#39103), unless it is to have each product by itself.
_YNN = "xla_cpu_experimental_ynn_fusion_type"
_PRODUCTS_ALONE = {_YNN: "LIBRARY_FUSION_TYPE_DOT"}
_EACH_PRODUCT = {_YNN: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}


def keep_products_options() -> Mapping[str, Any]:
    """Compile options with which XLA:CPU's sums of matrix products are right; none where they are anyway."""
    return _EACH_PRODUCT if version("jaxlib").startswith("0.10.") else {}


@functools.cache
def keep_nan_options() -> Mapping[str, Any]:
    """Compile options with which XLA:CPU's maximum and minimum keep NaN; none where they do anyway.

    jaxlib 0.10 to 0.12 need them: tried with maximum, minimum and their places, over axes, in four dtypes. Other
    releases are asked, once (50 ms).

    Raises:
        RuntimeError: they do not, and the options known here do not help.
    """
    import jax
    import numpy as np

    release = version("jaxlib")
    if release.startswith("0.10."):
        return _EACH_PRODUCT
    if release.startswith(("0.11.", "0.12.")):
        return _PRODUCTS_ALONE

    values = np.zeros((2, 4096), np.float64)
    values[:, 1] = np.nan
    (device, *_) = jax.devices("cpu")

    def keeps(options: Mapping[str, Any]) -> bool:
        """For the two functions, of all elements and over an axis, in two dtypes."""
        with enable_x64(True):
            given = [jax.device_put(values.astype(dtype), device) for dtype in ("f4", "f8")]
            lowered = jax.jit(lambda *xs: [(x.max(), x.min(1)) for x in xs]).lower(*given)
            found = jax.tree.leaves(lowered.compile(compiler_options=dict(options))(*given))
        return all(bool(np.isnan(x).all()) for x in found)

    for options in ({}, _PRODUCTS_ALONE):
        try:
            if keeps(options):
                return options
        except jax.errors.JaxRuntimeError:  # no such option here
            continue
    raise RuntimeError("XLA:CPU's maximum of an array ignores NaN, and no compile option is known that prevents it")


def x64_switch() -> tuple[Callable[[bool], Any], Callable[[Any], object]]:
    """Two functions that put this thread into x64 mode and back: `restore(swap(True))`.

    Where JAX's state object offers it, the state is swapped directly, as its context manager does: 0.1 us in place of
    0.5 us in every call from a thread without x64 mode.
    """
    state = x64_flag()
    swap, restore = getattr(state, "swap_local", None), getattr(state, "set_local", None)
    if swap is not None and restore is not None and getattr(state, "_update_thread_local_hook", "unknown") is None:
        return swap, restore

    def enter(value: bool) -> Any:
        context = enable_x64(value)
        context.__enter__()
        return context

    return enter, lambda context: context.__exit__(None, None, None)


def x64_caller() -> Callable[[Callable[..., Any], Sequence[Any]], Any]:
    """A function that calls another one, given with its arguments, in x64 mode; see `x64_switch`."""
    swap, restore = x64_switch()

    def call(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        before = swap(True)
        try:
            return function(*arguments)
        finally:
            restore(before)

    return call


def array_type() -> type:
    """The type of arrays whose data JAX has, which have their shape, dtype and weakness as one object, `aval`."""
    from jax._src.array import ArrayImpl

    return ArrayImpl


def place(host: Any, sharding: Any, committed: bool, weak_type: bool = False) -> Any:
    """A numpy array as a JAX array on the only device of a sharding: `jax.device_put`, which takes ten times as long.

    Where the device's memory is the host's and the array is aligned, they share it.
    """
    from jaxlib import xla_client

    aval = _array_aval(host.shape, host.dtype, weak_type)
    return xla_client.batched_device_put(aval, sharding, [host], list(sharding.device_set), committed)


@functools.lru_cache(maxsize=4096)
def _array_aval(shape: tuple[int, ...], dtype: Any, weak_type: bool) -> Any:
    import jax

    return jax.core.ShapedArray(shape, dtype, weak_type=weak_type)


def result_avals(
    operands: Sequence[Any], types: Sequence[tuple[tuple[Any, ...], Any]], weak: Collection[int] = ()
) -> list[Any]:
    """The abstract arrays that an operation of ours returns.

    Inside `jax.shard_map` an array's type says over which mesh axes it varies; results vary as the operands do.

    Args:
        operands: abstract arrays, equal in that respect: see `with_equal_axes`.
        types: shape and dtype of each result.
        weak: the results whose types give way to others.
    """
    import jax

    shaped: Any = jax.core.ShapedArray
    varying: dict[str, Any] = {}
    first = operands[0] if operands else None
    for name in ("manual_axis_type", "vma"):  # the second before JAX 0.10
        value = getattr(first, name, None)
        if value is not None and not getattr(value, "empty", not value):
            varying = {name: value}
            break
    return [
        shaped(shape, dtype, weak_type=place in weak, **_on_mesh(len(shape)), **varying)
        for place, (shape, dtype) in enumerate(types)
    ]


def _on_mesh(ndim: int) -> dict[str, Any]:
    """The sharding of a new array's type inside `jax.shard_map` and under a mesh with explicit axes."""
    import jax
    from jax._src import core

    if jax.sharding.get_abstract_mesh().empty:
        return {}
    return {"sharding": core.get_cur_mesh_sharding(jax.sharding.PartitionSpec(*[None] * ndim))}


def with_equal_axes(arrays: Sequence[Any]) -> Sequence[Any]:
    """Arrays that vary over the same mesh axes, as operands of one operation must inside `jax.shard_map`."""
    from jax._src import core

    names = ("auto_insert_reshard", "standard_insert_pvary", "standard_insert_pbroadcast")  # newest first
    insert: Any = next((getattr(core, name) for name in names if hasattr(core, name)), None)
    equal: Sequence[Any] = arrays if insert is None or len(arrays) < 2 else insert(*arrays)
    return equal


def platforms_of(lowering: Any) -> Sequence[str]:
    """The platforms that a lowering rule's context is for."""
    platforms: Sequence[str] = lowering.platforms or lowering.module_context.platforms or ("cpu",)
    return platforms


def _jaxlib(name: str) -> Any:
    return importlib.import_module(f"jaxlib.{name}")


@functools.cache
def initialize_lapack() -> None:
    """Loads the LAPACK functions behind `lapack_*_ffi` calls.

    JAX does this where it lowers such a call itself; a module that comes with one ends the process without it.
    """
    with scipy_parts.tables():  # which it imports
        _jaxlib("lapack")._lapack.initialize()


@functools.cache
def lapack_handlers() -> Mapping[str, int]:
    """Addresses of the functions behind `lapack_*_ffi` calls, of XLA's typed foreign function interface.

    Those are left out that have more than one stage. They must not be called before `initialize_lapack`.
    """
    found = {}
    for name, value in _jaxlib("lapack")._lapack.registrations().items():
        if isinstance(value, dict):
            value = value.get("execute") if set(value) == {"execute"} else None
        if name.endswith("_ffi") and value is not None:
            found[name] = capsule_address(value)
    return found


def capsule_address(capsule: Any) -> int:
    """What a capsule of Python's C interface holds."""
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer(capsule, name(capsule)))


def make_synchronous_cpu_client() -> Any:
    """A CPU client whose calls run in the caller's thread; None where this jaxlib has none.

    It is the one that JAX makes where `jax_cpu_enable_async_dispatch` is off.
    """
    make: Any = getattr(_jaxlib("xla_client"), "make_cpu_client", None)
    try:
        inspect.signature(make).bind(asynchronous=False)
    except (TypeError, ValueError):
        return None
    return make(asynchronous=False)


def collect_garbage() -> Callable[[], None]:
    """Frees what calls below JAX's own have left behind."""
    collect: Callable[[], None] = _jaxlib("xla_client")._xla.collect_garbage
    return collect


class Execution(NamedTuple):
    """An executable's own call, below JAX's: `execute(arrays).consume_with_handlers(handlers)`, two lists.

    It takes arrays on the executable's device and asks nothing about them. For one argument it takes 0.8, for six 0.65
    times as long as JAX's call path. It leaves 64 bytes behind, which `collect` frees; JAX's other calls do so by
    themselves, and so does Python's garbage collector, but that may never run in a loop of such calls.

    Attributes:
        execute: takes the arrays of the arguments that were kept.
        handlers: make the results.
        kept: the numbers of the arguments that the executable has; JAX drops those that no result needs.
        collect: frees what calls have left.
    """

    execute: Callable[[list[Any]], Any]
    handlers: list[Any]
    kept: tuple[int, ...]
    collect: Callable[[], None]


def own_call(compiled: Any) -> Execution | None:
    """The call of a `jax.stages.Compiled` below JAX's own; None where this executable has no such call.

    It is what `jax._src.interpreters.pxla.ExecuteReplicated` does for one without effects.

    Raises:
        AttributeError: this JAX has no such call; the message says what it lacks.
    """
    call: Any = compiled._executable.unsafe_call
    special = (
        call.ordered_effects,
        call.has_unordered_effects,
        call.has_host_callbacks,
        call.mut,
        call.pgle_profiler,
        compiled._params.const_args,
    )
    execute, handlers = call.xla_executable.execute_sharded, list(call.out_handler.handlers)
    kept = tuple(sorted(call.kept_var_idx))
    return None if any(special) else Execution(execute, handlers, kept, collect_garbage())


def execution(compiled: Any, *, proven: bool) -> Execution | None:
    """The shortest call of a `jax.stages.Compiled` with arrays on its device; None where JAX has to look at each call.

    Args:
        compiled: what is called.
        proven: whether `own_call` has been tried with this jaxlib; the call is JAX's otherwise.
    """
    import jax

    with suppress(AttributeError):
        own = own_call(compiled)
        if own is None or proven:
            return own
    in_x64 = x64_caller()

    def execute(arrays: list[Any]) -> Any:
        results = jax.tree.leaves(in_x64(compiled, arrays))
        return SimpleNamespace(consume_with_handlers=lambda _: results)

    return Execution(execute, [], tuple(range(len(jax.tree.leaves(compiled.args_info)))), lambda: None)


def serialized_executable(executable: Any) -> bytes:
    """What an executable consists of: machine code, and what it takes and returns. One with a sort must not have run.

    Raises:
        jax.errors.JaxRuntimeError: the runtime does not serialize it.
    """
    if hasattr(executable, "serialize"):
        return bytes(executable.serialize())
    return bytes(executable.client.serialize_executable(executable))  # up to jaxlib 0.8


def in_pickle(data: bytes) -> bytes:
    """What `serialized_executable` gave of one that `jax.experimental.serialize_executable` made a pickle of.

    An executable that was loaded does not serialize as it was: comparisons in it, of sorts, get lost.
    """
    return max((found for _, found, _ in pickletools.genops(data) if isinstance(found, bytes)), key=len, default=b"")


def processor(device: Any) -> str:
    """What a device is, as XLA's compiler sees it: for a CPU its name and the instructions that it has.

    Returns:
        The texts in the description that JAX has of the device; of a CPU without one, what the system says.
    """
    topology = getattr(_jaxlib("xla_client")._xla, "get_topology_for_devices", None)
    try:
        data = b"" if topology is None else bytes(topology([device]).serialize())
    except (RuntimeError, ValueError, TypeError, AttributeError):
        data = b""
    found = b" ".join(re.findall(rb"[ -~]{3,}", data)).decode()
    if device.platform != "cpu" or "+" in found:
        return found
    return f"{found} {processor_of_system()}".strip()


@functools.cache
def processor_of_system() -> str:
    """The processor as the system sees it: on Linux its name and the instructions that it has."""
    lines: list[str] = []
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    told = [line for line in dict.fromkeys(lines) if line.startswith(("model name", "flags", "Features", "CPU "))]
    return " ".join([platform.machine(), platform.processor(), *told])


def host_callback(lowering: Any, function: Callable[..., Any]) -> tuple[str, int]:
    """Has a module that JAX lowers call a Python function.

    Args:
        lowering: the context of the primitive's lowering rule.
        function: from NumPy arrays, which live as long as it runs, to a tuple of them.

    Returns:
        The target of the custom call, and the `index` that its `backend_config` must have.

    Raises:
        ValueError: the module is for several platforms or devices, or for a platform without such calls.
    """
    module: Any = lowering.module_context
    platforms = platforms_of(lowering)
    kinds = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu"}
    if len(platforms) != 1 or platforms[0] not in kinds:
        raise ValueError(f"there are no calls of Python functions on {' and '.join(platforms)}")
    if getattr(module.axis_context, "num_devices", 1) > 1 or hasattr(module.axis_context, "manual_axes"):
        raise ValueError("each of several devices would call it")
    module.add_host_callback(function)
    return f"xla_ffi_python_{kinds[platforms[0]]}_callback", len(module.host_callbacks) - 1


class Vmapped(NamedTuple):
    """What `jax.vmap` was given."""

    function: Callable[..., Any]
    in_axes: Any
    out_axes: Any
    axis_name: Any


def vmapped(function: Any) -> Vmapped | None:
    """What `jax.vmap` made a function of; None for any other function. Read from its closure: JAX does not tell."""
    if not inspect.isfunction(function) and hasattr(function, "trace"):  # what `jax.jit` returns
        function = getattr(function, "__wrapped__", None)
    while inspect.isfunction(function):
        names = inspect.getclosurevars(function).nonlocals
        if function.__code__.co_name == "vmap_f" and {"in_axes", "out_axes", "fun"} <= names.keys():
            return Vmapped(names["fun"], names["in_axes"], names["out_axes"], names.get("axis_name"))
        function = names.get("fun") if function.__code__.co_name == "reraise_with_filtered_traceback" else None
    return None


def register_checks(
    primitive: Any, inside: Callable[..., Callable[[Sequence[Any]], Any] | None], names: Callable[..., Sequence[str]]
) -> None:
    """Says what `jax.experimental.checkify` looks at where it meets a primitive with several results.

    Args:
        primitive: the primitive.
        inside: from its parameters to the function of its operands that is gone through for the checks that JAX's own
            operations have; None where there is none: its results are examined for NaN.
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
