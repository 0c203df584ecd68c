"""Executables that an earlier function compiled: they are loaded where all is as it was, and nothing else is."""

import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from jax.experimental import serialize_executable
from pytensor.compile.ops import as_op
from regressions import agrees, data, program
from scripts import run_script

import hlograph
from hlograph.codegen.ir.jax_compat import proven_jaxlib
from hlograph.passes import forget, rewrite
from hlograph.runtime.direct import verdict
from hlograph.runtime.executables import stored
from hlograph.runtime.executables import stored_cache as cache

SWITCH = "HLOGRAPH_CACHE"
direct = pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here")
pytestmark = pytest.mark.skipif(not proven_jaxlib(), reason="this jaxlib's executables are not loaded")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and a good verdict."""
    monkeypatch.setenv(SWITCH, str(tmp_path / "cache"))
    before = verdict.assume("")
    yield tmp_path / "cache"
    verdict.assume(before)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def loads(fn: Any) -> bool:
    """Whether it loaded what it ran, and compiled nothing; the contrary is that it compiled."""
    stats = fn.stats
    assert (stats.loaded, stats.compiles) in ((1, 0), (0, 1))
    return bool(stats.loaded)


def frames(fn: Any, x: np.ndarray) -> int:
    """How many functions of Python's run in a call."""
    entered: list[str] = []
    sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_name) if event == "call" else None)
    try:
        fn(x, x)
    finally:
        sys.setprofile(None)
    return len(entered)


# ---- hits ------------------------------------------------------------------------------------------------------------

POSITIVE = np.eye(3) + 0.1


def sorts(x: Any, y: Any) -> Any:
    return jnp.sort(x) * y, jnp.argsort(-x), jnp.where(y > 0, x, -jnp.inf)


def solves(x: Any, y: Any) -> Any:
    return jnp.linalg.solve(jnp.linalg.cholesky(POSITIVE + jnp.diag(x)), y), jnp.linalg.eigh(POSITIVE + jnp.diag(y))[0]


def factors(x: Any, y: Any) -> Any:
    return jnp.linalg.cholesky(jnp.eye(40) * 9 + jnp.outer(jnp.tile(x, 14)[:40], jnp.tile(x, 14)[:40])), x + y


def loops(x: Any, y: Any) -> Any:
    return jax.lax.while_loop(lambda c: c[0].sum() < 100, lambda c: (c[0] * 2 + 1, c[1] - y), (jnp.abs(x), y))


FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "sorts": (sorts, {}),
    "LAPACK": (solves, {}),
    "loops": (loops, {}),
    "as it is": (sorts, {"cpu": "plain", "optimize": "none"}),
    "JAX's client": (sorts, {"cpu": "jax"}),
    "padded": (lambda x, y: (x - y, jnp.cumsum(x)), {"policy": {"n": hlograph.Bucket(start=8)}}),
    "direct": (sorts, {"cpu": "direct"}),
    "direct, BLAS": (factors, {"cpu": "direct"}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("jax_x64")
def test_what_was_compiled_is_loaded(name: str, folder: Path) -> None:
    function, options = FUNCTIONS[name]
    size = "n" if "policy" in options else 3
    spec = jax.ShapeDtypeStruct((size,), np.float64)
    made = hlograph.emit_stablehlo(function, spec, spec, constraints=("n >= 1",) if size == "n" else ())
    first, second = (made.compile(outputs="numpy", **options) for _ in range(2))
    for x in (np.array([0.5, -1, 2]), np.array([3.0, 0, -0.25])):
        wanted = jax.tree.leaves(jax.jit(function)(x, x[::-1]))
        for fn in (first, second):
            for found, right in zip(fn(x, x[::-1]), wanted, strict=True):
                np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-13)
        for one, other in zip(first(x, x), second(x, x), strict=True):
            assert one.tobytes() == other.tobytes()
    assert (loads(first), loads(second), len(entries(folder))) == (False, True, 1)
    assert frames(second, x) == frames(first, x)  # types from a pickle are not taken for others, which are converted
    lines, again = (fn.stats.by_executable[0].plan for fn in (first, second))
    assert again[0] == "out of the cache"
    assert again[1:] == lines
    if name.startswith("direct") and not verdict.unsupported():
        assert lines[-1] == "direct call of the kernels"


