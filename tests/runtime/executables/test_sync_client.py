"""The synchronous CPU client, in processes of its own where a failure would end or block one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from scripts import run_script

from hlograph.codegen.ir import jax_compat
from hlograph.runtime.executables import devices
from hlograph.runtime.executables.devices import is_synchronous, synchronous_device

pytestmark = pytest.mark.optimized  # what XLA makes of a module

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
    # Without its initialization the process ends; and it ends by itself.
    "LAPACK is there for modules that call it, and a process ends with arrays and functions alive": (
        """
        import jax, numpy as np, hlograph
        from hlograph.runtime.executables.devices import synchronous_device
        x = np.array([[4, 2], [2, 5]], np.float32)
        potrf = jax.ffi.ffi_call("lapack_spotrf_ffi", (jax.ShapeDtypeStruct((2, 2), x.dtype),
                                                       jax.ShapeDtypeStruct((), np.int32)),
                                 input_layouts=[(1, 0)], output_layouts=[(1, 0), ()])
        factor, info = hlograph.jit(lambda x: potrf(x, uplo=np.uint8(ord("L"))), outputs="numpy")(x)
        print(np.tril(factor).tolist(), int(info))
        x = np.zeros(5000)
        fn = hlograph.jit(lambda x: (x + 1, x), outputs="numpy")
        keep = [fn, fn(x), jax.device_put(x, synchronous_device())]
        keep.append(keep)
        print(keep[1][0].sum())
        """,
        "[[2.0, 0.0], [1.0, 2.0]] 0\n5000.0\n",
    ),
    # The rest of SciPy's linear algebra, 0.2 to 0.3 s, stays out, and can be had afterwards.
    "LAPACK is loaded for programs that call it alone": (
        """
        import sys, jax.numpy as jnp, numpy as np, hlograph
        x = np.array([[4, 2], [2, 5]], np.float32)
        for function in (jnp.sin, jnp.linalg.cholesky):
            result = hlograph.jit(lambda x: function(x), outputs="numpy")(x)
            print(round(float(result[0, 0]), 4), "scipy" in sys.modules, "scipy.linalg" in sys.modules)
        from scipy.linalg import cho_factor, cython_lapack
        print(cho_factor(x, lower=True)[0][0, 0], "dpotrf" in cython_lapack.__pyx_capi__)
        """,
        f"{np.sin(4.0):.4f} False False\n2.0 True False\n2.0 True\n",
    ),
}


@needs_client
@pytest.mark.parametrize("case", SCRIPTS)
def test_processes(case):
    script, printed = SCRIPTS[case]
    assert run_script(script) == printed
