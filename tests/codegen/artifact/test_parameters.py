"""Large constants in a file beside the module's: what comes back, where it lies in memory, what is refused."""

from __future__ import annotations

import json
import os
import re
import warnings
from pathlib import Path

import jax
import ml_dtypes
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from jax import lax

import hlograph
from hlograph.codegen.artifact import parameters
from hlograph.codegen.parameters import Parameter
from hlograph.errors import ArtifactError, ArtifactNotFoundError, GraphError, OptionError, PythonCallWarning

LIMIT = 256


def _weights(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(8, 5))


def _program(weights: np.ndarray) -> hlograph.Program:
    x = pt.matrix("x")
    w = pt.as_tensor(weights, name="W")
    y = pt.tanh(x @ w)
    return hlograph.emit_stablehlo(([x], [y.sum(0), (y**2).sum()]), dims={"x": ("n", 8)})


def _emitted(weights: np.ndarray) -> hlograph.Program:
    """With the weights as a parameter."""
    x = pt.matrix("x")
    y = pt.tanh(x @ pt.as_tensor(weights, name="W"))
    return hlograph.emit_stablehlo(([x], [y.sum(0)]), dims={"x": ("n", 8)}, parameter_limit=LIMIT)


def _saved(folder: Path, weights: np.ndarray, **options) -> Path:
    options = {"parameters": "w.safetensors", "parameter_limit": LIMIT, **options}
    return _program(weights).save(folder / "model.mlir", **options)


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_what_works_with_constants_works_with_parameters(suffix, tmp_path):
    weights, x = _weights(), _weights(1)[:, :5].T.copy()
    path = _program(weights).save(
        tmp_path / f"model{suffix}", parameters="w.safetensors", parameter_limit=LIMIT, derivatives=1
    )
    program = hlograph.load(path)
    (place,) = program.bindings
    assert program.signature.arguments[place].parameter
    y = np.tanh(x @ weights)
    expected = y.sum(0), (y**2).sum()
    fn = program.compile()
    with jax.enable_x64(True):
        roads = {
            "call": fn(x),
            "padded": program.compile(policy="padded")(x),
            "numpy": program.compile(outputs="numpy")(x),
            "jit": jax.jit(fn)(x),
            "interpret": program.interpret(x),
            "constants": hlograph.Program.parse(program.text).compile()(x),
            "jax.export": program.to_jax_export().call(x),
            "lower": fn.lower(x).compile()(x, *[value.get_value() for value in program.bindings.values()]),
        }
        for name, found in roads.items():
            for got, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-12, err_msg=name)
        gradient = jax.grad(lambda x: fn(x)[1])(x)
        np.testing.assert_allclose(gradient, (2 * y * (1 - y**2)) @ weights.T, rtol=1e-10)
        np.testing.assert_allclose(
            jax.vmap(fn)(np.stack([x, 2 * x]))[1], [expected[1], (np.tanh(2 * x @ weights) ** 2).sum()]
        )


def test_an_array_is_copied_when_it_is_first_used_and_not_taken_when_it_was_changed(tmp_path):
    weights = _weights()
    programs = [_emitted(weights) for _ in range(3)]
    assert [(a.name, a.parameter) for a in programs[0].signature.arguments] == [("x", ""), ("W", "W")]
    assert all(np.shares_memory(program.bindings[1].array, weights) for program in programs)
    path = programs[0].save(tmp_path / "m.mlir", parameters=True)
    before = (tmp_path / "m.safetensors").read_bytes()
    used = programs[1].compile()
    expected = used(np.ones((3, 8)))
    weights[[0, 1]] = weights[[1, 0]]
    for refused in (
        lambda: programs[0].save(path, parameters=True),
        lambda: programs[0].save(path),
        lambda: programs[2].compile()(np.ones((3, 8))),
        lambda: programs[2].text,
    ):
        with pytest.raises(GraphError, match="'W' was written to since"):
            refused()
    assert (tmp_path / "m.safetensors").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2
    for fn in (used, hlograph.load(path).compile()):
        np.testing.assert_array_equal(fn(np.ones((3, 8))), expected)


FROZEN = {
    "no flag": (lambda a, _: a, False),
    "a flag": (lambda a, _: _read_only(a), True),
    "a flag of a view": (lambda a, _: _read_only(a[:]), False),
    "a mapped file": (lambda a, folder: np.save(folder / "a", a) or np.load(folder / "a.npy", mmap_mode="r"), True),
    "a mapped file to write to": (
        lambda a, folder: np.save(folder / "a", a) or np.load(folder / "a.npy", mmap_mode="r+"),
        False,
    ),
    "an array of JAX": (lambda a, _: np.asarray(jax.device_put(a.astype(np.float32))), True),
    "bytes": (lambda a, _: np.frombuffer(a.tobytes()), True),
    "a bytearray, by a flag": (lambda a, _: _read_only(np.frombuffer(bytearray(a.tobytes()))), False),
}


