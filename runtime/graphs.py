"""`function`: a graph, emitted and compiled in one.

In: a graph of variables, and keyword arguments on how it is compiled. Out: a `Function`; or a `RaggedFunction`, where
names of axes say that rows have sizes of their own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ..codegen.passes.registry import Optimize
from ..codegen.renamed import renamed_options
from ..dialects.frontend import OnUnsupported, emit_stablehlo
from .executables.policy import PolicyArgument
from .function import Function
from .options import DEFAULT_CACHE_SIZE, CompileOptions, CpuArgument
from .ragged.values import is_ragged

if TYPE_CHECKING:
    from .ragged.callables import RaggedFunction


@renamed_options
def function(
    inputs: Any,
    results: Any,
    /,
    *,
    dims: Any = None,
    device: Any = None,
    name: str = "main",
    rewrite: bool | Literal["full"] = True,
    cache_size: int = DEFAULT_CACHE_SIZE,
    policy: PolicyArgument = "auto",
    optimize: Optimize = "default",
    cpu: CpuArgument = "auto",
    outputs: Literal["jax", "numpy"] = "jax",
    on_unsupported: OnUnsupported = "refuse",
) -> Function | RaggedFunction:
    """Emits and compiles in one.

    Args:
        inputs: the graph's inputs, in call order.
        results: one output variable, or several.
        dims: names or sizes for the axes of inputs, see `emit_stablehlo`; with `{"x": ("b", "n[b]")}` the graph is of
            one row (`x` is a vector), and the callable takes `b` rows, each with its own `n`: see docs/ragged.md.
        device: "cpu", "gpu", "tpu", a `jax.Device`, or None for JAX's default device.
        name: the program's name, seen in profiles.
        rewrite: what is done to the graph first: True for hlograph's selection of the library's rewrites (numerical
            stabilization), "full" for those of its own compiled modes, False for none; see docs/rewriting.md.
        cache_size: how many executables are kept.
        policy: how sizes are met: "auto" (exact for the first few, then padded to buckets), "exact" (one compile per
            size), "padded" (one compile per bucket), a `Bucket`, an int (one bound); or a dictionary of these by size
            name, e.g. `{"n": "padded", "m": hlograph.Bucket(factor=2), "k": 128}`.
        optimize: passes over each executable's module before it is compiled: "default"; "exact", which keeps every bit
            of the results; "none"; or a list such as `["sink_reductions"]`; see docs/passes.md.
        cpu: how executables for CPU are made: "auto" (on JAX's client where JAX arrays come back, on a synchronous one
            of hlograph's own where NumPy arrays do), "jax", "sync", "direct" (calls without PJRT, an experiment),
            "plain" (as `jax.jit` would), or a `hlograph.CpuOptions`; see docs/cpu.md.
        outputs: "jax" or "numpy", the arrays that calls return.
        on_unsupported: "host" has ops without a lowering rule run by the graph library, in Python; see docs/host.md.

    Returns:
        The callable. A single output comes back as one array, several as a tuple.
    """
    options = CompileOptions.of(
        device=device, cache_size=cache_size, policy=policy, optimize=optimize, cpu=cpu, outputs=outputs
    )
    emit = partial(emit_stablehlo, (inputs, results), name=name, rewrite=rewrite, on_unsupported=on_unsupported)
    if is_ragged(dims):
        from .ragged.callables import RaggedFunction  # with the passes that rows go through, which take long to import

        return RaggedFunction(emit, inputs if isinstance(inputs, list | tuple) else [inputs], dims, options)
    return Function(emit(dims=dims), options)
