"""Programs as values: text, files, other people's modules, damaged files, the reference interpreter."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.ops import FromFunctionOp
from pytensor.raise_op import Assert

import hlograph
from hlograph.codegen.artifact import files
from hlograph.codegen.artifact.programs import to_portable
from hlograph.codegen.ir.values import constants
from hlograph.errors import (
    ArgumentShapeError,
    ArtifactError,
    ArtifactNotFoundError,
    BranchSizeError,
    DerivativeError,
    PassError,
    UnsupportedGraphError,
)


@pytest.fixture
def program():
    X, b, k = pt.dmatrix("X"), pt.dvector("b"), pt.lscalar("k")
    y = Assert("b is not finite")(pt.gammaln(pt.abs(X @ b) + 1), pt.all(pt.lt(pt.abs(b), 1e6)))[:k]
    y.name = "y"
    return hlograph.emit_stablehlo(([X, b, k], [y]), dims={"X": ("n", 3)}, name="model")


def arrays(n: int = 5, k: int = 2):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 3)), rng.normal(size=3), np.asarray(k)


PLAIN = """
func.func @main(%x: tensor<?x3xf32>, %y: tensor<3xf32>) -> tensor<?x3xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %m = stablehlo.constant dense<3> : tensor<1xi32>
  %v = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %s = stablehlo.concatenate %v, %m, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %z = stablehlo.dynamic_broadcast_in_dim %y, %s, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
  %r = stablehlo.add %x, %z : tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}
