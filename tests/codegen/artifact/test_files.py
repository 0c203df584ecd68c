"""Files are written whole or not at all, and stay what they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import hlograph
from hlograph import Program
from hlograph.codegen.artifact.files import write_atomically
from hlograph.errors import ArtifactError

MODULE = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"


def test_mode_and_links_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "model.mlir", tmp_path / "link.mlir"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target.name)
    umask = os.umask(0o077)
    try:
        Program.parse(MODULE).save(link)
        Program.parse(MODULE).save(tmp_path / "new.mlir")
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(umask)
    assert link.is_symlink()
    assert "@main" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new.mlir").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.mlir", "model.mlir", "new.mlir"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anything")
def test_a_file_that_must_not_be_written(tmp_path: Path) -> None:
    target = tmp_path / "model.mlir"
    target.write_text("old")
    target.chmod(0o400)
    with pytest.raises(ArtifactError, match=r"cannot write .*model\.mlir: Permission denied"):
        Program.parse(MODULE).save(target)
    assert target.read_text() == "old"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    with write_atomically(pipe) as stream:
        stream.write(b"content")
    reader.join(10)
    assert found == [b"content"]


def test_writers_at_once_leave_one_content(tmp_path: Path) -> None:
    target, contents = tmp_path / "out", [bytes([65 + i]) * 50_000 for i in range(4)]

    def write(content: bytes) -> None:
        for _ in range(20):
            with write_atomically(target) as stream:
                stream.write(content)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, contents))
    assert target.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [target]


KILLED = """
import os, signal, sys
from hlograph.codegen.artifact import files
with files.write_atomically(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"


LIMIT = 4096  # bytes


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may get longer than the limit: the system refuses the rest of a write, as it does on a full disk."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _with_constant(seed: int, count: int = 4 * LIMIT, additions: int = 0) -> Program:
    type_ = f"tensor<{count}xf32>"
    bits = np.random.default_rng(seed).random(count, np.float32).tobytes().hex()
    lines = [f'%0 = stablehlo.constant dense<"0x{bits}"> : {type_}']
    lines += [f"%{n + 1} = stablehlo.add %{n}, %{n} : {type_}" for n in range(additions)]
    body = "\n".join([*lines, f"return %{additions} : {type_}"])
    return Program.parse(f"func.func @main() -> {type_} {{\n{body}\n}}")


def _arrays(path: Path, program: Program) -> None:
    from hlograph.tools.app import _write_arrays

    _write_arrays(str(path), {"x": program.interpret()[0]})


WRITERS: dict[str, Callable[[Path, Program], object]] = {
    "model.mlir": lambda path, program: program.save(path),
    "model.mlirbc": lambda path, program: program.save(path),
    "parted.mlir": lambda path, program: program.save(path, parameters=True, parameter_limit=1),
    "results.npz": _arrays,
    "model.bundle": lambda path, program: hlograph.bundle(program, path, sizes=()),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_files(tmp_path: Path, name: str) -> None:
    write, path = WRITERS[name], tmp_path / name
    write(path, _with_constant(0))
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises((ArtifactError, OSError), match=rf"{name}") as caught, full_disk():
        write(path, _with_constant(1))
    assert "File too large" in str(caught.value)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert isinstance(caught.value, ArtifactError) or name == "results.npz"


def test_a_full_disk_leaves_parameters_that_fit_the_module(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    _with_constant(0, 100).save(path, parameters=True, parameter_limit=1)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    other = _with_constant(1, 100, additions=100)  # whose parameters would fit on the disk, and its text does not
    with pytest.raises(ArtifactError, match=r"cannot write .*model\.mlir and model\.safetensors"), full_disk():
        other.save(path, parameters=True, parameter_limit=1)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    other.save(path, parameters=True, parameter_limit=1)
    np.testing.assert_array_equal(hlograph.load(path).interpret()[0], other.interpret()[0])
