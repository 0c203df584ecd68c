"""Our own machine code: what its language means, against the same text as Python; and the files that it is kept in."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from hlograph.runtime import object_files
from hlograph.runtime.direct import kept, llvm_ir, native_code, object_code, verdict

pytestmark = pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here")

SOURCES = Path(llvm_ir.__file__).parent / "native"


# ---- the language ----------------------------------------------------------------------------------------------------

INTEGERS = """
LIMIT = 3 + 4

def even(x: int) -> bool:
    return x % 2 == 0

def hlograph_collatz(x: int, most: int) -> int:
    steps = 0
    while x != 1 and steps < most:
        if even(x):
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    return steps

def hlograph_branches(x: int, y: int) -> int:
    if x < 0 or (y != 0 and x // y > LIMIT):
        return -x
    elif not x == y and x >= 2:
        x, y = y, x
    for k in (1, 10, 100):
        other = k * x
        y += other
    for i in range(x, y, 3):
        for j in range(0, i % 4, 1):
            if j > 2:
                return y | i << 5
            y -= j & i
    return (y if x <= y else x) >> 1
"""


def compiled(source: str) -> Any:
    module = object_code.binding().parse_assembly(llvm_ir.translated(source, {}))
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def test_integers_are_those_of_python() -> None:
    names: dict[str, Any] = {}
    exec(INTEGERS, names)
    engine = compiled(INTEGERS)
    for name in ("hlograph_collatz", "hlograph_branches"):
        function = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 3)(engine.get_function_address(name))
        for x in (1, 2, 7, 27, 100, 1001):
            for y in (0, 1, 3, 50, 1000):
                assert function(x, y) == names[name](x, y), (name, x, y)


MEMORY = """
Pair = "first second:Halves third:Half"

def hlograph_pairs(pairs: Pair, n: int) -> int:
    total = 0
    for i in range(0, n, 1):
        pairs[i].third = pairs[i].first - 1
        total += pairs[i].third + pairs[i].second[1] + Bytes(pairs + i)[0]
    return total + exchange(Words(pairs) + 3, 77)

@of_reals
def scaled(x: Reals, y: Reals, n: int, factor: Real):
    at = 0
    for width in (8, 1):
        while at + width <= n:
            found = vector(y + at, width)
            found[0] = (vector(x + at, width)[0] - factor) * 3 / factor
            at += width

def hlograph_scaled(x: Words, y: Words, n: int, wide: int) -> int:
    if wide:
        double(scaled, x, y, n, 2)
    else:
        single(scaled, x, y, n, 2)
    return 0
"""


def test_memory_structs_and_vectors() -> None:
    engine = compiled(MEMORY)
    halves = np.array([5, -6, 7, 8], np.int32)
    pairs = np.array([[300, halves.ctypes.data, 0], [-2, halves.ctypes.data + 8, 1 << 40]], np.int64)
    function = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 3)(engine.get_function_address("hlograph_pairs"))
    total = (299 - 6 + 300 - 256) + (-3 + 8 - 2)
    assert function(pairs.ctypes.data, 2) == total - 2
    assert pairs[:, 0].tolist() == [300, 77]
    assert (pairs[0, 2], pairs[1, 2]) == (299, (1 << 40) + (1 << 32) - 3)  # the other half of a word stays
    scaled = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)(engine.get_function_address("hlograph_scaled"))
    for dtype in (np.float64, np.float32):
        x = np.random.default_rng(0).normal(size=21).astype(dtype)
        y = np.zeros(22, dtype)
        scaled(x.ctypes.data, y.ctypes.data, 21, dtype == np.float64)
        np.testing.assert_allclose(y, [*((x - 2) * 1.5), 0], rtol=1e-6)


TARGETS = {
    "x86_64-unknown-linux-gnu": ("ELF", 62),
    "aarch64-unknown-linux-gnu": ("ELF", 183),
    "arm64-apple-macosx14.0.0": ("Mach-O", 0x0100000C),
    "x86_64-pc-windows-msvc": ("COFF", 0x8664),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["calls", "blas"])
def test_object_files_for_other_systems(source: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM makes them, nothing in them is unknown to the loader there, and they call what they do here."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    monkeypatch.setattr(llvm, "get_default_triple", lambda: target)
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: "")
    monkeypatch.setattr(llvm, "get_host_cpu_features", llvm.FeatureMap)
    data = native_code.machine_code(f"{source}.src")
    has, needs = object_files.names(data, TARGETS[target])
    text = (SOURCES / f"{source}.src").read_text()
    assert {name for name in has if name.startswith("hlograph_")} == {
        line.split("(")[0].split()[1] for line in text.splitlines() if line.startswith("def hlograph_")
    }
    outside = {"calloc", "free", "malloc", "memcpy", "memset", "mmap", "munmap"}
    assert needs <= outside | {"sgemm", "dgemm", "spotrf", "dpotrf"}


# ---- the files -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no other places."""
    for name in ("cache", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "cache"


def stored() -> list[Path]:
    return sorted(path for name in kept.paths("") if name.is_dir() for path in name.iterdir())


def sorts() -> bool:
    """Whether code that is loaded anew sorts."""
    code = native_code.native_code.__wrapped__()  # type: ignore[attr-defined]
    compare = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(
        lambda result, _, elements, *rest: ctypes.memset(result, less(elements), 1) and None
    )

    def less(elements: int) -> int:
        left, right = (ctypes.c_int64.from_address(at).value for at in (ctypes.c_int64 * 2).from_address(elements))
        return int(left < right)

    values, scratch = np.random.default_rng(0).permutation(50), np.zeros(200, np.int64)
    words = [ctypes.cast(compare, ctypes.c_void_p).value, 1, 1, 50, 1, scratch.ctypes.data, values.ctypes.data, 8]
    what = np.array(words, np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("hlograph_sort"))(what.ctypes.data)
    return values.tolist() == list(range(50))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows whenever something is compiled."""
    runs: list[str] = []
    translated = native_code.translated
    monkeypatch.setattr(native_code, "translated", lambda *args: runs.append("") or translated(*args))
    return runs


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def by_somebody_else(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.with_suffix(".other").write_bytes(data)
    path.symlink_to(path.with_suffix(".other"))


CHANGES: dict[str, tuple[Callable[[Path], Any], int]] = {
    "nothing": (lambda path: None, 0),
    "all can write to it": (lambda path: path.chmod(0o666), 1),
    "all can write to its folder": (lambda path: path.parent.chmod(0o777), 2),  # nor can it be kept there
    "a link": (by_somebody_else, 1),
    "empty": (lambda path: path.write_bytes(b""), 1),
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:-9]), 1),
    "a bit": (flipped, 1),
    "another file with a right digest elsewhere": (lambda path: path.rename(path.with_name("other.o")), 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_is_believed_only_as_it_was_written(change: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alter, again = CHANGES[change]
    runs = counted(monkeypatch)
    assert sorts()
    assert sorts()
    (path,) = stored()
    assert (len(runs), path.suffix, path.stat().st_mode & 0o777) == (1, ".o", 0o600)
    assert path.is_relative_to(cache)
    alter(path)
    if change == "all can write to its folder":
        monkeypatch.setattr(tempfile, "tempdir", str(cache / "nowhere"))
    assert sorts()
    assert sorts()
    assert len(runs) == 1 + again


def test_it_is_for_a_processor(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorts()
    monkeypatch.setattr(llvm, "get_host_cpu_features", llvm.FeatureMap)
    assert sorts()
    monkeypatch.setattr(native_code.metadata, "version", lambda name: "9.9")
    assert sorts()
    assert len(stored()) == 3


def test_what_llvm_does_not_compile_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No IR, and a processor that it does not know."""
    for where, name, wrong in ((native_code, "translated", "what?"), (llvm, "get_default_triple", "pdp11-dec-unix")):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, lambda *_, wrong=wrong: wrong)
            with pytest.raises(object_files.DirectCallRefused, match=r"LLVM compiles no calls.src for "):
                native_code.machine_code("calls.src")
    assert stored() == []


@pytest.mark.parametrize("why", ["a file in the way", "a full disk", "full when it is stored"])
def test_nowhere_to_keep_it(why: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process compiles it for itself then, and leaves nothing."""

    def full(*args: Any, **options: Any) -> Any:
        raise OSError(28, "no space left")

    if why == "a file in the way":
        for folder in (cache, cache.with_name("temporary")):
            folder.rmdir()
            folder.write_text("")
    else:
        monkeypatch.setattr(*((tempfile, "TemporaryFile") if why == "a full disk" else (os, "replace")), full)
    runs = counted(monkeypatch)
    assert sorts()
    assert sorts()
    assert len(runs) == 2
    assert stored() == []


def test_many_processes_and_threads_at_once(cache: Path) -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "from hlograph.runtime.direct.native_code import blas_code, native_code\n"
        "made = [f.result() for f in [Pool(8).submit(make) for make in [native_code, blas_code] * 8]]\n"
        "print(len(set(map(id, made))), made[0].address('hlograph_sort') > 0)"
    )
    command = [sys.executable, "-P", "-c", code]

    def run(_: int) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(run, range(3))) == {"2 True\n"}
    assert [path.suffix for path in stored()] == [".o", ".o"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_process_that_is_forked_while_a_thread_compiles() -> None:
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            native_code.bound("hlograph_logp", 0, 5)

    native_code.native_code()
    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            pool.submit(work)
        for _ in range(4):
            child = os.fork()
            if not child:
                signal.alarm(30)
                native_code.bound("hlograph_logp", 0, 5)
                os._exit(0)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status:
                break
        over.set()
    assert status == 0
