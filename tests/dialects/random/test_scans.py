"""Draws in the steps of a Scan with one key: made again with JAX alone, step by step."""

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from jax import random
from support import assert_same

import hlograph
from hlograph.errors import UnsupportedGraphError

KEY = random.PRNGKey(3)
s, n, v = pt.dscalar("s"), pt.lscalar("n"), pt.dvector("v")
ONE = pt.constant(np.float64(1))


def generator():
    return pytensor.shared(np.random.default_rng(0), name="rng")


def normal(rng, *parameters, **options):
    """The generator's next state, and the draw."""
    return pt.random.normal(*parameters, rng=rng, **options).owner.outputs


def traces(step, *args, **kwargs):
    return pytensor.scan(step, *args, return_updates=True, **kwargs)[0]


def walk(**options):
    rng = generator()

    def step(x, scale):
        following, e = normal(rng, 0, 1)
        return 0.5 * x + scale * e, {rng: following}

    return traces(step, outputs_info=ONE, non_sequences=s, **options)


ONLY = random.split(KEY, 1)[0]  # of the only generator


def by_hand(key, count, of=lambda key: random.normal(key, (), float)):
    """What each step draws with its part of a key."""
    with jax.enable_x64(True):
        return np.array([of(random.fold_in(key, i)) for i in range(count)])


def walk_by_hand(count, scale):
    x, found = 1.0, []
    for e in by_hand(ONLY, count):
        x = 0.5 * x + scale * e
        found.append(x)
    return np.array(found)


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("count", [0, 1, 9])
def test_the_number_of_steps_does_not_change_them(policy, count):
    wanted = walk_by_hand(count, 0.7)
    assert_same(hlograph.function([s, n], walk(n_steps=n), policy=policy)(KEY, 0.7, count), wanted, rtol=1e-12)
    if count > 1:  # of one step PyTensor makes no loop
        assert_same(hlograph.function([s], walk(n_steps=count), policy=policy)(KEY, 0.7), wanted, rtol=1e-12)


def test_several_draws_a_step():
    rng = generator()

    def step(x):
        rng1, a = normal(rng, 0, 1)
        rng2, b = normal(rng1, x, 2, size=3)
        return x + a + b.sum(), {rng: rng2}

    found = hlograph.function([], traces(step, outputs_info=ONE, n_steps=4))(KEY)
    x, wanted = 1.0, []
    for first, second in zip(
        by_hand(ONLY, 4, lambda key: random.normal(random.split(key)[0], (), float)),
        by_hand(ONLY, 4, lambda key: random.normal(random.split(key)[1], (3,), float)),
        strict=True,
    ):
        x = x + first + (x + 2 * second).sum()
        wanted.append(x)
    assert_same(found, np.array(wanted), rtol=1e-12)


def test_draws_before_in_and_behind_the_loop():
    """A generator that goes through all: each of the three has a subkey, in the order of the walk."""
    rng = generator()
    rng1, before = normal(rng, 0, 1)

    def step(state):
        following, e = normal(state, 0, 1)
        return e, following

    drawn, last = pytensor.scan(step, outputs_info=[None, rng1], n_steps=3, return_updates=False)
    behind = normal(last, 0, 1)[1]
    found = hlograph.function([], [before, drawn, behind])(KEY)
    one, two, three = random.split(KEY, 3)
    with jax.enable_x64(True):
        wanted = [random.normal(one, (), float), by_hand(two, 3), random.normal(three, (), float)]
    for result, expected in zip(found, wanted, strict=True):
        assert_same(result, np.asarray(expected), rtol=1e-12)


def test_a_generator_that_is_only_read_draws_the_same_in_each_step():
    rng = generator()
    drawn = pytensor.scan(
        lambda x, state: x + normal(state, 0, 1)[1],
        outputs_info=ONE,
        non_sequences=rng,
        n_steps=3,
        return_updates=False,
    )
    with jax.enable_x64(True):
        e = random.normal(ONLY, (), float)
        assert_same(hlograph.function([], drawn)(KEY), np.array([1 + e, 1 + 2 * e, 1 + 3 * e]), rtol=1e-12)


