"""Functions that JAX traces, without what they compute twice: the same numbers, the same effects, fewer equations."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import hlograph
from hlograph.dialects.jax.source import merging, without_duplicates


def names(function: Any, *args: Any) -> list[str]:
    """The primitives of a function without duplicates, those inside loops and branches included."""
    found: list[str] = []

    def walk(jaxpr: Any) -> None:
        for equation in jaxpr.eqns:
            found.append(equation.primitive.name)
            for value in equation.params.values():
                for item in value if isinstance(value, tuple) else (value,):
                    if hasattr(item, "jaxpr"):
                        walk(item.jaxpr)

    walk(without_duplicates(jax.make_jaxpr(function)(*args), {}).jaxpr)
    return found


def test_loops_and_branches_are_gone_through():
    def looped(x: Any) -> Any:
        total = jax.lax.scan(lambda c, y: (c + y / c + y / c, y / c), 1.0, x)[0]
        return jax.lax.cond(total > 0, lambda t: t / 3 + t / 3, lambda t: t / 5 - t / 5, total)

    x = np.array([1.0, 2.0, 3.0], np.float32)
    assert names(looped, x).count("div") == 3
    np.testing.assert_array_equal(merging(looped)(jnp.asarray(x)), looped(x))


def test_what_has_effects_stays():
    def noisy(x: Any) -> Any:
        for _ in range(2):
            jax.debug.print("{}", x)
            x = x + jax.pure_callback(np.asarray, jax.ShapeDtypeStruct((), "float32"), jnp.float32(1))
        u, v = (jax.lax.rng_uniform(0.0, 1.0, ()) for _ in range(2))
        return x + u - v

    found = names(noisy, 1.0)
    assert [found.count(name) for name in ("pure_callback", "rng_uniform")] == [2, 2]
    assert len([name for name in found if name in ("debug_callback", "debug_print")]) == 2


def test_one_key_is_one_draw_and_two_keys_are_two():
    def draws(key: Any) -> Any:
        one, other = jax.random.split(key)
        return jax.random.normal(one) + jax.random.normal(one), jax.random.normal(other)

    key = jax.random.key(3)
    np.testing.assert_array_equal(jnp.stack(merging(draws)(key)), jnp.stack(draws(key)))


class Settings:
    """A static argument: equal by identity, and a pytree by accident."""


jax.tree_util.register_pytree_node(Settings, lambda x: ((), None), lambda _, __: Settings())


def test_static_arguments_closures_and_rules_of_their_own_go_through():
    @jax.custom_vjp
    def hundredfold(x: Any) -> Any:
        return x * 2

    hundredfold.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 100,))
    settings, seen = Settings(), []

    def function(x: Any, how: Any, *, p: Any, name: str = "a") -> Any:
        seen.append(how is settings)
        return {name: hundredfold(x) + jax.checkpoint(jnp.sin)(x) * p["w"] / p["w"]}

    jitted = hlograph.jit(function, static_argnames=("how", "name"))
    value, gradient = jax.value_and_grad(lambda x: jitted(x, settings, p={"w": x * 2}, name="b")["b"])(0.5)
    np.testing.assert_allclose(value, 1 + np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(gradient, 100 + np.cos(0.5), rtol=1e-6)
    assert all(seen)
    outer = jax.grad(lambda y: hlograph.jit(lambda x: x * y + x * y)(2.0))(3.0)
    np.testing.assert_array_equal(outer, 4.0)


def test_weak_types_and_collectives_stay_what_they_are():
    results = jax.eval_shape(merging(lambda x: (1.0, x * 1, 2)), 1.0)
    assert [x.weak_type for x in results] == [True, True, True]
    summed = jax.vmap(hlograph.jit(lambda x: jax.lax.psum(x / 2 + x / 2, "i")), axis_name="i")(np.arange(3.0))
    np.testing.assert_array_equal(summed, [3.0] * 3)


def test_a_factor_of_one_does_not_keep_a_loop_from_being_found():
    factors = np.linspace(0.5, 1.5, 201)
    assert 1.0 in factors

    def unrolled(x: Any) -> Any:
        for factor in factors:
            x = x * float(factor) - jnp.sin(x)
        return x

    stages = hlograph.jit(unrolled, dims={"x": ("n",)}, policy="exact").lower(np.ones(3, np.float32)).stages
    assert stages["roll_loops"].op_counts["stablehlo.while"] == 1
