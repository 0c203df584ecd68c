"""What a function's Python code asks of sizes under `hlograph.jit`: right as under `jax.jit`, and as few traces."""

import functools
import math
import types
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph import errors
from hlograph.errors import RecompilationWarning

ORDER = (3, 2, 8, 5, 1, 2)  # in calls
LONG = (3, 7, 1290, 2000, 60000, 7)


def vector(n):
    return np.random.default_rng(n).normal(size=n).astype(np.float32)


def assert_same(ours, theirs, arguments, tolerance=1e-5):
    """Values, dtypes, weak types and exceptions."""
    for args in arguments:
        try:
            want = theirs(*args)
        except Exception as error:
            with pytest.raises(type(error)):
                ours(*args)
            continue
        for x, y in zip(jax.tree.leaves(ours(*args)), jax.tree.leaves(want), strict=True):
            assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
            np.testing.assert_allclose(np.asarray(x, complex), np.asarray(y, complex), tolerance, tolerance)


# ---- decisions -------------------------------------------------------------------------------------------------------


def by_match(x):
    match x.shape[0]:
        case 2:
            return x * 2
        case 5 | 7:
            return x.sum()
        case _:
            return -x


def halvings(x):
    n, count = x.shape[0], 0
    while n > 1:
        n //= 2
        count += 1
    return x * count


def pairwise_sum(x):
    n = x.shape[0]
    if n == 1:
        return x[0]
    return pairwise_sum(x[:-1]) + x[-1] if n % 2 else pairwise_sum(x[::2] + x[1::2])


