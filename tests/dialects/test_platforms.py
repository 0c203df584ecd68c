"""The platforms that a program is for: chosen when it is emitted, and kept to wherever it goes."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.printing import Print

import hlograph
from hlograph.errors import ArtifactError, DeviceError, HlographError, OptionError, PassError
from hlograph.errors import UnsupportedGraphError as Unsupported
from hlograph.passes import available

BOTH = ("cpu", "cuda")
A, X = pt.dmatrix("A"), pt.dvector("x")
ROWS = jax.ShapeDtypeStruct(("n",), "float32")
SQUARE = jax.ShapeDtypeStruct((3, 3), "float32")


def squares(platforms: Any = BOTH) -> hlograph.Program:
    return hlograph.emit_stablehlo(([X], (X**2).sum()), dims={"x": ("n",)}, platforms=platforms)


def branches(x: Any) -> Any:
    return jax.lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x * 2)


@pytest.mark.parametrize(("traced", "suffix"), [(False, ".mlir"), (True, ".mlirbc")])
def test_a_program_says_its_platforms_wherever_it_goes(tmp_path: Path, traced: bool, suffix: str) -> None:
    if traced:
        program = hlograph.emit_stablehlo(lambda x: (x**2).sum(), ROWS, platforms=["cuda", "cpu"])
    else:
        program = squares(["cuda", "cpu"])
    loaded = hlograph.load(program.save(tmp_path / f"squares{suffix}", derivatives=1))
    assert loaded.pullback is not None
    batched = loaded.specialize({"n": 3}).with_derivatives(0).optimize(["batch{size=2}"])
    for found in (loaded, loaded.pullback.program, batched, loaded.with_derivatives(0).pad({"n": 4})):
        assert found.signature.platforms == ("cuda", "cpu")
    assert loaded.to_jax_export().platforms == ("cuda", "cpu")
    value = np.arange(3, dtype=program.signature.arguments[0].dtype)
    with jax.enable_x64(not traced):
        np.testing.assert_array_equal(jax.grad(loaded.compile())(value), [0, 2, 4])


def test_every_pass_keeps_the_platforms() -> None:
    static, kept = squares().specialize({"n": 8}), []
    for name in available():
        try:
            kept.append((name, static.optimize([name]).signature.platforms))
        except PassError:  # it needs options, or is for other modules
            continue
    assert len(kept) > 20
    assert {platforms for _, platforms in kept} == {BOTH}


def test_a_program_runs_on_no_other_platform(tmp_path: Path) -> None:
    program = squares(["cuda"])
    function, value = program.compile(), np.ones(3)
    for call in (
        lambda: function(value),
        lambda: jax.jit(function)(value),
        lambda: jax.jit(jax.grad(function))(value),
        lambda: program.compile("cpu"),
        lambda: program.compile().lower(sizes={"n": 3}),
        lambda: program.to_jax_export(["cpu"]),
        lambda: squares(["cpu"]).to_jax_export(BOTH),
        lambda: hlograph.bundle(program, tmp_path / "squares.bundle", platforms=["cpu"]),
        lambda: hlograph.bundle(squares(["cpu"]), tmp_path / "squares.bundle", platforms=["gpu"]),
    ):
        with pytest.raises(DeviceError, match=r"is for (cuda|cpu), .* and not for (cpu|cuda|gpu)"):
            call()
    assert not list(tmp_path.iterdir())


def test_what_a_platform_does_not_have_is_named() -> None:
    emit = hlograph.emit_stablehlo
    for call, message in (
        (lambda: emit(([A], list(pt.linalg.eig(A))), platforms=["cpu", "tpu"]), r"eig \(cpu and cuda and rocm\)"),
        (
            lambda: emit(([X], Print("x")(X)), on_unsupported="host", platforms=["tpu"]),
            r"hlograph.host \(cpu and cuda and rocm\)",
        ),
        (lambda: emit(jnp.linalg.eigvals, SQUARE, platforms=BOTH), r"lapack_sgeev_ffi \(cpu\); for cuda it has none"),
        (lambda: emit(jax.scipy.linalg.schur, SQUARE, platforms=["cuda", "cpu"]), r"for cuda it has none .*lapack"),
        (lambda: emit(branches, ROWS, platforms=BOTH), "its own branch .*platform_dependent"),
    ):
        with pytest.raises(Unsupported, match=message):
            call()
    for names in (["gpu"], [], "cdua"):
        with pytest.raises(OptionError, match="platforms are some of"):
            squares(names)


def test_what_all_platforms_have_is_chosen() -> None:
    value = np.array([1.0, 3.0], np.float32)
    on_gpu = hlograph.emit_stablehlo(branches, ROWS, platforms=["rocm", "cuda"])
    np.testing.assert_array_equal(on_gpu.interpret(value)[0], value * 2)
    on_cpu = hlograph.emit_stablehlo(branches, ROWS, platforms=["cpu"])
    np.testing.assert_array_equal(on_cpu.interpret(value)[0], value + 1)

    def swapped(pivots: Any) -> Any:
        return jax.lax.linalg.lu_pivots_to_permutation(pivots, 4)

    # On CUDA, JAX calls a kernel of its own.
    spec, pivots = jax.ShapeDtypeStruct((3,), "int32"), np.array([2, 1, 3], np.int32)
    assert "cu_lu_pivots" in hlograph.emit_stablehlo(swapped, spec, platforms=["cuda"]).text
    for platforms in (["cuda", "cpu"], ["cpu", "cuda"]):
        plain = hlograph.emit_stablehlo(swapped, spec, platforms=platforms)
        assert "custom_call" not in plain.text
        np.testing.assert_array_equal(plain.interpret(pivots)[0], [2, 1, 3, 0])


def test_library_calls_are_for_their_platform_alone() -> None:
    factors = hlograph.emit_stablehlo(([A], pt.linalg.cholesky(A)), dims={"A": (3, 3)}, platforms=BOTH)
    assert factors.optimize(["device_linalg"]).signature.platforms == ("cpu",)
    with pytest.raises(PassError, match="is for cpu and cuda, not for tpu"):
        factors.optimize(["device_linalg{platform=tpu}"])


def test_files_say_what_can_be_true() -> None:
    factors = hlograph.emit_stablehlo(([A], pt.linalg.cholesky(A)), dims={"A": (3, 3)}, platforms=["cpu"])
    texts = [factors.optimize(["device_linalg"]).text, factors.text, factors.text]
    named = ['["cpu", "tpu"]', '["cdua"]', '["cpu", "cpu"]']
    for text, words, message in zip(texts, named, ("lapack_dpotrf", "cdua", "each once"), strict=True):
        with pytest.raises(ArtifactError, match=message):
            hlograph.Program.parse(text.replace('hlograph.platforms = ["cpu"]', f"hlograph.platforms = {words}"))
    without = squares().with_derivatives(1).text.replace('hlograph.platforms = ["cpu", "cuda"]', "", 1)
    with pytest.raises(HlographError, match="is not the pullback"):
        hlograph.Program.parse(without)