@pytest.mark.parametrize("kind", FROZEN)
def test_what_nobody_writes_to_is_known_as_such(kind, tmp_path):
    make, frozen = FROZEN[kind]
    array = make(_weights(), tmp_path)
    parameter = Parameter(array)
    assert (parameter.digest == "") == frozen
    value = parameter.get_value()
    np.testing.assert_array_equal(value, array)
    assert value.ctypes.data % 64 == 0
    assert not value.flags.writeable
    assert frozen or not np.shares_memory(value, array)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def test_a_plain_program_holds_its_constants(tmp_path):
    weights, x = _weights(), np.ones((3, 8))
    program = hlograph.load(_saved(tmp_path, weights))
    plain = program.plain(sizes={"n": 3})
    assert len(plain.signature.arguments) == 1
    np.testing.assert_allclose(plain.compile()(x)[0], np.tanh(x @ weights).sum(0), rtol=1e-12)
    for target in ("pjrt", "iree"):
        with pytest.raises(OptionError, match="holds its constants"):
            program.save(tmp_path / "p.mlir", target=target, parameters=True)
    older = hlograph.load(program.save(tmp_path / "o.mlirbc", target="1.9.0", parameters=True))
    np.testing.assert_allclose(older.compile()(x)[0], np.tanh(x @ weights).sum(0), rtol=1e-12)


def test_a_c_function_reads_parameters_in_place():
    w = _weights()[:, 0] + np.zeros((40, 1))
    x = pt.dvector("x")
    logp = -(pt.tanh(pt.as_tensor(w, name="W") @ x) ** 2).sum()
    dims = {"x": (8,)}
    program = hlograph.emit_stablehlo(([x], [logp, pytensor.grad(logp, x)]), dims=dims, parameter_limit=LIMIT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PythonCallWarning)
        c = program.compile(outputs="numpy").c_function(None, form="logp")
    assert c.names == ()
    point, gradient, value = _weights(2)[:, 0].copy(), np.zeros(8), np.zeros(1)
    assert c.ctypes(8, point.ctypes.data, gradient.ctypes.data, value.ctypes.data, None) == 0
    y = np.tanh(w @ point)
    np.testing.assert_allclose(value[0], -(y**2).sum(), rtol=1e-10)
    np.testing.assert_allclose(gradient, -2 * (y * (1 - y**2)) @ w, rtol=1e-10)
    assert np.shares_memory(c._data._arrays[0], program.bindings[1].get_value())


def test_programs_share_a_file_and_one_is_saved_to_the_file_that_it_reads(tmp_path):
    weights, file, x = _weights(), tmp_path / "w.safetensors", np.ones((3, 8))
    first = _program(weights)
    paths = [first.save(tmp_path / f"{name}.mlir", parameters=file.name, parameter_limit=LIMIT) for name in "ab"]
    written = file.stat().st_ino
    loaded = hlograph.load(paths[0])
    for path in paths:  # among them the one that it was loaded from
        loaded.save(path, parameters=file.name)
    assert file.stat().st_ino == written
    v = pt.vector("v")
    more = hlograph.emit_stablehlo(([v], [v @ pt.as_tensor(weights, name="W"), v @ pt.as_tensor(2 * weights)]))
    larger = more.save(tmp_path / "larger.mlir", parameters="more.safetensors", parameter_limit=LIMIT)
    loaded.save(paths[1], parameters="more.safetensors")
    for fn in map(hlograph.Program.compile, map(hlograph.load, paths)):
        np.testing.assert_allclose(fn(x)[0], 3 * np.tanh(weights.sum(0)), rtol=1e-12)
    assert (tmp_path / "more.safetensors").stat().st_size > 2 * weights.nbytes
    np.testing.assert_allclose(hlograph.load(larger).compile()(np.ones(8))[1], 2 * weights.sum(0), rtol=1e-12)
    other = _program(2 * weights).save(
        paths[0], parameters=file.name, parameter_limit=LIMIT
    )  # in the first one's place
    assert file.stat().st_ino != written
    np.testing.assert_allclose(hlograph.load(other).compile()(x)[0], 3 * np.tanh(2 * weights.sum(0)), rtol=1e-12)
    np.testing.assert_allclose(loaded.compile()(x)[0], 3 * np.tanh(weights.sum(0)), rtol=1e-12)


def _in_place(path: Path, change) -> None:
    with path.open("r+b") as stream:
        change(stream)


