"""Random variables: each draw is `jax.random`'s, by hand, for the subkey that docs/reference/random.md promises."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.stats
from jax import random
from pytensor.tensor.random import basic
from pytensor.tensor.random.basic import ChoiceWithoutReplacement, PermutationRV
from pytensor.tensor.random.op import RandomVariable
from support import NIGHTLY, PaddingRefusedWarning, assert_same, with_key

import hlograph
from hlograph.dialects.frontend import emit_graph
from hlograph.dialects.random import samplers
from hlograph.errors import ArgumentShapeError, UnsupportedOpError

KEY = np.array([17, 4711], np.uint32)


@pytest.fixture(scope="module", autouse=True)
def quick_compilation():
    """The samplers take XLA seconds with all optimizations, here and by hand."""
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


def rv(name, *parameters, **options):
    """A random variable with a generator of its own."""
    options.setdefault("rng", pytensor.shared(np.random.default_rng(0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(basic, name)(*parameters, **options)


def subkey(key=KEY, place=0, count=1):
    """What the program splits off for one of its random variables."""
    return random.split(random.wrap_key_data(jnp.asarray(key), impl="threefry2x32"), count)[place]


def by_hand(function, *arguments):
    with jax.enable_x64(True):
        return np.asarray(function(*arguments))


def poisson_gamma(k, n, p, shape):
    first, second = random.split(k)
    return random.poisson(second, random.gamma(first, n, shape, np.float64) * ((1 - p) / p), shape, np.int64)


def beta_binomial(k, n, a, b, shape):
    first, second = random.split(k)
    return random.binomial(second, n * 1.0, random.beta(first, a, b, shape, np.float64), shape, np.float64)


HALF = jnp.float64
# Name -> (parameters, the draw by hand from a key, the parameters and the shape without core axes).
CASES = {
    "normal": ((1.5, 2.0), lambda k, m, s, n: m + s * random.normal(k, n, HALF)),
    "uniform": ((-1.0, 3.0), lambda k, a, b, n: random.uniform(k, n, HALF, a, b)),
    "halfnormal": ((0.5, 2.0), lambda k, m, s, n: m + s * abs(random.normal(k, n, HALF))),
    "halfcauchy": ((0.5, 2.0), lambda k, m, s, n: m + s * abs(random.cauchy(k, n, HALF))),
    "cauchy": ((0.5, 2.0), lambda k, m, s, n: m + s * random.cauchy(k, n, HALF)),
    "gumbel": ((0.5, 2.0), lambda k, m, s, n: m + s * random.gumbel(k, n, HALF)),
    "laplace": ((0.5, 2.0), lambda k, m, s, n: m + s * random.laplace(k, n, HALF)),
    "logistic": ((0.5, 2.0), lambda k, m, s, n: m + s * random.logistic(k, n, HALF)),
    "lognormal": ((0.5, 0.7), lambda k, m, s, n: jnp.exp(m + s * random.normal(k, n, HALF))),
    "exponential": ((2.5,), lambda k, s, n: s * random.exponential(k, n, HALF)),
    "gamma": ((2.5, 0.5), lambda k, a, b, n: random.gamma(k, a, n, HALF) / b),
    "chisquare": ((3.5,), lambda k, df, n: 2 * random.gamma(k, df / 2, n, HALF)),
    "rayleigh": ((1.5,), lambda k, s, n: s * jnp.sqrt(2 * random.gamma(k, 1.0 * jnp.ones_like(s), n, HALF))),
    "invgamma": ((2.5, 0.5), lambda k, a, b, n: b / random.gamma(k, a, n, HALF)),
    "gengamma": ((1.2, 0.8, 2.0), lambda k, a, p, s, n: s * random.gamma(k, a / p, n, HALF) ** (1 / p)),
    "beta": ((2.0, 3.0), lambda k, a, b, n: random.beta(k, a, b, n, HALF)),
    "t": ((5.0, 0.5, 2.0), lambda k, df, m, s, n: m + s * random.t(k, df, n, HALF)),
    "pareto": ((3.5, 2.0), lambda k, b, s, n: s * random.pareto(k, b, n, HALF)),
    "weibull": ((1.5,), lambda k, a, n: random.weibull_min(k, 1.0, a, n, HALF)),
    "wald": ((1.5, 2.0), lambda k, m, s, n: s * random.wald(k, m / s, n, HALF)),
    "triangular": ((-1.0, 0.5, 2.0), lambda k, a, b, c, n: random.triangular(k, a, b, c, n, HALF)),
    "truncexpon": (
        (1.5, 0.5, 2.0),
        lambda k, b, m, s, n: m - s * jnp.log1p(-(1 - jnp.exp(-b)) * random.uniform(k, n, HALF)),
    ),
    "bernoulli": ((0.3,), lambda k, p, n: random.bernoulli(k, p, n).astype(np.int64)),
    "poisson": ((3.5,), lambda k, rate, n: random.poisson(k, rate, n, np.int64)),
    "geometric": ((0.3,), lambda k, p, n: random.geometric(k, p, n, np.int64)),
    "binomial": ((9, 0.3), lambda k, m, p, n: random.binomial(k, m * 1.0, p, n, HALF).astype(np.int64)),
    "negative_binomial": ((4, 0.3), poisson_gamma),
    "betabinom": ((9, 2.0, 3.0), lambda k, m, a, b, n: beta_binomial(k, m, a, b, n).astype(np.int64)),
    "integers": ((-3, 7), lambda k, a, b, n: random.randint(k, n, a, b, np.int64)),
    "vonmises": (
        (0.5, 2.5),
        lambda k, m, kappa, n: jnp.mod(m + samplers.vonmises(k, kappa, n) + np.pi, 2 * np.pi) - np.pi,
    ),
    "hypergeometric": (
        (40, 30, 25),
        lambda k, good, bad, m, n: samplers.hypergeometric(k, good, bad, m, n).astype(np.int64),
    ),
    "categorical": ((np.array([0.2, 0.5, 0.3]),), lambda k, p, n: random.categorical(k, jnp.log(p), shape=n)),
    "multivariate_normal": (
        (np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])),
        lambda k, m, c, n: random.multivariate_normal(k, m, c, n, HALF),
    ),
    "dirichlet": ((np.array([0.5, 2.0, 1.0]),), lambda k, a, n: random.dirichlet(k, a, n, HALF)),
    "multinomial": (
        (9, np.array([0.2, 0.5, 0.3])),
        lambda k, m, p, n: random.multinomial(k, jnp.full(n, m * 1.0), jnp.broadcast_to(p, (*n, 3)), dtype=HALF).astype(
            np.int64
        ),
    ),
}


def some_of(*names):
    """These cases, which differ in kind; every night all of them: XLA takes seconds for a sampler with loops."""
    return pytest.mark.parametrize("name", list(CASES) if NIGHTLY else names)


LOOPS = ("vonmises", "hypergeometric", "chisquare", "rayleigh", "invgamma", "gengamma", "beta", "t")
LOOPS += ("negative_binomial", "betabinom")
VECTORS = ("dirichlet", "multinomial")


def arguments(name):
    """A parameter's array and an input for it."""
    parameters, hand = CASES[name]
    arrays = [np.asarray(p) for p in parameters]
    inputs = [pt.tensor(f"p{i}", shape=x.shape, dtype=x.dtype) for i, x in enumerate(arrays)]
    if name == "gamma":
        return inputs, arrays, hand, lambda *p, **options: rv(name, p[0], rate=p[1], **options)
    return inputs, arrays, hand, lambda *p, **options: rv(name, *p, **options)


