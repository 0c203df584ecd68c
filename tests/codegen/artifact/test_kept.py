"""What a program has goes with it: through files, passes, and `hlograph opt`."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.special

import hlograph
from hlograph import Program
from hlograph.codegen.artifact.programs import to_portable
from hlograph.errors import ArtifactError, DerivativeError, PassError, UnsupportedGraphError
from hlograph.tools.cli import main


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of two sizes with its pullback: `sum(erf(x @ w))`, whose derivative has CHLO ops too."""
    x, w = pt.dmatrix("x"), pt.dvector("w")
    program = hlograph.emit_stablehlo(([x, w], pt.erf(x @ w).sum()), dims={"x": ("n", "k"), "w": ("k",)}, name="total")
    return program.save(tmp_path_factory.mktemp("saved") / "total.mlir", derivatives=1)


def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(-1, 1, 3 * rows).reshape(rows, 3), np.array([0.5, -1.0, 0.25])


def assert_has_gradient(program: Program, rows: int = 4) -> None:
    x, w = data(rows)
    function = program.compile(optimize="none", cpu="plain")
    np.testing.assert_allclose(function(x, w), scipy.special.erf(x @ w).sum())
    slopes = 2 / np.sqrt(np.pi) * np.exp(-((x @ w) ** 2))
    np.testing.assert_allclose(jax.grad(function, 1)(x, w), x.T @ slopes)
    np.testing.assert_allclose(jax.grad(function, 0)(x, w), np.outer(slopes, w))


def test_load_and_save_keep_the_pullback(saved: Path, tmp_path: Path) -> None:
    program = hlograph.load(saved)
    text = program.save(tmp_path / "again.mlir")
    assert text.read_text() == saved.read_text()
    portable = hlograph.load(program.save(tmp_path / "again.mlirbc"))
    assert_has_gradient(portable)
    assert_has_gradient(Program.parse(portable.text), 5)
    alone = hlograph.load(program.save(tmp_path / "alone.mlir", derivatives=0))
    assert alone.pullback is None
    with pytest.raises(DerivativeError, match="derivatives=1"):
        jax.grad(alone.compile(), 1)(*data(2))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "passes", [["specialize{n=4,k=3}"], ["specialize{n=4}"], ["chlo-legalize-to-stablehlo", "canonicalize"]]
)
def test_passes_change_the_pullback_too(saved: Path, passes: list[str]) -> None:
    program = hlograph.load(saved)
    sizes = {"n": 4, "k": 3} if "k" in passes[0] and "=" in passes[0] else {"n": 4}
    found = [program.optimize(passes), *([program.specialize(sizes)] if passes[0].startswith("spec") else [])]
    for changed in found:
        assert changed.pullback is not None
        assert_has_gradient(Program.parse(changed.text))
        if "k=3" in passes[0]:
            assert "?" not in changed.text.replace("??", "")
        if passes[0].startswith("chlo"):
            assert "chlo." not in changed.text


def test_what_a_pullback_cannot_follow_is_refused(saved: Path) -> None:
    program = hlograph.load(saved)
    for make in (
        lambda: program.pad({"n": 8, "k": 4}),
        lambda: program.optimize(["pad{n=8,k=4}"]),
        lambda: program.specialize({"n": 4, "k": 3}).optimize(["batch{size=2}"]),
    ):
        with pytest.raises(PassError, match=r"pullback.*with_derivatives\(0\)"):
            make()
    padded = program.with_derivatives(0).pad({"n": 8, "k": 4})
    assert len(padded.signature.arguments) == 4
    with pytest.raises(DerivativeError, match="padded"):
        jax.grad(lambda *a: padded.compile()(*a)[()])(*padded_data(padded))


def padded_data(program: Program) -> list[np.ndarray]:
    return [np.ones([int(d) for d in a.dims], a.dtype) for a in program.signature.arguments]


def test_a_padded_emitted_program_has_no_derivative_of_the_unpadded_one() -> None:
    x = pt.dvector("x")
    program = hlograph.emit_stablehlo(([x], pt.sin(x).sum()), dims={"x": ("n",)})
    assert program.optimize(["canonicalize"]).source is not None
    for padded in (program.pad({"n": 4}), program.optimize(["pad{n=4}"])):
        with pytest.raises(DerivativeError, match="padded"):
            padded.with_derivatives(1)


