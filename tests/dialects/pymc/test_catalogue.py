"""Every distribution of PyMC in the mode: its functions beside PyMC's own values, its draws beside PyMC's own draws.

A distribution that is not named here fails the first test. Densities, distribution functions and quantiles
are compared at several parameters and points at once, which broadcast, and whose number is open; with derivatives of
the density. Draws are compared by Kolmogorov and Smirnov's test of two samples, and must not depend on padding.
"""

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.stats
from pytensor.compile.mode import Mode
from scipy.interpolate import InterpolatedUnivariateSpline

import hlograph.pytensor
from hlograph.errors import UnsupportedOpError

pm = pytest.importorskip("pymc")
if "backend" not in inspect.signature(pm.sample).parameters:
    pytest.skip("the cases are those of PyMC 6", allow_module_level=True)

from pymc.logprob.utils import ParameterValueError  # noqa: E402
from pymc_models import REFERENCE  # noqa: E402

POLICIES = ("exact", "padded")
QUANTILES = (-0.1, 0.0, 1e-6, 0.2, 0.5, 0.9, 1.0, 1.2)
DRAWS = 1500


REAL = (-1e3, -30.0, -2.0, -0.5, 0.0, 0.3, 1.0, 4.0, 30.0, 1e3)
POSITIVE = (-1.0, 0.0, 1e-8, 0.2, 1.0, 3.0, 40.0, 1e4)
UNIT = (-0.1, 0.0, 1e-9, 0.2, 0.5, 0.9, 1 - 1e-9, 1.0, 1.1)
COUNTS = (-1, 0, 1, 2, 5, 9, 30, 200)


@dataclass(frozen=True)
class Scalar:
    """A distribution of one number.

    Attributes:
        make: the distribution of its parameters and of the options of `dist`; or only the names of its parameters, in
            their order here.
        parameters: sets of them.
        points: values of the variable.
        rtol: what the density may be off, where a formula loses digits on both sides.
        drawn: whether PyMC draws from it.
        many: whether its distribution function takes more than one number.
    """

    make: Any
    parameters: Sequence[tuple[float, ...]]
    points: Sequence[float] = REAL
    rtol: float = 1e-9
    drawn: bool = True
    many: bool = True


def _dist(name: str, *names: str) -> Callable[..., Any]:
    """A distribution by the names of its parameters, in their order here."""

    def make(*values: Any, **options: Any) -> Any:
        return getattr(pm, name).dist(**dict(zip(names, values, strict=True)), **options)

    return make


def _truncated(make: Callable[..., Any], **bounds: Any) -> Callable[..., Any]:
    return lambda *values, **options: pm.Truncated.dist(make(*values), **bounds, **options)


def _censored(make: Callable[..., Any], **bounds: Any) -> Callable[..., Any]:
    return lambda *values, **options: pm.Censored.dist(make(*values), **bounds, **options)


def _custom(mu: Any, sigma: Any, size: Any) -> Any:
    return pm.math.exp(mu + sigma * pm.Normal.dist(0 * ONE, ONE, size=size))


def _cut(eta: Any, first: Any, gap: Any) -> dict[str, Any]:
    return {"eta": eta, "cutpoints": pt.stack([first, first + gap], axis=-1)}


ONE = np.float64(1)  # a Python number would be float32 to PyTensor
NORMAL = _dist("Normal", "mu", "sigma")
POINTS = np.linspace(-1.0, 3.0, 9)
HEIGHTS = np.array([0.1, 0.5, 1.0, 0.3, 0.0, 0.2, 0.9, 0.9, 0.1])