@pytest.mark.sampled(8)
@some_of(*(name for name in CASES if name not in LOOPS + VECTORS))
def test_a_draw_is_that_of_jax(name):
    inputs, arrays, hand, make = arguments(name)
    n = pt.lscalar("n")
    compiled = hlograph.emit_stablehlo(([n, *inputs], make(*inputs, size=(n,)))).compile()
    assert_same(compiled(KEY, 3, *arrays), by_hand(hand, subkey(), *arrays, (3,)), rtol=1e-13, atol=1e-14)


@some_of("normal", "categorical")
def test_sizes(name):
    """None, a constant, and one that the call decides: 0 and 1 are ordinary."""
    inputs, arrays, hand, make = arguments(name)
    n = pt.lscalar("n")
    outputs = [make(*inputs), make(*inputs, size=(2, 3)), make(*inputs, size=(n, 2))]
    compiled = hlograph.emit_stablehlo(([n, *inputs], outputs)).compile()
    for size in (0, 1):
        shapes = [(), (2, 3), (size, 2)]
        for place, (found, shape) in enumerate(zip(compiled(KEY, size, *arrays), shapes, strict=True)):
            wanted = by_hand(hand, subkey(place=place, count=3), *arrays, shape)
            assert_same(found, wanted, rtol=1e-13, atol=1e-14, label=f"size {shape}")


