"""Bundles: what is loaded gives what is compiled, and what does not fit is compiled."""

import json
import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytensor.tensor as pt
import pytest
from jax.experimental import serialize_executable
from pytensor.raise_op import Assert
from regressions import agrees, data, expected, program
from scripts import run_script

import hlograph
from hlograph.codegen.artifact import foreign, parameters
from hlograph.codegen.ir import jax_compat
from hlograph.codegen.ir.jax_compat import make_synchronous_cpu_client, proven_jaxlib
from hlograph.errors import (
    ArgumentError,
    ArtifactError,
    CompileError,
    GraphError,
    HlographError,
    OptionError,
    UntrustedBundleWarning,
)
from hlograph.runtime.bundles import bundle as bundles
from hlograph.runtime.direct import verdict
from hlograph.runtime.executables import stored

MACHINE = list(stored.Machine.__annotations__)

loads = pytest.mark.skipif(not proven_jaxlib(), reason="this jaxlib's executables are not loaded")


@pytest.fixture(scope="module")
def regression() -> hlograph.Program:
    return program()


@pytest.fixture(scope="module")
def small(regression: hlograph.Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For 4 and 6 rows and NumPy arrays."""
    path = tmp_path_factory.mktemp("bundles") / "small.bundle"
    return hlograph.bundle(regression, path, sizes=[{"n": 4}, {"n": 6}], outputs="numpy")


@loads
def test_calls_of_known_sizes_compile_nothing(small: Path) -> None:
    fn = hlograph.load_bundle(small, trusted=True)
    X, y, w = data(4)
    agrees(fn(X[:, ::-1].tolist(), jax.numpy.asarray(y, np.float32), w), X[:, ::-1], y.astype(np.float32), w)
    for n in (6, 4, 6):
        found = fn(*data(n))
        agrees(found, *data(n))
        assert all(isinstance(x, (np.ndarray, np.generic)) for x in found)
    assert (fn.stats.compiles, fn.stats.loaded) == (0, 2)
    assert all("loaded in" in line for line in fn.stats.bundle)
    agrees(fn(*data(5)), *data(5))
    assert (fn.stats.compiles, fn.stats.loaded) == (1, 2)
    assert fn.stats.bundle[0].startswith("n=4, y_0=4: ") or fn.stats.bundle[0].startswith("n=4: ")


@loads
def test_jax_arrays_derivatives_and_batches(regression: hlograph.Program, tmp_path: Path) -> None:
    path = hlograph.bundle(regression, tmp_path / "a.bundle", sizes=[{"n": 4}], derivatives=1)
    fn = hlograph.load_bundle(path, trusted=True)
    arrays = data(4)
    with jax_compat.enable_x64(True):
        given = [jax.numpy.asarray(x) for x in arrays]
        found = fn(*given)
        agrees(found, *arrays)
        assert all(isinstance(x, jax.Array) for x in found)
        assert (fn.stats.compiles, fn.stats.loaded) == (0, 1)
        agrees(jax.jit(fn)(*given), *arrays)
        gradient = jax.grad(lambda w: fn(given[0], given[1], w)[0])(given[2])
        np.testing.assert_allclose(gradient, expected(*arrays)[1], rtol=1e-12)

        def inside(w: Any) -> Any:
            return w + fn(*given)[1]  # arrays, while something else is traced

        np.testing.assert_allclose(jax.jit(inside)(given[2]), arrays[2] + expected(*arrays)[1], rtol=1e-12)
    agrees(fn(*arrays), *arrays)


@loads
def test_one_padded_executable_serves_its_bucket(regression: hlograph.Program, tmp_path: Path) -> None:
    function = regression.compile(policy={"n": hlograph.Bucket(start=16)}, outputs="numpy")
    fn = hlograph.load_bundle(hlograph.bundle(function, tmp_path / "a.bundle", sizes=[{"n": 5}]), trusted=True)
    for n in (1, 16, 0, 7):
        agrees(fn(*data(n)), *data(n))
    assert (fn.stats.compiles, fn.stats.loaded) == (0, 1)
    agrees(fn(*data(17)), *data(17))
    assert (fn.stats.compiles, fn.stats.loaded) == (1, 1)


@loads
def test_checks_and_sizes_from_data(tmp_path: Path) -> None:
    x = pt.dvector("x")
    positive = Assert("all must be positive")(x, (x > 0).all())
    kept = hlograph.emit_stablehlo(([x], [positive[(x > 1).nonzero()]]), dims={"x": ("n",)})
    (count,) = kept.signature.counts
    sizes = [{"n": 5, count.name: 5}]
    fn = hlograph.load_bundle(hlograph.bundle(kept, tmp_path / "a.bundle", sizes=sizes, outputs="numpy"), trusted=True)
    for values in ([0.5, 2, 3, 0.1, 9], [1e-3] * 5, [2.0] * 5):
        np.testing.assert_array_equal(fn(np.array(values)), [value for value in values if value > 1])
    with pytest.raises(AssertionError, match="all must be positive"):
        fn(np.array([0.5, -2, 3, 0.1, 9]))
    assert fn.stats.compiles == 0
    assert fn.stats.loaded == len(fn.stats.bundle)


def _weighted(parameter_limit: int | None) -> tuple[hlograph.Program, np.ndarray]:
    """`tanh(x W)` and its sum, for `n` rows of x."""
    weights = np.random.default_rng(1).normal(size=(40, 50))
    x = pt.dmatrix("x")
    y = pt.tanh(x @ pt.as_tensor(weights, name="W"))
    dims = {"x": ("n", 40)}
    return hlograph.emit_stablehlo(([x], [y, y.sum()]), dims=dims, parameter_limit=parameter_limit), weights


@loads
@pytest.mark.parametrize(("outputs", "limit"), [("jax", None), ("numpy", 256)])
def test_large_constants_are_in_a_bundle_once(outputs: str, limit: int | None, tmp_path: Path) -> None:
    weighted, weights = _weighted(limit)
    sizes = [{"n": n} for n in (2, 3, 4)]
    path = tmp_path / "a.bundle"
    hlograph.bundle(weighted, path, sizes=sizes, parameter_limit=256, derivatives=1, outputs=outputs)
    assert path.read_bytes().count(weights.tobytes()) == 1
    assert path.stat().st_size <= 1.2 * sum(size for _, size in parameters.Tensors(path).places.values())
    fn = hlograph.load_bundle(path, trusted=True)
    (parameter,) = fn.program.bindings.values()
    assert not parameter.get_value().flags.owndata
    for n in (3, 2, 4, 3):
        x = np.random.default_rng(n).normal(size=(n, 40))
        for found, wanted in zip(fn(x), (np.tanh(x @ weights), np.tanh(x @ weights).sum()), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert (fn.stats.compiles, fn.stats.loaded) == (0, 3)
    x = np.ones((5, 40)) / 40
    np.testing.assert_allclose(fn(x)[1], np.tanh(x @ weights).sum(), rtol=1e-12)
    with jax_compat.enable_x64(True):
        gradient = jax.grad(lambda x: fn(x)[1])(x)
    np.testing.assert_allclose(gradient, (1 - np.tanh(x @ weights) ** 2) @ weights.T, rtol=1e-10)
    again = hlograph.bundle(fn, tmp_path / "b.bundle", sizes=sizes[:1], parameter_limit=256)
    np.testing.assert_allclose(hlograph.load_bundle(again, trusted=True)(x[:2])[0], np.tanh(x[:2] @ weights))
    assert "parameters.safetensors" in bundles.facts(path)["parts"]


def test_damaged_parameters_of_a_bundle_are_refused(tmp_path: Path) -> None:
    weighted, weights = _weighted(256)
    path = hlograph.bundle(weighted, tmp_path / "a.bundle", sizes=[])
    data = bytearray(path.read_bytes())
    data[data.index(weights.tobytes()) + 77] ^= 1
    path.write_bytes(data)
    for trusted in (False, True):
        with pytest.raises(ArtifactError, match="damaged"):
            hlograph.load_bundle(path, trusted=trusted)

    lacking = rewritten(path, tmp_path / "b.bundle", without("parameters.safetensors", part=True))
    with pytest.raises(ArtifactError, match="does not hold the parameters"):
        hlograph.load_bundle(lacking, trusted=True)


def test_executables_are_loaded_for_who_trusts_the_file(small: Path) -> None:
    with pytest.warns(UntrustedBundleWarning, match=r"trusted=True"):
        unsaid = hlograph.load_bundle(small)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused = hlograph.load_bundle(small, trusted=False)
    for fn in (unsaid, refused):
        agrees(fn(*data(4)), *data(4))
        assert (fn.stats.compiles, fn.stats.loaded) == (1, 0)
        assert "machine code" in fn.stats.bundle[0]
        assert any("machine code" in line for line in fn.stats.by_executable[0].plan)


def test_the_program_of_a_bundle_that_is_not_trusted_is_parsed_in_the_child(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(data: bytes, filename: str) -> bytes:
        raise ArtifactError(f"{filename}: in the child")

    monkeypatch.setattr(foreign, "parse", parse)
    hlograph.load_bundle(small, trusted=True)
    for load in (lambda: hlograph.load_bundle(small, trusted=False), lambda: bundles.facts(small)):
        with pytest.raises(ArtifactError, match="in the child"):
            load()


def test_a_bundle_is_described(small: Path) -> None:
    found = bundles.facts(small)
    assert [one["sizes"].split(",")[0] for one in found["executables"]] == ["n=4", "n=6"]
    assert found["parts"].keys() == set(parameters.Tensors(small).arrays)
    assert "float64[n, 3]" in found["program"]


def test_wrong_arguments_of_bundle(regression: hlograph.Program, tmp_path: Path) -> None:
    path = tmp_path / "a.bundle"
    with pytest.raises(ArgumentError, match="n is not known"):
        hlograph.bundle(regression, path)
    with pytest.raises(ArgumentError, match="no size 'm'"):
        hlograph.bundle(regression, path, sizes=[{"m": 3}])
    with pytest.raises(HlographError, match="no device 'gpus'"):
        hlograph.bundle(regression, path, sizes=[{"n": 3}], platforms=["gpus"])
    with pytest.raises(OptionError, match="outputs"):
        hlograph.bundle(regression.compile(), path, sizes=[{"n": 3}], outputs="numpy")
    with pytest.raises(GraphError, match="emit_stablehlo"):
        hlograph.bundle(np.sin, path)  # type: ignore[arg-type]
    assert not path.exists()


# ---- what does not fit -----------------------------------------------------------------------------------------------


def rewritten(source: Path, target: Path, change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> Path:
    """A bundle with a changed manifest or parts, and digests that fit."""
    file = parameters.Tensors(source)
    parts = {name: array.tobytes() for name, array in file.arrays.items()}
    manifest = json.loads(parts["manifest.json"])
    change(manifest, parts)
    return of_parts(target, {**parts, "manifest.json": json.dumps(manifest).encode()})


def of_parts(target: Path, parts: dict[str, bytes]) -> Path:
    with target.open("wb") as stream:
        parameters.contents({name: np.frombuffer(data, np.uint8) for name, data in parts.items()}).write(stream)
    return target


def compiles_instead(path: Path, reason: str, loaded: int = 0) -> None:
    fn = hlograph.load_bundle(path, trusted=True)
    agrees(fn(*data(4)), *data(4))
    agrees(fn(*data(4)), *data(4))
    assert (fn.stats.compiles, fn.stats.loaded) == (1, loaded)
    assert reason in fn.stats.bundle[0]
    assert reason in str(fn.stats.by_executable[0].plan)


def other(field: str) -> Callable[[Any, Any], None]:
    """An executable of another machine."""
    return lambda manifest, parts: manifest["machines"][0].update({field: manifest["machines"][0][field] + "x"})


def executable(change: Callable[[bytes], bytes]) -> Callable[[Any, Any], None]:
    return lambda manifest, parts: parts.update({"executables/0": change(parts["executables/0"])})


# What is changed in the manifest and the parts, and why it is compiled anew.
ANEW: dict[str, tuple[Callable[[Any, Any], None], str]] = {
    **{field: (other(field), "it is for") for field in MACHINE},
    "processor": (other("processor"), "another processor"),
    "flags": (other("flags"), "XLA_FLAGS"),
    "empty": (executable(lambda data: b""), "it cannot be read"),
    "cut": (executable(lambda data: data[: len(data) // 2]), "it cannot be read"),
    "something else": (executable(lambda data: b"abc" * 100), "it cannot be read"),
}


@loads
@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", ANEW)
def test_executables_of_others_and_broken_ones_are_compiled_anew(case: str, small: Path, tmp_path: Path) -> None:
    change, reason = ANEW[case]
    compiles_instead(rewritten(small, tmp_path / "a.bundle", change), reason)


class Refused:
    """A loaded executable that XLA does not run."""

    def __init__(self, compiled: Any) -> None:
        self.args_info, self.out_info = compiled.args_info, compiled.out_info

    def __call__(self, *arrays: Any) -> Any:
        raise jax.errors.JaxRuntimeError("INTERNAL: no such instruction")

    def runtime_executable(self) -> Any:
        raise AssertionError


@loads
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (jax.errors.JaxRuntimeError("no such version"), "XLA refuses it: no such version"),
        (AttributeError("deserialize_executable"), "it cannot be read: deserialize_executable"),
        (None, "XLA does not run it: INTERNAL: no such instruction"),
    ],
)
def test_executables_that_jax_or_xla_refuses_are_compiled_anew(
    error: Exception | None, reason: str, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*arguments: Any, **where: Any) -> Any:
        if error is not None:
            raise error
        return Refused(original(*arguments, **where))

    original = serialize_executable.deserialize_and_load
    monkeypatch.setattr(serialize_executable, "deserialize_and_load", load)
    compiles_instead(small, reason, loaded=int(error is None))


@loads
def test_a_damaged_executable_is_compiled_anew_and_a_damaged_program_an_error(small: Path, tmp_path: Path) -> None:
    whole, places = small.read_bytes(), parameters.Tensors(small).places

    def flipped(part: str) -> Path:
        at = places[part][0] + 100
        path = tmp_path / "a.bundle"
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        return path

    compiles_instead(flipped("executables/0"), "damaged")
    with pytest.raises(ArtifactError, match=r"'program\.mlirbc' is damaged"):
        hlograph.load_bundle(flipped("program.mlirbc"), trusted=True)


def at(*path: Any) -> Callable[[Any], Callable[[Any, Any], None]]:
    """Sets what lies at a path in the manifest."""

    def to(value: Any) -> Callable[[Any, Any], None]:
        def change(manifest: Any, parts: Any) -> None:
            for step in path[:-1]:
                manifest = manifest[step]
            manifest[path[-1]] = value

        return change

    return to


def without(name: str, part: bool = False) -> Callable[[Any, Any], None]:
    return lambda manifest, parts: (parts if part else manifest).pop(name)


first = ("executables", 0)
HOSTILE: list[tuple[Callable[[Any, Any], None], str]] = [
    *[(without(x), f"lacks '{x}'") for x in ("format", "options", "machines", "executables")],
    (at("format")(3), "this hlograph reads 2"),
    (at("machines")([{}]), "platform"),
    (at("executables")([{}]), "lacks"),
    (at(*first, "machine")(1), "malformed"),
    (at("options", "cache_size")(0), "cache_size"),
    (at("options", "passes")(["no_such_pass"]), "no_such_pass"),
    (at("options", "cpu")({"fast": True}), "fast"),
    (at("options", "cpu", "client")("gpu"), "client must be"),
    (at("options", "policy")("sometimes"), "cannot be read as a bundle: policy"),
    (at("options", "policy")({"bucket": [0.5, 16, 8, None]}), "malformed"),
    (at("options", "policy")({"each": {"q": "padded"}}), "cannot be read as a bundle: .*q"),
    (without("program.mlirbc", part=True), r"no part 'program\.mlirbc'"),
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_malformed_manifests_are_errors(number: int, small: Path, tmp_path: Path) -> None:
    change, message = HOSTILE[number]
    with pytest.raises(ArtifactError, match=message):
        hlograph.load_bundle(rewritten(small, tmp_path / "a.bundle", change), trusted=False)


@pytest.mark.parametrize("text", [None, b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"format": 1e999}'])
def test_manifests_that_are_none(text: bytes | None, tmp_path: Path) -> None:
    parts = {"a": b""} if text is None else {"manifest.json": text}
    with pytest.raises(ArtifactError, match="manifest"):
        hlograph.load_bundle(of_parts(tmp_path / "a.bundle", parts), trusted=True)


def test_nothing_of_executables_is_read_for_who_does_not_trust_them(small: Path, tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "harm",)

    path = rewritten(small, tmp_path / "a.bundle", executable(lambda data: pickle.dumps(Harm())))
    agrees(hlograph.load_bundle(path, trusted=False)(*data(4)), *data(4))
    assert bundles.facts(path)["executables"]
    assert not (tmp_path / "harm").exists()


def test_a_file_that_is_not_trusted_switches_nothing_on(regression: hlograph.Program, tmp_path: Path) -> None:
    on = hlograph.CpuOptions("sync", direct=True, math=False)
    path = hlograph.bundle(regression, tmp_path / "a.bundle", sizes=(), cpu=on, outputs="numpy", optimize="exact")
    assert hlograph.load_bundle(path, trusted=True).options.cpu == on
    fn = hlograph.load_bundle(path, trusted=False)
    assert fn.options.cpu == hlograph.CpuOptions("sync", math=False)
    assert any("reassociate=false" in spec for spec in fn.options.passes)
    agrees(fn(*data(4)), *data(4))
    for spec in ("for_iree", "canonicalize", "reduce_in_blocks{elements=1}"):
        hostile = rewritten(path, tmp_path / "b.bundle", at("options", "passes")([spec]))
        with pytest.raises(ArtifactError, match=r"which is not one of the default ones; load_bundle"):
            hlograph.load_bundle(hostile, trusted=False)
        assert hlograph.load_bundle(hostile, trusted=True).options.passes == (spec,)


@pytest.mark.parametrize("trusted", [False, True])
def test_what_is_no_regular_file_is_no_bundle(trusted: bool, tmp_path: Path) -> None:
    (tmp_path / "zero.bundle").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.bundle")
    for path in ("zero.bundle", "pipe.bundle", ".", "/proc/self/maps", "/proc/self/mem", "a\0b"):
        with pytest.raises(ArtifactError, match=r"cannot read|no such|is not a"):
            hlograph.load_bundle(tmp_path / path, trusted=trusted)


def test_every_cut_of_a_bundle_is_an_error(small: Path, tmp_path: Path) -> None:
    whole = small.read_bytes()
    for size in [*range(0, 200, 9), *range(200, len(whole), len(whole) // 20)]:
        (tmp_path / "a.bundle").write_bytes(whole[:size])
        with pytest.raises(ArtifactError):
            hlograph.load_bundle(tmp_path / "a.bundle", trusted=True)


@loads
@pytest.mark.skipif(not make_synchronous_cpu_client(), reason="there is no synchronous client")
def test_direct_calls_of_loaded_executables(small: Path) -> None:
    before = verdict.assume("")
    try:
        fn = hlograph.load_bundle(small, trusted=True)
        for i in range(30):
            X, y, w = data(4)
            agrees(fn(X + i, y, w), X + i, y, w)
    finally:
        verdict.assume(before)
    assert fn.stats.compiles == 0
    assert "direct call" in fn.stats.by_executable[0].plan[-1]


@loads
def test_linear_algebra_in_a_fresh_process(tmp_path: Path) -> None:
    """Where LAPACK's functions were not loaded the process would end."""
    x = pt.dmatrix("x")
    factor = hlograph.emit_stablehlo(([x], [pt.linalg.cholesky(x)]), dims={"x": (12, 12)})
    hlograph.bundle(factor, tmp_path / "a.bundle", outputs="numpy")
    code = """
    import hlograph, numpy as np, sys
    fn = hlograph.load_bundle("a.bundle", trusted=True)
    a = np.eye(12) * 4 + 1
    np.testing.assert_allclose(fn(a), np.linalg.cholesky(a), rtol=1e-12)
    assert fn.stats.loaded == 1 and fn.stats.compiles == 0
    assert not {"pytensor", "scipy.linalg"} & set(sys.modules)
    """
    run_script(code, cwd=tmp_path)


@loads
def test_what_a_bundle_imports(small: Path) -> None:
    """Nothing that only emitting, passes, compiles or JAX's transformations need, before and in its first call."""
    code = """
    import jax, sys
    import hlograph, numpy as np
    fn = hlograph.load_bundle(sys.argv[1], trusted=True)
    fn(np.ones((4, 3)), np.ones(4), np.ones(3))
    assert fn.stats.loaded == 1 and fn.stats.compiles == 0
    print(*sys.modules)
    """
    modules = run_script(code, small).split()
    needless = (
        *("codegen.builder", "codegen.emit", "codegen.artifact.foreign", "dialects", "tools"),
        *(f"codegen.passes.cpu_{each}" for each in ("forms", "math", "regions", "sums")),
        *("runtime.lowered", "runtime.c_function", "runtime.warming", "runtime.executables.cpu_plan"),
        *("runtime.transforms.primitive", "runtime.direct.steps", "runtime.jit", "runtime.ragged"),
    )
    foreign = ("jax.extend", "jaxlib.mlir.dialects.mhlo", "concurrent.futures", "pytensor")
    found = [name for name in modules if name.startswith((*(f"hlograph.{each}" for each in needless), *foreign))]
    assert found == []
    assert len([name for name in modules if name.startswith("hlograph.")]) <= 120


def test_an_executable_that_is_not_serialized_is_an_error(
    regression: hlograph.Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(compiled: Any) -> bytes:
        raise jax.errors.JaxRuntimeError("UNIMPLEMENTED")

    monkeypatch.setattr(serialize_executable, "serialize", refused)
    with pytest.raises(CompileError, match="does not serialize"):
        hlograph.bundle(regression, tmp_path / "a.bundle", sizes=[{"n": 3}], outputs="numpy")
