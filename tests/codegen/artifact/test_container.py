"""Files of parts: what is written is read, and anything else is refused."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hlograph.codegen.artifact.container import ALIGNMENT, Container, is_container, write
from hlograph.errors import ArtifactError, ArtifactNotFoundError

GIVEN = {"manifest.json": b"{}", "executables/0": bytes(range(256)), "empty": b"", "last_one.bin": b"x" * 1000}


def written(tmp_path: Path) -> Path:
    return write(tmp_path / "a.bundle", GIVEN)


def test_parts_are_read_as_they_were_written_and_any_program_can_unpack_them(tmp_path: Path) -> None:
    path = written(tmp_path)
    found = Container(path)
    assert is_container(path)
    assert {name: found.read(name) for name in found.names} == GIVEN
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == GIVEN


def test_parts_lie_where_they_can_be_mapped(tmp_path: Path) -> None:
    path = written(tmp_path)
    found, data = Container(path), path.read_bytes()
    for name, part in GIVEN.items():
        start, size = found.place(name)
        assert start % ALIGNMENT == 0
        assert data[start : start + size] == part


def test_the_same_parts_make_the_same_file(tmp_path: Path) -> None:
    first = written(tmp_path).read_bytes()
    assert written(tmp_path).read_bytes() == first


def test_a_part_of_another_digest_or_name_is_an_error(tmp_path: Path) -> None:
    found = Container(written(tmp_path))
    with pytest.raises(ArtifactError, match="damaged"):
        found.read("executables/0", "0" * 64)
    with pytest.raises(ArtifactError, match="no part 'other'"):
        found.read("other")


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path)
    found = Container(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ArtifactError, match="cut off"):
        found.read("last_one.bin")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ArtifactNotFoundError):
        Container(tmp_path / "none")
    with pytest.raises(ArtifactError, match="cannot read"):
        Container(tmp_path)
    with pytest.raises(ArtifactError, match="cannot write"):
        write(tmp_path / "no folder" / "a.bundle", GIVEN)
    assert not is_container(tmp_path / "none")


def zipped(*names: str, kind: int = zipfile.ZIP_STORED, data: bytes = b"x" * 100) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), data, kind)
    return stream.getvalue()


def changed(offset: int, new: bytes, directory: bool = True) -> bytes:
    """A zip of one part with other bytes in its directory's entry, or in the part's own header."""
    data = bytearray(zipped("a"))
    start = data.index(b"PK\x01\x02") if directory else 0
    data[start + offset : start + offset + len(new)] = new
    return bytes(data)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "damaged, cut off or no zip"),
    "text": (lambda: b"func.func @main() { return }", "no zip"),
    "a header alone": (lambda: b"PK\x03\x04", "no zip"),
    "zeros": (lambda: bytes(1000), "no zip"),
    "no directory": (lambda: zipped("a")[:120], "no zip"),
    "its end is gone": (lambda: zipped("a")[:-10], "no zip"),
    "its beginning is gone": (lambda: zipped("a", "b")[40:], "cannot be read"),
    "compressed": (lambda: zipped("a", kind=zipfile.ZIP_DEFLATED), "compressed"),
    "a bomb": (lambda: zipped("a", kind=zipfile.ZIP_DEFLATED, data=bytes(1 << 20)), "compressed"),
    "an encrypted part": (lambda: changed(8, b"\x01\x00"), "encrypted"),
    "another method": (lambda: changed(10, b"\x63\x00"), "compressed"),
    "more bytes than there are": (lambda: changed(20, struct.pack("<II", 1 << 30, 1 << 30)), "beyond the end"),
    "more bytes unpacked": (lambda: changed(24, struct.pack("<I", 1 << 30)), "compressed"),
    "no header": (lambda: changed(0, b"XX", directory=False), "no header"),
    "a place beyond the end": (lambda: changed(42, struct.pack("<I", 1 << 30)), "cannot be read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_written_here_is_refused(name: str, tmp_path: Path) -> None:
    make, expected = HOSTILE[name]
    path = tmp_path / "a.bundle"
    path.write_bytes(make())
    with pytest.raises(ArtifactError, match=expected):
        Container(path)


def test_every_cut_and_many_flipped_bits_are_an_error_or_change_no_part(tmp_path: Path) -> None:
    path = tmp_path / "a.bundle"
    whole = written(tmp_path).read_bytes()
    cuts = [whole[:size] for size in range(0, len(whole), 7)]
    flips = [whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :] for at in range(0, len(whole), 3)]
    for data in [*cuts, *flips]:
        path.write_bytes(data)
        try:
            found = Container(path)
            parts = {name: found.read(name) for name in found.names}
        except ArtifactError:
            continue
        assert data in flips
        assert set(parts) <= set(GIVEN) or len(parts) == len(GIVEN)
        assert all(len(part) <= len(whole) for part in parts.values())
