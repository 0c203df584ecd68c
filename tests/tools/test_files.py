"""Outputs that cannot be written are refused before any work; modules are read as text or bytecode."""

from pathlib import Path

import click
import pytest

from hlograph.tools.files import check_output, read_module


def test_an_output_of_another_kind_is_a_wrong_command(tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter, match=r"must end in \.mlir or \.mlirbc"):
        check_output(str(tmp_path / "out.txt"), (".mlir", ".mlirbc"))


def test_an_output_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="there is no folder"):
        check_output(str(tmp_path / "nowhere" / "out.mlir"), (".mlir",))


def test_an_output_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.mlir").mkdir()
    with pytest.raises(click.ClickException, match="is a folder"):
        check_output(str(tmp_path / "out.mlir"), (".mlir",))


def test_modules_are_read_as_text_or_as_bytecode(tmp_path: Path) -> None:
    text, bytecode, neither = tmp_path / "a.mlir", tmp_path / "a.mlirbc", tmp_path / "b.mlir"
    text.write_text("module {} // größer")
    bytecode.write_bytes(b"ML\xefR\x00\xff")
    neither.write_bytes(b"\xff\xfe\x00")
    assert read_module(str(text)) == "module {} // größer"
    assert read_module(str(bytecode)) == b"ML\xefR\x00\xff"
    with pytest.raises(click.ClickException, match=r"b\.mlir: neither MLIR text"):
        read_module(str(neither))
