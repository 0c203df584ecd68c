"""Every private name of jax, jaxlib and PyTensor that hlograph uses: where, and what happens without it.

`make canary` prints the list against pre-releases; tests/test_private_names.py holds it against the source and against
the releases of today. A name counts as private when it, or what it lies in, begins with an underscore or is not in the
library's documentation.
"""

from __future__ import annotations

import inspect
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


_ALL = "nothing works"
_SHORT = "calls of NumPy arrays take JAX's own way, and are never direct"
_EAGER = "calls of NumPy arrays take JAX's own way (about 1.3 to 1.5 times the time)"


def _names() -> Iterator[Name]:
    compat, bindings = "codegen/ir/jax_compat.py", "codegen/ir/bindings.py"
    extension = "jaxlib.mlir._mlir_libs"
    yield Name((f"{extension}._jax_mlir_ext:register_dialects",), f"{bindings} _registry", _ALL)
    yield Name(
        ("jaxlib._jax:hlo_module_cost_analysis",), f"{bindings} HLO_COST_ANALYSIS", "costs have no flops and no bytes"
    )
    yield Name(
        (f"{extension}._mlir:rewrite.RewritePatternSet",),
        "codegen/ir/driver.py apply_rewrites",
        "rewrites run in rounds in Python, as with jaxlib 0.7",
    )
    yield Name(
        (f"{extension}._mlir:rewrite.GreedyRewriteConfig",),
        "codegen/ir/driver.py apply_rewrites",
        "rewrites run in rounds in Python, as with jaxlib 0.8",
    )
    yield Name(
        (f"{extension}._mlir:rewrite.GreedySimplifyRegionLevel.DISABLED",),
        "codegen/ir/driver.py apply_rewrites",
        "passes and users' rewrites fail",
    )
    yield Name(
        (f"{extension}._mlir:rewrite.apply_patterns_and_fold_greedily",),
        "codegen/ir/driver.py apply_rewrites",
        "passes and users' rewrites fail",
    )
    for name in ("ir", "passmanager", "dialects.chlo", "dialects.func", "dialects.sdy", "dialects.stablehlo"):
        yield Name((f"jaxlib.mlir.{name}:",), bindings, _ALL)
    for name, without in (
        ("register_stablehlo_passes", _ALL),
        ("eval_module", "`Program.interpret` fails"),
        ("serialize_portable_artifact", "`.mlirbc` artifacts cannot be written"),
        ("deserialize_portable_artifact", "`.mlirbc` artifacts cannot be read"),
        ("get_current_version", "error messages and `.mlirbc` artifacts fail"),
        ("get_minimum_version", "`.mlirbc` artifacts for old readers fail"),
    ):
        yield Name((f"jaxlib.mlir.dialects.stablehlo:{name}",), bindings, without)
    yield Name(
        ("jaxlib.lapack:_lapack.initialize",),
        f"{compat} initialize_lapack",
        "a loaded module with linear algebra ends the process",
    )
    yield Name(
        ("jaxlib.lapack:_lapack.registrations",),
        f"{compat} lapack_handlers",
        "programs with linear algebra are not called without PJRT",
    )
    yield Name(("jax._src.lax.linalg:geqrf_p",), f"{compat} geqrf_primitive", "JAX functions cannot be traced")
    yield Name(("jax._src.lax.linalg:geqp3",), f"{compat} geqp3", "QR with pivoting fails", _takes("a", "jpvt"))
    yield Name(
        ("jaxlib.xla_client:make_cpu_client",), f"{compat} make_synchronous_cpu_client", _EAGER, _takes("asynchronous")
    )
    yield Name(("jaxlib.xla_client:_xla.collect_garbage",), f"{compat} collect_garbage", _SHORT)
    stored = "executables of bundles are compiled in place of loaded"
    yield Name(
        ("jax._src.interpreters.pxla:global_aval_to_result_handler",),
        f"{compat} loaded_execution",
        stored,
        _takes("aval", "out_sharding", "committed"),
    )
    yield Name(("jaxlib.xla_client:Client.deserialize_executable",), f"{compat} loaded_executable", stored)
    yield Name(("jaxlib.xla_client:DeviceList",), f"{compat} loaded_executable", stored)
    yield Name(("jaxlib.xla_client:_xla.get_topology_for_devices",), f"{compat} processor", stored)
    yield Name(
        ("jax._src.util:weakref_cache_key_types",),
        f"{compat} keep_weakly",
        "programs that nobody has any more stay in memory, up to 2,048",
    )
    yield Name(
        ("jax.extend.core:get_opaque_trace_state", "jax._src.core:get_opaque_trace_state"),
        f"{compat} trace_state",
        _ALL,
        _takes("convention"),
    )
    yield Name(("jax:enable_x64.swap_local",), f"{compat} x64_switch", "calls without x64 mode take 0.4 us more")
    yield Name(("jax:enable_x64.set_local",), f"{compat} x64_switch", "calls without x64 mode take 0.4 us more")
    yield Name(
        ("jax:enable_x64._update_thread_local_hook",),
        f"{compat} x64_switch",
        "calls without x64 mode take 0.4 us more",
        lambda found: found is None,
    )
    yield Name(("jax:enable_x64.value", "jax._src.config:enable_x64.value"), f"{compat} x64_flag", _ALL)
    yield Name(
        ("jax.errors:InconclusiveDimensionOperation", "jax._src.core:InconclusiveDimensionOperation"),
        f"{compat} inconclusive_error",
        "`hlograph.jit` with named dimensions fails",
    )
    yield Name(
        ("jax._src.export.shape_poly:dim_as_value_p",),
        f"{compat} size_primitive",
        "`hlograph.jit` with named dimensions fails",
    )
    yield Name(
        ("jax._src.core:pytype_aval_mappings",),
        f"{compat} register_number",
        "`import hlograph.dialects.jax.trace` fails",
    )
    yield Name(
        (
            "jax._src.dtypes:register_canonicalize_value_handler",
            "jax._src.dtypes:canonicalize_value_handlers",
            "jax:jit",
        ),
        f"{compat} register_number",
        "functions of jax.numpy refuse fractions of sizes, which then are a trace per value",
    )
    yield Name(
        ("jax._src.interpreters.mlir:ModuleContext.add_host_callback",),
        f"{compat} host_callback",
        "programs that call Python fail",
        _takes("host_callback"),
    )
    yield Name(("jax._src.core:get_cur_mesh_sharding",), f"{compat} _on_mesh", "`shard_map` with explicit axes fails")
    yield Name(
        tuple(
            f"jax._src.core:{name}"
            for name in ("auto_insert_reshard", "standard_insert_pvary", "standard_insert_pbroadcast")
        ),
        f"{compat} with_equal_axes",
        "functions of ours in `shard_map` fail where arguments vary over other axes",
    )
    for name in (
        "ordered_effects",
        "has_unordered_effects",
        "has_host_callbacks",
        "mut",
        "pgle_profiler",
        "xla_executable.execute_sharded",
        "out_handler.handlers",
        "kept_var_idx",
    ):
        yield Name((f"compiled:_executable.unsafe_call.{name}",), f"{compat} direct_execution", _SHORT)
    yield Name(("compiled:_params.const_args",), f"{compat} direct_execution", _SHORT)
    yield Name(("jax._src.array:ArrayImpl.aval",), f"{compat} array_type", _ALL)
    yield Name(("jax._src.core:trace_state.value", "jax._src.core:trace_ctx.trace"), f"{compat} trace_mode", _ALL)
    yield Name(("jax._src.core:eval_trace._weakref", "jax._src.core:eval_trace"), f"{compat} trace_mode", _ALL)
    for name in ("error_checks", "checkify_jaxpr", "check_nans"):
        yield Name((f"jax._src.checkify:{name}",), f"{compat} register_checks", "nothing works under `checkify`")
    for path in ("api:_post_hook_state", "config:debug_nans.swap_local", "config:debug_infs.swap_local"):
        name = path.partition(":")[2]
        yield Name(
            (f"jax._src.{path}",),
            f"{compat} without_nan_checks",
            f"no function finds its NaN under `jax.{name}`",
        )
    for path, used_by in (
        ("pytensor.compile.mode:optdb", "dialects/rewrites/selection.py, runtime/mode/classes.py"),
        ("pytensor.compile.mode:predefined_modes", "runtime/mode/classes.py"),
        ("pytensor.graph.rewriting.basic:OpToRewriterTracker", "dialects/rewrites/selection.py"),
        ("pytensor.link.basic:LocalLinker", "runtime/mode/classes.py"),
        ("pytensor.link.basic:Container", "runtime/mode/classes.py"),
        ("pytensor.tensor.basic:infer_static_shape", "dialects/random/key_ops.py"),
        ("pytensor.tensor.random.utils:normalize_size_param", "dialects/random/key_ops.py"),
        ("pytensor.tensor.shape:shape_tuple", "dialects/random/key_ops.py"),
    ):
        yield Name((path,), used_by, "the PyTensor mode, or graphs with random variables, fail")


NAMES = tuple(_names())  # fmt: skip


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
