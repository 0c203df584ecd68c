"""Large arrays that JAX functions close over: they leave the module, and the function stays what it was."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.codegen.ir.values import constants
from hlograph.errors import GraphError

LIMIT = 128
W = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32) / 4
V = jnp.asarray(W.T * 2)
HALF = jnp.asarray(W, jnp.bfloat16)
NUMBERS = np.arange(64, dtype=np.int32).reshape(8, 8)
KEY = jax.random.key(3)


def _straight(x: Any) -> Any:
    return {"a": jnp.tanh(x @ W).sum(), "b": x @ V + x @ V * 2}


def _jitted_inside(x: Any) -> Any:
    inner = jax.jit(lambda z: z @ V + z @ HALF.astype(jnp.float32))
    return jnp.tanh(jax.jit(lambda z: inner(z) * inner(2 * z) + z @ W)(x))


def _loops(x: Any) -> Any:
    x, sums = jax.lax.scan(lambda c, _: (jnp.tanh(c @ W), (c @ V).sum()), x, None, length=3)
    return jax.lax.cond(sums.sum() > 0, lambda y: y @ V, lambda y: y @ W, x)


@jax.custom_jvp
def _odd(x: Any) -> Any:
    return x @ W


_odd.defjvp(lambda primals, tangents: (_odd(*primals), 3 * tangents[0] @ V))


def _own_rule(x: Any) -> Any:
    return jnp.sin(_odd(x))


def _whole_numbers_and_keys(x: Any) -> Any:
    return x @ NUMBERS.astype(np.float32) + x[:, :1] * NUMBERS[0] + (x @ jnp.asarray(NUMBERS)) + jax.random.normal(KEY)


FUNCTIONS = {
    _straight: 2,
    jax.jit(_straight): 2,
    _jitted_inside: 3,
    _loops: 2,
    _own_rule: 1,
    _whole_numbers_and_keys: 2,
}


def _leaves(found: Any) -> list[np.ndarray]:
    return [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(found)]


def _total(found: Any) -> Any:
    return sum((leaf * leaf).sum() for leaf in jax.tree.leaves(found))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_are_what_they_were(function: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(3, 8)).astype(np.float32)
    spec = jax.ShapeDtypeStruct(("n", 8), "float32")
    program = hlograph.emit_stablehlo(function, spec, parameter_limit=LIMIT)
    assert sum(bool(argument.parameter) for argument in program.signature.arguments) == FUNCTIONS[function]
    assert all(size < LIMIT for _, size, _ in program.find(constants))
    wanted, gradient = _leaves(jax.jit(function)(x)), jax.jit(jax.grad(lambda x: _total(function(x))))(x)
    loaded = hlograph.load(program.save(tmp_path / "m.mlirbc", parameters=True, parameter_limit=LIMIT, derivatives=1))
    assert loaded.pullback is not None
    assert all(size < LIMIT for each in (loaded, loaded.pullback.program) for _, size, _ in each.find(constants))
    for each in (program, loaded):
        fn = each.compile()
        for mine, theirs in zip(_leaves(fn(x)), wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(jax.grad(lambda x: _total(fn(x)))(x), gradient, rtol=2e-4, atol=2e-4)  # noqa: B023
    twice = jax.vmap(program.compile())(np.stack([x, -x]))
    for mine, theirs in zip(_leaves(twice), _leaves(jax.jit(jax.vmap(function))(np.stack([x, -x]))), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)


def test_jaxprs_have_parameters_too() -> None:
    x = np.ones((3, 8), np.float32)
    program = hlograph.emit_stablehlo(jax.make_jaxpr(_straight)(x), parameter_limit=LIMIT)
    assert len(program.bindings) == 2
    for mine, theirs in zip(program.compile()(x), _leaves(_straight(x)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_arrays_are_not_copied_and_not_taken_when_they_were_changed() -> None:
    array = W.copy()
    spec = jax.ShapeDtypeStruct((8,), "float32")
    programs = [hlograph.emit_stablehlo(lambda x: x @ array, spec, parameter_limit=LIMIT) for _ in range(2)]
    assert all(np.shares_memory(program.bindings[1].array, array) for program in programs)
    used = programs[0].compile()
    before = used(np.ones(8, np.float32))
    array += 1
    with pytest.raises(GraphError, match="was written to"):
        programs[1].compile()(np.ones(8, np.float32))
    np.testing.assert_array_equal(used(np.ones(8, np.float32)), before)


def test_what_is_small_or_stays_in_a_loop_is_a_constant() -> None:
    def function(x: Any) -> Any:
        inner = jax.jit(lambda c: c @ W)
        return jax.lax.scan(lambda c, _: (inner(c), None), x, None, length=2)[0]

    x = np.ones((2, 8), np.float32)
    for limit in (LIMIT, 1 << 20):
        program = hlograph.emit_stablehlo(
            function if limit == LIMIT else _straight, jax.ShapeDtypeStruct((2, 8), "float32"), parameter_limit=limit
        )
        theirs = function(x) if limit == LIMIT else _straight(x)
        for mine, wanted in zip(program.interpret(x), _leaves(theirs), strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-5)
    assert not program.bindings