"""


# ---- round trips ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_a_saved_program_is_the_whole_program(program, tmp_path, suffix):
    path = program.save(tmp_path / f"model{suffix}")
    loaded = hlograph.load(path)
    assert loaded.signature == program.signature
    assert loaded.name == "model"
    values = arrays()
    np.testing.assert_array_equal(loaded.compile()(*values), program.compile()(*values))
    with pytest.raises(AssertionError, match=r"^b is not finite$"):
        loaded.compile()(values[0], np.full(3, 1e7), values[2])


def test_text_alone_carries_names_dims_and_constraints(program):
    again = hlograph.Program.parse(program.text)
    assert again.signature == program.signature
    assert [a.name for a in again.signature.arguments] == ["X", "b", "k"]
    assert [r.name for r in again.signature.results] == ["y"]
    assert {root.name: root.kind for root in again.signature.roots} == {"n": "size", "b_0": "size", "k": "value"}
    assert any({str(c.lhs), str(c.rhs)} == {"b_0", "3"} for c in again.signature.constraints)
    assert [c.message for c in again.signature.checks] == ["b is not finite"]


def test_locations_are_printed_on_request(program):
    assert 'loc("y"' in program.to_text(locations=True)
    assert "loc(" not in program.text


@pytest.mark.parametrize(("path", "message"), [("model.txt", r"\.mlirbc"), ("nowhere/model.mlir", "cannot write")])
def test_where_nothing_can_be_saved(program, tmp_path, path, message):
    with pytest.raises(ArtifactError, match=message):
        program.save(tmp_path / path)


def test_running_an_artifact_needs_no_graph_library(program, tmp_path):
    path = program.save(tmp_path / "model.mlir")
    np.savez(tmp_path / "in.npz", *arrays())
    script = textwrap.dedent(
        """
        import sys
        sys.modules["pytensor"] = None
        import numpy as np, hlograph
        data = np.load(sys.argv[2])
        print(np.asarray(hlograph.load(sys.argv[1]).compile()(*data.values())).tolist())
        """
    )
    command = [sys.executable, "-c", script, str(path), str(tmp_path / "in.npz")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    np.testing.assert_allclose(eval(found.stdout), program.compile()(*arrays()), rtol=1e-15)


# ---- other people's modules ----------------------------------------------------------------------------------------


def test_a_plain_module_gets_positional_names():
    program = hlograph.Program.parse(PLAIN)
    assert [str(a) for a in program.signature.arguments] == ["arg0: float32[arg0_0, 3]", "arg1: float32[3]"]
    x, y = np.ones((4, 3), np.float32), np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(program.compile()(x, y), x + y)
    np.testing.assert_array_equal(program.interpret(x, y)[0], x + y)


def test_the_only_public_function_is_the_entry():
    program = hlograph.Program.parse(PLAIN.replace("@main", "@forward"))
    assert program.signature.arguments[0].name == "arg0"


ONE = "func.func @main(%x: tensor<{0}xi1> {{hlograph.dims = [{1}]}}) -> tensor<{0}xi1> {{ return %x : tensor<{0}xi1> }}"
REFUSED = {
    "no entry": ("module {}", "no function @main"),
    "attributes that contradict the type": (ONE.format("3", '"n", "4"'), "declared as"),
    "attributes that cannot be read": (ONE.format("?", '"n +"'), r"n \+"),
    "an op of a newer StableHLO": (PLAIN.replace("stablehlo.add", "stablehlo.add_of_the_future"), "future"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_program(what):
    text, message = REFUSED[what]
    with pytest.raises(ArtifactError, match=message):
        hlograph.Program.parse(text)


# ---- damaged files -------------------------------------------------------------------------------------------------


def test_missing_file(tmp_path):
    with pytest.raises(ArtifactNotFoundError, match="no such file") as found:
        hlograph.load(tmp_path / "none.mlir")
    assert isinstance(found.value, FileNotFoundError)
    with pytest.raises(ArtifactError, match="cannot read"):
        hlograph.load(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"  \n", b"\xff\xfe\x00", b"not mlir at all", b"ML\xefRjunkjunk", b"PK\x03\x04"]
)
def test_not_a_module(tmp_path, content):
    path = tmp_path / "x.mlir"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"x\.mlir"):
        hlograph.load(path)


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
@pytest.mark.parametrize("share", [0.1, 0.99])
def test_truncated(program, tmp_path, suffix, share, capfd):
    data = program.save(tmp_path / f"model{suffix}").read_bytes()
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ArtifactError, match="cut"):
        hlograph.load(path)
    assert capfd.readouterr().err == ""


# ---- looking -------------------------------------------------------------------------------------------------------


def test_op_counts_and_constants():
    x = pt.dvector("x")
    table = np.random.default_rng(0).normal(size=100)
    program = hlograph.emit_stablehlo(([x], [x + table, pt.exp(x)]))
    counts = program.op_counts()
    assert counts["stablehlo.add"] == 1
    assert counts["stablehlo.exponential"] == 1
    assert "func.func" not in counts
    assert "func.return" not in counts
    assert program.find(constants)[0][:2] == ("tensor<100xf64>", 800)


# ---- passes --------------------------------------------------------------------------------------------------------


def test_passes_leave_the_program_alone(program):
    before = program.text
    static = program.optimize(["specialize{n=5,b_0=3,k=2}", "canonicalize", "cse"])
    assert program.text == before
    assert static.signature.is_static
    np.testing.assert_array_equal(static.compile()(*arrays()), program.compile()(*arrays()))


# ---- the reference interpreter -------------------------------------------------------------------------------------


def test_interpret_checks_arguments_and_asserts(program):
    X, b, k = arrays()
    with pytest.raises(ArgumentShapeError, match="axis 1: expected size 3, got 2"):
        program.interpret(X[:, :2], b, k)
    with pytest.raises(AssertionError, match="b is not finite"):
        program.interpret(X, np.full(3, 1e7), k)


ENDING = {
    "rng_bit_generator": """tensor<ui64> {
      %x = stablehlo.constant dense<0> : tensor<2xui64>
      %s, %0 = stablehlo.rng_bit_generator %x, algorithm = THREE_FRY
        : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>)
      return %0 : tensor<ui64> }""",
    "partition_id": "tensor<ui32> { %0 = stablehlo.partition_id : tensor<ui32> return %0 : tensor<ui32> }",
}


@pytest.mark.parametrize("op", ENDING)
def test_interpret_refuses_what_would_end_the_process(op):
    with pytest.raises(UnsupportedGraphError, match=rf"stablehlo\.{op}"):
        hlograph.Program.parse(f"func.func @main() -> {ENDING[op]}").interpret()


@pytest.mark.parametrize("kind", ["index", "shape", "branches", "overflow", "", "of a later release"])
def test_the_kind_of_a_demand_is_its_error_and_what_it_says_of_itself_is_not(kind):
    text = f"""
      func.func @main(%x: tensor<?xf64> {{hlograph.name = "x", hlograph.dims = ["n"]}}) -> tensor<?xf64>
          attributes {{hlograph.constraints = [["n >= 3", "result.py:7 in index", "{kind}"]]}} {{
        return %x : tensor<?xf64>
      }}"""
    expected = {"index": IndexError, "shape": AssertionError, "overflow": OverflowError, "branches": BranchSizeError}
    program = hlograph.Program.parse(text)
    with pytest.raises(ArgumentShapeError, match=r"result\.py:7 in index") as found:
        program.compile()(np.arange(2.0))
    assert [k for k, error in expected.items() if isinstance(found.value, error)] == [kind] * (kind in expected)


# ---- pickles and copies ----------------------------------------------------------------------------------------------


def _pickled(program):
    return pickle.loads(pickle.dumps(program))


def _through_joblib(program):
    joblib = pytest.importorskip("joblib", reason="it comes with scikit-learn")
    return joblib.Parallel(1)([joblib.delayed(_pickled)(program)])[0]


def _through_cloudpickle(program):
    return pickle.loads(pytest.importorskip("cloudpickle", reason="it comes with PyMC").dumps(program))


COPIES = {
    "pickle": _pickled,
    "oldest protocol": lambda program: pickle.loads(pickle.dumps(program, 2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "cloudpickle": _through_cloudpickle,
    "joblib": _through_joblib,
}


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_is_the_whole_program(program, kind):
    copied = COPIES[kind](program)
    assert (copied.text, copied.filename) == (program.text, program.filename)
    X, b, k = arrays()
    for policy in ("exact", "padded"):
        (found,) = [np.asarray(copied.compile(policy=policy, outputs="numpy")(X, b, k))]
        np.testing.assert_allclose(found, pt.gammaln(pt.abs(X @ b) + 1).eval()[:k], rtol=1e-12)
    with pytest.raises(AssertionError, match="b is not finite"):
        copied.compile()(X, b * np.inf, k)


def test_what_is_pickled_by_value_and_what_copies_share():
    shared, v = pytensor.shared(2.0, name="s"), pt.dvector("v")
    weights = np.random.default_rng(0).normal(size=(40, 3))
    y = (v[:, None] * weights).sum(0) * shared
    program = hlograph.emit_stablehlo(([v], [y]), dims={"v": (40,)}, parameter_limit=64)
    copies = [_pickled(program), copy.deepcopy(program)]
    (place,) = (i for i, a in enumerate(program.signature.arguments) if a.parameter)
    assert copies[1].bindings[place] is program.bindings[place]
    assert not np.shares_memory(copies[0].bindings[place].get_value(), weights)
    shared.set_value(5.0)
    for each, factor in zip([program, *copies], [5, 2, 2], strict=True):
        np.testing.assert_allclose(each.compile()(np.ones(40)), factor * weights.sum(0), rtol=1e-12)


def test_parameters_of_a_file_are_in_the_pickle_and_a_changed_file_is_refused(tmp_path):
    weights = np.random.default_rng(0).normal(size=(40, 3)).astype("f")
    program = hlograph.emit_stablehlo(lambda x: x @ weights, jax.ShapeDtypeStruct((2, 40), "float32"))
    loaded = hlograph.load(program.save(tmp_path / "m.mlir", parameters=True, parameter_limit=64))
    data = pickle.dumps(loaded)
    with (tmp_path / "m.safetensors").open("r+b") as file:
        file.seek(-40, 2)
        file.write(b"!")
    with pytest.raises(ArtifactError, match="damaged"):
        pickle.dumps(loaded)
    x = np.ones((2, 40), "f")
    again = pickle.loads(data)
    np.testing.assert_allclose(again.compile()(x), x @ weights, rtol=1e-5)
    np.testing.assert_allclose(hlograph.load(again.save(tmp_path / "n.mlirbc")).compile()(x), x @ weights, rtol=1e-5)


def test_derivatives_are_pickled_where_the_program_has_them_and_copies_have_what_it_was_made_from():
    program = hlograph.emit_stablehlo(lambda x: (x**3).sum(), jax.ShapeDtypeStruct(("n",), "float32"))
    x = np.float32([1, 2, 3])
    whole = program.with_derivatives(1)
    for each in (_pickled(whole), copy.copy(program), copy.deepcopy(program), copy.copy(whole), copy.deepcopy(whole)):
        np.testing.assert_allclose(jax.grad(each.compile())(x), 3 * x**2, rtol=1e-6)
    with pytest.raises(DerivativeError, match=r"unpickled.*with_derivatives\(1\)"):
        jax.grad(_pickled(program).compile())(x)


def test_what_was_loaded_is_checked_in_its_pickle_too(tmp_path):
    path = tmp_path / "m.mlir"
    path.write_text("""func.func @main(%x: tensor<?x?xf64>) -> tensor<?x?xf64> {
      %0:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%x) {api_version = 4 : i32, backend_config = {uplo = 76 : ui8}} :
        (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<i32>)
      return %0#0 : tensor<?x?xf64> }""")
    loaded = hlograph.load(path, allow=["lapack_dpotrf_ffi"])
    assert _pickled(loaded).check.keywords == loaded.check.keywords


