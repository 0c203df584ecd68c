"""Every private name of jax, jaxlib and PyTensor that hlograph uses: where, and what happens without it.

`make canary` prints the list against pre-releases; tests/test_private_names.py holds it against the source and against
the releases of today. A name counts as private when it, or what it lies in, begins with an underscore or is not in the
library's documentation.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Name:
    """One name, or several of which releases have one.

    Attributes:
        paths: `module:attributes`, newest first; "compiled:" begins at a `jax.stages.Compiled`.
        used_by: the file and function of ours.
        without: what users lose.
        fits: whether what was found is what we take it for.
    """

    paths: tuple[str, ...]
    used_by: str
    without: str
    fits: Callable[[Any], bool] = lambda found: True


def _takes(*parameters: str) -> Callable[[Any], bool]:
    """Whether a function's signature has these; that of a compiled function stands in its docstring."""

    def fits(found: Any) -> bool:
        names = inspect.signature(found).parameters if inspect.isfunction(found) else found.__doc__ or ""
        return all(name in names for name in parameters)

    return fits


# Who uses what, what users lose without it, and the paths, of which one is enough, newest first. Words in capitals are
# short for what `_SHORT` says; {a,b} is one name for each.
_TABLE = """
BINDINGS _registry | ALL | LIB._mlir_libs._jax_mlir_ext:register_dialects
BINDINGS | ALL | LIB.{ir,passmanager,dialects.chlo,dialects.func,dialects.sdy,dialects.stablehlo}:
BINDINGS | ALL | HLO:register_stablehlo_passes
BINDINGS | `Program.interpret` fails | HLO:eval_module
BINDINGS | `.mlirbc` artifacts cannot be written | HLO:serialize_portable_artifact
BINDINGS | `.mlirbc` artifacts cannot be read | HLO:deserialize_portable_artifact
BINDINGS | error messages and `.mlirbc` artifacts fail | HLO:get_current_version
BINDINGS | `.mlirbc` artifacts for old readers fail | HLO:get_minimum_version
COMPAT initialize_lapack | a loaded module with linear algebra ends the process | jaxlib.lapack:_lapack.initialize
COMPAT lapack_handlers | linear algebra is not called without PJRT | jaxlib.lapack:_lapack.registrations
COMPAT geqrf_primitive | JAX functions cannot be traced | SRC.lax.linalg:geqrf_p
COMPAT geqp3 | QR with pivoting fails | SRC.lax.linalg:geqp3
COMPAT make_synchronous_cpu_client | CALLS (about 1.3 to 1.5 times the time) | jaxlib.xla_client:make_cpu_client
COMPAT collect_garbage | CALLS, and are never direct | jaxlib.xla_client:_xla.collect_garbage
COMPAT loaded_execution | STORED | SRC.interpreters.pxla:global_aval_to_result_handler
COMPAT loaded_executable | STORED | jaxlib.xla_client:{Client.deserialize_executable,DeviceList}
COMPAT processor | STORED | jaxlib.xla_client:_xla.get_topology_for_devices
COMPAT keep_weakly | programs that nobody has any more stay in memory, up to 2,048 | SRC.util:weakref_cache_key_types
COMPAT trace_state | ALL | jax.extend.core:get_opaque_trace_state SRC.core:get_opaque_trace_state
COMPAT x64_switch | calls without x64 mode take 0.4 us more | X64.{swap_local,set_local,_update_thread_local_hook}
COMPAT x64_flag | ALL | X64.value SRC.config:enable_x64.value
COMPAT inconclusive_error | DIMENSIONS | jax.errors:INCONCLUSIVE SRC.core:INCONCLUSIVE
TRACING size_primitive | DIMENSIONS | SRC.export.shape_poly:dim_as_value_p
TRACING register_number | `import hlograph.dialects.jax.trace` fails | SRC.core:pytype_aval_mappings
TRACING register_number | jax.numpy refuses fractions of sizes, which then are a trace per value | NUMBERS jax:jit
TRACING keep_staged | DIMENSIONS | SRC.interpreters.partial_eval:DynamicJaxprTrace.process_primitive
TRACING keep_staged | DIMENSIONS | SRC.config:eager_constant_folding
TRACING keep_staged | errors of JAX name a line of ours | SRC.traceback_util:register_exclusion
TRACING states | functions of `hlograph.jit` cannot be made | SRC.config:{disable_jit,default_matmul_precision}
TRACING states | functions of `hlograph.jit` cannot be made | SRC.config:{numpy_dtype_promotion,numpy_rank_promotion}
TRACING keep_scan_lengths | a scan with a symbolic `length` is refused | SRC.lax.control_flow.loops:_infer_scan_length
TRACING callbacks | DIMENSIONS | SRC.callback:{pure_callback_p,io_callback_p}
TRACING callbacks | DIMENSIONS | SRC.debugging:debug_callback_p
TRACING callbacks | functions with `jax.debug.print` and named dimensions fail | SRC.debugging:debug_print_impl
TRACING without_order | DIMENSIONS | SRC.callback:{_IOEffect,_OrderedIOEffect}
TRACING without_order | DIMENSIONS | SRC.debugging:{debug_effect,ordered_debug_effect}
TRACING without_order | DIMENSIONS | SRC.effects:ordered_effects
TRACING is_staging | functions that call Python fail under transformations | SRC.core:trace_ctx.trace
COMPAT host_callback | programs that call Python fail | SRC.interpreters.mlir:ModuleContext.add_host_callback
COMPAT _on_mesh | `shard_map` with explicit axes fails | SRC.core:get_cur_mesh_sharding
COMPAT with_equal_axes | functions in `shard_map` fail where arguments vary over other axes | AXES
COMPAT own_call | CALLS, and are never direct | CALL.{ordered_effects,has_unordered_effects,has_host_callbacks}
COMPAT own_call | CALLS, and are never direct | CALL.{mut,pgle_profiler,kept_var_idx,out_handler.handlers}
COMPAT own_call | CALLS, and are never direct | CALL.xla_executable.execute_sharded
COMPAT own_call | CALLS, and are never direct | compiled:_params.const_args
COMPAT array_type | ALL | SRC.array:ArrayImpl.aval
COMPAT trace_mode | ALL | SRC.core:trace_state.value SRC.core:trace_ctx.trace
COMPAT trace_mode | ALL | SRC.core:eval_trace._weakref SRC.core:eval_trace
COMPAT register_checks | nothing works under `checkify` | SRC.checkify:{error_checks,checkify_jaxpr,check_nans}
COMPAT without_nan_checks | no function finds its NaN under `jax.debug_nans` | SRC.config:debug_nans.swap_local
COMPAT without_nan_checks | no function finds its NaN under `jax.debug_infs` | SRC.config:debug_infs.swap_local
COMPAT without_nan_checks | no function finds its NaN under either | SRC.api:_post_hook_state
SELECTION, MODES | MODE | pytensor.compile.mode:optdb
SELECTION | MODE | pytensor.graph.rewriting.basic:OpToRewriterTracker
MODES | MODE | pytensor.compile.mode:predefined_modes
MODES | MODE | pytensor.link.basic:{LocalLinker,Container}
KEYS | MODE | pytensor.tensor.{basic:infer_static_shape,random.utils:normalize_size_param,shape:shape_tuple}
"""
_SHORT = {
    "BINDINGS": "codegen/ir/bindings.py",
    "COMPAT": "codegen/ir/jax_compat.py",
    "TRACING": "codegen/ir/jax_tracing.py",
    "SELECTION": "dialects/rewrites/selection.py",
    "MODES": "runtime/mode/classes.py",
    "KEYS": "dialects/tensor/random.py",
    "ALL": "nothing works",
    "CALLS": "calls of NumPy arrays take JAX's own way",
    "STORED": "executables of bundles are compiled in place of loaded",
    "DIMENSIONS": "`hlograph.jit` with named dimensions fails",
    "MODE": "the PyTensor mode, or graphs with random variables, fail",
    "NUMBERS": "SRC.dtypes:register_canonicalize_value_handler SRC.dtypes:canonicalize_value_handlers",
    "AXES": "SRC.core:auto_insert_reshard SRC.core:standard_insert_pvary SRC.core:standard_insert_pbroadcast",
    "INCONCLUSIVE": "InconclusiveDimensionOperation",
    "CALL": "compiled:_executable.unsafe_call",
    "HLO": "jaxlib.mlir.dialects.stablehlo",
    "LIB": "jaxlib.mlir",
    "X64": "jax:enable_x64",
    "SRC": "jax._src",
}
_FITS: dict[str, Callable[[Any], bool]] = {
    "jax._src.lax.linalg:geqp3": _takes("a", "jpvt"),
    "jaxlib.xla_client:make_cpu_client": _takes("asynchronous"),
    "jax._src.interpreters.pxla:global_aval_to_result_handler": _takes("aval", "out_sharding", "committed"),
    "jax.extend.core:get_opaque_trace_state": _takes("convention"),
    "jax:enable_x64._update_thread_local_hook": lambda found: found is None,
    "jax._src.interpreters.mlir:ModuleContext.add_host_callback": _takes("host_callback"),
}