SCALARS: dict[str, Scalar] = {
    "AsymmetricLaplace": Scalar("kappa mu b", [(1.0, 0.0, 1.0), (3.0, -2.0, 0.5)]),
    "Beta": Scalar("alpha beta", [(2.0, 3.0), (0.5, 0.5), (1.0, 1.0), (200.0, 30.0)], UNIT),
    "Cauchy": Scalar("alpha beta", [(0.0, 1.0), (3.0, 20.0)]),
    "ChiSquared": Scalar("nu", [(1.0,), (2.0,), (30.0,)], POSITIVE),
    "ExGaussian": Scalar("mu sigma nu", [(0.0, 1.0, 1.0), (-2.0, 0.5, 5.0)]),
    "Exponential": Scalar("lam", [(1.0,), (20.0,)], POSITIVE),
    "Flat": Scalar("", [()], drawn=False),
    "Gamma": Scalar("alpha beta", [(2.0, 1.0), (0.3, 5.0), (100.0, 10.0)], POSITIVE),
    "Gumbel": Scalar("mu beta", [(0.0, 1.0), (4.0, 0.5)], REAL[3:]),
    "HalfCauchy": Scalar("beta", [(1.0,), (20.0,)], POSITIVE),
    "HalfFlat": Scalar("", [()], POSITIVE, drawn=False),
    "HalfNormal": Scalar("sigma", [(1.0,), (20.0,)], POSITIVE),
    "HalfStudentT": Scalar("nu sigma", [(3.0, 1.0), (0.7, 5.0)], POSITIVE),
    "Interpolated": Scalar(
        lambda **options: pm.Interpolated.dist(POINTS, HEIGHTS, **options), [()], (-2.0, -1.0, -0.3, 0.5, 1.7, 3.0, 3.1)
    ),
    "InverseGamma": Scalar("alpha beta", [(3.0, 1.0), (0.5, 4.0)], POSITIVE),
    "Kumaraswamy": Scalar("a b", [(2.0, 3.0), (0.5, 0.7)], UNIT),
    "Laplace": Scalar("mu b", [(0.0, 1.0), (3.0, 0.2)]),
    "LogNormal": Scalar("mu sigma", [(0.0, 1.0), (2.0, 0.3)], POSITIVE),
    "Logistic": Scalar("mu s", [(0.0, 1.0), (3.0, 0.2)]),
    "LogitNormal": Scalar("mu sigma", [(0.0, 1.0), (2.0, 0.3)], UNIT),
    "Moyal": Scalar("mu sigma", [(0.0, 1.0), (3.0, 0.5)], REAL[2:]),
    "Normal": Scalar("mu sigma", [(0.0, 1.0), (3.0, 0.01)]),
    "Normal of a precision": Scalar("mu tau", [(0.0, 1.0), (3.0, 20.0)]),
    "Pareto": Scalar("alpha m", [(2.0, 1.0), (0.5, 0.1)], POSITIVE),
    "Rice": Scalar("nu sigma", [(1.0, 1.0), (4.0, 0.5), (0.0, 2.0)], POSITIVE[:-1]),
    "SkewNormal": Scalar("mu sigma alpha", [(0.0, 1.0, 2.0), (1.0, 3.0, -5.0)]),
    "SkewStudentT": Scalar("mu sigma a b", [(0.0, 1.0, 2.0, 3.0), (1.0, 2.0, 9.0, 1.5)]),
    "StudentT": Scalar("nu mu sigma", [(3.0, 0.0, 1.0), (0.7, 1.0, 5.0), (1e3, 0.0, 1.0)]),
    "Triangular": Scalar(
        "lower c upper",
        [(0.0, 1.0, 4.0), (0.0, 0.0, 1.0), (-30.0, 1.0, 1.0)],
        (-31.0, -30.0, -1.0, 0.0, 0.3, 1.0, 2.0, 4.0, 4.1),
    ),
    "TruncatedNormal": Scalar(
        "mu sigma lower upper",
        [(0.0, 1.0, -1.0, 2.0), (1.0, 2.0, -np.inf, 0.5), (0.0, 1.0, 8.0, np.inf), (30.0, 1.0, -1.0, 2.0)],
        (-2.0, -1.0, -0.2, 0.3, 0.5, 2.0, 8.0, 8.3, 12.0),
        rtol=1e-7,
    ),
    "Uniform": Scalar("lower upper", [(0.0, 1.0), (-2.0, 30.0)]),
    "VonMises": Scalar("mu kappa", [(0.0, 1.0), (1.0, 30.0)], (-4.0, -np.pi, -1.0, 0.0, 2.0, 3.2)),
    "Wald": Scalar("mu lam alpha", [(1.0, 2.0, 0.0), (3.0, 0.5, 0.1)], POSITIVE),
    "Weibull": Scalar("alpha beta", [(2.0, 1.0), (0.5, 3.0)], POSITIVE),
    # Of one whole number.
    "Bernoulli": Scalar("p", [(0.3,), (0.0,), (1.0,)], (-1, 0, 1, 2)),
    "Bernoulli of log odds": Scalar("logit_p", [(0.3,), (-20.0,)], (-1, 0, 1, 2)),
    "BetaBinomial": Scalar("alpha beta n", [(2.0, 3.0, 9), (0.5, 0.7, 30)], COUNTS, many=False),
    "Binomial": Scalar("n p", [(9, 0.3), (30, 0.9), (5, 0.0), (5, 1.0)], COUNTS),
    "Categorical": Scalar(
        lambda p, **options: pm.Categorical.dist(pt.stack([p, 0.7 - p, 0.3 + 0 * p], axis=-1), **options),
        [(0.2,), (0.0,), (0.7,)],
        (-1, 0, 1, 2, 3),
    ),
    "DiracDelta": Scalar("c", [(2.0,), (0.0,)], (0.0, 1.0, 2.0)),
    "DiscreteUniform": Scalar("lower upper", [(0, 5), (-3, -1), (2, 2)], (-4, -3, -1, 0, 2, 5, 6)),
    "DiscreteWeibull": Scalar("q beta", [(0.5, 1.0), (0.9, 0.5)], COUNTS),
    "Geometric": Scalar("p", [(0.3,), (0.01,), (0.999,)], COUNTS),
    "HyperGeometric": Scalar("N k n", [(20, 7, 12), (50, 30, 10)], COUNTS, many=False),
    "NegativeBinomial": Scalar("mu alpha", [(3.0, 2.0), (30.0, 0.5)], COUNTS),
    "NegativeBinomial of chances": Scalar("n p", [(3.0, 0.2), (0.5, 0.7)], COUNTS),
    "OrderedLogistic": Scalar(
        lambda *values, **options: pm.OrderedLogistic.dist(**_cut(*values), **options),
        [(0.0, -1.0, 2.0), (3.0, 0.0, 0.1)],
        (-1, 0, 1, 2, 3),
    ),
    "OrderedProbit": Scalar(
        lambda *values, **options: pm.OrderedProbit.dist(**_cut(*values), **options),
        [(0.0, -1.0, 2.0), (3.0, 0.0, 0.1)],
        (-1, 0, 1, 2, 3),
    ),
    "Poisson": Scalar("mu", [(2.0,), (0.0,), (60.0,)], COUNTS),
    "ZeroInflatedBinomial": Scalar("psi n p", [(0.3, 9, 0.4), (0.9, 30, 0.9)], COUNTS),
    "ZeroInflatedNegativeBinomial": Scalar("psi mu alpha", [(0.3, 3.0, 2.0), (0.9, 20.0, 0.5)], COUNTS),
    "ZeroInflatedPoisson": Scalar("psi mu", [(0.3, 3.0), (0.9, 30.0)], COUNTS),
    "HurdleGamma": Scalar("psi alpha beta", [(0.3, 2.0, 1.0), (0.9, 0.5, 3.0)], POSITIVE),
    "HurdleLogNormal": Scalar("psi mu sigma", [(0.3, 0.0, 1.0), (0.9, 1.0, 0.2)], POSITIVE),
    "HurdleNegativeBinomial": Scalar("psi mu alpha", [(0.3, 3.0, 2.0), (0.9, 20.0, 0.5)], COUNTS),
    "HurdlePoisson": Scalar("psi mu", [(0.3, 3.0), (0.9, 30.0)], COUNTS),
    # Made of others.
    "Censored": Scalar(_censored(NORMAL, lower=-1.0, upper=1.5), [(0.0, 1.0), (3.0, 0.5)], (-2.0, -1.0, 0.3, 1.5, 2.0)),
    "Censored, discrete": Scalar(_censored(_dist("Poisson", "mu"), upper=6), [(3.0,), (20.0,)], COUNTS),
    "CustomDist": Scalar(
        lambda *values, **options: pm.CustomDist.dist(*values, dist=_custom, **options), [(0.0, 1.0)], POSITIVE
    ),
    "Mixture": Scalar(
        lambda p, mu, **options: pm.Mixture.dist(
            pt.stack([p, 1 - p], axis=-1),
            [pm.Normal.dist(mu, ONE), pm.StudentT.dist(3 * ONE, mu=-mu, sigma=2 * ONE)],
            **options,
        ),
        [(0.3, 1.0), (0.9, -3.0)],
    ),
    "Mixture, discrete": Scalar(
        lambda p, mu, **options: pm.Mixture.dist(
            pt.stack([p, 1 - p], axis=-1), [pm.Poisson.dist(mu), pm.Geometric.dist(0.2 + 0 * mu)], **options
        ),
        [(0.3, 1.0), (0.9, 8.0)],
        COUNTS,
    ),
    "NormalMixture": Scalar(
        lambda p, mu, **options: pm.NormalMixture.dist(
            pt.stack([p, 1 - p], axis=-1), pt.stack([mu, -mu], axis=-1), np.array([1.0, 0.3]), **options
        ),
        [(0.3, 1.0), (0.9, -3.0)],
    ),
    "Truncated": Scalar(
        _truncated(_dist("Gamma", "alpha", "beta"), lower=0.5, upper=3.0),
        [(2.0, 1.0), (0.7, 0.2)],
        (0.4, 0.5, 1.7, 3.0, 4.0),
    ),
    "Truncated, by rejection": Scalar(
        _truncated(_dist("ExGaussian", "mu", "sigma", "nu"), lower=-1.0, upper=2.0),
        [(0.0, 1.0, 1.0)],
        (-2.0, -1.0, 0.4, 2.0, 3.0),
    ),
    "Truncated, discrete": Scalar(_truncated(_dist("Poisson", "mu"), lower=1, upper=6), [(3.0,), (9.0,)], COUNTS),
    "Truncated, discrete, by inversion": Scalar(
        _truncated(_dist("Geometric", "p"), lower=2), [(0.3,), (0.05,)], COUNTS
    ),
}
SCALARS = {
    name: replace(case, make=_dist(name.split()[0], *case.make.split())) if isinstance(case.make, str) else case
    for name, case in SCALARS.items()
}


