"""What `tests/runtime/transforms/test_sharding.py` runs in a process with 8 CPU devices; prints a JSON object."""

import json
import re
from typing import Any

import jax
import numpy as np
import pytensor
from densities import MODELS, logistic_data
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import hlograph

ROWS = 64


def collectives(compiled: Any) -> list[str]:
    """The collective operations of a compiled program, once each."""
    return sorted(set(re.findall(r" (all-[a-z]+|collective-[a-z]+|reduce-scatter)(?:-start)?\(", compiled.as_text())))


def main() -> None:
    jax.config.update("jax_num_cpu_devices", 8)
    jax.config.update("jax_enable_x64", True)
    mesh = Mesh(jax.devices(), ("rows",))
    by_rows, everywhere = NamedSharding(mesh, P("rows")), NamedSharding(mesh, P())
    (X, y, beta), model = logistic_data(ROWS), MODELS["logistic"]
    arguments = (jax.device_put(X, by_rows), jax.device_put(y, by_rows), jax.device_put(beta, everywhere))
    inputs, value = model.graph()
    whole = hlograph.function(inputs, [value, pytensor.grad(value, inputs[2])], name="whole")
    logp = model.function(policy="padded")
    gradient = jax.value_and_grad(logp, 2)
    expected = jax.value_and_grad(model.value, 2)(X, y, beta)
    found: dict[str, Any] = {"devices": len(jax.devices())}

    def compare(name: str, results: Any) -> None:
        leaves = zip(jax.tree.leaves(results), jax.tree.leaves(expected), strict=True)
        found[name] = max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in leaves)

    compare("graph's gradient, called with sharded arguments", whole(*arguments))
    found["collectives of it"] = collectives(jax.jit(whole).lower(*arguments).compile())
    compare("eager value_and_grad of sharded arguments", gradient(*arguments))
    found["policies"] = sorted({entry.policy for made in logp.derived for entry in made.stats.by_executable})

    jitted = jax.jit(gradient, in_shardings=(by_rows, by_rows, everywhere))
    compare("jit with in_shardings", jitted(X, y, beta))
    compiled = jitted.lower(X, y, beta).compile()
    found["collectives of jit"] = collectives(compiled)
    shapes = re.findall(r"%?param\S* = f64\[([\d,]*)\]", compiled.as_text().split("ENTRY")[1])
    found["shapes on one device"] = sorted(set(shapes))

    def local(X: Any, y: Any, beta: Any) -> Any:
        value, gradient = jax.value_and_grad(logp, 2)(X, y, beta)
        prior = -0.5 * (beta**2).sum()
        return jax.lax.psum(value - prior, "rows") + prior, gradient

    mapped = jax.shard_map(local, mesh=mesh, in_specs=(P("rows"), P("rows"), P()), out_specs=(P(), P()))
    value_by_parts, gradient_by_parts = jax.jit(mapped)(X, y, beta)
    # The cotangent of an argument that all devices share is summed over them, the prior's part 8 times.
    compare("shard_map", (value_by_parts, gradient_by_parts + 7 * beta))

    betas = np.random.default_rng(1).normal(size=(16, 3))
    batch = jax.jit(jax.vmap(logp, (None, None, 0)))(X, y, jax.device_put(betas, by_rows))
    found["batch sharding"] = str(batch.sharding.spec)
    single = [float(model.value(X, y, b)) for b in betas]
    found["vmap over sharded batch"] = float(np.max(np.abs(np.asarray(batch) - single)))

    # A mesh with explicit axes, which are part of the types of arrays.
    explicit = jax.make_mesh((8,), ("rows",), axis_types=(jax.sharding.AxisType.Explicit,))
    typed = jax.device_put(X, NamedSharding(explicit, P("rows")))

    def types(jit: Any) -> list[str]:
        function = jit(lambda x: (x * 2, jax.numpy.cumsum(x, axis=1), x.sum(0)))
        squares = jit(lambda x: x**2)
        made = [function(X), function(typed), jax.jit(function)(typed), jax.vmap(function)(typed[None])]
        made += [
            squares(typed) + typed,
            jax.jvp(squares, (typed,), (typed,)),
            jax.make_jaxpr(function)(typed).out_avals,
        ]
        return [str(jax.typeof(x) if isinstance(x, jax.Array) else x) for x in jax.tree.leaves(made)]

    found["types of jax.jit"] = types(jax.jit)
    for policy in ("exact", "padded"):
        found[f"types under {policy}"] = types(lambda f, p=policy: hlograph.jit(f, dims={"x": ("n", 3)}, policy=p))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