def fft(x):
    n = x.shape[0]
    if n % 2:
        k = jnp.arange(n)
        return jnp.exp(-2j * jnp.pi * k[:, None] * k / n) @ x
    even, odd = fft(x[::2]), fft(x[1::2])
    turned = jnp.exp(-2j * jnp.pi * jnp.arange(n // 2) / n) * odd
    return jnp.concatenate([even + turned, even - turned])


# name: (function, traces for ORDER; a trace per value where there are 5, one for all where only a size differs)
DECISIONS = {
    "in a tuple": (lambda x: x.sum() if x.shape[0] in (2, 5) else -x.mean(), 3),
    "in a set": (lambda x: x.sum() if x.shape[0] in {2, 5} else -x.mean(), 3),
    "remainder": (lambda x: x[::2].sum() if x.shape[0] % 2 else x.max(), 2),
    "dictionary": (lambda x: {2: 2.0, 5: 3.0}.get(x.shape[0], 7.0) * x, 3),
    "order": (lambda x: x[:6] if x.shape[0] > 6 else x * 3, 2),
    "order, float": (lambda x: x + 1 if x.shape[0] <= 2.5 else x, 2),
    "different": (lambda x: x + 1 if x.shape[0] != 5 else x, 2),
    "max": (lambda x: x * max(x.shape[0], 4), 2),
    "truth": (lambda x: x + 1 if x.shape[0] - 1 else x, 2),
    "match": (by_match, 3),
    "for": (lambda x: sum(x[i] * i for i in range(x.shape[0])), 5),
    "while": (halvings, 4),
    "recursion": (pairwise_sum, 5),
    "fft": (fft, None),
    "int": (lambda x: x * int(x.shape[0]), 1),
    "float": (lambda x: x / math.sqrt(x.shape[0]), 1),
    "index": (lambda x: jnp.asarray([1.0] * x.shape[0]) * x, 1),
    "bits": (lambda x: x if x.shape[0] & 1 else -x, 2),
    "text": (lambda x: {"w8": 2.0, "w5": 3.0}.get(f"w{x.shape[0]}", 1.0) * x, 3),
    "cached": (lambda x: x * functools.lru_cache(lambda n: n + 1)(x.shape[0]), 1),
    "numpy": (lambda x: x * np.arange(x.shape[0]) * np.log(x.shape[0]), 5),
    "part of a size": (lambda x: x[: int(x.shape[0] * 0.5) + 1], 3),
    "quarters": (lambda x: x * int(x.shape[0] // 4), 3),  # 1 to 3, 4 to 7, 8
    "divided by a part": (lambda x: x.reshape(-1, x.shape[0] // 3) if x.shape[0] % 3 == 0 else x, None),
    "no decision": (lambda x: (x[: x.shape[0] // 2], jnp.zeros(x.shape[0]), x[None] + x[:, None]), 1),
}


@pytest.mark.sampled(14)
@pytest.mark.parametrize("policy", ["auto", "padded"])
@pytest.mark.parametrize("name", DECISIONS)
def test_decisions_are_those_of_jax_jit(name, policy) -> None:
    function, traces = DECISIONS[name]
    ours = hlograph.jit(function, dims={"x": "n"}, policy=policy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompilationWarning)
        assert_same(ours, jax.jit(function), [(vector(n),) for n in ORDER])
    assert ours.stats.jax_calls == 0
    assert traces is None or ours.stats.traces == traces


def test_a_quotient_of_numbers_made_of_sizes() -> None:
    """Its divisor is 0 for one length, and that is Python's error."""

    def function(x):
        return x * (1.5 / (x.shape[0] - 5.0))

    ours = hlograph.jit(function, dims={"x": "n"})
    assert_same(ours, jax.jit(function), [(vector(n),) for n in (4, 5, 3)])


def test_two_sizes_that_are_equal_are_one() -> None:
    def function(x, y):
        return (x + y).sum() if x.shape[0] == y.shape[0] else x.sum() - y.sum()

    ours = hlograph.jit(function, dims={"x": "n", "y": "m"}, policy="padded")
    assert_same(ours, jax.jit(function), [(vector(n), vector(m)) for n, m in [(3, 4), (4, 4), (9, 2), (7, 7), (5, 6)]])
    equal, different = sorted((f.program.signature for f in ours.functions), key=lambda s: len(s.roots))
    assert [len(s.roots) for s in (equal, different)] == [1, 2]
    assert "n != m" in str(different) or "m != n" in str(different)
    assert ours.stats.compiles == 2


def test_what_jax_asks_is_a_guard_too() -> None:
    """JAX's own functions decide by shapes; where sizes may be equal JAX refuses; under `jax.jit` it adds them."""
    for function in (lambda x, y: x + y, lambda x, y: jnp.array_equal(x, y), lambda x, y: x[:-1].max() + y[0]):
        ours = hlograph.jit(function, dims={"x": "n", "y": "m"})
        calls = [(vector(3), vector(3)), (vector(4), vector(4)), (vector(5), vector(1)), (vector(1), vector(3))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert_same(ours, jax.jit(function), calls)


def test_a_guard_says_where_it_comes_from() -> None:
    def function(x):
        return x.sum() if x.shape[0] == 4 else x[:7] if x.shape[0] > 7 else x

    ours = hlograph.jit(function, dims={"x": "n"})
    ours(vector(4)), ours(vector(5))
    assert ours.stats.traces == 2
    fixed, free = str(hlograph.explain(ours, vector(4))), str(hlograph.explain(ours, vector(5)))
    assert "n == 4  test_size_decisions.py:" in fixed
    assert "n != 4  test_size_decisions.py:" in free
    assert "7 >= n  test_size_decisions.py:" in free
    assert "in function" in free
    assert "7 >= n" in ours.program(vector(6)).text


def test_many_traces_are_said_and_bounded() -> None:
    ours = hlograph.jit(lambda x: x * math.log(x.shape[0]), dims={"x": "n"}, cache_size=4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(1, 12):
            np.testing.assert_array_equal(ours(np.ones(n, np.float32)), np.full(n, math.log(n), np.float32))
    assert len(ours.functions) == 4
    assert ours.stats.traces == 11
    (message,) = [str(w.message) for w in caught if w.category is RecompilationWarning]
    assert "was traced 8 times" in message
    assert "test_size_decisions.py" in message
    assert caught[0].filename == __file__


def test_types_that_jax_compares_to_look_one_up_decide_nothing() -> None:
    """From 0.10 on JAX has each type once, and what it compares with another one to find it depends on hashes."""

    def equal(a, b):
        return a == b

    code = equal.__code__.replace(co_qualname="ShapedArray.__new__")
    look_up, found = types.FunctionType(code, {"__name__": "jax._src.core"}), []
    fast = hlograph.jit(lambda x: (found.append(look_up(x.shape[0], 6)), x * 2)[1], dims={"x": ("n",)})
    for size in (6, 7):
        np.testing.assert_array_equal(fast(np.ones(size)), np.full(size, 2.0))
    assert found == [False]
    assert fast.stats.traces == 1


@pytest.mark.parametrize(
    ("function", "asked"),
    [
        (lambda x: x if x.shape[0] == 4 else -x, "asks whether n == 4"),
        (lambda x: x if x.shape[0] > 4 else -x, "asks whether n > 4"),
        (lambda x: x * int(x.shape[0]), "asks for the value of the size n"),
        (lambda x: x * {4: 1.0}.get(x.shape[0], 2.0), "asks for the value of the size n"),
    ],
)
def test_without_a_call_a_decision_is_refused(function, asked) -> None:
    spec = jax.ShapeDtypeStruct((8,), np.float32)
    with pytest.raises(errors.UnsupportedGraphError, match=rf"test_size_decisions.py:\d+ in <lambda> {asked}"):
        hlograph.emit_stablehlo(function, spec, dims={"x": "n"})


def test_constraints_decide_without_a_call() -> None:
    spec = jax.ShapeDtypeStruct((8,), np.float32)
    for constraint in ("n != 4", "n >= 5"):
        program = hlograph.emit_stablehlo(
            lambda x: x if x.shape[0] == 4 else -x, spec, dims={"x": "n"}, constraints=[constraint]
        )
        assert constraint in str(program.signature)
        with pytest.raises(errors.ArgumentShapeError):
            program.compile()(vector(4))
        np.testing.assert_array_equal(program.compile()(vector(6)), -vector(6))


def test_symbolic_sizes_of_others_are_what_they_were() -> None:
    n, m = jax.export.symbolic_shape("n, m")
    assert n != m
    assert n
    assert len({n, m, n + 0}) == 2
    with pytest.raises(jax.errors.InconclusiveDimensionOperation if hasattr(jax.errors, "Inc") else Exception):
        _ = n > 4
    with pytest.raises(TypeError):
        range(n)
    assert str(n + 1) == f"{n + 1}" == "n + 1"


# ---- numbers ---------------------------------------------------------------------------------------------------------

# name: function; all of x's size alone
NUMBERS = {
    "spearman": lambda x: 6 * x[:1] / (x.shape[0] * (x.shape[0] ** 2 - 1) + 1),
    "power of two": lambda x: x[:1] * 2 ** min(x.shape[0], 40),
    "fourth power": lambda x: x[:1] * (x.shape[0] ** 4 / 24),
    "pairs": lambda x: x[:1] * (x.shape[0] * (x.shape[0] - 1) // 2),
    "reciprocal": lambda x: x[:1] * (1 / x.shape[0]),
    "third": lambda x: x[:1] + x.shape[0] / 3,
    "roots": lambda x: (x[:1] * x.shape[0] ** 0.5, x[:1] * x.shape[0] ** -1, x[:1] / np.sqrt(x.shape[0])),
    "negative": lambda x: x[:1] + (3 - x.shape[0]) // 2 + (2 - x.shape[0]) % 3,
    "results": lambda x: (x.shape[0] / 7, x.shape[0] - 10, 0.5 * x.shape[0] - 3),
    "too large a result": lambda x: x.shape[0] ** 3,
    "narrow": lambda x: (x[:1].astype("int8") * x.shape[0], x[:1].astype("bfloat16") * (x.shape[0] / 3)),
    "numpy's": lambda x: x[:1].astype("float16") * (x.shape[0] * np.float64(0.3)),
    "division by zero": lambda x: x[:1] * (1 / (x.shape[0] - 7)),
    "nested": lambda x: x[:1] * ((0.5 * x.shape[0] + 1.5) / (2 * x.shape[0] + 1) - 0.25),
    "in jax.numpy": lambda x: jnp.where(x[:1] > 0, jnp.sqrt(x.shape[0] / 3), 1 / x.shape[0]),
    "in a list": lambda x: jnp.array([1 / x.shape[0], 2.0, x.shape[0] * 0.5]),
    "in a loop": lambda x: jax.lax.scan(lambda c, y: (c * 0.9 + 1 / x.shape[0], c), 0.5, x[:3]),
    "in a transformation": lambda x: jax.grad(lambda z: (z**2).sum() * (1 / x.shape[0]))(x[:3]),
    "to 1e12": lambda x: x[:1] * ((x.shape[0] ** 2 * 277 + x.shape[0] * 1000007) / 1e5),
    "more than 32 bits": lambda x: jnp.arange(3) * x.shape[0] ** 2,
}


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("policy", "wide"), [("auto", False), ("padded", False), ("padded", True)])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_those_of_jax_jit(name, policy, wide) -> None:
    function = NUMBERS[name]
    ours = hlograph.jit(function, dims={"x": "n"}, policy=policy)
    with warnings.catch_warnings(), jax.enable_x64(wide):
        warnings.simplefilter("ignore", (RecompilationWarning, RuntimeWarning))
        arguments = [(vector(n).astype(float) if wide else vector(n),) for n in LONG]
        assert_same(ours, jax.jit(function), arguments, 4e-16 if wide else 1e-7)


def test_an_overflow_says_what_does_not_fit() -> None:
    ours = hlograph.jit(lambda x: x * (x.shape[0] * (x.shape[0] ** 2 - 1)), dims={"x": "n"})
    with pytest.raises(OverflowError) as caught:
        ours(vector(2000))
    (note,) = [note for note in caught.value.__notes__ if "n = 2000" in note]
    assert "n*n*n - n is 7999998000 for n = 2000" in note
    assert "test_size_decisions.py" in note
    program = ours.program(vector(3))
    with pytest.raises(OverflowError, match="2147483647 >= n"):
        program.compile()(vector(2000))
    np.testing.assert_array_equal(program.compile()(vector(3)), vector(3) * 24)