@dataclass(frozen=True)
class Array:
    """A distribution of arrays.

    Attributes:
        make: the distribution of a number (1, or a little more) and of the options of `dist`.
        sized: whether it takes a `size`.
        has_logp: whether it has a density.
        law: another one with the same draws, where PyMC's own are of another law.
    """

    make: Callable[..., Any]
    sized: bool = True
    has_logp: bool = True
    law: Callable[..., Any] | None = None


COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.5]])
FACTOR = np.linalg.cholesky(COVARIANCE)
MEAN = np.array([1.0, -1.0, 0.5])
NEIGHBOURS = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
SIMPLEX = np.array([0.2, 0.3, 0.5])


def _start(*shape: int) -> Any:
    return pm.Normal.dist(np.zeros(shape), np.ones(shape))


def _car_law(s: Any, **options: Any) -> Any:
    precision = 2 * s * (np.diag(NEIGHBOURS.sum(0)) - 0.5 * NEIGHBOURS)
    return pm.MvNormal.dist(np.arange(4.0), cov=pt.linalg.inv(precision), **options)


def _drift(x: Any, a: Any) -> tuple[Any, Any]:
    return -a * x, 0.3 * ONE


def _factor(s: Any, **options: Any) -> Any:
    return pm.LKJCholeskyCov.dist(n=3, eta=2 * s, sd_dist=pm.Exponential.dist(s, size=3), compute_corr=False, **options)


