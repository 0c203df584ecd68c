"""Files for somebody: versions, dates, consumers; what is rewritten for them, and what they cannot have."""

from __future__ import annotations

from datetime import date

import jax
import numpy as np
import pytest

import hlograph
from hlograph.codegen.artifact import targets
from hlograph.codegen.artifact.targets import JAX, RELEASED, find_target
from hlograph.codegen.ir.modules import current_version
from hlograph.errors import ArtifactError, OptionError, PassError, UnsupportedGraphError

OPEN = """
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> tensor<?xf32> {
  %0 = chlo.asinh %x : tensor<?xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}"""
TAN = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.tan %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}"""
ACCURATE = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.exponential"(%x) <{
    result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>
  }> : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}"""
LIBRARY = """
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = stablehlo.custom_call @lapack_spotrf_ffi(%x) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}"""


def _written_for(data: bytes) -> str:
    """The version that a file's header names."""
    return data[5 : data.index(b"\0", 5)].decode().removeprefix("StableHLO_v")


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@pytest.mark.parametrize(
    ("target", "version"),
    [
        ("1.9.0", "1.9.0"),
        ("2025-01-01", "1.8.0"),
        ("2024-05-14", "1.0.0"),
        ("jax 0.7", "1.12.1"),
        ("JAX 0.7.2", "1.12.1"),
    ],
)
def test_a_file_says_the_version_it_is_for_and_is_read(target, version, tmp_path):
    program = hlograph.Program.parse(OPEN)
    path = program.save(tmp_path / "x.mlirbc", target=target)
    assert _written_for(path.read_bytes()) == version
    x = np.array([-2.0, 0.0, 3.5], np.float32)
    np.testing.assert_allclose(hlograph.load(path).compile()(x), np.arcsinh(x), rtol=1e-6)


def test_iree_and_pjrt_take_text_and_bytecode(tmp_path):
    program = hlograph.Program.parse(OPEN).specialize({"n": 3})
    for target in ("iree", "pjrt"):
        for name in ("x.mlir", "x.mlirbc"):
            path = program.save(tmp_path / name, target=target)
            assert "chlo." not in hlograph.load(path).text


def test_dates_and_versions_of_the_tables_go_up_together():
    for table in (RELEASED, JAX.values()):
        assert list(table) == sorted(table, key=_order)
    dates = [date.fromisoformat(text) for text in RELEASED.values()]
    assert dates == sorted(dates)
    for version, released in RELEASED.items():
        if _order(version) <= _order(current_version()):
            assert _order(find_target(released).version) >= _order(version)


def test_costs_name_what_is_rewritten_and_left_out():
    costs = targets.costs(hlograph.Program.parse(OPEN), "1.9.0")
    assert "rewritten: 1 chlo.asinh\n  as: " in costs
    assert costs.count("chlo.asinh") == 1
    assert "StableHLO 1.9.0 (2025-01-30) and later take it, until 2030-01-30 at least" in costs
    nothing = targets.costs(hlograph.Program.parse(TAN), "1.9.0")
    assert "nothing rewritten, nothing left out" in nothing
    assert "none promises" in targets.costs(hlograph.Program.parse(OPEN), "0.19.0")


@pytest.mark.parametrize(
    ("text", "target", "error", "words"),
    [
        (TAN, "1.3.0", PassError, "stablehlo.tan cannot be expressed"),
        (ACCURATE, "1.3.0", PassError, "stablehlo.exponential cannot be expressed"),
        (OPEN, "pjrt", UnsupportedGraphError, "dynamic sizes"),
        (LIBRARY, "pjrt", UnsupportedGraphError, "lapack_spotrf_ffi"),
        (LIBRARY, "iree", PassError, "spotrf"),
        (TAN, "jax 0.4", OptionError, "not known"),
        (TAN, "jax 99.1", OptionError, "not known"),
        (TAN, "99.0.0", OptionError, "upgrade jaxlib"),
        (TAN, "0.1.0", OptionError, "later"),
        (TAN, "2020-01-01", OptionError, "before"),
        (TAN, "2025-02-30", OptionError, "no date"),
        (TAN, "ireee", OptionError, "did you mean 'iree'"),
        (TAN, "", OptionError, "a target is"),
        (TAN, "jax", OptionError, "a target is"),
    ],
)
def test_what_cannot_be_is_refused_by_name(text, target, error, words, tmp_path):
    program = hlograph.Program.parse(text, allow=["lapack_spotrf_ffi"])
    with pytest.raises(error, match=words):
        program.save(tmp_path / "x.mlirbc", target=target)
    with pytest.raises(error, match=words):
        targets.costs(program, target)
    assert not list(tmp_path.iterdir())


def test_text_has_no_version(tmp_path):
    program = hlograph.Program.parse(TAN)
    with pytest.raises(OptionError, match="save to"):
        program.save(tmp_path / "x.mlir", target="1.9.0")
    with pytest.raises(ArtifactError, match="format"):
        program.save(tmp_path / "x.txt", target="iree")


def test_plain_programs_are_for_pjrt_as_they_are(tmp_path):
    plain = hlograph.Program.parse(OPEN).plain(bounds={"n": 8})
    loaded = hlograph.load(plain.save(tmp_path / "x.mlir", target="pjrt"))
    assert loaded.signature == plain.signature


def test_a_consumer_of_one_program_a_file_is_not_given_a_pullback(tmp_path):
    function = hlograph.emit_stablehlo(lambda x: (x * x).sum(), jax.ShapeDtypeStruct((3,), "float32"))
    program = function.with_derivatives(1)
    for target in ("iree", "pjrt"):
        with pytest.raises(UnsupportedGraphError, match=r"pullback.*derivatives=0"):
            program.save(tmp_path / "x.mlir", target=target)
        with pytest.raises(UnsupportedGraphError, match="pullback"):
            targets.costs(program, target)
        program.save(tmp_path / "x.mlir", target=target, derivatives=0)


@pytest.mark.parametrize(("text", "version"), [(ACCURATE, "1.9.0"), (TAN, "1.4.0"), (OPEN, "1.3.0")])
def test_a_later_version_holds_what_the_usual_one_cannot(text, version, tmp_path, monkeypatch):
    """The lowest that can, which the costs say, and the file."""
    monkeypatch.setattr(targets, "PJRT_VERSION", "1.3.0")
    program = hlograph.Program.parse(text)
    program = program if program.signature.is_static else program.specialize({"n": 3})
    before = program.text
    costs = targets.costs(program, "pjrt")
    path = program.save(tmp_path / "x.mlirbc", target="pjrt")
    assert program.text == before
    assert _written_for(path.read_bytes()) == version
    assert f"for pjrt: StableHLO {version}" in costs
    assert ("cannot be expressed in 1.3.0" in costs) == (version != "1.3.0")
    x = np.array([-2.0, 0.0, 3.5], np.float32)
    np.testing.assert_array_equal(hlograph.load(path).compile()(x), program.compile()(x))
