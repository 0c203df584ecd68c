"""Models of PyMC whose densities tests hold against PyTensor's own evaluation: in the mode, in JAX, and in nutpie.

In: nothing. Out: what stands in the `with` block of each model, by what it is about; and points to evaluate them at.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import scipy.sparse
from pytensor.compile.mode import Mode
from pytensor.graph.op import Op
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

REFERENCE = Mode("py", RewriteDatabaseQuery(include=["fast_run"], exclude=["inplace", "fusion", "BlasOpt"]))
Y = np.random.default_rng(0).normal(size=12)
ROWS = np.random.default_rng(1).normal(size=(12, 3))
WALK = np.cumsum(np.random.default_rng(0).normal(size=40)) * 0.1


def schools() -> None:
    mean, spread = pm.Normal("mean", 0, 5), pm.HalfCauchy("spread", 5)
    effect = pm.Normal("effect", mean, spread, shape=4)
    pm.Deterministic("largest", effect.max())
    pm.Normal("y", effect, [15.0, 10, 16, 11], observed=[28.0, 8, -3, 7])


def logistic() -> None:
    X, y = pm.Data("X", ROWS), pm.Data("seen", (ROWS[:, 0] > 0).astype(int))
    level, weights = pm.StudentT("level", 4), pm.Normal("weights", 0, 2, shape=3)
    pm.Bernoulli("y", logit_p=level + X @ weights, observed=y, shape=y.shape)


def varying_intercepts() -> None:
    county = pm.Data("county", np.arange(12) % 3)
    level = pm.Normal("level", pm.Normal("mean"), pm.HalfNormal("spread"), shape=3)
    pm.Normal("y", level[county], pm.Exponential("noise", 1), observed=Y)


def mixture() -> None:
    ordered = pm.distributions.transforms.ordered
    weights = pm.Dirichlet("weights", np.ones(3))
    centres = pm.Normal("centres", 0, 3, shape=3, transform=ordered, initval=[-1.0, 0.0, 1.0])
    pm.NormalMixture("y", weights, centres, pm.Gamma("width", 2, 1), observed=np.linspace(-2, 2, 9))


def bounded() -> None:
    mean, spread = pm.Normal("mean"), pm.HalfNormal("spread")
    pm.Censored("censored", pm.Normal.dist(mean, spread), -1, 1, observed=np.array([-1.0, 0.3, 1.0]))
    pm.TruncatedNormal("truncated", mean, spread, lower=0, observed=np.array([0.4, 2.0]))
    upper = pm.TruncatedNormal("upper", 0, 1, lower=0.1)
    pm.Potential("pull", -((pm.Uniform("u", 0, upper) - pm.Beta("b", 2, 3)) ** 2))
    pm.OrderedLogistic("grade", mean, np.array([-1.0, 1.0]), observed=np.array([0, 1, 2]))


def correlations() -> None:
    factor, _, _ = pm.LKJCholeskyCov("c", n=3, eta=2, sd_dist=pm.Exponential.dist(1, shape=3))
    pm.MvNormal("y", pm.Normal("mean", shape=3), chol=factor, observed=Y.reshape(4, 3))


def random_walk() -> None:
    level = pm.GaussianRandomWalk("level", sigma=pm.HalfNormal("step"), init_dist=pm.Normal.dist(), steps=7)
    pm.NegativeBinomial("y", pm.math.exp(level), 2.0, observed=np.arange(8))


def neighbours() -> Any:
    flags = np.triu(np.random.default_rng(4).random((9, 9)) < 0.3, 1) | np.eye(9, k=1, dtype=bool)
    return scipy.sparse.csr_matrix((flags | flags.T).astype("float64"))


def areas(matrix: Any = None) -> None:
    alpha, tau = pm.Beta("alpha", 2, 2), pm.Gamma("tau", 2, 2)
    W = neighbours() if matrix is None else matrix
    level = pm.CAR("level", mu=np.zeros(9), W=W, alpha=alpha, tau=tau, shape=9)
    pm.Poisson("y", pm.math.exp(level), observed=np.arange(9))


def shared_areas() -> None:
    areas(pytensor.shared(neighbours(), name="W"))


def imputed() -> None:
    seen = np.ma.masked_invalid(np.where(np.arange(12) % 5 == 2, np.nan, Y))
    pm.Normal("y", pm.Normal("mean"), pm.HalfNormal("s"), observed=seen)


def autoregression() -> None:
    start = pm.Normal.dist(0, 10, shape=2)
    pm.AR("y", pm.Normal("rho", shape=2), sigma=pm.HalfNormal("s"), init_dist=start, observed=WALK)


def garch() -> None:
    rates = {"omega": pm.HalfNormal("o", 1), "alpha_1": pm.Beta("a", 1, 5), "beta_1": pm.Beta("b", 5, 1)}
    pm.GARCH11("y", initial_vol=pm.HalfNormal("v", 1), observed=WALK, **rates)


def loop() -> None:
    gain, zero = pm.Beta("gain", 2, 2), pt.as_tensor(np.float64(0))
    levels = pytensor.scan(lambda y, m, k: m + k * (y - m), [pt.as_tensor(Y)], [zero], [gain], return_updates=False)
    pm.Potential("p", -0.5 * pt.sum((Y[1:] - levels[:-1]) ** 2))


def process() -> None:
    covariance = pm.gp.cov.Matern52(1, ls=pm.LogNormal("length", -1, 1))
    found = pm.gp.Marginal(cov_func=pm.HalfNormal("height") ** 2 * covariance)
    found.marginal_likelihood("y", np.linspace(0, 4, 12)[:, None], Y, pm.HalfNormal("noise"))


def potential_and_deterministics() -> None:
    a = pm.HalfNormal("a", shape=3)
    pm.Potential("p", -pt.sum(a**4))
    pm.Deterministic("outer", a[:, None] * a)
    pm.Deterministic("place", pt.argmax(a))


def nothing_of_the_point() -> None:
    pm.Deterministic("constant", pt.as_tensor([1.0, 2.0]))
    pm.Normal("a", shape=2)


def blocks() -> None:
    """The gradient finds them by running sums of their shapes."""
    a, b = pm.Normal("a", shape=(2, 2)), pm.HalfNormal("b", shape=(1, 2))
    x = pm.Data("x", np.arange(12.0).reshape(4, 3))
    pm.Normal("y", (x @ pt.linalg.block_diag(a, b)).sum(-1), 1, observed=Y[:4])


def parameter_out_of_bounds() -> None:
    pm.Normal("y", 0, pm.Normal("s", initval=1.0), observed=Y)


def masked() -> None:
    """Sizes from data, which JAX refuses."""
    x = pm.Normal("x", 1.0, 1.0, shape=4)
    pm.Potential("p", -(x[x > 0] ** 2).sum())


def known() -> None:
    """A normal posterior of mean 10/21 and variance 1/21."""
    pm.Normal("y", pm.Normal("mean"), 1.0, observed=pm.Data("seen", np.linspace(-0.5, 1.5, 20)))


def regression(count: bool = False) -> Any:
    """On shared data, of any number of rows; with a count too, whose step is another one."""
    rows = np.random.default_rng(0).normal(size=(20, 2))
    seen = rows @ [1.0, -1.0] + 0.3 * np.random.default_rng(1).normal(size=20)
    with pm.Model(coords={"k": ["a", "b"]}) as model:
        X = pm.Data("X", rows, dims=("row", "k"))
        slopes, noise = pm.Normal("slopes", dims="k"), pm.HalfNormal("noise")
        mean = pm.Deterministic("mean", X @ slopes + (pm.Poisson("n", 3) if count else 0), dims="row")
        pm.Normal("y", mean, noise, observed=pm.Data("seen", seen, dims="row"), dims="row")
    return model


class Unknown(Op):
    """An op without a rule, whose result has a shape that nobody says."""

    itypes: ClassVar = [pt.dscalar]
    otypes: ClassVar = [pt.dvector]

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = np.array([inputs[0]])

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return [pt.sum(cotangents[0])]

    L_op = pullback


def unknown() -> None:
    pm.Potential("p", Unknown()(pm.Normal("x")).sum())


Content = Callable[[], Any]
SCIPY: list[Content] = [areas, shared_areas]  # with sparse matrices
PLAIN: list[Content] = [
    *(schools, logistic, varying_intercepts, mixture, bounded, correlations, random_walk),
    *(imputed, autoregression, garch, loop, process, blocks),
    *(potential_and_deterministics, nothing_of_the_point, parameter_out_of_bounds, masked),
]


def name_of(content: Content) -> str:
    """For the names of tests."""
    return content.__name__


def build(content: Content, **options: Any) -> Any:
    """The model with this content."""
    with pm.Model(**options) as model:
        content()
    return model


def moved(model: Any, scale: float = 0.3, seed: int = 3) -> dict[str, Any]:
    """The model's initial point, moved at random."""
    r = np.random.default_rng(seed)
    start = model.initial_point(random_seed=1)
    return {k: v + scale * r.normal(size=np.shape(v)) if v.dtype.kind == "f" else v for k, v in start.items()}


def reference(model: Any, point: dict[str, Any], what: str = "logp", **options: Any) -> Any:
    """What PyTensor's evaluation in Python gives for a density, or its gradient ("dlogp")."""
    return getattr(model, f"compile_{what}")(mode=REFERENCE, **options)(point)
