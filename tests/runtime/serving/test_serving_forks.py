"""Forked processes: a known size with NumPy arrays runs, everything else that needs threads is an error at once."""

import subprocess
import sys
import textwrap
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import hlograph

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")

PRELUDE = """
import os, signal, warnings
warnings.simplefilter("ignore")
import jax, jax.numpy as jnp, numpy as np
import hlograph

A = np.ones((64, 64), np.float32)

def X(n):
    return np.ones((n, 64), np.float32)

def f(x, a):
    return jnp.tanh(x @ a).sum()

def in_child(name, work):
    child = os.fork()
    if not child:
        signal.alarm(30)  # ends it
        try:
            print(name, float(np.ravel(work())[0]), flush=True)
        except BaseException as error:
            print(name, type(error).__name__, "forkserver" in str(error), flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        print(name, "ended with", status, flush=True)
"""


def run(script: str) -> list[str]:
    """The lines that a script prints."""
    code = PRELUDE + textwrap.dedent(script)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def test_every_road_after_calls_before_the_fork(tmp_path: Path) -> None:
    lines = run(f"""
    fn = hlograph.jit(f, dims={{"x": ("n", 64), "a": None}})
    fn(X(1000), A)
    program = fn.program(X(3), A)
    program.save({str(tmp_path / "f.mlir")!r})
    whole = hlograph.jit(lambda x: x + 1)
    whole(X(2))
    for outputs in ("jax", "numpy"):
        for policy in ("exact", "padded"):
            one = program.compile(outputs=outputs, policy=policy)
            one(X(10), A)
            in_child(f"{{outputs}} {{policy}} known", lambda: one(X(10), A))
            in_child(f"{{outputs}} {{policy}} new", lambda: one(X(500), A))
    eager = program.compile()
    array, other = jnp.asarray(X(10)), jnp.asarray(A)
    eager(array, other)
    in_child("arrays", lambda: eager(array, other))
    in_child("jit known", lambda: fn(X(1000), A))
    in_child("jit new", lambda: fn(X(7), A))
    in_child("jit of JAX's", lambda: whole(X(2)))
    in_child("trace", lambda: hlograph.jit(f, dims={{"x": ("n", 64)}}).program(X(3), A))
    in_child("loaded", lambda: hlograph.load({str(tmp_path / "f.mlir")!r}).compile()(X(3), A))
    in_child("specialize", lambda: program.specialize({{"n": 5}}).signature.arguments[0].dims[0])
    in_child("interpret", lambda: program.specialize({{"n": 1}}).interpret(X(1), A)[0])
    in_child("lower", lambda: eager.lower(X(9), A).compile())
    in_child("vmap", lambda: jax.vmap(eager, (0, None))(np.ones((2, 3, 64), np.float32), A))
    in_child("grad", lambda: jax.grad(eager)(X(1000), A))
    """)
    refused = "DeviceError True"
    assert lines == [
        f"jax exact known {refused}",
        f"jax exact new {refused}",
        f"jax padded known {refused}",
        f"jax padded new {refused}",
        "numpy exact known 640.0",
        f"numpy exact new {refused}",
        "numpy padded known 640.0",
        f"numpy padded new {refused}",
        *(f"{road} {refused}" for road in ("arrays", "jit known", "jit new", "jit of JAX's", "trace", "loaded")),
        "specialize 5.0",
        "interpret 64.0",
        *(f"{road} {refused}" for road in ("lower", "vmap", "grad")),
    ]


def test_a_fork_before_anything_is_compiled(tmp_path: Path) -> None:
    """As a server does that loads its programs and functions, and then forks its workers."""
    path = str(tmp_path / "f.mlir")
    specs = np.ones((3, 64), np.float32), np.ones((64, 64), np.float32)
    hlograph.jit(lambda x, a: jnp.tanh(x @ a).sum(), dims={"x": ("n", 64)}).program(*specs).save(path)
    assert run(f"""
    program = hlograph.load({path!r})
    program.specialize({{"n": 4}})
    for outputs in ("jax", "numpy"):
        fn = program.compile(outputs=outputs)
        in_child(outputs, lambda: fn(X(3), A))
    """) == ["jax 192.0", "numpy 192.0"]


def test_a_lock_that_another_thread_held() -> None:
    assert run("""
    import threading
    fn = hlograph.jit(f, dims={"x": ("n", 64), "a": None}, outputs="numpy")
    fn(X(3), A)
    (serving,) = [function._serving for function in fn.functions]
    held, over = threading.Event(), threading.Event()

    def hold():
        with serving.lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    in_child("known", lambda: fn(X(3), A))
    in_child("new", lambda: fn(X(4), A))
    over.set()
    thread.join()
    """) == ["known 192.0", "new DeviceError True"]
