"""hlograph as a mode of Aesara; what the mode shares with PyTensor's is tested there. `make versions` runs this."""

import pickle

import aesara
import aesara.tensor as at
import jax
import numpy as np
import pytest
from aesara import sparse
from aesara.compile.io import In, Out
from aesara.compile.mode import Mode, get_mode
from aesara.compile.ops import as_op
from aesara.printing import Print
from aesara.tensor.random import basic
from scipy import stats

import hlograph
import hlograph.aesara
from hlograph.codegen.ir.jax_compat import enable_x64

MODE = "STABLEHLO"
x, y = at.dvector("x"), at.dvector("y")
VALUE = np.array([1.0, -2.0, 3.0])


def test_the_mode_is_registered_and_chosen() -> None:
    assert isinstance(get_mode(MODE), hlograph.aesara.Mode)
    for mode in (hlograph.Mode(policy="padded"), hlograph.Mode(library="aesara"), get_mode(MODE).excluding(MODE)):
        assert type(mode) is hlograph.aesara.Mode
        assert isinstance(mode, hlograph.Mode)
        np.testing.assert_allclose(aesara.function([x], at.exp(x), mode=mode)(VALUE), np.exp(VALUE))
    assert not isinstance(get_mode(None), hlograph.Mode)  # from now on Aesara has a default mode
    with aesara.config.change_flags(mode=MODE):
        assert isinstance(aesara.function([x], x * 2).maker.linker, hlograph.aesara.StableHLOLinker)


def test_values() -> None:
    """Shared variables, updates, givens, defaults, names, borrowed and trusted arguments, profiles, pickles, copies."""
    state = aesara.shared(np.zeros(3), "state")
    step = aesara.function([x], [x * 2 + state, y], updates={state: state + x}, givens={y: state}, mode=MODE)
    for count in (1.0, 2.0):
        found = step(VALUE)
        np.testing.assert_array_equal(found[0], 2 * VALUE + (count - 1) * VALUE)
        np.testing.assert_array_equal(state.get_value(), count * VALUE)
    state.set_value(np.ones(3))
    np.testing.assert_array_equal(step(VALUE)[1], np.ones(3))
    inputs = [In(x, borrow=True), In(y, value=np.ones(3), name="y")]
    function = aesara.function(inputs, Out(x * y, borrow=True), mode=MODE, profile=True, name="product")
    for given in ({}, {"y": VALUE}):
        np.testing.assert_array_equal(function(VALUE, **given), VALUE * given.get("y", 1))
    for other in (pickle.loads(pickle.dumps(function)), function.copy()):
        np.testing.assert_array_equal(other(VALUE, VALUE), VALUE**2)
    function.trust_input = True
    np.testing.assert_array_equal(function(VALUE, VALUE), VALUE**2)
    with pytest.raises(TypeError, match="Bad input"):
        step(np.ones((2, 2)))


def test_what_jax_traces() -> None:
    state = aesara.shared(VALUE, "state")
    function = aesara.function([x], (at.log(at.sigmoid(x)) * state).sum(), mode=MODE)
    slopes = VALUE / (1 + np.exp(VALUE))
    with enable_x64(True):
        np.testing.assert_allclose(jax.grad(function)(VALUE), slopes)
        np.testing.assert_allclose(jax.jit(function)(VALUE), function(VALUE))
        np.testing.assert_allclose(jax.vmap(function)(np.stack([VALUE, VALUE])), [function(VALUE)] * 2)
        [value] = function.vm.jit_fn(VALUE, VALUE)
    np.testing.assert_allclose(value, function(VALUE))


def test_asserts_and_indices_raise() -> None:
    checked = aesara.function([x], at.sqrt(aesara.raise_op.Assert("positive")(x, at.all(x > 0))), mode=MODE)
    with pytest.raises(AssertionError, match="positive"):
        checked(-np.ones(3))
    i = at.lscalar("i")
    with pytest.raises(IndexError):
        aesara.function([x, i], x[i], mode=MODE)(VALUE, 3)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators(make) -> None:
    """The same seed gives the same draws; an update goes on from where it is, also in a copy of the generator."""

    def draws() -> list[np.ndarray]:
        generator = aesara.shared(make(5))
        draw = at.random.normal(size=(2,), rng=generator)
        step = aesara.function([], draw, updates={generator: draw.owner.outputs[0]}, mode=MODE)
        found = [step()]
        generator.set_value(pickle.loads(pickle.dumps(generator.get_value())))
        return [*found, step()]

    first, second = draws(), draws()
    np.testing.assert_array_equal(first, second)
    assert (first[0] != first[1]).all()