def test_two_generators_and_a_sequence():
    first, second = generator(), generator()

    def step(row):
        next_first, a = normal(first, 0, 1)
        next_second, b = normal(second, row, 1)
        return [a, b], {second: next_second, first: next_first}

    a, b = traces(step, sequences=v)
    values = np.array([10.0, 20.0, 30.0])
    found = hlograph.function([v], [a, b])(KEY, values)
    one, two = random.split(KEY, 2)
    for result, expected in zip(found, (by_hand(one, 3), values + by_hand(two, 3)), strict=True):
        assert_same(result, expected, rtol=1e-12)


def test_a_loop_in_a_loop():
    rng = generator()

    def of_row(state):
        def of_column(inner):
            following, e = normal(inner, 0, 1)
            return e, following

        drawn, last = pytensor.scan(of_column, outputs_info=[None, state], n_steps=2, return_updates=False)
        return drawn, last

    drawn, _ = pytensor.scan(of_row, outputs_info=[None, rng], n_steps=3, return_updates=False)
    wanted = by_hand(ONLY, 3, lambda key: by_hand(key, 2))
    assert_same(hlograph.function([], drawn)(KEY), wanted, rtol=1e-12)


def test_derivatives_and_batches_by_jax():
    """Derivatives see the same draws: against differences of two values at the same key."""
    fn = hlograph.function([s], (walk(n_steps=6) ** 2).sum())
    h = 1e-6
    with jax.enable_x64(True):
        slope = jax.grad(fn, argnums=1)(KEY, 0.7)
        np.testing.assert_allclose(slope, (fn(KEY, 0.7 + h) - fn(KEY, 0.7 - h)) / (2 * h), rtol=1e-7)
        keys = random.split(KEY, 3)
        batch = jax.vmap(fn, in_axes=(0, None))(keys, 0.7)
        np.testing.assert_allclose(batch, [fn(key, 0.7) for key in keys], rtol=1e-12)


def test_batches_of_parameters():
    """One key for all elements of a batch: the same random numbers, as `jax.vmap` has it."""
    fn = hlograph.function([s], walk(n_steps=4))
    with jax.enable_x64(True):
        found = jax.vmap(fn, in_axes=(None, 0))(KEY, np.array([0.5, 2.0]))
    wanted = np.stack([walk_by_hand(4, 0.5), walk_by_hand(4, 2.0)])
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_generator_that_is_handed_on_as_it_was_is_refused():
    rng = generator()
    step = lambda x, state: (x + normal(state, 0, 1)[1], state)  # noqa: E731
    drawn, _ = pytensor.scan(step, outputs_info=[ONE, rng], n_steps=3, return_updates=False)
    with pytest.raises(UnsupportedGraphError, match="hands on the generator as it got it; pass it as a non-sequence"):
        hlograph.function([], drawn)


def sums_of_more_and_more(first, last):
    """A state and a trace, of draws of sizes `first`, `first + 1`, ... below `last`."""
    rng = generator()

    def step(size, x):
        following, e = normal(rng, 0, 1, size=(size,))
        return [x[size % 2] + e.sum() + x, e.sum()], {rng: following}

    start = pt.constant(np.array([0.5, 1.0]))
    return traces(step, sequences=pt.arange(first, last), outputs_info=[start, None])


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_steps_that_draw_as_many_numbers_as_a_sequence_says(policy):
    """Written out, they are drawn as in a loop: step `i` with its part of the key."""
    x, states, sums = np.array([0.5, 1.0]), [], []
    with jax.enable_x64(True):
        for i, size in enumerate(range(2, 6)):
            sums.append(np.asarray(random.normal(random.fold_in(ONLY, i), (size,), float)).sum())
            x = x[size % 2] + sums[-1] + x
            states.append(x)
    state, trace = sums_of_more_and_more(2, 6)
    function = hlograph.function([s], [state * s, state[-1] * s, trace * s], policy=policy)
    for found, wanted in zip(function(KEY, 2.0), (np.array(states), states[-1], np.array(sums)), strict=True):
        assert_same(found, 2 * wanted, rtol=1e-12)


def test_a_loop_of_such_steps_without_a_step_and_one_of_open_length():
    state, trace = sums_of_more_and_more(2, 2)
    last = state.owner.inputs[0][-1]  # the buffer, with the initial state in front
    found = hlograph.function([], [last, trace])(KEY)
    assert_same(found[0], np.array([0.5, 1.0]))
    assert_same(found[1], np.zeros(0))
    with pytest.raises(UnsupportedGraphError, match="computed from data"):
        hlograph.function([n], sums_of_more_and_more(2, n)[0])