@pytest.mark.sampled(8)
@some_of("normal", "bernoulli", "gamma")
def test_batches_of_keys_and_parameters(name):
    """Each element is the draw that it is alone, and one key means the same random numbers for all elements."""
    inputs, arrays, hand, make = arguments(name)
    fn = hlograph.function(inputs, make(*inputs, size=(2,)))
    batch = 3
    key_values = np.arange(2 * batch, dtype=np.uint32).reshape(batch, 2)
    row = np.arange(1, batch + 1).reshape(-1, *[1] * arrays[0].ndim)
    # Chances that add up to 1 are only put in another order.
    values = np.stack([np.roll(arrays[0], i) for i in range(batch)]) if arrays[0].ndim else arrays[0] / row
    values = values.astype(arrays[0].dtype)

    def alone(key, *parameters):
        return hand(subkey(key), *parameters, (2,))

    fixed = (None,) * len(arrays[1:])
    axes = [(0, None, *fixed), (0, 0, *fixed), (None, 0, *fixed)]
    given = [(key_values, arrays[0]), (key_values, values), (KEY, values)]
    for in_axes, pair in zip(axes, given, strict=True):
        with jax.enable_x64(True):
            result = jax.vmap(fn, in_axes)(*pair, *arrays[1:])
        wanted = [
            by_hand(
                alone, *(x if axis is None else x[i] for x, axis in zip((*pair, *arrays[1:]), in_axes, strict=True))
            )
            for i in range(batch)
        ]
        assert_same(result, np.stack(wanted), rtol=1e-13, atol=1e-14, label=str(in_axes))


def test_float32_is_drawn_in_float32():
    samplers = {
        "normal": lambda k: 1.5 + 2 * random.normal(k, (3,), np.float32),
        "halfcauchy": lambda k: 0.5 + 2 * abs(random.cauchy(k, (3,), np.float32)),
        "uniform": lambda k: random.uniform(k, (3,), np.float32, -1.0, 3.0),
        "exponential": lambda k: 2.5 * random.exponential(k, (3,), np.float32),
    }
    draws = [rv(name, *CASES[name][0], size=(3,), dtype="float32") for name in samplers]
    found = hlograph.emit_stablehlo(([], draws)).compile()(KEY)
    for place, (sampler, draw) in enumerate(zip(samplers.values(), found, strict=True)):
        wanted = np.asarray(sampler(subkey(place=place, count=len(samplers))))
        assert_same(draw, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.sampled(4)
@some_of("normal", "gamma")
def test_padding_does_not_change_a_draw(name):
    """Each random number depends on its place as counted with the true sizes."""
    inputs, arrays, _, make = arguments(name)
    n = pt.lscalar("n")
    program = hlograph.emit_stablehlo(([n, *inputs], make(*inputs, size=(n, 2))))
    exact = program.compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PaddingRefusedWarning)
        padded = program.compile(policy="padded")
        for size in (0, 1, 3):
            found, wanted = padded(KEY, size, *arrays), exact(KEY, size, *arrays)
            assert_same(found, np.asarray(wanted), rtol=1e-13, atol=1e-14, label=f"size {size}")


