"""Servers in processes of their own: JAX's cache on disk, devices that are not there, the end, forks, and Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scripts import run_script

import hlograph
from hlograph.errors import DeviceError

NIGHTLY = "HLOGRAPH_NIGHTLY" in os.environ


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = hlograph.jit(lambda x: jnp.tanh(x).sum(), dims={"x": ("n", 8)}).program(np.ones((3, 8), np.float32))
    return program.save(tmp_path_factory.mktemp("programs") / "f.mlir")


# ---- JAX's persistent compilation cache: a second process compiles nothing, by whichever road -----------------------

CACHED = """
import os, sys
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


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    first, second = (
        dict(line.split(" ", 1) for line in run_script(CACHED, folder, cwd=where, environment=seed).splitlines())
        for where, seed in ((None, {"PYTHONHASHSEED": "0"}), (tmp_path, {"PYTHONHASHSEED": "1"}))
    )
    assert first.keys() == second.keys() >= {"jax-exact", "numpy-padded", "grad"}
    for road, line in second.items():
        value, hits, misses = line.split()
        assert value == first[road].split()[0], road
        if road != "host":  # whose callback is an address of the process, which JAX does not cache
            assert int(hits) > 0, road
            assert int(misses) == 0, road


# ---- a device that is not there is an error when a function is made, and not of its first call -----------------------


class Elsewhere:
    """As the devices of a topology are: they have a platform, and no client of this process."""

    platform = "cpu"

    @property
    def client(self) -> Any:
        raise AttributeError


@pytest.mark.parametrize("device", ["tpu", "banana", "cpu:3", 3, Elsewhere(), [jax.local_devices()[0]]])
def test_devices_that_are_not_here(device: Any, saved: Path) -> None:
    for make in (hlograph.load(saved).compile, lambda device: hlograph.jit(lambda x: x * 2, device=device)):
        with pytest.raises(DeviceError, match=r"\(?Cpu|Cuda|Tpu"):
            make(device=device)


def test_a_platform_in_the_environment(saved: Path) -> None:
    script = """
        import hlograph, os, sys
        os.environ["JAX_PLATFORMS"] = "cuda"
        for outputs in ("jax", "numpy"):
            try:
                hlograph.load(sys.argv[1]).compile(outputs=outputs)
            except hlograph.errors.DeviceError as error:
                print(error)
    """
    lines = run_script(script, saved).splitlines()
    assert len(lines) == 2
    assert all("no device 'cuda' is available" in line and "JAX_PLATFORMS" in line for line in lines)


# ---- the end of a process while threads call: by `sys.exit` in the main thread, at its end, by SIGTERM ---------------

CALLING = """
import sys, threading, time, warnings
warnings.simplefilter("ignore")
import jax.numpy as jnp, numpy as np
import hlograph

outputs, how, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
fn = hlograph.jit(lambda x: jnp.tanh(x @ x.T).sum(0), dims={"x": ("n", 8)}, outputs=outputs)
stop = threading.Event()

def work(thread):
    count = 0
    while not stop.is_set():
        count += 1
        fn(np.ones((300 + count % 3 * 10, 8), np.float32))

for thread in range(4):
    threading.Thread(target=work, args=(thread,)).start()
time.sleep(0.3 + 0.05 * number)
print("calling", flush=True)
if how == "term":
    time.sleep(60)
threading.Timer(0.1, stop.set).start()
if how == "exit":
    sys.exit(3)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(20 if NIGHTLY else 1))
@pytest.mark.parametrize(("outputs", "how", "code"), [("jax", "exit", 3), ("numpy", "end", 0), ("jax", "term", -15)])
def test_exit_code(outputs: str, how: str, code: int, number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", CALLING, outputs, how, str(number)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "calling\n"
    if how == "term":
        process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert not errors


# ---- forked processes: a known size with NumPy arrays runs, everything else that needs threads is an error at once ---


FORKING = """
import os, signal, sys, threading
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

# As a server does that loads its programs and functions, and then forks its workers.
loaded = hlograph.load(sys.argv[1])
loaded.specialize({"n": 4})
for outputs in ("jax", "numpy"):
    first = loaded.compile(outputs=outputs)
    in_child(f"{outputs} before all", lambda: np.round(first(X(3)[:, :8])))

fn = hlograph.jit(f, dims={"x": ("n", 64), "a": None})
fn(X(1000), A)
program = fn.program(X(3), A)
whole = hlograph.jit(lambda x: x + 1)
whole(X(2))
for outputs in ("jax", "numpy"):
    for policy in ("exact", "padded"):
        one = program.compile(outputs=outputs, policy=policy)
        one(X(10), A)
        in_child(f"{outputs} {policy} known", lambda: one(X(10), A))
        in_child(f"{outputs} {policy} new", lambda: one(X(500), A))
