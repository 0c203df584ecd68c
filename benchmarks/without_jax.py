"""Plain programs called from C through a PJRT plugin, beside `jax.jit` of the same functions in this process.

Each call has all its arguments in the caller's memory, and ends with all results there: NumPy arrays for JAX, arrays in
C for the plugin. The C program (benchmarks/native/call_model.c) times its own calls, in turn with JAX's. "exact" is
compiled for the very size, "padded" for the bound, with anything behind the live sizes, and called at 0.9 of it: its
work is the bound's.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, compare

HERE = Path(__file__).resolve().parent
TYPES = {"bool": 1, "int32": 4, "int64": 5, "float32": 11, "float64": 12}  # PJRT_Buffer_Type
VERSION = "1.9.0"
LIMIT = 1.3
_WARM = 1  # as many calls go before those that are timed: the other process has had the caches


@dataclass(frozen=True)
class Model:
    """A function of JAX.

    Attributes:
        function: from arrays to arrays.
        dims: of its arguments.
        arrays: arguments for a size.
        size: the size `n` that it is called at.
    """

    function: Callable[..., Any]
    dims: Sequence[tuple[Any, ...]]
    arrays: Callable[[int], Sequence[np.ndarray]]
    size: int


def _logistic(beta: Any, features: Any, labels: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def loss(beta: Any) -> Any:
        eta = features @ beta
        return jnp.sum(jax.nn.softplus(eta) - labels * eta)

    return jax.value_and_grad(loss)(beta)


def _gaussian_process(scale: Any, features: Any, y: Any) -> Any:
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    distance = jnp.sum((features[:, None] - features[None]) ** 2, axis=-1)
    kernel = jnp.exp(-0.5 * distance / scale**2) + 0.25 * jnp.eye(features.shape[0])
    factor = jnp.linalg.cholesky(kernel)
    residual = solve_triangular(factor, y, lower=True)
    return -0.5 * residual @ residual - jnp.sum(jnp.log(jnp.diagonal(factor)))


def _autoregression(rho: Any, y: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def loss(rho: Any) -> Any:
        def step(mean: Any, value: Any) -> Any:
            return jnp.tanh(rho[0] * mean + rho[1] * value), (value - mean) ** 2

        return jnp.sum(jax.lax.scan(step, jnp.zeros(()), y)[1])

    return jax.value_and_grad(loss)(rho)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


MODELS: Mapping[str, Model] = {
    "logistic, 10,000 x 20, gradient": Model(
        _logistic,
        [(20,), ("n", 20), ("n",)],
        lambda n: [_rng().normal(size=20) / 4, _rng().normal(size=(n, 20)), (_rng().random(n) < 0.5).astype(float)],
        10_000,
    ),
    "loop of 500 steps, gradient": Model(
        _autoregression, [(2,), ("n",)], lambda n: [np.array([0.5, 0.3]), _rng().normal(size=n)], 500
    ),
    "Gaussian process, n = 200": Model(
        _gaussian_process,
        [(), ("n", 2), ("n",)],
        lambda n: [np.array(0.7), _rng().normal(size=(n, 2)), _rng().normal(size=n)],
        200,
    ),
}


class InPython:
    """A function called in this process, with pauses for other processes' calls; see `harness.Elsewhere`."""

    def __init__(self, function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> None:
        self._function, self._arrays = function, arrays

    def __call__(self) -> Any:
        """One call, NumPy arrays in and out."""
        import jax

        return jax.tree.map(np.asarray, self._function(*self._arrays))

    def timed(self, count: int) -> float:
        """The seconds of one of so many calls."""
        for _ in range(_WARM * count):
            self()
        start = time.perf_counter()
        for _ in range(count):
            self()
        return (time.perf_counter() - start) / count


class InC:
    """A plain program in a process of its own, called with arrays of its shapes; see `harness.Elsewhere`."""

    def __init__(self, caller: Path, plugin: Path, folder: Path, program: Any, arrays: Sequence[np.ndarray]) -> None:
        folder.mkdir()
        self._described = program.describe()
        self._files = []
        model = program.save(folder / "model.mlirbc", target=VERSION)
        self._process = subprocess.Popen(
            [str(caller), str(plugin), str(model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number, x in enumerate(arrays):
            path = folder / f"argument{number}"
            path.write_bytes(x.tobytes())
            self._ask(f"argument {TYPES[x.dtype.name]} {x.nbytes} {path} {x.ndim}", *x.shape)
        for number, entry in enumerate(self._described["results"]):
            path = folder / f"result{number}"
            self._files.append((path, entry))
            bytes_ = int(np.prod(entry["shape"], dtype=int)) * np.dtype(entry["dtype"]).itemsize
            self._ask(f"result {bytes_} {path}")

    def _ask(self, *words: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the C program ended with {self._process.wait()}")
        return line

    def __call__(self) -> None:
        """One call."""
        self._ask("call", 1)
        self._answer()

    def timed(self, count: int) -> float:
        """The seconds of one of so many calls."""
        self._ask("call", _WARM * count)
        self._answer()
        self._ask("call", count)
        return float(self._answer())

    def results(self) -> list[np.ndarray]:
        """Those of the last call, without flags; these must all be up."""
        self._ask("write")
        self._answer()
        found = [np.frombuffer(path.read_bytes(), x["dtype"]).reshape(x["shape"]) for path, x in self._files]
        flags = [x for x, (_, entry) in zip(found, self._files, strict=True) if entry.get("is") == "flags"]
        assert all(x.all() for x in flags), self._described["checks"]
        return [x for x, (_, entry) in zip(found, self._files, strict=True) if "is" not in entry]

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _padded(x: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    made = np.full(shape, np.nan, x.dtype)
    made[tuple(map(slice, x.shape))] = x
    return made


def _compile_caller(folder: Path, plugin: Path) -> Path:
    caller = folder / "call_model"
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-isystem", str(plugin.parent / "include")]
    source = HERE / "native" / "call_model.c"
    subprocess.run([shutil.which("cc") or "gcc", *flags, str(source), "-o", str(caller), "-ldl"], check=True)
    return caller


def run(quick: bool, update: Callable[[str], None]) -> Report:
    import jax

    import hlograph

    report = Report("Calls from C, without JAX", ("model", "jax.jit", "C, exact", "C, padded"))
    found = importlib.util.find_spec("xla_plugins.xla_cpu_pjrt")
    assert found is not None and found.origin is not None, "pip install 'hlograph[plugin]'"
    plugin = Path(found.origin).parent / "xla_cpu_pjrt.so"
    jax.config.update("jax_enable_x64", True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        caller = _compile_caller(folder, plugin)
        for title, model in MODELS.items():
            update(title)
            specs = [jax.ShapeDtypeStruct(dims, "float64") for dims in model.dims]
            program = hlograph.emit_stablehlo(model.function, *specs)
            arrays = list(model.arrays(model.size))
            live = int(0.9 * model.size)
            few = list(model.arrays(live))
            bounded = program.plain(bounds={"n": model.size})
            shapes = [x["shape"] for x in bounded.describe()["arguments"]]
            padded = [_padded(x, shape) for x, shape in zip(few, shapes, strict=False)]
            stem = title.partition(",")[0].replace(" ", "_")
            exact = InC(caller, plugin, folder / f"{stem}_exact", program.plain(sizes={"n": model.size}), arrays)
            any_size = InC(caller, plugin, folder / f"{stem}_padded", bounded, [*padded, np.int32(live).reshape(())])
            jitted = jax.jit(model.function)
            call = InPython(jitted, arrays)
            exact()
            any_size()
            check_equal({"jax.jit": jax.tree.leaves(call()), "C, exact": exact.results()})
            check_equal({"jax.jit": jax.tree.leaves(jitted(*few)), "C, padded": any_size.results()})
            timings = compare(
                {"jax.jit": call, "C, exact": exact, "C, padded": any_size}, "jax.jit", rounds=3 if quick else 15
            )
            exact.close()
            any_size.close()
            report.add(title, timings, "us")
            report.targets.append(Target(f"{title}: exact in C / jax.jit", timings["C, exact"].ratio, LIMIT))
    return report
