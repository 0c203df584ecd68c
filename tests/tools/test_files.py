"""Modules are read in a child process, or here; from a file or stdin."""

import io
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from hlograph.codegen.artifact import foreign
from hlograph.tools.cli import main
from hlograph.tools.files import read_module

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