ARRAYS: dict[str, Array] = {
    "MvNormal": Array(lambda s, **o: pm.MvNormal.dist(MEAN * s, COVARIANCE, **o)),
    "MvNormal of a factor": Array(lambda s, **o: pm.MvNormal.dist(MEAN, chol=FACTOR * s, **o)),
    "MvNormal of a precision": Array(lambda s, **o: pm.MvNormal.dist(MEAN, tau=np.linalg.inv(COVARIANCE) * s, **o)),
    "MvNormal by svd": Array(lambda s, **o: pm.MvNormal.dist(MEAN, COVARIANCE * s, method="svd", **o)),
    "MvNormal by eigh": Array(lambda s, **o: pm.MvNormal.dist(MEAN, COVARIANCE * s, method="eigh", **o)),
    "MvStudentT": Array(lambda s, **o: pm.MvStudentT.dist(5 * s, mu=MEAN, scale=COVARIANCE, **o)),
    "Dirichlet": Array(lambda s, **o: pm.Dirichlet.dist(np.array([0.7, 2.0, 3.0]) * s, **o)),
    "Multinomial": Array(lambda s, **o: pm.Multinomial.dist(7, SIMPLEX + 0 * s, **o)),
    "DirichletMultinomial": Array(lambda s, **o: pm.DirichletMultinomial.dist(7, np.array([1.0, 2, 3]) * s, **o)),
    "OrderedMultinomial": Array(
        lambda s, **o: pm.OrderedMultinomial.dist(eta=0.3 * s, cutpoints=np.array([-1.0, 1.0]), n=7, **o)
    ),
    "Wishart": Array(lambda s, **o: pm.Wishart.dist(5, COVARIANCE * s, **o)),
    "LKJCholeskyCov": Array(_factor, sized=False),
    "LKJCorr": Array(lambda s, **o: pm.LKJCorr.dist(n=3, eta=2 * s, **o), sized=False),
    "LKJCorr of two": Array(lambda s, **o: pm.LKJCorr.dist(n=2, eta=2 * s, **o), sized=False),
    "MatrixNormal": Array(
        lambda s, **o: pm.MatrixNormal.dist(np.ones((3, 2)), rowchol=FACTOR * s, colcov=np.diag([1.0, 4.0]), **o)
    ),
    "KroneckerNormal": Array(
        lambda s, **o: pm.KroneckerNormal.dist(np.zeros(6), covs=[COVARIANCE * s, np.diag([1.0, 3.0])], sigma=0.5, **o)
    ),
    "KroneckerNormal by svd": Array(
        lambda s, **o: pm.KroneckerNormal.dist(np.zeros(6), covs=[COVARIANCE * s, np.eye(2)], method="svd", **o)
    ),
    "CAR": Array(lambda s, **o: pm.CAR.dist(np.arange(4.0), NEIGHBOURS, 0.5 * s / s, 2 * s, **o), law=_car_law),
    "StickBreakingWeights": Array(lambda s, **o: pm.StickBreakingWeights.dist(2 * s, 3, **o)),
    "ZeroSumNormal": Array(lambda s, **o: pm.ZeroSumNormal.dist(s, n_zerosum_axes=2, shape=(3, 4)), sized=False),
    "AR": Array(lambda s, **o: pm.AR.dist(np.array([0.5, 0.2]), sigma=s, init_dist=_start(2), steps=4, **o)),
    "AR with a constant": Array(
        lambda s, **o: pm.AR.dist(np.array([0.1, 0.5]), sigma=s, init_dist=_start(1), steps=4, constant=True, **o)
    ),
    "GARCH11": Array(lambda s, **o: pm.GARCH11.dist(0.5 * s, 0.3 * ONE, 0.2 * ONE, ONE, steps=4, **o)),
    "GaussianRandomWalk": Array(
        lambda s, **o: pm.GaussianRandomWalk.dist(0.1 * s, s, init_dist=_start(), steps=4, **o)
    ),
    "RandomWalk": Array(
        lambda s, **o: pm.RandomWalk.dist(_start(), pm.StudentT.dist(6 * ONE, mu=0 * ONE, sigma=s), steps=4, **o)
    ),
    "MvGaussianRandomWalk": Array(
        lambda s, **o: pm.MvGaussianRandomWalk.dist(
            MEAN, cov=COVARIANCE * s, init_dist=pm.MvNormal.dist(MEAN, COVARIANCE), steps=2, **o
        ),
        sized=False,
    ),
    "MvStudentTRandomWalk": Array(
        lambda s, **o: pm.MvStudentTRandomWalk.dist(
            nu=5 * s, mu=MEAN, scale=COVARIANCE, init_dist=pm.MvNormal.dist(MEAN, COVARIANCE), steps=2, **o
        ),
        sized=False,
    ),
    "EulerMaruyama": Array(lambda s, **o: pm.EulerMaruyama.dist(0.1, _drift, (s,), init_dist=_start(), steps=4, **o)),
    "Mixture of vectors": Array(
        lambda s, **o: pm.Mixture.dist(
            np.array([0.3, 0.7]), pm.MvNormal.dist(np.array([[0.0, 0, 0], [3, 3, 3]]) * s, COVARIANCE), **o
        )
    ),
}

