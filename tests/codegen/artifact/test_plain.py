"""Plain programs: what they compute in a plugin that knows nothing of ours, what their flags say, what is refused.

Expected values are NumPy's, SciPy's and PyTensor's own. Each executable runs with NaN, great integers and `True` behind
the live sizes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plugin
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.linalg
from pytensor.raise_op import Assert
from support import assert_same

import hlograph
from hlograph.codegen.artifact.programs import to_portable
from hlograph.codegen.passes.xla_bugs import BUGS
from hlograph.errors import OptionError, PaddingError, PassError, UnsupportedGraphError

needs_plugin = pytest.mark.skipif(plugin.library() is None, reason=plugin.MISSING)
Array = np.ndarray[Any, Any]


def program(inputs: list[Any], outputs: list[Any], **dims: Any) -> hlograph.Program:
    return hlograph.emit_stablehlo((inputs, outputs), dims=dims)


# ---- what they compute -------------------------------------------------------------------------------------------


def symmetric(rng: np.random.Generator, n: int) -> Array:
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def eigh(a: Any) -> list[Any]:
    values, vectors = pt.linalg.eigh(a)
    return [values, (vectors * values) @ vectors.T]


def svd(a: Any) -> list[Any]:
    u, s, v = pt.linalg.svd(a, full_matrices=False)
    return [s, (u * s) @ v]


def qr(a: Any) -> list[Any]:
    q, r = pt.linalg.qr(a)
    return [q @ r, pt.triu(r) - r, q.T @ q]


FACTORIZATIONS: dict[str, tuple[Callable[..., list[Any]], Callable[[Array], list[Array]]]] = {
    "eigh": (eigh, lambda a: [np.linalg.eigvalsh(a), a]),
    "svd": (svd, lambda a: [np.linalg.svd(a, compute_uv=False), a]),
    "qr": (qr, lambda a: [a, 0 * a, np.eye(len(a))]),
    "cholesky": (lambda a: [pt.linalg.cholesky(a)], lambda a: [np.linalg.cholesky(a)]),
    "solve": (lambda a: [pt.linalg.solve(a, a[0])], lambda a: [scipy.linalg.solve(a, a[0])]),
    "det": (lambda a: [pt.linalg.slogdet(a)[1]], lambda a: [np.linalg.slogdet(a)[1]]),
}


@needs_plugin
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_factorizations_without_lapack(name: str) -> None:
    """One executable for all sizes, and to 1e-12 what LAPACK gives."""
    graph, expected = FACTORIZATIONS[name]
    a = pt.dmatrix("a")
    compiled = plugin.Compiled(program([a], graph(a), a=("n", "n")).plain(bounds={"n": 12}))
    for n in (1, 2, 7, 12):
        matrix = symmetric(np.random.default_rng(n), n)
        run = compiled.run([matrix], {"n": n})
        for found, wanted in zip(run.results, expected(matrix), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * np.abs(matrix).max())


JAX: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "top_k": (lambda x: jax.lax.top_k(x, 3), ("n",)),
    "cumsum": (jnp.cumsum, ("n",)),
    "sort": (jnp.sort, ("n",)),
    "scan": (lambda x: jax.lax.scan(lambda c, v: (0.5 * c + v, c), 0.0, x), ("n",)),
    "cholesky": (jnp.linalg.cholesky, ("n", "n")),
    "erfinv": (lambda x: jax.scipy.special.erfinv(x / 10), ("n",)),
    "product": (lambda x: x @ jnp.flip(x, 0) + x.shape[0], ("n", "n")),
}


@needs_plugin
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", JAX)
def test_functions_of_jax_in_a_plugin(name: str) -> None:
    function, dims = JAX[name]
    emitted = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct(dims, "float32"), constraints=["n >= 3"])
    compiled = plugin.Compiled(emitted.plain(bounds={"n": 9}))
    for n in (3, 5, 9):
        x = np.random.default_rng(n).normal(size=(n,) * len(dims)).astype("float32")
        x = x @ x.T + np.eye(n, dtype="float32") if x.ndim == 2 else x
        run = compiled.run([x], {"n": n})
        assert not run.failed
        for found, wanted in zip(run.results, jax.tree.leaves(function(x)), strict=True):
            assert_same(found, np.asarray(wanted), rtol=1e-5)


@needs_plugin
def test_one_executable_for_all_sizes_and_a_plain_file_is_a_program() -> None:
    x, k = pt.dvector("x"), pt.lscalar("k")
    small = x[x < 0.5]
    plain = program([x, k], [pt.arange(k) * x.sum(), small], x=("n",)).plain(
        bounds={"n": 8, "k": 5, **dict.fromkeys(("nonzero_0",), 8)}
    )
    compiled = plugin.Compiled(plain)
    text = hlograph.Program.parse(plain.text)
    for n, count in ((0, 0), (1, 5), (5, 3), (8, -2)):
        values = np.random.default_rng(n).uniform(size=n)
        wanted = [np.arange(count) * values.sum(), values[values < 0.5]]
        run = compiled.run([values, np.int64(count)], {"n": n, "k": count})
        assert not run.failed
        for found, expected in zip(run.results, wanted, strict=True):
            np.testing.assert_allclose(found, expected)
        padded = np.zeros(8)
        padded[:n] = values
        again = text.interpret(padded, np.int64(count), np.int32(n))
        np.testing.assert_allclose(again[0][: max(count, 0)], wanted[0])


def test_padding_that_is_zero_saves_masks() -> None:
    x, y = pt.dmatrix("x"), pt.dvector("y")
    emitted = program([x, y], [x.T @ y], x=("n", 3), y=("n",))
    masks = [emitted.plain(bounds={"n": 6}, padding=kind).text.count("stablehlo.select") for kind in ("any", "zero")]
    assert masks[0] > masks[1]
    assert emitted.plain(bounds={"n": 6}, padding="zero").describe()["padding"] == "zero"


# ---- flags -------------------------------------------------------------------------------------------------------


def failed(plain: hlograph.Program, *arrays: Any) -> list[str]:
    """The messages of the flags that are down, by the reference interpreter on the module as a plugin gets it."""
    from hlograph.codegen.ir.modules import reference_eval

    module = plain.optimize(["chlo-legalize-to-stablehlo"]).copy_module()
    *_, found = reference_eval(module, [np.asarray(x) for x in arrays])
    return [check.message for check, flag in zip(plain.signature.checks, found, strict=True) if flag <= 0]


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 6, 7])
def test_sizes_are_checked_by_the_module(n: int) -> None:
    """`x[1]` needs two elements, and the bound is six."""
    x = pt.dvector("x")
    plain = program([x], [x[1]], x=("n",)).plain(bounds={"n": 6})
    messages = failed(plain, np.ones(6), np.int32(n))
    assert bool(messages) == (n not in range(2, 7)), messages
    assert all("n" in message for message in messages)


def test_sizes_that_are_tied_are_checked() -> None:
    """Sizes that other sizes decide by floors stay arguments, and a flag says whether they fit."""
    x, y = pt.dvector("x"), pt.dvector("y")
    plain = program([x, y], [x[::2] + y[::3]], x=("n",), y=("m",)).plain(bounds={"n": 8, "m": 12})
    assert {argument.size for argument in plain.signature.arguments} >= {"n", "m"}
    for n, m in ((4, 6), (4, 5), (3, 5), (8, 12)):
        assert not failed(plain, np.ones(8), np.ones(12), np.int32(n), np.int32(m))
    for n, m in ((4, 7), (5, 6), (0, 1)):
        assert failed(plain, np.ones(8), np.ones(12), np.int32(n), np.int32(m))


def test_a_value_that_was_put_in_is_checked() -> None:
    k = pt.lscalar("k")
    emitted = program([k], [pt.arange(k)])
    exact = emitted.plain(sizes={"k": 3})
    assert not failed(exact, np.int64(3))
    assert failed(exact, np.int64(4))
    bounded = emitted.plain(bounds={"k": 3})
    assert [bool(failed(bounded, np.int64(value))) for value in (-4, -3, 0, 3, 4)] == [True, False, False, False, True]


def test_the_programs_own_checks_come_first_also_those_in_loops() -> None:
    x = pt.dvector("x")

    def step(v: Any, total: Any) -> Any:
        return Assert("negative")(total + v, v >= 0)

    total = pytensor.scan(step, [x], pt.zeros(()), return_updates=False)[-1]
    plain = program([x], [total], x=("n",)).plain(bounds={"n": 4})
    assert plain.signature.checks[0].message == "negative"
    assert not failed(plain, np.array([1.0, 2, -7, -7]), np.int32(2))
    assert failed(plain, np.array([1.0, 2, -7, 1]), np.int32(3)) == ["negative"]
    assert failed(plain, np.ones(4), np.int32(5)) == ["4 >= n must hold: its bound"]


def test_a_size_from_data_above_its_bound_is_flagged() -> None:
    x = pt.dvector("x")
    emitted = program([x], [x[x > 0]], x=("n",))
    (count,) = emitted.signature.counts
    plain = emitted.plain(bounds={"n": 6, count.name: 2})
    assert not failed(plain, np.array([1.0, -1, 2, -1, -1, -1]), np.int32(6))
    assert failed(plain, np.array([1.0, -1, 2, 3, -1, -1]), np.int32(6)) == [f"2 >= {count.name} must hold: its bound"]


# ---- what they are -----------------------------------------------------------------------------------------------


def test_what_is_said_of_them_is_in_the_order_of_the_module() -> None:
    x, y = pt.dmatrix("x"), pt.fvector("y")
    plain = program([x, y], [x.sum(0), y > 0], x=("n", 3), y=("m",)).plain(bounds={"n": 6, "m": 4})
    described = json.loads(json.dumps(plain.describe()))
    assert [(x["name"], x["shape"], x.get("live")) for x in described["arguments"]] == [
        *[("x", [6, 3], ["n", 3]), ("y", [4], ["m"]), ("n", [], None), ("m", [], None)]
    ]
    assert [x["dtype"] for x in described["arguments"]] == ["float64", "float32", "int32", "int32"]
    assert [(x["dtype"], x.get("is")) for x in described["results"]] == [
        *[("float64", None), ("bool", None), ("bool", "flags")]
    ]
    assert described["results"][-1]["shape"] == [len(described["checks"])]
    assert hlograph.Program.parse(to_portable(plain)).describe() == described


def test_nothing_of_ours_is_inside() -> None:
    """Neither CHLO nor calls, and attributes of ours on the function alone."""
    x, a = pt.dvector("x"), pt.dmatrix("a")
    outputs = [pt.gammaln(x).sum(), pt.linalg.eigh(a)[0], pt.nonzero(x)[0], pt.erfinv(x)]
    plain = program([x, a], outputs, x=("n",), a=("n", "n")).plain(bounds={"n": 4})
    _, _, body = plain.text.partition("func.func public @main")[2].partition(" {\n")
    assert "chlo." not in body
    assert "custom_call" not in body
    assert not [line for line in body.splitlines() if "hlograph." in line and "func.func" not in line]


def test_no_fault_of_xla_is_left() -> None:
    """Of another release of it, too: a plugin has its own."""

    def function(count: Any, x: Any) -> Any:
        count, x = jax.lax.while_loop(lambda c: c[0] < 50, lambda c: (c[0] + c[0], c[1] * 2), (count, x))
        return count, jax.lax.reduce(x, np.int32(3), jax.lax.add, (0,)), jnp.max(x)

    given = hlograph.emit_stablehlo(function, i32 := jax.ShapeDtypeStruct((), "int32"), i32.update(shape=(4096,)))
    made = given.plain()
    assert [bug.name for bug in BUGS if given.find(bug.endangered)] == ["doubled_counters", "cpu_initial"]
    assert not [bug.name for bug in BUGS if made.find(bug.endangered)]
    for found, wanted in zip(
        made.interpret(np.int32(1), np.ones(4096, np.int32)), (64, 4096 * 64 + 3, 64), strict=True
    ):
        assert found == wanted


def test_refusals_say_what_and_what_to_do() -> None:
    x, a, k = pt.dvector("x"), pt.dmatrix("a"), pt.lscalar("k")
    emitted = program([x], [x * 2], x=("n",))
    for options, error, words in (
        ({}, PassError, r"no bound is given for n; .*bounds=\{'n': 1000\}"),
        ({"bounds": {"m": 3}}, PassError, "'m'.*its sizes: n"),
        ({"bounds": {"n": 3}, "sizes": {"n": 3}}, OptionError, "n has a size and a bound"),
        ({"bounds": {"n": 3}, "padding": "ones"}, OptionError, '"any" or "zero"'),
    ):
        with pytest.raises(error, match=words):
            emitted.plain(**options)
    with pytest.raises(PassError, match="dynamic sizes"):
        emitted.describe()
    with pytest.raises(UnsupportedGraphError, match="it has eig"):
        program([a], list(pt.linalg.eig(a)), a=("n", "n")).plain(sizes={"n": 3})
    with pytest.raises(PaddingError, match="eig"):
        program([a], list(pt.linalg.eig(a)), a=("n", "n")).plain(bounds={"n": 3})
    repeated = program([x, k], [pt.repeat(x, pt.cast(x, "int64"))], x=("n",))
    (count,) = repeated.signature.counts
    with pytest.raises(PassError, match=f"{count.name} is computed from data and has no bound"):
        repeated.plain(bounds={"n": 3})