def test_sizes_from_parameters():
    """Without `size`, the draw has the shape that the parameters broadcast to."""
    a, b = pt.dmatrix("a"), pt.dvector("b")
    draw = rv("normal", a, b)
    values = np.arange(6.0).reshape(2, 3), np.array([1.0, 0.0, 2.0])
    with jax.enable_x64(True):
        wanted = values[0] + values[1] * np.asarray(random.normal(subkey(), (2, 3), np.float64))
    for dims in ({}, {"a": (2, 3)}, {"a": ("n", 3)}):
        found = hlograph.emit_stablehlo(([a, b], draw), dims=dims).compile()(KEY, *values)
        assert_same(found, wanted, rtol=1e-14, atol=0.0)


@pytest.mark.parametrize("name", ["categorical", "multivariate_normal", "multinomial"])
def test_open_core_sizes(name):
    """The parameters' own axes may be symbolic too, padded or not."""
    _, arrays, hand, make = arguments(name)
    inputs = [pt.tensor(f"p{i}", shape=(None,) * x.ndim, dtype=x.dtype) for i, x in enumerate(arrays)]
    program = hlograph.emit_stablehlo((inputs, make(*inputs, size=(4,))))
    wanted = by_hand(hand, subkey(), *arrays, (4,))
    for policy in ("exact", "padded"):
        assert_same(program.compile(policy=policy)(KEY, *arrays), wanted, rtol=1e-13, atol=1e-14, label=policy)


CONCENTRATIONS = [1e-9, 1e-4, 0.3, 4.0, 300.0, 1e5, 1e8]
URNS = [(5, 4, 3), (0, 7, 4), (7, 0, 4), (12, 30, 11), (30, 12, 31), (500, 3000, 900), (100_000, 40_000, 70_000)]
URNS += [(3, 2, 5)]


def test_laws_of_the_samplers_by_rejection():
    """Kolmogorov and Smirnov's test, and a chi-square test, against SciPy's laws; padding changes no draw."""
    count = 5_000
    kappa, good, bad, drawn = (pt.dvector("kappa"), *(pt.lvector(name) for name in ("good", "bad", "drawn")))
    size = pt.lscalar("size")
    draws = [
        rv("vonmises", 3.0, kappa[:, None], size=(kappa.shape[0], size)),
        rv("hypergeometric", *(x[:, None] for x in (good, bad, drawn)), size=(good.shape[0], size)),
    ]
    program = hlograph.emit_stablehlo(([kappa, good, bad, drawn, size], draws))
    urns = np.array(URNS).T
    angles, counts = program.compile(policy="exact")(KEY, np.array(CONCENTRATIONS), *urns, count)
    padded = program.compile(policy="padded")(KEY, np.array(CONCENTRATIONS), *urns, count)
    assert_same(padded[0], np.asarray(angles), rtol=1e-12)
    assert_same(padded[1], np.asarray(counts))
    for concentration, row in zip(CONCENTRATIONS, np.asarray(angles), strict=True):
        assert np.all(abs(row) <= np.pi)
        turned = (row - 3 + np.pi) % (2 * np.pi) - np.pi
        law = scipy.stats.vonmises(concentration) if concentration >= 1e-4 else scipy.stats.uniform(-np.pi, 2 * np.pi)
        assert scipy.stats.kstest(turned, law.cdf).pvalue > 1e-4, concentration
    for (a, b, m), row in zip(URNS, np.asarray(counts), strict=True):
        law = scipy.stats.hypergeom(a + b, a, m)
        edges = np.unique(law.ppf(np.linspace(0, 1, 21)[1:]))
        wanted = np.diff([0, *law.cdf(edges[:-1]), 1]) * count
        found = np.bincount(np.searchsorted(edges, row), minlength=len(edges))
        assert law.support()[0] <= row.min() <= row.max() <= law.support()[1]
        assert len(edges) == 1 or scipy.stats.chisquare(found, wanted).pvalue > 1e-4, (a, b, m)