def _names() -> Iterator[Name]:
    text = _TABLE
    for short, long in _SHORT.items():
        text = re.sub(rf"(?<![A-Z_]){short}(?![A-Z_])", long, text)
    for row in text.strip().splitlines():
        used_by, without, paths = map(str.strip, row.split("|"))
        before, _, rest = paths.partition("{")
        each, _, behind = rest.partition("}")
        for one in each.split(","):
            found = tuple(f"{before}{one}{behind}".split())
            fits = {"fits": _FITS[found[0]]} if found[0] in _FITS else {}
            yield Name(found, used_by, without, **fits)


NAMES = tuple(_names())


def _find(path: str) -> Any:
    """What a path leads to.

    Raises:
        ImportError, AttributeError: nothing.
    """
    module, _, attributes = path.partition(":")
    if module == "compiled":
        import jax

        found: Any = jax.jit(lambda x: x + 1).lower(1.0).compile()
    else:
        found = import_module(module)
    for attribute in filter(None, attributes.split(".")):
        found = getattr(found, attribute)
    return found


def state(name: Name) -> str:
    """ "ok", "changed" (it is there and is not what we take it for) or "gone"."""
    for path in name.paths:
        try:
            return "ok" if name.fits(_find(path)) else "changed"
        except (ImportError, AttributeError):
            continue
    return "gone"


def report() -> list[tuple[Name, str]]:
    """All names with their states."""
    return [(name, state(name)) for name in NAMES]
