"""Outputs that cannot be written are refused before any work; modules are read as text or bytecode."""

import io
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from hlograph.codegen.artifact import foreign
from hlograph.tools.cli import main
from hlograph.tools.files import check_output, read_module


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("out.txt", click.BadParameter, r"must end in \.mlir or \.mlirbc"),
        ("nowhere/out.mlir", click.ClickException, "there is no folder"),
        ("folder.mlir", click.ClickException, "is a folder"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused(
    tmp_path: Path, name: str, error: type[Exception], message: str
) -> None:
    (tmp_path / "folder.mlir").mkdir()
    with pytest.raises(error, match=message):
        check_output(str(tmp_path / name), (".mlir", ".mlirbc"))


def test_modules_are_read_as_text_or_as_bytecode(tmp_path: Path) -> None:
    text, bytecode, neither = tmp_path / "a.mlir", tmp_path / "a.mlirbc", tmp_path / "b.mlir"
    text.write_text("module {} // größer")
    bytecode.write_bytes(b"ML\xefR\x00\xff")
    neither.write_bytes(b"\xff\xfe\x00")
    assert read_module(str(text)) == "module {} // größer"
    assert read_module(str(bytecode)) == b"ML\xefR\x00\xff"
    with pytest.raises(click.ClickException, match=r"b\.mlir: neither MLIR text"):
        read_module(str(neither))


MODULE = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"


@pytest.mark.parametrize("command", ["opt", "run", "explain"])
def test_commands_parse_foreign_modules_in_a_child_unless_they_are_trusted(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def parse(data: bytes, filename: str) -> bytes:
        names.append(filename)
        return data

    monkeypatch.setattr(foreign, "parse", parse)
    path, arrays = tmp_path / "a.mlir", tmp_path / "a.npz"
    path.write_text(MODULE)
    np.savez(arrays, arg0=np.zeros(3, np.float32))
    options = ["--inputs", str(arrays), "--interpret"] if command == "run" else []
    for file in (str(path), "-"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MODULE.encode())))
        assert main([command, file, *options]) == 0
    assert names == [str(path), "<stdin>"]
    assert main([command, str(path), "--trusted", *options]) == 0
    assert names == [str(path), "<stdin>"]


def test_there_may_be_no_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(click.ClickException, match="no stdin"):
        read_module("-")