def test_batches_of_permutations_and_choices():
    """Made by hand, as PyTensor's vectorization makes them."""
    x = np.arange(30).reshape(5, 3, 2)
    permuted = PermutationRV(signature="(a,b)->(a,b)", dtype="int64")
    chosen = ChoiceWithoutReplacement(signature="(a,b),(1)->(s,b)", dtype="int64")
    weighted = ChoiceWithoutReplacement(signature="(),(a),(2)->(s,t)", dtype="int64")
    chances = np.array([[0.5, 0, 0.2, 0, 0.3, 0], [0, 0.5, 0, 0.2, 0, 0.3]])
    draws = [permuted(x), permuted(x, size=(4, 5)), chosen(x, (2,)), weighted(6, chances, (3, 1))]
    orders, more, pairs, places = map(np.asarray, hlograph.emit_stablehlo(([], draws)).compile()(KEY))
    for order in (orders, *more):
        np.testing.assert_array_equal(np.sort(order.reshape(5, -1), 1), x.reshape(5, -1))
        assert all(tuple(row) in set(map(tuple, part)) for part, rows in zip(x, order, strict=True) for row in rows)
    assert pairs.shape == (5, 2, 2)
    assert all(
        len({tuple(row) for row in rows} & set(map(tuple, part))) == 2 for part, rows in zip(x, pairs, strict=True)
    )
    assert [sorted(row.ravel()) for row in places] == [[0, 2, 4], [1, 3, 5]]


def test_normal_vectors_by_roots_of_their_covariance():
    """Covariances of one rank give multiples of one vector; of all ranks: tests/dialects/pymc/test_catalogue.py."""
    vector, n, c = np.array([1.0, -2.0, 0.5]), pt.lscalar("n"), pt.tensor("c", shape=(None, 3, 3))
    methods, scales = ("svd", "eigh"), np.array([1.0, 1e-10])
    draws = [rv("multivariate_normal", np.arange(3.0), c[:, None], method=method, size=(2, n)) for method in methods]
    program = hlograph.emit_stablehlo(([c, n], draws))
    covariances = np.outer(vector, vector) * scales[:, None, None] ** 2
    runs = [program.compile(policy=p)(KEY, covariances, 3000) for p in ("exact", "padded")]
    for method, found, same in zip(methods, *runs, strict=True):
        assert_same(same, found, rtol=1e-9, label=method)
        for drawn, scale in zip((np.asarray(found) - np.arange(3.0)) / scales[:, None, None], scales, strict=True):
            parts = drawn @ vector / (vector @ vector)
            np.testing.assert_allclose(drawn, parts[:, None] * vector, atol=1e-15 / scale + 1e-6, err_msg=method)
            assert scipy.stats.kstest(parts, "norm").pvalue > 1e-3, method


def test_a_class_of_somebody_else_draws_as_its_base_only_if_it_changes_nothing_of_that():
    from pytensor.tensor.random.basic import NormalRV

    class Marked(NormalRV):
        pass

    class Mine(NormalRV):
        @classmethod
        def rng_fn(cls, rng, mean, deviation, size=None):
            return mean + deviation

    def draw(op):
        return op.make_node(pytensor.shared(np.random.default_rng(0)), None, 0.0, 1.0).outputs[1]

    key = jax.random.key_data(jax.random.key(0))
    found, expected = (hlograph.function([], draw(op))(key) for op in (Marked(), NormalRV()))
    assert found == expected
    assert hlograph.function([], draw(Mine()))(key) == 1

    class Performing(Mine):
        def perform(self, node, inputs, outputs):
            outputs[0][0], outputs[1][0] = inputs[0], np.array(3.0)

    with pytest.raises(UnsupportedOpError, match=r"no sampler for .*Performing"):
        hlograph.emit_stablehlo(([], draw(Performing())))