LAWLESS = "no law to draw from"

# What is refused: a draw, and what the error says of it.
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "Flat": (lambda: pm.Flat.dist(), LAWLESS),
    "HalfFlat": (lambda: pm.HalfFlat.dist(), LAWLESS),
    "ICAR": (lambda: pm.ICAR.dist(NEIGHBOURS), LAWLESS),
}

# Names of `pymc.distributions` that are no case of their own.
OTHERS = {
    "Continuous": "a base class",
    "Discrete": "a base class",
    "Distribution": "a base class",
    "SymbolicRandomVariable": "a base class",
    "Lognormal": "LogNormal by another name",
    "WishartBartlett": "deprecated: a Wishart inside a model",
    **dict.fromkeys(
        ("CustomDist", "DensityDist", "Simulator"),
        "draws by the user's Python: tests/runtime/samplers/test_pymc_parts.py",
    ),
    "PolyaGamma": "draws by a package of its own, which is not there",
}


def test_every_distribution_is_a_case():
    named = {name.partition(",")[0].partition(" ")[0] for name in (*SCALARS, *ARRAYS, *REFUSED)} | set(OTHERS)
    assert named == set(pm.distributions.__all__)


def evaluate(inputs, outputs, values, mode):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return pytensor.function(inputs, list(outputs), mode=mode, on_unused_input="ignore")(*values)


