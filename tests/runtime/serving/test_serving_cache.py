"""JAX's persistent compilation cache: a second process compiles nothing, by whichever road."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, sys, warnings
warnings.simplefilter("ignore")
import jax, jax.numpy as jnp, numpy as np
import hlograph
from jax import monitoring

jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
counts = {"cache_hits": 0, "cache_misses": 0}

def listen(event, **more):
    if event.rpartition("/")[2] in counts:
        counts[event.rpartition("/")[2]] += 1

monitoring.register_event_listener(listen)

def f(x, a):
    total = jax.lax.scan(lambda c, y: (c * 0.5 + y.sum(), c), 0.0, x)[1].sum()
    return jnp.linalg.cholesky(x.T @ x + 3 * a)[-1, -1] + total

nightly = "HLOGRAPH_NIGHTLY" in os.environ

def show(name, work):
    if not nightly and name not in ("jax-exact", "numpy-padded", "grad"):
        return
    counts.update(cache_hits=0, cache_misses=0)
    value = float(np.sum(work()))
    print(name, f"{value:.4f}", counts["cache_hits"], counts["cache_misses"])

a, x = np.eye(8, dtype=np.float32), np.linspace(0, 1, 160, dtype=np.float32).reshape(20, 8)
fn = hlograph.jit(f, dims={"x": ("n", 8), "a": None})
program = fn.program(x, a)
for outputs in ("jax", "numpy"):
    for policy in ("exact", "padded"):
        show(f"{outputs}-{policy}", lambda: program.compile(outputs=outputs, policy=policy)(x, a))
show("plain", lambda: program.compile(cpu="plain")(x, a))
show("jit", lambda: fn(x[:10], a))
show("grad", lambda: jax.jit(jax.grad(program.compile()))(x, a))
show("vmap", lambda: jax.jit(jax.vmap(program.compile(), (0, None)))(x.reshape(2, 10, 8), a))

def warmed():
    made = program.compile(outputs="numpy", policy="exact")
    made.warm({"n": 15})
    return made(x[:15], a)

show("warm", warmed)

def host(x):
    return jax.pure_callback(lambda value: np.asarray(value) + 1, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

show("host", lambda: hlograph.jit(host)(x))
if nightly:
    import pytensor, pytensor.tensor as pt
    v, b = pt.dmatrix("v"), pt.dvector("b")
    loss = pt.log1p(pt.exp(v @ b)).sum() + pt.cumsum(b).sum()
    graph, mode = [loss, pt.grad(loss, b)], hlograph.Mode()
    show("function", lambda: hlograph.function([v, b], graph)(x.astype(float), a[0].astype(float))[0])
    show("mode", lambda: pytensor.function([v, b], graph, mode=mode)(x.astype(float), a[0].astype(float))[0])
"""


def run(seed: int, folder: Path) -> dict[str, list[str]]:
    """What a process prints: by road its value, and how often it has found and not found an executable."""
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        cwd=folder.parent if seed else None,
    )
    assert found.returncode == 0, found.stderr
    return {line.split()[0]: line.split()[1:] for line in found.stdout.splitlines()}


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    first, second = run(0, tmp_path / "cache"), run(1, tmp_path / "cache")
    assert first.keys() == second.keys() >= {"jax-exact", "numpy-padded", "grad"}
    for road, (value, hits, misses) in second.items():
        assert value == first[road][0], road
        if road != "host":  # whose callback is an address of the process, which JAX does not cache
            assert int(hits) > 0, road
            assert int(misses) == 0, road