def test_opt_keeps_the_pullback(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", str(saved)]) == 0
    assert capsys.readouterr().out.strip() == hlograph.load(saved).text.strip()
    made = tmp_path / "made.mlirbc"
    assert main(["opt", str(saved), "--pass", "specialize{n=4,k=3}", "-o", str(made)]) == 0
    assert_has_gradient(hlograph.load(made))
    padded = ["opt", str(saved), "--pass", "pad{n=8,k=3}", "-o", str(made)]
    assert main(padded) == 1
    assert "--without-derivatives" in capsys.readouterr().err
    assert hlograph.load(made).pullback is not None
    assert main([*padded, "--without-derivatives"]) == 0
    assert hlograph.load(made).pullback is None


SQUARE = jax.ShapeDtypeStruct((4, 4), "float32")
LIBRARY = {
    "eigh": jnp.linalg.eigh,
    "singular values": lambda x: jnp.linalg.svd(x, compute_uv=False),
    "qr": lambda x: jnp.abs(jnp.linalg.qr(x)[1]),
    "lu": jax.scipy.linalg.lu,
    "eigenvalues": lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x))),
    "solve": lambda x: jnp.linalg.solve(x, x[:, 0]),
    "expm": jax.scipy.linalg.expm,
    "hessenberg": lambda x: jnp.abs(jax.lax.linalg.hessenberg(x)[0]),
    "top_k": lambda x: jax.lax.top_k(x, 2),
    "approximate top_k": lambda x: (*jax.lax.approx_max_k(x, 2), *jax.lax.approx_min_k(x, 3, reduction_dimension=0)),
    "approximate top_k, apart": lambda x: jax.lax.approx_max_k(x, 2, aggregate_to_topk=False),
    "erf_inv": jax.scipy.special.erfinv,
    "bessel": jax.scipy.special.i1e,
    "random": lambda x: jax.random.gamma(jax.random.key(0), jnp.abs(x)),
    "narrow": lambda x: (x.astype(jnp.float8_e4m3fn), x.astype(jnp.int4), x.astype(jnp.bfloat16), x * 1j),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", LIBRARY)
def test_portable_bytecode_keeps_what_jax_lowers_to_a_library(name: str, tmp_path: Path) -> None:
    emitted = hlograph.emit_stablehlo(LIBRARY[name], SQUARE, name="f")
    program = emitted.optimize(["device_linalg{platform=cpu}"])
    loaded = hlograph.load(program.save(tmp_path / "f.mlirbc"))
    assert loaded.signature == program.signature
    assert loaded.text.count("sdy.sharding_rule") == program.text.count("sdy.sharding_rule")
    x = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32) / 2
    expected = jax.tree.leaves(LIBRARY[name](x))
    found = jax.tree.leaves(loaded.compile(optimize="none")(x))
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        wide = np.complex128 if np.iscomplexobj(b) else np.float64
        np.testing.assert_allclose(np.asarray(a).astype(wide), np.asarray(b).astype(wide), rtol=2e-4, atol=2e-5)


def test_approximate_top_k_of_open_size_puts_nan_last(tmp_path: Path) -> None:
    """JAX's own is a sort whose comparison is no order where there are NaN."""
    spec = jax.ShapeDtypeStruct(("n",), "float32")
    program = hlograph.emit_stablehlo(lambda x: jax.lax.approx_max_k(x, 3), spec, constraints=("n >= 3",))
    values, places = hlograph.load(program.save(tmp_path / "f.mlir")).compile()(np.float32([np.nan, 1, 5, np.nan, 3]))
    assert (np.asarray(values).tolist(), np.asarray(places).tolist()) == ([5, 3, 1], [2, 4, 1])


def test_random_bits_of_open_size_load(tmp_path: Path) -> None:
    def draw(key: jax.Array, x: jax.Array) -> jax.Array:
        return jax.random.bits(jax.random.wrap_key_data(key, impl="rbg"), x.shape)

    key, x = np.arange(4, dtype=np.uint32), np.zeros(5, np.float32)
    specs = jax.ShapeDtypeStruct((4,), "uint32"), jax.ShapeDtypeStruct(("n",), "float32")
    loaded = hlograph.load(hlograph.emit_stablehlo(draw, *specs).save(tmp_path / "f.mlir"))
    np.testing.assert_array_equal(loaded.compile()(key, x), draw(key, x))


def test_kept_attributes_of_other_dialects_are_refused() -> None:
    program = hlograph.emit_stablehlo(jnp.linalg.eigvals, SQUARE)
    data = to_portable(program)
    assert b"#sdy.op_sharding_rule" in data
    broken = data.replace(b"#sdy.op_sharding_rule", b"#sdy.op_sharding_rulf")
    with pytest.raises(ArtifactError):
        Program.parse(broken)


@pytest.mark.parametrize("name", ["bf16", "f8E5M2", "i4"])
def test_results_that_the_interpreter_cannot_give_are_refused(name: str) -> None:
    type_ = f"tensor<2x{name}>"
    program = Program.parse(f"func.func @main(%x: {type_}) -> {type_} {{ return %x : {type_} }}")
    with pytest.raises(UnsupportedGraphError, match=f"{name}.* cannot be read; compile"):
        program.interpret(np.ones(2, program.signature.arguments[0].dtype))
