"""One trace for all lengths of what Python does with a length: right as under `jax.jit`, or it is traced again."""

import math
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax_functions import MODES, cases, verdict

import hlograph
from hlograph import errors
from hlograph.errors import RecompilationWarning

ORDER = (9, 5, 30, 13, 14, 1, 40)
PRIMES = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0]


@jax.custom_jvp
def stepped(x):
    return jnp.round(x * 3)


stepped.defjvp(lambda primals, tangents: (stepped(primals[0]), tangents[0] * 7))


@jax.custom_vjp
def scaled(x):
    return x


scaled.defvjp(lambda x: (x, None), lambda _, cotangent: (cotangent * 5,))

# name: (function, most traces for ORDER); what goes by more than the size itself is traced again, and stays right.
CASES = {
    "data": (lambda x: x * (len(x) ** 2 - 3 * len(x)) + 1 / len(x) + 0.1 * len(x) - 1 / math.sqrt(len(x)), 1),
    "log": (lambda x: x * math.log(len(x)), 7),
    "threshold": (lambda x: x * (2.0 if int(x.shape[0]) > 12 else 3.0), 7),
    "one length": (lambda x: x + len(x) * (5 if len(x) == 13 else 1), 3),
    "a list": (lambda x: x * PRIMES[len(x) % 7], 7),
    "NumPy's arrays": (lambda x: x * np.arange(len(x))[::-1] + np.ones(len(x), "f4"), 2),
    "another array": (lambda x: np.eye(len(x), dtype="f4") @ x, 7),
    "halves": (lambda x: {"a": x[: len(x) // 2], "b": jnp.sort(x)[(len(x) - 1) // 3]}, 3),
    "blocks": (lambda x: jnp.pad(x, (0, -len(x) % 4)).reshape(-1, 4).sum(1) * len(x), 2),
    "scan": (lambda x: lax.scan(lambda c, a: (c * 0.5 + a / len(x), c), 0.0, x)[1], 1),
    "while": (lambda x: lax.while_loop(lambda c: c[0] < len(x), lambda c: (c[0] + 1, c[1] + x.sum()), (0, 0.0))[1], 1),
    "branches": (lambda x: lax.cond(x.sum() > 0, lambda y: y * len(y), lambda y: y - len(y), x), 1),
    "gradient of a loop": (jax.grad(lambda x: lax.fori_loop(0, len(x), lambda i, c: c * 0.9 + x[i] ** 2, 0.0)), 1),
    "own derivatives": (jax.grad(lambda x: (stepped(x) * scaled(x) * len(x)).sum()), 1),
    "results": (lambda x: (len(x), float(len(x)), x), 1),
    "a key": (lambda x: x + jax.random.normal(jax.random.key(len(x)), x.shape), 1),
    "permutation": (lambda x: jax.random.permutation(jax.random.key(3), x), 2),
    "small types": (lambda x: (x.astype(jnp.float16) / len(x), jnp.int8(len(x) % 100) + x.astype(jnp.int8)), 1),
    "a solve": (lambda x: jnp.linalg.solve(jnp.eye(len(x)) * len(x), x), 2),
    "products": (lambda x: jnp.outer(x, x).reshape(len(x) * len(x)) * len(x), 1),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_what_is_made_of_a_length_is_right_for_others(name) -> None:
    function, most = CASES[name]
    ours, theirs = hlograph.jit(function, dims={"x": ("n",)}, policy={"n": 40}), jax.jit(function)
    for n in ORDER:
        x = np.random.default_rng(n).normal(size=n).astype(np.float32)
        for found, wanted in zip(jax.tree.leaves(ours(x)), jax.tree.leaves(theirs(x)), strict=True):
            assert (found.shape, found.dtype, found.weak_type) == (wanted.shape, wanted.dtype, wanted.weak_type)
            np.testing.assert_allclose(np.asarray(found, float), np.asarray(wanted, float), 2e-3, 1e-4)
    assert ours.stats.jax_calls == 0
    assert ours.stats.traces <= most


@pytest.mark.parametrize("name", ["one size", "gradient of a loop", "halves"])
def test_what_leaves_the_function_is_for_the_sizes_given(name) -> None:
    function = CASES[name][0] if name in CASES else lambda x: x * 2 if len(x.shape) == x.shape[0] else x[1:]
    fast = hlograph.jit(function, dims={"x": ("n",)}, policy={"n": 9})
    for n in (1, 4):
        x = np.arange(1.0, n + 1, dtype=np.float32)
        wanted = jax.tree.leaves(function(x))
        found = fast.program(x).compile()(x)
        jax.tree.map(np.testing.assert_allclose, jax.tree.leaves(found), wanted)
        if not fast.traced(x).program.signature.roots:
            found = fast.lower(x).compile()(x)
            jax.tree.map(np.testing.assert_allclose, jax.tree.leaves(found), wanted)


@pytest.mark.parametrize(("dtype", "size"), [("float32", lambda x: x.shape[0]), ("uint8", len)])
def test_the_largest_of_a_size_are_in_the_order_of_jax(dtype, size) -> None:
    def function(x):
        return lax.top_k(x, size(x) - 1), lax.top_k(jnp.stack([x, x[::-1]]), size(x) // 2)[1]

    fast = hlograph.jit(function, dims={"x": ("n",)}, policy={"n": 24})
    for n in (12, 5, 9):
        x = np.random.default_rng(n).integers(0, 5, n).astype(dtype)
        if dtype == "float32":
            x[:4] = np.nan, -0.0, 0.0, -np.nan
        jax.tree.map(np.testing.assert_array_equal, fast(x), jax.jit(function)(x))
    assert fast.stats.traces == 1
    assert not fast.stats.refusals


def test_derivatives_of_a_function_with_rules_of_its_own_go_by_these() -> None:
    fast = hlograph.jit(lambda x: (stepped(x) * scaled(x) * len(x)).sum(), dims={"x": ("n",)}, policy="padded")
    for n in (9, 4):
        x = np.linspace(-1, 1, n, dtype=np.float32)
        fast(x)
        np.testing.assert_allclose(jax.grad(fast)(x), jax.grad(fast.__wrapped__)(x), 1e-5)
    assert fast.stats.traces == 1


def test_two_lengths_are_told_apart() -> None:
    fast = hlograph.jit(lambda x, y: x.sum() * len(y) - y.sum() * len(x) + len(x) * len(y), dims={"x": "n", "y": "m"})
    for n, m in ((5, 5), (8, 3), (3, 8), (20, 11)):
        x, y = np.arange(n, dtype=np.float32), np.ones(m, np.float32)
        np.testing.assert_allclose(fast(x, y), x.sum() * m - m * n + n * m, 1e-5)
    assert fast.stats.traces == 1


def test_a_program_that_is_kept_is_for_its_sizes_alone(tmp_path: Path) -> None:
    """Without the function nothing would say for which others it is right."""
    fast = hlograph.jit(lambda x: x * len(x), dims={"x": ("n",)}, policy="padded")
    for n in (4, 7):
        fast(np.ones(n, np.float32))
    fast.program(np.ones(4, np.float32)).save(tmp_path / "kept.mlir")
    kept = hlograph.load(tmp_path / "kept.mlir").compile()
    np.testing.assert_array_equal(kept(np.ones(4, np.float32)), np.full(4, 4.0))
    with pytest.raises(errors.ArgumentShapeError):
        kept(np.ones(7, np.float32))
    assert fast.stats.traces == 1


def test_a_policy_by_name_holds_where_a_decision_fixes_the_size() -> None:
    fast = hlograph.jit(lambda x: x.sum() if x.shape[0] == 4 else x, dims={"x": ("n",)}, policy={"n": 16})
    assert fast(np.ones(4, np.float32)) == 4.0
    assert fast(np.ones(5, np.float32)).shape == (5,)


@pytest.mark.parametrize(
    ("number", "case"), list(enumerate(cases()))[7::53], ids=lambda value: getattr(value, "name", "")
)
def test_functions_of_jax(number, case) -> None:
    """One in 53; `tests/jax_functions.py` runs all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompilationWarning)
        kind, why = verdict(case, MODES[number % len(MODES)])
    assert kind not in ("wrong", "broken"), why