LATER = {
    "unlinked": (lambda path: path.unlink(), None),
    "another in its place": (lambda path: (path.unlink(), path.write_bytes(b"")), None),
    "touched": (lambda path: os.utime(path, (1, 1)), None),
    "another mode": (lambda path: path.chmod(0o400), None),
    "longer": (lambda path: _in_place(path, lambda stream: (stream.seek(0, 2), stream.write(b"\0"))), None),
    "written to": (lambda path: _in_place(path, lambda stream: (stream.seek(-9, 2), stream.write(b"!"))), "damaged"),
    "cut off": (lambda path: os.truncate(path, 99), "was cut off since it was loaded"),
}


@pytest.mark.parametrize("kind", LATER)
def test_what_becomes_of_the_file_after_it_was_loaded(kind, tmp_path):
    weights, x = _weights(), np.ones((3, 8))
    path = _saved(tmp_path, weights)
    program = hlograph.load(path)
    functions = program.compile(), program.compile(outputs="numpy")
    expected = [fn(x) for fn in functions]
    change, words = LATER[kind]
    times = (tmp_path / "w.safetensors").stat().st_mtime_ns
    change(tmp_path / "w.safetensors")
    if words:  # its time is set back, as any program can
        os.utime(tmp_path / "w.safetensors", ns=(times, times))
    for _ in range(2):
        for fn, wanted in zip(functions, expected, strict=True):
            if words is None:
                for got, value in zip(fn(x), wanted, strict=True):
                    np.testing.assert_array_equal(got, value)
            else:
                with pytest.raises(ArtifactError, match=words):
                    fn(x)


DTYPES = [
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64",
    "bfloat16", "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip


def _typed(name: str) -> np.ndarray:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    if dtype.kind == "c":
        return _typed("float32").astype(dtype) * dtype.type(1 + 2j)
    return (np.arange(301) % 7 - (0 if dtype.kind in "ub" else 3)).astype(dtype)


def test_arrays_of_all_dtypes_come_back_in_place_and_aligned(tmp_path):
    arrays = {name: _typed(name) for name in DTYPES}
    arrays |= {name: _typed("float32").astype(name) * (1 + 2j) for name in ("complex64", "complex128")}
    arrays |= {"empty": np.zeros((0, 3)), "number": np.array(3.5), "pairs": np.ones((3, 2))}
    path = tmp_path / "a.safetensors"
    with path.open("wb") as stream:
        parameters.contents(arrays).write(stream)
    found = parameters.Tensors(path)
    found.check()
    assert found.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        got = parameters.of_dtype(found.arrays[name], array.dtype)
        assert got.dtype == array.dtype
        assert got.shape == array.shape
        assert got.tobytes() == array.tobytes()
        assert not got.flags.writeable
        assert not got.size or got.ctypes.data % 64 == 0
        with pytest.raises(ValueError, match="read-only"):
            got[...] = 0


def test_constants_in_functions_branches_and_loops_leave_and_those_in_other_regions_stay(tmp_path):
    rows = np.arange(64, dtype=np.float32)

    @jax.jit
    def inner(x):
        return x + rows + rows * 10

    @jax.jit
    def outer(x):
        return inner(inner(x))

    def function(x, step):
        least = lax.reduce(x, np.float32(9), lambda a, b: lax.min(lax.min(a, b), np.float32(5)), (0,))
        chosen = lax.switch(step, [lambda: x - rows, lambda: x])
        return outer(x + rows), chosen, lax.fori_loop(step, 2, lambda _, v: v + rows, x), least

    given = jax.ShapeDtypeStruct((64,), np.float32), jax.ShapeDtypeStruct((), np.int32)
    in_region = f"""%k = stablehlo.constant dense<{[*rows.tolist()]}> : tensor<64xf32>
        %f = stablehlo.slice %k [5:6] : (tensor<64xf32>) -> tensor<1xf32>
        \\1 = stablehlo.reshape %f : (tensor<1xf32>) -> tensor<f32>"""  # JAX has only numbers there
    text, count = re.subn(
        r"(%\w+) = stablehlo.constant dense<5\S*> : tensor<f32>", in_region, jax.jit(function).lower(*given).as_text()
    )
    assert count == 1
    before = hlograph.Program.parse(text)
    path = before.save(tmp_path / "m.mlir", parameters=True, parameter_limit=LIMIT)
    program = hlograph.load(path)
    assert len(program.bindings) == 2
    assert path.read_text().count('dense<"0x') + path.read_text().count("dense<[0") == 1
    x = np.linspace(0, 1, 64, dtype=np.float32)
    for step in (0, 1):
        found = program.compile()(x, np.int32(step))
        for got, wanted in zip(found, before.interpret(x, np.int32(step)), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_constants_of_all_dtypes_of_the_format_leave(tmp_path):
    names = [*DTYPES, "complex64", "complex128", "int4"]
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(_typed(name)) for name in names]
        program = hlograph.emit_stablehlo(lambda x: (x, *arrays), jax.ShapeDtypeStruct((1,), "float64"))
        loaded = hlograph.load(program.save(tmp_path / "m.mlirbc", parameters=True, parameter_limit=LIMIT))
        assert [a.dtype.name for a in loaded.signature.arguments[1:]] == names[:-1]
        for array, found in zip(arrays, loaded.compile()(np.ones(1))[1:], strict=True):
            assert (array.dtype, array.tobytes()) == (found.dtype, np.asarray(found).tobytes())


def test_splats_and_small_constants_stay(tmp_path):
    x = pt.vector("x")
    program = hlograph.emit_stablehlo(([x], [x + np.ones(100), x * np.arange(100.0)]), dims={"x": (100,)})
    loaded = hlograph.load(program.save(tmp_path / "m.mlir", parameters=True, parameter_limit=LIMIT))
    assert len(loaded.bindings) == 1
    small = hlograph.load(program.save(tmp_path / "n.mlir", parameters=True))
    assert not small.bindings


# ---- which files are refused --------------------------------------------------------------------------------------


def _flipped(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def _other(path: Path) -> None:
    with path.open("wb") as stream:
        parameters.contents({"W": _weights(2)}).write(stream)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGE = {
    "missing": (lambda path: path.unlink(), "no such file"),
    "empty": (lambda path: path.write_bytes(b""), "truncated"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "truncated"),
    "longer": (lambda path: path.write_bytes(path.read_bytes() + b"\0"), "bytes of arrays"),
    "other values": (_other, "its header differs"),
    "a flipped bit": (lambda path: _flipped(path, -5), "damaged"),
    "a flipped bit in the header": (lambda path: _flipped(path, 30), "header|not a safetensors"),
    "a long header": (lambda path: path.write_bytes(b"\xff" * 8 + path.read_bytes()[8:]), "truncated"),
    "text": (lambda path: path.write_text("hello, world"), "truncated"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "cannot read|not a regular file"),
    "a pipe": (_fifo, "not a regular file"),
}


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_file_that_is_not_the_one_is_refused(kind, trusted, tmp_path):
    path = _saved(tmp_path, _weights())
    change, words = DAMAGE[kind]
    change(tmp_path / "w.safetensors")
    with pytest.raises(ArtifactError, match=words) as raised:
        hlograph.load(path, trusted=trusted)
    assert isinstance(raised.value, ArtifactNotFoundError) == (kind == "missing")


HEADERS = [
    [],
    {"W": 3},
    {"W": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}},
    {"W": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}},
    {"W": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
    {"W": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}},
    {"W": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 4]}},
    {"W": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}},
    {"W": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1 << 70]}},
]