@direct
def test_functions_for_c_and_of_the_mode(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, (X, y, w) = program(), data(4)
    first = made.compile().c_function(X, y, w)
    with monkeypatch.context() as patch:
        patch.setattr(cache, "write", None)  # nothing is compiled
        second = made.compile().c_function(X, y, w)
    assert (first.native, second.native, len(entries(folder))) == (True, True, 1)
    second = made.compile(policy={"n": 8}).c_function(X, y, w)
    assert second.native

    x = pt.dvector("x")
    functions = [pytensor.function([x], pt.exp(x).sum(), mode=hlograph.Mode()) for _ in range(2)]
    for function in functions:
        assert function(y) == pytest.approx(np.exp(y).sum(), rel=1e-14)
    assert [loads(function.vm.function) for function in functions] == [False, True]
    # What runs in forked workers is called directly also where it was loaded.
    reasons = [function.vm.binding.prepare_fork({0: y}) for function in functions]
    assert reasons == ["", ""]


def test_a_bundle_of_what_was_loaded(tmp_path: Path) -> None:
    for number in range(2):
        path = hlograph.bundle(program(), tmp_path / f"{number}.bundle", sizes=[{"n": 4}], outputs="numpy")
        fn = hlograph.load_bundle(path, trusted=True)
        agrees(fn(*data(4)), *data(4))
        assert loads(fn)


# ---- misses ----------------------------------------------------------------------------------------------------------


def scaled(by: Any = 2.0, dtype: Any = np.float64) -> hlograph.Program:
    x = pt.vector("x", dtype=dtype)
    factor = np.full(5, by, dtype)
    return hlograph.emit_stablehlo(([x], [x * factor, (x * factor).sum()]), dims={"x": (5,)})


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], hlograph.Function | None]] = {
    "a constant": lambda _: scaled(2.0000000000000004).compile(outputs="numpy"),
    "a dtype": lambda _: scaled(2, np.int64).compile(outputs="numpy"),
    "passes": lambda _: scaled().compile(outputs="numpy", optimize="none"),
    "a pass's option": lambda _: scaled().compile(outputs="numpy", optimize="exact"),
    "a switch": lambda _: scaled().compile(outputs="numpy", cpu=hlograph.CpuOptions(regions=False)),
    "a client": lambda _: scaled().compile(outputs="numpy", cpu="jax"),
    "jaxlib": lambda patch: patch.setattr(stored, "version", lambda name: "9.9"),
    "NumPy": lambda patch: patch.setattr(cache, "version", lambda name: "9.9"),
    "our code": lambda patch: patch.setattr(cache, "_code", lambda: "other"),
    "the processor": lambda patch: patch.setattr(cache, "processor_of_system", lambda: "other"),
    "processors": lambda patch: patch.setattr(os, "sched_getaffinity", lambda pid: range(99), raising=False),
    "XLA's flags": lambda patch: patch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true"),
    "no direct calls": lambda patch: patch.setenv(verdict.SWITCH, "0"),
    "no verdict": lambda _: verdict.assume("bad") and None,
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_key(change: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fn = scaled().compile(outputs="numpy")
    fn(np.ones(5))
    other = CHANGES[change](monkeypatch) or scaled().compile(outputs="numpy")
    if change == "a constant":
        assert other(np.ones(5))[0][0] == 2.0000000000000004
    else:
        assert other(np.ones(5, other.program.signature.arguments[0].dtype))[0].tolist() == [2.0] * 5
    assert (loads(fn), loads(other), len(entries(folder))) == (False, False, 2)


def test_jax_settings_and_sizes_are_in_the_key(folder: Path) -> None:
    made = program()
    with jax.default_matmul_precision("float32"):
        assert not loads_after(made.compile(outputs="numpy"), 4)
    assert not loads_after(made.compile(outputs="numpy"), 4)
    assert not loads_after(made.compile(outputs="numpy"), 5)
    assert not loads_after(made.compile(outputs="numpy", policy={"n": 5}), 5)
    assert not loads_after(made.compile(outputs="numpy", policy={"n": 6}), 5)
    assert len(entries(folder)) == 5
    assert loads_after(made.compile(outputs="numpy", policy={"n": 6}), 4)


def loads_after(fn: Any, n: int) -> bool:
    agrees(fn(*data(n)), *data(n))
    return loads(fn)


def test_what_python_has_a_part_in_is_not_kept(folder: Path) -> None:
    """Ops and rewrites of the user's of the same names, with other bodies."""
    for by in (2.0, 3.0):

        @as_op([pt.dvector], [pt.dvector], infer_shape=lambda node, shapes: shapes)
        def op(x: np.ndarray, by: float = by) -> np.ndarray:
            return x * by

        x = pt.dvector("x")
        fn = hlograph.function([x], op(x) + 1, outputs="numpy", on_unsupported="host")
        assert fn(np.ones(3)).tolist() == [by + 1] * 3

        @rewrite("stablehlo.negate", name="twice_or_more")
        def twice_or_more(operation: Any, by: float = by) -> Any:
            from hlograph.passes import full_like, stablehlo

            return stablehlo.multiply(operation.operands[0], full_like(operation.results[0], by))

        fn = hlograph.function([x], -x, outputs="numpy", optimize=["twice_or_more"])
        assert fn(np.ones(3)).tolist() == [by] * 3
        forget("twice_or_more")
    assert hlograph.function([x], -x)(np.ones(3)).tolist() == [-1.0] * 3  # JAX arrays
    assert entries(folder) == []


@pytest.mark.parametrize("word", ["0", "off", "FALSE", " no "])
def test_the_switch(word: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(SWITCH, word)
    assert not loads_after(program().compile(outputs="numpy"), 4)
    assert entries(tmp_path / "home") == entries(folder) == []
    monkeypatch.setenv(SWITCH, "")
    assert [loads_after(program().compile(outputs="numpy"), 4) for _ in range(2)] == [False, True]
    assert len(entries(tmp_path / "home" / "hlograph" / "executables")) == 1


# ---- what may be wrong with the folder -------------------------------------------------------------------------------


def link(entry: Path) -> None:
    entry.rename(entry.with_suffix(".moved"))
    entry.symlink_to(entry.with_suffix(".moved"))


def directory(entry: Path) -> None:
    entry.unlink()
    entry.mkdir()


def with_right_digest(entry: Path) -> None:
    key, content = entry.stem, b"no pickle at all"
    entry.write_bytes(hashlib.sha256(key.encode() + content).digest() + content)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "empty": lambda entry: entry.write_bytes(b""),
    "cut": lambda entry: entry.write_bytes(entry.read_bytes()[:-100]),
    "a bit": lambda entry: entry.write_bytes(entry.read_bytes()[:-1000] + b"?" + entry.read_bytes()[-999:]),
    "a digest": lambda entry: entry.write_bytes(b"?" * 32 + entry.read_bytes()[32:]),
    "no pickle": with_right_digest,
    "a link": link,
    "a folder": directory,
    "others can write": lambda entry: entry.chmod(0o666),
    "others can write to the folder": lambda entry: entry.parent.chmod(0o777),
    "another owner": lambda entry: os.chown(entry, 12345, 12345),
    "another owner of the folder": lambda entry: os.chown(entry.parent, 12345, 12345),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage(damage: str, folder: Path) -> None:
    if "owner" in damage and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    made = program()
    assert not loads_after(made.compile(outputs="numpy"), 4)
    (entry,) = entries(folder)
    DAMAGES[damage](entry)
    assert not loads_after(made.compile(outputs="numpy"), 4)
    mended = "folder" not in damage
    assert loads_after(made.compile(outputs="numpy"), 4) == mended


def test_another_programs_entry(folder: Path) -> None:
    for by in (2.0, 3.0):
        scaled(by).compile(outputs="numpy")(np.ones(5))
    one, other = entries(folder)
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    for by in (2.0, 3.0):
        fn = scaled(by).compile(outputs="numpy")
        assert fn(np.ones(5))[0].tolist() == [by] * 5
        assert not loads(fn)


def test_an_executable_that_xla_does_not_take(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled, and takes the place of what was kept."""
    made = program()
    with monkeypatch.context() as patch:
        patch.setattr(
            stored.pickle, "dumps", lambda kept, of=stored.pickle.dumps: of(kept).replace(b"\x7fELF", b"\x7fFLE")
        )
        assert not loads_after(made.compile(outputs="numpy"), 4)
    fn = made.compile(outputs="numpy")
    assert not loads_after(fn, 4)
    assert fn.stats.by_executable[0].plan[0].startswith("not out of the cache: ")
    assert loads_after(made.compile(outputs="numpy"), 4)


def test_an_executable_that_loads_and_does_not_run(folder: Path) -> None:
    """So is what JAX has out of its own cache, if it sorts: serialized again it has no comparison any more."""
    x = pt.dvector("x")
    made = hlograph.emit_stablehlo(([x], [pt.sort(x)]), dims={"x": (3,)})
    for use in (
        lambda: made.compile(outputs="numpy")(np.array([3.0, 1, 2])).tolist(),
        lambda: made.compile().c_function(np.ones(3)).native,
    ):
        right = use()
        (entry,) = set(entries(folder))
        content = pickle.loads(entry.read_bytes()[32:])
        again = serialize_executable.serialize(serialize_executable.deserialize_and_load(*content.data))
        cache.write(entry.stem, replace(content, data=again))
        assert use() == right
        entry.unlink()


@pytest.mark.parametrize("what", ["a file", "no disk", "a full disk"])
def test_a_folder_that_takes_nothing(
    what: str, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if what == "a file":
        folder.write_text("")
    elif what == "no disk":
        monkeypatch.setenv(SWITCH, "/proc/self/cache")
    else:
        import resource

        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, limits[1]))  # room for what tries whether there is some
    try:
        matrix = np.arange(20_000.0, dtype=np.float32).reshape(100, 200)
        fns = [hlograph.jit(lambda x: x @ matrix, outputs="numpy") for _ in range(2)]
        for fn in fns:
            np.testing.assert_allclose(fn(np.ones(100, np.float32)), matrix.sum(0), rtol=1e-6)
    finally:
        if what == "a full disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [fn.stats.loaded for fn in fns] == [0, 0]
    assert not folder.is_dir() or entries(folder) == []
    assert "no executable is kept in " in caplog.text


def test_the_least_recently_used_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {by: scaled(by) for by in (1.0, 2.0, 3.0)}
    for age, by in enumerate((1.0, 2.0)):
        known = set(entries(folder))
        made[by].compile(outputs="numpy")(np.ones(5))
        (new,) = set(entries(folder)) - known
        os.utime(new, (1000 + age, 1000 + age))
    abandoned = folder / "killed.new"
    abandoned.write_bytes(b"half of it")
    os.utime(abandoned, (1000, 1000))
    assert made[1.0].compile(outputs="numpy")(np.ones(5))[1] == 5  # the older one is used
    size = new.stat().st_size
    monkeypatch.setattr(cache, "LIMIT", int(2.5 * size))
    made[3.0].compile(outputs="numpy")(np.ones(5))
    assert len(entries(folder)) == 2
    monkeypatch.setattr(cache, "LARGEST", size // 2)  # so that nothing takes the place of what went
    fn = made[2.0].compile(outputs="numpy")
    assert fn(np.ones(5))[1] == 10
    assert not loads(fn)
    monkeypatch.setattr(cache, "LARGEST", 10 * size)
    for by in (1.0, 3.0):
        fn = made[by].compile(outputs="numpy")
        fn(np.ones(5))
        assert loads(fn)
    monkeypatch.setattr(cache, "MOST", 1)
    scaled(4.0).compile(outputs="numpy")(np.ones(5))
    assert len(entries(folder)) == 1


PROCESS = """
    import os, signal, sys
    import numpy as np
    import hlograph
    if sys.argv[1] == "killed":
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    fn = hlograph.jit(lambda x: x[::-1] * 2, outputs="numpy")
    print(*fn(np.arange(3, dtype=np.float32)), fn.stats.loaded, fn.stats.compiles)
"""


def test_processes(folder: Path) -> None:
    """One is killed while it keeps what it has compiled; two others do the same at the same time; one comes later."""
    command = [sys.executable, "-W", "ignore", "-c", dedent(PROCESS)]
    environment = os.environ | {"HLOGRAPH_DIRECT": "0"}
    killed = subprocess.Popen([*command, "killed"], env=environment)
    assert killed.wait(300) == -9
    assert [entry.suffix for entry in entries(folder)] == [".new"]
    both = [subprocess.Popen([*command, "all"], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        assert process.communicate(timeout=300)[0].startswith("4.0 2.0 0.0 ")
    assert [entry.suffix for entry in entries(folder) if entry.suffix != ".new"] == [".xla"]
    assert run_script(PROCESS, "later", environment={"HLOGRAPH_DIRECT": "0"}) == "4.0 2.0 0.0 1 0\n"