def test_python_is_not_pickled_and_another_jaxlib_reads_none(program, monkeypatch):
    x = pt.dvector("x")
    called = FromFunctionOp(np.sort, [x.type], [x.type], lambda *given: [given[-1][0]])
    host = hlograph.emit_stablehlo(([x], [called(x)]))
    with pytest.raises(UnsupportedGraphError, match=r"calls Python functions .*a pickle has none of them"):
        pickle.dumps(host)
    for copied in (copy.copy(host), copy.deepcopy(host)):
        np.testing.assert_array_equal(copied.compile()(np.array([2.0, 1.0])), [1, 2])
    data = pickle.dumps(program)
    monkeypatch.setattr("hlograph.codegen.program.version", lambda name: "0.0.1")
    with pytest.raises(ArtifactError, match=r"pickled with jaxlib .*here is 0\.0\.1.*program\.save"):
        pickle.loads(data)


def test_a_pickle_is_read_in_another_process_without_a_graph_library(program, tmp_path):
    """As `multiprocessing` and joblib send it."""
    (tmp_path / "p").write_bytes(pickle.dumps(program))
    code = f"""
        import pickle, sys
        program = pickle.load(open({str(tmp_path / "p")!r}, "rb"))
        assert "pytensor" not in sys.modules
        print(program.text, end="")
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert run.stdout == program.text


# ---- what MLIR refuses -----------------------------------------------------------------------------------------------


def test_a_type_that_is_none_is_an_error_of_ours_wherever_it_comes_to_light():
    """An axis of -21 elements, which the reader of portable bytecode takes and MLIR's own does not."""
    text = """func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<f32>) {
      %c = stablehlo.constant dense<1.0> : tensor<f32>
      %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<21xf32>
      %2 = stablehlo.tanh %1 : tensor<21xf32>
      %s = stablehlo.reduce(%2 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<21xf32>, tensor<f32>)
        -> tensor<f32>
      %0 = stablehlo.sine %x : tensor<?xf32>
      return %0, %s : tensor<?xf32>, tensor<f32> }"""
    plain = to_portable(hlograph.Program.parse(text))
    assert plain.count(b"\x55") == 1  # 21 as MLIR writes it
    changed = files.seal(re.sub(rb"(sha256 )[0-9a-f]{64}", rb"\g<1>" + b"0" * 64, plain.replace(b"\x55", b"\x53")))
    with pytest.raises(ArtifactError, match="invalid tensor dimension size"):
        hlograph.Program.parse(changed)
    trusted = hlograph.Program.parse(changed, trusted=True)
    x = np.ones(3, "f")
    for use in (
        lambda: trusted.compile()(x),
        lambda: trusted.compile(policy="padded", outputs="numpy")(x),
        lambda: trusted.interpret(x),
        lambda: trusted.pad({"arg0_0": 4}),
        lambda: trusted.specialize({"arg0_0": 4}),
        lambda: trusted.optimize(["simplify"]),
        lambda: copy.deepcopy(trusted),
        lambda: _pickled(trusted),
    ):
        with pytest.raises(PassError, match=r"(?s)invalid tensor dimension size.*loaded without trusted=True"):
            use()
