"""Programs as `jax.export.Exported`, called by JAX in a process that has no hlograph."""

from pathlib import Path

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from densities import MODELS, logistic_data
from jax import export
from pytensor.raise_op import Assert
from scripts import run_script

import hlograph

CALLER = """
import sys
sys.modules["hlograph"] = None  # importing it would fail
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
exported = jax.export.deserialize(open(sys.argv[1], "rb").read())
for path in sys.argv[2:]:
    X, y, beta = np.load(path).values()
    value, gradient = jax.jit(jax.value_and_grad(lambda b: exported.call(X, y, b)))(beta)
    np.savez(path + ".out.npz", value=value, gradient=gradient)
"""


def logistic_program() -> hlograph.Program:
    inputs, value = MODELS["logistic"].graph()
    return hlograph.emit_stablehlo((inputs, value), dims={"X": ("n", "k")}, rewrite=True, name="logp")


def test_plain_jax_loads_calls_and_differentiates(tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers", reason="JAX serializes with it")
    exported = logistic_program().to_jax_export()
    assert str(exported.in_avals[0]) == "float64[n,k]"
    (tmp_path / "logp.bin").write_bytes(exported.serialize(vjp_order=1))
    lengths = (1, 2, 6)
    paths = [tmp_path / f"in{n}.npz" for n in lengths]
    for n, path in zip(lengths, paths, strict=True):
        X, y, beta = logistic_data(n)
        np.savez(path, X=X, y=y, beta=beta)
    run_script(CALLER, tmp_path / "logp.bin", *paths)
    with jax.enable_x64(True):
        for n in lengths:
            found = np.load(tmp_path / f"in{n}.npz.out.npz")
            value, gradient = jax.jit(jax.value_and_grad(MODELS["logistic"].value, 2))(*logistic_data(n))
            np.testing.assert_allclose(found["value"], value, rtol=1e-12)
            np.testing.assert_allclose(found["gradient"], gradient, rtol=1e-12)


def test_symbols_stand_for_equal_sizes_and_demands() -> None:
    x, y = pt.fvector("x"), pt.fvector("y")
    program = hlograph.emit_stablehlo(([x, y], (x * y)[3]), dims={"x": ("n",), "y": ("m",)})
    exported = program.to_jax_export()
    assert [str(aval) for aval in exported.in_avals] == ["float32[n]", "float32[n]"]
    values = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(exported.call(values, values), 9.0)
    with pytest.raises(ValueError, match="n"):
        exported.call(values, values[:4])
    with pytest.raises(ValueError, match="n >= 4"):
        exported.call(values[:3], values[:3])


@pytest.mark.parametrize("size", [None, 2])
def test_linear_algebra_for_several_platforms(size: int | None) -> None:
    A = pt.dmatrix("A")
    factor = pt.linalg.cholesky(A)
    program = hlograph.emit_stablehlo(([A], [factor, pt.linalg.solve(A, A[0])]), dims={"A": ("n", "n")})
    if size is not None:
        program = program.specialize({"n": size})
    exported = program.to_jax_export(["cpu", "cuda", "tpu"])
    assert exported.platforms == ("cpu", "cuda", "tpu")
    assert "lapack" not in exported.mlir_module()
    value = np.array([[2.0, 0.5], [0.5, 3.0]])
    with jax.enable_x64(True):
        found = exported.call(value)
    np.testing.assert_allclose(found[0], np.linalg.cholesky(value), rtol=1e-14)
    np.testing.assert_allclose(found[1], [1.0, 0.0], atol=1e-14)


def test_a_module_is_exported_for_the_platforms_that_have_its_calls() -> None:
    A = pt.dmatrix("A")
    factored = hlograph.emit_stablehlo(([A], pt.linalg.cholesky(A)), dims={"A": (3, 3)}).optimize(["device_linalg"])
    assert factored.to_jax_export().platforms == ("cpu",)
    eigenvalues = hlograph.emit_stablehlo(([A], list(pt.linalg.eig(A))), dims={"A": ("n", "n")})
    static = eigenvalues.specialize({"n": 3})
    assert static.to_jax_export().platforms == ("cpu",)
    for program, platforms, call in (
        (factored, ["cuda"], r"lapack_dpotrf_ffi \(cpu\)"),
        (factored, ["cpu", "tpu"], r"lapack_dpotrf_ffi \(cpu\)"),
        (static, ["tpu"], r"eig \(cpu and cuda and rocm\)"),
        (static, ["cpu", "cuda"], "one platform at a time"),
        (eigenvalues, None, "specialize"),
    ):
        with pytest.raises(hlograph.errors.UnsupportedGraphError, match=call):
            program.to_jax_export(platforms)
    for names in (["gpu"], []):
        with pytest.raises(hlograph.errors.OptionError, match="platforms"):
            factored.to_jax_export(names)


def test_checks_are_returned_or_dropped_on_request_only() -> None:
    x = pt.fvector("x")
    program = hlograph.emit_stablehlo(([x], Assert("x is negative")(x.sum(), pt.all(x >= 0))))
    with pytest.raises(hlograph.errors.UnsupportedGraphError, match="x is negative"):
        program.to_jax_export()
    values = np.array([1, -1], np.float32)
    total, flags = program.to_jax_export(checks="return").call(values)
    assert (float(total), list(np.asarray(flags))) == (0.0, [False])
    assert float(program.to_jax_export(checks="drop").call(values)) == 0.0


def test_what_jax_cannot_express_is_refused() -> None:
    x, k = pt.fvector("x"), pt.lscalar("k")
    sliced = hlograph.emit_stablehlo(([x, k], x[:k]))
    with pytest.raises(hlograph.errors.UnsupportedGraphError, match=r"\(k\).*specialize"):
        sliced.to_jax_export()
    picked = hlograph.emit_stablehlo(([x], x[x > 0]))
    with pytest.raises(hlograph.errors.UnsupportedGraphError, match="specialize"):
        picked.to_jax_export()
    shared = hlograph.emit_stablehlo(([x], x * pytensor.shared(np.float32(2), name="scale")))
    with pytest.raises(hlograph.errors.UnsupportedGraphError, match="scale"):
        shared.to_jax_export()


def test_a_function_with_one_size_open_and_another_given() -> None:
    X, b = pt.fmatrix("X"), pt.fvector("b")
    function = hlograph.function([X, b], (pt.tanh(X @ b) ** 2).sum())
    (n,) = export.symbolic_shape("n")
    specs = jax.ShapeDtypeStruct((n, 3), np.float32), jax.ShapeDtypeStruct((3,), np.float32)
    exported = export.export(jax.jit(jax.value_and_grad(function, 1)))(*specs)
    values = np.arange(12, dtype=np.float32).reshape(4, 3) / 10, np.array([0.1, -0.2, 0.3], np.float32)
    expected = jax.value_and_grad(lambda x, v: (jax.numpy.tanh(x @ v) ** 2).sum(), 1)(*values)
    for found, wanted in zip(exported.call(*values), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


# Sizes made of n, with every operator that sizes have.
SIZES = {
    "2*n + 1": lambda n: 2 * n + 1,
    "(n + 1)//2": lambda n: (n + 1) // 2,
    "n % 3 + 1": lambda n: n % 3 + 1,
    "3*(n//2)": lambda n: 3 * (n // 2),
    "max(n - 2, 0)": lambda n: max(n - 2, 0),
    "min(n % 4, 2)": lambda n: min(n % 4, 2),
    "max(n//2, 3 - n % 2)": lambda n: max(n // 2, 3 - n % 2),
    "min(n, 7)*max(n, 2)": lambda n: min(n, 7) * max(n, 2),
    "(n*n)//3": lambda n: n * n // 3,
    "((n + 1)//2) % 3": lambda n: (n + 1) // 2 % 3,
    "100//n": lambda n: 100 // n,
    "12 - n": lambda n: 12 - n,
}


def test_sizes_are_said_in_every_operator() -> None:
    x, parts = pt.dvector("x"), [pt.dvector(f"y{number}") for number in range(len(SIZES))]
    dims = {"x": ("n",)} | {part.name: (size,) for part, size in zip(parts, SIZES, strict=True)}
    outputs = [pt.concatenate([x.sum() * part, part]) for part in parts]
    exported = hlograph.emit_stablehlo(([x, *parts], outputs), dims=dims).to_jax_export()
    for n in (1, 2, 5, 12):
        value, others = np.arange(n) + 0.5, [np.arange(size(n)) + 1.0 for size in SIZES.values()]
        with jax.enable_x64(True):
            found = exported.call(value, *others)
        for result, other in zip(found, others, strict=True):
            np.testing.assert_allclose(result, np.concatenate([value.sum() * other, other]), rtol=1e-14)


def test_demands_on_products_and_remainders() -> None:
    x, y, a, b = pt.dmatrix("x"), pt.dmatrix("y"), pt.dtensor4("a"), pt.dmatrix("b")
    solved = hlograph.emit_stablehlo(([a, b], pt.linalg.tensorsolve(a, b))).to_jax_export()
    folded = hlograph.emit_stablehlo(([x, y], x.reshape((4, -1)).sum(0).sum() + x.ravel() * y.ravel())).to_jax_export()
    data = np.random.default_rng(0)
    with jax.enable_x64(True):
        values = data.normal(size=(2, 3, 2, 3)), data.normal(size=(2, 3))
        np.testing.assert_allclose(solved.call(*values), np.linalg.tensorsolve(*values), rtol=1e-8)
        values = data.normal(size=(2, 6)), data.normal(size=(4, 3))
        np.testing.assert_allclose(folded.call(*values), values[0].sum() + values[0].ravel() * values[1].ravel())
        for function, *shapes in (
            (solved, (2, 3, 4, 1), (2, 3)),
            (folded, (2, 6), (4, 4)),
            (folded, (3, 3), (9, 1)),
        ):
            with pytest.raises(ValueError, match=r"constraint|Input shapes"):
                function.call(*map(np.ones, shapes))


def test_sizes_that_jax_cannot_say_are_named() -> None:
    x, rows = pt.dvector("x"), jax.ShapeDtypeStruct(("n",), "float32")
    dotted = hlograph.emit_stablehlo(([x], x * 2), dims={"x": ("a.b",)})
    unequal = hlograph.emit_stablehlo(lambda x: x * 2, rows, constraints=("n != 4",))
    for program, named in ((dotted, "the size a.b of main"), (unequal, "the constraint n != 4 of")):
        with pytest.raises(hlograph.errors.UnsupportedGraphError, match=named):
            program.to_jax_export()