class Simulated(RandomVariable):
    """A random variable of the user's, of vectors."""

    name, signature, dtype = "simulated", "(n),()->(n)", "float64"

    @classmethod
    def rng_fn(cls, rng, start, scale, size=None):
        return start + scale * rng.standard_normal((*(size or ()), start.shape[-1])).cumsum(-1)


def simulated(key, start, scale, size=()):
    """What `Simulated` gives for a subkey, by NumPy."""
    rng = np.random.default_rng(np.asarray(random.key_data(key)))
    return start + scale * rng.standard_normal((*size, start.shape[-1])).cumsum(-1)


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_what_has_no_sampler_draws_by_its_own_python(policy):
    """With NumPy's default generator for the data of the subkey; other nodes have other subkeys."""
    start, scale = pt.dvector("start"), pt.dscalar("scale")
    first, second = (
        Simulated().make_node(pytensor.shared(np.random.default_rng(0)), size, start, scale).outputs[1]
        for size in (None, (2,))
    )
    function = hlograph.function([start, scale], [first, second * 2], policy=policy)
    for length in (0, 1, 3, 5):
        values = np.arange(float(length))
        found = function(KEY, values, 0.5)
        assert_same(found[0], simulated(subkey(count=2), values, 0.5), rtol=1e-14)
        assert_same(found[1], 2 * simulated(subkey(place=1, count=2), values, 0.5, (2,)), rtol=1e-14)


def test_batches_of_what_draws_by_its_own_python():
    start, scale = pt.dvector("start"), pt.dscalar("scale")
    draw = Simulated().make_node(pytensor.shared(np.random.default_rng(0)), None, start, scale).outputs[1]
    one = hlograph.function([start, scale], draw)
    many, rows = np.asarray(jax.random.split(KEY, 3)), np.arange(6.0).reshape(3, 2)
    wanted = np.stack([simulated(subkey(key), row, 0.5) for key, row in zip(many, rows, strict=True)])
    same = np.stack([simulated(subkey(), row, 0.5) for row in rows])
    with jax.enable_x64(True):
        assert_same(jax.jit(jax.vmap(one, (0, 0, None)))(many, rows, 0.5), wanted, rtol=1e-14)
        assert_same(jax.vmap(one, (None, 0, None))(KEY, rows, 0.5), same, rtol=1e-14)


def test_the_parameters_have_no_gradient():
    mean = pt.dscalar("mean")
    for draw in (rv("normal", mean, 1.0), pt.cast(rv("bernoulli", mean), "float64")):
        [key, _], [cost] = with_key([mean], [draw])[1:]
        with pytest.raises(pytensor.gradient.NullTypeGradError, match="no derivative with respect to its parameters"):
            pytensor.grad(cost, mean)
        with pytest.raises(pytensor.gradient.DisconnectedInputError):
            pytensor.grad(cost, key)


def test_what_surrounds_a_draw_has_a_gradient():
    scale = pt.dscalar("scale")
    [key, _], [cost] = with_key([scale], [scale**2 * rv("normal")])[1:]
    found = hlograph.emit_stablehlo(([key, scale], pytensor.grad(cost, scale))).compile()(KEY, 3.0)
    assert_same(found, by_hand(lambda: 6 * random.normal(subkey(), (), np.float64)), rtol=1e-14)


# ---- generators as arguments ----------------------------------------------------------------------------------------