# The laws of Aesara's random variables in SciPy's words.
LAWS = {
    "beta": ((2.0, 3.0), stats.beta(2, 3)),
    "cauchy": ((1.0, 2.0), stats.cauchy(1, 2)),
    "chisquare": ((3.0,), stats.chi2(3)),
    "exponential": ((2.0,), stats.expon(scale=2)),
    "f": ((5.0, 9.0), stats.f(5, 9)),
    "gamma": ((2.0, 4.0), stats.gamma(2, scale=1 / 4)),
    "gengamma": ((2.0, 3.0, 4.0), stats.gengamma(2 / 3, 3, scale=4)),
    "gumbel": ((1.0, 2.0), stats.gumbel_r(1, 2)),
    "halfcauchy": ((1.0, 2.0), stats.halfcauchy(1, 2)),
    "halfnormal": ((1.0, 2.0), stats.halfnorm(1, 2)),
    "invgamma": ((3.0, 2.0), stats.invgamma(3, scale=2)),
    "laplace": ((1.0, 2.0), stats.laplace(1, 2)),
    "logistic": ((1.0, 2.0), stats.logistic(1, 2)),
    "lognormal": ((0.5, 0.3), stats.lognorm(0.3, scale=np.exp(0.5))),
    "normal": ((1.0, 2.0), stats.norm(1, 2)),
    "pareto": ((3.0, 2.0), stats.pareto(3, scale=2)),
    "power": ((3.0,), stats.powerlaw(3)),
    "rayleigh": ((2.0,), stats.rayleigh(scale=2)),
    "t": ((5.0, 1.0, 2.0), stats.t(5, 1, 2)),
    "triangular": ((0.0, 1.0, 3.0), stats.triang(1 / 3, 0, 3)),
    "truncexpon": ((2.0, 1.0, 3.0), stats.truncexpon(2, 1, 3)),
    "uniform": ((1.0, 3.0), stats.uniform(1, 2)),
    "vonmises": ((0.5, 2.0), stats.vonmises(2, 0.5)),
    "wald": ((2.0, 3.0), stats.invgauss(2 / 3, scale=3)),
    "weibull": ((2.0,), stats.weibull_min(2)),
    "bernoulli": ((0.3,), stats.bernoulli(0.3)),
    "betabinom": ((9, 2.0, 3.0), stats.betabinom(9, 2, 3)),
    "binomial": ((9, 0.3), stats.binom(9, 0.3)),
    "geometric": ((0.4,), stats.geom(0.4)),
    "hypergeometric": ((10, 8, 5), stats.hypergeom(18, 10, 5)),
    "integers": ((2, 9), stats.randint(2, 9)),
    "nbinom": ((4, 0.4), stats.nbinom(4, 0.4)),
    "poisson": ((4.0,), stats.poisson(4)),
    "zipf": ((3.5,), stats.zipf(3.5)),
}


def test_draws_follow_their_laws() -> None:
    """All in one program with one key; continuous ones by their distribution functions, others by their chances."""
    size = 2000
    rngs = [aesara.shared(np.random.default_rng()) for _ in LAWS]
    draws = [
        getattr(basic, name)(*arguments, size=(size,), rng=rng)
        for rng, (name, (arguments, _)) in zip(rngs, LAWS.items(), strict=True)
    ]
    found = hlograph.function([], draws)(jax.random.key(3))
    for draw, variable, (name, (_, law)) in zip(found, draws, LAWS.items(), strict=True):
        sample = np.asarray(draw, variable.dtype)
        if sample.dtype.kind == "f":
            assert stats.kstest(sample, law.cdf).pvalue > 1e-4, name
            continue
        values = np.arange(int(sample.min()), int(sample.max()) + 1)
        chances = law.pmf(values)
        shares = np.array([(sample == value).mean() for value in values])
        assert (abs(shares - chances) < 5 * np.sqrt(chances / size) + 5 / size).all(), name


