"""What `hlograph inspect` says of files: of ours, of changed ones, of foreign ones, and of what is no module."""

from __future__ import annotations

import json

import numpy as np
import pytensor.tensor as pt
import pytest
from click.testing import CliRunner

import hlograph
from hlograph.codegen.artifact import inspection
from hlograph.errors import ArtifactNotFoundError
from hlograph.tools.app import app


@pytest.fixture(scope="module")
def program() -> hlograph.Program:
    x, k = pt.matrix("x"), pt.iscalar("k")
    weights = np.random.default_rng(0).normal(size=(8, 40))
    y = pt.tanh(x @ pt.as_tensor(weights))
    return hlograph.emit_stablehlo(([x, k], [y.sum(0), x[:k]]), dims={"x": ("n", 8)})


def test_a_file_of_ours(program, tmp_path):
    path = program.save(
        tmp_path / "m.mlirbc", target="1.9.0", derivatives=1, parameters="w.safetensors", parameter_limit=1000
    )
    facts = inspection.inspect(path)
    assert facts["bytes"] == path.stat().st_size
    assert (facts["kind"], facts["stablehlo"], facts["format"]) == ("portable bytecode", "1.9.0", 1)
    assert facts["digest"].startswith("matches")
    assert facts["load"] == "accepted"
    assert [(x["name"], x["dims"]) for x in facts["arguments"][:2]] == [("x", ["n", "8"]), ("k", [])]
    assert facts["arguments"][2]["is"] == "parameter"
    assert facts["sizes"] == [{"name": "n", "from": "size of axis 0 of x"}, {"name": "k", "from": "value of k"}]
    assert facts["operations"]["stablehlo.tanh"] == 1
    assert facts["platforms"] == ["any"]
    assert facts["parameters"] == {"number": 1, "file": "w.safetensors", "bytes": 8 * 40 * 8, "state": "there"}
    assert facts["pullback"]["by"] == ["x"]
    (tmp_path / "w.safetensors").unlink()
    facts = inspection.inspect(path)
    assert facts["load"].startswith("refused: no such file")
    assert "no such file" in facts["parameters"]["state"]


def test_text_and_its_edits(program, tmp_path):
    path = program.save(tmp_path / "m.mlir")
    assert inspection.inspect(path)["digest"].startswith("matches")
    path.write_text(path.read_text().replace("stablehlo.tanh", "stablehlo.sine"))
    facts = inspection.inspect(path)
    assert facts["digest"].startswith("differs")
    assert facts["operations"]["stablehlo.sine"] == 1
    assert facts["load"] == "accepted"


def test_what_cannot_be_loaded_is_described_as_far_as_it_can_be(program, tmp_path):
    path = program.save(tmp_path / "m.mlirbc", target="1.9.0")
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
    facts = inspection.inspect(path)
    assert facts["stablehlo"] == "1.9.0"
    assert facts["load"].startswith("refused: ")
    path.write_text("hello")
    assert inspection.inspect(path)["load"].startswith("refused: ")
    with pytest.raises(ArtifactNotFoundError):
        inspection.inspect(tmp_path / "none.mlir")


FOREIGN = """
func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = stablehlo.custom_call @my_own_call(%a) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %1:2 = stablehlo.custom_call @lapack_spotrf_ffi(%0) : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
  return %1#0 : tensor<3x3xf32>
}"""


def test_custom_calls_and_platforms_of_foreign_text(tmp_path):
    path = tmp_path / "m.mlir"
    path.write_text(FOREIGN)
    facts = inspection.inspect(path)
    assert facts["digest"].startswith("none")
    assert facts["custom calls"] == {"my_own_call": 1, "lapack_spotrf_ffi": 1}
    assert facts["platforms"] == ["cpu", "unknown"]


def test_the_command_prints_the_same_as_text_and_as_json(program, tmp_path):
    path = program.save(tmp_path / "m.mlir", derivatives=1)
    text = CliRunner().invoke(app, ["inspect", str(path)])
    as_json = CliRunner().invoke(app, ["inspect", "--json", str(path)])
    assert (text.exit_code, as_json.exit_code) == (0, 0)
    facts = json.loads(as_json.output)
    assert facts == inspection.inspect(path)
    for row in ("  n  size of axis 0 of x", "  k  value of k", "platforms: any", "  stablehlo.tanh "):
        assert row in text.output
    assert next(line for line in text.output.splitlines() if not line.startswith(" ")) == str(path)