def compare(inputs, outputs, values, policies, rtol, what=""):
    """Each output in our mode beside PyMC's own; where that is NaN by a rewrite of its graph, beside the graph's."""
    wanted = evaluate(inputs, outputs.values(), values, REFERENCE)
    raw = None
    for policy in policies:
        found = evaluate(inputs, outputs.values(), values, hlograph.Mode(policy=policy))
        for place, (name, ours, theirs) in enumerate(zip(outputs, found, wanted, strict=True)):
            assert ours.dtype == theirs.dtype
            nan = np.isnan(theirs) & ~np.isnan(ours) if theirs.dtype.kind == "f" else np.zeros(())
            if nan.any():
                raw = raw or evaluate(inputs, outputs.values(), values, Mode("py", None))
                theirs = np.where(nan, raw[place], theirs)
            scale = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=1e-3) if theirs.dtype.kind == "f" else 0
            np.testing.assert_allclose(
                ours, theirs, rtol=rtol, atol=1e-12 * min(scale, 1e3), err_msg=f"{what} {name}, {policy}"
            )


def functions(law, value, chance):
    """The functions that PyMC has of a distribution."""
    found = {}
    for name, of in (("logp", value), ("logcdf", value), ("icdf", chance)):
        try:
            found[name] = getattr(pm, name)(law, of)
        except NotImplementedError:
            continue
    return found