def test_draws_of_several_axes() -> None:
    mean, items = at.dvector("mean"), at.lvector("items")
    small = 1e-12 * at.eye(2)
    draws = [
        at.random.normal(mean, 1e-12, size=(2, 2)),  # a vector belongs to the last axis
        at.random.multivariate_normal(mean, small, size=(3,)),
        at.random.dirichlet(at.exp(mean), size=(3,)).sum(-1),
        at.random.multinomial(5, at.ones(2) / 2, size=(3,)).sum(-1),
        at.random.permutation(items).sum(),
        at.random.choice(items, size=(3,), replace=False).sum(),
        at.random.choice(items, size=(3,), p=[1.0, 0.0, 0.0]),
        at.random.categorical([[1.0, 0.0], [0.0, 1.0]]),
    ]
    wanted = [[[1, 2], [1, 2]], [[1, 2]] * 3, [1] * 3, [5] * 3, 6, 6, [1] * 3, [0, 1]]
    for policy in ("exact", "padded"):
        function = hlograph.function([mean, items], draws, policy=policy)
        for found, expected in zip(
            function(jax.random.key(0), np.array([1.0, 2]), np.array([1, 2, 3])), wanted, strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_gradients_through_loops() -> None:
    """Steps that are not linear, with one tap and with two: what the gradient reads of them matters."""
    for taps, step in (
        ([-1], lambda e, p, a: at.tanh(e + a * p * p)),
        ([-1, -2], lambda e, p, q, a: at.tanh(e + a * p * p + q * p)),
        ([-2, -1], lambda e, p, q, a: at.tanh(e + a * p * p + q * p)),
    ):
        start = at.constant(0.5) if len(taps) == 1 else at.constant([0.5, -0.4])
        scale = at.dscalar("scale")
        trace, _ = aesara.scan(step, x, [{"initial": at.cast(start, "float64"), "taps": taps}], scale)
        outputs = [aesara.grad((trace**2).sum(), x), aesara.grad((trace**2).sum(), scale)]
        wanted = aesara.function([x, scale], outputs, mode=Mode("py", None))(VALUE, 0.7)
        for rewrite in (True, "full"):
            found = aesara.function([x, scale], outputs, mode=hlograph.Mode(rewrite=rewrite))(VALUE, 0.7)
            for actual, expected in zip(found, wanted, strict=True):
                np.testing.assert_allclose(actual, expected, rtol=1e-10)


def test_batches_without_a_loop() -> None:
    """What PyTensor's dispatch does for its graphs."""
    M, k = at.dmatrix("M"), at.lvector("k")
    outputs = [
        *(M.dot(x), x.dot(M.T), M.T.dot(M), at.dot(x, x), at.matmul(M, x), at.outer(x, x), M.T, M.reshape((-1,))),
        *(M.sum(0), M.max(), at.argmax(M), at.max_and_argmax(M, axis=1)[1], at.cumsum(M, -1), at.cumprod(M)),
        *(at.alloc(x, 2, x.shape[0]), at.broadcast_to(x, (2, x.shape[0])), at.diagonal(M), at.diag(x)),
        *(at.concatenate([x, x]), at.sort(x), x[k], at.set_subtensor(M[:, k], 1.0), at.switch(x > 0, x, 0)),
        *(at.special.softmax(M, axis=-1), aesara.grad((M.dot(x) ** 2).sum(), M)),
    ]
    function = hlograph.function([M, x, k], outputs, policy="exact")
    rng = np.random.default_rng(0)
    Ms, xs, ks = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4)), np.array([[0, 2], [1, 1]])
    wanted = aesara.function([M, x, k], outputs, mode=Mode("py", None))
    with enable_x64(True):
        for axes in ((0, 0, 0), (0, None, None), (None, 0, None)):
            given = [value if axis == 0 else value[0] for value, axis in zip((Ms, xs, ks), axes, strict=True)]
            batch = jax.vmap(function, axes)(*given)
            rows = [[v[i] if a == 0 else v for v, a in zip(given, axes, strict=True)] for i in range(2)]
            for found, one, other in zip(batch, *(wanted(*row) for row in rows), strict=True):
                np.testing.assert_allclose(found, np.stack([one, other]), rtol=1e-10)
    assert not function.derived.loops


def test_what_runs_python(capsys) -> None:
    """Prints, wrapped functions, and ops without a rule."""
    double = as_op([at.dvector], [at.dvector], infer_shape=lambda *given: [given[-1][0]])(lambda a: a * 2)
    function = hlograph.function([x], Print("x")(double(x)).sum())
    np.testing.assert_allclose(function(np.arange(3.0)), 6)
    assert capsys.readouterr().out == "x __str__ = [0. 2. 4.]\n"
    M = at.dmatrix("M")
    matrix = sparse.csr_from_dense(M)
    total = sparse.dense_from_sparse(sparse.add(matrix, matrix)).sum(0)
    function = hlograph.function([M], total, on_unsupported="host", policy="padded")
    values = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(function(values), 2 * values.sum(0))