eager = program.compile()
array, other = jnp.asarray(X(10)), jnp.asarray(A)
eager(array, other)
in_child("arrays", lambda: eager(array, other))
in_child("jit known", lambda: fn(X(1000), A))
in_child("jit new", lambda: fn(X(7), A))
in_child("jit of JAX's", lambda: whole(X(2)))
in_child("trace", lambda: hlograph.jit(f, dims={"x": ("n", 64)}).program(X(3), A))
in_child("loaded", lambda: hlograph.load(sys.argv[1]).compile()(X(3)[:, :8]))
in_child("specialize", lambda: program.specialize({"n": 5}).signature.arguments[0].dims[0])
in_child("interpret", lambda: program.specialize({"n": 1}).interpret(X(1), A)[0])
in_child("lower", lambda: eager.lower(X(9), A).compile())
in_child("vmap", lambda: jax.vmap(eager, (0, None))(np.ones((2, 3, 64), np.float32), A))
in_child("grad", lambda: jax.grad(eager)(X(1000), A))

# Larger programs may be split among XLA's threads; a larger argument is none of its business.
kinds = [
    (lambda x: (x @ x @ x).sum(), A),
    (lambda x: jnp.linalg.cholesky(0 * x + 4 * jnp.eye(64))[0, 0], A),
    (lambda x: jnp.sort(-x, None)[0], A),
    (lambda x: x[-3:].max(), X(9000)),
]
made = [(hlograph.jit(kind, dims={"x": ("n", 64)}, outputs="numpy"), given) for kind, given in kinds]
found = []

def call_all():
    found.append(sum(float(call(given)) for call, given in made))
    return found[-1]

def in_a_thread():
    thread = threading.Thread(target=call_all)
    thread.start()
    thread.join()
    return found[-1] if len(found) == 2 else None

call_all()
in_child("kinds", call_all)
in_child("kinds in a thread", in_a_thread)

held, over = threading.Event(), threading.Event()

def hold():
    with one._serving.lock:
        held.set()
        over.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
in_child("known while another thread has the lock", lambda: one(X(10), A))
in_child("new while another thread has the lock", lambda: one(X(400), A))
over.set()
thread.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_every_road_in_forked_processes(saved: Path) -> None:
    refused = "DeviceError True"
    assert run_script(FORKING, saved).splitlines() == [
        "jax before all 18.0",
        "numpy before all 18.0",
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
        "kinds 16777218.0",
        "kinds in a thread 16777218.0",
        "known while another thread has the lock 640.0",
        f"new while another thread has the lock {refused}",
    ]


# ---- Ctrl-C while a first call imports and compiles: the next one works ---------------------------------------------

INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import hlograph

# A process that was started in the background ignores Ctrl-C, and so do those that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

def work():
    fn = hlograph.load(sys.argv[1], trusted=True).compile(outputs=sys.argv[2])
    return float(fn(np.ones((5, 8), np.float32)))

def until_done():
    interrupts = 0
    while True:
        try:
            return work(), interrupts
        except KeyboardInterrupt:
            interrupts += 1
"""

AT_IMPORTS = """
class Interrupting:
    left = ["jaxlib.mlir.dialects._stablehlo_ops_gen", "jax._src.interpreters.mlir", "jaxlib.mlir.dialects.mhlo"]

    def find_spec(self, name, path=None, target=None):
        if name in self.left:
            self.left.remove(name)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
print(*until_done(), Interrupting.left)
"""

AT_TIMES = """
def kill():
    time.sleep(float(sys.argv[3]))
    os.kill(os.getpid(), signal.SIGINT)

thread = threading.Thread(target=kill)
thread.start()
found, _ = until_done()
try:
    thread.join()
    time.sleep(0.1)
except KeyboardInterrupt:
    pass
print(found, work())
"""


def test_in_imports(saved: Path) -> None:
    value, interrupts, left = run_script(INTERRUPTED + AT_IMPORTS, saved, "jax").split()
    assert float(value) == pytest.approx(40 * np.tanh(1.0), rel=1e-6)
    assert (int(interrupts), left) == (3, "[]")


@pytest.mark.skipif(not NIGHTLY, reason="takes minutes")
@pytest.mark.parametrize("outputs", ["jax", "numpy"])
@pytest.mark.parametrize("moment", np.arange(0.0, 4.0, 0.1).round(2))
def test_at_any_moment(saved: Path, outputs: str, moment: float) -> None:
    expected = pytest.approx(40 * np.tanh(1.0), rel=1e-6)
    found = run_script(INTERRUPTED + AT_TIMES, saved, outputs, moment).split()
    assert [float(value) for value in found] == [expected, expected]
