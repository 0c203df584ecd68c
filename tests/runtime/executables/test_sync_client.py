"""The synchronous CPU client, in processes of its own where a failure would end or block one."""

import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

from hlograph.codegen.ir import jax_compat
from hlograph.runtime.executables import devices
from hlograph.runtime.executables.devices import is_synchronous, synchronous_device

pytestmark = pytest.mark.optimized  # what XLA makes of a module

PRELUDE = """
import os, sys, threading
import jax, numpy as np
from hlograph.runtime.calls.from_numpy import alone, numpy_call
from hlograph.runtime.executables.devices import synchronous_device
from hlograph.codegen.forks import was_forked

jax.config.update("jax_enable_x64", True)
device = synchronous_device()
sharding = jax.sharding.SingleDeviceSharding(device)

def compiled(function, *args):
    jitted = jax.jit(function, in_shardings=sharding, out_shardings=sharding)
    return jitted.lower(*[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args]).compile()

def in_numpy(function, *args):
    made = compiled(function, *args)
    outputs = jax.tree.leaves(made.out_info)
    return numpy_call(made, alone(args), alone(outputs), device, otherwise=None, single=len(outputs) == 1)
"""


def run(script: str, timeout: float = 120) -> str:
    """What a script prints; it must end by itself, with nothing to say about errors."""
    code = PRELUDE + textwrap.dedent(script)
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=timeout
    )
    assert found.returncode == 0, found.stderr
    assert not found.stderr
    return found.stdout


needs_client = pytest.mark.skipif(synchronous_device() is None, reason="this jaxlib has no synchronous CPU client")


@needs_client
def test_there_is_one_device_for_all_threads(monkeypatch):
    made = []

    class Client:
        def local_devices(self):
            return [self]

    monkeypatch.setattr(devices, "_made", [])
    monkeypatch.setattr(devices, "make_synchronous_cpu_client", lambda: made.append(Client()) or made[-1])
    start = threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: (start.wait(10), synchronous_device())[1], range(8)))
    assert len(made) == 1
    assert found == made * 8


def test_a_jaxlib_without_such_a_client(monkeypatch):
    from jax._src.lib import xla_client

    monkeypatch.setattr(devices, "_made", [])
    monkeypatch.setattr(xla_client, "make_cpu_client", lambda *, collectives=None: pytest.fail("made one"))
    assert jax_compat.make_synchronous_cpu_client() is None
    assert synchronous_device() is None
    assert not is_synchronous(jax.devices("cpu")[0])
    assert not is_synchronous(None)
    monkeypatch.delattr(xla_client, "make_cpu_client")
    assert jax_compat.make_synchronous_cpu_client() is None


SCRIPTS = {
    # Without its initialization the process ends.
    "LAPACK is there for modules that call it": (
        """
        x = np.array([[4.0, 2.0], [2.0, 5.0]])
        potrf = jax.ffi.ffi_call("lapack_dpotrf_ffi", (jax.ShapeDtypeStruct((2, 2), x.dtype),
                                                       jax.ShapeDtypeStruct((), np.int32)),
                                 input_layouts=[(1, 0)], output_layouts=[(1, 0), ()])
        import hlograph
        factor, info = hlograph.jit(lambda x: potrf(x, uplo=np.uint8(ord("L"))), outputs="numpy")(x)
        print(np.tril(factor).tolist(), int(info))
        """,
        "[[2.0, 0.0], [1.0, 2.0]] 0\n",
    ),
    # The rest of SciPy's linear algebra, 0.2 to 0.3 s, stays out, and can be had afterwards.
    "LAPACK is loaded for programs that call it alone": (
        """
        import hlograph
        import jax.numpy as jnp
        x = np.array([[4.0, 2.0], [2.0, 5.0]])
        for function in (jnp.sin, jnp.linalg.cholesky):
            result = hlograph.jit(lambda x: function(x), outputs="numpy")(x)
            print(np.round(result[0, 0], 6), "scipy" in sys.modules, "scipy.linalg" in sys.modules)
        from scipy.linalg import cho_factor, cython_lapack
        print(cho_factor(x, lower=True)[0][0, 0], "dpotrf" in cython_lapack.__pyx_capi__)
        """,
        f"{np.sin(4.0):.6f} False False\n2.0 True False\n2.0 True\n",
    ),
    "a process ends with arrays and functions alive": (
        """
        x = np.arange(5.0)
        keep = [compiled(lambda x: x * 2, x), jax.device_put(x, device), in_numpy(lambda x: x + 1, x)]
        kept = [keep[0](keep[1]), keep[2](x), in_numpy(lambda x: (x, x), np.zeros(5000))(np.zeros(5000))]
        keep[2].itself = keep
        print(kept[1].tolist())
        """,
        "[1.0, 2.0, 3.0, 4.0, 5.0]\n",
    ),
}


@needs_client
@pytest.mark.parametrize("case", SCRIPTS)
def test_processes(case):
    script, printed = SCRIPTS[case]
    assert run(script) == printed


@needs_client
@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_what_was_compiled_runs_in_forked_processes():
    printed = run(
        """
        import multiprocessing
        # Larger programs may be split among XLA's threads; a larger argument is none of its business.
        small, matrix, large = np.arange(5.0), np.ones((30, 30)), np.arange(300_001.0)[1:]
        calls = [
            (in_numpy(lambda x: x + 1, small), small),
            (in_numpy(lambda x: ((x @ x) @ x).sum(), matrix), matrix),
            (in_numpy(lambda x: jax.numpy.linalg.cholesky(x + 2 * jax.numpy.eye(30)).sum() * 0 + 1, matrix), matrix),
            (in_numpy(lambda x: x[-100:].max(), large), large),
            (in_numpy(lambda x: jax.numpy.sort(-x)[0], small), small),
        ]
        first = calls[0][0](small)

        def work(put):
            found = []

            def go():
                found.extend(np.sum(call(x)).item() for call, x in calls)

            go()
            thread = threading.Thread(target=go)
            thread.start()
            thread.join()
            put((found, was_forked(), synchronous_device() is device))

        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        child = context.Process(target=work, args=(queue.put,))
        child.start()
        child.join()
        print(queue.get(), was_forked())
        """
    )
    sums = [15.0, 30.0**4, 1.0, 300_000.0, -4.0]
    assert printed == f"{(sums * 2, True, True)!r} False\n"