@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_headers_that_lie_are_refused(header, tmp_path):
    text = json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
    with pytest.raises(ArtifactError):
        parameters.Tensors(path)


@pytest.mark.filterwarnings("ignore:.*was changed since")
@pytest.mark.parametrize("name", ["../w.safetensors", "/w.safetensors", "a/w.safetensors", "..", "", "a\\\\b", "c:x"])
def test_a_module_names_no_file_outside_its_folder(name, tmp_path):
    path = _saved(tmp_path, _weights())
    path.write_text(path.read_text().replace('"w.safetensors"', f'"{name}"'))
    with pytest.raises(ArtifactError):
        hlograph.load(path)


def test_where_the_file_is_may_be_said_at_load(tmp_path):
    weights = _weights()
    path = _saved(tmp_path, weights)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "w.safetensors").rename(elsewhere / "v.safetensors")
    program = hlograph.load(path, parameters=elsewhere / "v.safetensors")
    np.testing.assert_allclose(program.compile()(np.ones((2, 8)))[0], 2 * np.tanh(weights.sum(0)), rtol=1e-12)
    plain = _program(weights).save(tmp_path / "plain.mlir")
    with pytest.raises(ArtifactError, match="has no parameters"):
        hlograph.load(plain, parameters=elsewhere / "v.safetensors")


@pytest.mark.filterwarnings("ignore:.*was changed since")
@pytest.mark.parametrize("name", ["../w.safetensors", "w.npz", "a/b.safetensors", 3])
def test_names_of_no_file_in_the_folder_are_refused_at_save(name, tmp_path):
    with pytest.raises(OptionError, match="parameters="):
        _saved(tmp_path, _weights(), parameters=name)
    assert not list(tmp_path.iterdir())