def test_generators_as_keys():
    """Each random variable splits the generator that it reads, and leaves the first half behind."""
    generator = pytensor.shared(np.random.default_rng(0), name="generator")
    first = rv("normal", size=(3,), rng=generator)
    second = rv("uniform", size=(2,), rng=first.owner.outputs[0])
    program = emit_graph(([generator], [second.owner.outputs[0], first, second]), rng_inputs=True)
    [argument] = program.signature.arguments
    assert (argument.name, argument.dims, argument.key) == ("generator", (2,), "threefry2x32")
    found = program.compile()(KEY)
    with jax.enable_x64(True):
        state, one = random.split(random.wrap_key_data(jnp.asarray(KEY)))
        state, two = random.split(state)
        wanted = [random.key_data(state), random.normal(one, (3,), np.float64), random.uniform(two, (2,), np.float64)]
    for result, value in zip(found, wanted, strict=True):
        assert_same(result, np.asarray(value), rtol=1e-14)


def test_modules_are_portable():
    """No calls of a library, whatever the platform."""
    draws = [make(*inputs) for inputs, _, _, make in map(arguments, CASES)]
    inputs = {x: None for draw in draws for x in pytensor.graph.traversal.explicit_graph_inputs([draw])}
    text = hlograph.emit_stablehlo((list(inputs), draws)).text
    assert "custom_call" not in text


# ---- permutations and choices of sizes that only the call knows: JAX's own for the sizes that it got -----------------

CHANCES = np.array([0.1, 0.2, 0.0, 0.3, 0.1, 0.2, 0.1])


@pytest.fixture(scope="module")
def orders():
    n, k, x, m, p = pt.lscalar("n"), pt.lscalar("k"), pt.dvector("x"), pt.dmatrix("m"), pt.dvector("p")
    draws = [
        *(rv("permutation", of) for of in (n, x, m, x > 2)),
        rv("choice", x, size=(k, 2), replace=False),
        rv("choice", n, size=(k,), replace=False),
        rv("choice", x, size=(k,), replace=False, p=p),
        rv("choice", x, size=(k,), replace=True, p=p),
    ]
    return hlograph.emit_stablehlo(([n, k, x, m, p], draws))


def orders_by_hand(n, k, x, m, p):
    subkeys = [subkey(place=place, count=8) for place in range(8)]
    choice = random.choice
    with jax.enable_x64(True):
        chances, logarithms = jnp.asarray(p), jnp.log(p)
        drawn = [
            *(random.permutation(key, of) for key, of in zip(subkeys, (n, x, m, x > 2), strict=False)),
            choice(subkeys[4], x, (k, 2), replace=False),
            choice(subkeys[5], n, (k,), replace=False),
            choice(subkeys[6], x, (k,), replace=False, p=chances),
            x[random.categorical(subkeys[7], logarithms, shape=(k,))],
        ]
        return [np.asarray(draw) for draw in drawn]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_orders_are_those_of_jax(orders, policy):
    function, x = orders.compile(policy=policy), np.arange(7.0)
    sizes = ((2000, 3, 0), (7, 2, 3), (5, 1, 1))
    for n, k, rows in sizes if NIGHTLY or policy == "padded" else sizes[:1]:
        arguments = n, k, x, np.arange(2.0 * rows).reshape(rows, 2), CHANCES
        for found, wanted in zip(function(KEY, *arguments), orders_by_hand(*arguments), strict=True):
            assert_same(found, wanted, label=f"{n}, {k}")
    if policy == "padded":
        assert np.asarray(function(KEY, 0, 0, x, np.zeros((0, 2)), CHANCES)[0]).size == 0


def test_too_few_items(orders):
    function, x, m = orders.compile(), np.arange(7.0), np.zeros((1, 2))
    with pytest.raises(ArgumentShapeError, match=r"x_0 >= 2\*k"):
        function(KEY, 9, 4, x, m, CHANCES)
    with pytest.raises(ArgumentShapeError, match="n >= k"):
        function(KEY, 2, 3, x, m, CHANCES)
    with pytest.raises(ValueError, match="fewer items have a chance"):
        function(KEY, 9, 3, x, m, np.array([0.5, 0, 0, 0, 0, 0, 0.5]))