def derivatives(logp, variables):
    """Of the density, by those variables that are no integers."""
    kept = [x for x in variables if x.type.dtype == "float64"]
    options = {"disconnected_inputs": "ignore", "return_disconnected": "zero"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = pytensor.grad(logp.sum(), kept, **options)
        except (NotImplementedError, pytensor.gradient.NullTypeGradError):  # PyMC has none
            return {}
    return {f"derivative by {x.name}": g for x, g in zip(kept, found, strict=True)}


def columns(case):
    """An input for each parameter, and its values in all sets."""
    first, *_ = case.parameters
    kinds = ["int64" if isinstance(x, int) else "float64" for x in first]
    inputs = [pt.vector(f"p{i}", dtype=kind) for i, kind in enumerate(kinds)]
    values = [np.array([row[i] for row in case.parameters], kind) for i, kind in enumerate(kinds)]
    return inputs, values


@pytest.mark.sampled(48)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", SCALARS)
def test_functions_of_a_number(name, policy):
    """Points in rows, sets of parameters in columns, of open numbers."""
    case = SCALARS[name]
    inputs, values = columns(case)
    law = case.make(*inputs)
    value, chance = pt.matrix("value", dtype=law.dtype), pt.dmatrix("chance")
    sets = len(case.parameters)
    points = np.repeat(np.array(case.points, law.dtype)[:, None], sets, axis=1)
    chances = np.repeat(np.array(QUANTILES)[:, None], sets, axis=1)
    if case.many:
        outputs = functions(law, value, chance)
    else:
        outputs = {"logp": pm.logp(law, value)}
    outputs |= derivatives(outputs["logp"], [value, *inputs])
    compare([value, chance, *inputs], outputs, [points, chances, *values], [policy], case.rtol, name)
    if name == "Interpolated":  # SciPy's splines lose the shape of no points
        return
    none = [points[:0], chances[:0], *values]
    compare([value, chance, *inputs], {"logp": outputs["logp"]}, none, [policy], case.rtol, name)


@pytest.mark.parametrize("name", [name for name, case in SCALARS.items() if not case.many])
@pytest.mark.sampled(8)
def test_distribution_functions_of_one_number_alone(name):
    case = SCALARS[name]
    value = pt.lscalar("value")
    law = case.make(*[np.asarray(x) for x in case.parameters[0]])
    logcdf = pytensor.function([value], pm.logcdf(law, value), mode="STABLEHLO")
    wanted = pytensor.function([value], pm.logcdf(law, value), mode=REFERENCE)
    for point in (-1, 0, 3, 9):
        np.testing.assert_allclose(logcdf(point), wanted(point), rtol=1e-9)


def drawn(count, law, mode, seed):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return pm.pytensorf.compile([count], law, random_seed=seed, mode=mode)(DRAWS)


def agree(ours, theirs, what):
    """Two samples of one law, each a vector."""
    if np.array_equal(np.unique(ours), np.unique(theirs)) and len(np.unique(ours)) == 1:
        return
    ours, theirs = (np.round(x, 9) for x in (ours, theirs))  # what is constant but for rounding
    assert scipy.stats.ks_2samp(ours, theirs).pvalue > 1e-4, what


def check_same(draws, what):
    """Policies change no draw."""
    first, *others = draws
    for other in others:
        assert other.dtype == first.dtype
        np.testing.assert_allclose(other, first, rtol=1e-8, atol=1e-9, err_msg=what)


@pytest.mark.sampled(96)
@pytest.mark.parametrize("name", [name for name, case in SCALARS.items() if case.drawn])
def test_draws_of_a_number(name):
    case, count = SCALARS[name], pt.lscalar("count")
    sets = np.array(case.parameters).T
    parameters = [
        np.array(row, "int64" if isinstance(x, int) else float)
        for row, x in zip(sets, case.parameters[0], strict=False)
    ]
    law = case.make(*parameters, size=(count, len(case.parameters)))
    draws = [drawn(count, law, hlograph.Mode(policy=policy), 1) for policy in POLICIES]
    check_same(draws, name)
    wanted = drawn(count, law, REFERENCE, 2)
    assert draws[0].shape == wanted.shape
    assert draws[0].dtype == wanted.dtype
    for place, row in enumerate(case.parameters):
        ours = draws[0][:, place]
        agree(ours, wanted[:, place], f"{name}{row}")
        density = pm.logp(case.make(*[np.asarray(x) for x in row]), ours[:20]).eval(mode=REFERENCE)
        assert np.all(density > -np.inf), f"{name}{row} is drawn outside of its support"


def projections(draws, rng):
    """Vectors of a sample of arrays: each element, a few mixtures of all, and their squares."""
    flat = draws.reshape(len(draws), -1)
    mixed = flat @ rng.normal(size=(flat.shape[1], 3))
    return [*flat.T, *mixed.T, *np.square(mixed).T, np.sum(flat * np.roll(flat, 1, axis=1), axis=1)]


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", ARRAYS)
def test_draws_of_arrays(name):
    case, count = ARRAYS[name], pt.lscalar("count")
    scale = np.float64(1.2)
    if case.sized:
        law = case.make(scale, size=(count,))
        draws = [drawn(count, law, hlograph.Mode(policy=policy), 1) for policy in POLICIES]
        wanted = drawn(count, (case.law or case.make)(scale, size=(count,)), REFERENCE, 2)
        check_same(draws, name)
    else:
        law = case.make(scale)
        draws = [pm.draw(law, DRAWS, random_seed=1, mode="STABLEHLO")]
        wanted = pm.draw(law, DRAWS, random_seed=2, mode=REFERENCE)
    assert draws[0].shape == wanted.shape
    assert draws[0].dtype == wanted.dtype
    pairs = [projections(x, np.random.default_rng(0)) for x in (draws[0], wanted)]
    for number, (ours, theirs) in enumerate(zip(*pairs, strict=True)):
        agree(ours, theirs, f"{name}, projection {number}")


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", [name for name, case in ARRAYS.items() if case.has_logp])
def test_functions_of_arrays(name):
    """At draws, and at what is moved away from them, where a constraint may be broken."""
    case, scale = ARRAYS[name], pt.dscalar("scale")
    law = case.make(scale)
    value = pt.tensor("value", shape=(None,) * law.ndim, dtype=law.dtype)
    outputs: dict[str, Any] = {"logp": pm.logp(law, value)}
    outputs |= derivatives(outputs["logp"], [value, scale])
    draw = pm.draw(case.make(np.float64(1.2)), random_seed=3, mode=REFERENCE)
    compare([value, scale], outputs, [draw, 1.2], POLICIES, 1e-8, name)
    moved = {"logp": outputs["logp"]}
    for other in (draw + 1, -draw):
        values = [other.astype(law.dtype), 1.2]
        try:
            evaluate([value, scale], moved.values(), values, REFERENCE)
        except ParameterValueError:  # PyMC's way to say that a value is none of the law's
            with pytest.raises(ParameterValueError):
                evaluate([value, scale], moved.values(), values, hlograph.Mode(policy="exact"))
        else:
            compare([value, scale], moved, values, ["exact"], 1e-8, f"{name}, moved")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_drawn_is_refused_with_a_reason(name):
    make, reason = REFUSED[name]
    law = make()
    with pytest.raises(UnsupportedOpError, match=reason) as error:
        pm.draw(law, mode="STABLEHLO")
    assert type(law.owner.op).__name__ in str(error.value)


def test_parameters_that_mean_nothing_raise():
    """As PyMC does, at the call, naming what must hold."""
    sigma, p = pt.dscalar("sigma"), pt.dvector("p")
    densities = [pm.logp(pm.Normal.dist(0.0, sigma), 0.5), pm.logp(pm.Dirichlet.dist(p), np.array([0.5, 0.5]))]
    function = pytensor.function([sigma, p], densities, mode="STABLEHLO")
    assert np.isfinite(function(1.0, np.ones(2))).all()
    for arguments, message in (((-1.0, np.ones(2)), "sigma > 0"), ((1.0, -np.ones(2)), "a > 0")):
        with pytest.raises(ParameterValueError, match=message):
            function(*arguments)


KNOTS = np.array([-1.0, 0.0, 0.5, 2.0, 2.5, 4.0, 4.1])
LEVELS = np.array([0.3, 1.0, -2.0, 0.5, 0.0, 3.0, 2.0])
PLACES = np.array([-np.inf, -3.0, -1.0, -0.3, 0.0, 0.7, 2.5, 3.9, 4.1, 4.2, 50.0, np.inf])


def test_splines_are_those_of_scipy():
    """In one program: their values, and of their derivatives, at points, between and outside of them."""
    splines = {
        (degree, ext, order): InterpolatedUnivariateSpline(KNOTS, LEVELS, k=degree, ext=ext).derivative(order)
        if order
        else InterpolatedUnivariateSpline(KNOTS, LEVELS, k=degree, ext=ext)
        for degree in (1, 3, 5)
        for ext in ("extrapolate", "zeros", "const")
        for order in (0, 1)
    }
    x = pt.dvector("x")
    outputs = [pm.distributions.dist_math.SplineWrapper(spline)(x) for spline in splines.values()]
    function = pytensor.function([x], outputs, mode=hlograph.Mode())
    for what, places in (("finite", PLACES[1:-1]), ("none", PLACES[:0])):
        for key, found in zip(splines, function(places), strict=True):
            np.testing.assert_allclose(found, splines[key](places), rtol=1e-9, atol=1e-9, err_msg=f"{key}, {what}")
    for key, found in zip(splines, function(PLACES), strict=True):
        if key[1] == "zeros":
            np.testing.assert_array_equal(found[[0, -1]], 0)


def test_outside_of_a_spline_that_raises():
    x = pt.dvector("x")
    spline = pm.distributions.dist_math.SplineWrapper(InterpolatedUnivariateSpline(KNOTS, LEVELS, k=2, ext="raise"))
    function = pytensor.function([x], spline(x), mode=hlograph.Mode())
    np.testing.assert_allclose(function([0.2, 4.1]), spline.spline([0.2, 4.1]), rtol=1e-10)
    with pytest.raises(ValueError, match="outside of its points"):
        function([0.2, 4.2])
